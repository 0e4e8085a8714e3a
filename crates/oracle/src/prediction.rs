//! The oracle's prediction for a parameter set of tfhe-sbc: the numbers that the set itself
//! states.

use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};

use crate::estimator::{StrictCost, StrictEstimate};
use crate::failure::{DecisionHalfWidth, log2_p_fail, log2_p_fail_with_rounding};
use crate::noise::{KeyBlocks, Variance};
use crate::noise_budget::{BootstrapOrder, NoiseBudget, NormSquared, PbsParameters};
use crate::security::{
    OutOfTable, SecretKind, SecurityEstimate, StrictKind, security_level, strict_level,
};
use crate::upload::{LOPSIDED, key_switch_offset_variance};

/// Noise and failure probability of a parameter set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The variance that each part of a bootstrap adds.
    pub budget: NoiseBudget,
    /// The noise at the worst table look-up.
    pub worst_total: Variance,
    /// log2 of the failure probability of one bootstrap there, on average over keys.
    pub log2_p_fail: f64,
    /// The same for a key-switching key as lopsided as one in a thousand. Signed digits have the
    /// mean -1/2, so that half the sum of the key's errors is a constant in every phase.
    pub log2_p_fail_lopsided: f64,
}

impl Prediction {
    /// The prediction for `parameters`, key switch first.
    ///
    /// The worst look-up is that of a linear combination of bootstrap outputs whose absolute
    /// weights sum to [`max_noise_level`] ν. For integers its variance is ν² times that of an
    /// output, because the outputs may all be the same ciphertext. The worst gate is NAND or the
    /// like of a multiplexer's output m with itself, 2m. As m is the sum of two bootstraps of
    /// different inputs with independent noises, the factor is 2² + 2² = ν²/2 = 8, with ν = 4. XOR
    /// doubles both the weights and the distance, which is no worse. The failure probability on
    /// uploads is that of [`UploadPrediction`].
    ///
    /// [`UploadPrediction`]: crate::upload::UploadPrediction
    /// [`max_noise_level`]: tfhe_sbc_core::parameters::ParameterSet::max_noise_level
    pub fn new(parameters: &Parameters) -> Self {
        Self::in_order(parameters, BootstrapOrder::KeySwitchFirst)
    }

    /// Does the same as [`new`](Self::new) for either order.
    pub fn in_order(parameters: &Parameters, order: BootstrapOrder) -> Self {
        let budget = NoiseBudget::new(&PbsParameters::from(parameters));
        let norm = worst_norm_squared(parameters);
        let worst_total = budget.total(order, norm);
        let half_width = DecisionHalfWidth::of_worst_look_up(parameters);
        let offset = key_switch_offset_variance(&PbsParameters::from(parameters));
        // In the order bootstrap first, every input of the sum has had a key switch. Its constant
        // is the same in all inputs; everything else is independent.
        let switches = match order {
            BootstrapOrder::KeySwitchFirst => 1.0,
            BootstrapOrder::BootstrapFirst => norm.0,
        };
        let rest = Variance(worst_total.0 - switches * offset.0);
        let lopsided = LOPSIDED * (switches * offset.0).sqrt();
        Self {
            budget,
            worst_total,
            log2_p_fail: log2_p_fail(half_width, worst_total),
            log2_p_fail_lopsided: log2_p_fail_with_rounding(half_width, rest, 0.0, lopsided),
        }
    }
}

/// The ν² of the worst look-up on bootstrap outputs, see [`Prediction::new`].
pub fn worst_norm_squared(parameters: &Parameters) -> NormSquared {
    let level = f64::from(parameters.max_noise_level());
    match parameters.plaintext() {
        PlaintextKind::Radix => NormSquared::of_norm(level),
        PlaintextKind::Boolean => NormSquared(0.5 * level * level),
    }
}

/// The security of both keys of a parameter set.
#[derive(Clone, Debug, PartialEq)]
pub struct KeySecurity {
    /// The security of the small LWE key.
    pub lwe: SecurityEstimate,
    /// The security of the GLWE key.
    pub glwe: SecurityEstimate,
}

impl KeySecurity {
    /// Returns the security of the keys of `parameters`. The small key is taken as one of blocks,
    /// the GLWE key as uniform binary.
    ///
    /// # Errors
    /// If the security table does not cover a key.
    pub fn new(parameters: &Parameters) -> Result<Self, OutOfTable> {
        let noise = PbsParameters::from(parameters);
        let level = |dimension, variance: Variance, secret| {
            security_level(dimension, 0.5 * variance.log2(), secret)
        };
        let KeyBlocks {
            dimension,
            block_size,
        } = noise.small_key;
        let small = SecretKind::of_blocks(block_size)?;
        let big = parameters.big_lwe_dimension().0;
        Ok(Self {
            lwe: level(dimension, noise.lwe_variance, small)?,
            glwe: level(big, noise.glwe_variance, SecretKind::Binary)?,
        })
    }

    /// The reliable bits of security: the smaller level of the two keys, with the margin. `None`
    /// if the table only says that a level is below its lowest.
    pub fn bits(&self) -> Option<f64> {
        let lwe = self.lwe.lambda_with_margin.lower_bound()?;
        let glwe = self.glwe.lambda_with_margin.lower_bound()?;
        Some(lwe.min(glwe))
    }
}

/// The costs of all attacks of the strict count on both keys of a parameter set.
#[derive(Clone, Debug, PartialEq)]
pub struct StrictSecurity {
    /// The attacks on the small LWE key.
    pub lwe: StrictEstimate,
    /// The attacks on the GLWE key.
    pub glwe: StrictEstimate,
}

impl StrictSecurity {
    /// Prices the attacks on the keys of `parameters`, in about a fifth of a second. `None` if a key
    /// is out of the estimator's range.
    pub fn new(parameters: &Parameters) -> Option<Self> {
        let noise = PbsParameters::from(parameters);
        let log2_sigma = |variance: Variance| 0.5 * variance.log2();
        let KeyBlocks {
            dimension,
            block_size,
        } = noise.small_key;
        Some(Self {
            lwe: strict_level(
                dimension,
                log2_sigma(noise.lwe_variance),
                StrictKind::Blocks(block_size),
            )?,
            glwe: strict_level(
                parameters.big_lwe_dimension().0,
                log2_sigma(noise.glwe_variance),
                parameters.glwe_secret().into(),
            )?,
        })
    }

    /// The cheapest attack on either key.
    pub fn cheapest(&self) -> StrictCost {
        let (lwe, glwe) = (self.lwe.cheapest(), self.glwe.cheapest());
        match glwe.log2_cost < lwe.log2_cost {
            true => glwe,
            false => lwe,
        }
    }

    /// The smaller level of the two keys in bits.
    pub fn bits(&self) -> f64 {
        self.cheapest().log2_cost
    }
}
