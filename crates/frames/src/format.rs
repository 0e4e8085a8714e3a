//! The format of a board's frames: everything that both ends have to know and that is not secret.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

use crate::key::MacKey;
use crate::siphash::siphash;

/// The 8 bytes that name a board, such as its DevEUI in LoRaWAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub [u8; 8]);

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text that names no board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a board is named by 16 hexadecimal digits")]
pub struct ParseDeviceIdError;

impl FromStr for DeviceId {
    type Err = ParseDeviceIdError;

    /// Reads 16 hexadecimal digits, the first byte first, as a DevEUI is written.
    fn from_str(digits: &str) -> Result<Self, ParseDeviceIdError> {
        let is_hex = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| is_hex);
        let number = number.ok_or(ParseDeviceIdError)?;
        Ok(Self(number.to_be_bytes()))
    }
}

/// The form of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The device id does not travel, because the network names the board.
    Bare,
    /// The device id is the beginning of the frame.
    Named,
}

/// A column of codes: `bits` bits below `headroom` bits, as the compact column on the server has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    bits: u8,
    headroom: u8,
}

impl Column {
    /// The largest width of a code, as of a compact column.
    pub const MAX_BITS: u8 = 40;
    /// The largest width of code and headroom together, as of a compact column.
    pub const MAX_WIDTH: u8 = 48;

    /// Makes a column of codes of `bits` bits below `headroom` bits.
    ///
    /// # Errors
    /// If `bits` is not between 1 and [`MAX_BITS`](Self::MAX_BITS), or both together are more than
    /// [`MAX_WIDTH`](Self::MAX_WIDTH).
    pub const fn new(bits: u8, headroom: u8) -> Result<Self, FormatError> {
        if bits == 0 || bits > Self::MAX_BITS || headroom > Self::MAX_WIDTH - bits {
            return Err(FormatError::Column { bits, headroom });
        }
        Ok(Self { bits, headroom })
    }

    /// The number of bits of a code.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// The number of bits above a code.
    pub const fn headroom(self) -> u8 {
        self.headroom
    }

    /// The number of bits of a masked code.
    pub const fn width(self) -> u8 {
        self.bits + self.headroom
    }

    /// The values of `width` bits, as a mask.
    pub(crate) const fn mask(self) -> u64 {
        (1 << self.width()) - 1
    }
}

/// The reason why a format is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// The widths of a column are out of range.
    #[error(
        "a column has 1 to {max} bits, and {width} together with its headroom, not {bits} and {headroom}",
        max = Column::MAX_BITS,
        width = Column::MAX_WIDTH
    )]
    Column {
        /// The bits of a code.
        bits: u8,
        /// The bits above it.
        headroom: u8,
    },
    /// There is no column, or there are too many.
    #[error("a frame has 1 to {max} columns, not {0}", max = Format::MAX_COLUMNS)]
    Columns(usize),
    /// A frame would have no rows.
    #[error("a frame has 1 to 255 rows")]
    Rows,
    /// There are no pads.
    #[error("there are pads for one frame or more")]
    Frames,
}

/// The format of a board's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    id: DeviceId,
    form: Form,
    columns: [Column; Self::MAX_COLUMNS],
    column_count: u8,
    rows: u8,
    frames: u32,
}

impl Format {
    /// The largest number of columns.
    pub const MAX_COLUMNS: usize = 16;
    /// The bytes of a counter.
    pub(crate) const COUNTER_BYTES: usize = 4;
    /// The bytes of a tag.
    pub(crate) const TAG_BYTES: usize = 8;

    /// Makes a format: the board's id and whether it travels, the columns of a row in their order, the
    /// number of rows of a frame, and the number of frames that there are pads for.
    ///
    /// # Errors
    /// If there are no columns or more than [`MAX_COLUMNS`](Self::MAX_COLUMNS), or if `rows` or
    /// `frames` is 0.
    pub fn new(
        id: DeviceId,
        form: Form,
        columns: &[Column],
        rows: u8,
        frames: u32,
    ) -> Result<Self, FormatError> {
        let unused = Column {
            bits: 0,
            headroom: 0,
        };
        let mut padded = [unused; Self::MAX_COLUMNS];
        let count = columns.len();
        let places = padded.get_mut(..count).ok_or(FormatError::Columns(count))?;
        places.copy_from_slice(columns);
        let format = Self {
            id,
            form,
            columns: padded,
            column_count: count as u8,
            rows,
            frames,
        };
        if count == 0 {
            return Err(FormatError::Columns(count));
        }
        if rows == 0 {
            return Err(FormatError::Rows);
        }
        if frames == 0 {
            return Err(FormatError::Frames);
        }
        Ok(format)
    }

    /// The board's id.
    pub const fn id(&self) -> DeviceId {
        self.id
    }

    /// Says whether the id travels.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// The columns of a row, in their order.
    pub fn columns(&self) -> &[Column] {
        self.columns
            .get(..usize::from(self.column_count))
            .unwrap_or(&self.columns)
    }

    /// The number of rows of a frame.
    pub const fn rows(&self) -> u8 {
        self.rows
    }

    /// The number of frames that there are pads for. Counters are less than it.
    pub const fn frames(&self) -> u32 {
        self.frames
    }

    /// The number of codes of a frame.
    pub fn codes(&self) -> usize {
        usize::from(self.rows) * self.columns().len()
    }

    /// The length of a frame in bytes.
    pub fn frame_bytes(&self) -> usize {
        self.codes_at() + self.code_bits().div_ceil(8) + Self::TAG_BYTES
    }

    /// The length in bytes of the longest frame of any format.
    pub const MAX_FRAME_BYTES: usize = {
        let codes = u8::MAX as usize * Self::MAX_COLUMNS * Column::MAX_WIDTH as usize;
        8 + Self::COUNTER_BYTES + codes.div_ceil(8) + Self::TAG_BYTES
    };

    /// The number of bits of all masked codes.
    pub(crate) fn code_bits(&self) -> usize {
        let widths = self.columns().iter().map(|column| column.width());
        let row: usize = widths.map(usize::from).sum();
        usize::from(self.rows) * row
    }

    /// The number of bytes in front of the counter.
    pub(crate) const fn counter_at(&self) -> usize {
        match self.form {
            Form::Bare => 0,
            Form::Named => self.id.0.len(),
        }
    }

    /// The number of bytes in front of the masked codes.
    pub(crate) const fn codes_at(&self) -> usize {
        self.counter_at() + Self::COUNTER_BYTES
    }

    /// The tag of a frame, of which `tagged` is the part from the counter to the last code. The tag covers the
    /// id in both forms.
    pub(crate) fn tag(&self, key: &MacKey, tagged: &[u8]) -> u64 {
        siphash(key.as_bytes(), u64::from_le_bytes(self.id.0), tagged)
    }
}
