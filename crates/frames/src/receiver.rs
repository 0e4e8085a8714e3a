//! The server's end: frames are checked and taken apart. Their codes stay masked.

use thiserror::Error;

use crate::acknowledgement::Acknowledgement;
use crate::bits::BitReader;
use crate::format::{DeviceId, Form, Format};
use crate::key::MacKey;

/// A reader of one board's frames.
pub struct Receiver {
    format: Format,
    mac_key: MacKey,
}

/// The reason why a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The length is not that of the board's frames.
    #[error("a frame of this board has {needed} bytes, not {found}")]
    Length {
        /// The length of the board's frames.
        needed: usize,
        /// The length found.
        found: usize,
    },
    /// The id in the frame is not the board's.
    #[error("the frame is of the device {0}")]
    Device(DeviceId),
    /// The tag is not that of the frame under the board's key.
    #[error("the tag is wrong: the frame is damaged, forged, or of another board")]
    Tag,
    /// There are no pads for the counter. The board has a format of more frames, or its key is in other hands.
    #[error("the counter {0} is beyond the pads")]
    Counter(u32),
    /// The bits behind the last code are not zero, which the board's encoder would have made them.
    #[error("the bits behind the last code are not zero")]
    Padding,
}

impl Receiver {
    /// Makes a reader of the frames of a format, with the key that the board's tags are made with.
    pub const fn new(format: Format, mac_key: MacKey) -> Self {
        Self { format, mac_key }
    }

    /// The format of the frames.
    pub const fn format(&self) -> &Format {
        &self.format
    }

    /// Makes the acknowledgement of a frame that [`read`](Self::read) has accepted. `None` if the bytes are too short
    /// to be a frame.
    pub fn acknowledge(&self, frame: &[u8]) -> Option<Acknowledgement> {
        Acknowledgement::of(&self.format, &self.mac_key, frame)
    }

    /// The id at the beginning of a frame of [`Form::Named`], by which a server finds the board's reader. Nothing
    /// is checked yet. `None` if the frame is shorter than an id.
    pub fn device_id(frame: &[u8]) -> Option<DeviceId> {
        frame.first_chunk().copied().map(DeviceId)
    }

    /// Checks a frame. A frame that was received before is accepted again: a caller keeps
    /// a record of counters, such as `Arrivals`.
    ///
    /// # Errors
    /// If the length, the id, the tag, the counter or the last byte is not one that the board's encoder makes.
    /// Nothing else about a frame is told unless its tag is right.
    pub fn read<'f>(&'f self, frame: &'f [u8]) -> Result<Frame<'f>, FrameError> {
        let length = FrameError::Length {
            needed: self.format.frame_bytes(),
            found: frame.len(),
        };
        if frame.len() != self.format.frame_bytes() {
            return Err(length);
        }
        let (head, rest) = frame
            .split_at_checked(self.format.counter_at())
            .ok_or(length)?;
        if self.format.form() == Form::Named && head != self.format.id().0 {
            return Err(Self::device_id(head).map_or(length, FrameError::Device));
        }
        let (tagged, tag) = rest.split_last_chunk().ok_or(length)?;
        let (counter, codes) = tagged.split_first_chunk().ok_or(length)?;

        let tag = u64::from_le_bytes(*tag);
        // One comparison of numbers, whose time does not tell where they differ.
        if self.format.tag(&self.mac_key, tagged) != tag {
            return Err(FrameError::Tag);
        }
        let counter = u32::from_le_bytes(*counter);
        if counter >= self.format.frames() {
            return Err(FrameError::Counter(counter));
        }
        let frame = Frame {
            format: &self.format,
            counter,
            codes,
            tag,
        };
        if frame.padding() != 0 {
            return Err(FrameError::Padding);
        }
        Ok(frame)
    }
}

/// A frame whose tag is right.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    format: &'a Format,
    counter: u32,
    codes: &'a [u8],
    tag: u64,
}

impl<'a> Frame<'a> {
    /// The counter: the number of the pads that the codes are masked with.
    pub const fn counter(&self) -> u32 {
        self.counter
    }

    /// The tag, which is different for different frames.
    pub const fn tag(&self) -> u64 {
        self.tag
    }

    /// The masked codes, row by row, each below 2 to the power of its column's width.
    pub fn codes(&self) -> impl Iterator<Item = u64> + Clone + 'a {
        let columns = self.format.columns();
        let mut reader = BitReader::new(self.codes);
        let columns = columns.iter().cycle().take(self.format.codes());
        columns.map(move |column| reader.take(column.width()))
    }

    /// The bits behind the last code.
    fn padding(&self) -> u8 {
        let used = self.format.code_bits() % 8;
        match (self.codes.last(), used) {
            (Some(last), 1..) => last >> used,
            _ => 0,
        }
    }
}
