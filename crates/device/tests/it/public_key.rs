//! Public-key uploads: read by the key owner, the same from all plans, with the noise
//! that theory says.

use tfhe_sbc_core::device_public_key::DevicePublicKey;
use tfhe_sbc_core::dimensions::GlweDimension;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameter_sets::{BOOLEAN_1024, GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{GlweSecret, ParameterSet};
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::wire::{Header, Kind, Message};
use tfhe_sbc_device::{
    DeviceError, ExpanderKind, KeyMode, MAX_PIECE_BYTES, MemoryPlan, PublicEncryptor, SinkError,
    UploadSize, WireError, device_public_key_parameters,
};

use crate::common::frozen::{FROZEN_RADIX, forged, seeds};
use crate::common::{
    Device, PUBLIC_BOOLEAN, PUBLIC_RADIX, PUBLIC_TERNARY, send, stream, varied_values,
};

fn every_count_comes_back<T: ProductTorus>(set: ParameterSet) {
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
    every_count_comes_back::<u64>(GATES);
    every_count_comes_back::<u32>(BOOLEAN_1024);
    every_count_comes_back::<u64>(PUBLIC_RADIX);
    every_count_comes_back::<u32>(PUBLIC_BOOLEAN);
}

fn all_plans_give_the_same_bytes<T: ProductTorus>(set: ParameterSet) {
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
    all_plans_give_the_same_bytes::<u64>(GATES);
    all_plans_give_the_same_bytes::<u64>(ParameterSet {
        glwe_dimension: GlweDimension(2),
        ..PUBLIC_RADIX
    });
    all_plans_give_the_same_bytes::<u32>(PUBLIC_BOOLEAN);
    all_plans_give_the_same_bytes::<u32>(PUBLIC_TERNARY);
}

/// The variance per coefficient and as a fraction of q²: noise in the body, `Σ r_j · e_j` and
/// `Σ e_i · S_i` (k·N products each of the noise with a coefficient of `r` or `S`, whose mean
/// square is 1/2 or, ternary, 2/3),
/// and the roundings of masks, which meet the key as the noise does, and of bodies.
fn predicted(set: &ParameterSet) -> f64 {
    let rounding = |bits: u32| match bits == set.torus_bits {
        true => 0.0,
        false => 0.25f64.powi(bits as i32) / 12.0,
    };
    let sigma2 = set.glwe_noise.variance(set.torus_bits);
    let mean_square = match set.glwe_secret {
        GlweSecret::Binary => 1.0 / 2.0,
        GlweSecret::Ternary => 2.0 / 3.0,
    };
    let squares = (set.glwe_dimension.0 * set.polynomial_size) as f64 * mean_square;
    sigma2 * (1.0 + 2.0 * squares)
        + squares * rounding(set.public_key_mask_bits)
        + rounding(set.body_bits)
}

fn noise_is_as_predicted<T: ProductTorus>(set: ParameterSet) {
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
    noise_is_as_predicted::<u64>(PUBLIC_RADIX);
    noise_is_as_predicted::<u32>(PUBLIC_BOOLEAN);
    noise_is_as_predicted::<u32>(PUBLIC_TERNARY);
    // Masks rounded so coarsely that it is most of the noise.
    noise_is_as_predicted::<u64>(ParameterSet {
        public_key_mask_bits: 40,
        ..PUBLIC_RADIX
    });
    noise_is_as_predicted::<u32>(ParameterSet {
        public_key_mask_bits: 22,
        body_bits: 19,
        ..PUBLIC_BOOLEAN
    });
}

/// A public-key session keeps nothing of what it has sent in its memory: its workspace is as that
/// of one that has sent nothing, after a failure too.
fn nothing_is_left_of_a_message<T: ProductTorus>(set: ParameterSet) {
    let values = varied_values(&set, set.polynomial_size + 5);
    for plan in MemoryPlan::ALL {
        let left_by = |pieces: Option<usize>| {
            let mut device = Device::<T>::with_plan(set, 77, plan);
            device.workspace(KeyMode::Public).fill(0);
            let mut session = device.public_session(ExpanderKind::ChaCha20, 5);
            if let Some(pieces) = pieces {
                let mut sent = 0;
                let result = stream(&mut session, &values, &mut |_| {
                    sent += 1;
                    match sent > pieces {
                        true => Err(SinkError("the line is down")),
                        false => Ok(()),
                    }
                });
                assert_eq!(result.is_ok(), pieces == usize::MAX);
            }
            // Nothing is wiped by a drop.
            std::mem::forget(session);
            device.workspace(KeyMode::Public).to_vec()
        };
        let unused = left_by(None);
        for pieces in [usize::MAX, 0, 3] {
            assert!(left_by(Some(pieces)) == unused, "{plan}, {pieces} pieces");
        }
    }
}

#[test]
fn a_public_key_session_keeps_nothing_of_its_messages() {
    nothing_is_left_of_a_message::<u64>(MESSAGE_2_CARRY_2);
    nothing_is_left_of_a_message::<u64>(GATES);
}

/// The second message is that of a root from which the first one's seeds do not follow.
#[test]
fn a_public_key_session_forgets_its_seeds() {
    let mut device = Device::<u32>::new(BOOLEAN_1024, 78);
    let values = varied_values(&BOOLEAN_1024, 100);
    let mut session = device.public_session(ExpanderKind::ChaCha20, 9);
    send(&mut session, &values);
    let second = send(&mut session, &values);
    drop(session);
    let mut remembering = seeds(9);
    let mut forgetting = seeds(9);
    remembering.next_pair().unwrap();
    forgetting.next_pair().unwrap();
    forgetting.forget_past();
    let with = |seeds, device: &mut Device<u32>| {
        let file = device.public_key_file.clone();
        let plan = MemoryPlan::recommended();
        let workspace = device.workspace(KeyMode::Public);
        let mut session =
            PublicEncryptor::<u32>::new(&file, plan, ExpanderKind::ChaCha20, seeds, workspace)
                .unwrap();
        send(&mut session, &values)
    };
    assert!(with(forgetting, &mut device) == second);
    assert!(with(remembering, &mut device) != second);
}

#[test]
fn the_key_file_tells_its_parameters_and_survives_its_bytes() {
    let device = Device::<u64>::new(GATES, 73);
    let read = device_public_key_parameters(&device.public_key_file).unwrap();
    assert_eq!(&read, device.secret.parameters());
    let key = DevicePublicKey::from_bytes(&device.public_key_file).unwrap();
    assert_eq!(key.fingerprint(), device.secret.fingerprint());
    assert_eq!(key.to_bytes().unwrap(), device.public_key_file);
}

#[test]
fn a_set_without_public_key_uploads_is_refused() {
    let device = Device::<u64>::new(FROZEN_RADIX, 74);
    let mut workspace = [0; 64];
    let refused = PublicEncryptor::<u64>::new(
        &device.public_key_file,
        MemoryPlan::Small,
        ExpanderKind::ChaCha20,
        seeds(1),
        &mut workspace,
    );
    assert_eq!(refused.err(), Some(DeviceError::NoPublicKeyUploads));
}

#[test]
fn sizes_are_known_before() {
    for set in [MESSAGE_2_CARRY_2, PUBLIC_RADIX] {
        let mut device = Device::<u64>::new(set, 75);
        for count in [1, set.polynomial_size, set.polynomial_size + 1] {
            let message =
                device.send_in(KeyMode::Public, ExpanderKind::ChaCha20, 1, &vec![1; count]);
            let size = UploadSize::public_key(&set, count, 1).unwrap();
            assert_eq!(message.len(), size.total_bytes());
        }
    }
}

/// A list with masks is refused for more reasons than other lists.
#[test]
fn forged_lists_are_refused() {
    let mut device = Device::<u64>::new(MESSAGE_2_CARRY_2, 76);
    let message = device.send_in(KeyMode::Public, ExpanderKind::ChaCha20, 1, &[1, 2, 3]);
    let secret = &device.secret;
    let check = |message: &[u8]| {
        let (message, _) = Message::parse(message)?;
        UploadedGlweList::check(message, secret.parameters(), secret.fingerprint())
            .map(|list| list.element_count())
    };
    assert_eq!(check(&message), Ok(3));
    for (field, change) in [
        (
            "mask bits",
            (|header| header.mask_bits += 1) as fn(&mut Header),
        ),
        ("body bits", |header| header.body_bits += 1),
        ("expander", |header| {
            header.expander = Some(ExpanderKind::ChaCha20);
        }),
        ("mask seed", |header| header.mask_seed.0[0] = 1),
        ("element count", |header| header.element_count = 0),
        ("dimension", |header| header.dimension = 2),
    ] {
        assert_eq!(
            check(&forged(&message, change)),
            Err(WireError::Field(field))
        );
    }
    let more = forged(&message, |header| header.element_count = 1 << 20);
    assert!(matches!(check(&more), Err(WireError::PayloadLength { .. })));
}
