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
//! beside the arithmetic depends on the cache that the keys fit into.

mod built_in;
mod bytes;
mod counts;
mod seconds;

pub use bytes::{bootstrap_key_bytes, key_switch_key_bytes, server_key_file_bytes};
pub use counts::{LOCKSTEP, lockstep};
pub use seconds::{Counts, Seconds, TERMS, Term};

use serde::{Deserialize, Serialize};
use tfhe_sbc_core::parameters::ParameterSet;

/// Transforms of 2^8 to 2^16 coefficients.
pub const SIZES: usize = 9;

/// log2 of the smallest polynomial size.
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
    /// Bytes of the largest cache.
    pub level_3_bytes: usize,
    /// Outputs whose sums the product of digits and key keeps in registers.
    pub outputs_at_once: usize,
}

/// Seconds of a transform, by log2 of its size from [`SMALLEST_SIZE_LOG2`] on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transforms {
    /// Of a digit of a polynomial mod 2^32.
    pub forward_32: [f64; SIZES],
    /// Of a digit of a polynomial mod 2^64.
    pub forward_64: [f64; SIZES],
    /// Of a sum, back and into a polynomial mod 2^32.
    pub inverse_32: [f64; SIZES],
    /// Of a sum, back and into a polynomial mod 2^64.
    pub inverse_64: [f64; SIZES],
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
    /// Where it was measured.
    pub machine: Machine,
    /// How well it fits.
    pub residual: Residual,
    /// Seconds of transforms by themselves.
    pub transforms: Transforms,
    /// Seconds of a unit of every term.
    pub seconds: Seconds,
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
        let counts = self.counts(set, batch, threads);
        let seconds = self.seconds.of(&counts);
        let crowd = self.crowding(threads);
        let sum = |terms: &[Term]| {
            terms
                .iter()
                .map(|&term| seconds[term as usize] * crowd)
                .sum()
        };
        Breakdown {
            transforms: sum(&Term::TRANSFORMS),
            products: sum(&Term::PRODUCTS),
            key_streaming: sum(&Term::KEY_STREAMING),
            key_switch: sum(&Term::KEY_SWITCH),
            rest: sum(&Term::REST),
        }
    }

    /// How much of every term a bootstrap of a batch has: what
    /// [`breakdown`](Self::breakdown) multiplies with [`seconds`](Self::seconds).
    pub fn counts(&self, set: &ParameterSet, batch: usize, threads: usize) -> Counts {
        counts::counts(&self.machine, &self.transforms, set, batch, threads)
    }

    /// How much longer everything takes beside other threads at work.
    pub fn crowding(&self, threads: usize) -> f64 {
        let most = self.machine.threads.max(2) - 1;
        let share = (threads.max(1) - 1) as f64 / most as f64;
        1.0 + (self.seconds.crowding - 1.0) * share.min(1.0)
    }
}
