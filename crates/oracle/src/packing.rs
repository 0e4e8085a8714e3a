//! Packing parameters: the noise of packed answers, their failure probability, and the search for the
//! shortest answers.
//!
//! A block reaches the packing key switch after a linear combination of bootstrap outputs and the key
//! switch to the small key, as at a lookup. There it is scaled to the whole torus. The noise of a slot
//! then is ([`PackingNoise`]):
//!
//! - the block's, scaled: `4^(carry + 1) · (ν² V_pbs + V_ks)`;
//! - the part of the block's mask that the digits leave out: `n E[s²] B^(-2l) / 12`;
//! - the noise of the packing key. A row is multiplied by a polynomial of digits, one of every slot, so
//!   that **each slot gets the noise of all N slots**: `N · n l V (B² + 2)/12`. A key for one value in
//!   every ciphertext would look N times better;
//! - the rounding of the cut mask, mean-compensated: `kN/4 · 2^(-2 bits)/12`;
//! - the rounding of the body, uniform and without a tail.

use tfhe_sbc_core::dimensions::{GlweDimension, PolynomialSize};
use tfhe_sbc_core::packing::{PackingParameters, SlotBits, slot_scale_log2};
use tfhe_sbc_core::parameters::{
    Decomposition, GlweSecret, MAX_GLWE_DIMENSION, Parameters, PlaintextKind,
};
use tfhe_sbc_core::random::NoiseDistribution;
use tfhe_sbc_core::wire::packed::PackedList;

use crate::failure::{DecisionHalfWidth, log2_p_any, log2_p_fail_with_rounding};
use crate::noise::{Gadget, KeyBlocks, Variance, truncation_variance};
use crate::noise_budget::{NoiseBudget, PbsParameters};
use crate::prediction::worst_norm_squared;
use crate::search::least_gaussian;
use crate::security::{
    SecretKind, StrictKind, least_log2_sigma, reliable_level, strict_least_log2_sigma, strict_level,
};
use crate::upload::{
    LOPSIDED, TARGET_LOG2_P_FAIL, UploadKind, UploadNoise, fewest, key_switch_offset_variance,
    largest_upload_weight, rounding_bound,
};

/// log2 of the modulus of packed ciphertexts.
const TORUS_LOG2: u32 = 32;
/// The level that the packing key has at least, in bits, in both counts of attacks.
const LAMBDA: f64 = 128.0;

/// The ciphertexts that enter a slot, with the largest weights that may enter a bootstrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotInput {
    /// A combination of bootstrap outputs.
    BootstrapOutputs,
    /// A combination of uploads, each switched from a device's own key.
    Uploads(UploadKind),
}

impl SlotInput {
    /// All inputs.
    pub const ALL: [Self; 3] = [
        Self::BootstrapOutputs,
        Self::Uploads(UploadKind::Symmetric),
        Self::Uploads(UploadKind::PublicKey),
    ];

    /// The variance before the key switch to the small key, and the largest error of rounding.
    fn noise(self, parameters: &Parameters) -> (Variance, f64) {
        match self {
            Self::BootstrapOutputs => {
                let budget = NoiseBudget::new(&PbsParameters::from(parameters));
                (budget.pbs * worst_norm_squared(parameters).0, 0.0)
            }
            Self::Uploads(kind) => {
                let noise = UploadNoise::new(parameters, kind).switched(parameters);
                let weight = f64::from(largest_upload_weight(parameters));
                (noise.gaussian * (weight * weight), weight * noise.rounding)
            }
        }
    }
}

/// The noise of a slot of a packed ciphertext, torus-normalised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackingNoise {
    /// The block's noise, scaled to the slot.
    pub input: Variance,
    /// The part of `input` that is constant under one key-switching key.
    pub offset: Variance,
    /// The part of the block's mask below its last digit.
    pub decomposition: Variance,
    /// The packing key's noise, of all slots of the ciphertext.
    pub key: Variance,
    /// The rounding of the cut masks.
    pub mask: Variance,
    /// The largest error of rounding the body, and of roundings in the block, scaled.
    pub rounding: f64,
}

impl PackingNoise {
    /// Returns the noise of every slot if `slots` slots of the ciphertext are filled.
    pub fn new(
        parameters: &Parameters,
        packing: &PackingParameters,
        slots: usize,
        input: SlotInput,
    ) -> Self {
        let block = Self::of_block(parameters, input);
        let switch = Self::of_switch(parameters, packing, slots);
        Self {
            input: block.input,
            offset: block.offset,
            rounding: switch.rounding + block.rounding,
            ..switch
        }
    }

