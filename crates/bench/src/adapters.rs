//! The table of adapters: what boards encrypt, as ciphertexts of other libraries.

#[cfg(not(feature = "tfhe-rs"))]
mod no_peer;
mod readings;
#[cfg(feature = "tfhe-rs")]
mod tfhe_rs;
mod tfhepp;

use std::time::Duration;

use crate::error::BenchError;
use crate::report::Row;
use crate::timing::Subject;

/// How TFHE-rs's client sends a value.
#[derive(Clone, Copy)]
enum TheirForm {
    /// As a `FheUint`.
    Expanded,
    /// As a `CompressedFheUint`, its masks a seed.
    Compressed,
    /// All in a `CompactCiphertextList`, under a public key.
    Compact,
}

/// A client that encrypts the same readings.
trait Client {
    /// The readings of so many bits in a form; `None` if it does not have it.
    fn subject(&self, form: TheirForm, bits: u32)
    -> Result<Option<Box<dyn Sent + '_>>, BenchError>;
}

/// What a client sends.
trait Sent {
    /// What it is called.
    fn name(&self) -> &str;
    /// Its bytes.
    fn bytes(&self) -> usize;
    /// What is timed.
    fn subject(&mut self) -> &mut dyn Subject;
}

/// All rows.
pub(crate) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    let mut rows = tfhepp::rows(budget / 2)?;
    rows.extend(readings::rows(budget / 2)?);
    Ok(rows)
}
