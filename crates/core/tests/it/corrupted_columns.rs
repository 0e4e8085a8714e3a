//! Damaged and forged lists of columns: their segments and runs.

use tfhe_sbc_core::wire::columns::{MAX_SEGMENTS, Segment, payload_len, runs};
use tfhe_sbc_core::wire::glwe::MAX_ELEMENTS;
use tfhe_sbc_core::wire::{CHECKSUM_BYTES, HEADER_BYTES, Kind, WireError};

use crate::common::{self, FROZEN_RADIX, patched};
use crate::samples::{column_list, key, read_column_list, segments};

/// Each run ends with a byte of its own, whose unused bits are zero.
#[test]
fn padding_of_every_run_is_zero() {
    let key = key();
    let parameters = key.parameters();
    let of_segments = || segments().into_iter();
    let seeded = column_list(&key, Kind::SeededColumnList, &segments());
    let mut end = HEADER_BYTES + 2 + 8 * segments().len();
    for run in runs(parameters, of_segments()) {
        end += run.packed_len();
        let padding = run.packed_len() * 8 - run.count * run.body_bits as usize;
        for bit in 8 - padding..8 {
            let bytes = patched(&seeded, end - 1, &[1 << bit]);
            let refused = read_column_list(&bytes, Kind::SeededColumnList, &key);
            assert_eq!(refused, Err(WireError::Field("padding")), "{run:?}");
        }
        let last_used = patched(&seeded, end - 1, &[1 << (7 - padding)]);
        let read = read_column_list(&last_used, Kind::SeededColumnList, &key);
        assert_eq!(read, Ok(()), "{run:?}");
    }
    assert_eq!(end, seeded.len() - CHECKSUM_BYTES);
    let masked = payload_len(parameters, of_segments(), true);
    let seeded = payload_len(parameters, of_segments(), false);
    // Two ciphertexts of one mask polynomial of 35 bits a coefficient, 29 + 6.
    assert_eq!(masked - seeded, 2 * 256 * 35 / 8);
}

/// The table of segments: each field has one value that is right under these parameters and this
/// element count.
#[test]
fn forged_segment_tables_are_refused() {
    let key = key();
    let table = HEADER_BYTES + 2;
    // A segment is its count in 4 bytes, kind, body bits, bits, and headroom.
    let (compact, radix) = (table, table + 8);
    let changes: [(&str, usize, &[u8]); 18] = [
        ("number of segments", HEADER_BYTES, &[0, 0]),
        ("number of segments", HEADER_BYTES, &[1, 4]),
        ("number of segments", HEADER_BYTES, &[0xff, 0xff]),
        ("element count", compact, &[0; 4]),
        ("element count", compact, &[2]),
        ("element count", radix, &[6]),
        ("element count", compact, &[0xff; 4]),
        (
            "element count",
            compact,
            &(MAX_ELEMENTS as u32).to_le_bytes(),
        ),
        ("segment kind", compact + 4, &[0]),
        ("segment kind", compact + 4, &[1]),
        ("segment kind", radix + 4, &[5]),
        ("segment kind", radix + 4, &[255]),
        ("segment encoding", radix + 5, &[14]),
        ("segment encoding", radix + 6, &[1, 3]),
        // A body of 24 bits is no longer than a code with its headroom, 57 bits are too many.
        ("segment encoding", compact + 5, &[24]),
        ("segment encoding", compact + 5, &[57]),
        ("segment encoding", compact + 6, &[0]),
        ("segment encoding", compact + 7, &[19]),
    ];
    for kind in [Kind::SeededColumnList, Kind::ColumnList] {
        let good = column_list(&key, kind, &segments());
        for (field, at, bytes) in changes {
            let refused = read_column_list(&patched(&good, at, bytes), kind, &key);
            let expected = Err(WireError::Field(field));
            assert_eq!(refused, expected, "{kind}: {bytes:?} at {at}");
        }
        // The rounding is free, and wider bodies need more bytes.
        let nearest = patched(&good, compact + 4, &[3]);
        assert_eq!(read_column_list(&nearest, kind, &key), Ok(()));
        let wider = read_column_list(&patched(&good, compact + 5, &[30]), kind, &key);
        match kind {
            Kind::ColumnList => assert_eq!(wider, Err(WireError::Field("mask bits"))),
            _ => assert!(matches!(wider, Err(WireError::PayloadLength { .. }))),
        }
    }
}

#[test]
fn numbers_of_segments_at_the_limit() {
    let key = key();
    let [_, radix, compact] = segments();
    let one = |segment| Segment {
        count: 1,
        ..segment
    };
    for kind in [Kind::SeededColumnList, Kind::ColumnList] {
        for (len, expected) in [
            (MAX_SEGMENTS, Ok(())),
            (
                MAX_SEGMENTS + 1,
                Err(WireError::Field("number of segments")),
            ),
        ] {
            let segments = [one(radix), one(compact)];
            let segments: Vec<Segment> = segments.into_iter().cycle().take(len).collect();
            let list = column_list(&key, kind, &segments);
            assert_eq!(read_column_list(&list, kind, &key), expected, "{len}");
        }
        let all = Segment {
            count: MAX_ELEMENTS as u32,
            ..radix
        };
        let list = column_list(&key, kind, &[all]);
        assert_eq!(read_column_list(&list, kind, &key), Ok(()));
        let list = column_list(&key, kind, &[all, one(compact)]);
        let refused = read_column_list(&list, kind, &key);
        assert_eq!(refused, Err(WireError::Field("element count")));
    }
}

/// Sets for booleans, or over the 32-bit torus, have no lists of columns, and sets without public-key
/// uploads none with masks.
#[test]
fn sets_without_column_lists_refuse_them() {
    let radix = common::secret_key(FROZEN_RADIX, 1);
    let masked = column_list(&radix, Kind::ColumnList, &segments());
    assert_eq!(
        read_column_list(&masked, Kind::ColumnList, &radix),
        Err(WireError::Field("mask bits"))
    );
    let boolean = common::secret_key(common::FROZEN_BOOLEAN, 2);
    let seeded = column_list(&boolean, Kind::SeededColumnList, &segments());
    assert_eq!(
        read_column_list(&seeded, Kind::SeededColumnList, &boolean),
        Err(WireError::Field("kind"))
    );
}
