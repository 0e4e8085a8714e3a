//! A board's end.

use thiserror::Error;

use crate::acknowledgement::Acknowledgement;
use crate::bits::BitWriter;
use crate::counter::{Counter, CounterError, CounterStore};
use crate::format::{Form, Format};
use crate::key::{BoardKey, MacKey};
use crate::pads::Pads;

/// A board's encoder of frames: its keys and its counter.
pub struct Encoder<S> {
    format: Format,
    key: BoardKey,
    mac_key: MacKey,
    counter: Counter<S>,
}

/// The reason why no frame was made. Unless it is [`Counter`](Self::Counter), no counter was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodeError<E> {
    /// A frame has another number of codes.
    #[error("a frame has {needed} codes, not {found}")]
    Codes {
        /// The codes of a frame.
        needed: usize,
        /// The codes given.
        found: usize,
    },
    /// A code has more bits than its column.
    #[error("a code has more bits than its column")]
    Code,
    /// The buffer is too small.
    #[error("the buffer is smaller than the {0} bytes of the frame")]
    Buffer(usize),
    /// There is no counter for the frame.
    #[error(transparent)]
    Counter(CounterError<E>),
}

impl<S: CounterStore> Encoder<S> {
    /// Makes an encoder of a board's format and key, and of a counter that [`Counter::open`] opened.
    pub fn new(format: Format, key: BoardKey, counter: Counter<S>) -> Self {
        let mac_key = key.mac_key();
        Self {
            format,
            key,
            mac_key,
            counter,
        }
    }

    /// The format of the frames.
    pub const fn format(&self) -> &Format {
        &self.format
    }

    /// The acknowledgement that the server sends of a frame that this board has made. `None` if the bytes are too
    /// short to be one.
    pub fn acknowledgement(&self, frame: &[u8]) -> Option<Acknowledgement> {
        Acknowledgement::of(&self.format, &self.mac_key, frame)
    }

    /// Makes a frame of its codes, row by row, and returns the part of `buffer` that it takes.
    ///
    /// To send a frame again, send the same bytes. The same readings in a second frame take a second counter.
    /// Constant-time in the codes, unless one has too many bits.
    ///
    /// # Errors
    /// If there are not [`Format::codes`] codes, a code has more bits than its column, the buffer is smaller than
    /// [`Format::frame_bytes`], or no counter is left or can be stored.
    pub fn encode<'b, C: Copy + Into<u64>>(
        &mut self,
        codes: &[C],
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], EncodeError<S::Error>> {
        let (needed, found) = (self.format.codes(), codes.len());
        if needed != found {
            return Err(EncodeError::Codes { needed, found });
        }
        let excess = self.format.columns().iter().cycle().zip(codes);
        let excess = excess.fold(0, |excess, (column, &code)| {
            excess | code.into() >> column.bits()
        });
        if excess != 0 {
            return Err(EncodeError::Code);
        }
        let needed = self.format.frame_bytes();
        let frame = buffer
            .get_mut(..needed)
            .ok_or(EncodeError::Buffer(needed))?;

        let counter = self.counter.take().map_err(EncodeError::Counter)?;
        self.write(counter, codes, frame);
        Ok(frame)
    }

    /// Writes the frame `counter` into a buffer of its length.
    fn write<C: Copy + Into<u64>>(&self, counter: u32, codes: &[C], frame: &mut [u8]) {
        let (head, rest) = frame.split_at_mut(self.format.counter_at());
        if self.format.form() == Form::Named {
            head.copy_from_slice(&self.format.id().0);
        }
        let (tagged, tag) = rest.split_at_mut(rest.len() - Format::TAG_BYTES);
        let (counter_bytes, masked) = tagged.split_at_mut(Format::COUNTER_BYTES);
        counter_bytes.copy_from_slice(&counter.to_le_bytes());

        let mut writer = BitWriter::new(masked);
        let columns = self.format.columns().iter().cycle();
        let pads = Pads::new(&self.key, &self.format, counter);
        for ((&code, pad), column) in codes.iter().zip(pads).zip(columns) {
            writer.put(
                code.into().wrapping_add(pad) & column.mask(),
                column.width(),
            );
        }
        writer.finish();
        tag.copy_from_slice(&self.format.tag(&self.mac_key, tagged).to_le_bytes());
    }
}
