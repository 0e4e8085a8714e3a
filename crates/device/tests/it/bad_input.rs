//! Bad input gives an error value that names what is wrong, and writes nothing.

use proptest::prelude::*;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::wire::glwe::MAX_ELEMENTS;
use tfhe_sbc_core::wire::{Header, Kind, Message, WireError};
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    BlockEncoding, DeviceError, Encryptor, EntropyError, ExpanderKind, FixedPoint, KeyMode,
    MemoryPlan, PublicEncryptor, ReadingError, SeedSequence, SinkError, WorkspaceError,
    device_key_parameters, device_public_key_parameters, encode_readings, reading_block_count,
    workspace_bytes,
};

use crate::common::frozen::{FROZEN_BOOLEAN, FROZEN_RADIX, forged, resealed, secret_key, seeds};
use crate::common::{Device, PUBLIC_RADIX, encrypt};

const MARK: u8 = 0xc3;

fn open_in<T: ProductTorus>(
    key_file: &[u8],
    plan: MemoryPlan,
    workspace: &mut [u8],
) -> Result<(), DeviceError> {
    let seeds = seeds(1);
    Encryptor::<T>::new(key_file, plan, ExpanderKind::ChaCha20, seeds, workspace).map(drop)
}

fn open<T: ProductTorus>(key_file: &[u8]) -> Result<(), DeviceError> {
    let mut workspace = HeapWorkspace::new(1 << 16);
    open_in::<T>(key_file, MemoryPlan::Fast, workspace.as_mut_slice())
}

#[test]
fn workspaces_of_every_smaller_size_are_refused() {
    let key_file = Device::<u64>::new(FROZEN_RADIX, 1).key_file;
    for plan in MemoryPlan::ALL {
        let needed = workspace_bytes(&FROZEN_RADIX, plan, KeyMode::Symmetric);
        let mut workspace = HeapWorkspace::new(needed);
        let bytes = workspace.as_mut_slice();
        assert_eq!(open_in::<u64>(&key_file, plan, bytes), Ok(()));
        bytes.fill(MARK);
        for found in 0..needed {
            let expected = WorkspaceError::TooSmall { needed, found };
            assert_eq!(
                open_in::<u64>(&key_file, plan, &mut bytes[..found]),
                Err(expected.into())
            );
        }
        assert!(bytes.iter().all(|&byte| byte == MARK));
    }
}

#[test]
fn workspaces_at_every_odd_address_are_refused() {
    let key_file = Device::<u32>::new(FROZEN_BOOLEAN, 1).key_file;
    for plan in MemoryPlan::ALL {
        let needed = workspace_bytes(&FROZEN_BOOLEAN, plan, KeyMode::Symmetric);
        let mut workspace = HeapWorkspace::new(needed + 64);
        for offset in 0..64 {
            let bytes = &mut workspace.as_mut_slice()[offset..][..needed];
            let expected = match offset % 8 {
                0 => Ok(()),
                _ => Err(WorkspaceError::Misaligned.into()),
            };
            assert_eq!(open_in::<u32>(&key_file, plan, bytes), expected);
        }
    }
}

#[test]
fn an_encryptor_of_another_width_is_refused() {
    let radix = Device::<u64>::new(FROZEN_RADIX, 1).key_file;
    let boolean = Device::<u32>::new(FROZEN_BOOLEAN, 1).key_file;
    assert_eq!(open::<u32>(&radix), Err(DeviceError::TorusBits(64)));
    assert_eq!(open::<u64>(&boolean), Err(DeviceError::TorusBits(32)));
}

#[test]
fn files_that_are_not_device_keys_are_refused() {
    let mut device = Device::<u64>::new(FROZEN_RADIX, 1);
    let secret = secret_key(FROZEN_RADIX, 1).to_bytes().unwrap();
    let list = device.send(ExpanderKind::ChaCha20, 1, &[1, 2, 3]);
    for (bytes, found) in [
        (&secret[..], Kind::SecretKey),
        (&list, Kind::SeededGlweList),
    ] {
        let expected = DeviceError::Wire(WireError::WrongKind {
            expected: Kind::DeviceKey,
            found,
        });
        assert_eq!(open::<u64>(bytes), Err(expected));
        assert_eq!(device_key_parameters(bytes), Err(expected));
    }
    let good = &device.key_file;
    for at in 0..good.len() {
        let mut damaged = good.clone();
        damaged[at] ^= 0x10;
        assert!(open::<u64>(&damaged).is_err(), "byte {at}");
        assert!(open::<u64>(&good[..at]).is_err(), "length {at}");
    }
    let other_set = forged(good, |header| header.parameters.0[3] ^= 4);
    assert_eq!(
        open::<u64>(&other_set),
        Err(WireError::Field("parameter fingerprint").into())
    );
}

