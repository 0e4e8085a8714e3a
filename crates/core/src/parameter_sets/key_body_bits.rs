//! The numbers of bits that new bootstrapping keys of the shipped sets keep of every body coefficient.
//!
//! Each is the fewest bits whose rounding adds at most a hundredth to the variance of a blind rotation, or 15 hundredths
//! in the default set, and leaves the stated failure probabilities of the set and of its packing as they are, but no more than the set
//! implies. The tests of the oracle crate search for them again.

use super::{
    BOOLEAN_1024, BOOLEAN_1024_TUNIFORM, GATES, MESSAGE_1_CARRY_1, MESSAGE_1_CARRY_1_P_FAIL_2M40,
    MESSAGE_2_CARRY_2, MESSAGE_2_CARRY_2_P_FAIL_2M40, MESSAGE_3_CARRY_3, ParameterSet, Parameters,
    superseded::november_2026,
};

const SHIPPED: [(ParameterSet, u32); 8] = [
    (MESSAGE_2_CARRY_2, 47),
    (GATES, 37),
    (BOOLEAN_1024, 28),
    (BOOLEAN_1024_TUNIFORM, 24),
    (MESSAGE_1_CARRY_1, 49),
    (MESSAGE_3_CARRY_3, 48),
    (MESSAGE_2_CARRY_2_P_FAIL_2M40, 49),
    (MESSAGE_1_CARRY_1_P_FAIL_2M40, 37),
];

/// The bits of the sets of November 2026, in their order.
const NOVEMBER_2026: [u32; 8] = [49, 37, 27, 27, 49, 49, 49, 37];

/// Returns the number of most significant bits that a new bootstrapping key keeps of every body coefficient. A set
/// that is not shipped has the bits of
/// [`implied_key_body_bits`](Parameters::implied_key_body_bits).
pub fn key_body_bits(parameters: &Parameters) -> u32 {
    let shipped = SHIPPED.iter().map(|(set, bits)| (set, bits));
    let superseded = november_2026::ALL.iter().zip(&NOVEMBER_2026);
    let mut known = shipped.chain(superseded);
    let found = known.find(|&(set, _)| set == parameters.as_set());
    found.map_or_else(|| parameters.implied_key_body_bits(), |(_, &bits)| bits)
}
