//! The wire format: files of all kinds, and the messages that a server and a key owner receive.

use std::sync::OnceLock;

use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::device_public_key::DevicePublicKey;
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::packing::PackingSecret;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_core::wire::cut::CutList;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_core::wire::public_key::PublicKeyBytes;
use tfhe_sbc_core::wire::{Kind, Message, bodies, values};
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;
use tfhe_sbc_engine::packing_key::SeededPackingKey;
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::request::Request;
use tfhe_sbc_query::results::{CompactPart, EncryptedAnswer, Meaning, Results};
use tfhe_sbc_upload::derived::{Derived, Flags, Validity};
use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsMetadata, Upload};
use tfhe_sbc_upload::short::{Definitions, ShortUpload, shorten};

use super::Target;
use crate::common::{
    FROZEN_BOOLEAN, FROZEN_PACKING, FROZEN_PUBLIC_RADIX, lwe_list, secret_key, seeds,
};
use crate::messages::with_checksums;
use crate::samples::answers::{
    PLAINTEXT_BITS, bodies_list, codes_list, cut_list, packed_list, seeded_masks, window,
};
use crate::samples::{column_list, key, masked_list, samples, seeded_list};

/// Any sequence of messages, each read as its kind.
pub(super) const FILE: Target = Target {
    name: "file",
    run: |bytes| {
        let bytes = with_checksums(bytes);
        // A packing key may follow a server key.
        if let Ok(key) = SeededServerKey::<u32>::from_bytes(&bytes) {
            assert!(key.to_bytes() == bytes);
        }
        let mut rest = &bytes[..];
        while let Ok((message, after)) = Message::parse(rest) {
            let (whole, _) = rest.split_at(rest.len() - after.len());
            // A message has one form only.
            let header = message.header.to_bytes(message.payload.len() as u64);
            assert!(whole.starts_with(&header));
            read(message, whole);
            rest = after;
        }
    },
    seeds: || {
        let mut files: Vec<_> = samples().iter().map(|s| s.bytes.clone()).collect();
        files.push(server_key());
        files.push(switch_key());
        files.push(upload(seeded_list));
        files.push(compact_upload(Kind::SeededColumnList));
        files
    },
};

fn read(message: Message<'_>, whole: &[u8]) {
    for sample in samples().iter().filter(|s| s.kind == message.header.kind) {
        let _ = (sample.read)(whole, known_key());
    }
    // Whatever is read is written as it was.
    if let Ok(key) = SecretKey::from_bytes(whole) {
        assert!(key.to_bytes().unwrap()[..] == *whole);
    }
    if let Ok(key) = DeviceKey::from_bytes(whole) {
        assert!(key.to_bytes().unwrap()[..] == *whole);
    }
    if PublicKeyBytes::parse(whole).is_ok() {
        let key = DevicePublicKey::from_bytes(whole).unwrap();
        assert!(key.to_bytes().unwrap() == whole);
    }
    if let Ok(key) = SeededServerKey::<u64>::from_bytes(whole) {
        assert!(key.to_bytes() == whole);
    }
    if let Ok(key) = SeededServerKey::<u32>::from_bytes(whole) {
        assert!(key.to_bytes() == whole);
    }
    if let Ok(key) = SeededDeviceSwitchKey::<u64>::from_bytes(whole) {
        assert!(key.to_bytes() == whole);
    }
    let _ = SeededDeviceSwitchKey::<u32>::from_bytes(whole);
    if let Ok(key) = SeededPackingKey::from_bytes(whole) {
        assert!(key.to_bytes() == whole);
    }
    let (parameters, fingerprint) = (known_key().parameters(), known_key().fingerprint());
    if let Ok(list) = PackedList::read(message, parameters, fingerprint) {
        assert!(list.write(parameters, fingerprint) == whole);
        // The secret of a large key takes long to derive.
        if list.polynomial_size().get() <= 1024 && list.len() <= 4096 {
            let values = PackingSecret::of_list(known_key(), &list).decrypt(&list);
            assert_eq!(values.len(), list.len());
        }
    }
    if let Ok(list) = CutList::read(message, parameters, fingerprint) {
        assert!(list.write(parameters, fingerprint) == whole);
        assert_eq!(list.decrypt(known_key()).len(), list.len());
    }
    let bits = u32::from(message.header.mask_bits);
    if let Ok(codes) = values::read(message, parameters, fingerprint) {
        let codes = codes.iter().map(|(count, ciphertext)| (*count, ciphertext));
        let codes: Vec<_> = codes.collect();
        assert!(values::write(parameters, fingerprint, bits, &codes) == whole);
    }
    if let Ok(sums) = bodies::read(message, parameters, fingerprint) {
        // The table of uploads may have more than the windows name, or one twice.
        let again = bodies::write(parameters, fingerprint, bits, &sums);
        let (again, rest) = Message::parse(&again).unwrap();
        assert!(rest.is_empty());
        assert!(bodies::read(again, parameters, fingerprint).as_ref() == Ok(&sums));
    }
    let _ = Request::read(message);
    let _ = Results::read(message);
    if let Ok(readings) = metadata::read::<ReadingsMetadata>(message) {
        let _ = readings.check();
    }
}