/// Every refusal leaves `out` as it was, and the session able to go on.
#[test]
fn refused_plaintexts_write_nothing() {
    let mut device = Device::<u64>::new(FROZEN_RADIX, 1);
    let mut session = device.session(ExpanderKind::ChaCha20, 1);
    let mut out = vec![MARK; session.message_len(300)];
    let needed = session.message_len(300);

    let too_large = DeviceError::BlockOutOfRange {
        index: 299,
        modulus: 4,
    };
    let mut blocks = vec![3; 300];
    blocks[299] = 4;
    assert_eq!(session.encrypt_blocks(&blocks, &mut out), Err(too_large));
    assert_eq!(
        too_large.to_string(),
        "the plaintext at index 299 is not below 4"
    );
    assert_eq!(
        session.encrypt_blocks(&[], &mut out),
        Err(DeviceError::ElementCount(0))
    );
    let many = vec![0; MAX_ELEMENTS + 1];
    let error = session.encrypt_blocks(&many, &mut out).unwrap_err();
    assert_eq!(error, DeviceError::ElementCount(MAX_ELEMENTS + 1));
    assert!(error.to_string().contains(&MAX_ELEMENTS.to_string()));
    assert_eq!(
        session.encrypt_bits(&[1], &mut out),
        Err(DeviceError::PlaintextKind)
    );
    for found in [0, 1, 103, 104, needed - 1] {
        let short = DeviceError::Wire(WireError::BufferTooSmall { needed, found });
        assert_eq!(
            session.encrypt_blocks(&[3; 300], &mut out[..found]),
            Err(short)
        );
    }
    assert!(out.iter().all(|&byte| byte == MARK));

    assert_eq!(session.encrypt_blocks(&[3; 300], &mut out), Ok(needed));
}

#[test]
fn refused_bits_write_nothing() {
    let mut device = Device::<u32>::new(FROZEN_BOOLEAN, 1);
    let mut session = device.session(ExpanderKind::Aes128Ctr, 1);
    let mut out = vec![MARK; 4096];
    let not_a_bit = DeviceError::BlockOutOfRange {
        index: 2,
        modulus: 2,
    };
    assert_eq!(session.encrypt_bits(&[0, 1, 255], &mut out), Err(not_a_bit));
    assert_eq!(
        session.encrypt_blocks(&[0], &mut out),
        Err(DeviceError::PlaintextKind)
    );
    assert_eq!(
        session.encrypt_bits(&[], &mut out),
        Err(DeviceError::ElementCount(0))
    );
    assert!(out.iter().all(|&byte| byte == MARK));
}

#[test]
fn readings_without_a_code_are_named_and_write_nothing() {
    let celsius = FixedPoint::new(-50.0, 0.1, 10).unwrap();
    let encoding = FROZEN_RADIX.validate().unwrap().block_encoding();
    let each = reading_block_count(encoding, &celsius, 1);
    for (bad, out_of_range) in [
        (f64::NAN, false),
        (f64::INFINITY, false),
        (f64::NEG_INFINITY, false),
        (-50.06, true),
        (52.36, true),
        (f64::MAX, true),
        (f64::MIN, true),
    ] {
        for index in [0, 3, 9] {
            let mut readings = [20.5; 10];
            readings[index] = bad;
            let mut blocks = vec![MARK; 10 * each];
            let error = encode_readings(encoding, &celsius, &readings, &mut blocks).unwrap_err();
            let DeviceError::Reading {
                index: named,
                error: reason,
            } = error
            else {
                panic!("{error}");
            };
            assert_eq!(named, index);
            let text = error.to_string();
            assert!(text.contains(&format!("reading {index}")), "{text}");
            assert!(!text.contains(&bad.to_string()), "{text}");
            assert_eq!(
                matches!(reason, ReadingError::OutOfRange { .. }),
                out_of_range
            );
            assert!(blocks.iter().all(|&block| block == MARK));
        }
    }
}

#[test]
fn block_buffers_of_another_size_are_refused() {
    let celsius = FixedPoint::new(-50.0, 0.1, 10).unwrap();
    let encoding = FROZEN_RADIX.validate().unwrap().block_encoding();
    for found in [0, 4, 6, 10] {
        let mut blocks = vec![MARK; found];
        assert_eq!(
            encode_readings(encoding, &celsius, &[1.0], &mut blocks),
            Err(DeviceError::BlockBuffer { needed: 5, found })
        );
        assert!(blocks.iter().all(|&block| block == MARK));
    }
    assert_eq!(encode_readings(encoding, &celsius, &[], &mut []), Ok(()));
    assert_eq!(
        reading_block_count(encoding, &celsius, usize::MAX),
        usize::MAX
    );
}

