//! Damaged and forged messages of every kind: each is refused with an error value.

use proptest::prelude::*;
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::parameters::{PARAMETERS_BYTES, Parameters, PlaintextKind};
use tfhe_sbc_core::random::{ExpanderKind, UnsupportedExpander};
use tfhe_sbc_core::wire::glwe::{MAX_ELEMENTS, message_len};
use tfhe_sbc_core::wire::key::KeyBytes;
use tfhe_sbc_core::wire::{
    CHECKSUM_BYTES, ENVELOPE_BYTES, FLAG_SEEDED, HEADER_BYTES, Header, Kind, Message, WireError,
};

use crate::common::{self, FROZEN_RADIX, forged, issued_device_key, patched, resealed};
use crate::samples::{key, masked_list, read_masked_list, read_seeded_list, samples, seeded_list};

#[test]
fn the_samples_are_good() {
    let key = key();
    for sample in samples() {
        assert_eq!(
            (sample.read)(&sample.bytes, &key),
            Ok(()),
            "{}",
            sample.kind
        );
        assert_eq!(patched(&sample.bytes, 0, b"TSBC"), sample.bytes);
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let key = key();
    for sample in samples() {
        for bit in 0..sample.bytes.len() * 8 {
            let mut bytes = sample.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(
                (sample.read)(&bytes, &key).is_err(),
                "{} bit {bit}",
                sample.kind
            );
        }
    }
}

#[test]
fn every_truncation_is_noticed() {
    let key = key();
    for sample in samples() {
        for len in 0..sample.bytes.len() {
            let expected = if len < HEADER_BYTES {
                HEADER_BYTES
            } else {
                sample.bytes.len()
            };
            assert_eq!(
                (sample.read)(&sample.bytes[..len], &key),
                Err(WireError::Truncated {
                    expected: expected as u64,
                    found: len as u64
                }),
            );
        }
    }
}

#[test]
fn trailing_bytes_are_noticed() {
    let key = key();
    for sample in samples() {
        for extra in [1, 3, HEADER_BYTES, 5000] {
            let mut bytes = sample.bytes.clone();
            bytes.resize(bytes.len() + extra, 0);
            assert_eq!(
                (sample.read)(&bytes, &key),
                Err(WireError::TrailingBytes(extra))
            );
            let (message, rest) = Message::parse(&bytes).unwrap();
            assert_eq!((message.header.kind, rest.len()), (sample.kind, extra));
        }
    }
}

#[test]
fn what_is_not_ours_is_said_so() {
    for bytes in [&b"T"[..], b"TSB", b"TSBC"] {
        assert!(matches!(
            Header::parse(bytes),
            Err(WireError::Truncated { .. })
        ));
    }
    for bytes in [
        &b"G"[..],
        b"GIF8",
        &[0; HEADER_BYTES],
        b"TSBX",
        &[0xff; 500],
    ] {
        assert_eq!(Header::parse(bytes), Err(WireError::Magic));
    }
}

#[test]
fn unknown_versions_kinds_and_flags_are_named() {
    let key = key();
    for sample in samples() {
        let read = |at, byte: u8| (sample.read)(&patched(&sample.bytes, at, &[byte]), &key);
        for version in [0, 2, 255] {
            let error = read(4, version).unwrap_err();
            assert_eq!(error, WireError::Version(version.into()));
            assert!(error.to_string().contains(&format!("version {version} ")));
        }
        assert_eq!(read(5, 1), Err(WireError::Version(257)));
        for kind in [0, 19, 255] {
            let error = read(6, kind).unwrap_err();
            assert_eq!(error, WireError::UnknownKind(kind));
            assert!(error.to_string().contains(&format!("kind {kind} ")));
        }
        let flags = sample.bytes[7];
        for bit in (0..8).map(|i| 1 << i).filter(|bit| flags & bit == 0) {
            let error = read(7, flags | bit).unwrap_err();
            assert_eq!(error, WireError::Flags(bit));
            assert!(error.to_string().contains(&format!("{bit:#04x}")));
        }
        if flags & FLAG_SEEDED != 0 {
            assert_eq!(read(7, 0), Err(WireError::Field("flags")));
        }
        let mask_bits = match sample.kind {
            // Answers may have any number of bits that their torus has.
            Kind::PackedList | Kind::CutLweList => Some(33),
            Kind::CompactValues | Kind::LinearBodies | Kind::DeviceBodies => Some(65),
            // The engine knows which numbers a bootstrapping key may have.
            Kind::ServerKey => None,
            _ => Some(1),
        };
        if let Some(bits) = mask_bits {
            assert_eq!(read(54, bits), Err(WireError::Field("mask bits")));
        }
        assert_eq!(read(55, 1), Err(WireError::Field("reserved")));
        assert_eq!(read(50, 3), Err(WireError::Field("plaintext kind")));
        assert_eq!(
            read(51, 7),
            Err(WireError::Expander(UnsupportedExpander::Unknown(7)))
        );
    }
}

#[test]
fn a_message_of_one_kind_is_not_read_as_another() {
    let key = key();
    let samples = samples();
    for given in samples {
        for wanted in samples.iter().filter(|wanted| wanted.kind != given.kind) {
            let error = (wanted.read)(&given.bytes, &key).unwrap_err();
            let expected = WireError::WrongKind {
                expected: wanted.kind,
                found: given.kind,
            };
            assert_eq!(error, expected);
            let text = error.to_string();
            assert!(
                text.contains(&given.kind.to_string()) && text.contains(&wanted.kind.to_string())
            );
        }
    }
}

#[test]
fn other_parameters_and_other_keys_are_refused() {
    let key = key();
    for sample in samples() {
        let other_parameters = forged(&sample.bytes, |header| header.parameters.0[0] ^= 1);
        let other_key = forged(&sample.bytes, |header| header.key.0[15] ^= 0x80);
        let refused = [other_parameters, other_key].map(|bytes| (sample.read)(&bytes, &key));
        match sample.kind {
            Kind::SeededGlweList
            | Kind::GlweList
            | Kind::SeededColumnList
            | Kind::ColumnList
            | Kind::CompactValues
            | Kind::PackedList
            | Kind::LinearBodies
            | Kind::DeviceBodies
            | Kind::CutLweList
            | Kind::LweList => assert!(matches!(
                refused,
                [
                    Err(WireError::WrongParameters { .. }),
                    Err(WireError::WrongKey { .. })
                ]
            )),
            // A key file is what says which key set it is.
            Kind::SecretKey | Kind::DevicePublicKey | Kind::Card => assert_eq!(
                refused,
                [Err(WireError::Field("parameter fingerprint")), Ok(())]
            ),
            // The key that devices share has the fingerprint of its key set.
            Kind::DeviceKey => {
                let binding = KeyBytes::parse_device_key(&sample.bytes).unwrap().binding;
                let other_key = match binding.issue {
                    Some(_) => Ok(()),
                    None => Err(WireError::Field("key set fingerprint")),
                };
                assert_eq!(
                    refused,
                    [Err(WireError::Field("parameter fingerprint")), other_key]
                );
            }
            // The engine's tests have the switch key and the packing key.
            Kind::Metadata | Kind::ServerKey | Kind::DeviceSwitchKey | Kind::PackingKey => (),
        }
    }
}

/// A binding says that the key is the key set's own, or whose it is: nothing between.
#[test]
fn half_a_binding_is_refused() {
    let key = key();
    let at = HEADER_BYTES + PARAMETERS_BYTES;
    let shared = key.device_key().to_bytes().unwrap();
    let issued = issued_device_key(&key).to_bytes().unwrap();
    let error = |bytes: &[u8], at, patch: &[u8]| {
        DeviceKey::from_bytes(&patched(bytes, at, patch)).map(drop)
    };
    let own = &Message::parse(&issued).unwrap().0.header.key.0;
    for (bytes, at, patch, field) in [
        (&shared, at, &[7; 16][..], "key set fingerprint"),
        (&shared, at + 16, b"pi", "epoch"),
        (&shared, at + 31, b"x", "epoch"),
        (&shared, at + 32, &[1], "device"),
        (&issued, at, own, "key set fingerprint"),
        (&issued, at + 16, &[0; 16], "device"),
        (&issued, at + 16, b"a b", "device"),
        (&issued, at + 31, b"x", "device"),
        (&issued, at + 32, &[0; 4], "epoch"),
        (&issued, at + 16, &[0; 20], "key set fingerprint"),
    ] {
        assert_eq!(error(bytes, at, patch), Err(WireError::Field(field)));
    }
    assert_eq!(error(&issued, at + 32, &[8, 0, 0, 1]), Ok(()));
    assert_eq!(error(&issued, at, &[7; 16]), Ok(()));
}

/// Every field behind the fingerprints but the expander and the seed of a seeded
/// message, which are the sender's choice, has one value that is right.
#[test]
fn forged_header_fields_are_refused() {
    type Change = fn(&mut Header);
    let changes: [(&str, Change); 17] = [
        ("polynomial size", |h| h.polynomial_size ^= 512),
        ("polynomial size", |h| h.polynomial_size = u32::MAX),
        ("dimension", |h| h.dimension += 1),
        ("dimension", |h| h.dimension = u32::MAX),
        ("torus bits", |h| h.torus_bits ^= 96),
        ("torus bits", |h| h.torus_bits = 255),
        ("body bits", |h| h.body_bits += 1),
        ("body bits", |h| h.body_bits = 255),
        ("plaintext kind", |h| {
            h.plaintext = Some(PlaintextKind::Boolean);
        }),
        ("message bits", |h| h.message_bits += 1),
        ("carry bits", |h| h.carry_bits = 255),
        ("element count", |h| h.element_count = u32::MAX),
        ("element count", |h| {
            h.element_count = MAX_ELEMENTS as u32 + 1;
        }),
        ("element count", |h| h.element_count += 256),
        ("mask seed", |h| h.mask_seed.0[31] = 1),
        ("expander", |h| h.expander = Some(ExpanderKind::ChaCha20)),
        ("expander", |h| h.expander = None),
    ];
    let key = key();
    for sample in samples() {
        let seeded = sample.bytes[7] & FLAG_SEEDED != 0;
        for (field, change) in changes {
            let bytes = forged(&sample.bytes, change);
            let free = seeded && (field == "mask seed" || (field == "expander" && bytes[51] == 1));
            // Its other fields are for the engine, which reads its payload, to check.
            let engine = sample.kind == Kind::ServerKey
                && ["polynomial size", "dimension", "torus bits", "body bits"].contains(&field);
            if bytes == sample.bytes || free || engine {
                continue;
            }
            match (sample.read)(&bytes, &key) {
                Err(WireError::Field(found)) => assert_eq!(found, field, "{}", sample.kind),
                // Packed and cut answers have shapes and bits of their own.
                Err(WireError::PayloadLength { .. })
                    if matches!(sample.kind, Kind::PackedList | Kind::CutLweList) =>
                {
                    assert!(["dimension", "body bits", "element count"].contains(&field));
                }
                Err(WireError::PayloadLength { .. }) => assert_eq!(field, "element count"),
                other => panic!("{} with another {field}: {other:?}", sample.kind),
            }
        }
    }
}

#[test]
fn element_counts_at_the_limits() {
    let key = key();
    let with_count = |count| forged(&seeded_list(&key, 3), |header| header.element_count = count);
    let refused = Err(WireError::Field("element count"));
    assert_eq!(read_seeded_list(&with_count(0), &key), refused);
    assert_eq!(
        read_seeded_list(&with_count(MAX_ELEMENTS as u32 + 1), &key),
        refused
    );
    assert!(matches!(
        read_seeded_list(&with_count(MAX_ELEMENTS as u32), &key),
        Err(WireError::PayloadLength { found: 5, .. })
    ));
    assert_eq!(
        read_seeded_list(&seeded_list(&key, MAX_ELEMENTS), &key),
        Ok(())
    );
    assert!(message_len(usize::MAX, 256, 64) >= usize::MAX / 64);

    let with_count = |count| forged(&masked_list(&key, 3), |header| header.element_count = count);
    for count in [0, MAX_ELEMENTS as u32 + 1] {
        assert_eq!(read_masked_list(&with_count(count), &key), refused);
    }
    assert!(matches!(
        read_masked_list(&with_count(257), &key),
        Err(WireError::PayloadLength { .. })
    ));
}

#[test]
fn forged_payload_lengths_are_refused() {
    let key = key();
    for sample in samples() {
        let len = (sample.bytes.len() - ENVELOPE_BYTES) as u64;
        for forged in [u64::MAX, u64::MAX - 103, 1 << 63, 1 << 32, len + 1] {
            let bytes = patched(&sample.bytes, 92, &forged.to_le_bytes());
            assert!(matches!(
                (sample.read)(&bytes, &key),
                Err(WireError::Truncated { expected, .. }) if expected >= forged
            ));
        }
        // A payload cut or grown with everything sealed again.
        let Message { header, payload } = Message::parse(&sample.bytes).unwrap().0;
        for payload in [
            &payload[..payload.len() - 1],
            &[payload, &[0]].concat(),
            &[],
        ] {
            let refused = (sample.read)(&resealed(&header, payload), &key);
            let is_cut = payload.len() < sample.bytes.len() - ENVELOPE_BYTES;
            if payload.is_empty() && is_column_list(sample.kind) {
                // The table is not there either.
                assert_eq!(refused, Err(WireError::Field("number of segments")));
            } else if is_cut && matches!(sample.kind, Kind::LinearBodies | Kind::DeviceBodies) {
                // Where the bodies begin follows from the numbers before them.
                assert_eq!(refused, Err(WireError::Field("length of the bodies")));
            } else if !matches!(sample.kind, Kind::Metadata | Kind::ServerKey) {
                assert!(
                    matches!(refused, Err(WireError::PayloadLength { .. })),
                    "{refused:?}"
                );
            }
        }
    }
}

#[test]
fn padding_is_zero() {
    let key = key();
    for sample in samples() {
        // 13-bit bodies leave one bit behind 3 of them, 70 coefficients two, 18-bit bodies four behind 1, 35-bit
        // bodies five behind 1 and seven behind 3, and 5-bit bodies one behind 3.
        if matches!(
            sample.kind,
            Kind::SeededGlweList
                | Kind::GlweList
                | Kind::SeededColumnList
                | Kind::ColumnList
                | Kind::CompactValues
                | Kind::PackedList
                | Kind::LinearBodies
                | Kind::DeviceBodies
                | Kind::SecretKey
        ) {
            let last = sample.bytes.len() - CHECKSUM_BYTES - 1;
            let bytes = patched(&sample.bytes, last, &[sample.bytes[last] | 0x80]);
            assert_eq!(
                (sample.read)(&bytes, &key),
                Err(WireError::Field("padding"))
            );
        }
    }
}

fn is_column_list(kind: Kind) -> bool {
    matches!(kind, Kind::SeededColumnList | Kind::ColumnList)
}

/// A secret key whose small key is of blocks of 3: of 72 coefficients 18 may be 1, one in
/// each block.
#[test]
fn small_keys_that_are_not_of_their_blocks_are_refused() {
    let key = common::secret_key(common::FROZEN_BOOLEAN, 2);
    let bytes = key.to_bytes().unwrap();
    let at = bytes.len() - CHECKSUM_BYTES - 9;
    let read = |small: &[u8; 9]| SecretKey::from_bytes(&patched(&bytes, at, small)).map(drop);
    assert_eq!(read(&[0; 9]), Ok(()));
    assert_eq!(
        read(&[0b11, 0, 0, 0, 0, 0, 0, 0, 0]),
        Err(WireError::Field("small key blocks"))
    );
    // 18 blocks with a 1, then one more.
    let (mut small, mut blocks) = ([0; 9], 0..19);
    for block in blocks.by_ref().take(18) {
        small[3 * block / 8] |= 1 << (3 * block % 8);
    }
    assert_eq!(read(&small), Ok(()));
    for block in blocks {
        small[3 * block / 8] |= 1 << (3 * block % 8);
    }
    assert_eq!(read(&small), Err(WireError::Field("small key weight")));
}

#[test]
fn damaged_parameters_are_refused_or_give_another_fingerprint() {
    let good = FROZEN_RADIX.validate().unwrap();
    for bit in 0..PARAMETERS_BYTES * 8 {
        let mut bytes = good.to_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(read) = Parameters::from_bytes(&bytes) {
            assert_ne!(read.fingerprint(), good.fingerprint(), "bit {bit}");
            assert_eq!(read.to_bytes(), bytes, "bit {bit}");
        }
    }
}

fn read_as_everything(bytes: &[u8], key: &SecretKey) {
    for sample in samples() {
        let _ = (sample.read)(bytes, key);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        read_as_everything(&bytes, &key());
    }

    #[test]
    fn no_sealed_message_makes_a_reader_panic(
        kind in 1u8..=17,
        fields in proptest::collection::vec(any::<u8>(), 20),
        ours in any::<bool>(),
        payload in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let key = key();
        let mut bytes = resealed(
            &Header::new(Kind::Metadata, key.parameters().fingerprint(), key.fingerprint()),
            &payload,
        );
        bytes[7] = u8::from([2, 6, 7, 9, 11, 14].contains(&kind)) * FLAG_SEEDED;
        if !ours {
            bytes[8..40].copy_from_slice(&[fields[0]; 32]);
        }
        bytes[40..60].copy_from_slice(&fields);
        // Values that pass the first checks.
        bytes[50] %= 3;
        bytes[51] %= 3;
        bytes[54] = if [8, 12, 13, 15, 16, 17].contains(&kind) { fields[14] } else { 0 };
        bytes[55] = 0;
        read_as_everything(&patched(&bytes, 6, &[kind]), &key);
    }

    /// The header is right, so that readers come to the changed bytes.
    #[test]
    fn no_change_of_a_payload_makes_a_reader_panic(
        sample in 0..samples().len(),
        at in any::<prop::sample::Index>(),
        removed in 0usize..8,
        added in proptest::collection::vec(any::<u8>(), 0..8),
        element_count in prop::option::of(any::<u32>()),
    ) {
        let sample = &samples()[sample];
        let Message { mut header, payload } = Message::parse(&sample.bytes).unwrap().0;
        let mut payload = payload.to_vec();
        let at = at.index(payload.len());
        let end = payload.len().min(at + removed);
        payload.splice(at..end, added);
        if header.element_count > 0 {
            header.element_count = element_count.unwrap_or(header.element_count);
        }
        let _ = (sample.read)(&resealed(&header, &payload), &key());
    }

    #[test]
    fn no_key_payload_makes_a_reader_panic(
        kind in prop::sample::select(vec![Kind::DeviceKey, Kind::SecretKey, Kind::DevicePublicKey]),
        at in 0..PARAMETERS_BYTES,
        bytes in proptest::collection::vec(any::<u8>(), 0..16),
    ) {
        let key = key();
        let mut parameters = key.parameters().to_bytes();
        for (place, byte) in parameters[at..].iter_mut().zip(bytes) {
            *place = byte;
        }
        let mut header = Header::new(kind, key.parameters().fingerprint(), key.fingerprint());
        header.parameters.0.copy_from_slice(&blake3::hash(&parameters).as_bytes()[..16]);
        read_as_everything(&resealed(&header, &[&parameters[..], &[0; 77]].concat()), &key);
    }
}
