//! The noise of uploads, and the failure probability of bootstraps on them.
//!
//! An upload is noisier than a bootstrap output if its body is cut to few bits. The rounding error
//! is uniform over one step; it is by far the largest part and has no tail, so it is kept apart
//! from the Gaussian rest ([`UploadNoise`]). A linear combination of uploads whose absolute
//! weights sum to w is never worse than w times one upload: for independent uploads it is smaller
//! in the convex order. [`UploadPrediction`] therefore judges w times one upload.

use tfhe_sbc_core::parameters::{Decomposition, Parameters, PlaintextKind};

use crate::blind_rotation::{FftErrorModel, GgswGadgets, fft_variance};
use crate::failure::{DecisionHalfWidth, log2_p_fail_with_rounding};
use crate::noise::{
    Gadget, GlweNoise, KeySwitchNoise, Variance, key_switch_variance, truncation_variance,
};
use crate::noise_budget::{BootstrapOrder, NoiseBudget, PbsParameters};

/// The failure probability that every use of a set stays below, as its log2, unless its name
/// says something else.
pub const TARGET_LOG2_P_FAIL: f64 = -128.0;

/// The number of standard deviations by which a key-switching key is off centre that is as
/// lopsided as one in a thousand: P(|x| > 3.3) = 0.00097.
pub(crate) const LOPSIDED: f64 = 3.3;

/// The kind of encryption of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadKind {
    /// Encryption under a device key: the mask is a seed.
    Symmetric,
    /// Encryption under a device public key: the mask travels, cut to
    /// [`public_key_mask_bits`](tfhe_sbc_core::parameters::ParameterSet::public_key_mask_bits).
    PublicKey,
}

impl UploadKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Symmetric, Self::PublicKey];
}

/// The noise of an upload, torus-normalised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UploadNoise {
    /// The variance of the part that is Gaussian, or a sum of many bounded terms whose tail a
    /// Gaussian bounds.
    pub gaussian: Variance,
    /// The largest error of rounding the body, which is uniform up to it: 2^-(bits+1).
    pub rounding: f64,
}

impl UploadNoise {
    /// Returns the noise of an upload under `parameters`, before a key switch between device keys.
    pub fn new(parameters: &Parameters, kind: UploadKind) -> Self {
        let glwe = PbsParameters::from(parameters).fresh();
        Self {
            gaussian: match kind {
                UploadKind::Symmetric => glwe.variance,
                UploadKind::PublicKey => {
                    public_key_variance(&glwe)
                        + mask_rounding_variance(&glwe, parameters.public_key_mask_bits())
                }
            },
            rounding: rounding_bound(parameters.body_bits()),
        }
    }

    /// Returns the noise after the GLWE key switch from a device's own key to the evaluation key, with the
    /// noisiest decomposition that key files have.
    #[must_use]
    pub fn switched(self, parameters: &Parameters) -> Self {
        let glwe = PbsParameters::from(parameters).fresh();
        let switches = parameters.device_switches().iter();
        let variances = switches.map(|&switch| device_switch_variance(&glwe, switch).0);
        Self {
            gaussian: self.gaussian + Variance(variances.fold(0.0, f64::max)),
            ..self
        }
    }

    /// The variance of the whole noise.
    pub fn variance(self) -> Variance {
        // Uniform on [-h, h].
        self.gaussian + Variance(self.rounding * self.rounding / 3.0)
    }
}

/// The noise of a public-key encryption Σ r_j pk_j + e + m before anything is rounded:
/// σ² (1 + 2 kN E\[s²\]), for rows pk_j that encrypt zero with noise E_j, r_j that are distributed
/// as the key is, and fresh noise of the same σ in all k + 1 components.
///
/// The phase holds e_body - Σ e_i s_i + Σ r_j E_j. Each of the last two sums has kN products
/// of a noise (mean 0) with a coefficient: σ² E\[s²\], whatever the coefficient's mean. For one
/// binary key and one coefficient Σ r_j E_j has the mean ΣE/2, of variance kN σ²/4: half of that
/// sum's share is constant under one public key.
///
/// To whoever lacks r the k + 1 components are LWE samples with the secret r, of dimension kN and
/// the key's distribution, and noise σ: their security is the GLWE key's.
pub fn public_key_variance(glwe: &GlweNoise) -> Variance {
    let products = 2.0 * glwe.secret.mean_square() * glwe.extracted_lwe_dimension() as f64;
    glwe.variance * (1.0 + products)
}

