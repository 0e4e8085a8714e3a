//! Parameter sets as text: TOML for `keygen`, and Rust for programs.
//!
//! A file is untrusted data. [`from_toml`] reads it, checks its ranges, and computes its statements
//! about itself again: if the stated failure probability or security is not what the oracle finds,
//! the file has been edited. [`weakness`] decides whether a set is good enough to make keys for.

use std::fmt::Write as _;

use serde::Deserialize;
use tfhe_sbc_core::dimensions::{CarryBits, GlweDimension, LweDimension, MessageBits};
use tfhe_sbc_core::parameters::{
    Decomposition, GlweSecret, ModulusSwitch, ParameterError, ParameterName, ParameterSet,
    Parameters, PlaintextKind,
};
use tfhe_sbc_core::random::NoiseDistribution;
use thiserror::Error;

use crate::prediction::{Prediction, StrictSecurity};
use crate::search::KeyLevels;
use crate::security::LARGEST_CUSTOMARY_BLOCK;
use crate::upload::{TARGET_LOG2_P_FAIL, UploadKind, UploadPrediction};

/// The level below which a set is weak.
pub const TARGET_SECURITY_BITS: f64 = 128.0;

/// The version of the format that is written.
const FORMAT: u32 = 1;

/// The file's content.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    name: String,
    plaintext: Plaintext,
    message_bits: u32,
    carry_bits: u32,
    max_noise_level: u32,
    torus_bits: u32,
    lwe_dimension: usize,
    lwe_block_size: u32,
    lwe_noise: Noise,
    glwe_dimension: usize,
    polynomial_size: usize,
    #[serde(default)]
    glwe_secret: Secret,
    glwe_noise: Noise,
    pbs: Levels,
    pbs_body: Levels,
    key_switch: Levels,
    modulus_switch: Switch,
    body_bits: u32,
    public_key_mask_bits: u32,
    log2_p_fail: f64,
    security_bits: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Plaintext {
    Boolean,
    Radix,
}

/// Files of binary keys do not say so.
#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Secret {
    #[default]
    Binary,
    Ternary,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Switch {
    Plain,
    MeanCompensated,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Noise {
    Gaussian { standard_deviation: f64 },
    Tuniform { bound_log2: u32 },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Levels {
    base_log: u32,
    level_count: usize,
}

impl From<Levels> for Decomposition {
    fn from(levels: Levels) -> Self {
        Self::new(levels.base_log, levels.level_count)
    }
}

impl From<Noise> for NoiseDistribution {
    fn from(noise: Noise) -> Self {
        match noise {
            Noise::Gaussian { standard_deviation } => Self::Gaussian { standard_deviation },
            Noise::Tuniform { bound_log2 } => Self::TUniform { bound_log2 },
        }
    }
}

/// The reason for which a file is not a parameter set.
#[derive(Debug, Error)]
pub enum ParameterFileError {
    /// The file is not TOML of the expected form.
    #[error("it is not a parameter file: {0}")]
    Toml(#[from] Box<toml::de::Error>),
    /// The file has another version of the format.
    #[error("its format is {found}, and this program reads {FORMAT}")]
    Format {
        /// The version stated.
        found: u32,
    },
    /// A name that no file can have.
    #[error("its name is not 1 to 32 printable characters")]
    Name,
    /// Noise that no parameter file can have.
    #[error("noise of this kind has no form in a parameter file")]
    Noise,
    /// Values out of range.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A statement that is not true.
    #[error(
        "it states a failure probability of 2^{stated}, but by its other values it is 2^{found:.1}: \
         it was edited, or made by another version"
    )]
    PFail {
        /// log2 of what the file states.
        stated: f64,
        /// log2 of what the oracle finds.
        found: f64,
    },
    /// A statement that is not true.
    #[error(
        "it states {stated} bits of security, but by its other values it has {found:.1}: \
         it was edited, or made by another version"
    )]
    Security {
        /// The value that the file states.
        stated: f64,
        /// The value that the oracle finds.
        found: f64,
    },
    /// The security of the keys is not known.
    #[error("neither table nor estimator prices keys of these dimensions and blocks")]
    UnknownSecurity,
}

