//! Public-key uploads: read by the key owner, the same from all plans, with the noise
//! that theory says.

mod common;

use common::frozen::{FROZEN_BOOLEAN, FROZEN_RADIX};
use common::{Device, stream, varied_values};
use tfhe_sbc_core::device_public_key::DevicePublicKey;
use tfhe_sbc_core::dimensions::GlweDimension;
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::wire::glwe::mask_bits;
use tfhe_sbc_core::wire::{Kind, Message};
use tfhe_sbc_device::{
    ExpanderKind, KeyMode, MAX_PIECE_BYTES, MemoryPlan, device_public_key_parameters,
};

fn every_count_comes_back<T: MaskTorus>(set: ParameterSet) {
    let size = set.polynomial_size;
    let mut device = Device::<T>::new(set, 71);
    for expander in ExpanderKind::ALL {
        for (seed, count) in [1, size - 1, size, 2 * size + 7].into_iter().enumerate() {
            let values = varied_values(&set, count);
            let message = device.send_in(KeyMode::Public, expander, seed as u8, &values);
            let header = Message::parse(&message).unwrap().0.header;
            assert_eq!((header.kind, header.expander), (Kind::GlweList, None));
            assert_eq!(header.mask_seed.0, [0; 32]);
            let opened = device.open(&message);
            assert!(opened.values() == values, "{}, {count} values", set.name);
        }
    }
}

#[test]
fn what_a_public_key_encrypts_the_owner_reads() {
    every_count_comes_back::<u64>(MESSAGE_2_CARRY_2);
    every_count_comes_back::<u32>(GATES);
    every_count_comes_back::<u64>(FROZEN_RADIX);
    every_count_comes_back::<u32>(FROZEN_BOOLEAN);
}

fn all_plans_give_the_same_bytes<T: MaskTorus>(set: ParameterSet) {
    let values = varied_values(&set, set.polynomial_size + 77);
    for expander in ExpanderKind::ALL {
        let mut messages = Vec::new();
        for plan in MemoryPlan::ALL {
            let mut device = Device::<T>::with_plan(set, 72, plan);
            messages.push(device.send_in(KeyMode::Public, expander, 3, &values));
            let mut pieces = Vec::new();
            let mut session = device.public_session(expander, 3);
            let len = stream(&mut session, &values, &mut |piece| {
                assert!((1..=MAX_PIECE_BYTES).contains(&piece.len()));
                pieces.extend_from_slice(piece);
                Ok(())
            });
            assert_eq!(len, Ok(pieces.len()));
            messages.push(pieces);
        }
        assert!(messages.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

#[test]
fn all_plans_give_the_same_bytes_for_every_set() {
    all_plans_give_the_same_bytes::<u64>(MESSAGE_2_CARRY_2);
    all_plans_give_the_same_bytes::<u32>(GATES);
    all_plans_give_the_same_bytes::<u64>(ParameterSet {
        body_bits: 64,
        glwe_dimension: GlweDimension(2),
        ..FROZEN_RADIX
    });
    all_plans_give_the_same_bytes::<u32>(ParameterSet {
        body_bits: 32,
        ..FROZEN_BOOLEAN
    });
}

/// The variance under binary `r` and `S`, per coefficient and as a fraction of q²: noise
/// in the body, `Σ r_j · e_j` and `Σ e_i · S_i` (k·N products of half the variance each),
/// and the roundings of masks, which meet the key as the noise does, and of bodies.
fn predicted(set: &ParameterSet) -> f64 {
    let rounding = |bits: u32| match bits == set.torus_bits {
        true => 0.0,
        false => 0.25f64.powi(bits as i32) / 12.0,
    };
    let sigma2 = set.glwe_noise.variance(set.torus_bits);
    let half = (set.glwe_dimension.0 * set.polynomial_size) as f64 / 2.0;
    sigma2 * (1.0 + 2.0 * half) + half * rounding(mask_bits(set)) + rounding(set.body_bits)
}

fn noise_is_as_predicted<T: MaskTorus>(set: ParameterSet) {
    const KEYS: u8 = 240;
    let count = 4 * set.polynomial_size;
    let values = varied_values(&set, count);
    let mut sum = 0.0;
    // Over many keys: a key's noise and the mean 1/2 of `r` make a part of the noise that
    // is common to all ciphertexts of a key, and nearly so to all of its coefficients.
    for seed in 0..KEYS {
        let mut device = Device::<T>::new(set, seed);
        let expander = ExpanderKind::ALL[usize::from(seed) % ExpanderKind::ALL.len()];
        let message = device.send_in(KeyMode::Public, expander, seed, &values);
        let step = 0.5f64.powi(T::BITS as i32);
        let squares = device.open(&message).noises(&values);
        sum += squares.iter().map(|e| (e * step).powi(2)).sum::<f64>() / count as f64;
    }
    let ratio = sum / f64::from(KEYS) / predicted(&set);
    assert!((0.92..1.08).contains(&ratio), "{}: {ratio}", set.name);
}

#[test]
fn noise_is_that_of_theory() {
    let whole_radix = ParameterSet {
        body_bits: 64,
        ..FROZEN_RADIX
    };
    let whole_boolean = ParameterSet {
        body_bits: 32,
        ..FROZEN_BOOLEAN
    };
    noise_is_as_predicted::<u64>(whole_radix);
    noise_is_as_predicted::<u32>(whole_boolean);
}

#[test]
fn the_key_file_tells_its_parameters_and_survives_its_bytes() {
    let device = Device::<u32>::new(GATES, 73);
    let read = device_public_key_parameters(&device.public_key_file).unwrap();
    assert_eq!(&read, device.secret.parameters());
    let key = DevicePublicKey::from_bytes(&device.public_key_file).unwrap();
    assert_eq!(key.fingerprint(), device.secret.fingerprint());
    assert_eq!(key.to_bytes().unwrap(), device.public_key_file);
}
