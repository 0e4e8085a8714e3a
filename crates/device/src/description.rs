//! The description of an upload of readings: the metadata message before the ciphertext list, which
//! a server needs to answer questions about the upload.
//!
//! It is CBOR (RFC 8949), written without an allocator: a map of `columns`, each a map, and `rows`,
//! a list of labels. Nothing in it is secret: names, encodings and labels are sent in plaintext.

use tfhe_sbc_core::description::{MAX_METADATA_BYTES, check_column_name, check_shape, check_texts};
use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding, Derivation, FixedPoint, are_cuts};
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters, PlaintextKind};
use tfhe_sbc_core::wire::{ENVELOPE_BYTES, Header, Kind};

use crate::error::{DeviceError, SinkError};
use crate::output::{BufferOutput, Output, SinkOutput};

/// A column of readings, as the description states it.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// The name: 1 to 64 letters, digits and underscores.
    pub name: &'a str,
    /// The unit, for people: at most 64 characters; empty if there is none.
    pub unit: &'a str,
    /// The encoding of the column's readings.
    pub encoding: FixedPoint,
    /// The compact form of the codes; `None` if they are split into radix blocks. Its width is that of
    /// `encoding`.
    pub compact: Option<CompactEncoding>,
    /// The columns that are derived from the codes.
    pub derived: Derived<'a>,
}

/// The columns that are derived from a compact column, by default none.
///
/// The second message has the segments of what is derived behind that of the column
/// ([`ColumnValues::Derived`](crate::ColumnValues::Derived) and
/// [`ColumnValues::DerivedCodes`](crate::ColumnValues::DerivedCodes)): the squares, and then each flag.
#[derive(Clone, Copy, Debug, Default)]
pub struct Derived<'a> {
    /// The form of the squares of the codes: codes of twice the width.
    pub square: Option<CompactEncoding>,
    /// The first code of each flag ([`Derivation::From`]), and the form of the flags, which are codes of one bit.
    pub flags: Option<(&'a [u64], CompactEncoding)>,
}

impl Derived<'_> {
    /// Returns the derived column at a place, counted from 0 in the order of the segments, and its form; `None`
    /// behind the last one.
    pub fn column(&self, place: usize) -> Option<(Derivation, CompactEncoding)> {
        let flag = match self.square {
            Some(form) if place == 0 => return Some((Derivation::Square, form)),
            Some(_) => place - 1,
            None => place,
        };
        let (from, form) = self.flags?;
        let first = from.get(flag)?;
        Some((Derivation::From(*first), form))
    }

    /// The number of entries of its map.
    fn len(&self) -> u64 {
        u64::from(self.square.is_some()) + u64::from(self.flags.is_some())
    }

    /// Checks what is derived from a column.
    fn check(&self, column: &Column<'_>) -> Result<(), DeviceError> {
        if self.len() > 0 && column.compact.is_none() {
            return Err(DeviceError::Description(
                "columns derived from one that is not compact",
            ));
        }
        let bits = column.encoding.bits();
        if self.flags.is_some_and(|(from, _)| !are_cuts(from, bits)) {
            return Err(DeviceError::Description(
                "flags that do not increase, or that are the same for all codes",
            ));
        }
        let square = self
            .square
            .map(|form| (form, Derivation::Square.bits(bits)));
        let flags = self.flags.map(|(_, form)| (form, 1));
        for (form, bits) in square.into_iter().chain(flags) {
            if form.bits() != bits {
                return Err(DeviceError::CodeWidth {
                    compact: form.bits(),
                    fixed_point: bits,
                });
            }
        }
        Ok(())
    }
}

/// A description that has been checked and can be written.
///
/// An upload consists of this message and then one with the blocks of the readings: all rows of the
/// first column, all rows of the second, and so on. If a column is compact, the second message is one of
/// [`Session::encrypt_columns`](crate::Session::encrypt_columns).
#[derive(Clone, Debug)]
pub struct Description<C, R> {
    header: Header,
    columns: C,
    rows: R,
    len: usize,
}

