//! The description of readings, the first message of an upload.

use core::ffi::{c_char, c_void};
use core::slice;

use tfhe_sbc_device::{CompactEncoding, Description, FixedPoint, SinkError};

use crate::callbacks::{self, Sink};
use crate::columns::Compact;
use crate::derived::Derived;
use crate::memory::{self, check_apart, Region};
use crate::readings::Encoding;
use crate::status::Status;
use crate::storage::{Claimed, Encryptor};

/// The largest number of bytes of a text: 64 characters of up to 4 bytes.
const MAX_TEXT_BYTES: usize = 256;

/// A column of readings, for the description of an upload.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Column {
    /// The name: 1 to 64 letters, digits and underscores, terminated by a zero byte.
    pub name: *const c_char,
    /// The unit, for people, in UTF-8 and terminated by a zero byte: at most 64 characters; may be
    /// empty.
    pub unit: *const c_char,
    /// The encoding of the column's readings.
    pub encoding: Encoding,
    /// The compact form of the codes; all zeros if they are split into radix blocks.
    pub compact: Compact,
    /// The derived squares and flags; all zeros if there are none.
    pub derived: Derived,
}

/// Writes the description of an upload of readings into the first bytes of `message`, which has
/// room for `capacity`, and their number to `message_len`.
///
/// A server can answer questions about an upload that consists of this message and, immediately
/// after it, one of `tfhe_sbc_encrypt_blocks` with the blocks of all rows of the first column, then
/// of all rows of the second, and so on; or one of `tfhe_sbc_encrypt_columns`, if a column is
/// compact. `rows` are labels in UTF-8 of at most 64 characters, each terminated by a zero byte,
/// usually times. The description is not encrypted.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_describe(
    encryptor: *mut Encryptor,
    columns: *const Column,
    column_count: usize,
    rows: *const *const c_char,
    row_count: usize,
    message: *mut u8,
    capacity: usize,
    message_len: *mut usize,
) -> i32 {
    let run = || {
        let written = [
            memory::check(message, capacity)?,
            memory::check(message_len, 1)?,
        ];
        // SAFETY: what the header asks of every caller.
        let input = unsafe { Input::check(columns, column_count, rows, row_count)? };
        // SAFETY: what the header asks of every caller.
        let mut claimed = unsafe { Claimed::session(encryptor)? };
        let [message_region, len_region] = written;
        let (own, workspace) = (claimed.region(), claimed.workspace());
        let written = [message_region, len_region, own, workspace];
        check_apart(&written, &[claimed.key()])?;
        input
            .regions()
            .try_for_each(|read| check_apart(&written, &[read]))?;
        // SAFETY: it overlaps nothing that is used here.
        let message = unsafe { memory::output(message, capacity)? };
        let session = claimed.get();
        let description = Description::new(
            session.parameters(),
            session.key_fingerprint(),
            input.columns(),
            input.rows(),
        )?;
        let len = description.write(message)?;
        // SAFETY: not NULL, aligned, and apart from all other memory.
        unsafe { message_len.write(len) };
        Ok(())
    };
    Status::of(run())
}

/// Does the same as `tfhe_sbc_describe`, but passes the message to `sink` piece by piece. Everything
/// is checked before the first piece.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_describe_to(
    encryptor: *mut Encryptor,
    columns: *const Column,
    column_count: usize,
    rows: *const *const c_char,
    row_count: usize,
    sink: Sink,
    sink_context: *mut c_void,
) -> i32 {
    let run = || {
        let mut sink = callbacks::pieces(sink, sink_context)?;
        // SAFETY: what the header asks of every caller.
        let input = unsafe { Input::check(columns, column_count, rows, row_count)? };
        // SAFETY: what the header asks of every caller.
        let mut claimed = unsafe { Claimed::session(encryptor)? };
        let written = [claimed.region(), claimed.workspace()];
        input
            .regions()
            .try_for_each(|read| check_apart(&written, &[read]))?;
        let session = claimed.get();
        let description = Description::new(
            session.parameters(),
            session.key_fingerprint(),
            input.columns(),
            input.rows(),
        )?;
        description
            .write_to(&mut |piece| sink(piece).map_err(|()| SinkError(callbacks::REFUSED)))?;
        Ok(())
    };
    Status::of(run())
}

