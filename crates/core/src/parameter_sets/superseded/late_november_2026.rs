//! The sets of the last days of November 2026, the first with small keys in blocks of 5. They are for key switches that cost a multiplication
//! for every coefficient of the small key and digit, so that they have few digits. Each has the command whose answer it was.

use super::super::{
    CarryBits, Decomposition, GlweDimension, GlweSecret, LweDimension, MessageBits, ModulusSwitch,
    NoiseDistribution, ParameterName, ParameterSet, PlaintextKind,
};

/// `tfhe-sbc params find --message 2 --carry 2 --max-body-bits 12 --max-mask-bits 19 --name message_2_carry_2 --minimise latency:1,throughput:1,key:1 --cost built-in`
pub const MESSAGE_2_CARRY_2: ParameterSet = ParameterSet {
    name: ParameterName::new("message_2_carry_2"),
    torus_bits: 64,
    lwe_dimension: LweDimension(955),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 1.031e-6,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 2048,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.15e-16,
    },
    pbs: Decomposition::new(23, 1),
    pbs_body: Decomposition::new(21, 1),
    key_switch: Decomposition::new(5, 3),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(2),
    carry_bits: CarryBits(2),
    max_noise_level: 5,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 12,
    public_key_mask_bits: 18,
    log2_p_fail: -130.3,
    security_bits: 128.8,
};

/// `tfhe-sbc params find --message 1 --carry 1 --max-body-bits 9 --max-mask-bits 16 --name message_1_carry_1 --minimise latency:1,throughput:1,key:1 --cost built-in`
pub const MESSAGE_1_CARRY_1: ParameterSet = ParameterSet {
    name: ParameterName::new("message_1_carry_1"),
    torus_bits: 64,
    lwe_dimension: LweDimension(830),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.882e-6,
    },
    glwe_dimension: GlweDimension(2),
    polynomial_size: 1024,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.15e-16,
    },
    pbs: Decomposition::new(23, 1),
    pbs_body: Decomposition::new(21, 1),
    key_switch: Decomposition::new(4, 3),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 3,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 9,
    public_key_mask_bits: 16,
    log2_p_fail: -133.3,
    security_bits: 128.8,
};

/// `tfhe-sbc params find --message 3 --carry 3 --max-body-bits 14 --max-mask-bits 21 --max-lwe-dimension 1050 --name message_3_carry_3 --minimise latency:1,throughput:1,key:1 --cost built-in`
pub const MESSAGE_3_CARRY_3: ParameterSet = ParameterSet {
    name: ParameterName::new("message_3_carry_3"),
    torus_bits: 64,
    lwe_dimension: LweDimension(1050),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 1.867e-7,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 8192,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 2.169e-19,
    },
    pbs: Decomposition::new(15, 2),
    pbs_body: Decomposition::new(19, 1),
    key_switch: Decomposition::new(3, 6),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(3),
    carry_bits: CarryBits(3),
    max_noise_level: 9,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 13,
    public_key_mask_bits: 21,
    log2_p_fail: -132.9,
    security_bits: 133.7,
};

/// `tfhe-sbc params find --message 2 --carry 2 --p-fail 2^-40 --max-body-bits 11 --max-mask-bits 18 --name message_2_carry_2_p_fail_2m40 --minimise latency:1,throughput:1,key:1 --cost built-in`
pub const MESSAGE_2_CARRY_2_P_FAIL_2M40: ParameterSet = ParameterSet {
    name: ParameterName::new("message_2_carry_2_p_fail_2m40"),
    torus_bits: 64,
    lwe_dimension: LweDimension(925),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 1.766e-6,
    },
    glwe_dimension: GlweDimension(2),
    polynomial_size: 1024,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.15e-16,
    },
    pbs: Decomposition::new(23, 1),
    pbs_body: Decomposition::new(21, 1),
    key_switch: Decomposition::new(5, 3),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(2),
    carry_bits: CarryBits(2),
    max_noise_level: 5,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 11,
    public_key_mask_bits: 18,
    log2_p_fail: -41.0,
    security_bits: 128.8,
};