/// The variance that the rounding of every mask coefficient to `bits` bits adds: kN E\[s²\] ·
/// 2^(-2·bits)/12.
///
/// It is the variance of uniform errors of mean 0 multiplied by key coefficients; for a key with h
/// nonzero coefficients it is h · 2^(-2·bits)/12. A uniform variable is strictly sub-Gaussian, so
/// that a Gaussian of this variance bounds the tail of the sum.
pub fn mask_rounding_variance(glwe: &GlweNoise, bits: u32) -> Variance {
    if bits >= glwe.torus_log2 {
        return Variance::ZERO;
    }
    truncation_variance(bits) * (glwe.secret.mean_square() * glwe.extracted_lwe_dimension() as f64)
}

/// The variance that a GLWE key switch between two keys of the same shape adds to every
/// coefficient. The kN coefficients of the mask are decomposed and multiplied by kN · l errors of
/// the switching key, as in the key switch between LWE keys; the body is not changed.
pub fn glwe_key_switch_variance(glwe: &GlweNoise, decomposition: Decomposition) -> Variance {
    key_switch_variance(&KeySwitchNoise {
        input_dimension: glwe.extracted_lwe_dimension(),
        secret: glwe.secret,
        shared: 0,
        input_torus_log2: glwe.torus_log2,
        output_torus_log2: glwe.torus_log2,
        key_variance: glwe.variance,
        gadget: decomposition.into(),
    })
}

/// The variance that the switch from a device's own key adds to every coefficient as the engine computes
/// it: that of the key switch, and that of the error of the transform of digits and rows.
pub fn device_switch_variance(glwe: &GlweNoise, decomposition: Decomposition) -> Variance {
    let mask = Gadget::from(decomposition);
    // The body is not decomposed.
    let body = Gadget { level: 0, ..mask };
    let transform = fft_variance(FftErrorModel::Measured, glwe, GgswGadgets { mask, body });
    glwe_key_switch_variance(glwe, decomposition) + transform
}

/// The largest error of rounding to `bits` bits of the torus.
pub(crate) fn rounding_bound(bits: u32) -> f64 {
    f64::exp2(-f64::from(bits) - 1.0)
}

/// The largest sum of absolute weights with which uploads enter one bootstrap.
///
/// Integers count an upload as noise level 1, so it is the set's
/// [`max_noise_level`](tfhe_sbc_core::parameters::ParameterSet::max_noise_level): all of it on
/// one upload. A gate takes two ciphertexts with weights ±1; XOR doubles both the weights
/// and the distance.
pub fn largest_upload_weight(parameters: &Parameters) -> u32 {
    match parameters.plaintext() {
        PlaintextKind::Radix => parameters.max_noise_level(),
        PlaintextKind::Boolean => 2,
    }
}

/// The noise and the failure probability of one bootstrap on uploads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UploadPrediction {
    /// log2 of the failure probability, on average over keys.
    pub log2_p_fail: f64,
    /// The same for a key-switching key as lopsided as one in a thousand. Signed digits have the
    /// mean -1/2, so that half the sum of the key's errors is a constant in every phase.
    pub log2_p_fail_lopsided: f64,
}

impl UploadPrediction {
    /// The prediction for uploads of `kind`, each switched from a device's own key and
    /// entering with the [largest weight](largest_upload_weight), key switch first.
    pub fn new(parameters: &Parameters, kind: UploadKind) -> Self {
        Self::in_order(parameters, kind, BootstrapOrder::KeySwitchFirst)
    }

    /// Does the same as [`new`](Self::new) for either order.
    pub fn in_order(parameters: &Parameters, kind: UploadKind, order: BootstrapOrder) -> Self {
        let noise = UploadNoise::new(parameters, kind).switched(parameters);
        Self::of_noise(parameters, noise, order)
    }

