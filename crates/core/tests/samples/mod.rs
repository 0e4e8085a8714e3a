//! A good message of every kind, and what reads it: what other tests damage.

pub(crate) mod answers;

use std::sync::OnceLock;

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed};
use tfhe_sbc_core::wire::card::Card;
use tfhe_sbc_core::wire::columns::{
    ColumnList, ElementEncoding, ListMasks, Segment, header as column_header, mask_bits,
    payload_len, table_head,
};
use tfhe_sbc_core::wire::cut::CutList;
use tfhe_sbc_core::wire::glwe::{
    self, GlweList, SeededGlweList, masked_header, masked_payload_len, message_len,
};
use tfhe_sbc_core::wire::key::KeyBytes;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_core::wire::public_key::PublicKeyBytes;
use tfhe_sbc_core::wire::{ENVELOPE_BYTES, Header, Kind, Message, WireError, bodies, lwe, values};

use crate::common::{
    FROZEN_PACKING, FROZEN_PUBLIC_RADIX, card, device_public_key, issued_device_key, lwe_list,
    resealed, secret_key,
};

use answers::{
    bodies_list, codes_list, cut_list, device_linear_answers, linear_answers, packed_list,
};

/// A good message and the reader of its kind.
pub(crate) struct Sample {
    pub(crate) kind: Kind,
    pub(crate) bytes: Vec<u8>,
    pub(crate) read: fn(&[u8], &SecretKey) -> Result<(), WireError>,
}

/// The key set of all samples.
pub(crate) fn key() -> SecretKey {
    secret_key(FROZEN_PUBLIC_RADIX, 1)
}

/// A good message of every kind that this crate reads.
pub(crate) fn samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(make_samples)
}

fn make_samples() -> Vec<Sample> {
    let key = key();
    let plain = |kind, payload: &[u8]| {
        let fingerprint = key.parameters().fingerprint();
        resealed(&Header::new(kind, fingerprint, key.fingerprint()), payload)
    };
    vec![
        Sample {
            kind: Kind::Metadata,
            bytes: plain(Kind::Metadata, &[0xa0]),
            read: |bytes, _| Message::parse_only(bytes, Kind::Metadata).map(drop),
        },
        Sample {
            kind: Kind::SeededGlweList,
            bytes: seeded_list(&key, 3),
            read: read_seeded_list,
        },
        Sample {
            kind: Kind::LweList,
            bytes: lwe_list(&key, &[3], 4),
            read: |bytes, key| {
                let message = Message::parse_only(bytes, Kind::LweList)?;
                lwe::read(message, key.parameters(), key.fingerprint()).map(drop)
            },
        },
        Sample {
            kind: Kind::SecretKey,
            bytes: key.to_bytes().unwrap().to_vec(),
            read: |bytes, _| SecretKey::from_bytes(bytes).map(drop),
        },
        Sample {
            kind: Kind::DeviceKey,
            bytes: key.device_key().to_bytes().unwrap().to_vec(),
            read: |bytes, _| KeyBytes::parse_device_key(bytes).map(drop),
        },
        Sample {
            kind: Kind::DeviceKey,
            bytes: issued_device_key(&key).to_bytes().unwrap().to_vec(),
            read: |bytes, _| DeviceKey::from_bytes(bytes).map(drop),
        },
        Sample {
            kind: Kind::Card,
            bytes: card(&key).to_bytes().to_vec(),
            read: |bytes, _| Card::from_bytes(bytes).map(drop),
        },
        Sample {
            kind: Kind::ServerKey,
            bytes: plain(Kind::ServerKey, &key.parameters().to_bytes()),
            read: |bytes, _| Message::parse_only(bytes, Kind::ServerKey).map(drop),
        },
        Sample {
            kind: Kind::DevicePublicKey,
            bytes: device_public_key(&key),
            read: |bytes, _| PublicKeyBytes::parse(bytes).map(drop),
        },
        Sample {
            kind: Kind::GlweList,
            bytes: masked_list(&key, 3),
            read: read_masked_list,
        },
        Sample {
            kind: Kind::SeededColumnList,
            bytes: column_list(&key, Kind::SeededColumnList, &segments()),
            read: |bytes, key| read_column_list(bytes, Kind::SeededColumnList, key),
        },
        Sample {
            kind: Kind::ColumnList,
            bytes: column_list(&key, Kind::ColumnList, &segments()),
            read: |bytes, key| read_column_list(bytes, Kind::ColumnList, key),
        },
        Sample {
            kind: Kind::CompactValues,
            bytes: codes_list(&key, &[&[4000, 1], &[7]]),
            read: |bytes, key| {
                let message = Message::parse_only(bytes, Kind::CompactValues)?;
                values::read(message, key.parameters(), key.fingerprint()).map(drop)
            },
        },
        Sample {
            kind: Kind::PackedList,
            bytes: packed_list(&key, &FROZEN_PACKING, &[1, 0, 3]),
            read: |bytes, key| {
                let message = Message::parse_only(bytes, Kind::PackedList)?;
                PackedList::read(message, key.parameters(), key.fingerprint()).map(drop)
            },
        },
        Sample {
            kind: Kind::LinearBodies,
            bytes: bodies_list(&key, &linear_answers(256)),
            read: |bytes, key| {
                let message = Message::parse_only(bytes, Kind::LinearBodies)?;
                bodies::read(message, key.parameters(), key.fingerprint()).map(drop)
            },
        },
        Sample {
            kind: Kind::DeviceBodies,
            bytes: bodies_list(&key, &device_linear_answers(256)),
            read: |bytes, key| {
                let message = Message::parse_only(bytes, Kind::DeviceBodies)?;
                bodies::read(message, key.parameters(), key.fingerprint()).map(drop)
            },
        },
        Sample {
            kind: Kind::CutLweList,
            bytes: cut_list(&key, &[1, 0, 3, 2]),
            read: |bytes, key| {
                let message = Message::parse_only(bytes, Kind::CutLweList)?;
                CutList::read(message, key.parameters(), key.fingerprint()).map(drop)
            },
        },
    ]
}

