//! Does the noise obey? The engine runs under a parameter set, its noise is measured step by step,
//! and what was measured is held against what the oracle says of a parameter set: the same
//! one, or in tests a different one.
//!
//! [`measure`] runs the engine under throw-away keys (`keys`): it takes samples of every step's error
//! (`sample`), and simulates the look-up with them (`look_up`). [`Measured::judge`] predicts
//! (`predict`) and compares (`verdict`); [`count_failures`] counts real failures of blocks
//! with more bits than the set has (`direct`).
//!
//! Conditions: where a formula is an average over keys and the key is known, the prediction is for that
//! key: its weights in the rounding terms, and the key switch's offset, which is the same
//! for all ciphertexts, in the mean rather than in the variance.

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

/// Told how many steps more are done. Called from several threads.
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
    /// From the big key to the small one.
    KeySwitch,
    /// To the modulus of the blind rotation. Rounding the body down is in it, half a step off.
    ModulusSwitch,
    /// All of it: a bootstrap output with the set's whole noise level, switched to the
    /// small key and to the modulus of the blind rotation.
    LookUp,
}

impl Step {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::LweEncryption,
        Self::GlweEncryption,
        Self::BlindRotation,
        Self::LinearStep,
        Self::KeySwitch,
        Self::ModulusSwitch,
        Self::LookUp,
    ];

    /// What people call it.
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

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Key sets, from 1.
    pub keys: usize,
    /// Fresh ciphertexts under the small key, for each key set. Of GLWE ciphertexts
    /// as many as have that many coefficients.
    pub encryptions: usize,
    /// Bootstraps for each key set, from 10.
    pub bootstraps: usize,
    /// Key switches and modulus switches for each key set.
    pub switches: usize,
    /// Runs of splitting for each key set, from 2.
    pub runs: usize,
    /// Particles and moves of each run.
    pub splitting: splitting::Effort,
}

impl Effort {
    /// A minute or two for the default set.
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

    /// Some seconds for the default set.
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

    /// Number of steps that [`measure`] tells its progress.
    pub fn steps(&self, parameters: &Parameters) -> u64 {
        let per_key = 2 * key_steps(parameters) + (self.bootstraps + self.runs * RUN_STEPS) as u64;
        self.keys as u64 * per_key
    }
}

/// What a run of splitting counts in the progress.
const RUN_STEPS: usize = 250;

/// Of making a server key, and of preparing it.
fn key_steps(parameters: &Parameters) -> u64 {
    SeededServerKey::<u64>::step_count(parameters)
}

/// Why nothing was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// No server key.
    #[error(transparent)]
    Key(#[from] ServerKeyError),
    /// The engine refused what it was given.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// The simulation came to an end before the failure.
    #[error("the simulation of rare failures got stuck: the failure probability is below 2^-5000")]
    Stuck,
    /// Failures that cannot be counted.
    #[error(
        "failures cannot be counted: even with as many more bits as the polynomials can hold, \
         a bootstrap fails with 2^{log2_p_fail}"
    )]
    TooRare {
        /// log2 of the probability, rounded.
        log2_p_fail: i32,
    },
}

/// What was measured under one key set.
struct KeyMeasurements {
    samples: Samples,
    look_up: SimulatedLookUp,
}

/// What was measured.
pub struct Measured {
    parameters: Parameters,
    keys: Vec<KeyMeasurements>,
}

/// Runs the engine under `parameters`, with keys and noise drawn from `seed`: the same seed measures the
/// same. On all threads of the current rayon pool.
///
/// # Errors
/// A parameter set under which nothing fails that could be simulated.
pub fn measure(
    parameters: &Parameters,
    effort: Effort,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Measured, CheckError> {
    let key = |number: usize| {
        let seed = (seed, number as u64);
        match parameters.torus_bits {
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

/// The weights of the worst look-up on independent bootstrap outputs: all of the noise level on one
/// for integers; for gates half on each of two, see
/// [`Prediction::new`](tfhe_sbc_oracle::prediction::Prediction::new).
fn worst_weights(parameters: &Parameters) -> Vec<i64> {
    let level = i64::from(parameters.max_noise_level);
    match parameters.plaintext {
        PlaintextKind::Radix => vec![level],
        PlaintextKind::Boolean => vec![level / 2; 2],
    }
}

/// The weights of the linear step that is measured by itself: the noise level on two outputs, with
/// different signs.
fn linear_weights(parameters: &Parameters) -> Vec<i64> {
    let level = i64::from(parameters.max_noise_level);
    vec![level - level / 2, -(level / 2)]
}
