//! Columns with encodings of their own.

use core::ffi::c_void;

use tfhe_sbc_device::{
    BodyRounding, ColumnSource, ColumnValues as Values, CompactEncoding, FixedPoint, SinkError,
};

use crate::callbacks::{self, Sink};
use crate::derived::Derived;
use crate::memory::{self, check_apart, Region};
use crate::readings::Encoding;
use crate::status::Status;
use crate::storage::{Claimed, Encryptor};

/// The compact form of a column: one coefficient holds a whole code, below bits of headroom. All zeros
/// stand for radix blocks.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Compact {
    /// The number of bits above a code: sums of codes stay below `2^(bits + headroom)`. Width of a code,
    /// at most 40, and headroom are at most 48 bits together.
    pub headroom: u32,
    /// The number of bits of each body coefficient that travel: more than code and headroom have, and at
    /// most 56.
    pub body_bits: u32,
    /// Not 0 if the rounding error of a body is added to the next one, so that the error of a sum of
    /// neighbouring rows stays that of two roundings.
    pub feedback: u32,
}

impl Compact {
    /// Returns whether the column holds radix blocks.
    pub(crate) fn is_none(&self) -> bool {
        (self.headroom, self.body_bits, self.feedback) == (0, 0, 0)
    }

    /// Returns the encoding of codes of `bits` bits.
    pub(crate) fn encoding(&self, bits: u32) -> Result<CompactEncoding, Status> {
        let rounding = match self.feedback {
            0 => BodyRounding::Nearest,
            _ => BodyRounding::ErrorFeedback,
        };
        CompactEncoding::new(bits, self.headroom, self.body_bits, rounding)
            .map_err(|_| Status::Compact)
    }
}

/// The values of one column, row after row: radix blocks, codes or readings. Exactly one of the three
/// pointers is not NULL.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ColumnValues {
    /// Radix blocks, each a byte below the message modulus, as `tfhe_sbc_encode_readings` and
    /// `tfhe_sbc_encode_codes` make them. Their column is not compact.
    pub blocks: *const u8,
    /// Unsigned codes of `encoding.bits` bits of a compact column.
    pub codes: *const u64,
    /// Readings of a compact column, which become codes of `encoding`.
    pub readings: *const f64,
    /// The number of blocks, codes or readings.
    pub count: usize,
    /// The encoding of readings. Codes use its `bits` only, blocks nothing of it.
    pub encoding: Encoding,
    /// The compact form; all zeros if there are blocks.
    pub compact: Compact,
    /// The derived squares and flags, as the description states them; all zeros if there are none. The message has
    /// the squares behind the column, and then each flag.
    pub derived: Derived,
}

/// Writes to `bytes` the number of bytes of the message of these columns. The values are not read.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_columns_message_bytes(
    encryptor: *mut Encryptor,
    columns: *const ColumnValues,
    column_count: usize,
    bytes: *mut usize,
) -> i32 {
    let run = || {
        let region = memory::check(bytes, 1)?;
        // SAFETY: what the header asks of every caller.
        let columns = unsafe { Columns::check(columns, column_count)? };
        // SAFETY: what the header asks of every caller.
        let mut claimed = unsafe { Claimed::session(encryptor)? };
        let written = [region, claimed.region(), claimed.workspace()];
        check_apart(&written, &[claimed.key()])?;
        columns.check_apart_from(&written)?;
        let len = claimed.get().columns_message_len(&columns);
        // SAFETY: not NULL, aligned, and apart from all other memory.
        unsafe { bytes.write(len) };
        Ok(())
    };
    Status::of(run())
}

/// Encrypts columns, each with its own encoding, into the first bytes of `message`, which has room for
/// `capacity`, and writes their number to `message_len`. Everything is checked before anything is
/// written. The key's parameter set is one for radix blocks over the 64-bit torus.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encrypt_columns(
    encryptor: *mut Encryptor,
    columns: *const ColumnValues,
    column_count: usize,
    message: *mut u8,
    capacity: usize,
    message_len: *mut usize,
) -> i32 {
    let run = || {
        let message_region = memory::check(message, capacity)?;
        let len_region = memory::check(message_len, 1)?;
        // SAFETY: what the header asks of every caller.
        let columns = unsafe { Columns::check(columns, column_count)? };
        // SAFETY: what the header asks of every caller.
        let mut claimed = unsafe { Claimed::session(encryptor)? };
        let (own, workspace) = (claimed.region(), claimed.workspace());
        let written = [message_region, len_region, own, workspace];
        check_apart(&written, &[claimed.key()])?;
        columns.check_apart_from(&written)?;
        // SAFETY: it overlaps nothing that is used here.
        let message = unsafe { memory::output(message, capacity)? };
        let len = claimed.get().encrypt_columns(&columns, message)?;
        // SAFETY: not NULL, aligned, and apart from all other memory.
        unsafe { message_len.write(len) };
        Ok(())
    };
    Status::of(run())
}

