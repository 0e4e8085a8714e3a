//! The secret of the strict count: what a guess of a part of it costs, and its covariance.

use std::f64::consts::LN_2;

use super::super::dual::Guessing;
use super::super::instance::{
    DIMENSIONS, LweInstance, NormalForm, NotEstimated, SecretDistribution,
};

/// log2 of the modulus. Only σ/q matters.
const LOG2_Q: f64 = 128.0;

/// A secret key with independent, equal parts: blocks, or single coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrictKey {
    dimension: usize,
    /// The number of coefficients of a part.
    part: usize,
    /// The entropy of a part in bits.
    part_entropy: f64,
    /// The variance of a single coefficient.
    variance: f64,
    /// The logarithm of the determinant of a part's covariance matrix.
    ln_covariance: f64,
}

impl StrictKey {
    /// A key of blocks of `block_size` coefficients, each uniform over the zero block and the blocks
    /// with a single 1. Blocks of 1 are a uniform binary key.
    ///
    /// # Errors
    /// [`NotEstimated::Dimension`] if the dimension is out of range,
    /// [`NotEstimated::BlockSize`] if it is not a multiple of the block size.
    pub fn of_blocks(dimension: usize, block_size: u32) -> Result<Self, NotEstimated> {
        let part = block_size as usize;
        if part == 0 || !dimension.is_multiple_of(part) {
            return Err(NotEstimated::BlockSize {
                block_size,
                dimension,
            });
        }
        // The covariance of a block is p·I − p²·J with p = 1/(ℓ+1). Its eigenvalues are p, ℓ − 1
        // times, and p − ℓ·p² = p².
        let patterns = f64::from(block_size) + 1.0;
        Self {
            dimension,
            part,
            part_entropy: patterns.log2(),
            variance: (patterns - 1.0) / (patterns * patterns),
            ln_covariance: -patterns * patterns.ln(),
        }
        .checked()
    }

    /// A key with coefficients that are uniform over {-1, 0, 1}.
    ///
    /// # Errors
    /// [`NotEstimated::Dimension`] if the dimension is out of range.
    pub fn ternary(dimension: usize) -> Result<Self, NotEstimated> {
        let variance: f64 = 2.0 / 3.0;
        Self {
            dimension,
            part: 1,
            part_entropy: 3f64.log2(),
            variance,
            ln_covariance: variance.ln(),
        }
        .checked()
    }

    /// This key of blocks of three, of which a share `ones` has a 1.
    #[cfg(test)]
    pub(super) fn with_ones(self, ones: f64) -> Self {
        let p = ones / 3.0;
        Self {
            part_entropy: -(1.0 - ones) * (1.0 - ones).log2() - ones * p.log2(),
            variance: p - p * p,
            ln_covariance: 2.0 * p.ln() + (p - 3.0 * p * p).ln(),
            ..self
        }
    }

    fn checked(self) -> Result<Self, NotEstimated> {
        let dimension = self.dimension;
        match DIMENSIONS.contains(&dimension) {
            true => Ok(self),
            false => Err(NotEstimated::Dimension { dimension }),
        }
    }

    /// The number of coefficients.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of coefficients of a part that is guessed as a whole.
    pub fn part(&self) -> usize {
        self.part
    }

    /// The price in bits of the guess that a single coefficient of a block is 0, `-log2(ℓ/(ℓ+1))`. `None` for keys
    /// of single coefficients, of which a guess costs at least a bit.
    pub(super) fn zero_price(&self) -> Option<f64> {
        let block_size = self.part as f64;
        (self.part > 1).then(|| -(block_size / (block_size + 1.0)).log2())
    }

    /// The same kind of key with fewer coefficients.
    pub(super) fn shortened(&self, dimension: usize) -> Result<Self, NotEstimated> {
        Self { dimension, ..*self }.checked()
    }

    /// The entropy of the whole key in bits.
    pub fn entropy(&self) -> f64 {
        (self.dimension / self.part) as f64 * self.part_entropy
    }

    /// The entropy in bits of `guessed` coefficients, which are whole parts.
    pub(super) fn entropy_of(&self, guessed: usize) -> f64 {
        guessed as f64 / self.part as f64 * self.part_entropy
    }

    /// The logarithm of the standard deviation to which a lattice is stretched: the geometric mean
    /// over the main axes of the covariance.
    fn ln_lattice_sigma(&self) -> f64 {
        0.5 * self.ln_covariance / self.part as f64
    }

    /// The price of guesses for [`DualHybrid`](super::super::dual::DualHybrid).
    pub(super) fn guessing(&self) -> Guessing {
        let log2_tries = self.part_entropy / self.part as f64;
        Guessing {
            secret_sigma: self.variance.sqrt(),
            ln_candidates: log2_tries * LN_2,
            log2_tries,
            log2_overhead: 0.0,
        }
    }

    /// LWE with noise of standard deviation 2^`log2_sigma`·q and the first `dimension` coefficients of
    /// this key, in normal form.
    ///
    /// # Errors
    /// [`NotEstimated::Noise`] if the noise is out of range.
    pub(super) fn normal_form(
        &self,
        dimension: usize,
        log2_sigma: f64,
    ) -> Result<NormalForm, NotEstimated> {
        // The checks of noise and modulus; the distribution is this key's.
        LweInstance::new(
            self.dimension,
            LOG2_Q,
            log2_sigma,
            SecretDistribution::Binary,
        )?;
        let ln_sigma = (LOG2_Q + log2_sigma) * LN_2;
        Ok(NormalForm {
            dimension,
            ln_q: LOG2_Q * LN_2,
            ln_sigma,
            ln_stretch: (ln_sigma - self.ln_lattice_sigma()).max(0.0),
        })
    }
}
