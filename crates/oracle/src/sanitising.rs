//! The noise of sanitised answers, and a bound on what it tells.
//!
//! A server that sanitises an answer brings each block through a bootstrap whose table has the messages at the top of
//! the torus, without padding and carry, then adds a fresh encryption of zero under a public key and flooding noise,
//! and switches and packs the result as any other answer. Before the flooding, the noise of a block is that of a
//! bootstrap output and of the encryption of zero, `V = V_pbs + σ² (1 + 2 kN E[s²])`. The mask is as good as uniform,
//! whatever was computed, because of the encryption of zero. All that comes after the flooding is a function of the
//! mask and of the flooded body, and tells nothing more.
//!
//! So the noise of a block that its owner sees tells what `x + F` tells of `x`, for `F` Gaussian with the deviation
//! `σ_f` and `x` of the variance `V`. The mutual information of anything in `x` with `x + F` is at most the expected
//! divergence of `x + F` from `F`, `E[x²] / 2σ_f²` nats (convexity of the divergence of Kullback and Leibler; Cover and
//! Thomas, "Elements of Information Theory", theorem 2.7.2), and it adds up over blocks and over answers. The total
//! variation between the answers of two servers that decrypt to the same is at most `√(E[x²]) / σ_f` a block, by the
//! inequality of Pinsker for each of them.
//!
//! Flooding goes back to Gentry ("A Fully Homomorphic Encryption Scheme", 2009, section 21.1); the bootstrap before it,
//! and encryptions of zero around it, to Ducas and Stehlé ("Sanitization of FHE Ciphertexts", ePrint 2016/164).

use tfhe_sbc_core::packing::{PackingParameters, SlotBits};
use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};

use crate::noise::Variance;
use crate::noise_budget::{NoiseBudget, PbsParameters};
use crate::packing::PackingNoise;
use crate::upload::{TARGET_LOG2_P_FAIL, fewest, key_switch_offset_variance, public_key_variance};

/// log2 of the modulus of packed ciphertexts.
const TORUS_BITS: u32 = u32::BITS;
/// The share of the widest flooding that the shortest answer must leave room for. What the noise tells grows by its
/// inverse square.
const SHARE_OF_FLOODING: f64 = 0.875;

/// The way in which blocks of a parameter set are sanitised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sanitising {
    /// The standard deviation of the flooding noise, torus-normalised.
    pub flooding: f64,
    /// The bits to which packed answers are cut.
    pub slot_bits: SlotBits,
    /// log2 of the failure probability of a slot.
    pub log2_p_fail: f64,
    /// log2 of the number of bits of information that the noise of one block tells at most about anything but the
    /// block's value.
    pub log2_bits_told: f64,
}

impl Sanitising {
    /// Returns the way in which blocks of `parameters` are sanitised and packed: with the widest flooding, up to an
    /// eighth, with which a slot of a full ciphertext fails to decrypt as often as the parameter set states, and at
    /// most with probability 2^-128 unless the set itself permits more. Returns `None` for gates, and if there is no
    /// room for flooding.
    pub fn new(parameters: &Parameters, packing: &PackingParameters) -> Option<Self> {
        if parameters.plaintext() != PlaintextKind::Radix {
            return None;
        }
        let most = TARGET_LOG2_P_FAIL.max(parameters.log2_p_fail());
        let message_bits = parameters.message_bits().0;
        let p_fail = |flooding: f64, bits: SlotBits| {
            noise(parameters, packing, flooding, bits).log2_p_fail(message_bits)
        };
        let whole = SlotBits {
            mask: TORUS_BITS,
            body: TORUS_BITS,
        };
        let widest = widest(|flooding| p_fail(flooding, whole) <= most)?;
        let flooding = SHARE_OF_FLOODING * widest;
        let bits = (1..=TORUS_BITS).filter_map(|mask| {
            let body = fewest(message_bits + 1..=TORUS_BITS, |body| {
                p_fail(flooding, SlotBits { mask, body }) <= most
            })?;
            Some(SlotBits { mask, body })
        });
        // An answer of few slots, whose length is that of the masks.
        let slot_bits = bits.min_by_key(|bits| (bits.mask, bits.body))?;
        let hidden = hidden_variance(parameters);
        let nats = hidden.0 / (2.0 * flooding * flooding);
        Some(Self {
            flooding,
            slot_bits,
            log2_p_fail: p_fail(flooding, slot_bits),
            log2_bits_told: (nats / std::f64::consts::LN_2).log2(),
        })
    }

    /// log2 of the bits of information that the noise of `blocks` blocks tells at most together.
    pub fn log2_bits_told_by(&self, blocks: u64) -> f64 {
        self.log2_bits_told + (blocks.max(1) as f64).log2()
    }