/// The set as a parameter file, with `command`, the one that makes it, in a comment.
///
/// # Errors
/// Noise that is neither Gaussian nor TUniform.
pub fn to_toml(set: &Parameters, command: &str) -> Result<String, ParameterFileError> {
    let noise = |noise| match noise {
        NoiseDistribution::Gaussian { standard_deviation } => Ok(format!(
            "gaussian = {{ standard_deviation = {standard_deviation:e} }}"
        )),
        NoiseDistribution::TUniform { bound_log2 } => {
            Ok(format!("tuniform = {{ bound_log2 = {bound_log2} }}"))
        }
        NoiseDistribution::CenteredBinomial { .. } => Err(ParameterFileError::Noise),
    };
    let levels = |decomposition: Decomposition| {
        let (base_log, level_count) = (decomposition.base_log.0, decomposition.level_count.0);
        format!("{{ base_log = {base_log}, level_count = {level_count} }}")
    };
    let plaintext = match set.plaintext() {
        PlaintextKind::Boolean => "boolean",
        PlaintextKind::Radix => "radix",
    };
    let glwe_secret = match set.glwe_secret() {
        GlweSecret::Binary => "",
        GlweSecret::Ternary => "glwe_secret = \"ternary\"\n",
    };
    let modulus_switch = match set.modulus_switch() {
        ModulusSwitch::Plain => "plain",
        ModulusSwitch::MeanCompensated => "mean_compensated",
    };
    Ok(format!(
        "# {}\n\
         format = {FORMAT}\n\
         name = \"{}\"\n\
         \n\
         # Plaintexts, and the largest sum of absolute weights that enters a bootstrap.\n\
         plaintext = \"{plaintext}\"\n\
         message_bits = {}\n\
         carry_bits = {}\n\
         max_noise_level = {}\n\
         \n\
         # Keys. Noise is over q.\n\
         torus_bits = {}\n\
         lwe_dimension = {}\n\
         lwe_block_size = {}\n\
         lwe_noise = {{ {} }}\n\
         glwe_dimension = {}\n\
         polynomial_size = {}\n\
         {glwe_secret}\
         glwe_noise = {{ {} }}\n\
         \n\
         # Decompositions of mask and body in the blind rotation, and in the key switch.\n\
         pbs = {}\n\
         pbs_body = {}\n\
         key_switch = {}\n\
         modulus_switch = \"{modulus_switch}\"\n\
         \n\
         # Bits kept of an upload's coefficients.\n\
         body_bits = {}\n\
         public_key_mask_bits = {}\n\
         \n\
         # What follows from all that: reading the file works it out again.\n\
         log2_p_fail = {:?}\n\
         security_bits = {:?}\n",
        command.replace(char::is_control, " "),
        set.name()
            .as_str()
            .replace('\\', "\\\\")
            .replace('"', "\\\""),
        set.message_bits().0,
        set.carry_bits().0,
        set.max_noise_level(),
        set.torus_bits(),
        set.lwe_dimension().0,
        set.lwe_block_size(),
        noise(set.lwe_noise())?,
        set.glwe_dimension().0,
        set.polynomial_size().get(),
        noise(set.glwe_noise())?,
        levels(set.pbs()),
        levels(set.pbs_body()),
        levels(set.key_switch()),
        set.body_bits(),
        set.public_key_mask_bits(),
        set.log2_p_fail(),
        set.security_bits(),
    ))
}