impl<'a, C, R> Description<C, R>
where
    C: Iterator<Item = Column<'a>> + Clone,
    R: Iterator<Item = &'a str> + Clone,
{
    /// Checks the description of `columns` and row labels `rows`, for readings encrypted under `key`.
    ///
    /// # Errors
    /// [`DeviceError::PlaintextKind`] if the parameter set encodes bits. [`DeviceError::Description`] if
    /// there are no columns or no rows, more than 256 columns, two columns of one name, a text that
    /// breaks the rules of [`Column`], or more than 1 MiB in all, or if columns are derived from one that is not
    /// compact or with other flags than [`are_cuts`] permits. [`DeviceError::CodeWidth`] if a compact
    /// form is for codes of another width than the column's, or than what is derived from it has.
    pub fn new(
        parameters: &Parameters,
        key: KeyFingerprint,
        columns: C,
        rows: R,
    ) -> Result<Self, DeviceError> {
        if parameters.plaintext() != PlaintextKind::Radix {
            return Err(DeviceError::PlaintextKind);
        }
        let has_rows = rows.clone().next().is_some();
        check_shape(columns.clone().count(), has_rows).map_err(DeviceError::Description)?;
        for (index, column) in columns.clone().enumerate() {
            check_column_name(column.name).map_err(DeviceError::Description)?;
            if columns.clone().take(index).any(|c| c.name == column.name) {
                return Err(DeviceError::Description("two columns of one name"));
            }
            let fixed_point = column.encoding.bits();
            if let Some(compact) = column.compact.map(|compact| compact.bits())
                && compact != fixed_point
            {
                return Err(DeviceError::CodeWidth {
                    compact,
                    fixed_point,
                });
            }
            column.derived.check(&column)?;
        }
        let units = columns.clone().map(|column| column.unit);
        check_texts(rows.clone().chain(units)).map_err(DeviceError::Description)?;
        let mut payload_len = 0;
        write(columns.clone(), rows.clone(), &mut |bytes| {
            payload_len += bytes.len();
            Ok(())
        })?;
        if payload_len > MAX_METADATA_BYTES {
            return Err(DeviceError::Description("more than 1 MiB"));
        }
        Ok(Self {
            header: Header::new(Kind::Metadata, parameters.fingerprint(), key),
            columns,
            rows,
            len: payload_len + ENVELOPE_BYTES,
        })
    }

    /// The number of bytes of the message.
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Writes the message into the first [`len`](Self::len) bytes of `out`, and returns their number.
    ///
    /// # Errors
    /// [`WireError::BufferTooSmall`](crate::WireError::BufferTooSmall) if `out` is shorter.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, DeviceError> {
        self.write_output(&mut BufferOutput::new(out, self.len)?)
    }

    /// Writes the message piece by piece: `sink` gets it in order, at most
    /// [`MAX_PIECE_BYTES`](crate::MAX_PIECE_BYTES) at a time. Returns the number of bytes.
    ///
    /// # Errors
    /// [`DeviceError::Sink`] if the sink fails.
    pub fn write_to(
        &self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, DeviceError> {
        self.write_output(&mut SinkOutput::new(sink))
    }

    // The type parameter of the output is the torus of its coefficients; this message has none.
    fn write_output(&self, out: &mut impl Output<u32>) -> Result<usize, DeviceError> {
        out.bytes(&self.header.to_bytes((self.len - ENVELOPE_BYTES) as u64))?;
        write(self.columns.clone(), self.rows.clone(), &mut |bytes| {
            out.bytes(bytes)
        })?;
        out.finish()?;
        Ok(self.len)
    }
}

/// A function that takes the next bytes of the description.
type Take<'t> = dyn FnMut(&[u8]) -> Result<(), DeviceError> + 't;

