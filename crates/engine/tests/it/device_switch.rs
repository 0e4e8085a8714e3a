//! The switch from a device's own key to the evaluation key: it agrees with the slow reference,
//! gives the same bits on any number of threads, and refuses what does not fit.

use std::path::Path;

use tfhe_sbc_core::device_issue::DeviceId;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{Decomposition, PARAMETERS_BYTES, ParameterSet};
use tfhe_sbc_core::random::{Seed, SeedSequence};
use tfhe_sbc_core::wire::{Header, Kind, Message, WireError};
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;
use tfhe_sbc_engine::server_key::ServerKeyError;

use crate::common::{device_switch, device_switch_with, small_set, uniform_glwes};
use crate::{frozen, reference};

/// Over 32 bits every product is an integer that the transform finds exactly. Over 64
/// bits every scalar is right up to the transform's error, far below the key's noise at
/// real parameters.
fn compare<T: ProductTorus>(set: ParameterSet) {
    for &decomposition in set.validate().unwrap().device_switches() {
        compare_with::<T>(set, decomposition);
    }
}

fn compare_with<T: ProductTorus>(set: ParameterSet, decomposition: Decomposition) {
    let (secret, _, seeded) = device_switch_with::<T>(set, 70, decomposition);
    let parameters = secret.parameters();
    let message = seeded.to_bytes();
    let inputs = uniform_glwes::<T>(parameters, 3);
    let mut switched = inputs.clone();
    seeded.prepare().switch_batch(&mut switched);
    for (out, input) in switched.iter().zip(&inputs) {
        let expected = reference::device_switch(parameters, &message, input.as_slice());
        if T::BITS == 32 {
            assert_eq!(out.as_slice(), expected, "{set:?}");
        }
        for (&x, &y) in out.as_slice().iter().zip(&expected) {
            let error = x.sub(y).to_signed_fraction();
            assert!(error.abs() < f64::exp2(-33.0), "{error:e} {set:?}");
        }
    }
}

#[test]
fn it_is_the_reference() {
    for glwe_dimension in 1..=3 {
        compare::<u32>(small_set(32, glwe_dimension, 64));
        compare::<u64>(small_set(64, glwe_dimension, 64));
    }
}

#[test]
fn threads_and_copies_do_not_change_a_bit() {
    fn check<T: ProductTorus>() {
        let on_threads = |threads: usize| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap()
        };
        let make = || device_switch::<T>(small_set(T::BITS, 2, 64), 71);
        let (secret, _, seeded) = on_threads(1).install(make);
        let bytes = seeded.to_bytes();
        assert_eq!(on_threads(2).install(make).2.to_bytes(), bytes);
        let copy = SeededDeviceSwitchKey::<T>::from_bytes(&bytes).unwrap();
        assert_eq!(copy.to_bytes(), bytes);
        assert_eq!(copy.switch(), seeded.switch());
        let switched = |key: &SeededDeviceSwitchKey<T>| {
            let mut glwes = uniform_glwes::<T>(secret.parameters(), 7);
            key.prepare().switch_batch(&mut glwes);
            glwes
        };
        let expected = on_threads(1).install(|| switched(&seeded));
        assert!(on_threads(3).install(|| switched(&copy)) == expected);
    }
    check::<u32>();
    check::<u64>();
}