/// Reads a parameter file and checks what it states.
///
/// # Errors
/// [`ParameterFileError`]: another format, values out of range, or statements that are not true.
pub fn from_toml(text: &str) -> Result<Parameters, ParameterFileError> {
    let file: File = toml::from_str(text).map_err(Box::new)?;
    if file.format != FORMAT {
        return Err(ParameterFileError::Format { found: file.format });
    }
    let parameters = ParameterSet {
        name: ParameterName::from_text(&file.name)
            .filter(|_| !file.name.is_empty())
            .ok_or(ParameterFileError::Name)?,
        torus_bits: file.torus_bits,
        lwe_dimension: LweDimension(file.lwe_dimension),
        lwe_block_size: file.lwe_block_size,
        lwe_noise: file.lwe_noise.into(),
        glwe_dimension: GlweDimension(file.glwe_dimension),
        polynomial_size: file.polynomial_size,
        glwe_secret: match file.glwe_secret {
            Secret::Binary => GlweSecret::Binary,
            Secret::Ternary => GlweSecret::Ternary,
        },
        glwe_noise: file.glwe_noise.into(),
        pbs: file.pbs.into(),
        pbs_body: file.pbs_body.into(),
        key_switch: file.key_switch.into(),
        plaintext: match file.plaintext {
            Plaintext::Boolean => PlaintextKind::Boolean,
            Plaintext::Radix => PlaintextKind::Radix,
        },
        message_bits: MessageBits(file.message_bits),
        carry_bits: CarryBits(file.carry_bits),
        max_noise_level: file.max_noise_level,
        modulus_switch: match file.modulus_switch {
            Switch::Plain => ModulusSwitch::Plain,
            Switch::MeanCompensated => ModulusSwitch::MeanCompensated,
        },
        body_bits: file.body_bits,
        public_key_mask_bits: file.public_key_mask_bits,
        log2_p_fail: file.log2_p_fail,
        security_bits: file.security_bits,
    }
    .validate()?;
    // The allowance for a value that was rounded to tenths.
    const SLACK: f64 = 1e-6;
    let found = worst_log2_p_fail(&parameters);
    if found > parameters.log2_p_fail() + SLACK {
        return Err(ParameterFileError::PFail {
            stated: parameters.log2_p_fail(),
            found,
        });
    }
    let levels = KeyLevels::of_set(&parameters).ok_or(ParameterFileError::UnknownSecurity)?;
    if levels.bits() < parameters.security_bits() - SLACK {
        return Err(ParameterFileError::Security {
            stated: parameters.security_bits(),
            found: levels.bits(),
        });
    }
    // The customary count says little about guesses of large blocks, so the strict one has to bear out the level.
    if parameters.lwe_block_size() > LARGEST_CUSTOMARY_BLOCK
        && parameters.security_bits() >= TARGET_SECURITY_BITS
    {
        let strict = StrictSecurity::new(&parameters).ok_or(ParameterFileError::UnknownSecurity)?;
        if strict.bits() < TARGET_SECURITY_BITS - SLACK {
            return Err(ParameterFileError::Security {
                stated: parameters.security_bits(),
                found: strict.bits(),
            });
        }
    }
    Ok(parameters)
}

/// log2 of the failure probability of a set's worst use, key switch first.
pub fn worst_log2_p_fail(parameters: &Parameters) -> f64 {
    UploadKind::ALL
        .map(|kind| UploadPrediction::new(parameters, kind).log2_p_fail)
        .into_iter()
        .fold(Prediction::new(parameters).log2_p_fail, f64::max)
}

/// The reason for which a set must not be used for readings that matter.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Weakness {
    /// The keys can be found with less than 2^128 operations.
    #[error("its keys have {0} bits of security, below 128")]
    Security(f64),
    /// The set fails more often than 2^-128, and its name does not say so.
    #[error(
        "a bootstrap fails with 2^{log2_p_fail}, more often than 2^-128, and its name does not say so"
    )]
    PFail {
        /// log2 of the failure probability stated.
        log2_p_fail: f64,
    },
}

/// Returns the weakness of a set, by its own statements: security below 128 bits, or a failure
/// probability above 2^-128 that its name does not state ("p_fail_2m40").
pub fn weakness(parameters: &Parameters) -> Option<Weakness> {
    if parameters.security_bits() < TARGET_SECURITY_BITS {
        return Some(Weakness::Security(parameters.security_bits()));
    }
    let log2_p_fail = parameters.log2_p_fail();
    let named = p_fail_of_name(parameters.name().as_str());
    (log2_p_fail > named.unwrap_or(TARGET_LOG2_P_FAIL)).then_some(Weakness::PFail { log2_p_fail })
}

