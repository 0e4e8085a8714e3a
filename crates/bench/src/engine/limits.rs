//! The limits of the machine: the rate at which memory is read, and the rate of multiply-adds of
//! doubles with the instruction set of the kernels.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rayon::ThreadPool;
use serde::Serialize;

use crate::error::BenchError;
use crate::report::Unit;
use crate::text_table::{align_right, table};

/// Rounds of which the fastest counts.
const ROUNDS: usize = 5;

/// The buffer's size where caches are small or unknown.
const LEAST_BUFFER: usize = 256 << 20;

/// Independent multiply-adds in a loop: more than any processor's latency times its units.
const CHAINS: usize = 12;

/// Iterations of that loop: some milliseconds.
const ITERATIONS: usize = 1 << 21;

/// The limits of some threads together.
#[derive(Serialize)]
pub(super) struct Limits {
    /// Threads.
    pub(super) threads: usize,
    /// The bytes of the buffer that is read, twice the largest cache.
    read_buffer: usize,
    /// The bytes read per second, when each thread reads its own part from end to end.
    pub(super) read_rate: f64,
    /// Multiply-adds of doubles per second, every lane of a vector one.
    pub(super) multiply_add_rate: f64,
}

impl Limits {
    /// Measures on all threads of a pool. `largest_cache` is in bytes.
    pub(super) fn measure(pool: &ThreadPool, largest_cache: usize) -> Result<Self, BenchError> {
        let threads = pool.current_num_threads();
        let read_buffer = LEAST_BUFFER.max(2 * largest_cache);
        // The buffer must not be zeros, which would be one page of memory read repeatedly.
        let buffer: Vec<u64> = (1..=read_buffer as u64 / 8).collect();
        let part = buffer.len().div_ceil(threads);
        let read = fastest(|| {
            pool.broadcast(|thread| {
                let part = buffer.chunks(part).nth(thread.index());
                black_box(sum(part.unwrap_or(&[])))
            });
        });
        let mut lanes = 0;
        let computed = fastest(|| {
            lanes = pool.broadcast(|_| multiply_adds()).into_iter().sum();
        });
        Ok(Self {
            threads,
            read_buffer,
            read_rate: read_buffer as f64 / read.as_secs_f64(),
            multiply_add_rate: (lanes * CHAINS * ITERATIONS) as f64 / computed.as_secs_f64(),
        })
    }
}

/// The bytes per second at which the threads of the current rayon pool read a buffer of this size
/// repeatedly, each all of it, as fast as the caches allow.
pub(super) fn reread_rate(bytes: usize) -> f64 {
    let buffer: Vec<u64> = (1..=bytes as u64 / 8).collect();
    let read = fastest(|| {
        rayon::broadcast(|_| black_box(sum(&buffer)));
    });
    (rayon::current_num_threads() * bytes) as f64 / read.as_secs_f64()
}

fn fastest(mut run: impl FnMut()) -> Duration {
    let once = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..ROUNDS).map(once).min().unwrap_or(Duration::MAX)
}

/// The sum of the data, with several partial sums so that no addition waits for another.
fn sum(data: &[u64]) -> u64 {
    let mut sums = [0u64; 16];
    for chunk in data.as_chunks::<16>().0 {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum = sum.wrapping_add(*x);
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

/// Does [`CHAINS`] times [`ITERATIONS`] multiply-adds of vectors, and returns the number of lanes
/// of a vector.
fn multiply_adds() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instruction set.
            unsafe { x86::multiply_adds_avx512() };
            return 8;
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instruction sets.
            unsafe { x86::multiply_adds_avx2() };
            return 4;
        }
    }
    portable_multiply_adds()
}

/// The version for processors without a version of their own.
fn portable_multiply_adds() -> usize {
    const LANES: usize = 2;
    let (factor, term) = (black_box([0.5; LANES]), black_box([1.0; LANES]));
    let mut chains = [[0.0f64; LANES]; CHAINS];
    for _ in 0..ITERATIONS {
        for chain in &mut chains {
            for ((x, factor), term) in chain.iter_mut().zip(factor).zip(term) {
                *x = match cfg!(target_arch = "aarch64") {
                    true => x.mul_add(factor, term),
                    false => *x * factor + term,
                };
            }
        }
    }
    black_box(chains);
    LANES
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm256_fmadd_pd, _mm256_set1_pd, _mm512_fmadd_pd, _mm512_set1_pd};
    use std::hint::black_box;

    use super::{CHAINS, ITERATIONS};

    #[target_feature(enable = "avx512f")]
    pub(super) fn multiply_adds_avx512() {
        let (factor, term) = (
            _mm512_set1_pd(black_box(0.5)),
            _mm512_set1_pd(black_box(1.0)),
        );
        let mut chains = [term; CHAINS];
        for _ in 0..ITERATIONS {
            for chain in &mut chains {
                *chain = _mm512_fmadd_pd(*chain, factor, term);
            }
        }
        black_box(chains);
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn multiply_adds_avx2() {
        let (factor, term) = (
            _mm256_set1_pd(black_box(0.5)),
            _mm256_set1_pd(black_box(1.0)),
        );
        let mut chains = [term; CHAINS];
        for _ in 0..ITERATIONS {
            for chain in &mut chains {
                *chain = _mm256_fmadd_pd(*chain, factor, term);
            }
        }
        black_box(chains);
    }
}

/// A line for each.
pub(super) fn to_table(limits: &[Limits]) -> String {
    let mut lines = table();
    lines.set_header(["limits of the machine", "buffer", "read", "multiply-adds"]);
    for limits in limits {
        lines.add_row([
            format!("{} threads", limits.threads),
            Unit::Bytes.show(limits.read_buffer as f64),
            Unit::BytesPerSecond.show(limits.read_rate),
            format!("{:.1} G/s", limits.multiply_add_rate * 1e-9),
        ]);
    }
    align_right(&mut lines, 1..4);
    lines.to_string()
}
