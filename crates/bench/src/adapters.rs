//! The table of adapters: uploads of boards as ciphertexts of other libraries.

mod client;
#[cfg(not(feature = "tfhe-rs"))]
mod no_peer;
mod readings;
#[cfg(feature = "tfhe-rs")]
mod tfhe_rs;
mod tfhepp;

use std::time::Duration;

use crate::error::BenchError;
use crate::report::Row;

/// Measures all rows.
pub(crate) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    let mut rows = tfhepp::rows(budget / 2)?;
    rows.extend(readings::rows(budget / 2)?);
    Ok(rows)
}
