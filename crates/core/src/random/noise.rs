//! The distributions of encryption noise, and the addition of noise in place.

use thiserror::Error;

use super::centered_binomial::MAX_ETA;
use super::expander::Expander;
use super::{centered_binomial, gaussian, tuniform};
use crate::simd::{Isa, as_bytes_mut};
use crate::torus::{Torus, exp2_neg};

/// The distribution of the error of a fresh ciphertext. It is part of the key owner's parameter
/// set, and public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoiseDistribution {
    /// A centred normal variate, rounded to the nearest integer step of q, ties to
    /// even.
    Gaussian {
        /// The standard deviation as a fraction of q, in `[0, 1/2]`.
        standard_deviation: f64,
    },
    /// TUniform(b), as the TFHE-rs documentation defines it: an integer in
    /// `[-2^b, 2^b]`, every one with mass `2^-(b+1)` except the two end points with
    /// `2^-(b+2)`.
    TUniform {
        /// The logarithm `b` of the bound in integer steps of q: at most `T::BITS - 2`.
        bound_log2: u32,
    },
    /// The centred binomial distribution: the number of ones among `eta` fair bits minus the number of
    /// ones among `eta` others, an integer in `[-eta, eta]` of variance `eta / 2`. No shipped parameter
    /// set uses it; it is the error distribution of CKKS ciphertexts (`eta` 21, as in Microsoft SEAL).
    CenteredBinomial {
        /// The number of bits on each side, 1 to 32.
        eta: u32,
    },
}

/// The reason why a noise distribution is not usable.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum NoiseDistributionError {
    /// The standard deviation is negative, above 1/2 or not a number.
    #[error("a standard deviation of {0} is not between 0 and 1/2 of the torus")]
    StandardDeviation(f64),
    /// The TUniform bound does not fit the torus.
    #[error("a TUniform bound of 2^{bound_log2} does not fit a torus of {torus_bits} bits")]
    Bound {
        /// The logarithm of the bound.
        bound_log2: u32,
        /// log2 of q.
        torus_bits: u32,
    },
    /// The centred binomial distribution has no bits, or too many.
    #[error("a centred binomial distribution of eta {0} is not between 1 and {MAX_ETA}")]
    Eta(u32),
}

impl NoiseDistribution {
    /// Checks the ranges that the variants document, for `q = 2^torus_bits`.
    ///
    /// # Errors
    ///
    /// A [`NoiseDistributionError`] that says what is out of range.
    pub fn validate(&self, torus_bits: u32) -> Result<(), NoiseDistributionError> {
        match *self {
            Self::Gaussian { standard_deviation } => {
                if (0.0..=0.5).contains(&standard_deviation) {
                    Ok(())
                } else {
                    Err(NoiseDistributionError::StandardDeviation(
                        standard_deviation,
                    ))
                }
            }
            Self::TUniform { bound_log2 } => {
                if bound_log2.saturating_add(2) <= torus_bits {
                    Ok(())
                } else {
                    Err(NoiseDistributionError::Bound {
                        bound_log2,
                        torus_bits,
                    })
                }
            }
            Self::CenteredBinomial { eta } => {
                if (1..=MAX_ETA).contains(&eta) {
                    Ok(())
                } else {
                    Err(NoiseDistributionError::Eta(eta))
                }
            }
        }
    }

    /// Returns the variance as a fraction of `q^2`, for `q = 2^torus_bits`: `sigma^2` or
    /// `(2^(2b+1) + 1) / 6 / q^2` or `eta / 2 / q^2`. It does not include the variance 1/12 of rounding a
    /// Gaussian to integers.
    ///
    /// For a distribution that [`validate`](Self::validate) refuses, the result means nothing.
    pub fn variance(&self, torus_bits: u32) -> f64 {
        match *self {
            Self::Gaussian { standard_deviation } => standard_deviation * standard_deviation,
            Self::TUniform { bound_log2 } => {
                let step = exp2_neg(torus_bits);
                let bound = step / exp2_neg(bound_log2);
                (2.0 * bound * bound + step * step) / 6.0
            }
            Self::CenteredBinomial { eta } => {
                let step = exp2_neg(torus_bits);
                f64::from(eta) / 2.0 * step * step
            }
        }
    }
}

