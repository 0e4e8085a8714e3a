//! What a bootstrap costs on a machine: seconds by a [`CostModel`] of the engine's kernels, and
//! bytes of its keys.
//!
//! ```text
//! CostModel (measured by params calibrate, or built in)
//!     │ breakdown(set, batch, threads)
//!     ▼
//! Breakdown: transforms · products · key streaming · key switch · rest
//! ```
//!
//! The terms are those of the engine's loops. A blind rotation has a step for every block of key
//! bits. In it `rows` digits are transformed, `outputs` sums transformed back, and every row
//! multiplied with the key for every output and bit. A thread takes up to [`LOCKSTEP`] ciphertexts
//! through a pass over the key, which costs a ciphertext a share of its bytes; what a byte costs
//! beside the arithmetic depends on how many there are. A key switch reads its key once for a few
//! ciphertexts, or multiplies for as long.

mod built_in;
mod bytes;
mod counts;
mod seconds;

pub use bytes::{bootstrap_key_bytes, key_switch_key_bytes, server_key_file_bytes};
pub use counts::{LOCKSTEP, lockstep};
pub use seconds::{ByWorkingSet, TERMS, Terms, WORKING_SETS};

use seconds::dot;
use serde::{Deserialize, Serialize};
use tfhe_sbc_core::parameters::ParameterSet;

/// Sizes of transforms: 2^8 to 2^16 coefficients.
pub const SIZES: usize = 9;

/// log2 of the smallest of them.
pub const SMALLEST_SIZE_LOG2: u32 = 8;

/// The machine that a model is of, and what of it the terms depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The processor, as it names itself.
    pub processor: String,
    /// The instruction set of the kernels.
    pub instruction_set: String,
    /// Threads that it was measured with at most.
    pub threads: usize,
    /// Bytes of a core's second-level cache.
    pub level_2_bytes: usize,
    /// Outputs whose sums the product of digits and key keeps in registers.
    pub outputs_at_once: usize,
}

/// How far the model is from what it was fitted to, as shares of the times measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residual {
    /// The median.
    pub median: f64,
    /// The largest.
    pub worst: f64,
}

/// Seconds of every kernel of the engine on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostModel {
    /// Seconds of a transform by itself, by its size from 2^[`SMALLEST_SIZE_LOG2`] on.
    pub transforms: [f64; SIZES],
    /// A factor, at least 1: of all threads at once over a single one.
    pub crowding: f64,
    /// Where it was measured.
    pub machine: Machine,
    /// How well it fits.
    pub residual: Residual,
    /// Seconds of a unit of every term.
    pub seconds: Terms,
}

/// The seconds of a bootstrap by what they go into.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// Digits and their transforms, and sums back.
    pub transforms: f64,
    /// Digits times key, and factors `X^a - 1`.
    pub products: f64,
    /// What reading the bootstrapping key takes beside the arithmetic.
    pub key_streaming: f64,
    /// The key switch, its key from memory included.
    pub key_switch: f64,
    /// Modulus switch, extraction, starting threads and waiting for them.
    pub rest: f64,
}

impl Breakdown {
    /// Seconds of a bootstrap.
    pub fn total(&self) -> f64 {
        self.transforms + self.products + self.key_streaming + self.key_switch + self.rest
    }
}

impl CostModel {
    /// The model of the machine that this project is developed on, for where nobody has
    /// calibrated: one core of a virtual machine with AVX-512.
    pub fn built_in() -> Self {
        built_in::model()
    }

    /// Seconds of wall clock that each of `batch` bootstraps of a call takes on `threads`
    /// threads; both at least 1.
    pub fn bootstrap(&self, set: &ParameterSet, batch: usize, threads: usize) -> f64 {
        self.breakdown(set, batch, threads).total()
    }

    /// [`bootstrap`](Self::bootstrap) by what it goes into.
    pub fn breakdown(&self, set: &ParameterSet, batch: usize, threads: usize) -> Breakdown {
        self.priced(&self.counts(set, batch, threads), threads)
    }

    /// What so much of every term takes on so many threads.
    pub fn priced(&self, counts: &Terms, threads: usize) -> Breakdown {
        let (unit, crowd) = (&self.seconds, self.crowd(threads));
        Breakdown {
            transforms: crowd * counts.transform * unit.transform,
            products: crowd
                * (counts.multiply_add * unit.multiply_add + counts.factor * unit.factor),
            key_streaming: crowd * dot(&counts.key_byte, &unit.key_byte),
            key_switch: crowd
                * (counts.switch_multiply * unit.switch_multiply
                    + dot(&counts.switch_byte, &unit.switch_byte)
                    + counts.switch_again * unit.switch_again
                    + counts.switch_digit * unit.switch_digit),
            rest: crowd
                * (counts.coefficient * unit.coefficient
                    + counts.meeting * unit.meeting
                    + counts.exchange * unit.exchange),
        }
    }

    /// How much longer everything takes beside other threads at work.
    pub fn crowd(&self, threads: usize) -> f64 {
        let most = self.machine.threads.max(2) - 1;
        let share = (threads.max(1) - 1) as f64 / most as f64;
        1.0 + (self.crowding - 1.0) * share.min(1.0)
    }

    /// Whether every price is a number that a machine can have, and something takes time.
    pub fn is_sound(&self) -> bool {
        let prices = self.seconds.to_array();
        let fine = |&price: &f64| price.is_finite() && price >= 0.0;
        prices.iter().chain(&self.transforms).all(fine)
            && self.transforms.iter().all(|&seconds| seconds > 0.0)
            && prices.iter().any(|&price| price > 0.0)
            && (1.0..=16.0).contains(&self.crowding)
            && [self.residual.median, self.residual.worst].iter().all(fine)
            && self.machine.threads > 0
            && self.machine.outputs_at_once > 0
            && self.machine.level_2_bytes > 0
    }
}

#[cfg(test)]
mod tests;
