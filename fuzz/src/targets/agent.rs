//! The files that boards keep on their disks, the uploads that they sign, the parts that they send over brokers, and
//! the packets of brokers.
//!
//! The files with the readers are included here, because their crates need TLS and a database, which would
//! take longer to build than everything else here.

#[allow(dead_code)]
#[path = "../../../crates/transport/src/signature/form.rs"]
mod form;
#[allow(dead_code)]
#[path = "../../../crates/transport/src/mqtt/packet.rs"]
mod packet;
#[allow(dead_code)]
#[path = "../../../crates/transport/src/mqtt/part.rs"]
mod part;
#[allow(dead_code)]
#[path = "../../../crates/agent/src/spool/record.rs"]
mod record;
#[allow(dead_code)]
#[path = "../../../crates/agent/src/source/rotation.rs"]
mod rotation;

use form::{Algorithm, SignatureError, SignedUpload, is_signed, signed_text};
use packet::{Incoming, Outgoing, PacketError};
use part::{Assembly, Part};
use record::Header;
use rotation::Place;

use super::Target;

/// Files of a spool.
pub(super) const SPOOL_FILE: Target = Target {
    name: "spool_file",
    run: |bytes| {
        if let Ok((header, len)) = Header::parse(bytes) {
            assert_eq!(header.to_bytes(), bytes[..len]);
        }
    },
    seeds: || {
        let header = Header {
            sequence: 3,
            rows: 60,
            created: 1_767_225_600,
            len: 5,
            hash: [9; 32],
            cursor: vec![1; 33],
        };
        vec![
            header.to_bytes(),
            [&header.to_bytes()[..], b"bytes"].concat(),
        ]
    },
};

/// The cursor in a CSV file.
pub(super) const CURSOR: Target = Target {
    name: "csv_cursor",
    run: |bytes| {
        if let Some(place) = Place::from_bytes(bytes) {
            assert_eq!(place.to_bytes(), bytes);
            assert!(place.before() <= 256);
        }
    },
    seeds: || vec![[&[1], &[7; 32][..]].concat()],
};

/// Uploads with a signature. Whether it is right is for the library to say, which is not built here.
pub(super) const SIGNED_UPLOAD: Target = Target {
    name: "signed_upload",
    run: |bytes| {
        let signed = match SignedUpload::parse(bytes) {
            Ok(signed) => signed,
            Err(error) => {
                let expected = [SignatureError::Truncated, SignatureError::Unknown];
                assert!(expected.contains(&error));
                return;
            }
        };
        assert!(is_signed(bytes));
        let (algorithm, signature) = (signed.algorithm, signed.signature);
        assert_eq!(signature.len(), algorithm.signature_bytes());
        assert_eq!(bytes.len(), algorithm.overhead() + signed.upload.len());
        // An upload has one signed form only.
        let parts = [&algorithm.fixed()[..], signature, signed.upload];
        assert_eq!(parts.concat(), bytes);
        // What is signed tells uploads and names apart, whatever a name ends with.
        let text = signed_text("hill", signed.upload).unwrap();
        let changed = [signed.upload, &[0]].concat();
        assert_ne!(text, signed_text("hill", &changed).unwrap());
        assert_ne!(text, signed_text("hill\0", signed.upload).unwrap());
    },
    seeds: || {
        let signed = Algorithm::ALL.map(|algorithm| {
            let signature = vec![7; algorithm.signature_bytes()];
            [&algorithm.fixed()[..], &signature, b"an upload"].concat()
        });
        signed.to_vec()
    },
};

/// Parts of uploads, one after the other, each behind its length.
pub(super) const PARTS: Target = Target {
    name: "mqtt_parts",
    run: |mut bytes| {
        let mut assembly = Assembly::default();
        while let Some((&len, rest)) = bytes.split_first() {
            let (payload, rest) = rest.split_at(usize::from(len).min(rest.len()));
            bytes = rest;
            let Ok(part) = Part::parse(payload) else {
                continue;
            };
            assert_eq!(part.to_bytes(), payload);
            match assembly.add(&part) {
                Ok(Some(upload)) => assert_eq!(*blake3::hash(&upload).as_bytes(), part.hash),
                Ok(None) => {}
                Err(_) => assembly = Assembly::default(),
            }
        }
    },
    seeds: || {
        let parts = |size: usize| -> Vec<u8> {
            let parts = Part::cut(b"an upload, in parts", size).map(|part| part.to_bytes());
            parts
                .flat_map(|part| [vec![part.len() as u8], part].concat())
                .collect()
        };
        vec![parts(1), parts(7), parts(100)]
    },
};

/// Packets of a broker.
pub(super) const PACKETS: Target = Target {
    name: "mqtt_packets",
    run: |mut bytes| {
        loop {
            let parsed = match Incoming::parse(bytes, 1 << 10) {
                Err(PacketError::TooLarge(_)) => Incoming::parse_oversized(bytes),
                parsed => parsed,
            };
            let Ok(Some((_, len))) = parsed else {
                return;
            };
            assert!(len > 0);
            bytes = bytes.get(len..).unwrap_or_default();
        }
    },
    seeds: || {
        let (topic, payload) = ("tfhe-sbc/hill/answer", b"{}".as_slice());
        let publish = Outgoing::Publish {
            topic,
            payload,
            id: 7,
            retain: false,
        }
        .to_bytes();
        let others = b"\x20\x02\0\0\x90\x03\0\x01\x01\x40\x02\0\x07\xd0\0";
        let large = Outgoing::Publish {
            topic,
            payload: &[0; 1100],
            id: 7,
            retain: true,
        };
        let large = large.to_bytes();
        vec![
            publish.clone(),
            [&others[..], &publish].concat(),
            [large, publish].concat(),
        ]
    },
};
