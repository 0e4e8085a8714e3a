//! The shipped parameter sets. The oracle crate's tests recompute the predicted
//! failure probability and security level of each.

use crate::dimensions::{CarryBits, GlweDimension, LweDimension, MessageBits};
use crate::parameters::{
    Decomposition, ModulusSwitch, ParameterError, ParameterName, ParameterSet, Parameters,
    PlaintextKind,
};
use crate::random::NoiseDistribution;

/// Radix blocks of 2 message and 2 carry bits, the default for integers.
///
/// Dimensions, decompositions and GLWE noise are those of TFHE-rs 1.x's
/// `PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128`, so that the two do the same work. Two
/// things differ. Small LWE ciphertexts are mod 2^32. And their noise is 2^-19.2 of the
/// torus instead of 2^-18.9, which costs 1.8 of that set's 132 bits of security: at 2^-18.9
/// the failure probability is 2^-128.4 on average over keys, but each key shifts every
/// phase by a constant (half the sum of the key-switching key's errors), and one key in a
/// thousand would be at 2^-123. At 2^-19.2 that key is below 2^-128 too.
///
/// A bootstrap on bootstrap outputs fails with 2^-133.5, on uploads with 2^-131.9, on
/// public-key uploads with 2^-131.2.
pub const MESSAGE_2_CARRY_2: ParameterSet = ParameterSet {
    name: ParameterName::new("message_2_carry_2"),
    torus_bits: 64,
    lwe_dimension: LweDimension(866),
    lwe_block_size: 1,
    lwe_noise: gaussian(1.660_443_426_697_015e-6),
    glwe_dimension: GlweDimension(1),
    polynomial_size: 2048,
    glwe_noise: gaussian(2.845_267_479_601_915e-15),
    pbs: Decomposition::new(23, 1),
    pbs_body: Decomposition::new(23, 1),
    key_switch: Decomposition::new(3, 5),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(2),
    carry_bits: CarryBits(2),
    max_noise_level: 5,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 12,
    public_key_mask_bits: 19,
    log2_p_fail: -131.2,
    security_bits: 130.0,
};

/// Booleans for two-input gates.
///
/// Dimensions, noise and decompositions are those of TFHE-rs 1.x's boolean
/// `DEFAULT_PARAMETERS_KS_PBS`, which states 2^-64 for a look-up that no gate makes; what
/// differs is the compensated modulus switch. The noise level is that of a gate like NAND
/// on two multiplexer outputs, each a sum of two bootstrap outputs; XOR doubles both the
/// weights and the distance.
///
/// A bootstrap on bootstrap outputs fails with 2^-337.8, on uploads with 2^-224.2, on
/// public-key uploads with 2^-151.6.
pub const GATES: ParameterSet = ParameterSet {
    name: ParameterName::new("gates"),
    torus_bits: 32,
    lwe_dimension: LweDimension(739),
    lwe_block_size: 1,
    lwe_noise: gaussian(1.830_452_073_350_730_5e-5),
    glwe_dimension: GlweDimension(3),
    polynomial_size: 512,
    glwe_noise: gaussian(9.315_272_083_503_367e-10),
    pbs: Decomposition::new(10, 2),
    pbs_body: Decomposition::new(10, 2),
    key_switch: Decomposition::new(3, 4),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 5,
    public_key_mask_bits: 12,
    log2_p_fail: -151.6,
    security_bits: 131.6,
};

/// Booleans in polynomials of 1024 coefficients: one mask polynomial, and exactly 1024 bits
/// a ciphertext.
///
/// The shape of the uploads is that of the TFHE-SBC paper (table 3). Their noise is 2^-23.6
/// of the torus instead of its 2^-25, which gives a binary key 122 bits. Everything else is
/// the cheapest by the oracle crate's model that reaches the target with 128 bits.
///
/// A bootstrap on bootstrap outputs fails with 2^-136.0, on uploads with 2^-168.2, on
/// public-key uploads with 2^-136.2.
pub const BOOLEAN_1024: ParameterSet = ParameterSet {
    name: ParameterName::new("boolean_1024"),
    torus_bits: 32,
    lwe_dimension: LweDimension(650),
    lwe_block_size: 1,
    lwe_noise: gaussian(6.103_515_625e-5),
    glwe_dimension: GlweDimension(1),
    polynomial_size: 1024,
    glwe_noise: gaussian(7.87e-8),
    pbs: Decomposition::new(5, 4),
    pbs_body: Decomposition::new(5, 4),
    key_switch: Decomposition::new(2, 6),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 4,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 5,
    public_key_mask_bits: 12,
    log2_p_fail: -136.0,
    security_bits: 128.1,
};

