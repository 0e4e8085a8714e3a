//! The functions of the program that the library calls.

use core::ffi::{c_int, c_void};

use tfhe_sbc_device::EntropyError;

use crate::status::Status;

/// A source of entropy: the operating system, or the board's true random number generator. It
/// overwrites all `len` bytes at `out` with full-entropy bytes that it has never given before, and
/// returns 0, or any other number if it cannot.
pub type Entropy =
    Option<unsafe extern "C" fn(context: *mut c_void, out: *mut u8, len: usize) -> c_int>;

/// Takes the next `len` bytes of a message, at most `TFHE_SBC_MAX_PIECE_BYTES`, or of a
/// ciphertext, at most `TFHE_SBC_CKKS_MAX_PIECE_BYTES`. Returns 0, or any other number if it
/// cannot take them.
pub type Sink =
    Option<unsafe extern "C" fn(context: *mut c_void, piece: *const u8, len: usize) -> c_int>;

/// The reason that is given for the error of a callback.
pub(crate) const REFUSED: &str = "the callback returned an error";

/// Wraps the callback of a source of entropy.
pub(crate) fn entropy(
    entropy: Entropy,
    context: *mut c_void,
) -> Result<impl FnMut(&mut [u8]) -> Result<(), EntropyError> + 'static, Status> {
    let entropy = entropy.ok_or(Status::Null)?;
    Ok(move |out: &mut [u8]| {
        // SAFETY: a callback that does what its type says.
        match unsafe { entropy(context, out.as_mut_ptr(), out.len()) } {
            0 => Ok(()),
            _ => Err(EntropyError::Source(REFUSED)),
        }
    })
}

/// Wraps the callback of a sink.
pub(crate) fn pieces(
    sink: Sink,
    context: *mut c_void,
) -> Result<impl FnMut(&[u8]) -> Result<(), ()>, Status> {
    let sink = sink.ok_or(Status::Null)?;
    Ok(move |piece: &[u8]| {
        // SAFETY: a callback that does what its type says.
        match unsafe { sink(context, piece.as_ptr(), piece.len()) } {
            0 => Ok(()),
            _ => Err(()),
        }
    })
}
