//! The cost of computations, known without computing them.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use serde::Serialize;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{Comparison, FheUint, Width};
use tfhe_sbc_engine::server_key::ServerKey;

use crate::error::Error;
use crate::limits::MAX_LOADED_BLOCKS;

/// The cost of one computation or of several together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The number of bootstraps.
    pub bootstraps: u64,
    /// The largest number of them that must follow one another.
    pub depth: u32,
    /// The number of blocks of readings that are loaded at once; a server refuses more than
    /// [`MAX_LOADED_BLOCKS`].
    pub loaded_blocks: u64,
}

impl Cost {
    /// Returns whether a server refuses the computation, because it loads too many blocks at once.
    pub fn is_too_large(&self) -> bool {
        self.loaded_blocks > MAX_LOADED_BLOCKS
    }
}

/// The speed of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// The time of one bootstrap of many.
    each: Duration,
    /// The time of one bootstrap alone.
    alone: Duration,
}

impl Speed {
    /// Measures the speed of bootstraps with a server key, for about a second.
    ///
    /// # Errors
    /// A key whose parameters do not carry integers.
    pub fn measure(key: &ServerKey<u64>) -> Result<Self, Error> {
        /// Bootstraps of a batch for every thread.
        const MANY: usize = 32;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let many = MANY * threads;
        Ok(Self {
            alone: time(key, 1)?.min(time(key, 1)?),
            each: time(key, many)? / many as u32,
        })
    }

    /// Returns the time that a computation of this cost takes.
    pub fn predict(&self, cost: &Cost) -> Duration {
        let all = self.each.as_secs_f64() * cost.bootstraps as f64;
        let one_by_one = self.alone.as_secs_f64() * f64::from(cost.depth);
        Duration::from_secs_f64(all.max(one_by_one))
    }
}

/// Returns the time of `count` bootstraps of arbitrary ciphertexts.
fn time(key: &ServerKey<u64>, count: usize) -> Result<Duration, Error> {
    let parameters = key.parameters();
    let circuit = Circuit::new(parameters)?;
    let width = Width::new(parameters.message_bits().0)?;
    let limit: FheUint = circuit.clear(1u64, width);
    let random = RandomState::new();
    let words = parameters.big_lwe_dimension().0 + 1;
    let bits = (0..count).map(|i| {
        let words = (0..words).map(|word| random.hash_one((i, word))).collect();
        let ciphertexts = LweCiphertext::from_vec(words).into_iter().collect();
        let x: FheUint = circuit.encrypted(ciphertexts, width)?;
        Ok(circuit.bit(&circuit.compare(Comparison::Lt, &x, &limit)?))
    });
    let bits: Vec<Block> = bits.collect::<Result<_, Error>>()?;
    let start = Instant::now();
    circuit.evaluate(&Evaluator::new(key), &bits.iter().collect::<Vec<_>>())?;
    Ok(start.elapsed())
}
