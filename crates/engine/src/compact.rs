//! Signs and radix digits of compact values, by lookups of a few bits each.
//!
//! A compact value is a number at the top of the torus in one LWE ciphertext under the big key
//! ([`CompactEncoding`](tfhe_sbc_core::encoding::CompactEncoding)). It is too wide for one lookup, so
//! that lookups take it apart chunk by chunk, the lowest chunk first: see
//! [`chunks`](tfhe_sbc_core::encoding::chunks), which names the source. The lengths of the chunks
//! follow from the noise; the crate `oracle` plans them.

mod digits;
mod sign;

use tfhe_sbc_core::encoding::chunks::{ChunkError, View};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{ModulusSwitch, ParameterName, Parameters, PlaintextKind};
use thiserror::Error;

pub use digits::{CompactDigits, digit_bootstraps};
pub use sign::sign_bootstraps;

use crate::bootstrap::{BootstrapError, Evaluator, Job};
use crate::lookup_table::LookupTable;

/// The reason for which compact values are not taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CompactEvaluateError {
    /// The parameter set does not carry radix blocks, in which the results are.
    #[error("the parameter set '{}' does not carry radix blocks", .0.as_str())]
    Parameters(ParameterName),
    /// The chunks do not take the values apart.
    #[error(transparent)]
    Chunks(#[from] ChunkError),
    /// A ciphertext does not fit the key.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// The caller's `go_on` returned false.
    #[error("the evaluation was cancelled")]
    Cancelled,
}

impl Evaluator<'_, u64> {
    /// Checks that results can be radix blocks, and that all values are under the big key.
    fn check_compact(&self, values: &[LweCiphertext<u64>]) -> Result<(), CompactEvaluateError> {
        let parameters = self.parameters();
        if parameters.plaintext() != PlaintextKind::Radix {
            return Err(CompactEvaluateError::Parameters(parameters.name()));
        }
        Ok(self.check_big(values)?)
    }
}

/// The torus element `2^-log2`, for `log2` from 1.
fn part_of_torus(log2: u32) -> u64 {
    1 << (u64::BITS - log2)
}

/// Returns the view of a value, in which every phase is as far from the border below it as from that
/// above, for a table with exponents of this coarseness.
fn see(
    parameters: &Parameters,
    value: &LweCiphertext<u64>,
    view: View,
    coarseness_log2: u32,
) -> LweCiphertext<u64> {
    let mut seen = value.clone();
    seen.mul_assign(1 << view.factor_log2);
    seen.add_plaintext(part_of_torus(view.half_width_log2()));
    if parameters.modulus_switch() == ModulusSwitch::Plain {
        // The body is rounded to nearest instead of down, which moves every border of a table down
        // by half a step of the modulus switch.
        let half_step = part_of_torus(parameters.polynomial_size().log2() + 2 - coarseness_log2);
        seen.add_plaintext(half_step.wrapping_neg());
    }
    seen
}

/// Returns the table that gives a top bit at the scale `2^-scale_log2` of the torus, and what must be added
/// to its outputs. The table has the negative of half the bit and the other half is added, so that the
/// bit is 0 for phases below one half of the torus and 1 for the others.
fn top_bit_table(parameters: &Parameters, scale_log2: u32) -> (LookupTable<u64>, u64) {
    let half = part_of_torus(scale_log2 + 1);
    let table = LookupTable::sign(parameters.polynomial_size(), half.wrapping_neg());
    (table, half)
}

/// The inputs of all lookups of a measurement.
struct Inputs {
    lookups: Vec<Vec<LweCiphertext<u64>>>,
    next: usize,
}

impl Inputs {
    fn new(lookup_count: usize) -> Self {
        Self {
            lookups: vec![Vec::new(); lookup_count],
            next: 0,
        }
    }

    /// Keeps the inputs of the next lookup of a round.
    fn keep(&mut self, jobs: Vec<Job<'_, u64, u64>>) {
        let at = self.next % self.lookups.len().max(1);
        if let Some(inputs) = self.lookups.get_mut(at) {
            inputs.extend(jobs.into_iter().map(|job| job.input));
        }
        self.next += 1;
    }

    fn finish(self) -> Vec<Vec<LweCiphertext<u64>>> {
        self.lookups
    }
}
