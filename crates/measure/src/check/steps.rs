//! The steps whose noise is measured, and the amount and the errors of the measurement.

use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};
use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_engine::bootstrap::BootstrapError;
use tfhe_sbc_engine::compact::CompactEvaluateError;
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKeyError};
use tfhe_sbc_oracle::splitting;

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
    /// The number of bootstraps for each key set, at least 10. Lookups on compact values come on top: a
    /// tenth as many, at most 150, for each lookup of a value.
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

    /// The number of steps that [`measure`](super::measure) reports to its progress.
    pub fn steps(&self, parameters: &Parameters) -> u64 {
        let bootstraps = self.bootstraps + super::compact::bootstraps(parameters, self);
        let per_key = 2 * key_steps(parameters) + (bootstraps + self.runs * RUN_STEPS) as u64;
        self.keys as u64 * per_key
    }
}

/// The number of steps that a run of splitting counts as.
pub(super) const RUN_STEPS: usize = 250;

/// The number of steps of making and preparing a server key.
pub(super) fn key_steps(parameters: &Parameters) -> u64 {
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
    /// The engine did not take compact values apart.
    #[error(transparent)]
    Compact(#[from] CompactEvaluateError),
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

/// The weights of the worst look-up on independent bootstrap outputs: for integers the whole noise
/// level on one output, for gates half of it on each of two, see
/// [`Prediction::new`](tfhe_sbc_oracle::prediction::Prediction::new).
pub(super) fn worst_weights(parameters: &Parameters) -> Vec<i64> {
    let level = i64::from(parameters.max_noise_level());
    match parameters.plaintext() {
        PlaintextKind::Radix => vec![level],
        PlaintextKind::Boolean => vec![level / 2; 2],
    }
}

/// The weights of the linear step that is measured by itself: the noise level on two outputs, with
/// different signs.
pub(super) fn linear_weights(parameters: &Parameters) -> Vec<i64> {
    let level = i64::from(parameters.max_noise_level());
    vec![level - level / 2, -(level / 2)]
}
