//! The segments of the server's store, which a crash cuts and a disk damages.

// The service has a database and TLS below it, which a fuzz target does not need.
#[allow(dead_code, unused_imports, reason = "the store needs more of it")]
#[path = "../../../crates/service/src/store/segments/record.rs"]
mod record;

use record::{
    Context, FrameMark, HEAD_BYTES, Head, Model, NumberedContext, Record, Records, Removal, SpanMs,
    Upload, UsedFrame, put_against, take_against,
};

use super::Target;

pub(super) const SEGMENT: Target = Target {
    name: "segment",
    run: |bytes| {
        let Ok(head) = Head::from_bytes(bytes) else {
            return;
        };
        assert_eq!(&head.to_bytes()[..], &bytes[..HEAD_BYTES]);
        let source = &bytes[HEAD_BYTES..];
        let mut records = Records::new(head, source, HEAD_BYTES as u64, bytes.len() as u64);
        let mut at = HEAD_BYTES as u64;
        while let Ok(Some(found)) = records.next_found() {
            // Every byte is told once, in order.
            assert_eq!(found.at, at);
            assert!(found.len > 0);
            at += found.len;
            let Some(record) = found.record else {
                continue;
            };
            // What was read is written in the same way, and read again.
            let mut again = Vec::new();
            record.write(&head, &mut again);
            assert_eq!(Record::read(&head, &again), Some(record));
        }
        assert_eq!(at, bytes.len() as u64);
    },
    seeds: || {
        let head = Head {
            number: 1,
            sequence: 5,
            seconds: 1_800_000_000,
            nonce: [7; 16],
        };
        let upload = Upload {
            context: 1,
            sequence: 6,
            created_at: 1_800_000_100,
            rows: 60,
            elements: Some(3),
            span: Some(SpanMs {
                first: 1_799_999_000_000,
                last: 1_799_999_900_001,
            }),
            frame: Some(FrameMark { counter: 3, tag: 4 }),
            is_undescribed: true,
            is_short: true,
            payload: b"payload".to_vec(),
        };
        let context = Context {
            uploader: "hill".to_owned(),
            columns: vec!["level".to_owned()],
            key: Some("key".to_owned()),
            epoch: Some(1),
            pads: Some([1; 32]),
            definitions: Some(vec![1, 2]),
        };
        let records = [
            Record::Context(NumberedContext {
                number: 1,
                context,
                model: Model {
                    labels: b"labels".to_vec(),
                    list: b"list".to_vec(),
                },
            }),
            Record::Upload(upload),
            Record::Removed(Removal {
                id: [2; 32],
                sequence: 6,
            }),
            Record::Frame(UsedFrame {
                context: 1,
                mark: FrameMark { counter: 3, tag: 4 },
                readings: [2; 32],
            }),
        ];
        let mut bytes = head.to_bytes().to_vec();
        let mut seeds = vec![bytes.clone()];
        for record in records {
            record.write(&head, &mut bytes);
            seeds.push(bytes.clone());
        }
        seeds
    },
};

/// The contents of records behind their checksums, which libFuzzer does not get past.
pub(super) const RECORD: Target = Target {
    name: "segment-record",
    run: |bytes| {
        let head = Head {
            number: 1,
            sequence: 0,
            seconds: 0,
            nonce: [0; 16],
        };
        let sealed = [bytes, &checksum(bytes)].concat();
        if let Some(record) = Record::read(&head, &sealed) {
            let mut again = Vec::new();
            record.write(&head, &mut again);
            assert_eq!(Record::read(&head, &again), Some(record));
        }
        if let Some(context) = Context::from_bytes(bytes) {
            assert_eq!(Context::from_bytes(&context.to_bytes()), Some(context));
        }
        let (model, bytes) = bytes.split_at(bytes.len() / 2);
        if let Some((whole, rest)) = take_against(model, bytes) {
            let mut again = Vec::new();
            put_against(model, &whole, &mut again);
            again.extend_from_slice(rest);
            assert_eq!(take_against(model, &again), Some((whole, rest)));
        }
    },
    seeds: || {
        let seeds = (SEGMENT.seeds)();
        let records = seeds.windows(2).map(|pair| {
            let record = &pair[1][pair[0].len()..];
            record[..record.len() - 4].to_vec()
        });
        records.collect()
    },
};

fn checksum(record: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[0; 16]);
    hasher.update(record);
    hasher.finalize().to_le_bytes()
}