/// The failure probability that a name warns of, as its log2.
fn p_fail_of_name(name: &str) -> Option<f64> {
    let (_, digits) = name.rsplit_once("p_fail_2m")?;
    digits.parse::<u32>().ok().map(|digits| -f64::from(digits))
}

/// Returns the suffix that the name of a set must have: its weaknesses compared with 128 bits and
/// 2^-128.
pub fn name_suffix(lambda: f64, log2_p_fail: f64) -> String {
    let mut suffix = String::new();
    if lambda < TARGET_SECURITY_BITS {
        let _ = write!(suffix, "_lambda_{}", lambda.floor());
    }
    if log2_p_fail > TARGET_LOG2_P_FAIL {
        let _ = write!(suffix, "_p_fail_2m{}", (-log2_p_fail).floor());
    }
    suffix
}

/// The set as a Rust constant called `name`, with `command` in its documentation. It takes
/// `tfhe_sbc_core`'s types to be in scope.
pub fn to_rust(set: &Parameters, name: &str, command: &str) -> String {
    let noise = |noise| match noise {
        NoiseDistribution::Gaussian { standard_deviation } => format!(
            "NoiseDistribution::Gaussian {{\n        standard_deviation: {standard_deviation:e},\n    }}"
        ),
        NoiseDistribution::TUniform { bound_log2 } => {
            format!("NoiseDistribution::TUniform {{ bound_log2: {bound_log2} }}")
        }
        NoiseDistribution::CenteredBinomial { eta } => {
            format!("NoiseDistribution::CenteredBinomial {{ eta: {eta} }}")
        }
    };
    let levels = |decomposition: Decomposition| {
        format!(
            "Decomposition::new({}, {})",
            decomposition.base_log.0, decomposition.level_count.0
        )
    };
    format!(
        "/// `{command}`\n\
         pub const {name}: ParameterSet = ParameterSet {{\n\
         \x20   name: ParameterName::new(\"{}\"),\n\
         \x20   torus_bits: {},\n\
         \x20   lwe_dimension: LweDimension({}),\n\
         \x20   lwe_block_size: {},\n\
         \x20   lwe_noise: {},\n\
         \x20   glwe_dimension: GlweDimension({}),\n\
         \x20   polynomial_size: {},\n\
         \x20   glwe_secret: GlweSecret::{:?},\n\
         \x20   glwe_noise: {},\n\
         \x20   pbs: {},\n\
         \x20   pbs_body: {},\n\
         \x20   key_switch: {},\n\
         \x20   plaintext: PlaintextKind::{:?},\n\
         \x20   message_bits: MessageBits({}),\n\
         \x20   carry_bits: CarryBits({}),\n\
         \x20   max_noise_level: {},\n\
         \x20   modulus_switch: ModulusSwitch::{:?},\n\
         \x20   body_bits: {},\n\
         \x20   public_key_mask_bits: {},\n\
         \x20   log2_p_fail: {:?},\n\
         \x20   security_bits: {:?},\n\
         }};\n",
        set.name().as_str(),
        set.torus_bits(),
        set.lwe_dimension().0,
        set.lwe_block_size(),
        noise(set.lwe_noise()),
        set.glwe_dimension().0,
        set.polynomial_size().get(),
        set.glwe_secret(),
        noise(set.glwe_noise()),
        levels(set.pbs()),
        levels(set.pbs_body()),
        levels(set.key_switch()),
        set.plaintext(),
        set.message_bits().0,
        set.carry_bits().0,
        set.max_noise_level(),
        set.modulus_switch(),
        set.body_bits(),
        set.public_key_mask_bits(),
        set.log2_p_fail(),
        set.security_bits(),
    )
}