/// An upload, up to its LWE ciphertexts.
pub(super) const UPLOAD: Target = Target {
    name: "upload",
    run: |bytes| {
        let bytes = with_checksums(bytes);
        let (parameters, fingerprint) = (known_key().parameters(), known_key().fingerprint());
        let Ok(upload) = Upload::parse(&bytes, parameters, fingerprint) else {
            return;
        };
        let encoding = parameters.block_encoding();
        let rows = upload.metadata.rows.len();
        let last = upload.metadata.columns.len() - 1;
        let blocks = upload.metadata.blocks_of(encoding, last, rows - 1);
        let count = upload.list.element_count();
        let derived = upload.metadata.columns[last].derived.count();
        assert_eq!(blocks.end + derived * rows, count);
        // Few suffice to see whether they are where they should be.
        if count <= 1024 {
            let expanded = ExpandedGlweList::<u64>::expand(&upload.list, parameters);
            assert_eq!(
                expanded.extract(blocks.clone()).unwrap().len(),
                blocks.len()
            );
            assert!(expanded.extract(0..count + 1).is_none());
        }
    },
    seeds: || {
        vec![
            upload(seeded_list),
            upload(masked_list),
            compact_upload(Kind::SeededColumnList),
            compact_upload(Kind::ColumnList),
        ]
    },
};

/// Short uploads, which a server restores with definitions that it knows.
pub(super) const SHORT_UPLOAD: Target = Target {
    name: "short_upload",
    run: |bytes| {
        let definitions = known_definitions();
        let Ok(short) = ShortUpload::parse(bytes) else {
            return;
        };
        let Ok(restored) = short.restore(definitions) else {
            return;
        };
        assert_eq!(Definitions::of(&restored).as_ref(), Some(definitions));
        let again = shorten(&restored).map(|again| again.bytes);
        assert_eq!(again.as_deref(), Some(bytes));
        let restored = with_checksums(&restored);
        let _ = Upload::parse(
            &restored,
            known_key().parameters(),
            known_key().fingerprint(),
        );
    },
    seeds: || {
        let whole = compact_upload(Kind::SeededColumnList);
        shorten(&whole)
            .map(|short| short.bytes)
            .into_iter()
            .collect()
    },
};

/// Questions to a server.
pub(super) const REQUEST: Target = Target {
    name: "request",
    run: |bytes| {
        let bytes = with_checksums(bytes);
        let (parameters, fingerprint) = (known_key().parameters(), known_key().fingerprint());
        if let Ok(parsed) = Request::parse(&bytes, parameters, fingerprint) {
            for (_, question) in &parsed.request.questions {
                let _ = question.check(&readings(parameters.block_encoding()));
                question.public_text();
                question.columns();
            }
        }
    },
    seeds: || {
        let (parameters, fingerprint) = (known_key().parameters(), known_key().fingerprint());
        let readings = readings(parameters.block_encoding());
        let requests = super::texts::QUESTIONS.iter().filter_map(|text| {
            let question: Question = text.parse().ok()?;
            Request::seal(
                &[question],
                &readings,
                parameters,
                fingerprint,
                Some(&mut |values| {
                    let count = values.iter().map(|value| value.len()).sum();
                    Ok(seeded_list(known_key(), count))
                }),
            )
            .ok()
        });
        requests.collect()
    },
};