    /// Returns the noise of a block, scaled to a slot, before it is packed or cut.
    fn of_block(parameters: &Parameters, input: SlotInput) -> Self {
        let pbs = PbsParameters::from(parameters);
        let key_switch = NoiseBudget::new(&pbs).key_switch;
        let scale = f64::exp2(f64::from(slot_scale_log2(parameters)));
        let (gaussian, rounding) = input.noise(parameters);
        Self {
            input: (gaussian + key_switch) * (scale * scale),
            offset: key_switch_offset_variance(&pbs) * (scale * scale),
            decomposition: Variance::ZERO,
            key: Variance::ZERO,
            mask: Variance::ZERO,
            rounding: rounding * scale,
        }
    }

    /// Returns the noise that packing and cutting add to blocks without any.
    pub fn of_switch(parameters: &Parameters, packing: &PackingParameters, slots: usize) -> Self {
        let small = PbsParameters::from(parameters).small_key;
        let SlotBits { mask, body } = packing.slot_bits;
        Self {
            input: Variance::ZERO,
            offset: Variance::ZERO,
            decomposition: decomposition_variance(small, packing.decomposition),
            key: key_variance(packing, small.dimension, slots),
            mask: cut_mask_variance(packing.secret_dimension().0, mask),
            rounding: rounding_bound(body),
        }
    }

    /// The variance of everything but the rounding of the body.
    pub fn gaussian(&self) -> Variance {
        self.input + self.decomposition + self.key + self.mask
    }

    /// The variance of the whole noise.
    pub fn variance(&self) -> Variance {
        // Uniform on [-h, h].
        self.gaussian() + Variance(self.rounding * self.rounding / 3.0)
    }

    /// log2 of the probability that a slot with a message of `message_bits` bits does not decrypt to it: the
    /// larger one of the average over keys, and that under a key-switching key as lopsided as one in a
    /// thousand. The sum of the roundings of the mask is taken as Gaussian, which bounds its tail.
    pub fn log2_p_fail(&self, message_bits: u32) -> f64 {
        let half_width = DecisionHalfWidth(rounding_bound(message_bits));
        let all = self.gaussian();
        let average = log2_p_fail_with_rounding(half_width, all, self.rounding, 0.0);
        let rest = Variance(all.0 - self.offset.0);
        let shift = LOPSIDED * self.offset.standard_deviation();
        average.max(log2_p_fail_with_rounding(
            half_width,
            rest,
            self.rounding,
            shift,
        ))
    }
}

/// `n E[s²] B^(-2l) / 12`, for a small key of blocks.
fn decomposition_variance(small: KeyBlocks, decomposition: Decomposition) -> Variance {
    truncation_variance(decomposition.represented_bits()) * small.mean_weight()
}

/// `slots · n l V (B² + 2)/12`, `V` being the variance of the key's rounded bodies.
fn key_variance(packing: &PackingParameters, dimension: usize, slots: usize) -> Variance {
    let gadget = Gadget::from(packing.decomposition);
    let row =
        Variance(packing.noise().variance(TORUS_LOG2)) + truncation_variance(packing.key_body_bits);
    row * (slots as f64 * (dimension * gadget.level) as f64 * gadget.digit_variance())
}

/// `kN/4 · 2^(-2 bits)/12`: the roundings times the unknown ±1/2 of binary coefficients.
fn cut_mask_variance(secret_dimension: usize, bits: u32) -> Variance {
    if bits >= TORUS_LOG2 {
        return Variance::ZERO;
    }
    truncation_variance(bits) * (GlweSecret::Binary.variance() * secret_dimension as f64)
}

