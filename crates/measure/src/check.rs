//! The check of a parameter set's noise: the engine runs under the set, its noise is measured step
//! by step, and the measurements are compared with the oracle's predictions for a parameter set,
//! which is the same one except in tests.
//!
//! [`measure`] runs the engine under throw-away keys (`keys`): it samples the error of every step
//! (`sample`), and simulates the look-up with the samples (`look_up`). [`Measured::judge`]
//! predicts (`predict`) and compares (`verdict`). [`count_failures`] counts real failures of
//! blocks with more bits than the set has (`direct`).
//!
//! The predictions are for the keys of the measurement: where a formula is an average over keys,
//! it is evaluated with the weights of the key, and the offset of the key switch, which is the
//! same for all ciphertexts under a key, is part of the mean instead of the variance.

mod direct;
mod keys;
mod look_up;
mod predict;
mod sample;
mod verdict;

use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};
use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_engine::bootstrap::BootstrapError;
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKeyError};
use tfhe_sbc_oracle::splitting;

pub use direct::{DirectCount, count_failures, direct_steps};
pub use verdict::{FailureReport, Report, StepReport, Verdict};

use keys::Keys;
use look_up::SimulatedLookUp;
use sample::Samples;

/// A callback that receives the number of further steps done, called from several threads.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// The steps whose noise is measured, in the order of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Fresh ciphertexts under the small key.
    LweEncryption,
    /// Fresh ciphertexts under the GLWE key.
    GlweEncryption,
    /// Outputs of bootstraps.
    BlindRotation,
    /// Linear combinations of independent bootstrap outputs.
    LinearStep,
    /// The key switch from the big key to the small one.
    KeySwitch,
    /// The modulus switch to the modulus of the blind rotation, including the rounding down of the
    /// body, without its half step of offset.
    ModulusSwitch,
    /// The whole look-up: bootstrap outputs combined to the set's whole noise level, switched to
    /// the small key and to the modulus of the blind rotation.
    LookUp,
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 7] = [
        Self::LweEncryption,
        Self::GlweEncryption,
        Self::BlindRotation,
        Self::LinearStep,
        Self::KeySwitch,
        Self::ModulusSwitch,
        Self::LookUp,
    ];

    /// The name of the step, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LweEncryption => "LWE encryption",
            Self::GlweEncryption => "GLWE encryption",
            Self::BlindRotation => "blind rotation",
            Self::LinearStep => "linear step",
            Self::KeySwitch => "key switch",
            Self::ModulusSwitch => "modulus switch",
            Self::LookUp => "look-up",
        }
    }
}

/// The amount of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The number of key sets, at least 1.
    pub keys: usize,
    /// The number of fresh ciphertexts under the small key for each key set, and of coefficients
    /// of fresh GLWE ciphertexts.
    pub encryptions: usize,
    /// The number of bootstraps for each key set, at least 10.
    pub bootstraps: usize,
    /// The number of key switches and of modulus switches for each key set.
    pub switches: usize,
    /// The number of runs of splitting for each key set, at least 2.
    pub runs: usize,
    /// The particles and moves of each run.
    pub splitting: splitting::Effort,
}

impl Effort {
    /// An effort of a minute or two for the default set.
    pub const FULL: Self = Self {
        keys: 2,
        encryptions: 20_000,
        bootstraps: 4_000,
        switches: 10_000,
        runs: 4,
        splitting: splitting::Effort {
            particles: 4000,
            moves: 20,
        },
    };

    /// An effort of some seconds for the default set.
    pub const QUICK: Self = Self {
        keys: 2,
        encryptions: 10_000,
        bootstraps: 600,
        switches: 2_500,
        runs: 2,
        splitting: splitting::Effort {
            particles: 1000,
            moves: 12,
        },
    };

    /// The number of steps that [`measure`] reports to its progress.
    pub fn steps(&self, parameters: &Parameters) -> u64 {
        let per_key = 2 * key_steps(parameters) + (self.bootstraps + self.runs * RUN_STEPS) as u64;
        self.keys as u64 * per_key
    }
}

/// The number of steps that a run of splitting counts as.
const RUN_STEPS: usize = 250;

/// The number of steps of making and preparing a server key.
fn key_steps(parameters: &Parameters) -> u64 {
    SeededServerKey::<u64>::step_count(parameters)
}

/// The reason for which a measurement failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The source of randomness failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The server key could not be made.
    #[error(transparent)]
    Key(#[from] ServerKeyError),
    /// The engine refused its inputs.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// The simulation did not reach the failure.
    #[error("the simulation of rare failures got stuck: the failure probability is below 2^-5000")]
    Stuck,
    /// The failures are too rare to be counted.
    #[error(
        "failures cannot be counted: even with as many more bits as the polynomials can hold, \
         a bootstrap fails with 2^{log2_p_fail}"
    )]
    TooRare {
        /// log2 of the probability, rounded.
        log2_p_fail: i32,
    },
}

/// The measurements under one key set.
struct KeyMeasurements {
    samples: Samples,
    look_up: SimulatedLookUp,
}

/// The measurements under all key sets.
pub struct Measured {
    parameters: Parameters,
    keys: Vec<KeyMeasurements>,
}

/// Runs the engine under `parameters`, with keys and noise drawn from `seed`, on all threads of
/// the current rayon pool. The same seed gives the same measurements.
///
/// # Errors
/// If failures under the parameter set cannot be simulated, or the engine refuses it.
pub fn measure(
    parameters: &Parameters,
    effort: Effort,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Measured, CheckError> {
    let key = |number: usize| {
        let seed = (seed, number as u64);
        match parameters.torus_bits() {
            64 => measure_key::<u64>(parameters, effort, seed, progress),
            _ => measure_key::<u32>(parameters, effort, seed, progress),
        }
    };
    Ok(Measured {
        parameters: *parameters,
        keys: (0..effort.keys.max(1)).map(key).collect::<Result<_, _>>()?,
    })
}

fn measure_key<T: MaskTorus>(
    parameters: &Parameters,
    effort: Effort,
    seed: (u64, u64),
    progress: Progress<'_>,
) -> Result<KeyMeasurements, CheckError> {
    let mut keys = Keys::generate(parameters, seed)?;
    let server = keys.server::<T>(progress)?;
    let samples = sample::all(&mut keys, &server, &effort, progress)?;
    let look_up = look_up::simulate(&keys, &samples, &effort, seed, progress)?;
    Ok(KeyMeasurements { samples, look_up })
}

/// The weights of the worst look-up on independent bootstrap outputs: for integers the whole noise
/// level on one output, for gates half of it on each of two, see
/// [`Prediction::new`](tfhe_sbc_oracle::prediction::Prediction::new).
fn worst_weights(parameters: &Parameters) -> Vec<i64> {
    let level = i64::from(parameters.max_noise_level());
    match parameters.plaintext() {
        PlaintextKind::Radix => vec![level],
        PlaintextKind::Boolean => vec![level / 2; 2],
    }
}

/// The weights of the linear step that is measured by itself: the noise level on two outputs, with
/// different signs.
fn linear_weights(parameters: &Parameters) -> Vec<i64> {
    let level = i64::from(parameters.max_noise_level());
    vec![level - level / 2, -(level / 2)]
}