/// A result that a key owner decrypts.
pub(super) const RESULT: Target = Target {
    name: "result",
    run: |bytes| {
        let bytes = with_checksums(bytes);
        let (parameters, fingerprint) = (known_key().parameters(), known_key().fingerprint());
        let parsed = Results::parse(&bytes, parameters, fingerprint);
        let decrypted = Results::decrypt(&bytes, known_key());
        assert_eq!(parsed.is_ok(), decrypted.is_ok());
        let (Ok((results, parts)), Ok(decryption)) = (parsed, decrypted) else {
            return;
        };
        assert_eq!(parts.len(), results.answers.len());
        assert_eq!(decryption.bootstraps, results.bootstraps);
        // Each answer has its place, also those that cannot be read.
        let names = decryption.answers.iter().map(|answer| match answer {
            Ok(answer) => &answer.name,
            Err(unreadable) => &unreadable.name,
        });
        assert!(names.eq(results.answers.iter().map(|answer| &answer.name)));
        assert!(serde_json::to_string(&decryption).is_ok());
    },
    seeds: || {
        let meanings = [
            Meaning::Reading(level()),
            Meaning::Range(level()),
            Meaning::Sum(level(), 2),
            Meaning::Mean(level(), 2),
        ];
        let results = meanings.into_iter().map(|meaning| {
            let list = lwe_list(known_key(), &[1, 2, 3, 3], 5);
            result(vec![answer(4, meaning)], &[list])
        });
        let results = results.chain(short_results()).chain(compact_results());
        // A first input that is no result would find nothing.
        results
            .inspect(|result| assert!(Results::decrypt(result, known_key()).is_ok()))
            .collect()
    },
};

/// A result of these answers, in these lists.
fn result(answers: Vec<EncryptedAnswer>, lists: &[Vec<u8>]) -> Vec<u8> {
    let (parameters, fingerprint) = (known_key().parameters(), known_key().fingerprint());
    let results = Results::new(answers, 7);
    let mut bytes = metadata::write(parameters.fingerprint(), fingerprint, &results).unwrap();
    bytes.extend(lists.concat());
    bytes
}

fn answer(blocks: u32, meaning: Meaning) -> EncryptedAnswer {
    EncryptedAnswer {
        name: "of level".to_owned(),
        group: None,
        blocks,
        compact: Vec::new(),
        joined: false,
        meaning,
    }
}

/// Results whose blocks are packed or cut: a reading, and rows of which two share a block.
fn short_results() -> [Vec<u8>; 2] {
    let rows = ["2025-01-31", "2025-02-01", "2025-02-02"].map(str::to_owned);
    let joined = EncryptedAnswer {
        joined: true,
        ..answer(2, Meaning::Rows(rows.to_vec()))
    };
    let answers = vec![answer(4, Meaning::Reading(level())), joined];
    [
        packed_list(known_key(), &FROZEN_PACKING, &[1, 2, 3, 0, 3, 1]),
        cut_list(known_key(), &[1, 2, 3, 0, 3, 1]),
    ]
    .map(|list| result(answers.clone(), &[list]))
}

/// Results whose answers are compact codes: with their masks, without them, and both.
fn compact_results() -> [Vec<u8>; 3] {
    let encoding = known_key().parameters().block_encoding();
    let sum = |bits: u32, bodies: bool| {
        let blocks = encoding.block_count(bits) as u32;
        EncryptedAnswer {
            compact: vec![CompactPart {
                first_block: 0,
                codes: 1,
                bits,
                plaintext_bits: PLAINTEXT_BITS,
                ciphertexts: 1,
                noise: -60.0,
                bodies,
            }],
            ..answer(blocks, Meaning::Sum(level(), 2))
        }
    };
    let codes = codes_list(known_key(), &[&[200]]);
    let windows = vec![window(seeded_masks(ExpanderKind::ChaCha20, 7), 3, 2, 1)];
    let bodies = bodies_list(known_key(), &[(1, windows)]);
    [
        result(vec![sum(9, false)], &[codes.clone()]),
        result(vec![sum(11, true)], &[bodies.clone()]),
        result(vec![sum(11, true), sum(9, false)], &[bodies, codes]),
    ]
}