/// These bytes change only with the file format, the expanders or the scheme.
#[test]
fn keys_and_switches_of_fixed_seeds_are_what_they_were() {
    fn checksums<T: ProductTorus>(decomposition: Decomposition) -> (u32, u32) {
        let set = small_set(T::BITS, 2, 64);
        let (secret, _, seeded) = device_switch_with::<T>(set, 72, decomposition);
        let mut hasher = crc32fast::Hasher::new();
        // Over 64 bits the last bits depend on the instruction set.
        if T::BITS == 32 {
            let mut glwes = uniform_glwes::<T>(secret.parameters(), 2);
            seeded.prepare().switch_batch(&mut glwes);
            for word in glwes.iter().flat_map(GlweCiphertext::as_slice) {
                hasher.update(&word.to_u64().to_le_bytes());
            }
        }
        let bytes = seeded.to_bytes();
        // Without the message's own checksum, behind which every checksum is the same.
        let (covered, _) = bytes.split_last_chunk::<4>().unwrap();
        (crc32fast::hash(covered), hasher.finalize())
    }
    let (new, old) = (Decomposition::new(8, 5), Decomposition::new(12, 2));
    let narrow = Decomposition::new(8, 2);
    assert_eq!(checksums::<u32>(narrow), (0x8922_399d, 0xb9d2_945e));
    assert_eq!(checksums::<u64>(old), (0x0c38_7e0f, 0));
    assert_eq!(checksums::<u64>(new), (0xbf3f_102d, 0));
}

#[test]
fn only_keys_issued_under_the_secret_key_get_a_switch_key() {
    let set = small_set(64, 1, 64);
    let (secret, device, seeded) = device_switch::<u64>(set, 73);
    assert_eq!(seeded.switch().from, device.fingerprint());
    assert_eq!(seeded.switch().to, secret.fingerprint());
    assert_eq!(seeded.switch().issue.device, DeviceId::new("station-7"));
    assert_eq!(seeded.switch().issue.epoch.get(), 3);

    let mut seeds = SeedSequence::new(Seed::from_bytes([74; 32]));
    let other = SecretKey::generate(set.validate().unwrap(), &mut seeds).unwrap();
    let mut refused = |secret: &SecretKey, device| {
        SeededDeviceSwitchKey::<u64>::generate(secret, device, &mut seeds).err()
    };
    assert_eq!(refused(&other, &device), Some(ServerKeyError::DeviceKey));
    let shared = secret.device_key();
    assert_eq!(refused(&secret, &shared), Some(ServerKeyError::DeviceKey));
    assert!(matches!(
        SeededDeviceSwitchKey::<u32>::generate(&secret, &device, &mut seeds).err(),
        Some(ServerKeyError::TorusBits { .. })
    ));
}

/// Keys of older versions have two digits.
#[test]
fn the_length_of_a_file_tells_its_decomposition() {
    let set = small_set(64, 2, 64);
    for decomposition in [Decomposition::new(8, 5), Decomposition::new(12, 2)] {
        let (_, _, seeded) = device_switch_with::<u64>(set, 77, decomposition);
        assert_eq!(seeded.decomposition(), decomposition);
        let read = SeededDeviceSwitchKey::<u64>::from_bytes(&seeded.to_bytes()).unwrap();
        assert_eq!(read.decomposition(), decomposition);
        assert_eq!(read.prepare().decomposition(), decomposition);
        assert_eq!(read.to_bytes(), seeded.to_bytes());
    }
    let (secret, device, _) = device_switch::<u64>(set, 77);
    for decomposition in [Decomposition::new(8, 2), Decomposition::new(12, 3)] {
        let mut seeds = SeedSequence::new(Seed::from_bytes([78; 32]));
        let made = SeededDeviceSwitchKey::<u64>::generate_with(
            &secret,
            &device,
            decomposition,
            &mut seeds,
        );
        assert_eq!(made.err(), Some(ServerKeyError::Decomposition));
    }
}

/// The message with its payload and header changed, sealed again, as a forger would.
fn forged(message: &[u8], change: impl FnOnce(&mut Header, &mut Vec<u8>)) -> Vec<u8> {
    let parsed = Message::parse(message).unwrap().0;
    let (mut header, mut payload) = (parsed.header, parsed.payload.to_vec());
    change(&mut header, &mut payload);
    frozen::resealed(&header, &payload)
}

