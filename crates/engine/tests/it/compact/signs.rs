//! Signs of compact values.

use std::sync::atomic::{AtomicU64, Ordering};

use tfhe_sbc_core::encoding::chunks::ChunkError;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::compact::{CompactEvaluateError, sign_bootstraps};
use tfhe_sbc_oracle::compact::{CompactNoise, sign_chunks};
use tfhe_sbc_oracle::upload::UploadKind;

use super::{codes, decrypt, encoding, encrypt_code};
use crate::common::{FEW, Keys, small_set};

/// Numbers from the narrowest to the widest difference of compact codes, with the edges of each width.
#[test]
fn signs_of_numbers_of_many_widths() {
    let (mut keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 120);
    let parameters = *server.parameters();
    let evaluator = Evaluator::new(&server);
    let fresh = CompactNoise::upload(&parameters, UploadKind::Symmetric, &encoding(1, 0, 56));
    let mut bootstraps = 0;
    for bits in [2, 3, 4, 5, 6, 7, 9, 10, 13, 17, 22, 29, 36, 41u32] {
        let chunks = sign_chunks(&parameters, bits, fresh).unwrap();
        let mask = (1u64 << bits) - 1;
        let edges = [0, 1, mask >> 1, (mask >> 1) + 1, mask];
        let numbers: Vec<u64> = edges.into_iter().chain(codes(bits, 2)).collect();
        let values: Vec<LweCiphertext<u64>> = numbers
            .iter()
            .map(|number| keys.encrypt(number << (64 - bits)))
            .collect();
        let signs = evaluator.compact_signs(&values, &chunks, &|| true).unwrap();
        for (sign, number) in signs.iter().zip(&numbers) {
            let negative = number >> (bits - 1);
            assert_eq!(decrypt(&keys, sign), negative, "{number} of {bits} bits");
        }
        bootstraps += sign_bootstraps(&chunks) * values.len() as u64;
        assert_eq!(evaluator.bootstrap_count(), bootstraps);
    }
}

/// Readings of uploads below and above thresholds that are clear or encrypted, and equal to them.
#[test]
fn readings_are_compared_with_thresholds() {
    let (mut keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 121);
    let parameters = *server.parameters();
    let evaluator = Evaluator::new(&server);
    for (bits, headroom, body_bits) in [
        (12, 1, 18),
        (12, 1, 15),
        (12, 10, 30),
        (8, 4, 17),
        (3, 2, 10),
    ] {
        let encoding = encoding(bits, headroom, body_bits);
        let one = CompactNoise::upload(&parameters, UploadKind::Symmetric, &encoding);
        let last = (1u64 << bits) - 1;
        let thresholds = [0, 1, last / 2, last];
        for encrypted in [false, true] {
            let noise = if encrypted { one.and(one) } else { one };
            let noise = noise.times(f64::exp2(f64::from(headroom) - 1.0));
            let Some(chunks) = sign_chunks(&parameters, bits + 1, noise) else {
                panic!("no chunks for {bits} + {headroom} bits in {body_bits}");
            };
            let mut wanted = Vec::new();
            let mut differences = Vec::new();
            for threshold in thresholds {
                let near = [
                    threshold.saturating_sub(1),
                    threshold,
                    (threshold + 1).min(last),
                ];
                for code in near.into_iter().chain([0, last]).chain(codes(bits, 2)) {
                    let mut difference = encrypt_code(&mut keys, encoding, code);
                    let subtracted = match encrypted {
                        true => encrypt_code(&mut keys, encoding, threshold),
                        false => LweCiphertext::trivial(
                            difference.dimension(),
                            encoding.encode(threshold),
                        ),
                    };
                    difference.sub_assign(&subtracted);
                    difference.mul_assign(1 << (headroom - 1));
                    differences.push(difference);
                    wanted.push(u64::from(code < threshold));
                }
            }
            let signs = evaluator
                .compact_signs(&differences, &chunks, &|| true)
                .unwrap();
            let found: Vec<u64> = signs.iter().map(|sign| decrypt(&keys, sign)).collect();
            assert_eq!(
                found, wanted,
                "{bits} + {headroom} bits in {body_bits}, encrypted: {encrypted}"
            );
        }
    }
}

/// Blocks of one bit, for which the oracle plans other chunks.
#[test]
fn signs_under_another_set() {
    let (mut keys, server) = Keys::shared(MESSAGE_1_CARRY_1, 122);
    let evaluator = Evaluator::new(&server);
    let fresh = CompactNoise::upload(
        server.parameters(),
        UploadKind::Symmetric,
        &encoding(1, 0, 56),
    );
    let chunks = sign_chunks(server.parameters(), 13, fresh).unwrap();
    let numbers = [0u64, 1, 0xfff, 0x1000, 0x1fff, 0x0aaa, 0x1555];
    let values = numbers.map(|number| keys.encrypt(number << (64 - 13)));
    let signs = evaluator.compact_signs(&values, &chunks, &|| true).unwrap();
    let found: Vec<u64> = signs.iter().map(|sign| decrypt(&keys, sign)).collect();
    assert_eq!(found, numbers.map(|number| number >> 12));
}

#[test]
fn an_evaluation_is_watched_and_cancelled() {
    let (mut keys, server) = Keys::shared(MESSAGE_2_CARRY_2, 123);
    let seen = AtomicU64::new(0);
    let observe = |n| {
        seen.fetch_add(n, Ordering::Relaxed);
    };
    let evaluator = Evaluator::with_observer(&server, &observe);
    let values = [keys.encrypt(1 << 60), keys.encrypt(3 << 62)];
    let asked = AtomicU64::new(0);
    let twice = || asked.fetch_add(1, Ordering::Relaxed) < 2;
    let chunks = [4, 4, 4];
    let stopped = evaluator.compact_signs(&values, &chunks, &twice);
    assert_eq!(stopped.unwrap_err(), CompactEvaluateError::Cancelled);
    assert_eq!(seen.load(Ordering::Relaxed), 4);
    evaluator.compact_signs(&values, &chunks, &|| true).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 10);
}

#[test]
fn what_is_no_number_is_refused() {
    let (mut keys, server) = Keys::generate::<u64>(small_set(64, 1, 66), 124);
    let evaluator = Evaluator::new(&server);
    let value = [keys.encrypt(0)];
    let refused = |chunks: &[u32]| {
        evaluator
            .compact_signs(&value, chunks, &|| true)
            .unwrap_err()
    };
    assert_eq!(refused(&[]), ChunkError::Width(0).into());
    assert_eq!(refused(&[4, 0]), ChunkError::Size(0).into());
    assert_eq!(refused(&[13]), ChunkError::Size(13).into());
    assert_eq!(refused(&[12; 6]), ChunkError::Width(72).into());
    let short = LweCiphertext::from_vec(vec![0u64; 9]).unwrap();
    assert!(matches!(
        evaluator.compact_signs(&[short], &[4], &|| true),
        Err(CompactEvaluateError::Bootstrap(_))
    ));
    let gates = ParameterSet {
        lwe_dimension: FEW,
        ..GATES
    };
    let (_, server) = Keys::generate::<u64>(gates, 125);
    assert!(matches!(
        Evaluator::new(&server).compact_signs(&value, &[4], &|| true),
        Err(CompactEvaluateError::Parameters(_))
    ));
    assert_eq!(evaluator.bootstrap_count(), 0);
}
