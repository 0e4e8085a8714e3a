//! The times of bootstraps and key switches, measured in rounds with timing keys.

use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::server_key::ServerKeyError;
use tfhe_sbc_engine::timing_key::TimingKey;

/// The size from which a batch is timed once a round, because it warms up by itself.
const LARGE: usize = 8;

/// The thread pools of one thread and of all threads.
pub(super) struct Pools(Vec<ThreadPool>);

impl Pools {
    /// Makes the pools. A pool that cannot be made is left out.
    pub(super) fn new(threads: usize) -> Self {
        let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build().ok();
        Self([1, threads].into_iter().filter_map(pool).collect())
    }

    fn run<R: Send>(&self, threads: usize, work: impl FnOnce() -> R + Send) -> R {
        let of = |pool: &&ThreadPool| pool.current_num_threads() == threads;
        match self.0.iter().find(of) {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// The least times of a batch, in seconds per element.
pub(super) struct Sample {
    pub(super) batch: usize,
    pub(super) threads: usize,
    pub(super) bootstrap: f64,
    pub(super) key_switch: f64,
}

/// A parameter set and its batches.
pub(super) struct Case {
    pub(super) parameters: Parameters,
    pub(super) samples: Vec<Sample>,
}

impl Case {
    pub(super) fn new(parameters: Parameters, batches: &[(usize, usize)]) -> Self {
        let sample = |&(batch, threads): &(usize, usize)| Sample {
            batch,
            threads,
            bootstrap: f64::INFINITY,
            key_switch: f64::INFINITY,
        };
        Self {
            parameters,
            samples: batches.iter().map(sample).collect(),
        }
    }

    /// Times every batch, and its key switch if `switches` is set, with a key in other memory than
    /// in the round before.
    pub(super) fn round(&mut self, pools: &Pools, switches: bool) -> Result<(), ServerKeyError> {
        match self.parameters.torus_bits() {
            32 => self.round_with(&TimingKey::<u32>::new(&self.parameters)?, pools, switches),
            _ => self.round_with(&TimingKey::<u64>::new(&self.parameters)?, pools, switches),
        }
        Ok(())
    }

    fn round_with<T: ProductTorus>(&mut self, key: &TimingKey<T>, pools: &Pools, switches: bool) {
        for sample in &mut self.samples {
            let batch = sample.batch;
            let [bootstrap, key_switch] = pools.run(sample.threads, || {
                [
                    least(batch, || key.bootstrap_batch(batch)),
                    match switches {
                        true => least(batch, || key.key_switch_batch(batch)),
                        false => f64::INFINITY,
                    },
                ]
            });
            sample.bootstrap = sample.bootstrap.min(bootstrap);
            sample.key_switch = sample.key_switch.min(key_switch);
        }
    }
}

/// The seconds per element of a batch: the least of two runs after one that brings the key into
/// the caches.
fn least(batch: usize, work: impl Fn()) -> f64 {
    let runs = match batch < LARGE {
        true => {
            work();
            2
        }
        false => 1,
    };
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..runs).map(time).fold(f64::INFINITY, f64::min) / batch as f64
}