/// Segments of all kinds. The last one begins in the first polynomial and ends in the second one, and
/// no run fills its last byte.
pub(crate) fn segments() -> [Segment; 3] {
    let compact = |bits, headroom, body_bits, rounding| {
        let encoding = CompactEncoding::new(bits, headroom, body_bits, rounding).unwrap();
        ElementEncoding::Compact(encoding)
    };
    [
        (compact(10, 14, 29, BodyRounding::ErrorFeedback), 3),
        (ElementEncoding::Radix, 5),
        (compact(12, 1, 18, BodyRounding::Nearest), 249),
    ]
    .map(|(encoding, count)| Segment { encoding, count })
}

/// A list of columns of one of its two kinds, its masks and bodies zero.
pub(crate) fn column_list(key: &SecretKey, kind: Kind, segments: &[Segment]) -> Vec<u8> {
    let parameters = key.parameters();
    let of_segments = || segments.iter().copied();
    let masked = kind == Kind::ColumnList;
    let masks = match masked {
        true => ListMasks::Sent {
            mask_bits: mask_bits(parameters, of_segments()),
        },
        false => ListMasks::Seeded(ExpanderKind::Aes128Ctr, MaskSeed([9; 32])),
    };
    let count = segments.iter().map(|segment| segment.count).sum();
    let header = column_header(parameters, key.fingerprint(), masks, count);
    let mut payload = table_head(segments.len() as u16).to_vec();
    for segment in segments {
        payload.extend(segment.to_bytes(parameters));
    }
    payload.resize(payload_len(parameters, of_segments(), masked), 0);
    resealed(&header, &payload)
}

pub(crate) fn read_column_list(bytes: &[u8], kind: Kind, key: &SecretKey) -> Result<(), WireError> {
    let message = Message::parse_only(bytes, kind)?;
    ColumnList::check(message, key.parameters(), key.fingerprint()).map(drop)
}

/// Returns a seeded list of `count` plaintexts, whose bodies are zero.
pub(crate) fn seeded_list(key: &SecretKey, count: usize) -> Vec<u8> {
    let parameters = key.parameters();
    let header = glwe::header(
        parameters,
        key.fingerprint(),
        ExpanderKind::Aes128Ctr,
        MaskSeed([9; 32]),
        count as u32,
    );
    let size = parameters.polynomial_size().get();
    let payload = message_len(count, size, parameters.body_bits()) - ENVELOPE_BYTES;
    resealed(&header, &vec![0; payload])
}

pub(crate) fn read_seeded_list(bytes: &[u8], key: &SecretKey) -> Result<(), WireError> {
    let message = Message::parse_only(bytes, Kind::SeededGlweList)?;
    SeededGlweList::check(message, key.parameters(), key.fingerprint()).map(drop)
}

/// Returns a list with masks of `count` plaintexts, all of it zero.
pub(crate) fn masked_list(key: &SecretKey, count: usize) -> Vec<u8> {
    let parameters = key.parameters();
    let header = masked_header(parameters, key.fingerprint(), count as u32);
    resealed(
        &header,
        &vec![0; masked_payload_len(parameters.as_set(), count)],
    )
}

pub(crate) fn read_masked_list(bytes: &[u8], key: &SecretKey) -> Result<(), WireError> {
    let message = Message::parse_only(bytes, Kind::GlweList)?;
    GlweList::check(message, key.parameters(), key.fingerprint()).map(drop)
}