    /// Returns whether the average over keys and a key that shifts phases as much as one in a
    /// thousand stay at or below 2^`log2_p_fail`. The spread of the sum of squares of a key's
    /// errors is not in it.
    pub fn meets(&self, log2_p_fail: f64) -> bool {
        self.log2_p_fail.max(self.log2_p_fail_lopsided) <= log2_p_fail
    }

    fn of_noise(parameters: &Parameters, noise: UploadNoise, order: BootstrapOrder) -> Self {
        let pbs = PbsParameters::from(parameters);
        let budget = NoiseBudget::new(&pbs);
        let weight = f64::from(largest_upload_weight(parameters));
        let half_width = DecisionHalfWidth::of_worst_look_up(parameters);
        let switches = match order {
            BootstrapOrder::KeySwitchFirst => 1.0,
            BootstrapOrder::BootstrapFirst => weight * weight,
        };
        let gaussian = noise.gaussian * (weight * weight)
            + budget.key_switch * switches
            + budget.modulus_switch;
        let rounding = weight * noise.rounding;
        let offset = key_switch_offset_variance(&pbs) * switches;
        Self {
            log2_p_fail: log2_p_fail_with_rounding(half_width, gaussian, rounding, 0.0),
            log2_p_fail_lopsided: log2_p_fail_with_rounding(
                half_width,
                Variance(gaussian.0 - offset.0),
                rounding,
                LOPSIDED * offset.standard_deviation(),
            ),
        }
    }
}

/// The part of the key switch's noise that is constant under one key: kN · l errors of the
/// key, each times the mean -1/2 of a digit.
pub fn key_switch_offset_variance(pbs: &PbsParameters) -> Variance {
    let key = pbs.key_switch();
    key.key_variance * (0.25 * (key.input_dimension * key.gadget.level) as f64)
}

/// The fewest bits of an upload's coefficients that meet the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadBits {
    /// The bits of the body, for symmetric and public-key uploads.
    pub body: u32,
    /// The bits of the mask of public-key uploads.
    pub public_key_mask: u32,
}

impl UploadBits {
    /// The fewest bits with which uploads [meet](UploadPrediction::meets) 2^`log2_p_fail`, those
    /// of the body first. `None` where not even whole coefficients meet it. The set's own
    /// numbers of bits do not matter.
    pub fn fewest(parameters: &Parameters, log2_p_fail: f64) -> Option<Self> {
        Self::fewest_in_order(parameters, BootstrapOrder::KeySwitchFirst, log2_p_fail)
    }

    /// Does the same as [`fewest`](Self::fewest) for either order.
    pub fn fewest_in_order(
        parameters: &Parameters,
        order: BootstrapOrder,
        log2_p_fail: f64,
    ) -> Option<Self> {
        let torus_bits = parameters.torus_bits();
        let mut noise = UploadNoise::new(parameters, UploadKind::Symmetric).switched(parameters);
        let smallest = parameters.message_bits().0 + parameters.carry_bits().0 + 2;
        let body = fewest(smallest..=torus_bits, |bits| {
            noise.rounding = rounding_bound(bits);
            UploadPrediction::of_noise(parameters, noise, order).meets(log2_p_fail)
        })?;
        noise.rounding = rounding_bound(body);
        let glwe = PbsParameters::from(parameters).fresh();
        let symmetric = noise.gaussian;
        let public_key_mask = fewest(1..=torus_bits, |bits| {
            // The fresh noise of the body is in the symmetric upload's already.
            let more = Variance(public_key_variance(&glwe).0 - glwe.variance.0);
            noise.gaussian = symmetric + more + mask_rounding_variance(&glwe, bits);
            UploadPrediction::of_noise(parameters, noise, order).meets(log2_p_fail)
        })?;
        Some(Self {
            body,
            public_key_mask,
        })
    }
}

/// The first number of bits that is `enough`, where more are enough too.
pub(crate) fn fewest(
    bits: std::ops::RangeInclusive<u32>,
    mut enough: impl FnMut(u32) -> bool,
) -> Option<u32> {
    let (mut low, mut high) = bits.into_inner();
    if !enough(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(high)
}
