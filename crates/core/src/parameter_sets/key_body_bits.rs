//! The numbers of bits that new bootstrapping keys of the shipped sets keep of every body coefficient.
//!
//! Each pair is that of the shortest key whose rounding adds at most a hundredth to the variance of a blind rotation, or
//! a sixth in the default set, and leaves the stated failure probabilities of the set and of its packing as they are,
//! with no more bits than the set implies. The tests of the oracle crate search for them again.

use super::{
    BOOLEAN_1024, BOOLEAN_1024_TUNIFORM, GATES, MESSAGE_1_CARRY_1, MESSAGE_1_CARRY_1_P_FAIL_2M40,
    MESSAGE_2_CARRY_2, MESSAGE_2_CARRY_2_P_FAIL_2M40, MESSAGE_3_CARRY_3, ParameterSet, Parameters,
    superseded::{late_november_2026, november_2026},
};

/// The numbers of most significant bits that a bootstrapping key keeps of its body coefficients. The digits of a mask
/// may have another base than those of the body, so that errors in their rows weigh differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBodyBits {
    /// The bits of the bodies of rows that meet digits of mask polynomials.
    pub mask_rows: u32,
    /// The bits of the bodies of rows that meet digits of the body.
    pub body_rows: u32,
}

impl KeyBodyBits {
    /// Makes the pair for a key that keeps `bits` bits in every row.
    pub const fn same(bits: u32) -> Self {
        Self {
            mask_rows: bits,
            body_rows: bits,
        }
    }
}

const SHIPPED: [(ParameterSet, KeyBodyBits); 8] = [
    (MESSAGE_2_CARRY_2, rows(47, 46)),
    (GATES, rows(37, 37)),
    (BOOLEAN_1024, rows(24, 25)),
    (BOOLEAN_1024_TUNIFORM, rows(24, 24)),
    (MESSAGE_1_CARRY_1, rows(49, 48)),
    (MESSAGE_3_CARRY_3, rows(44, 48)),
    (MESSAGE_2_CARRY_2_P_FAIL_2M40, rows(49, 48)),
    (MESSAGE_1_CARRY_1_P_FAIL_2M40, rows(37, 37)),
];

const fn rows(mask_rows: u32, body_rows: u32) -> KeyBodyBits {
    KeyBodyBits {
        mask_rows,
        body_rows,
    }
}

/// The bits of the sets of November 2026, in their order: as many in every row.
const NOVEMBER_2026: [u32; 8] = [49, 37, 27, 27, 49, 49, 49, 37];

/// The bits of the sets of late November 2026, in their order.
const LATE_NOVEMBER_2026: [KeyBodyBits; 8] = [
    rows(47, 46),
    rows(37, 37),
    rows(28, 27),
    rows(24, 24),
    rows(49, 48),
    rows(44, 48),
    rows(49, 48),
    rows(37, 37),
];

/// Returns the numbers of most significant bits that a new bootstrapping key keeps of its body coefficients. A set
/// that is not shipped has the bits of
/// [`implied_key_body_bits`](Parameters::implied_key_body_bits) in every row.
pub fn key_body_bits(parameters: &Parameters) -> KeyBodyBits {
    let shipped = SHIPPED.iter().map(|&(ref set, bits)| (set, bits));
    let same = NOVEMBER_2026.map(KeyBodyBits::same);
    let mut known = shipped
        .chain(november_2026::ALL.iter().zip(same))
        .chain(late_november_2026::ALL.iter().zip(LATE_NOVEMBER_2026));
    let found = known.find(|&(set, _)| set == parameters.as_set());
    found.map_or_else(
        || KeyBodyBits::same(parameters.implied_key_body_bits()),
        |(_, bits)| bits,
    )
}
