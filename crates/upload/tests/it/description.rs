//! The descriptions that devices write, as a server reads them.

use tfhe_sbc_core::parameter_sets::{BOOLEAN_1024, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::{Message, WireError};
use tfhe_sbc_device::{
    BodyRounding, Column, CompactEncoding, Derived, Description, DeviceError, FixedPoint,
    MAX_PIECE_BYTES, SinkError,
};
use tfhe_sbc_upload::derived;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::{self, ReadingsMetadata};

const KEY: KeyFingerprint = KeyFingerprint([7; 16]);

fn parameters() -> Parameters {
    MESSAGE_2_CARRY_2.validate().unwrap()
}

/// Squares of codes of at most 20 bits, and flags from these codes on, if there are any.
fn derived(square: bool, from: &[u64]) -> derived::Derived {
    let form = |body_bits, feedback| readings::Compact {
        headroom: 4,
        body_bits,
        feedback,
    };
    derived::Derived {
        square: square.then(|| form(56, false)),
        flags: (!from.is_empty()).then(|| derived::Flags {
            from: from.to_vec(),
            compact: form(22, true),
        }),
        valid: None,
    }
}

fn metadata(columns: usize, rows: usize) -> ReadingsMetadata {
    let long = "\u{1f321}".repeat(readings::MAX_TEXT);
    let column = |i: usize| readings::Column {
        name: format!("column_{i}"),
        unit: if i == 1 { long.clone() } else { "°C".into() },
        offset: -50.25 - i as f64,
        scale: 0.1,
        bits: 1 + i as u32 % if i % 4 > 1 { 40 } else { 52 },
        // Radix blocks, either rounding, and numbers of one byte and of two in CBOR.
        compact: (i % 4 > 1).then_some(readings::Compact {
            headroom: 3 + i as u32 % 2,
            body_bits: 56,
            feedback: i.is_multiple_of(2),
        }),
        // The derived columns of some compact columns: squares, flags at numbers of all lengths in
        // CBOR, or both.
        derived: match i {
            2 => derived(true, &[]),
            6 => derived(false, &[1]),
            10 => derived(true, &[23, 24, 255]),
            14 => derived(false, &[1, 255, 256, 1000]),
            _ => derived::Derived::default(),
        },
    };
    ReadingsMetadata {
        columns: (0..columns).map(column).collect(),
        rows: (0..rows).map(|i| "x".repeat(i % 65)).collect(),
        gaps: Default::default(),
    }
}

fn columns(of: &ReadingsMetadata) -> impl Iterator<Item = Column<'_>> + Clone {
    of.columns.iter().map(|column| Column {
        name: &column.name,
        unit: &column.unit,
        encoding: column.fixed_point().unwrap(),
        compact: column
            .compact
            .map(|compact| compact.encoding(column.bits).unwrap()),
        derived: Derived {
            square: column
                .derived
                .square
                .map(|form| form.encoding(2 * column.bits).unwrap()),
            flags: column
                .derived
                .flags
                .as_ref()
                .map(|flags| (&flags.from[..], flags.compact.encoding(1).unwrap())),
        },
    })
}

fn rows(of: &ReadingsMetadata) -> impl Iterator<Item = &str> + Clone {
    of.rows.iter().map(String::as_str)
}

