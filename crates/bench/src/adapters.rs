//! The table of adapters: what boards encrypt, as ciphertexts of other libraries.

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

/// All rows.
pub(crate) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    let mut rows = tfhepp::rows(budget / 2)?;
    rows.extend(readings::rows(budget / 2)?);
    Ok(rows)
}
