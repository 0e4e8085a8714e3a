//! `params calibrate`: the cost model of the machine that this runs on.
//!
//! ```text
//! kernels: transforms by themselves ─┐
//! sets ─▶ timing: bootstraps and ────┴─▶ fit ─▶ CostModel ─▶ file
//!         key switches, in rounds
//! ```
//!
//! A clock that moves with what the neighbours do is met by rounds: every round takes every
//! measurement once more, backwards every other time, and the least of all rounds counts.
//! Sets that the model is to be checked with are measured in the same rounds.

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

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds end when the next one might not fit.
    pub time: Duration,
    /// Measure the sets to check with, too.
    pub check: bool,
    /// Threads at most.
    pub threads: usize,
    /// Measure a few of the smallest sets once, which fits a model of little worth: for tests.
    pub quick: bool,
}

/// Prediction and measurement of a batch of bootstraps.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// log2 of q.
    pub torus_bits: u32,
    /// k.
    pub glwe_dimension: usize,
    /// N.
    pub polynomial_size: usize,
    /// n.
    pub lwe_dimension: usize,
    /// Size of blocks.
    pub block_size: u32,
    /// Levels of mask, body and key switch.
    pub levels: [usize; 3],
    /// Size of the batch.
    pub batch: usize,
    /// Threads.
    pub threads: usize,
    /// Seconds a bootstrap, measured.
    pub measured: f64,
    /// Seconds a bootstrap, predicted.
    pub predicted: f64,
    /// What the prediction is made of.
    pub breakdown: Breakdown,
}

impl Comparison {
    fn new(model: &CostModel, case: &Case, sample: &Sample) -> Self {
        let set: &ParameterSet = &case.parameters;
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

    /// The prediction's error as a share of what was measured.
    pub fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }
}

/// What a calibration found.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// The model.
    pub model: CostModel,
    /// The batches that it was fitted to.
    pub fitted: Vec<Comparison>,
    /// Batches of sets that it was not fitted to, if there was to be a check.
    pub held_out: Vec<Comparison>,
    /// Rounds measured.
    pub rounds: usize,
}

/// Measures and fits. `progress` is told the share done.
///
/// # Errors
/// If no key can be made, which a set of this crate's own does not lead to.
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
