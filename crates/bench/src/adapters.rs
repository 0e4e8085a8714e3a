//! The table of adapters: what boards encrypt, as ciphertexts of other libraries.

mod tfhepp;

use std::time::Duration;

use crate::error::BenchError;
use crate::report::Row;

/// All rows.
pub(crate) fn rows(budget: Duration) -> Result<Vec<Row>, BenchError> {
    tfhepp::rows(budget)
}