#[test]
fn a_source_of_entropy_that_fails_gives_no_session() {
    let failed = || SeedSequence::from_entropy(|_| Err(EntropyError::Source("not ready")));
    assert_eq!(failed().err(), Some(EntropyError::Source("not ready")));
    let error = DeviceError::from(failed().err().unwrap());
    assert!(error.to_string().contains("not ready"));
    let stuck = SeedSequence::from_entropy(|bytes| {
        bytes.fill(0x55);
        Ok(())
    });
    assert_eq!(stuck.err(), Some(EntropyError::Constant));
    let silent = SeedSequence::from_entropy(|_| Ok(()));
    assert_eq!(silent.err(), Some(EntropyError::Constant));
}

#[test]
fn dropping_an_encryptor_wipes_its_secrets() {
    for plan in MemoryPlan::ALL {
        let mut device = Device::<u64>::with_plan(PUBLIC_RADIX, 1, plan);
        let mut session = device.session(ExpanderKind::ChaCha20, 1);
        encrypt(&mut session, &[1, 2, 3], &mut [0; 200]).unwrap();
        drop(session);
        let mut session = device.public_session(ExpanderKind::ChaCha20, 1);
        encrypt(&mut session, &[1, 2, 3], &mut [0; 4096]).unwrap();
        drop(session);
        // The body comes first; the transform's tables and the rows of the public key,
        // which are public, stay.
        let tables = match plan {
            MemoryPlan::Fast => 256 * 8..2 * 256 * 8,
            _ => 0..0,
        };
        let rows = match plan {
            MemoryPlan::Small => 0,
            _ => 2 * 256 * 8,
        };
        for (mode, public_tail) in [(KeyMode::Symmetric, 0), (KeyMode::Public, rows)] {
            let memory = device.workspace(mode);
            let secret_len = memory.len() - public_tail;
            for (at, &byte) in memory[..secret_len].iter().enumerate() {
                assert!(
                    byte == 0 || tables.contains(&at),
                    "{plan}, {mode:?}: byte {at}"
                );
            }
        }
    }
}

fn open_public<T: ProductTorus>(
    key_file: &[u8],
    plan: MemoryPlan,
    workspace: &mut [u8],
) -> Result<(), DeviceError> {
    let seeds = seeds(1);
    PublicEncryptor::<T>::new(key_file, plan, ExpanderKind::ChaCha20, seeds, workspace).map(drop)
}

#[test]
fn public_workspaces_that_are_too_small_or_misaligned_are_refused() {
    let key_file = Device::<u64>::new(PUBLIC_RADIX, 1).public_key_file;
    for plan in MemoryPlan::ALL {
        let needed = workspace_bytes(&PUBLIC_RADIX, plan, KeyMode::Public);
        let mut workspace = HeapWorkspace::new(needed + 8);
        let bytes = workspace.as_mut_slice();
        assert_eq!(
            open_public::<u64>(&key_file, plan, &mut bytes[..needed]),
            Ok(())
        );
        for found in 0..needed {
            assert_eq!(
                open_public::<u64>(&key_file, plan, &mut bytes[..found]),
                Err(WorkspaceError::TooSmall { needed, found }.into())
            );
        }
        assert_eq!(
            open_public::<u64>(&key_file, plan, &mut bytes[4..]),
            Err(WorkspaceError::Misaligned.into())
        );
    }
}

