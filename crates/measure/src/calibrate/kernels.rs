//! The description of the machine, and the times of its transforms.

use std::hint::black_box;
use std::time::{Duration, Instant};

use aligned_vec::{AVec, ConstAlign};
use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::fft::external_product::{ExternalProductPlan, ProductShape};
use tfhe_sbc_core::simd::{DigitPlace, Isa};
use tfhe_sbc_engine::caches::{caches, second_level_bytes};
use tfhe_sbc_oracle::cost::{Machine, SIZES, SMALLEST_SIZE_LOG2};

/// Returns the machine as the system describes it.
pub(super) fn machine(threads: usize) -> Machine {
    let isa = Isa::detect();
    let sizes = caches().into_iter().map(|cache| cache.bytes);
    Machine {
        processor: processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        instruction_set: isa.name().to_owned(),
        threads,
        level_2_bytes: second_level_bytes(),
        last_level_bytes: sizes.max().unwrap_or(0),
        outputs_at_once: plan(SMALLEST_SIZE_LOG2, isa).map_or(1, |plan| plan.outputs_at_once()),
    }
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    })
}

fn plan(size_log2: u32, isa: Isa) -> Option<ExternalProductPlan> {
    let shape = ProductShape {
        block_size: 1,
        rows: 1,
        outputs: 1,
    };
    let size = PolynomialSize::new(1 << size_log2).ok()?;
    Some(ExternalProductPlan::new(size, shape, isa))
}

/// Polynomials of one size. There are enough of them that their transforms pass through the
/// second-level cache as in a blind rotation.
struct Polynomials {
    plan: ExternalProductPlan,
    /// The coefficients of accumulators, in turns.
    turns: Vec<AVec<f64, ConstAlign<64>>>,
    doubles: Vec<AVec<f64, ConstAlign<64>>>,
}

const BYTES: usize = 128 << 10;

impl Polynomials {
    fn new(size_log2: u32) -> Option<Self> {
        let size = 1usize << size_log2;
        let count = (BYTES / (size * size_of::<f64>())).clamp(1, 64);
        let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64;
        let turns = (0..size as u64).map(|i| spread(i) as f64 / 2.0f64.powi(64));
        Some(Self {
            plan: plan(size_log2, Isa::detect())?,
            turns: vec![AVec::from_iter(64, turns); count],
            doubles: vec![AVec::from_iter(64, (0..size).map(|_| 0.5)); count],
        })
    }

    /// The seconds of a transform, the mean of both directions.
    fn time(&mut self) -> f64 {
        let place = DigitPlace::new(u64::BITS, 8, 1, 0);
        let count = self.turns.len() as f64;
        let mut least = [Duration::MAX; 2];
        // The first pass only brings code and tables into the caches.
        for _ in 0..2 {
            let start = Instant::now();
            for (input, out) in self.turns.iter().zip(&mut self.doubles) {
                self.plan.forward_digit(black_box(out), input, place, &[]);
            }
            least[0] = least[0].min(start.elapsed());
            // Small values keep the rounded results in range.
            self.doubles.iter_mut().for_each(|sum| sum.fill(1e-9));
            let start = Instant::now();
            for (acc, sum) in self.turns.iter_mut().zip(&mut self.doubles) {
                self.plan.inverse_add(black_box(acc), sum, &[]);
            }
            least[1] = least[1].min(start.elapsed());
        }
        (least[0] + least[1]).as_secs_f64() / (2.0 * count)
    }
}

/// The times of transforms of every size, the least of all rounds.
pub(super) struct TransformTimes {
    polynomials: Vec<Polynomials>,
    least: [f64; SIZES],
}

impl TransformTimes {
    pub(super) fn new() -> Self {
        let sizes = SMALLEST_SIZE_LOG2..SMALLEST_SIZE_LOG2 + SIZES as u32;
        Self {
            polynomials: sizes.filter_map(Polynomials::new).collect(),
            least: [f64::INFINITY; SIZES],
        }
    }

    /// Measures every size once more.
    pub(super) fn round(&mut self) {
        for (least, polynomials) in self.least.iter_mut().zip(&mut self.polynomials) {
            *least = least.min(polynomials.time());
        }
    }

    pub(super) fn least(&self) -> [f64; SIZES] {
        self.least
    }
}