/// `tfhe-sbc params find --message 1 --carry 1 --p-fail 2^-40 --max-body-bits 8 --max-mask-bits 14 --name message_1_carry_1_p_fail_2m40 --minimise latency:1,throughput:1,key:1 --cost built-in`
pub const MESSAGE_1_CARRY_1_P_FAIL_2M40: ParameterSet = ParameterSet {
    name: ParameterName::new("message_1_carry_1_p_fail_2m40"),
    torus_bits: 64,
    lwe_dimension: LweDimension(790),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 2.056e-5,
    },
    glwe_dimension: GlweDimension(3),
    polynomial_size: 512,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.716e-12,
    },
    pbs: Decomposition::new(17, 1),
    pbs_body: Decomposition::new(15, 1),
    key_switch: Decomposition::new(4, 3),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 3,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 8,
    public_key_mask_bits: 13,
    log2_p_fail: -43.3,
    security_bits: 129.1,
};

/// `tfhe-sbc params find --boolean --max-body-bits 5 --max-mask-bits 12 --max-lwe-dimension 850 --name gates --minimise latency:1,throughput:1,key:1 --cost built-in`
pub const GATES: ParameterSet = ParameterSet {
    name: ParameterName::new("gates"),
    torus_bits: 64,
    lwe_dimension: LweDimension(805),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 1.549e-5,
    },
    glwe_dimension: GlweDimension(3),
    polynomial_size: 512,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.716e-12,
    },
    pbs: Decomposition::new(17, 1),
    pbs_body: Decomposition::new(15, 1),
    key_switch: Decomposition::new(4, 3),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 5,
    public_key_mask_bits: 12,
    log2_p_fail: -133.4,
    security_bits: 129.1,
};

/// `tfhe-sbc params find --boolean --torus 32 --polynomial-size 1024 --glwe-dimension 1 --max-body-bits 5 --max-mask-bits 12 --glwe-sigma 9.54e-8 --name boolean_1024 --minimise latency --cost built-in`
pub const BOOLEAN_1024: ParameterSet = ParameterSet {
    name: ParameterName::new("boolean_1024"),
    torus_bits: 32,
    lwe_dimension: LweDimension(755),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 3.859e-5,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 1024,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.54e-8,
    },
    pbs: Decomposition::new(4, 4),
    pbs_body: Decomposition::new(4, 3),
    key_switch: Decomposition::new(3, 4),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 5,
    public_key_mask_bits: 12,
    log2_p_fail: -136.5,
    security_bits: 129.6,
};

/// `tfhe-sbc params find --boolean --torus 32 --polynomial-size 1024 --glwe-dimension 1 --max-body-bits 5 --max-mask-bits 12 --noise tuniform --name boolean_1024_tuniform --minimise latency --cost built-in`
pub const BOOLEAN_1024_TUNIFORM: ParameterSet = ParameterSet {
    name: ParameterName::new("boolean_1024_tuniform"),
    torus_bits: 32,
    lwe_dimension: LweDimension(825),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 1.081e-5,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 1024,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::TUniform { bound_log2: 10 },
    pbs: Decomposition::new(4, 4),
    pbs_body: Decomposition::new(4, 3),
    key_switch: Decomposition::new(4, 3),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 4,
    public_key_mask_bits: 12,
    log2_p_fail: -131.8,
    security_bits: 132.2,
};

/// All of them, in the order of those that replace them.
pub const ALL: [ParameterSet; 8] = [
    MESSAGE_2_CARRY_2,
    GATES,
    BOOLEAN_1024,
    BOOLEAN_1024_TUNIFORM,
    MESSAGE_1_CARRY_1,
    MESSAGE_3_CARRY_3,
    MESSAGE_2_CARRY_2_P_FAIL_2M40,
    MESSAGE_1_CARRY_1_P_FAIL_2M40,
];