    /// log2 of the total variation distance, at most, between the answers of `blocks` blocks of two servers whose
    /// answers have the same values.
    pub fn log2_distance(&self, blocks: u64) -> f64 {
        // √(nats/2) for each of the two servers, nats = bits · ln 2.
        let nats = self.log2_bits_told_by(blocks) + std::f64::consts::LN_2.log2();
        1.0 + (nats - 1.0) / 2.0
    }
}

/// The variance of a block before it is flooded: of a bootstrap output, and of an encryption of zero.
pub fn hidden_variance(parameters: &Parameters) -> Variance {
    let pbs = PbsParameters::from(parameters);
    NoiseBudget::new(&pbs).pbs + public_key_variance(&pbs.fresh())
}

/// The noise of a slot of a full ciphertext of sanitised blocks.
pub fn noise(
    parameters: &Parameters,
    packing: &PackingParameters,
    flooding: f64,
    slot_bits: SlotBits,
) -> PackingNoise {
    let cut = PackingParameters {
        slot_bits,
        ..*packing
    };
    let switch = PackingNoise::of_switch(parameters, &cut, packing.polynomial_size.get());
    let pbs = PbsParameters::from(parameters);
    let flooded = hidden_variance(parameters) + Variance(flooding * flooding);
    PackingNoise {
        input: flooded + NoiseBudget::new(&pbs).key_switch,
        offset: key_switch_offset_variance(&pbs),
        ..switch
    }
}

/// Returns the largest deviation for which `fits` holds, to a thousandth of a bit and rounded down, of those from 2^-32
/// to 2^-4. Returns `None` if it holds for none.
fn widest(fits: impl Fn(f64) -> bool) -> Option<f64> {
    let deviation = |thousandths: u32| (f64::from(thousandths) / 1000.0 - 32.0).exp2();
    let (mut low, mut high) = (0, 28_000);
    if !fits(deviation(low)) {
        return None;
    }
    while low < high {
        let middle = (low + high).div_ceil(2);
        match fits(deviation(middle)) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    Some(deviation(low))
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::{ALL, GATES, packing_of};

    use super::*;

    fn radix_sets() -> Vec<(Parameters, PackingParameters)> {
        let sets = ALL.iter().filter_map(|set| set.validate().ok());
        let radix = sets.filter(|set| set.plaintext() == PlaintextKind::Radix);
        radix
            .filter_map(|set| Some((set, packing_of(&set)?)))
            .collect()
    }

    #[test]
    fn the_flooding_of_shipped_sets_is_as_wide_as_decryption_permits() {
        let sets = radix_sets();
        assert!(sets.len() >= 2);
        for (parameters, packing) in sets {
            let way = Sanitising::new(&parameters, &packing).unwrap();
            let most = TARGET_LOG2_P_FAIL.max(parameters.log2_p_fail());
            assert!(way.log2_p_fail <= most, "{way:?}");
            // Even without a cut, wider flooding is too much.
            let whole = SlotBits { mask: 32, body: 32 };
            let wider = 1.01 * way.flooding / SHARE_OF_FLOODING;
            let wider = noise(&parameters, &packing, wider, whole);
            assert!(
                wider.log2_p_fail(parameters.message_bits().0) > most,
                "{way:?}"
            );
            assert!((-60.0..-10.0).contains(&way.log2_bits_told), "{way:?}");
            // The encryption of zero costs nothing.
            let pbs = PbsParameters::from(&parameters);
            let zero = public_key_variance(&pbs.fresh());
            assert!(zero.0 < NoiseBudget::new(&pbs).pbs.0 * 1e-9);
        }
    }

    /// Gaussian noise under Gaussian flooding tells exactly `log2(1 + V/σ²)/2` bits.
    #[test]
    fn the_bound_is_that_of_gaussian_noise_for_wide_flooding() {
        for (parameters, packing) in radix_sets() {
            let way = Sanitising::new(&parameters, &packing).unwrap();
            let ratio = hidden_variance(&parameters).0 / (way.flooding * way.flooding);
            let exact = ratio.ln_1p() / (2.0 * std::f64::consts::LN_2);
            let bound = way.log2_bits_told.exp2();
            assert!(exact <= bound && bound < 1.01 * exact, "{exact} {bound}");
            let more = way.log2_bits_told_by(1024) - way.log2_bits_told;
            assert!((more - 10.0).abs() < 1e-9);
            // Two normal distributions whose means differ by two deviations of the noise.
            let apart = 2.0 * ratio.sqrt() / (2.0 * std::f64::consts::PI).sqrt();
            assert!(way.log2_distance(1).exp2() >= apart);
        }
    }

    #[test]
    fn gates_are_not_sanitised() {
        let (_, packing) = radix_sets().remove(0);
        assert_eq!(Sanitising::new(&GATES.validate().unwrap(), &packing), None);
    }
}
