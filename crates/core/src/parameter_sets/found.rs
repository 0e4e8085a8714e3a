//! The output of `tfhe-sbc params shipped --rust`: the answers of the search, each with its
//! question.

use super::{
    CarryBits, Decomposition, GlweDimension, GlweSecret, LweDimension, MessageBits, ModulusSwitch,
    NoiseDistribution, ParameterName, ParameterSet, PlaintextKind,
};

/// `tfhe-sbc params find --message 2 --carry 2 --max-body-bits 12 --max-mask-bits 19 --name message_2_carry_2 --minimise latency:1,throughput:1,key:1 --cost built-in`
pub(super) const MESSAGE_2_CARRY_2: ParameterSet = ParameterSet {
    name: ParameterName::new("message_2_carry_2"),
    torus_bits: 64,
    lwe_dimension: LweDimension(870),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 4.816e-6,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 2048,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.15e-16,
    },
    pbs: Decomposition::new(23, 1),
    pbs_body: Decomposition::new(21, 1),
    key_switch: Decomposition::new(2, 8),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(2),
    carry_bits: CarryBits(2),
    max_noise_level: 5,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 12,
    public_key_mask_bits: 18,
    log2_p_fail: -141.1,
    security_bits: 128.8,
};

/// `tfhe-sbc params find --message 1 --carry 1 --max-body-bits 9 --max-mask-bits 16 --name message_1_carry_1 --minimise latency:1,throughput:1,key:1 --cost built-in`
pub(super) const MESSAGE_1_CARRY_1: ParameterSet = ParameterSet {
    name: ParameterName::new("message_1_carry_1"),
    torus_bits: 64,
    lwe_dimension: LweDimension(760),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 3.527e-5,
    },
    glwe_dimension: GlweDimension(2),
    polynomial_size: 1024,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.15e-16,
    },
    pbs: Decomposition::new(23, 1),
    pbs_body: Decomposition::new(21, 1),
    key_switch: Decomposition::new(1, 13),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 3,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 9,
    public_key_mask_bits: 15,
    log2_p_fail: -132.1,
    security_bits: 128.8,
};

/// `tfhe-sbc params find --message 3 --carry 3 --max-body-bits 14 --max-mask-bits 21 --max-lwe-dimension 1050 --name message_3_carry_3 --minimise latency:1,throughput:1,key:1 --cost built-in`
pub(super) const MESSAGE_3_CARRY_3: ParameterSet = ParameterSet {
    name: ParameterName::new("message_3_carry_3"),
    torus_bits: 64,
    lwe_dimension: LweDimension(1005),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 4.192e-7,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 8192,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 2.169e-19,
    },
    pbs: Decomposition::new(15, 2),
    pbs_body: Decomposition::new(19, 1),
    key_switch: Decomposition::new(2, 10),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(3),
    carry_bits: CarryBits(3),
    max_noise_level: 9,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 14,
    public_key_mask_bits: 21,
    log2_p_fail: -141.7,
    security_bits: 134.1,
};

/// `tfhe-sbc params find --message 2 --carry 2 --p-fail 2^-40 --max-body-bits 11 --max-mask-bits 18 --name message_2_carry_2_p_fail_2m40 --minimise latency:1,throughput:1,key:1 --cost built-in`
pub(super) const MESSAGE_2_CARRY_2_P_FAIL_2M40: ParameterSet = ParameterSet {
    name: ParameterName::new("message_2_carry_2_p_fail_2m40"),
    torus_bits: 64,
    lwe_dimension: LweDimension(845),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 7.545e-6,
    },
    glwe_dimension: GlweDimension(2),
    polynomial_size: 1024,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.15e-16,
    },
    pbs: Decomposition::new(23, 1),
    pbs_body: Decomposition::new(21, 1),
    key_switch: Decomposition::new(2, 8),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(2),
    carry_bits: CarryBits(2),
    max_noise_level: 5,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 11,
    public_key_mask_bits: 18,
    log2_p_fail: -46.0,
    security_bits: 128.8,
};

/// `tfhe-sbc params find --message 1 --carry 1 --p-fail 2^-40 --max-body-bits 8 --max-mask-bits 14 --name message_1_carry_1_p_fail_2m40 --minimise latency:1,throughput:1,key:1 --cost built-in`
pub(super) const MESSAGE_1_CARRY_1_P_FAIL_2M40: ParameterSet = ParameterSet {
    name: ParameterName::new("message_1_carry_1_p_fail_2m40"),
    torus_bits: 64,
    lwe_dimension: LweDimension(725),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 6.627e-5,
    },
    glwe_dimension: GlweDimension(3),
    polynomial_size: 512,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.716e-12,
    },
    pbs: Decomposition::new(17, 1),
    pbs_body: Decomposition::new(15, 1),
    key_switch: Decomposition::new(1, 12),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 3,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 8,
    public_key_mask_bits: 14,
    log2_p_fail: -47.7,
    security_bits: 129.1,
};