/// The sizes are those at which the numbers of CBOR get longer.
#[test]
fn a_server_reads_what_a_device_describes() {
    for (n, m) in [
        (1, 1),
        (2, 23),
        (23, 24),
        (24, 255),
        (255, 256),
        (256, 65536 / 40),
    ] {
        let expected = metadata(n, m);
        expected.check().unwrap();
        let description =
            Description::new(&parameters(), KEY, columns(&expected), rows(&expected)).unwrap();
        let mut message = vec![0x5a; description.len() + 1];
        assert_eq!(description.write(&mut message), Ok(description.len()));
        assert_eq!(message.pop(), Some(0x5a));
        let (parsed, rest) = Message::parse(&message).unwrap();
        assert!(rest.is_empty());
        parsed
            .header
            .check_belongs(parameters().fingerprint(), KEY)
            .unwrap();
        assert_eq!(
            metadata::read::<ReadingsMetadata>(parsed).unwrap(),
            expected
        );

        let mut streamed = Vec::new();
        let len = description.write_to(&mut |piece| {
            assert!(piece.len() <= MAX_PIECE_BYTES);
            streamed.extend_from_slice(piece);
            Ok(())
        });
        assert_eq!((len, streamed), (Ok(message.len()), message.clone()));
        let found = message.len() - 1;
        let short = description.write(&mut message[..found]);
        let needed = description.len();
        assert_eq!(
            short,
            Err(WireError::BufferTooSmall { needed, found }.into())
        );
        let full = SinkError("full");
        let failed = description.write_to(&mut |_| Err(full));
        assert_eq!(failed, Err(DeviceError::Sink(full)));
    }
}

/// A device refuses what the server would refuse.
#[test]
fn what_no_server_takes_is_not_described() {
    let good = metadata(2, 2);
    let describe = |metadata: &ReadingsMetadata| {
        let refused = metadata.check().is_err();
        let result = Description::new(&parameters(), KEY, columns(metadata), rows(metadata));
        assert_eq!(result.is_err(), refused, "{metadata:?}");
        result.map(|_| ())
    };
    assert_eq!(describe(&good), Ok(()));
    let changes: [fn(&mut ReadingsMetadata); 10] = [
        |m| m.columns.clear(),
        |m| m.columns = metadata(257, 1).columns,
        |m| m.rows.clear(),
        |m| m.rows[1] = "y".repeat(65),
        |m| m.rows[0] = "a\nb".to_owned(),
        |m| m.columns[1].unit = "y".repeat(65),
        |m| m.columns[1].name = m.columns[0].name.clone(),
        |m| m.columns[1].name.clear(),
        |m| m.columns[1].name = "z".repeat(65),
        |m| m.columns[1].name = "a b".to_owned(),
    ];
    for change in changes {
        let mut bad = good.clone();
        change(&mut bad);
        assert!(matches!(describe(&bad), Err(DeviceError::Description(_))));
    }
    let good = metadata(15, 2);
    assert_eq!(describe(&good), Ok(()));
    let changes: [fn(&mut ReadingsMetadata); 4] = [
        |m| m.columns[0].derived = derived(true, &[]),
        |m| m.columns[6].derived = derived(false, &[0]),
        |m| m.columns[6].derived = derived(false, &[3, 3]),
        |m| m.columns[6].derived = derived(false, &[3, 128]),
    ];
    for change in changes {
        let mut bad = good.clone();
        change(&mut bad);
        assert!(matches!(describe(&bad), Err(DeviceError::Description(_))));
    }
    // Too large as a whole, which the server sees before it reads.
    let row = "z".repeat(64);
    let many = std::iter::repeat_n(row.as_str(), metadata::MAX_METADATA_BYTES / 64);
    let result = Description::new(&parameters(), KEY, columns(&good), many);
    assert!(matches!(result, Err(DeviceError::Description(_))));
    let booleans = BOOLEAN_1024.validate().unwrap();
    let result = Description::new(&booleans, KEY, columns(&good), rows(&good));
    assert_eq!(result.err(), Some(DeviceError::PlaintextKind));
    assert!(FixedPoint::new(0.0, 0.0, 1).is_err());
    // A compact form of another width than its column's.
    let compact = CompactEncoding::new(12, 4, 20, BodyRounding::Nearest).unwrap();
    let column = Column {
        name: "a",
        unit: "",
        encoding: FixedPoint::new(0.0, 1.0, 10).unwrap(),
        compact: Some(compact),
        derived: Derived::default(),
    };
    let result = Description::new(&parameters(), KEY, [column].into_iter(), rows(&good));
    let expected = DeviceError::CodeWidth {
        compact: 12,
        fixed_point: 10,
    };
    assert_eq!(result.err(), Some(expected));
}
