//! `params calibrate`: the measurement of the cost model of this machine.
//!
//! ```text
//! kernels: transforms by themselves ─┐
//! sets ─▶ timing: bootstraps and ────┴─▶ fit ─▶ CostModel ─▶ file
//!         key switches, in rounds
//! ```
//!
//! Times vary with the other load of the machine, so measurements are made in rounds: every round
//! repeats every measurement, every other round in reverse order, and the least time of all rounds
//! counts. Sets for checking the model are measured in the same rounds.

mod file;
mod fit;
mod kernels;
mod sets;
mod timing;

pub use file::{CostFileError, default_path, from_toml, load, save, to_toml};

use std::time::{Duration, Instant};

use serde::Serialize;
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_engine::server_key::ServerKeyError;
use tfhe_sbc_oracle::cost::{Breakdown, CostModel};

use kernels::TransformTimes;
use timing::{Case, Pools, Sample};

/// The amount of measurements.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The time to spend. The rounds end when the next one might not fit.
    pub time: Duration,
    /// Whether to measure the sets for checking the model, too.
    pub check: bool,
    /// The largest number of threads.
    pub threads: usize,
    /// Whether to measure only a few of the smallest sets once, which gives a model of little
    /// worth; for tests.
    pub quick: bool,
}

/// The prediction and the measurement of a batch of bootstraps.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The bits of the torus, log2 q.
    pub torus_bits: u32,
    /// The GLWE dimension k.
    pub glwe_dimension: usize,
    /// The polynomial size N.
    pub polynomial_size: usize,
    /// The LWE dimension n.
    pub lwe_dimension: usize,
    /// The size of the blocks of the small key.
    pub block_size: u32,
    /// The numbers of levels of mask, body and key switch.
    pub levels: [usize; 3],
    /// The size of the batch.
    pub batch: usize,
    /// The number of threads.
    pub threads: usize,
    /// The measured seconds of a bootstrap.
    pub measured: f64,
    /// The predicted seconds of a bootstrap.
    pub predicted: f64,
    /// The parts of the prediction.
    pub breakdown: Breakdown,
}

impl Comparison {
    fn new(model: &CostModel, case: &Case, sample: &Sample) -> Self {
        let set: &ParameterSet = case.parameters.as_set();
        let breakdown = model.breakdown(set, sample.batch, sample.threads);
        Self {
            torus_bits: set.torus_bits,
            glwe_dimension: set.glwe_dimension.0,
            polynomial_size: set.polynomial_size,
            lwe_dimension: set.lwe_dimension.0,
            block_size: set.lwe_block_size,
            levels: [set.pbs, set.pbs_body, set.key_switch].map(|gadget| gadget.level_count.0),
            batch: sample.batch,
            threads: sample.threads,
            measured: sample.bootstrap,
            predicted: breakdown.total(),
            breakdown,
        }
    }

    /// The error of the prediction relative to the measurement.
    pub fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }
}

/// The result of a calibration.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// The model.
    pub model: CostModel,
    /// The batches that the model was fitted to.
    pub fitted: Vec<Comparison>,
    /// The batches of sets that the model was not fitted to, if the plan asks for a check.
    pub held_out: Vec<Comparison>,
    /// The number of rounds.
    pub rounds: usize,
}

/// Measures the machine and fits a model. `progress` is called with the share done.
///
/// # Errors
/// If no key can be made, which does not happen for the sets of this crate.
pub fn calibrate(plan: &Plan, progress: &dyn Fn(f64)) -> Result<Calibration, ServerKeyError> {
    let start = Instant::now();
    let threads = plan.threads.max(1);
    let pools = Pools::new(threads);
    let mut transforms = TransformTimes::new();
    let mut fitted = sets::fitted(plan.quick, threads);
    let count = fitted.len();
    if plan.check {
        fitted.extend(sets::held_out(plan.quick, threads));
    }
    let mut cases = fitted;
    let mut rounds = 0;
    let mut longest = Duration::ZERO;
    while rounds == 0 || (!plan.quick && start.elapsed() + longest < plan.time) {
        let round = Instant::now();
        let forwards = rounds % 2 == 0;
        for place in 0..cases.len() {
            let index = if forwards {
                place
            } else {
                cases.len() - 1 - place
            };
            transforms.round();
            cases[index].round(&pools, index < count)?;
            let of_round = (place + 1) as f64 / cases.len() as f64;
            let of_time = start.elapsed().as_secs_f64() / plan.time.as_secs_f64().max(1e-9);
            progress(if plan.quick {
                of_round
            } else {
                of_time.min(1.0)
            });
        }
        longest = longest.max(round.elapsed());
        rounds += 1;
    }
    let (fitted, held_out) = cases.split_at(count);
    let model = fit::fit(kernels::machine(threads), transforms.least(), fitted);
    let compare = |cases: &[Case]| {
        let samples = |case: &Case| -> Vec<_> {
            let of = |sample: &Sample| Comparison::new(&model, case, sample);
            case.samples.iter().map(of).collect()
        };
        cases.iter().flat_map(samples).collect()
    };
    Ok(Calibration {
        fitted: compare(fitted),
        held_out: compare(held_out),
        model,
        rounds,
    })
}