/// Does the same as `tfhe_sbc_encrypt_columns`, but passes the message to `sink` piece by piece while it
/// is made. Everything is checked before the first piece.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encrypt_columns_to(
    encryptor: *mut Encryptor,
    columns: *const ColumnValues,
    column_count: usize,
    sink: Sink,
    sink_context: *mut c_void,
) -> i32 {
    let run = || {
        let mut sink = callbacks::pieces(sink, sink_context)?;
        // SAFETY: what the header asks of every caller.
        let columns = unsafe { Columns::check(columns, column_count)? };
        // SAFETY: what the header asks of every caller.
        let mut claimed = unsafe { Claimed::session(encryptor)? };
        columns.check_apart_from(&[claimed.region(), claimed.workspace()])?;
        claimed.get().encrypt_columns_to(&columns, &mut |piece| {
            sink(piece).map_err(|()| SinkError(callbacks::REFUSED))
        })?;
        Ok(())
    };
    Status::of(run())
}

/// Columns whose pointers, lengths and encodings have been checked.
#[derive(Clone, Copy)]
struct Columns<'a>(&'a [ColumnValues]);

impl<'a> Columns<'a> {
    /// # Safety
    /// The caller keeps what the header demands of every caller, during `'a`.
    unsafe fn check(columns: *const ColumnValues, count: usize) -> Result<Self, Status> {
        // SAFETY: the caller's promise.
        let columns: &[ColumnValues] = unsafe { memory::input(columns, count)? };
        for column in columns {
            // SAFETY: the caller's promise.
            unsafe {
                let is_compact = !matches!(values(column)?, Values::Blocks(_));
                column.derived.check(column.encoding.bits, is_compact)?;
            }
        }
        Ok(Self(columns))
    }

    /// Checks that nothing that is written overlaps the columns or their values.
    fn check_apart_from(self, written: &[Region]) -> Result<(), Status> {
        check_apart(written, &[Region::of(self.0)])?;
        self.0.iter().try_for_each(|column| {
            // SAFETY: as in `check`.
            let region = match unsafe { values(column)? } {
                Values::Blocks(blocks) => Region::of(blocks),
                Values::Codes(_, codes) | Values::DerivedCodes(_, _, _, codes) => Region::of(codes),
                Values::Readings(_, _, readings) | Values::Derived(_, _, _, readings) => {
                    Region::of(readings)
                }
            };
            check_apart(written, &[region, column.derived.region()])
        })
    }
}

impl ColumnSource for Columns<'_> {
    fn column_count(&self) -> usize {
        let counts = self.0.iter().map(|column| 1 + column.derived.count());
        counts.fold(0, usize::saturating_add)
    }

    fn column(&self, index: usize) -> Values<'_> {
        let mut place = index;
        let column = self.0.iter().find(|column| {
            let behind = place.checked_sub(1 + column.derived.count());
            place = behind.unwrap_or(place);
            behind.is_none()
        });
        // SAFETY: as in `check`, which has accepted all columns.
        let values = column.and_then(|column| unsafe { values_at(column, place) }.ok());
        values.unwrap_or(Values::Blocks(&[]))
    }
}

/// Returns the values of a column, which has place 0, or those that are derived from it, which have the places
/// behind it.
///
/// # Safety
/// As for [`values`] and [`Derived::of`].
unsafe fn values_at<'a>(column: &ColumnValues, place: usize) -> Result<Values<'a>, Status> {
    // SAFETY: the caller's promise.
    let own = unsafe { values(column)? };
    let Some(place) = place.checked_sub(1) else {
        return Ok(own);
    };
    // SAFETY: the caller's promise.
    let derived = unsafe { column.derived.of(column.encoding.bits)? };
    let (derivation, form) = derived.column(place).ok_or(Status::Derived)?;
    match own {
        Values::Codes(own, codes) => Ok(Values::DerivedCodes(form, derivation, own.bits(), codes)),
        Values::Readings(_, encoding, readings) => {
            Ok(Values::Derived(form, derivation, encoding, readings))
        }
        _ => Err(Status::Derived),
    }
}

/// Returns the values of a column, without those that are derived from it.
///
/// # Safety
/// Pointers that are not NULL point to `count` values that nothing writes during `'a`.
unsafe fn values<'a>(column: &ColumnValues) -> Result<Values<'a>, Status> {
    let ColumnValues {
        blocks,
        codes,
        readings,
        count,
        encoding,
        compact,
        derived: _,
    } = *column;
    match (blocks.is_null(), codes.is_null(), readings.is_null()) {
        (false, true, true) if compact.is_none() => {
            // SAFETY: the caller's promise.
            Ok(Values::Blocks(unsafe { memory::input(blocks, count)? }))
        }
        (true, false, true) => {
            let compact = compact.encoding(encoding.bits)?;
            // SAFETY: the caller's promise.
            Ok(Values::Codes(compact, unsafe {
                memory::input(codes, count)?
            }))
        }
        (true, true, false) => {
            let fixed_point: FixedPoint = encoding.fixed_point()?;
            let compact = compact.encoding(fixed_point.bits())?;
            // SAFETY: the caller's promise.
            let readings = unsafe { memory::input(readings, count)? };
            Ok(Values::Readings(compact, fixed_point, readings))
        }
        (true, true, true) => Err(Status::Null),
        _ => Err(Status::Compact),
    }
}
