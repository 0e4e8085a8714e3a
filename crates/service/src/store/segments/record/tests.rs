#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use super::*;

const HEAD: Head = Head {
    number: 7,
    sequence: 1000,
    seconds: 1_800_000_000,
    nonce: *b"sixteen bytes...",
};

fn context() -> NumberedContext {
    NumberedContext {
        number: 3,
        context: Context {
            uploader: "hill".to_owned(),
            columns: vec!["t".to_owned(), "h".to_owned()],
            key: Some("k".to_owned()),
            epoch: Some(2),
            pads: None,
            definitions: Some(vec![1, 2, 3]),
        },
        model: Model {
            labels: b"from 10:00".to_vec(),
            list: vec![9],
        },
    }
}

fn upload(sequence: i64, payload: &[u8]) -> Upload {
    Upload {
        context: 3,
        sequence,
        created_at: 1_800_000_300,
        rows: 60,
        elements: None,
        span: Some(SpanMs {
            first: 1_799_996_400_000,
            last: 1_799_999_940_000,
        }),
        frame: None,
        is_undescribed: false,
        is_short: true,
        payload: payload.to_vec(),
    }
}

/// Records of all kinds.
fn all() -> Vec<Record> {
    let whole = Upload {
        elements: Some(7),
        span: Some(SpanMs {
            first: -5,
            last: 1_900_000_000_123,
        }),
        frame: Some(FrameMark {
            counter: 300,
            tag: 0x0102_0304_0506_0708,
        }),
        is_undescribed: true,
        is_short: false,
        ..upload(-2, b"whole")
    };
    let unlabelled = Upload {
        span: None,
        ..upload(i64::MAX, b"")
    };
    vec![
        Record::Context(context()),
        Record::Upload(upload(1001, b"payload")),
        Record::Upload(whole),
        Record::Upload(unlabelled),
        Record::Removed(Removal {
            id: [0xab; 32],
            sequence: 1001,
        }),
        Record::Frame(UsedFrame {
            context: 3,
            mark: FrameMark {
                counter: u32::MAX,
                tag: 1,
            },
            readings: [0xcd; 32],
        }),
    ]
}

/// A segment, and where its records end.
fn segment(records: &[Record]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = HEAD.to_bytes().to_vec();
    let ends = records.iter().map(|record| {
        record.write(&HEAD, &mut bytes);
        bytes.len()
    });
    let ends = ends.collect();
    (bytes, ends)
}

fn found(bytes: &[u8]) -> Vec<Found> {
    let source = bytes.get(HEAD_BYTES..).unwrap();
    let mut records = Records::new(HEAD, source, HEAD_BYTES as u64, bytes.len() as u64);
    std::iter::from_fn(|| records.next_found().unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Segments of version 1 stay as they are.
#[test]
fn golden_bytes() {
    assert_eq!(hex(&HEAD.to_bytes()), GOLDEN_HEAD);
    for (record, golden) in all().iter().zip(GOLDEN_RECORDS) {
        let mut bytes = Vec::new();
        record.write(&HEAD, &mut bytes);
        assert_eq!(hex(&bytes), golden, "{record:?}");
    }
}

/// Made by hand of the tables at the top of the module.
const GOLDEN_HEAD: &str = "545342470100000007000000e80300000000000000d2496b000000007369787465656e2062797465732e2e2e2bcf194e";
const GOLDEN_RECORDS: [&str; 6] = [
    "c120030b0468696c6c0201740168016b02030102030a66726f6d2031303a30300109af98953a",
    "c211070302d8043cd005a8377061796c6f6164152bfa20",
    "c2233a03d30fd8043c07b5d29287e90580e2998dcc6eac02080706050403020177686f6c65a0aedf0b",
    "c20f0103aef0ffffffffffffff01d8043c72caef99",
    "c321abababababababababababababababababababababababababababababababab025e2a62b0",
    "c42e03ffffffff0f0100000000000000cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdd1624b63",
];

#[test]
fn records_come_back() {
    let records = all();
    let (bytes, ends) = segment(&records);
    let found = found(&bytes);
    assert_eq!(found.len(), records.len());
    for ((found, record), end) in found.iter().zip(&records).zip(ends) {
        assert_eq!(found.record.as_ref(), Some(record));
        assert_eq!(found.at + found.len, end as u64);
    }
    assert_eq!(Head::from_bytes(&bytes), Ok(HEAD));
}

/// What a crash leaves: all records up to the cut, and the rest as one piece that is none.
#[test]
fn a_segment_that_is_cut_anywhere_keeps_what_is_before() {
    let records = all();
    let (bytes, ends) = segment(&records);
    for cut in HEAD_BYTES..=bytes.len() {
        let found = found(&bytes[..cut]);
        let whole = ends.iter().filter(|&&end| end <= cut).count();
        let end = whole.checked_sub(1).map_or(HEAD_BYTES, |last| ends[last]);
        let (kept, torn) = found.split_at(whole);
        let kept: Vec<_> = kept
            .iter()
            .map(|found| found.record.clone().unwrap())
            .collect();
        assert_eq!(kept, records[..whole]);
        let torn: Vec<_> = torn.iter().map(|found| (found.at, &found.record)).collect();
        match end == cut {
            true => assert_eq!(torn, []),
            false => assert_eq!(torn, [(end as u64, &None)]),
        }
    }
}

/// One damaged byte costs one record; those behind it are found.
#[test]
fn a_byte_that_is_flipped_costs_one_record() {
    let records = all();
    let (bytes, ends) = segment(&records);
    for at in HEAD_BYTES..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let hit = ends.iter().position(|&end| at < end).unwrap();
            let found = found(&damaged);
            let whole: Vec<_> = found
                .iter()
                .filter_map(|found| found.record.clone())
                .collect();
            let expected = records.iter().enumerate();
            let expected: Vec<_> = expected
                .filter(|(i, _)| *i != hit)
                .map(|(_, r)| r.clone())
                .collect();
            assert_eq!(whole, expected, "byte {at}");
            let covered: u64 = found.iter().map(|found| found.len).sum();
            assert_eq!(covered, (bytes.len() - HEAD_BYTES) as u64);
        }
    }
}

