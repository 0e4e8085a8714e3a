//! The table of compact columns: lookups on whole readings in one ciphertext each, beside the radix blocks
//! that readings travel in otherwise.
//!
//! One file for each group of rows. `ours` is the compact form; where a row has a peer, that is this
//! project's own radix form of the same question.

mod lookups;

use std::time::Duration;

use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

use crate::error::BenchError;
use crate::keys::Keys;
use crate::report::Row;

/// Measures all rows on all threads of the global pool, `threads` of them.
pub(crate) fn rows(threads: usize, budget: Duration) -> Result<Vec<Row>, BenchError> {
    let mut keys = Keys::generate(MESSAGE_2_CARRY_2)?;
    lookups::rows(&mut keys, threads, budget)
}
