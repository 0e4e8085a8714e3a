//! The shipped parameter sets. Each is the result of the oracle crate's search for a query, which is
//! given beside the numbers in `found.rs`; `tfhe-sbc params shipped` repeats all queries. The
//! tests of the oracle crate recompute the failure probability and security level of each.

mod found;
mod key_body_bits;
#[cfg(feature = "alloc")]
mod packing;
mod published;
pub mod superseded;

use crate::dimensions::{CarryBits, GlweDimension, LweDimension, MessageBits};
use crate::parameters::{
    Decomposition, GlweSecret, ModulusSwitch, ParameterError, ParameterFingerprint, ParameterName,
    ParameterSet, Parameters, PlaintextKind,
};
use crate::random::NoiseDistribution;

pub use key_body_bits::{KeyBodyBits, key_body_bits};
#[cfg(feature = "alloc")]
pub use packing::packing_of;
pub use published::{NIST_SUBMISSION_2_2, PUBLISHED, published_like};

/// Radix blocks of 2 message and 2 carry bits, the default for integers.
///
/// The search's choice among sets whose uploads take 12 bits. The noise under the small key is
/// lower than the average failure probability requires. The reason is that each key-switching key
/// shifts every phase by a constant (half the sum of its errors), and a key with a shift as large as
/// one in a thousand has must also stay below 2^-128. The squares of a key's errors, which vary by 2% about their mean, are
/// not accounted for.
///
/// A bootstrap on bootstrap outputs fails with 2^-149.2, on uploads with 2^-144.7, on
/// public-key uploads with 2^-141.1.
pub const MESSAGE_2_CARRY_2: ParameterSet = found::MESSAGE_2_CARRY_2;

/// Radix blocks of 1 message and 1 carry bit.
///
/// A bootstrap on bootstrap outputs fails with 2^-145.4, on uploads with 2^-136.6, on
/// public-key uploads with 2^-132.1.
pub const MESSAGE_1_CARRY_1: ParameterSet = found::MESSAGE_1_CARRY_1;

/// Radix blocks of 3 message and 3 carry bits.
///
/// At N = 4096 the modulus switch alone leaves too little room for other noise. The noise of the
/// GLWE key is the least that is used over 2^64, four steps.
///
/// A bootstrap on bootstrap outputs fails with 2^-145.0, on uploads with 2^-154.7, on
/// public-key uploads with 2^-141.7.
pub const MESSAGE_3_CARRY_3: ParameterSet = found::MESSAGE_3_CARRY_3;

/// [`MESSAGE_2_CARRY_2`] at a failure probability of 2^-40. It is faster, and must not be used where
/// an attacker who sees an answer fail could learn something from it.
pub const MESSAGE_2_CARRY_2_P_FAIL_2M40: ParameterSet = found::MESSAGE_2_CARRY_2_P_FAIL_2M40;

/// [`MESSAGE_1_CARRY_1`] at a failure probability of 2^-40, likewise.
pub const MESSAGE_1_CARRY_1_P_FAIL_2M40: ParameterSet = found::MESSAGE_1_CARRY_1_P_FAIL_2M40;

/// Booleans for two-input gates. GLWE ciphertexts have 64 bits, so that their noise may be small
/// enough for an external product with one digit each for mask and body.
///
/// The noise level is that of a gate like NAND on two multiplexer outputs, each a sum of two
/// independent bootstrap outputs: where both are the same ciphertext, 8 times their variance.
/// XOR doubles both the weights and the distance.
///
/// A bootstrap on bootstrap outputs fails with 2^-249.3, on uploads with 2^-188.2, on
/// public-key uploads with 2^-134.8.
pub const GATES: ParameterSet = found::GATES;

/// Booleans in polynomials of 1024 coefficients: one mask polynomial, and exactly 1024 bits
/// a ciphertext.
///
/// The shape of the uploads is that of the TFHE-SBC paper (table 3). Their noise is 2^-23.3
/// of the torus instead of its 2^-25, which gives a binary key 122 bits.
///
/// A bootstrap on bootstrap outputs fails with 2^-133.7, on uploads with 2^-161.4, on
/// public-key uploads with 2^-131.8.
pub const BOOLEAN_1024: ParameterSet = found::BOOLEAN_1024;

