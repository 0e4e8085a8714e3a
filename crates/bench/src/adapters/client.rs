//! Clients of other libraries that encrypt the same readings.

use crate::error::BenchError;
use crate::timing::Subject;

/// A client key of TFHE-rs's default parameters.
pub(super) const CLIENT_KEY: &[u8] = include_bytes!("../../../../tests/vectors/tfhe-rs/client_key");

/// The number of readings.
pub(super) const READINGS: usize = 1024;

/// The code of a reading of `bits` bits.
pub(super) fn reading(index: usize, bits: u32) -> u64 {
    (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)
}

/// The form in which TFHE-rs's client sends a value.
#[derive(Clone, Copy)]
pub(super) enum TheirForm {
    /// A `FheUint`.
    Expanded,
    /// A `CompressedFheUint`, which has a seed for its masks.
    Compressed,
    /// A `CompactCiphertextList` of all values, under a public key.
    Compact,
}

/// A client that encrypts the same readings.
pub(super) trait Client {
    /// The readings of `bits` bits in a form, or `None` if the client does not have the form.
    fn subject(&self, form: TheirForm, bits: u32)
    -> Result<Option<Box<dyn Sent + '_>>, BenchError>;
}

/// The message of a client.
pub(super) trait Sent {
    /// Its name.
    fn name(&self) -> &str;
    /// Its size in bytes.
    fn bytes(&self) -> usize;
    /// The work of making it.
    fn subject(&mut self) -> &mut dyn Subject;
}