/// Major types of CBOR (RFC 8949, section 3.1).
const UNSIGNED: u8 = 0;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
/// The simple value `true` (RFC 8949, section 3.3).
const TRUE: u8 = 0xf5;

/// Writes a description in the form in which the crate `upload` serialises `ReadingsMetadata`.
fn write<'a>(
    columns: impl Iterator<Item = Column<'a>> + Clone,
    rows: impl Iterator<Item = &'a str> + Clone,
    take: &mut Take<'_>,
) -> Result<(), DeviceError> {
    head(take, MAP, 2)?;
    text(take, "columns")?;
    head(take, ARRAY, columns.clone().count() as u64)?;
    for column in columns {
        let derived = column.derived.len();
        let optional = u64::from(column.compact.is_some()) + u64::from(derived > 0);
        head(take, MAP, 5 + optional)?;
        text(take, "name")?;
        text(take, column.name)?;
        text(take, "unit")?;
        text(take, column.unit)?;
        text(take, "offset")?;
        float(take, column.encoding.minimum())?;
        text(take, "scale")?;
        float(take, column.encoding.scale())?;
        text(take, "bits")?;
        head(take, UNSIGNED, column.encoding.bits().into())?;
        if let Some(compact) = column.compact {
            text(take, "compact")?;
            write_compact(&compact, take)?;
        }
        if derived > 0 {
            text(take, "derived")?;
            head(take, MAP, derived)?;
            write_derived(&column.derived, take)?;
        }
    }
    text(take, "rows")?;
    head(take, ARRAY, rows.clone().count() as u64)?;
    for row in rows {
        text(take, row)?;
    }
    Ok(())
}

/// Writes the entries of what is derived in the form in which the crate `upload` serialises `Derived`.
fn write_derived(derived: &Derived<'_>, take: &mut Take<'_>) -> Result<(), DeviceError> {
    if let Some(square) = derived.square {
        text(take, "square")?;
        write_compact(&square, take)?;
    }
    if let Some((from, compact)) = derived.flags {
        text(take, "flags")?;
        head(take, MAP, 2)?;
        text(take, "from")?;
        head(take, ARRAY, from.len() as u64)?;
        for &first in from {
            head(take, UNSIGNED, first)?;
        }
        text(take, "compact")?;
        write_compact(&compact, take)?;
    }
    Ok(())
}

/// Writes a compact form in the form in which the crate `upload` serialises `Compact`.
fn write_compact(compact: &CompactEncoding, take: &mut Take<'_>) -> Result<(), DeviceError> {
    let feedback = compact.rounding() == BodyRounding::ErrorFeedback;
    head(take, MAP, 2 + u64::from(feedback))?;
    text(take, "headroom")?;
    head(take, UNSIGNED, compact.headroom().into())?;
    text(take, "body_bits")?;
    head(take, UNSIGNED, compact.body_bits().into())?;
    if feedback {
        text(take, "feedback")?;
        take(&[TRUE])?;
    }
    Ok(())
}

/// Writes a major type and its number in the shortest form (RFC 8949, section 4.2.1).
fn head(take: &mut Take<'_>, major: u8, number: u64) -> Result<(), DeviceError> {
    let bytes = number.to_be_bytes();
    let (info, len) = match number {
        0..24 => return take(&[major << 5 | number as u8]),
        24..0x100 => (24, 1),
        0x100..0x1_0000 => (25, 2),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 8),
    };
    take(&[major << 5 | info])?;
    take(&bytes[8 - len..])
}

fn text(take: &mut Take<'_>, text: &str) -> Result<(), DeviceError> {
    head(take, TEXT, text.len() as u64)?;
    take(text.as_bytes())
}

/// Writes a double-precision number.
fn float(take: &mut Take<'_>, number: f64) -> Result<(), DeviceError> {
    take(&[0xfb])?;
    take(&number.to_be_bytes())
}
