//! The noise of compact values, and of exact sums of them.
//!
//! The rounding of bodies is by far the largest noise of an upload. It is uniform and has no tail, so
//! it is kept apart from the Gaussian rest, as in [`crate::upload`].

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::parameters::{Decomposition, Parameters};
use tfhe_sbc_core::wire::columns::MASK_BITS_MORE;

use crate::failure::{DecisionHalfWidth, log2_p_fail_with_rounding};
use crate::noise::{GlweNoise, GlweSecret, Variance};
use crate::noise_budget::PbsParameters;
use crate::upload::{
    TARGET_LOG2_P_FAIL, UploadKind, device_switch_variance, mask_rounding_variance,
    public_key_variance, rounding_bound,
};

/// The noise of a compact value, torus-normalised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactNoise {
    /// The variance of the part that is Gaussian, or a sum of many bounded terms whose tail a
    /// Gaussian bounds.
    pub gaussian: Variance,
    /// The roundings of bodies.
    pub rounding: Roundings,
}

/// A weighted sum of independent errors, each uniform up to a bound of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roundings {
    /// The largest bound, with its weight.
    pub largest: f64,
    /// The sum of the squares of all bounds with their weights.
    pub squares: f64,
    /// The sum of all bounds with their weights.
    pub sum: f64,
}

impl Roundings {
    /// No rounding.
    pub const NONE: Self = Self {
        largest: 0.0,
        squares: 0.0,
        sum: 0.0,
    };

    /// Returns the sum of `count` errors with the same `bound`.
    pub fn equal(bound: f64, count: f64) -> Self {
        Self {
            largest: bound,
            squares: count * bound * bound,
            sum: count * bound,
        }
    }

    /// The variance: a third of the squares of the bounds.
    pub fn variance(self) -> Variance {
        Variance(self.squares / 3.0)
    }

    fn times(self, factor: f64) -> Self {
        Self {
            largest: self.largest * factor.abs(),
            squares: self.squares * factor * factor,
            sum: self.sum * factor.abs(),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            largest: self.largest.max(other.largest),
            squares: self.squares + other.squares,
            sum: self.sum + other.sum,
        }
    }
}

/// The rows of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumRows {
    /// All rows follow one another in uploads, so that error feedback helps. The number of uploads is
    /// that of the runs of rows.
    Neighbours {
        /// The number of rows.
        rows: u64,
        /// The number of uploads.
        uploads: u64,
    },
    /// Any rows.
    Scattered {
        /// The number of rows.
        rows: u64,
    },
}

impl CompactNoise {
    /// No noise.
    pub const NONE: Self = Self {
        gaussian: Variance::ZERO,
        rounding: Roundings::NONE,
    };

    /// Returns the noise after the coefficients of the ciphertext, masks and bodies, were rounded to `bits` bits.
    #[must_use]
    pub fn cut(self, parameters: &Parameters, bits: u32) -> Self {
        let glwe = PbsParameters::from(parameters).fresh();
        let masks = Self {
            gaussian: mask_rounding_variance(&glwe, bits),
            rounding: Roundings::NONE,
        };
        self.and(masks).cut_bodies(bits)
    }

    /// Returns the noise after the body coefficients alone were rounded to `bits` bits.
    #[must_use]
    pub fn cut_bodies(self, bits: u32) -> Self {
        self.and(Self {
            gaussian: Variance::ZERO,
            rounding: Roundings::equal(rounding_bound(bits), 1.0),
        })
    }

    /// Returns the noise of a single value of an upload under `parameters`, before a key switch. With
    /// error feedback that is two roundings, its own and that of the value before it.
    pub fn upload(parameters: &Parameters, kind: UploadKind, encoding: &CompactEncoding) -> Self {
        let roundings = match encoding.rounding() {
            BodyRounding::Nearest => 1.0,
            BodyRounding::ErrorFeedback => 2.0,
        };
        let glwe = PbsParameters::from(parameters).fresh();
        Self {
            gaussian: fresh(&glwe, kind, encoding),
            rounding: Roundings::equal(rounding_bound(encoding.body_bits()), roundings),
        }
    }

