//! The numbers of bits that new bootstrapping keys of the shipped sets keep of every body coefficient.
//!
//! Each is the fewest bits whose rounding adds at most a hundredth to the variance of a blind rotation and
//! leaves the stated failure probabilities of the set and of its packing as they are, but no more than the set
//! implies. The tests of the oracle crate search for them again.

use super::{
    BOOLEAN_1024, BOOLEAN_1024_TUNIFORM, GATES, MESSAGE_1_CARRY_1, MESSAGE_1_CARRY_1_P_FAIL_2M40,
    MESSAGE_2_CARRY_2, MESSAGE_2_CARRY_2_P_FAIL_2M40, MESSAGE_3_CARRY_3, ParameterSet, Parameters,
};

const SHIPPED: [(ParameterSet, u32); 8] = [
    (MESSAGE_2_CARRY_2, 49),
    (GATES, 37),
    (BOOLEAN_1024, 27),
    (BOOLEAN_1024_TUNIFORM, 27),
    (MESSAGE_1_CARRY_1, 49),
    (MESSAGE_3_CARRY_3, 49),
    (MESSAGE_2_CARRY_2_P_FAIL_2M40, 49),
    (MESSAGE_1_CARRY_1_P_FAIL_2M40, 37),
];

/// Returns the number of most significant bits that a new bootstrapping key keeps of every body coefficient. A set
/// that is not shipped has the bits of
/// [`implied_key_body_bits`](Parameters::implied_key_body_bits).
pub fn key_body_bits(parameters: &Parameters) -> u32 {
    let mut shipped = SHIPPED.iter();
    let found = shipped.find(|(set, _)| set == parameters.as_set());
    found.map_or_else(|| parameters.implied_key_body_bits(), |&(_, bits)| bits)
}