/// [`BOOLEAN_1024`] with TUniform noise, for devices to which a few bits for each coefficient and no
/// arithmetic on them are worth more. The bound is the smallest whose variance is at
/// least what 128 bits of security need.
///
/// A bootstrap on bootstrap outputs fails with 2^-147.8, on uploads with 2^-222.0, on
/// public-key uploads with 2^-131.3.
pub const BOOLEAN_1024_TUNIFORM: ParameterSet = found::BOOLEAN_1024_TUNIFORM;

/// The uploads that the TFHE-SBC paper measures: N = 1024, σ = 2^-25. **Below 128 bits** with
/// a binary key: 122.2 bits by the lattice estimator, and 121.9 with the oracle crate's margin. Only
/// for comparison with the paper.
pub const PAPER_N1024: ParameterSet = found::PAPER_N1024;

/// [`PAPER_N1024`] with the smallest TUniform noise of at least its variance, also only for
/// comparison.
pub const PAPER_N1024_TUNIFORM: ParameterSet = found::PAPER_N1024_TUNIFORM;

/// The sets to choose from: they have 128 bits of security in both counts of attacks, and none of their uses fails with a
/// probability above 2^-128.
pub const ALL: [ParameterSet; 6] = [
    MESSAGE_2_CARRY_2,
    GATES,
    BOOLEAN_1024,
    BOOLEAN_1024_TUNIFORM,
    MESSAGE_1_CARRY_1,
    MESSAGE_3_CARRY_3,
];

/// Sets with 128 bits of security in both counts whose failure probability is up to 2^-40, as their names say.
/// [`by_name`] finds them, but no list offers them.
pub const LOOSER: [ParameterSet; 2] =
    [MESSAGE_2_CARRY_2_P_FAIL_2M40, MESSAGE_1_CARRY_1_P_FAIL_2M40];

/// Sets below 128 bits of security, for comparison with published figures.
/// [`by_name`] finds them, but no list offers them.
pub const FOR_COMPARISON: [ParameterSet; 2] = [PAPER_N1024, PAPER_N1024_TUNIFORM];

/// All sets: those to choose from, and those that no list offers.
fn known() -> impl Iterator<Item = &'static ParameterSet> {
    ALL.iter()
        .chain(&LOOSER)
        .chain(&FOR_COMPARISON)
        .chain(&PUBLISHED)
}

/// Returns the set of that name in [`ALL`], [`LOOSER`], [`FOR_COMPARISON`] or [`PUBLISHED`], validated.
pub fn by_name(name: &str) -> Option<Result<Parameters, ParameterError>> {
    known()
        .find(|set| set.name.as_str() == name)
        .map(|set| set.validate())
}

/// Returns the set of that fingerprint in [`ALL`], [`LOOSER`], [`FOR_COMPARISON`], [`PUBLISHED`] or [`superseded::ALL`],
/// validated; `None` if it is not a shipped one.
pub fn by_fingerprint(fingerprint: ParameterFingerprint) -> Option<Parameters> {
    known()
        .chain(&superseded::ALL)
        .filter_map(|set| set.validate().ok())
        .find(|parameters| parameters.fingerprint() == fingerprint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_set_is_valid_and_survives_its_bytes() {
        for set in known().chain(&superseded::ALL) {
            let parameters = set.validate().unwrap();
            let read = Parameters::from_bytes(&parameters.to_bytes()).unwrap();
            assert_eq!(read, parameters);
            assert_eq!(read.fingerprint(), parameters.fingerprint());
        }
    }

    #[test]
    fn every_set_is_found_by_name_and_only_weak_ones_are_not_offered() {
        for set in known() {
            let found = by_name(set.name.as_str()).unwrap().unwrap();
            assert_eq!(found.as_set(), set);
            assert_eq!(by_fingerprint(found.fingerprint()), Some(found));
            let offered = ALL.iter().any(|other| other.name == set.name);
            let good = set.security_bits >= 128.0 && set.log2_p_fail <= -128.0;
            assert_eq!(good, offered || PUBLISHED.contains(set));
            let warns = ["lambda_122", "p_fail_2m40"];
            assert_ne!(good, warns.iter().any(|w| set.name.as_str().contains(w)));
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
            |set| set.lwe_block_size = 4,
            |set| {
                set.lwe_noise = NoiseDistribution::Gaussian {
                    standard_deviation: f64::NAN,
                }
            },
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