#[test]
fn damaged_and_forged_switch_keys_are_refused() {
    let (secret, device, seeded) = device_switch::<u64>(small_set(64, 2, 64), 75);
    let bytes = seeded.to_bytes();
    let new = Decomposition::new(8, 5);
    let length = SeededDeviceSwitchKey::<u64>::message_len(secret.parameters(), new);
    assert_eq!(bytes.len(), length);
    let longest = SeededDeviceSwitchKey::<u64>::longest_message_len(secret.parameters());
    assert_eq!(bytes.len(), longest);
    let read = |bytes: &[u8]| SeededDeviceSwitchKey::<u64>::from_bytes(bytes).err();
    assert_eq!(read(&forged(&bytes, |_, _| ())), None);
    for len in 0..bytes.len() {
        assert!(
            matches!(read(&bytes[..len]), Some(WireError::Truncated { .. })),
            "{len}"
        );
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped).is_some(), "bit {bit}");
    }
    type Change = fn(&mut Header, &mut Vec<u8>);
    let changes: [(Change, &str); 7] = [
        (|header, _| header.torus_bits = 32, "torus bits"),
        (|header, _| header.polynomial_size *= 2, "polynomial size"),
        (|header, _| header.dimension = 1, "dimension"),
        (
            |header, _| header.parameters.0[0] ^= 1,
            "parameter fingerprint",
        ),
        (|header, _| header.expander = None, "expander"),
        (
            |header, payload| {
                let key_set = &payload[PARAMETERS_BYTES..PARAMETERS_BYTES + 16];
                header.key.0.copy_from_slice(key_set);
            },
            "key set fingerprint",
        ),
        // The binding of the shared key, which needs no switch.
        (
            |header, payload| {
                let binding = &mut payload[PARAMETERS_BYTES..PARAMETERS_BYTES + 36];
                header.key.0.copy_from_slice(&binding[..16]);
                binding[16..].fill(0);
            },
            "device",
        ),
    ];
    for (change, field) in changes {
        assert_eq!(read(&forged(&bytes, change)), Some(WireError::Field(field)));
    }
    for len in [
        0,
        PARAMETERS_BYTES - 1,
        PARAMETERS_BYTES + 35,
        PARAMETERS_BYTES + 36,
    ] {
        let forged = forged(&bytes, |_, payload| payload.truncate(len));
        assert!(
            matches!(read(&forged), Some(WireError::PayloadLength { .. })),
            "{len}"
        );
    }
    assert!(matches!(
        read(&device.to_bytes().unwrap()),
        Some(WireError::WrongKind {
            expected: Kind::DeviceSwitchKey,
            ..
        })
    ));
}

/// Secret, device and switch key as the Python program reads them that knows
/// `docs/wire-format.md` only: it decrypts the switch key to the device's key.
#[test]
fn an_independent_reader_agrees() {
    fn agrees<T: ProductTorus>(set: ParameterSet) {
        for &decomposition in set.validate().unwrap().device_switches() {
            agrees_with::<T>(set, decomposition);
        }
    }
    fn agrees_with<T: ProductTorus>(set: ParameterSet, decomposition: Decomposition) {
        let (secret, device, switch) = device_switch_with::<T>(set, 76, decomposition);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(set.name.as_str());
        std::fs::create_dir_all(&folder).unwrap();
        let files = [
            ("secret.key", secret.to_bytes().unwrap().to_vec()),
            ("device.key", device.to_bytes().unwrap().to_vec()),
            ("switch.key", switch.to_bytes()),
        ]
        .map(|(name, bytes)| {
            let path = folder.join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        });
        let said = frozen::independent_reader(&files);
        let own = format!("station-7 3 {}", device.fingerprint());
        let expected = format!(
            "secret_key {} {} {}\ndevice_key {own}\ndevice_switch_key {own}\n",
            set.name,
            secret.parameters().fingerprint(),
            secret.fingerprint(),
        );
        assert_eq!(said, expected);
    }
    agrees::<u64>(MESSAGE_2_CARRY_2);
    agrees::<u64>(GATES);
}
