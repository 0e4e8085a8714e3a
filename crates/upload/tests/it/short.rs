//! The short form of uploads: its bytes, that whole uploads come back exactly, and what is refused.

use proptest::prelude::*;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::{KeyFingerprint, ParameterFingerprint};
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed};
use tfhe_sbc_core::wire::{Header, Kind, WireError};
use tfhe_sbc_upload::derived::{Derived, Flags, Validity};
use tfhe_sbc_upload::gaps::Gaps;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsError, ReadingsMetadata, Upload};
use tfhe_sbc_upload::short::{
    Definitions, MAX_DEFINITIONS_BYTES, MAX_SHORT_BYTES, ShortError, ShortUpload, is_short, shorten,
};

const PARAMETERS: ParameterFingerprint = ParameterFingerprint([0xaa; 16]);
const KEY: KeyFingerprint = KeyFingerprint([0xbb; 16]);

fn column(name: &str) -> Column {
    Column {
        name: name.to_owned(),
        unit: "m".to_owned(),
        offset: -2.0,
        scale: 0.5,
        bits: 12,
        compact: Some(Compact {
            headroom: 10,
            body_bits: 31,
            feedback: true,
        }),
        derived: Derived::default(),
    }
}

fn metadata(columns: Vec<Column>, rows: &[&str]) -> ReadingsMetadata {
    let rows = rows.iter().map(|&row| row.to_owned()).collect();
    ReadingsMetadata {
        columns,
        rows,
        gaps: Default::default(),
    }
}

/// An upload with a list of this payload, which is no real one.
fn upload(metadata: &ReadingsMetadata, kind: Kind, seed: u8, payload: &[u8]) -> Vec<u8> {
    let mut upload = metadata::write(PARAMETERS, KEY, metadata).unwrap();
    let header = Header {
        polynomial_size: 2048,
        dimension: 1,
        torus_bits: 64,
        mask_bits: if kind == Kind::ColumnList { 43 } else { 0 },
        expander: (kind == Kind::SeededColumnList).then_some(ExpanderKind::Aes128Ctr),
        element_count: metadata.rows.len() as u32,
        mask_seed: MaskSeed([seed; 32]),
        ..Header::new(kind, PARAMETERS, KEY)
    };
    let mut list = vec![0; 100];
    list.extend_from_slice(payload);
    header.seal_vec(&mut list).unwrap();
    upload.extend_from_slice(&list);
    upload
}

