//! Every type: encrypted by the device library, converted, loaded, computed on, decrypted.

use rayon::prelude::*;
use tfhe::conformance::ParameterSetConformant;
use tfhe::prelude::*;
use tfhe::safe_serialization::safe_deserialize_conformant;
use tfhe::*;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_device::KeyMode;
use tfhe_sbc_foreign::tfhe_rs::integers::FheType;
use tfhe_sbc_foreign::tfhe_rs::upload::Values;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata, Upload};

use crate::Options;
use crate::keys::{Keys, serialized};

/// Random numbers, the same every time (SplitMix64).
pub fn random(count: usize, seed: u64) -> Vec<u64> {
    let number = |i: u64| {
        let mut z = (seed << 32 | i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    // Among them what lies at the ends.
    let ends = [0, u64::MAX, 1 << 63, u64::MAX >> 1];
    (0..count as u64)
        .map(|i| ends.get(i as usize).copied().unwrap_or_else(|| number(i)))
        .collect()
}

/// The values of codes, encrypted by a device and converted.
pub fn converted(keys: &Keys, mode: KeyMode, fhe_type: FheType, codes: &[u64]) -> Vec<Vec<u8>> {
    let parameters = keys.parameters();
    let encoding = parameters.block_encoding();
    let each = encoding.block_count(fhe_type.bits());
    let mut blocks = vec![0; codes.len() * each];
    for (blocks, &code) in blocks.chunks_exact_mut(each).zip(codes) {
        encoding.split(code, blocks).unwrap();
    }
    let bytes = keys.encrypt(mode, ExpanderKind::ChaCha20, &blocks);
    let (message, _) = Message::parse(&bytes).unwrap();
    let list = UploadedGlweList::check(message, parameters, keys.device.fingerprint()).unwrap();
    let mut values = Values::of_list(list, parameters, fhe_type).unwrap();
    let mut out = Vec::new();
    std::iter::from_fn(|| values.write_next(&mut out).then(|| out.clone())).collect()
}

macro_rules! integers {
    ($keys:expr, $values:expr, $operations:expr, $summed:expr, $say:expr, $($fhe:ident $conformance:ident $clear:ident $kind:ident;)*) => {$({
        let (keys, bits) = ($keys, $clear::BITS);
        let codes: Vec<u64> = random($values, u64::from(bits) + stringify!($fhe).len() as u64)
            .into_iter()
            .map(|number| number >> (64 - bits))
            .collect();
        let (symmetric, public) = codes.split_at(codes.len() / 2);
        let fhe_type = FheType::$kind(bits);
        let mut bytes = converted(keys, KeyMode::Symmetric, fhe_type, symmetric);
        bytes.extend(converted(keys, KeyMode::Public, fhe_type, public));
        assert_eq!(bytes.len(), codes.len());
        let conformance = $conformance::from(&keys.server);
        let loaded: Vec<$fhe> = bytes
            .par_iter()
            .map(|bytes| {
                let value: $fhe =
                    safe_deserialize_conformant(&bytes[..], 1 << 30, &conformance).unwrap();
                assert!(value.is_conformant(&conformance));
                // TFHE-rs itself writes the same bytes.
                assert!(serialized(&value) == *bytes);
                value
            })
            .collect();
        for (value, &code) in loaded.iter().zip(&codes) {
            let decrypted: $clear = value.decrypt(&keys.client);
            assert_eq!(decrypted, code as $clear);
        }
        let clear = |i: usize| codes[i] as $clear;
        // Half of the pairs are symmetric uploads, half of them have one of either kind.
        let pairs = (0..$operations.min(codes.len() / 2)).map(|i| (i, codes.len() - 1 - i));
        for (i, j) in pairs {
            let (a, b, x, y) = (&loaded[i], &loaded[j], clear(i), clear(j));
            let sum: $clear = (a + b).decrypt(&keys.client);
            assert_eq!(sum, x.wrapping_add(y));
            let product: $clear = (a * b).decrypt(&keys.client);
            assert_eq!(product, x.wrapping_mul(y));
            assert_eq!(a.lt(b).decrypt(&keys.client), x < y);
            let larger: $clear = a.max(b).decrypt(&keys.client);
            assert_eq!(larger, x.max(y));
        }
        let summed = $summed.min(codes.len());
        let sum: $fhe = loaded[..summed].iter().sum();
        let sum: $clear = sum.decrypt(&keys.client);
        assert_eq!(sum, (0..summed).map(clear).fold(0, $clear::wrapping_add));
        $say(&format!(
            "{} x {}: loaded, byte for byte its own, decrypted; sum of {summed}; {} of + x < max",
            codes.len(), fhe_type, $operations.min(codes.len() / 2)));
    })*};
}

pub fn all(keys: &Keys, options: Options, say: &dyn Fn(&str)) {
    let Options {
        values,
        operations,
        summed,
    } = options;
    booleans(keys, values, operations);
    say("FheBool likewise, with & and ^");
    columns(keys);
    say("columns of an upload likewise, padded at the top");
    integers! { keys, values, operations, summed, say,
        FheUint8 FheUint8ConformanceParams u8 Uint;
        FheInt8 FheInt8ConformanceParams i8 Int;
        FheUint16 FheUint16ConformanceParams u16 Uint;
        FheInt16 FheInt16ConformanceParams i16 Int;
        FheUint32 FheUint32ConformanceParams u32 Uint;
        FheInt32 FheInt32ConformanceParams i32 Int;
        FheUint64 FheUint64ConformanceParams u64 Uint;
        FheInt64 FheInt64ConformanceParams i64 Int;
    }
}

/// One type of all.
pub fn one(keys: &Keys, options: Options, say: &dyn Fn(&str)) {
    let Options {
        values,
        operations,
        summed,
    } = options;
    integers! { keys, values, operations, summed, say,
        FheUint16 FheUint16ConformanceParams u16 Uint;
    }
}

fn booleans(keys: &Keys, values: usize, operations: usize) {
    let codes: Vec<u64> = random(values, 1)
        .into_iter()
        .map(|number| number & 1)
        .collect();
    let (symmetric, public) = codes.split_at(codes.len() / 2);
    let mut bytes = converted(keys, KeyMode::Symmetric, FheType::Bool, symmetric);
    bytes.extend(converted(keys, KeyMode::Public, FheType::Bool, public));
    let conformance = FheBoolConformanceParams::from(&keys.server);
    let loaded: Vec<FheBool> = bytes
        .iter()
        .map(|bytes| {
            let value: FheBool =
                safe_deserialize_conformant(&bytes[..], 1 << 30, &conformance).unwrap();
            assert!(serialized(&value) == *bytes);
            value
        })
        .collect();
    for (value, &code) in loaded.iter().zip(&codes) {
        assert_eq!(value.decrypt(&keys.client), code == 1);
    }
    for i in 0..operations.min(codes.len() / 2) {
        let j = codes.len() - 1 - i;
        let (a, b) = (codes[i] == 1, codes[j] == 1);
        assert_eq!((&loaded[i] & &loaded[j]).decrypt(&keys.client), a & b);
        assert_eq!((&loaded[i] ^ &loaded[j]).decrypt(&keys.client), a ^ b);
    }
}

/// An upload with metadata: a column of 10 bits as 16, and its sum.
fn columns(keys: &Keys) {
    let parameters = keys.parameters();
    let encoding = parameters.block_encoding();
    let codes: Vec<u64> = random(20, 9)
        .into_iter()
        .map(|number| number >> 54)
        .collect();
    let column = Column {
        name: "height".to_owned(),
        unit: "mm".to_owned(),
        offset: 0.0,
        scale: 1.0,
        bits: 10,
        compact: None,
        derived: Default::default(),
    };
    let first = Column {
        name: "other".to_owned(),
        bits: 3,
        ..column.clone()
    };
    let described = ReadingsMetadata {
        columns: vec![first, column],
        rows: (0..codes.len()).map(|row| row.to_string()).collect(),
        gaps: Default::default(),
    };
    let mut blocks = vec![0; codes.len() * 2 + codes.len() * 5];
    for (blocks, &code) in blocks[codes.len() * 2..].chunks_exact_mut(5).zip(&codes) {
        encoding.split(code, blocks).unwrap();
    }
    let key = keys.device.fingerprint();
    let mut bytes = metadata::write(parameters.fingerprint(), key, &described).unwrap();
    bytes.extend(keys.encrypt(KeyMode::Symmetric, ExpanderKind::Blake3, &blocks));
    let upload = Upload::parse(&bytes, parameters, key).unwrap();
    let mut values = Values::of_column(&upload, parameters, "height", None).unwrap();
    assert_eq!(values.fhe_type(), FheType::Uint(16));
    let mut stream = Vec::new();
    let mut out = Vec::new();
    while values.write_next(&mut out) {
        stream.extend_from_slice(&out);
    }
    // Read one after the other, as a user would.
    let conformance = FheUint16ConformanceParams::from(&keys.server);
    let mut stream = &stream[..];
    let mut sum: Option<FheUint16> = None;
    for &code in &codes {
        let value: FheUint16 =
            safe_deserialize_conformant(&mut stream, 1 << 30, &conformance).unwrap();
        let decrypted: u16 = value.decrypt(&keys.client);
        assert_eq!(u64::from(decrypted), code);
        sum = Some(sum.map_or(value.clone(), |sum| sum + value));
    }
    assert!(stream.is_empty());
    let total: u16 = sum.unwrap().decrypt(&keys.client);
    assert_eq!(u64::from(total), codes.iter().sum());
    let mut signed =
        Values::of_column(&upload, parameters, "height", Some(FheType::Int(12))).unwrap();
    assert!(signed.write_next(&mut out));
    let conformance = FheInt12ConformanceParams::from(&keys.server);
    let value: FheInt12 = safe_deserialize_conformant(&out[..], 1 << 30, &conformance).unwrap();
    let decrypted: i16 = value.decrypt(&keys.client);
    assert_eq!(decrypted as u64, codes[0]);
}