    /// Returns the noise of the sum of `rows` values of uploads under `parameters`, before a key switch.
    ///
    /// Every row has a rounding of its own. With error feedback, a run of neighbours in one upload has
    /// two in all, and every scattered row has two.
    ///
    /// Public-key uploads have errors that are multiplied by a key: the rounding of the mask and two of
    /// the noises. If the coefficients of the key have the mean 1/2, such errors of `m` coefficients of
    /// one polynomial have `(m^2 + m)/2` times the variance of one, because every error is multiplied by
    /// the sum of `m` coefficients of a binary key, whose mean square is `(m^2 + m)/4`. The rows are taken
    /// to be in as few polynomials as they fit.
    pub fn sum(
        parameters: &Parameters,
        kind: UploadKind,
        encoding: &CompactEncoding,
        rows: SumRows,
    ) -> Self {
        let glwe = PbsParameters::from(parameters).fresh();
        let one = Self::upload(parameters, kind, encoding);
        let (count, runs) = match rows {
            SumRows::Neighbours { rows, uploads } => (rows, uploads.clamp(1, rows.max(1))),
            SumRows::Scattered { rows } => (rows, rows),
        };
        let count = count as f64;
        let of_masks = one.gaussian.0 - glwe.variance.0;
        let together = count.min(glwe.polynomial_size as f64);
        let per_row = match glwe.secret {
            GlweSecret::Binary => 0.5 * (together + 1.0),
            GlweSecret::Ternary => 1.0,
        };
        let bound = rounding_bound(encoding.body_bits());
        let roundings = match encoding.rounding() {
            BodyRounding::Nearest => count,
            BodyRounding::ErrorFeedback => 2.0 * runs as f64,
        };
        Self {
            gaussian: glwe.variance * count + Variance(of_masks * count * per_row),
            rounding: Roundings::equal(bound, roundings),
        }
    }

    /// Returns the noise after a GLWE key switch from a device's own key to the evaluation key with this
    /// decomposition. A sum that is switched once, after it is made, has it once.
    #[must_use]
    pub fn switched(self, parameters: &Parameters, decomposition: Decomposition) -> Self {
        let glwe = PbsParameters::from(parameters).fresh();
        Self {
            gaussian: self.gaussian + device_switch_variance(&glwe, decomposition),
            ..self
        }
    }

    /// Returns the noise of a multiple of the value.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            gaussian: self.gaussian * (factor * factor),
            rounding: self.rounding.times(factor),
        }
    }

    /// Returns the noise of the sum or the difference with an independent value.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            gaussian: self.gaussian + other.gaussian,
            rounding: self.rounding.and(other.rounding),
        }
    }

    /// The variance of the whole noise.
    pub fn variance(self) -> Variance {
        self.gaussian + self.rounding.variance()
    }

    /// log2 of the probability that the noise, with a centred Gaussian of variance `more` and a constant
    /// `offset`, leaves `[-t, t]`.
    ///
    /// This is the smaller of two bounds. A weighted sum of uniform errors is never worse than one
    /// uniform error with the sum of their bounds. It is also no worse than the largest of them and a
    /// Gaussian of the variance of the others.
    pub(super) fn log2_p_fail(self, t: DecisionHalfWidth, more: Variance, offset: f64) -> f64 {
        let Roundings {
            largest,
            squares,
            sum,
        } = self.rounding;
        let gaussian = self.gaussian + more;
        let as_one = log2_p_fail_with_rounding(t, gaussian, sum, offset);
        let others = Variance((squares - largest * largest).max(0.0) / 3.0);
        let apart = log2_p_fail_with_rounding(t, gaussian + others, largest, offset);
        as_one.min(apart)
    }
}

/// The variance of everything but the rounding of the body.
fn fresh(glwe: &GlweNoise, kind: UploadKind, encoding: &CompactEncoding) -> Variance {
    match kind {
        UploadKind::Symmetric => glwe.variance,
        UploadKind::PublicKey => {
            let mask_bits = encoding.body_bits() + MASK_BITS_MORE;
            public_key_variance(glwe) + mask_rounding_variance(glwe, mask_bits)
        }
    }
}

/// Returns the number of bits to which the coefficients of a ciphertext of sums can be cut: the fewest with which
/// sums of `plaintext_bits` bits, code and headroom, still decode wrongly with a probability of at most 2^-128.
/// All bits if there are no fewer.
pub fn answer_coefficient_bits(
    parameters: &Parameters,
    plaintext_bits: u32,
    noise: CompactNoise,
) -> u32 {
    let torus_bits = parameters.torus_bits();
    let mut fewer = plaintext_bits + 1..torus_bits;
    let bits = fewer.find(|&bits| {
        let noise = noise.cut(parameters, bits);
        exact_sum_log2_p_fail(plaintext_bits, noise) <= TARGET_LOG2_P_FAIL
    });
    bits.unwrap_or(torus_bits)
}

/// log2 of the probability that a sum of `plaintext_bits` bits, code and headroom, does not decode to
/// itself.
pub fn exact_sum_log2_p_fail(plaintext_bits: u32, noise: CompactNoise) -> f64 {
    let half_a_step = DecisionHalfWidth(f64::exp2(-f64::from(plaintext_bits) - 1.0));
    noise.log2_p_fail(half_a_step, Variance::ZERO, 0.0)
}