/// Returns the bits of mask and body with which an answer of blocks under the small key, each a ciphertext of its
/// own, takes the fewest bytes, if each may fail to decrypt as often as the parameter set states, and at most
/// with probability 2^-128 unless the set itself permits more. `None` for gates, or if there are no such bits.
///
/// The noise of a block is that which enters a [packing key switch](PackingNoise), and that of the cut:
/// `n μ (1-μ) 2^(-2 bits)/12` for coefficients of mean `μ`, compensated.
pub fn cut_block_bits(parameters: &Parameters) -> Option<SlotBits> {
    if parameters.plaintext() != PlaintextKind::Radix {
        return None;
    }
    let most = TARGET_LOG2_P_FAIL.max(parameters.log2_p_fail());
    let message_bits = parameters.message_bits().0;
    let small = PbsParameters::from(parameters).small_key;
    let unknown = small.mean_weight() * (1.0 - small.mean());
    let p_fail = |bits: SlotBits| {
        let p_fail = SlotInput::ALL.map(|input| {
            let noise = PackingNoise {
                mask: truncation_variance(bits.mask) * unknown,
                ..PackingNoise::of_block(parameters, input)
            };
            let rounding = noise.rounding + rounding_bound(bits.body);
            PackingNoise { rounding, ..noise }.log2_p_fail(message_bits)
        });
        p_fail.into_iter().fold(f64::NEG_INFINITY, f64::max)
    };
    let bits = (1..=TORUS_LOG2).filter_map(|mask| {
        let body = fewest(message_bits + 1..=TORUS_LOG2, |body| {
            p_fail(SlotBits { mask, body }) <= most
        })?;
        Some(SlotBits { mask, body })
    });
    bits.min_by_key(|bits| small.dimension * bits.mask as usize + bits.body as usize)
}

/// log2 of the failure probability of a slot of a full ciphertext, with the worst of all inputs.
pub fn slot_log2_p_fail(parameters: &Parameters, packing: &PackingParameters) -> f64 {
    let slots = packing.polynomial_size.get();
    let p_fail = SlotInput::ALL.map(|input| {
        let noise = PackingNoise::new(parameters, packing, slots, input);
        noise.log2_p_fail(parameters.message_bits().0)
    });
    p_fail.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

/// log2 of the probability that any of `slots` slots of an answer fails.
pub fn answer_log2_p_fail(
    parameters: &Parameters,
    packing: &PackingParameters,
    slots: usize,
) -> f64 {
    log2_p_any(slot_log2_p_fail(parameters, packing), slots as u64)
}

/// The level of the packing key in bits in the customary count; `None` if it cannot be found.
pub fn security_bits(packing: &PackingParameters) -> Option<f64> {
    let log2_sigma = packing.standard_deviation.log2();
    let dimension = packing.secret_dimension().0;
    reliable_level(dimension, log2_sigma, SecretKind::Binary).map(|level| level.lambda)
}

/// The level of the packing key in bits in the strict count; `None` if it cannot be found.
pub fn strict_security_bits(packing: &PackingParameters) -> Option<f64> {
    let log2_sigma = packing.standard_deviation.log2();
    let dimension = packing.secret_dimension().0;
    strict_level(dimension, log2_sigma, StrictKind::Blocks(1)).map(|level| level.lambda())
}

/// The number of bytes of a packing key's bodies.
pub fn key_bytes(parameters: &Parameters, packing: &PackingParameters) -> usize {
    let coefficients = packing.key_rows(parameters) * packing.polynomial_size.get();
    (coefficients * packing.key_body_bits as usize).div_ceil(8)
}

/// The question of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackingRequest {
    /// The number of slots of the answer that is to be short.
    pub slots: usize,
    /// The most bytes that the bodies of the packing key may have.
    pub most_key_bytes: usize,
    /// log2 of the failure probability that a slot may have.
    pub log2_p_fail: f64,
}

impl PackingRequest {
    /// The question that the shipped sets answer: 256 slots, a key of 1.5 MB, and the failure probability of
    /// the parameter set.
    pub fn for_set(parameters: &Parameters) -> Self {
        Self {
            slots: 256,
            most_key_bytes: 1_500_000,
            log2_p_fail: TARGET_LOG2_P_FAIL.max(parameters.log2_p_fail()),
        }
    }

    /// The question for answers of thousands of values, such as the flags of a year of hours: 4,096 slots, and a
    /// key of 6 MB.
    pub fn for_long_answers(parameters: &Parameters) -> Self {
        Self {
            slots: 4096,
            most_key_bytes: 6_000_000,
            ..Self::for_set(parameters)
        }
    }
}

/// Returns the packing parameters with which the answer takes the fewest bytes, and among those the ones
/// with the smallest key and then the fewest failures. `None` for gates, or if there are none.
pub fn find(parameters: &Parameters, request: &PackingRequest) -> Option<PackingParameters> {
    if parameters.plaintext() != PlaintextKind::Radix {
        return None;
    }
    let shapes = (8..=11).flat_map(|size| (1..=MAX_GLWE_DIMENSION).map(move |k| (k, 1 << size)));
    let shapes = shapes.filter(|(k, size)| (512..=2048).contains(&(k * size)));
    let rank = |packing: &PackingParameters| {
        let answer = PackedList::message_len(packing, request.slots);
        (answer, key_bytes(parameters, packing), packing.log2_p_fail)
    };
    shapes
        .filter_map(|(k, size)| of_shape(parameters, request, k, size))
        .min_by(|a, b| {
            rank(a)
                .partial_cmp(&rank(b))
                .unwrap_or(std::cmp::Ordering::Equal)
        })
}

