//! The attacked LWE instance, checked, and its normal form.

use std::f64::consts::LN_2;
use std::ops::RangeInclusive;

use thiserror::Error;

/// The dimensions that are estimated. Keys of smaller dimension are found by search rather than by
/// lattice reduction.
pub const DIMENSIONS: RangeInclusive<usize> = 32..=32_768;

/// The moduli that are estimated, as log2 q.
pub const LOG2_MODULI: RangeInclusive<f64> = 2.0..=1024.0;

/// The largest noise that is estimated, as log2(σ/q). Above it a ciphertext carries almost no
/// information, even with the key.
pub const MAX_LOG2_SIGMA: f64 = -2.0;

/// The smallest noise that is estimated, as log2 σ in integers. Real instances need far more:
/// [`crate::security::log2_sigma_floor`].
pub const MIN_LOG2_INTEGERS: f64 = -64.0;

/// The largest number of coefficients of a sparse key per coefficient that is 1. Against sparser
/// keys, attacks that guess zeros and are not estimated here may be cheaper.
pub const MAX_SPARSITY: usize = 6;

/// The smallest deviation of a Gaussian secret: below, most coefficients are zero.
pub const MIN_GAUSSIAN: f64 = 0.5;

/// The distribution of the coefficients of a secret key. The attacks depend on its standard
/// deviation only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SecretDistribution {
    /// Uniform over {0, 1}.
    Binary,
    /// Uniform over {-1, 0, 1}.
    Ternary,
    /// A fixed number of ones, and zeros.
    FixedWeight {
        /// The number of ones.
        weight: usize,
    },
    /// A discrete Gaussian.
    Gaussian {
        /// The standard deviation.
        sigma: f64,
    },
}

impl SecretDistribution {
    /// The standard deviation of a coefficient of a key of `dimension`.
    fn sigma(self, dimension: usize) -> f64 {
        match self {
            Self::Binary => 0.5,
            Self::Ternary => (2.0f64 / 3.0).sqrt(),
            Self::FixedWeight { weight } => {
                let density = weight as f64 / dimension as f64;
                (density * (1.0 - density)).sqrt()
            }
            Self::Gaussian { sigma } => sigma,
        }
    }
}

/// An instance of LWE with as many samples as the attack needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LweInstance {
    dimension: usize,
    log2_q: f64,
    log2_sigma: f64,
    secret: SecretDistribution,
}

impl LweInstance {
    /// LWE of `dimension` (k·N for a GLWE key) modulo 2^`log2_q` with Gaussian noise of
    /// standard deviation 2^`log2_sigma`·q.
    pub fn new(
        dimension: usize,
        log2_q: f64,
        log2_sigma: f64,
        secret: SecretDistribution,
    ) -> Result<Self, NotEstimated> {
        if !DIMENSIONS.contains(&dimension) {
            return Err(NotEstimated::Dimension { dimension });
        }
        if !LOG2_MODULI.contains(&log2_q) {
            return Err(NotEstimated::Modulus { log2_q });
        }
        let smallest = MIN_LOG2_INTEGERS - log2_q;
        if !(smallest..=MAX_LOG2_SIGMA).contains(&log2_sigma) {
            return Err(NotEstimated::Noise {
                log2_sigma,
                smallest,
            });
        }
        match secret {
            SecretDistribution::FixedWeight { weight }
                if weight > dimension / 2 || weight < dimension / MAX_SPARSITY =>
            {
                return Err(NotEstimated::Weight { weight, dimension });
            }
            SecretDistribution::Gaussian { sigma }
                if !(sigma >= MIN_GAUSSIAN && sigma.log2() < log2_q - 2.0) =>
            {
                return Err(NotEstimated::Secret { sigma });
            }
            _ => {}
        }
        Ok(Self {
            dimension,
            log2_q,
            log2_sigma,
            secret,
        })
    }

    /// The instance with a secret that is no wider than the noise: with many samples, a
    /// secret like the noise (Applebaum, Cash, Peikert, Sahai, Crypto 2009).
    pub(super) fn normal_form(&self) -> NormalForm {
        let ln_sigma = (self.log2_q + self.log2_sigma) * LN_2;
        let ln_secret = self.secret.sigma(self.dimension).ln();
        NormalForm {
            dimension: self.dimension,
            ln_q: self.log2_q * LN_2,
            ln_sigma,
            ln_stretch: (ln_sigma - ln_secret).max(0.0),
        }
    }
}

/// The normal form of an instance, which the attacks work on. Lengths are in integers.
pub(super) struct NormalForm {
    /// The dimension n.
    pub(super) dimension: usize,
    /// The logarithm ln q of the modulus.
    pub(super) ln_q: f64,
    /// The logarithm of the standard deviation σ of the noise.
    pub(super) ln_sigma: f64,
    /// The logarithm of the factor ξ by which the noise is wider than the secret; it is at least
    /// 0.
    pub(super) ln_stretch: f64,
}

impl NormalForm {
    /// ln of the secret's standard deviation.
    pub(super) fn ln_secret_sigma(&self) -> f64 {
        self.ln_sigma - self.ln_stretch
    }
}

/// The reason for which an instance is refused: the formulas are not valid for it.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum NotEstimated {
    /// The dimension is too small or too large.
    #[error(
        "dimension {dimension} is not estimated, only {} to {}",
        DIMENSIONS.start(),
        DIMENSIONS.end()
    )]
    Dimension {
        /// The dimension that was given.
        dimension: usize,
    },
    /// The modulus is too small or too large.
    #[error(
        "a modulus of 2^{log2_q} is not estimated, only 2^{} to 2^{}",
        LOG2_MODULI.start(),
        LOG2_MODULI.end()
    )]
    Modulus {
        /// log2 of the modulus that was given.
        log2_q: f64,
    },
    /// The noise is too small or too large.
    #[error(
        "noise of log2(sigma/q) = {log2_sigma} is not estimated, only {smallest} to {MAX_LOG2_SIGMA} at this modulus"
    )]
    Noise {
        /// The log2(σ/q) that was given.
        log2_sigma: f64,
        /// The smallest log2(σ/q) for the modulus.
        smallest: f64,
    },
    /// A fixed weight is too small or above half.
    #[error(
        "weight {weight} is not estimated at dimension {dimension}, only {} to {}: sparser keys have attacks of their own",
        dimension / MAX_SPARSITY,
        dimension / 2
    )]
    Weight {
        /// The weight that was given.
        weight: usize,
        /// The dimension that was given.
        dimension: usize,
    },
    /// A dimension that is not a number of whole blocks.
    #[error("a key of dimension {dimension} has no whole blocks of {block_size}")]
    BlockSize {
        /// The block size that was given.
        block_size: u32,
        /// The dimension that was given.
        dimension: usize,
    },
    /// A Gaussian secret is too narrow or as wide as the modulus.
    #[error(
        "a Gaussian secret of standard deviation {sigma} is not estimated, only from {MIN_GAUSSIAN} to a quarter of the modulus"
    )]
    Secret {
        /// The standard deviation that was given.
        sigma: f64,
    },
}
