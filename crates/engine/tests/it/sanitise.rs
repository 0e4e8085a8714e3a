//! Sanitised blocks: their values, their noise against the oracle's, and that nothing of the noise before is left.

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::packing::PackingSecret;
use tfhe_sbc_core::parameter_sets::{MESSAGE_2_CARRY_2, packing_of};
use tfhe_sbc_core::public_zeros::PublicZeros;
use tfhe_sbc_core::random::{Seed, SeedSequence};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::packing_key::SeededPackingKey;
use tfhe_sbc_engine::sanitise::{SanitiseError, Sanitiser};
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_oracle::sanitising::{self, Sanitising};
use tfhe_sbc_oracle::statistics::{mean, shapiro_francia, variance_within};

use crate::common::Keys;

fn seeds(seed: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([seed; 32]))
}

fn zeros(keys: &Keys, seed: u8) -> PublicZeros<u64> {
    let public = keys.secret.device_public_key(&mut seeds(seed)).unwrap();
    PublicZeros::new(&public).unwrap()
}

fn way() -> Sanitising {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    Sanitising::new(&parameters, &packing_of(&parameters).unwrap()).unwrap()
}

fn sanitiser<'k>(server: &'k ServerKey<u64>, keys: &Keys, flooding: f64) -> Sanitiser<'k> {
    Sanitiser::new(Evaluator::new(server), zeros(keys, 81), flooding).unwrap()
}

/// The noise of sanitised messages: their phases under the small key, less the messages.
fn errors(keys: &Keys, messages: &[u8], sanitised: &[LweCiphertext<u32>]) -> Vec<f64> {
    let pairs = messages.iter().zip(sanitised);
    let error = |(&message, block): (&u8, &LweCiphertext<u32>)| {
        let phase = keys.secret.lwe().phase(block);
        phase
            .wrapping_sub(u32::from(message) << 30)
            .to_signed_fraction()
    };
    pairs.map(error).collect()
}

#[test]
fn sanitised_messages_are_packed_and_decrypted() {
    let (mut keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 75);
    let parameters = *keys.secret.parameters();
    let packing = packing_of(&parameters).unwrap();
    let key = SeededPackingKey::generate(&keys.secret, &packing, &mut seeds(82)).unwrap();
    let key = key.prepare();
    let messages: Vec<u8> = (0..20).map(|i| i * 7 % 4).collect();
    let encoding = parameters.block_encoding();
    let blocks = messages
        .iter()
        .map(|&message| keys.encrypt(encoding.encode(i64::from(message))));
    let blocks: Vec<LweCiphertext<u64>> = blocks.collect();
    let way = way();
    let sanitiser = sanitiser(&server, &keys, way.flooding);
    let sanitised = sanitiser.sanitise(&blocks, &mut seeds(83)).unwrap();
    assert_eq!(sanitiser.bootstrap_count(), 20);
    let list = key.pack_messages(&sanitised, way.slot_bits).unwrap();
    let secret = PackingSecret::of_list(&keys.secret, &list);
    assert_eq!(secret.decrypt(&list), messages);
    let again = sanitiser.sanitise(&blocks, &mut seeds(84)).unwrap();
    assert!(
        again
            .iter()
            .zip(&sanitised)
            .all(|(a, b)| a.mask() != b.mask())
    );
}

/// The flooding covers what is before it: trivial ciphertexts at both ends of the phases that stand for a message come out
/// with the same noise, of the predicted variance, normal, under masks that are not zero.
#[test]
fn the_noise_does_not_depend_on_the_noise_before() {
    const EACH: usize = 160;
    let (keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 75);
    let parameters = *keys.secret.parameters();
    let packing = packing_of(&parameters).unwrap();
    let way = way();
    let sanitiser = sanitiser(&server, &keys, way.flooding);
    let encoding = parameters.block_encoding();
    // A quarter of the distance between two blocks, far more than a computation leaves.
    let off = 1u64 << (u64::BITS - parameters.message_bits().0 - parameters.carry_bits().0 - 3);
    let dimension = parameters.big_lwe_dimension();
    let messages: Vec<u8> = (0..EACH as u8).map(|i| i % 4).collect();
    let errors_at = |shift: u64, seed: u8| {
        let block = |&message: &u8| {
            let plaintext: u64 = encoding.encode(i64::from(message));
            LweCiphertext::trivial(dimension, plaintext.wrapping_add(shift))
        };
        let blocks: Vec<_> = messages.iter().map(block).collect();
        let sanitised = sanitiser.sanitise(&blocks, &mut seeds(seed)).unwrap();
        assert!(
            sanitised
                .iter()
                .all(|block| block.mask().iter().any(|&a| a != 0))
        );
        errors(&keys, &messages, &sanitised)
    };
    let (above, below) = (errors_at(off, 85), errors_at(off.wrapping_neg(), 86));
    let noise = sanitising::noise(&parameters, &packing, way.flooding, way.slot_bits);
    // The part of the switch to the small key; the packing comes later.
    let predicted = noise.input;
    let apart = mean(&above) - mean(&below);
    let spread = (2.0 * predicted.0 / EACH as f64).sqrt();
    assert!(apart.abs() < 4.0 * spread, "{}", apart / spread);
    // The shift would be seen if it came through.
    assert!(2.0 * f64::exp2(-7.0) > 8.0 * spread, "{spread}");
    let all = [above, below].concat();
    let check = variance_within(&all, predicted, 0.3);
    assert!(check.within, "{check:?}");
    let normality = shapiro_francia(&all).unwrap();
    assert!(normality.p_value > 1e-3, "{normality:?}");
}

#[test]
fn foreign_keys_and_dimensions_are_refused() {
    let (keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 75);
    let other = SecretKey::generate(*keys.secret.parameters(), &mut seeds(88)).unwrap();
    let other = other.device_public_key(&mut seeds(89)).unwrap();
    let refused = |zeros, flooding| Sanitiser::new(Evaluator::new(&server), zeros, flooding).err();
    let other = refused(PublicZeros::new(&other).unwrap(), 0.01);
    assert_eq!(other, Some(SanitiseError::OtherKeySet));
    for no_noise in [0.5, f64::NAN, -1.0] {
        let parameters = Some(SanitiseError::Parameters);
        assert_eq!(refused(zeros(&keys, 81), no_noise), parameters);
    }
    let sanitiser = sanitiser(&server, &keys, way().flooding);
    let short = LweCiphertext::trivial(keys.secret.parameters().lwe_dimension(), 0u64);
    assert!(sanitiser.sanitise(&[short], &mut seeds(87)).is_err());
}