/// The definitions of one of the uploads.
fn known_definitions() -> &'static Definitions {
    static DEFINITIONS: OnceLock<Definitions> = OnceLock::new();
    DEFINITIONS.get_or_init(|| Definitions::of(&compact_upload(Kind::SeededColumnList)).unwrap())
}

/// The key set of the samples.
pub(super) fn known_key() -> &'static SecretKey {
    static KEY: OnceLock<SecretKey> = OnceLock::new();
    KEY.get_or_init(key)
}

/// The first column of the readings.
fn level() -> Column {
    readings(known_key().parameters().block_encoding())
        .columns
        .remove(0)
}

/// Two columns of radix blocks.
pub(super) fn readings(_: BlockEncoding) -> ReadingsMetadata {
    let column = |name: &str, bits| Column {
        name: name.to_owned(),
        unit: "m".to_owned(),
        bits,
        offset: -5.0,
        scale: 0.25,
        compact: None,
        derived: Default::default(),
    };
    ReadingsMetadata {
        columns: vec![column("level", 8), column("depth", 5)],
        rows: vec!["1".to_owned(), "2".to_owned()],
        gaps: Default::default(),
    }
}

fn upload(list: fn(&SecretKey, usize) -> Vec<u8>) -> Vec<u8> {
    let parameters = known_key().parameters();
    let readings = readings(parameters.block_encoding());
    let fingerprint = known_key().fingerprint();
    let mut bytes = metadata::write(parameters.fingerprint(), fingerprint, &readings).unwrap();
    let blocks = readings.block_count(parameters.block_encoding());
    bytes.extend_from_slice(&list(known_key(), blocks as usize));
    bytes
}

/// An upload with a compact column of either rounding, columns derived from one of them and a gap of the other that is told, between
/// columns of radix blocks.
fn compact_upload(kind: Kind) -> Vec<u8> {
    let parameters = known_key().parameters();
    let encoding = parameters.block_encoding();
    let mut readings = readings(encoding);
    for feedback in [false, true] {
        let form = |body_bits| Compact {
            headroom: 6,
            body_bits,
            feedback,
        };
        let derived = Derived {
            square: Some(form(30)),
            flags: Some(Flags {
                from: vec![3, 200],
                compact: form(14),
            }),
            valid: Some(Validity::Encrypted(form(14))),
        };
        let compact = Column {
            name: format!("compact_{feedback}"),
            compact: Some(form(22)),
            derived: if feedback {
                derived
            } else {
                Derived {
                    valid: Some(Validity::Clear),
                    ..Derived::default()
                }
            },
            ..readings.columns[0].clone()
        };
        readings.columns.insert(1, compact);
    }
    readings.gaps.add("compact_false", 1..2);
    let fingerprint = known_key().fingerprint();
    let mut bytes = metadata::write(parameters.fingerprint(), fingerprint, &readings).unwrap();
    let segments = readings.segments(encoding, readings.rows.len()).unwrap();
    bytes.extend_from_slice(&column_list(known_key(), kind, &segments));
    bytes
}

/// A server key of the smaller parameter set, with a packing key.
fn server_key() -> Vec<u8> {
    let secret = secret_key(FROZEN_BOOLEAN, 1);
    let packing = SeededPackingKey::generate(&secret, &FROZEN_PACKING, &mut seeds(6)).unwrap();
    SeededServerKey::<u32>::generate(&secret, &mut seeds(3), &|_| ())
        .unwrap()
        .with_packing_key(packing)
        .unwrap()
        .to_bytes()
}

fn switch_key() -> Vec<u8> {
    let secret = secret_key(FROZEN_PUBLIC_RADIX, 1);
    let issue = DeviceIssue {
        device: DeviceId::new("station-7"),
        epoch: Epoch::new(2).unwrap(),
    };
    let device = secret.issue_device_key(issue, &mut seeds(4)).unwrap();
    SeededDeviceSwitchKey::<u64>::generate(&secret, &device, &mut seeds(5))
        .unwrap()
        .to_bytes()
}
