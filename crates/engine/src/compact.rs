//! Signs and radix digits of compact values, by lookups of a few bits each.
//!
//! A compact value is a number at the top of the torus in one LWE ciphertext under the big key
//! ([`CompactEncoding`](tfhe_sbc_core::encoding::CompactEncoding)). It is too wide for one lookup, so
//! that lookups take it apart chunk by chunk, the lowest chunk first: see
//! [`chunks`](tfhe_sbc_core::encoding::chunks), which names the source. The lengths of the chunks
//! follow from the noise; the crate `oracle` plans them.

mod digits;
mod extremes;
mod sign;

use tfhe_sbc_core::encoding::chunks::{ChunkError, View};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{ParameterName, Parameters, PlaintextKind};
use thiserror::Error;

pub use digits::{CompactDigits, digit_bootstraps};
pub use extremes::extreme_bootstraps;
pub use sign::sign_bootstraps;

use crate::bootstrap::{BootstrapError, Evaluator, Job};
use crate::chunk_table::view_offset;

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
    seen.add_plaintext(view_offset(parameters, view, coarseness_log2));
    seen
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