/// Adds independent noise to every element: `values[i] += round(e_i * q) mod q`.
///
/// The number of bytes that a call reads from the stream depends on the length and the distribution
/// alone. Words are little-endian; both Gaussians follow Box and Muller (1958).
///
/// - Gaussian, `standard_deviation * q <= 2^16`: 1088 bytes per chunk of 256 elements,
///   of a partial last chunk too, so that cuts at multiples of 256 give the same noise
///   as one call. They are 16 extension words, 128 radius words and 128 angle words of
///   4 bytes. Pair `p` of a chunk makes its elements `p` and `p + 128`: with
///   `v = ((radius[p] mod 2^31)·2^32 + extension[p mod 16] + 1/2) / 2^64`, with `u` equal to
///   `v` or, if bit 31 of the radius word is set, `1 - v`, and with the angle word read as
///   a signed integer `a`, they are the radius `sqrt(-2 ln u)`, which reaches 9.4 standard
///   deviations, times cosine and sine of `pi/4 · a/2^31`, the cosine negated if bit 1 of
///   the angle word is set, the two swapped if bit 0 is. The relative error of a variate
///   is below 2^-19.5, and its bits are the same on every platform whose `f32` follows
///   IEEE 754.
/// - Gaussian above: 16 bytes per pair of elements, `16 * ceil(len / 2)` in all; the
///   second half of an odd last pair is discarded. So cuts at even positions
///   give the same noise as one call. Of the pair's two `u64`, the first is the radius,
///   `sqrt(-2 ln u)` with `u = (word + 1/2) / 2^64`; of the
///   second, bit 63 negates the radius's cosine, bit 62 swaps the two results, and
///   with `m` its bits 11..62 the angle is `pi/2 * ((2m + 1) / 2^52 - 1/2)`. The
///   relative error of a variate is below 2^-40, and its bits are the same on
///   every platform whose `f64` follows IEEE 754.
/// - TUniform: one word per element, of 2 bytes if `b <= 14`, of 4 if `b <= 30`, else
///   of 8. Of its `b + 2` low bits `r` the noise is `(r >> 1) + (r & 1) - 2^b`.
/// - Centred binomial: one little-endian word per element, of 2 bytes if `eta <= 8`, 4
///   if `eta <= 16`, else 8: the number of ones among its `eta` low bits, minus the number of ones
///   among the `eta` low bits of its upper half.
///
/// Constant-time, except for the length and the distribution.
///
/// # Panics
///
/// If [`NoiseDistribution::validate`] refuses the distribution for `T::BITS`.
pub fn add_noise<T: Torus>(
    distribution: NoiseDistribution,
    expander: &mut impl Expander,
    values: &mut [T],
) {
    add_noise_on(Isa::detect(), distribution, expander, values, &mut []);
}

/// Does the same as [`add_noise`] with the words of the stream in memory of the caller. This is faster than memory on the stack,
/// which has to be wiped. `words` may have any length; it is used for Gaussians of the first kind and for TUniform. On return it
/// holds what the noise was made of: the caller wipes or overwrites it.
///
/// # Panics
///
/// As [`add_noise`].
pub fn add_noise_with<T: Torus>(
    distribution: NoiseDistribution,
    expander: &mut impl Expander,
    values: &mut [T],
    words: &mut [T],
) {
    add_noise_on(Isa::detect(), distribution, expander, values, words);
}

/// Does the same as [`add_noise_with`] on a given instruction set.
pub(super) fn add_noise_on<T: Torus>(
    isa: Isa,
    distribution: NoiseDistribution,
    expander: &mut impl Expander,
    values: &mut [T],
    words: &mut [T],
) {
    if let Err(error) = distribution.validate(T::BITS) {
        panic!("{error}");
    }
    match distribution {
        NoiseDistribution::Gaussian { standard_deviation } => {
            gaussian::add(isa, standard_deviation, expander, values, words);
        }
        NoiseDistribution::TUniform { bound_log2 } => {
            tuniform::add(isa, bound_log2, expander, values, as_bytes_mut(words));
        }
        NoiseDistribution::CenteredBinomial { eta } => {
            centered_binomial::add(eta, expander, values);
        }
    }
}
