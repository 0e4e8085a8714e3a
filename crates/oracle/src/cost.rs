//! The cost of a bootstrap on a machine: its seconds by a [`CostModel`] of the engine's kernels,
//! and the bytes of its keys.
//!
//! ```text
//! CostModel (measured by params calibrate, or built in)
//!     │ breakdown(set, batch, threads)
//!     ▼
//! Breakdown: transforms · products · key streaming · key switch · rest
//! ```
//!
//! The terms are those of the engine's loops. A blind rotation has one step for every block of key
//! bits. In a step, `rows` digits are transformed forwards, `outputs` sums are transformed
//! backwards, and every row is multiplied with the key for every output and bit. A thread advances
//! up to [`LOCKSTEP`] ciphertexts in a pass over the key, so that each ciphertext pays a share of
//! reading the bytes of the key; the price of a byte beside the arithmetic depends on the size of
//! the working set. A key switch is a few transforms of its own, and its key is small.

// These files are parts of `CostModel`, which is defined below.
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

/// The number of sizes of transforms, from 2^8 to 2^16 coefficients.
pub const SIZES: usize = 9;

/// log2 of the smallest size of a transform.
pub const SMALLEST_SIZE_LOG2: u32 = 8;

/// The machine of a model, with the properties that the terms depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The processor, as it names itself.
    pub processor: String,
    /// The instruction set of the kernels.
    pub instruction_set: String,
    /// The largest number of threads of the measurement.
    pub threads: usize,
    /// The bytes of a core's second-level cache.
    pub level_2_bytes: usize,
    /// The bytes of the last cache before memory, which all threads share; 0 if it is not known.
    #[serde(default)]
    pub last_level_bytes: usize,
    /// The number of outputs whose sums the product of digits and key keeps in registers.
    pub outputs_at_once: usize,
}

/// The relative errors of a model on the times that it was fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residual {
    /// The median error.
    pub median: f64,
    /// The largest error.
    pub worst: f64,
}

/// The times of all kernels of the engine on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostModel {
    /// The seconds of a transform, by its size from 2^[`SMALLEST_SIZE_LOG2`] on.
    pub transforms: [f64; SIZES],
    /// The factor, at least 1, by which all threads together are slower than a single one.
    pub crowding: f64,
    /// The machine of the measurement.
    pub machine: Machine,
    /// The errors of the fit.
    pub residual: Residual,
    /// The seconds of a unit of every term.
    pub seconds: Terms,
}

/// The seconds of a bootstrap, divided by the kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// Decomposition into digits, forward transforms, and inverse transforms of sums.
    pub transforms: f64,
    /// Products of digits and key, and factors `X^a - 1`.
    pub products: f64,
    /// The reading of the bootstrapping key, as far as it takes longer than the arithmetic.
    pub key_streaming: f64,
    /// The key switch.
    pub key_switch: f64,
    /// Modulus switch, extraction, and the start and synchronisation of threads.
    pub rest: f64,
}

impl Breakdown {
    /// The seconds of a bootstrap.
    pub fn total(&self) -> f64 {
        self.transforms + self.products + self.key_streaming + self.key_switch + self.rest
    }
}

impl CostModel {
    /// The model of the machine on which this project is developed, one core of a virtual machine
    /// with AVX-512. It is used where no calibration exists.
    pub fn built_in() -> Self {
        built_in::model()
    }

    /// The wall-clock seconds of each of `batch` bootstraps of a call on `threads` threads. Both
    /// numbers must be at least 1.
    pub fn bootstrap(&self, set: &ParameterSet, batch: usize, threads: usize) -> f64 {
        self.breakdown(set, batch, threads).total()
    }

    /// Returns the price of [`bootstrap`](Self::bootstrap), divided by the kind of work.
    pub fn breakdown(&self, set: &ParameterSet, batch: usize, threads: usize) -> Breakdown {
        self.priced(&self.counts(set, batch, threads), threads)
    }

    /// The seconds of the given amounts of every term on `threads` threads.
    pub fn priced(&self, counts: &Terms, threads: usize) -> Breakdown {
        let (unit, crowd) = (&self.seconds, self.crowd(threads));
        Breakdown {
            transforms: crowd * counts.transform * unit.transform,
            products: crowd
                * (counts.multiply_add * unit.multiply_add + counts.factor * unit.factor),
            key_streaming: crowd * dot(&counts.key_byte, &unit.key_byte),
            key_switch: crowd * counts.switch_transform * unit.switch_transform,
            rest: crowd
                * (counts.coefficient * unit.coefficient
                    + counts.meeting * unit.meeting
                    + counts.exchange * unit.exchange),
        }
    }

    /// The factor by which work takes longer if `threads` threads work at once.
    pub fn crowd(&self, threads: usize) -> f64 {
        let most = self.machine.threads.max(2) - 1;
        let share = (threads.max(1) - 1) as f64 / most as f64;
        1.0 + (self.crowding - 1.0) * share.min(1.0)
    }

    /// Returns whether every price is a finite nonnegative number, and at least one is not 0.
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
