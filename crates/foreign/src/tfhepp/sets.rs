//! Parameter sets of uploads under TFHEpp's lvl1 keys.
//!
//! The GLWE key is TFHEpp's: N = 1024, k = 1, q = 2^32, σ = 2^-25, as in all versions of its default
//! 128-bit set. The parameters of the bootstrap are those of v9. They decide how many bits of a body
//! uploads keep: the fewest with which a gate on uploads fails no more often than a gate on gate
//! outputs. This project never bootstraps under these sets.

use tfhe_sbc_core::dimensions::{CarryBits, GlweDimension, LweDimension, MessageBits};
use tfhe_sbc_core::parameters::{
    Decomposition, GlweSecret, ModulusSwitch, ParameterName, ParameterSet, PlaintextKind,
};
use tfhe_sbc_core::random::NoiseDistribution;

/// The set of uploads under a ternary lvl1 key, which TFHEpp draws since 2022. Its security is 127.8
/// bits by the lattice estimator, 127.6 with the oracle crate's margin.
pub const LVL1_TERNARY: ParameterSet = ParameterSet {
    name: ParameterName::new("tfhepp_lvl1_ternary_lambda_127"),
    torus_bits: 32,
    lwe_dimension: LweDimension(636),
    lwe_block_size: 1,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 0.000_092_511_997_467_675_6,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: super::LVL1_N,
    glwe_secret: GlweSecret::Ternary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 1.0 / (1u32 << 25) as f64,
    },
    pbs: Decomposition::new(6, 3),
    pbs_body: Decomposition::new(6, 3),
    key_switch: Decomposition::new(2, 7),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 2,
    modulus_switch: ModulusSwitch::Plain,
    body_bits: 9,
    public_key_mask_bits: 15,
    log2_p_fail: -111.9,
    security_bits: 127.6,
};

/// The set of uploads under a binary lvl1 key, as in the TFHE-SBC paper. Its security is **well below
/// 128 bits**: 122.2 by the lattice estimator, 121.8 with the oracle crate's margin. It serves for
/// comparison with the paper and for keys that exist already.
pub const LVL1_BINARY: ParameterSet = ParameterSet {
    name: ParameterName::new("tfhepp_lvl1_binary_lambda_122"),
    glwe_secret: GlweSecret::Binary,
    public_key_mask_bits: 16,
    log2_p_fail: -112.2,
    security_bits: 121.8,
    ..LVL1_TERNARY
};