#[test]
fn a_head_that_is_cut_or_flipped_is_none() {
    let bytes = HEAD.to_bytes();
    for cut in 0..HEAD_BYTES {
        assert_eq!(Head::from_bytes(&bytes[..cut]), Err(HeadError::Damaged));
    }
    for at in 0..HEAD_BYTES {
        let mut damaged = bytes;
        damaged[at] ^= 1;
        assert_eq!(
            Head::from_bytes(&damaged),
            Err(HeadError::Damaged),
            "byte {at}"
        );
    }
    let mut later = bytes.to_vec();
    later[4] = 2;
    let checksum = crc32fast::hash(&later[..HEAD_BYTES - CHECKSUM_BYTES]);
    later[HEAD_BYTES - CHECKSUM_BYTES..].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(Head::from_bytes(&later), Err(HeadError::Version(2)));
}

/// What an uploader sends cannot pass for records, for it does not know the bytes that checksums begin with.
#[test]
fn records_in_a_payload_are_none() {
    let forged = {
        let head = Head {
            nonce: [0; 16],
            ..HEAD
        };
        let mut bytes = Vec::new();
        Record::Removed(Removal {
            id: [1; 32],
            sequence: i64::MAX,
        })
        .write(&head, &mut bytes);
        bytes
    };
    let (mut bytes, ends) = segment(&[Record::Upload(upload(1, &forged)), all()[5].clone()]);
    // The damage hits the length, so that the next record is searched for.
    bytes[HEAD_BYTES + 1] ^= 0x40;
    let found = found(&bytes);
    let kinds: Vec<_> = found.iter().map(|found| found.record.is_some()).collect();
    assert_eq!(kinds, [false, true]);
    assert_eq!(found[0].len as usize, ends[0] - HEAD_BYTES);
}

/// A length that leads far behind the end, many times over, is no work without end.
#[test]
fn lengths_of_nothing_are_passed_over() {
    let mut bytes = HEAD.to_bytes().to_vec();
    for _ in 0..50_000 {
        bytes.extend_from_slice(&[0xc2, 0xff, 0xff, 0x7f]);
    }
    bytes.resize(4 << 20, 0xc2);
    let found = found(&bytes);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].len, bytes.len() as u64 - HEAD_BYTES as u64);
}

#[test]
fn bytes_against_a_model_come_back() {
    let models: [&[u8]; 4] = [b"", b"a", b"from 2026-09-01T00:00 on", b"aaaa"];
    let all: [&[u8]; 5] = [b"", b"a", b"from 2026-09-03T10:00 on", b"aaaaaaa", b"on"];
    for model in models {
        for bytes in all {
            let mut out = Vec::new();
            put_against(model, bytes, &mut out);
            out.extend_from_slice(b"rest");
            let expected = Some((bytes.to_vec(), &b"rest"[..]));
            assert_eq!(take_against(model, &out), expected);
            for cut in 0..out.len() - 4 {
                assert_eq!(take_against(model, &out[..cut]), None);
            }
        }
    }
    assert_eq!(take_against(b"abc", &[4, 0, 0]), None);
    assert_eq!(take_against(b"abc", &[0, 4, 0]), None);
}

#[test]
fn contexts_are_their_bytes() {
    let with_pads = Context {
        pads: Some([4; 32]),
        ..Context::default()
    };
    for context in [context().context, with_pads, Context::default()] {
        let bytes = context.to_bytes();
        assert_eq!(Context::from_bytes(&bytes), Some(context));
        for cut in 0..bytes.len() {
            assert_eq!(Context::from_bytes(&bytes[..cut]), None);
        }
    }
}