#[test]
fn files_that_are_not_public_keys_are_refused() {
    let device = Device::<u64>::new(PUBLIC_RADIX, 1);
    let secret = device.secret.to_bytes().unwrap();
    let server_key = resealed(
        &Header::new(
            Kind::ServerKey,
            device.secret.parameters().fingerprint(),
            device.secret.fingerprint(),
        ),
        &[0; 200],
    );
    let mut workspace = HeapWorkspace::new(1 << 16);
    let mut open =
        |bytes: &[u8]| open_public::<u64>(bytes, MemoryPlan::Fast, workspace.as_mut_slice());
    for (bytes, found) in [
        (&secret[..], Kind::SecretKey),
        (&device.key_file, Kind::DeviceKey),
        (&server_key, Kind::ServerKey),
    ] {
        let expected = DeviceError::Wire(WireError::WrongKind {
            expected: Kind::DevicePublicKey,
            found,
        });
        assert_eq!(open(bytes), Err(expected));
        assert!(expected.to_string().contains("device public key"));
        assert_eq!(device_public_key_parameters(bytes), Err(expected));
    }
    let wrong = DeviceError::Wire(WireError::WrongKind {
        expected: Kind::DeviceKey,
        found: Kind::DevicePublicKey,
    });
    assert_eq!(self::open::<u64>(&device.public_key_file), Err(wrong));
    let good = &device.public_key_file;
    for at in (0..good.len()).step_by(7) {
        let mut damaged = good.clone();
        damaged[at] ^= 0x10;
        assert!(open(&damaged).is_err(), "byte {at}");
        assert!(open(&good[..at]).is_err(), "length {at}");
    }
    for (field, change) in [
        (
            "polynomial size",
            (|header| header.polynomial_size = 512) as fn(&mut Header),
        ),
        ("dimension", |header| header.dimension = 2),
        ("torus bits", |header| header.torus_bits = 32),
        ("expander", |header| header.expander = None),
    ] {
        let expected = Err(WireError::Field(field).into());
        assert_eq!(open(&forged(good, change)), expected);
    }
    let mut short = Message::parse(good).unwrap().0.payload.to_vec();
    short.truncate(short.len() - 8);
    let header = Message::parse(good).unwrap().0.header;
    assert!(matches!(
        open(&resealed(&header, &short)),
        Err(DeviceError::Wire(WireError::PayloadLength { .. }))
    ));
}

/// A sink that fails gives an error, whichever piece it fails at; the message after it
/// has other seeds.
#[test]
fn a_failing_sink_ends_the_message_and_spends_its_seeds() {
    let mut device = Device::<u64>::new(FROZEN_RADIX, 1);
    let values = [1; 600];
    let mut session = device.session(ExpanderKind::ChaCha20, 1);
    let mut pieces = Vec::new();
    let mut keep = |piece: &[u8]| {
        pieces.push(piece.to_vec());
        Ok(())
    };
    session.encrypt_blocks_to(&values, &mut keep).unwrap();
    let mut seeds = vec![pieces[0][60..92].to_vec()];
    for fail_at in 0..pieces.len() {
        let mut taken = Vec::new();
        let mut sink = |piece: &[u8]| {
            if taken.len() == fail_at {
                return Err(SinkError("the modem is off"));
            }
            taken.push(piece.to_vec());
            Ok(())
        };
        let error = session.encrypt_blocks_to(&values, &mut sink).unwrap_err();
        assert_eq!(error, DeviceError::Sink(SinkError("the modem is off")));
        assert!(error.to_string().contains("the modem is off"));
        assert_eq!(taken.len(), fail_at);
        seeds.extend(taken.first().map(|header| header[60..92].to_vec()));
    }
    let mut out = [0; 2000];
    let len = session.encrypt_blocks(&values, &mut out).unwrap();
    seeds.push(out[60..92].to_vec());
    assert_eq!(len, session.message_len(600));
    let count = seeds.len();
    seeds.sort();
    seeds.dedup();
    assert_eq!(seeds.len(), count);
}

#[test]
fn a_refused_plaintext_sends_nothing() {
    let mut device = Device::<u64>::new(FROZEN_RADIX, 1);
    let mut session = device.session(ExpanderKind::ChaCha20, 1);
    let mut sink = |_: &[u8]| panic!("sent");
    assert!(session.encrypt_blocks_to(&[1, 4], &mut sink).is_err());
    assert!(session.encrypt_blocks_to(&[], &mut sink).is_err());
    assert!(session.encrypt_bits_to(&[1], &mut sink).is_err());
}

proptest! {
    #[test]
    fn no_file_makes_an_encryptor_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(open::<u64>(&bytes).is_err());
    }

    #[test]
    fn encodings_of_any_width_do_not_panic(
        message in 1u32..=8,
        carry in 0u32..=8,
        bits in 1u32..=52,
        reading in any::<f64>(),
    ) {
        use tfhe_sbc_core::dimensions::{CarryBits, MessageBits};
        let encoding = BlockEncoding::new(MessageBits(message), CarryBits(carry));
        let fixed = FixedPoint::new(0.0, 1.0, bits).unwrap();
        let mut blocks = vec![0; reading_block_count(encoding, &fixed, 1)];
        let result = encode_readings(encoding, &fixed, &[reading], &mut blocks);
        prop_assert_eq!(result.is_ok(), fixed.encode(reading).is_ok());
    }
}
