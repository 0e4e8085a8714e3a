//! The table of compact columns: lookups on whole readings in one ciphertext each, beside the radix blocks
//! that readings travel in otherwise, and sums of readings over many uploads.
//!
//! One file for each group of rows. `ours` is the compact form; where a row has a peer, that is this
//! project's own radix form of the same question.

mod lookups;
mod sums;
pub(crate) mod year;

use std::time::Duration;

use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

use crate::error::BenchError;
use crate::keys::Keys;
use crate::machine::Machine;
use crate::report::Row;

/// Measures all rows: lookups on all threads of the global pool, one for each core of `machine`, and sums on
/// one thread. Each group has half the budget.
pub(crate) fn rows(machine: &Machine, budget: Duration) -> Result<Vec<Row>, BenchError> {
    let mut rows = sums::rows(budget / 2, machine.largest_cache())?;
    rows.extend(year::rows()?);
    let mut keys = Keys::generate(MESSAGE_2_CARRY_2)?;
    rows.extend(lookups::rows(&mut keys, machine.cores, budget / 2)?);
    Ok(rows)
}
