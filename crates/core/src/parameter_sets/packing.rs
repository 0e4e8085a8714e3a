//! The packing parameters of the shipped sets with radix blocks. Each is the answer of
//! `tfhe_sbc_oracle::packing::find`, whose tests repeat the search.

use super::{
    Decomposition, GlweDimension, MESSAGE_1_CARRY_1, MESSAGE_1_CARRY_1_P_FAIL_2M40,
    MESSAGE_2_CARRY_2, MESSAGE_2_CARRY_2_P_FAIL_2M40, MESSAGE_3_CARRY_3, ParameterSet, Parameters,
};
use crate::dimensions::PolynomialSize;
use crate::packing::{PackingParameters, SlotBits};

const SIZE: PolynomialSize = match PolynomialSize::new(256) {
    Ok(size) => size,
    Err(_) => unreachable!(),
};

const SHIPPED: [(ParameterSet, PackingParameters); 5] = [
    (
        MESSAGE_2_CARRY_2,
        PackingParameters {
            glwe_dimension: GlweDimension(4),
            polynomial_size: SIZE,
            standard_deviation: 9.536e-8,
            decomposition: Decomposition::new(6, 2),
            key_body_bits: 24,
            slot_bits: SlotBits { mask: 10, body: 5 },
            log2_p_fail: -130.4,
            security_bits: 129.6,
        },
    ),
    (
        MESSAGE_1_CARRY_1,
        PackingParameters {
            glwe_dimension: GlweDimension(4),
            polynomial_size: SIZE,
            standard_deviation: 9.536e-8,
            decomposition: Decomposition::new(6, 2),
            key_body_bits: 24,
            slot_bits: SlotBits { mask: 10, body: 6 },
            log2_p_fail: -128.9,
            security_bits: 129.6,
        },
    ),
    (
        MESSAGE_3_CARRY_3,
        PackingParameters {
            glwe_dimension: GlweDimension(5),
            polynomial_size: SIZE,
            standard_deviation: 9.711e-10,
            decomposition: Decomposition::new(12, 1),
            key_body_bits: 31,
            slot_bits: SlotBits { mask: 11, body: 7 },
            log2_p_fail: -146.6,
            security_bits: 129.4,
        },
    ),
    (
        MESSAGE_2_CARRY_2_P_FAIL_2M40,
        PackingParameters {
            glwe_dimension: GlweDimension(4),
            polynomial_size: SIZE,
            standard_deviation: 9.536e-8,
            decomposition: Decomposition::new(6, 2),
            key_body_bits: 24,
            slot_bits: SlotBits { mask: 9, body: 6 },
            log2_p_fail: -48.7,
            security_bits: 129.6,
        },
    ),
    (
        MESSAGE_1_CARRY_1_P_FAIL_2M40,
        PackingParameters {
            glwe_dimension: GlweDimension(4),
            polynomial_size: SIZE,
            standard_deviation: 9.536e-8,
            decomposition: Decomposition::new(6, 2),
            key_body_bits: 24,
            slot_bits: SlotBits { mask: 10, body: 6 },
            log2_p_fail: -47.7,
            security_bits: 129.6,
        },
    ),
];

/// Returns the packing parameters of a shipped set with radix blocks; `None` for gates and for sets that
/// are not shipped, for which the oracle crate can look.
pub fn packing_of(parameters: &Parameters) -> Option<PackingParameters> {
    let mut shipped = SHIPPED.iter();
    let found = shipped.find(|(set, _)| set == parameters.as_set());
    found.map(|(_, packing)| *packing)
}