/// `tfhe-sbc params find --boolean --max-body-bits 5 --max-mask-bits 12 --max-lwe-dimension 850 --name gates --minimise latency:1,throughput:1,key:1 --cost built-in`
pub(super) const GATES: ParameterSet = ParameterSet {
    name: ParameterName::new("gates"),
    torus_bits: 64,
    lwe_dimension: LweDimension(740),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 5.057e-5,
    },
    glwe_dimension: GlweDimension(3),
    polynomial_size: 512,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.716e-12,
    },
    pbs: Decomposition::new(17, 1),
    pbs_body: Decomposition::new(15, 1),
    key_switch: Decomposition::new(1, 14),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 5,
    public_key_mask_bits: 12,
    log2_p_fail: -134.8,
    security_bits: 129.1,
};

/// `tfhe-sbc params find --boolean --torus 32 --polynomial-size 1024 --glwe-dimension 1 --max-body-bits 5 --max-mask-bits 12 --glwe-sigma 9.54e-8 --name boolean_1024 --minimise latency --cost built-in`
pub(super) const BOOLEAN_1024: ParameterSet = ParameterSet {
    name: ParameterName::new("boolean_1024"),
    torus_bits: 32,
    lwe_dimension: LweDimension(720),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 7.252e-5,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 1024,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 9.54e-8,
    },
    pbs: Decomposition::new(4, 4),
    pbs_body: Decomposition::new(4, 3),
    key_switch: Decomposition::new(1, 11),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 5,
    public_key_mask_bits: 12,
    log2_p_fail: -131.8,
    security_bits: 129.6,
};

/// `tfhe-sbc params find --boolean --torus 32 --polynomial-size 1024 --glwe-dimension 1 --max-body-bits 5 --max-mask-bits 12 --noise tuniform --name boolean_1024_tuniform --minimise latency --cost built-in`
pub(super) const BOOLEAN_1024_TUNIFORM: ParameterSet = ParameterSet {
    name: ParameterName::new("boolean_1024_tuniform"),
    torus_bits: 32,
    lwe_dimension: LweDimension(755),
    lwe_block_size: 5,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 3.859e-5,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 1024,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::TUniform { bound_log2: 10 },
    pbs: Decomposition::new(4, 4),
    pbs_body: Decomposition::new(4, 3),
    key_switch: Decomposition::new(1, 13),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 4,
    public_key_mask_bits: 12,
    log2_p_fail: -131.3,
    security_bits: 132.2,
};

/// `tfhe-sbc params find --boolean --torus 32 --polynomial-size 1024 --glwe-dimension 1 --max-body-bits 5 --max-mask-bits 12 --glwe-sigma 2^-25 --count customary --insecure-for-tests --name paper_n1024_lambda_122 --minimise latency --cost built-in`
pub(super) const PAPER_N1024: ParameterSet = ParameterSet {
    name: ParameterName::new("paper_n1024_lambda_122"),
    torus_bits: 32,
    lwe_dimension: LweDimension(663),
    lwe_block_size: 3,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 7.594e-5,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 1024,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 2.9802322387695313e-8,
    },
    pbs: Decomposition::new(6, 3),
    pbs_body: Decomposition::new(6, 2),
    key_switch: Decomposition::new(1, 12),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 5,
    public_key_mask_bits: 12,
    log2_p_fail: -135.9,
    security_bits: 121.8,
};

/// `tfhe-sbc params find --boolean --torus 32 --polynomial-size 1024 --glwe-dimension 1 --max-body-bits 5 --max-mask-bits 12 --glwe-sigma 2^-25 --noise tuniform --count customary --insecure-for-tests --name paper_n1024_tuniform_lambda_122 --minimise latency --cost built-in`
pub(super) const PAPER_N1024_TUNIFORM: ParameterSet = ParameterSet {
    name: ParameterName::new("paper_n1024_tuniform_lambda_122"),
    torus_bits: 32,
    lwe_dimension: LweDimension(663),
    lwe_block_size: 3,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 7.594e-5,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 1024,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::TUniform { bound_log2: 8 },
    pbs: Decomposition::new(6, 3),
    pbs_body: Decomposition::new(6, 2),
    key_switch: Decomposition::new(1, 12),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 5,
    public_key_mask_bits: 12,
    log2_p_fail: -135.9,
    security_bits: 122.7,
};