/// Columns and rows whose pointers, texts and encodings have been checked.
#[derive(Clone, Copy)]
struct Input<'a> {
    columns: &'a [Column],
    rows: &'a [*const c_char],
}

impl<'a> Input<'a> {
    /// # Safety
    /// The caller keeps what the header demands of every caller, during `'a`.
    unsafe fn check(
        columns: *const Column,
        column_count: usize,
        rows: *const *const c_char,
        row_count: usize,
    ) -> Result<Self, Status> {
        // SAFETY: the caller's promise.
        let columns: &[Column] = unsafe { memory::input(columns, column_count)? };
        // SAFETY: the caller's promise.
        let rows: &[*const c_char] = unsafe { memory::input(rows, row_count)? };
        for column in columns {
            // SAFETY: the caller's promise.
            unsafe { (text(column.name)?, text(column.unit)?) };
            let fixed_point = fixed_point(column).ok_or(Status::Encoding)?;
            let compact = compact(column, &fixed_point)?;
            let derived = &column.derived;
            // SAFETY: the caller's promise.
            unsafe { derived.check(fixed_point.bits(), compact.is_some())? };
        }
        for &row in rows {
            // SAFETY: the caller's promise.
            unsafe { text(row)? };
        }
        Ok(Self { columns, rows })
    }

    fn columns(self) -> impl Iterator<Item = tfhe_sbc_device::Column<'a>> + Clone {
        // `check` has accepted all columns, so that none is left out here.
        self.columns.iter().filter_map(|column| {
            // SAFETY: as in `check`.
            let (name, unit) = unsafe { (text(column.name).ok()?, text(column.unit).ok()?) };
            let encoding = fixed_point(column)?;
            Some(tfhe_sbc_device::Column {
                name,
                unit,
                encoding,
                compact: compact(column, &encoding).ok()?,
                // SAFETY: as in `check`.
                derived: unsafe { column.derived.of(encoding.bits()) }.ok()?,
            })
        })
    }

    fn rows(self) -> impl Iterator<Item = &'a str> + Clone {
        // SAFETY: as in `check`.
        self.rows
            .iter()
            .filter_map(|&row| unsafe { text(row) }.ok())
    }

    /// All regions of memory that are read.
    fn regions(self) -> impl Iterator<Item = Region> + 'a {
        let arrays = [Region::of(self.columns), Region::of(self.rows)];
        let flags = self.columns.iter().map(|column| column.derived.region());
        let columns = self.columns().flat_map(|column| [column.name, column.unit]);
        let texts = columns.chain(self.rows());
        arrays
            .into_iter()
            .chain(flags)
            // The terminating zero byte is read too.
            .chain(texts.map(|text| Region::new(text.as_ptr(), text.len() + 1)))
    }
}

fn fixed_point(column: &Column) -> Option<FixedPoint> {
    column.encoding.fixed_point().ok()
}

/// Returns the compact form of a column, or `None` if it is radix blocks.
fn compact(column: &Column, encoding: &FixedPoint) -> Result<Option<CompactEncoding>, Status> {
    if column.compact.is_none() {
        return Ok(None);
    }
    column.compact.encoding(encoding.bits()).map(Some)
}

/// Reads a string of C.
///
/// # Safety
/// If `start` is not NULL, it points to bytes that end with a zero and that nothing writes during
/// `'a`.
unsafe fn text<'a>(start: *const c_char) -> Result<&'a str, Status> {
    let start = start.cast::<u8>();
    memory::check(start, 1)?;
    // Nothing behind the longest text is read, even if the terminating zero is missing.
    let len = (0..=MAX_TEXT_BYTES)
        // SAFETY: no byte before it is the zero.
        .find(|&len| unsafe { start.add(len).read() } == 0)
        .ok_or(Status::Description)?;
    // SAFETY: these bytes have just been read.
    let bytes = unsafe { slice::from_raw_parts(start, len) };
    core::str::from_utf8(bytes).map_err(|_| Status::Description)
}