/// The shortest answers of keys with `k` polynomials of `size` coefficients.
fn of_shape(
    parameters: &Parameters,
    request: &PackingRequest,
    k: usize,
    size: usize,
) -> Option<PackingParameters> {
    let customary = least_log2_sigma(LAMBDA, k * size, SecretKind::Binary)?;
    let kind = StrictKind::Blocks(1);
    let log2_sigma = strict_least_log2_sigma(LAMBDA, k * size, kind, customary)?;
    let NoiseDistribution::Gaussian { standard_deviation } = least_gaussian(log2_sigma, TORUS_LOG2)
    else {
        return None;
    };
    let gadgets = (1..=8).flat_map(|levels| (1..=16).map(move |base_log| (base_log, levels)));
    let gadgets = gadgets.filter(|(base_log, levels)| base_log * *levels as u32 <= TORUS_LOG2);
    let packings = gadgets.filter_map(|(base_log, levels)| {
        let mut packing = PackingParameters {
            glwe_dimension: GlweDimension(k),
            polynomial_size: PolynomialSize::new(size).ok()?,
            standard_deviation,
            decomposition: Decomposition::new(base_log, levels),
            key_body_bits: key_body_bits(standard_deviation),
            slot_bits: SlotBits {
                mask: TORUS_LOG2,
                body: TORUS_LOG2,
            },
            log2_p_fail: 0.0,
            security_bits: 0.0,
        };
        if key_bytes(parameters, &packing) > request.most_key_bytes {
            return None;
        }
        packing.slot_bits = fewest_slot_bits(parameters, request, &packing)?;
        packing.log2_p_fail = tenth(slot_log2_p_fail(parameters, &packing), f64::ceil);
        Some(packing)
    });
    let rank = |packing: &PackingParameters| {
        let answer = PackedList::message_len(packing, request.slots);
        (answer, key_bytes(parameters, packing), packing.log2_p_fail)
    };
    let mut best = packings.min_by(|a, b| {
        rank(a)
            .partial_cmp(&rank(b))
            .unwrap_or(std::cmp::Ordering::Equal)
    })?;
    best.security_bits = tenth(security_bits(&best)?, f64::floor);
    Some(best)
}

/// The bits of mask and body of the shortest answer that meets the request.
fn fewest_slot_bits(
    parameters: &Parameters,
    request: &PackingRequest,
    packing: &PackingParameters,
) -> Option<SlotBits> {
    let slots = packing.polynomial_size.get();
    let inputs = SlotInput::ALL.map(|input| PackingNoise::new(parameters, packing, slots, input));
    let uncut = rounding_bound(packing.slot_bits.body);
    let message_bits = parameters.message_bits().0;
    let bits = (1..=TORUS_LOG2).filter_map(|mask| {
        let mask_noise = cut_mask_variance(packing.secret_dimension().0, mask);
        let body = fewest(message_bits + 1..=TORUS_LOG2, |body| {
            inputs.iter().all(|noise| {
                let noise = PackingNoise {
                    mask: mask_noise,
                    rounding: noise.rounding - uncut + rounding_bound(body),
                    ..*noise
                };
                noise.log2_p_fail(message_bits) <= request.log2_p_fail
            })
        })?;
        Some(SlotBits { mask, body })
    });
    bits.min_by_key(|&slot_bits| {
        let cut = PackingParameters {
            slot_bits,
            ..*packing
        };
        PackedList::message_len(&cut, request.slots)
    })
}

/// The fewest bits of a body whose rounding adds at most a sixteenth to the variance of the key's noise.
fn key_body_bits(standard_deviation: f64) -> u32 {
    let most = standard_deviation * standard_deviation / 16.0;
    (8..TORUS_LOG2)
        .find(|&bits| truncation_variance(bits).0 <= most)
        .unwrap_or(TORUS_LOG2)
}

/// Rounds to a tenth.
fn tenth(number: f64, round: impl Fn(f64) -> f64) -> f64 {
    round(number * 10.0) / 10.0
}
