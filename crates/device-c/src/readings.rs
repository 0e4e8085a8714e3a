//! The encoding of numbers as radix blocks.

use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_device::{encode_readings, reading_block_count, FixedPoint};

use crate::memory::{self, check_apart};
use crate::status::Status;
use crate::storage::{Claimed, Encryptor};

/// An encoding of readings as unsigned fixed-point codes: reading `v` has the code
/// `round((v - offset) / scale)` of `bits` bits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Encoding {
    /// The lowest reading that can occur.
    pub offset: f64,
    /// The step between neighbouring codes, above 0.
    pub scale: f64,
    /// The width of a code, 1 to 52.
    pub bits: u32,
}

impl Encoding {
    /// Returns the encoding that these numbers describe.
    pub(crate) fn fixed_point(&self) -> Result<FixedPoint, Status> {
        FixedPoint::new(self.offset, self.scale, self.bits).map_err(|_| Status::Encoding)
    }
}

/// Writes to `blocks` the number of blocks of `count` readings or codes of `bits` bits, 1 to 64.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_block_count(
    encryptor: *mut Encryptor,
    bits: u32,
    count: usize,
    blocks: *mut usize,
) -> i32 {
    let run = || {
        let written = memory::check(blocks, 1)?;
        // SAFETY: what the header asks of every caller.
        let mut claimed = unsafe { Claimed::session(encryptor)? };
        check_apart(
            &[written, claimed.region(), claimed.workspace()],
            &[claimed.key()],
        )?;
        let needed = needed(claimed.get().parameters().block_encoding(), bits, count)?;
        // SAFETY: not NULL, aligned, and apart from our own memory.
        unsafe { blocks.write(needed) };
        Ok(())
    };
    Status::of(run())
}

/// Encodes `count` readings as radix blocks: reading after reading, and of each the least
/// significant block first. `blocks` has room for `capacity`; the first `tfhe_sbc_block_count` are
/// written, or none if there is an error.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encode_readings(
    encryptor: *mut Encryptor,
    encoding: *const Encoding,
    readings: *const f64,
    count: usize,
    blocks: *mut u8,
    capacity: usize,
) -> i32 {
    let run = || {
        memory::check(encoding, 1)?;
        // SAFETY: what the header asks of every caller.
        let encoding = unsafe { encoding.read() }.fixed_point()?;
        let encode = |block_encoding, readings: &[f64], blocks: &mut [u8]| {
            let needed = reading_block_count(block_encoding, &encoding, readings.len());
            let blocks = blocks.get_mut(..needed).ok_or(Status::OutputTooSmall)?;
            Ok(encode_readings(
                block_encoding,
                &encoding,
                readings,
                blocks,
            )?)
        };
        // SAFETY: the caller's promise.
        unsafe { fill_blocks(encryptor, readings, count, blocks, capacity, encode) }
    };
    Status::of(run())
}

/// Encodes `count` unsigned codes of `bits` bits, 1 to 64, as radix blocks, as
/// `tfhe_sbc_encode_readings` does, but without floating point. The result of an
/// analog-to-digital converter is such a code.
#[no_mangle]
pub unsafe extern "C" fn tfhe_sbc_encode_codes(
    encryptor: *mut Encryptor,
    bits: u32,
    codes: *const u64,
    count: usize,
    blocks: *mut u8,
    capacity: usize,
) -> i32 {
    let encode = |encoding: BlockEncoding, codes: &[u64], blocks: &mut [u8]| {
        let needed = needed(encoding, bits, codes.len())?;
        let blocks = blocks.get_mut(..needed).ok_or(Status::OutputTooSmall)?;
        if codes.iter().any(|&code| code > u64::MAX >> (64 - bits)) {
            return Err(Status::ReadingOutOfRange);
        }
        let each = encoding.block_count(bits);
        for (&code, blocks) in codes.iter().zip(blocks.chunks_exact_mut(each)) {
            encoding
                .split(code, blocks)
                .map_err(|_| Status::ReadingOutOfRange)?;
        }
        Ok(())
    };
    // SAFETY: what the header asks of every caller.
    Status::of(unsafe { fill_blocks(encryptor, codes, count, blocks, capacity, encode) })
}

/// Returns the number of blocks of `count` codes.
fn needed(encoding: BlockEncoding, bits: u32, count: usize) -> Result<usize, Status> {
    if !(1..=64).contains(&bits) {
        return Err(Status::Encoding);
    }
    count
        .checked_mul(encoding.block_count(bits))
        .ok_or(Status::Length)
}

/// Checks the memory and calls `encode` to fill the blocks.
///
/// # Safety
/// The caller keeps what the header demands of every caller.
unsafe fn fill_blocks<V>(
    encryptor: *mut Encryptor,
    values: *const V,
    count: usize,
    blocks: *mut u8,
    capacity: usize,
    encode: impl FnOnce(BlockEncoding, &[V], &mut [u8]) -> Result<(), Status>,
) -> Result<(), Status> {
    let read = memory::check(values, count)?;
    let written = memory::check(blocks, capacity)?;
    // SAFETY: the caller's promise.
    let mut claimed = unsafe { Claimed::session(encryptor)? };
    check_apart(
        &[written, claimed.region(), claimed.workspace()],
        &[read, claimed.key()],
    )?;
    // SAFETY: the caller's promise.
    let values = unsafe { memory::input(values, count)? };
    // SAFETY: it overlaps nothing that is used here.
    let blocks = unsafe { memory::output(blocks, capacity)? };
    encode(claimed.get().parameters().block_encoding(), values, blocks)
}