fn example() -> Vec<u8> {
    let metadata = metadata(vec![column("level")], &["a", "b"]);
    upload(&metadata, Kind::SeededColumnList, 0x5e, &[0xd0; 5])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_bytes_of_a_short_upload_do_not_change() {
    let upload = example();
    let short = shorten(&upload).unwrap();
    let metadata_len = 104 + u64::from_le_bytes(upload[92..100].try_into().unwrap()) as usize;
    let list = &upload[metadata_len..];
    let expected = [
        "54534255",                         // TSBU
        "0100",                             // version 1
        "0500",                             // five bytes of row labels
        "22e4fe3b3e7856e7a5949d6649a8b277", // the id
        "14759f41",                         // checksum of the metadata
        "8261616162",                       // ["a", "b"]
        "02000000",                         // two elements
        &"5e".repeat(32),                   // the seed
        "d0d0d0d0d0",                       // the payload
        "05a08987",                         // its checksum
    ];
    assert_eq!(hex(&short.bytes), expected.concat());
    assert_eq!(short.bytes.len(), 28 + 5 + 36 + 9);
    // The definitions: the header up to the element count, and the columns.
    let definitions = Definitions::of(&upload).unwrap();
    assert_eq!(definitions.as_bytes()[..56], list[..56]);
    let columns = &definitions.as_bytes()[56..];
    let expected = [
        "81a6",
        "646e616d65656c6576656c",   // name: level
        "64756e6974616d",           // unit: m
        "666f6666736574f9c000",     // offset: -2.0
        "657363616c65f93800",       // scale: 0.5
        "64626974730c",             // bits: 12
        "67636f6d70616374a3",       // compact
        "6868656164726f6f6d0a",     // headroom: 10
        "69626f64795f62697473181f", // body_bits: 31
        "68666565646261636bf5",     // feedback: true
    ];
    assert_eq!(hex(columns), expected.concat());
}

#[test]
fn damaged_and_foreign_bytes_are_refused_or_restore_to_what_is_refused() {
    let upload = example();
    let short = shorten(&upload).unwrap().bytes;
    let definitions = Definitions::of(&upload).unwrap();
    let parse = |bytes: &[u8]| ShortUpload::parse(bytes).map(|short| short.definitions);
    // Cut at the end, fields are missing; what is left of the list is not seen here.
    for len in 4..28 + 5 + 36 + 4 {
        assert_eq!(parse(&short[..len]).err(), Some(ShortError::Truncated));
    }
    for bytes in [&short[..3], &upload, b""] {
        assert_eq!(parse(bytes).err(), Some(ShortError::Magic));
    }
    let with = |at: usize, byte: u8| {
        let mut bytes = short.clone();
        bytes[at] = byte;
        bytes
    };
    assert_eq!(parse(&with(4, 2)), Err(ShortError::Version(2)));
    assert_eq!(parse(&with(7, 1)), Err(ShortError::Truncated));
    let mut long = short.clone();
    long.resize(MAX_SHORT_BYTES + 1, 0);
    assert_eq!(parse(&long), Err(ShortError::TooLong(MAX_SHORT_BYTES + 1)));
    assert!(!is_short(&upload) && is_short(&short) && !is_short(&with(0, 0)));

    // Another id than that of the definitions.
    let forged = with(8, !short[8]);
    let refused = ShortUpload::parse(&forged).unwrap().restore(&definitions);
    let expected = ShortUpload::parse(&forged).unwrap().definitions;
    let found = definitions.id();
    assert_eq!(
        refused,
        Err(ShortError::OtherDefinitions { expected, found })
    );

    // A flipped bit anywhere else is in the restored bytes, where a checksum notices it.
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    for at in (24..short.len()).chain([6]) {
        let damaged = with(at, short[at] ^ 1);
        let Ok(damaged) = ShortUpload::parse(&damaged) else {
            continue;
        };
        let restored = damaged.restore(&definitions).unwrap();
        assert_ne!(restored, upload);
        let header = Header::parse(&restored).unwrap();
        assert_eq!(header.0.kind, Kind::Metadata);
        let first = tfhe_sbc_core::wire::Message::parse(&restored);
        let second = first.and_then(|(_, rest)| tfhe_sbc_core::wire::Message::parse(rest));
        assert!(second.is_err(), "byte {at}");
        assert!(Upload::parse(&restored, &parameters, KEY).is_err());
    }
    // A program that knows no short form takes it for something else.
    let refused = Upload::parse(&short, &parameters, KEY).err().unwrap();
    assert!(matches!(refused, ReadingsError::Wire(WireError::Magic)));
}

#[test]
fn definitions_belong_to_columns_parameters_and_key() {
    let id = |upload: &[u8]| shorten(upload).unwrap().definitions;
    let one = metadata(vec![column("level")], &["a", "b"]);
    let kind = Kind::SeededColumnList;
    let first = id(&upload(&one, kind, 1, &[1; 9]));
    // Rows, seeds and ciphertexts are an upload's own.
    let more = metadata(vec![column("level")], &["c", "d", "e"]);
    assert_eq!(id(&upload(&more, kind, 2, &[2; 90])), first);
    // Everything else is in the id.
    let mut wider = column("level");
    wider.bits = 13;
    let mut others = vec![
        id(&upload(&metadata(vec![wider], &["a"]), kind, 1, &[1; 9])),
        id(&upload(
            &metadata(vec![column("flow")], &["a"]),
            kind,
            1,
            &[1; 9],
        )),
        id(&upload(&one, Kind::ColumnList, 0, &[1; 9])),
    ];
    let bytes = Definitions::of(&upload(&one, kind, 1, &[1; 9])).unwrap();
    for at in [8, 23, 24, 39, 40, 55, 56, bytes.as_bytes().len() - 1] {
        let mut changed = bytes.as_bytes().to_vec();
        changed[at] ^= 1;
        others.push(Definitions::from_bytes(changed).unwrap().id());
    }
    for (place, other) in others.iter().enumerate() {
        assert_ne!(*other, first, "{place}");
        assert!(!others[..place].contains(other), "{place}");
    }
}

#[test]
fn what_has_no_short_form_stays_whole() {
    let good = example();
    assert!(shorten(&good).is_some());
    let (metadata_len, mut damaged) = (Header::parse(&good).unwrap().1, good.clone());
    let list = 104 + metadata_len as usize;
    // A list by itself, metadata by itself, bytes behind the list, a header that contradicts the
    // metadata's, a length that is not the payload's, and a request.
    assert_eq!(shorten(&good[list..]), None);
    assert_eq!(shorten(&good[..list]), None);
    assert_eq!(shorten(&[&good[..], b"?"].concat()), None);
    damaged[list + 30] ^= 1;
    assert_eq!(shorten(&damaged), None);
    damaged = good.clone();
    damaged[list + 92] ^= 1;
    assert_eq!(shorten(&damaged), None);
    let request = metadata::write(PARAMETERS, KEY, &("columns", 1)).unwrap();
    assert_eq!(shorten(&[&request, &good[list..]].concat()), None);
    for len in 0..good.len() {
        assert_eq!(shorten(&good[..len]), None, "{len}");
    }
    // Too long: definitions that no server keeps, and uploads with little to gain.
    let many: Vec<_> = (0..256).map(|i| column(&format!("column_{i}"))).collect();
    let wide = upload(&metadata(many, &["a"]), Kind::SeededColumnList, 1, &[1; 9]);
    assert!(Definitions::of(&wide).is_none() && shorten(&wide).is_none());
    let large = |len: usize| {
        let one = metadata(vec![column("level")], &["a"]);
        upload(&one, Kind::SeededColumnList, 1, &vec![1; len])
    };
    let fits = MAX_SHORT_BYTES - 28 - 3 - 36 - 4;
    assert_eq!(shorten(&large(fits)).unwrap().bytes.len(), MAX_SHORT_BYTES);
    assert_eq!(shorten(&large(fits + 1)), None);
    assert!(Definitions::of(&large(fits + 1)).is_some());
    for len in [0, 56, MAX_DEFINITIONS_BYTES + 1] {
        assert!(Definitions::from_bytes(vec![0; len]).is_none(), "{len}");
    }
}

/// Labels of the kinds that boards write: regular times, times that jitter, and any texts.
fn labels() -> impl Strategy<Value = Vec<String>> {
    let times = (0_u32..2_000_000_000, 1_u32..100_000, 0_u32..500).prop_flat_map(
        |(start, step, jitter)| {
            prop::collection::vec(0..=jitter, 1..60).prop_map(move |offsets| {
                let times = offsets.iter().zip(0_u32..);
                let seconds = times.map(|(&offset, row)| {
                    i64::from(start) * 1000
                        + i64::from(row) * i64::from(step) * 1000
                        + i64::from(offset)
                });
                let label = |ms: i64| {
                    let time = time::OffsetDateTime::from_unix_timestamp(ms / 1000).unwrap();
                    let (date, (hour, minute, second)) = (time.date(), time.to_hms());
                    format!("{date}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
                };
                seconds.map(label).collect()
            })
        },
    );
    let texts = prop::collection::vec("\\PC{0,20}", 1..20);
    prop_oneof![2 => times, 1 => texts]
}

fn columns() -> impl Strategy<Value = Vec<Column>> {
    let compact = || {
        let form = (1_u32..20, 8_u32..40, any::<bool>());
        form.prop_map(|(headroom, body_bits, feedback)| Compact {
            headroom,
            body_bits,
            feedback,
        })
    };
    let flags = (prop::collection::vec(any::<u64>(), 1..20), compact());
    let flags = flags.prop_map(|(from, compact)| Flags { from, compact });
    let optional = || prop::option::of(compact());
    let valid = prop_oneof![
        Just(None),
        Just(Some(Validity::Clear)),
        compact().prop_map(|form| Some(Validity::Encrypted(form))),
    ];
    let derived = (optional(), prop::option::of(flags), valid);
    let column = (
        "[a-z_0-9]{1,64}",
        "\\PC{0,8}",
        (any::<f64>(), any::<f64>()),
        1_u32..53,
        prop::option::of(compact()),
        derived.prop_map(|(square, flags, valid)| Derived {
            square,
            flags,
            valid,
        }),
    );
    let column = column.prop_map(
        |(name, unit, (offset, scale), bits, compact, derived)| Column {
            name,
            unit,
            offset,
            scale,
            bits,
            compact,
            derived,
        },
    );
    prop::collection::vec(column, 1..12)
}

proptest! {
    #[test]
    fn a_whole_upload_comes_back_exactly(
        columns in columns(),
        rows in labels(),
        masked in any::<bool>(),
        seed in any::<u8>(),
        payload in prop::collection::vec(any::<u8>(), 0..2000),
        missing in prop::collection::btree_set(0_usize..20, 0..6),
    ) {
        let mut gaps = Gaps::default();
        gaps.add("a", missing.into_iter());
        let kind = if masked { Kind::ColumnList } else { Kind::SeededColumnList };
        let seed = if masked { 0 } else { seed };
        let whole = upload(&ReadingsMetadata { columns, rows, gaps }, kind, seed, &payload);
        let short = shorten(&whole).unwrap();
        let definitions = Definitions::of(&whole).unwrap();
        prop_assert_eq!(short.definitions, definitions.id());
        // As the server keeps them.
        let kept = Definitions::from_bytes(definitions.as_bytes().to_vec()).unwrap();
        let restored = ShortUpload::parse(&short.bytes).unwrap().restore(&kept).unwrap();
        prop_assert_eq!(&restored, &whole);
        // A short upload leaves out the definitions and the metadata's header, except for an id and
        // lengths.
        let left_out = definitions.as_bytes().len() + 100 + 9 + 5 + 8;
        prop_assert_eq!(short.bytes.len() + left_out, whole.len() + 4 + 2 + 2 + 16);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let definitions = Definitions::of(&example()).unwrap();
        let with_id = [b"TSBU\x01\0\x02\0", &definitions.id().0[..], &bytes].concat();
        for bytes in [bytes.clone(), [b"TSBU\x01\0", &bytes[..]].concat(), with_id] {
            let _ = shorten(&bytes);
            if let Ok(short) = ShortUpload::parse(&bytes)
                && let Ok(restored) = short.restore(&definitions)
            {
                prop_assert!(restored.len() <= bytes.len() + definitions.as_bytes().len() + 200);
                // There is one short form of whatever comes out.
                let again = shorten(&restored).map(|again| again.bytes);
                prop_assert_eq!(again, Some(bytes));
            }
        }
    }
}