/// [`BOOLEAN_1024`] for devices that would rather draw TUniform noise: a few bits for each
/// coefficient, and no arithmetic on them. The bound is the smallest whose variance is at
/// least what 128 bits of security need.
///
/// A bootstrap on bootstrap outputs fails with 2^-138.7, on uploads with 2^-166.0, on
/// public-key uploads with 2^-134.8.
pub const BOOLEAN_1024_TUNIFORM: ParameterSet = ParameterSet {
    name: ParameterName::new("boolean_1024_tuniform"),
    glwe_noise: NoiseDistribution::TUniform { bound_log2: 10 },
    pbs: Decomposition::new(4, 5),
    pbs_body: Decomposition::new(4, 5),
    log2_p_fail: -134.8,
    ..BOOLEAN_1024
};

/// The uploads that the TFHE-SBC paper measures: N = 1024, σ = 2^-25. **Below 128 bits** with
/// a binary key, 122.2 by the lattice estimator and 121.9 with the oracle crate's margin: for
/// comparison with the paper, not for use.
pub const PAPER_N1024: ParameterSet = ParameterSet {
    name: ParameterName::new("paper_n1024_lambda_122"),
    glwe_noise: gaussian(2.980_232_238_769_531_3e-8),
    pbs: Decomposition::new(6, 3),
    pbs_body: Decomposition::new(6, 3),
    log2_p_fail: -136.8,
    security_bits: 121.8,
    ..BOOLEAN_1024
};

/// [`PAPER_N1024`] with the smallest TUniform noise of at least its variance, and likewise
/// only for comparison.
pub const PAPER_N1024_TUNIFORM: ParameterSet = ParameterSet {
    name: ParameterName::new("paper_n1024_tuniform_lambda_122"),
    glwe_noise: NoiseDistribution::TUniform { bound_log2: 8 },
    security_bits: 122.7,
    ..PAPER_N1024
};

/// Every set to choose from.
pub const ALL: [ParameterSet; 4] = [
    MESSAGE_2_CARRY_2,
    GATES,
    BOOLEAN_1024,
    BOOLEAN_1024_TUNIFORM,
];

/// Sets below 128 bits of security, for comparison with published figures.
/// [`by_name`] knows them, but nothing offers them.
pub const FOR_COMPARISON: [ParameterSet; 2] = [PAPER_N1024, PAPER_N1024_TUNIFORM];

const fn gaussian(standard_deviation: f64) -> NoiseDistribution {
    NoiseDistribution::Gaussian { standard_deviation }
}

/// The set of that name, of [`ALL`] or [`FOR_COMPARISON`], validated.
pub fn by_name(name: &str) -> Option<Result<Parameters, ParameterError>> {
    ALL.iter()
        .chain(&FOR_COMPARISON)
        .find(|set| set.name.as_str() == name)
        .map(|set| set.validate())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_set_is_valid_and_survives_its_bytes() {
        for set in ALL.into_iter().chain(FOR_COMPARISON) {
            let parameters = set.validate().unwrap();
            let read = Parameters::from_bytes(&parameters.to_bytes()).unwrap();
            assert_eq!(read, parameters);
            assert_eq!(read.fingerprint(), parameters.fingerprint());
        }
    }

    #[test]
    fn every_set_is_found_by_name_and_only_weak_ones_are_not_offered() {
        for set in ALL.into_iter().chain(FOR_COMPARISON) {
            let found = by_name(set.name.as_str()).unwrap().unwrap();
            assert_eq!(*found, set);
            let offered = ALL.iter().any(|other| other.name == set.name);
            assert_eq!(offered, set.security_bits >= 128.0);
            assert_ne!(offered, set.name.as_str().contains("lambda_122"));
        }
        assert!(by_name("gate").is_none());
    }

    #[test]
    fn sets_that_nothing_can_be_built_on_are_refused() {
        let broken: [fn(&mut ParameterSet); 11] = [
            |set| set.torus_bits = 48,
            |set| set.polynomial_size = 1000,
            |set| set.lwe_dimension = LweDimension(1 << 30),
            |set| set.glwe_dimension = GlweDimension(0),
            |set| set.pbs = Decomposition::new(23, 3),
            |set| set.pbs_body = Decomposition::new(23, 0),
            |set| set.lwe_block_size = 0,
            |set| set.lwe_block_size = 3,
            |set| set.lwe_noise = gaussian(f64::NAN),
            |set| set.body_bits = 4,
            |set| set.public_key_mask_bits = 65,
        ];
        for spoil in broken {
            let mut set = MESSAGE_2_CARRY_2;
            spoil(&mut set);
            assert!(set.validate().is_err(), "{set:?}");
        }
    }
}
