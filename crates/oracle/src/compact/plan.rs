//! The bits that the body of a compact column needs for its uses.

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::parameters::{Decomposition, Parameters};

use super::{CompactNoise, SumRows, digit_plan, exact_sum_log2_p_fail, sign_chunks};
use crate::upload::{TARGET_LOG2_P_FAIL, UploadKind, fewest};

/// The uses of a compact column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactUse {
    /// The width of a code.
    pub bits: u32,
    /// The number of bits above a code.
    pub headroom: u32,
    /// The rounding of bodies.
    pub rounding: BodyRounding,
    /// The kind of encryption.
    pub kind: UploadKind,
    /// The most rows that are added up to an exact sum.
    pub rows: SumRows,
    /// The most bootstraps that the comparison of one value may take; `None` if values are not compared.
    /// Comparisons need at least one bit of headroom.
    pub comparison_bootstraps: Option<u32>,
    /// Whether values are compared with thresholds that are encrypted as the values are.
    pub encrypted_thresholds: bool,
    /// The most bootstraps that the digits of one value may take; `None` if no digits are needed.
    pub digit_bootstraps: Option<u32>,
    /// The decomposition of the GLWE key switch from the device's own key, if there is one. A sum is
    /// switched once.
    pub device_switch: Option<Decomposition>,
}

impl CompactUse {
    /// Exact sums of `rows` under the evaluation key, from seeded uploads without feedback.
    pub fn sums(bits: u32, headroom: u32, rows: SumRows) -> Self {
        Self {
            bits,
            headroom,
            rounding: BodyRounding::Nearest,
            kind: UploadKind::Symmetric,
            rows,
            comparison_bootstraps: None,
            encrypted_thresholds: false,
            digit_bootstraps: None,
            device_switch: None,
        }
    }

    /// Returns whether all uses fail with at most 2^-128 each, with these bits of a body.
    fn is_met(&self, parameters: &Parameters, body_bits: u32) -> bool {
        let encoding = CompactEncoding::new(self.bits, self.headroom, body_bits, self.rounding);
        let Ok(encoding) = encoding else {
            return false;
        };
        let switched = |noise: CompactNoise| match self.device_switch {
            Some(decomposition) => noise.switched(parameters, decomposition),
            None => noise,
        };
        let sum = switched(CompactNoise::sum(
            parameters, self.kind, &encoding, self.rows,
        ));
        let one = switched(CompactNoise::upload(parameters, self.kind, &encoding));
        let is_exact =
            |noise| exact_sum_log2_p_fail(encoding.plaintext_bits(), noise) <= TARGET_LOG2_P_FAIL;
        is_exact(sum)
            && is_exact(one)
            && self.comparison_bootstraps.is_none_or(|most| {
                let difference = if self.encrypted_thresholds {
                    one.and(one)
                } else {
                    one
                };
                self.headroom > 0
                    && sign_chunks(
                        parameters,
                        self.bits + 1,
                        difference.times(f64::exp2(f64::from(self.headroom) - 1.0)),
                    )
                    .is_some_and(|chunks| chunks.len() <= most as usize)
            })
            && self.digit_bootstraps.is_none_or(|most| {
                digit_plan(parameters, self.bits, self.headroom, one)
                    .is_some_and(|plan| plan.lookups().len() <= most as usize)
            })
    }
}

/// Returns the fewest bits of a body with which each exact sum and each lookup fails with at most 2^-128;
/// `None` where not even [`CompactEncoding::MAX_BODY_BITS`] are enough, or the bits and the headroom are
/// no compact encoding.
pub fn least_body_bits(parameters: &Parameters, usage: &CompactUse) -> Option<u32> {
    let least = usage.bits.checked_add(usage.headroom)?.checked_add(1)?;
    if least > CompactEncoding::MAX_BODY_BITS {
        return None;
    }
    fewest(least..=CompactEncoding::MAX_BODY_BITS, |body_bits| {
        usage.is_met(parameters, body_bits)
    })
}
