//! TFHE-rs's published test vectors, from keys and masks to a programmable bootstrap, with this crate's types, bit for
//! bit. Their origin is in `tests/vectors/tfhe-rs-core/README.md`.
//!
//! This crate has no key switch of 64-bit ciphertexts and no exact external product. For these two
//! the test has the formula, and applies it to types of this crate.

use ciborium::Value;
use tfhe_sbc_core::dimensions::{LweDimension, PolynomialSize};
use tfhe_sbc_core::glwe::{GlweCiphertext, GlweSecretKey};
use tfhe_sbc_core::lwe::{LweCiphertext, LweSecretKey};
use tfhe_sbc_core::parameters::GlweSecret;
use tfhe_sbc_core::random::{Expander, TfheRsStream, fill_uniform};
use tfhe_sbc_core::simd::{Isa, rotate_into};
use tfhe_sbc_core::torus::Torus;

use crate::vectors::tfhe_rs_core as file;

/// The seed of all randomness, `RAND_SEED`.
const SEED: u128 = 0x7466_6865;
/// The small dimension n and the polynomial size N; the GLWE dimension is 1.
const DIMENSION: usize = 10;
const N: usize = 256;
/// log2 of the step between plaintexts: 4 bits below a padding bit.
const STEP_LOG2: u32 = 64 - 5;
/// log2 of the base of the key switch and of the external product, which have one level each.
const KEY_SWITCH_BASE_LOG: u32 = 37;
const PBS_BASE_LOG: u32 = 24;

/// The field `data` of a CBOR file, wherever it is.
fn words(name: &str) -> Vec<u64> {
    fn data(value: &Value) -> Option<&Vec<Value>> {
        let fields = value.as_map()?;
        let named = fields.iter().find(|(key, _)| key.as_text() == Some("data"));
        match named {
            Some((_, words)) => words.as_array(),
            None => fields.iter().find_map(|(_, inner)| data(inner)),
        }
    }
    let value: Value = ciborium::from_reader(&file(name)[..]).unwrap();
    let words = data(&value).unwrap().iter();
    words
        .map(|word| u64::try_from(word.as_integer().unwrap()).unwrap())
        .collect()
}

fn lwe(name: &str) -> LweCiphertext<u64> {
    LweCiphertext::from_vec(words(name)).unwrap()
}

fn glwe(name: &str) -> GlweCiphertext<u64> {
    GlweCiphertext::from_vec(words(name), PolynomialSize::new(N).unwrap()).unwrap()
}

fn bits(name: &str) -> Vec<i8> {
    words(name).into_iter().map(|bit| bit as i8).collect()
}

fn small_key() -> LweSecretKey {
    LweSecretKey::from_coefficients(bits("small_lwe_secret_key").into(), 1).unwrap()
}

fn large_key() -> GlweSecretKey {
    let coefficients = bits("large_lwe_secret_key").into();
    let size = PolynomialSize::new(N).unwrap();
    GlweSecretKey::from_coefficients(GlweSecret::Binary, coefficients, size).unwrap()
}

/// Returns the digit of the only level of a decomposition in base `2^base_log`, in (-B/2, B/2]. A scalar exactly between
/// two digits of different signs has the positive one, as in TFHE-rs; the engine takes the negative one.
fn digit(x: u64, base_log: u32) -> i64 {
    let base = 1 << base_log;
    let rounded = (x.round_to_bits(base_log) & (base - 1)) as i64;
    match rounded > base as i64 / 2 {
        true => rounded - base as i64,
        false => rounded,
    }
}

/// Adds the product of digits and a polynomial in `Z[X]/(X^N + 1)` mod 2^64, by the definition.
fn add_product(sum: &mut [u64], digits: &[i64], polynomial: &[u64]) {
    for (i, &digit) in digits.iter().enumerate() {
        for (j, &x) in polynomial.iter().enumerate() {
            let term = x.wrapping_mul(digit as u64);
            let place = &mut sum[(i + j) % N];
            *place = match i + j < N {
                true => place.wrapping_add(term),
                false => place.wrapping_sub(term),
            };
        }
    }
}

#[test]
fn keys_and_masks_are_those_of_the_seed() {
    let mut stream = TfheRsStream::new(SEED);
    for (key, len) in [
        (bits("large_lwe_secret_key"), N),
        (bits("small_lwe_secret_key"), DIMENSION),
    ] {
        let mut drawn = vec![0; len];
        stream.fill(&mut drawn);
        let drawn: Vec<i8> = drawn.into_iter().map(|byte| (byte & 1) as i8).collect();
        assert_eq!(drawn, key);
    }
    let mut stream = TfheRsStream::new(SEED);
    for name in ["lwe_a", "lwe_b"] {
        let mut mask = vec![0u64; N];
        fill_uniform(&mut stream, &mut mask);
        assert_eq!(mask, lwe(name).mask(), "{name}");
    }
}

#[test]
fn every_ciphertext_decrypts() {
    let large = large_key().to_lwe_secret_key();
    let value = |key: &LweSecretKey, name| key.phase(&lwe(name)).round_to_bits(64 - STEP_LOG2) & 31;
    for (name, expected) in [
        ("lwe_a", 4),
        ("lwe_b", 3),
        ("lwe_sum", 7),
        ("lwe_prod", 12),
        ("lwe_after_id_pbs_karatsuba", 4),
        ("lwe_after_spec_pbs_karatsuba", 8),
    ] {
        assert_eq!(value(&large, name), expected, "{name}");
    }
    assert_eq!(value(&small_key(), "lwe_ks"), 4);
    // There is no noise.
    assert_eq!(large.phase(&lwe("lwe_a")), 4 << STEP_LOG2);
    // The polynomial that was extracted from, by the transform.
    for (name, expected) in [
        ("glwe_after_id_br_karatsuba", 4),
        ("glwe_after_spec_br_karatsuba", 8),
    ] {
        let phase = large_key().prepare().phase(&glwe(name))[0];
        assert_eq!(phase.round_to_bits(64 - STEP_LOG2) & 31, expected, "{name}");
    }
}

#[test]
fn sums_and_products_are_the_same() {
    let mut sum = lwe("lwe_a");
    sum.add_assign(&lwe("lwe_b"));
    assert_eq!(sum, lwe("lwe_sum"));
    let mut product = lwe("lwe_a");
    product.mul_assign(3);
    assert_eq!(product, lwe("lwe_prod"));
}

#[test]
fn key_switch_and_modulus_switch_are_the_same() {
    let input = lwe("lwe_a");
    let mut switched = LweCiphertext::trivial(LweDimension(DIMENSION), input.body());
    let key = words("ksk");
    for (&x, row) in input.mask().iter().zip(key.chunks_exact(DIMENSION + 1)) {
        let row = LweCiphertext::from_vec(row.to_vec()).unwrap();
        switched.add_scaled(&row, -digit(x, KEY_SWITCH_BASE_LOG));
    }
    assert_eq!(switched, lwe("lwe_ks"));
    // TFHE-rs stores exponents at the top of words.
    let bits = (2 * N).ilog2();
    let exponents = switched.as_slice().iter();
    let exponents = exponents.map(|x| u64::from_top_bits(x.round_to_bits(bits), bits));
    assert_eq!(exponents.collect::<Vec<_>>(), words("lwe_ms"));
}

/// The table of a function of 4 bits below a padding bit: N/16 places for each value, the first half of those of 0 at
/// the end, with the other sign.
fn table(function: impl Fn(u64) -> u64) -> Vec<u64> {
    let boxes = N / 16;
    let place = |i: usize| {
        let i = i + boxes / 2;
        match i < N {
            true => function((i / boxes) as u64) << STEP_LOG2,
            false => (function(0) << STEP_LOG2).wrapping_neg(),
        }
    };
    (0..N).map(place).collect()
}

#[test]
fn blind_rotation_and_extraction_are_the_same() {
    let bits = (2 * N).ilog2();
    let exponents: Vec<usize> = words("lwe_ms")
        .iter()
        .map(|x| (x >> (64 - bits)) as usize)
        .collect();
    let (&body, mask) = exponents.split_last().unwrap();
    let key = words("bsk");
    for isa in Isa::available() {
        let rotated = |polynomial: &[u64], degree: usize| {
            let mut out = vec![0; N];
            rotate_into(isa, &mut out, polynomial, degree % (2 * N));
            out
        };
        for (name, table) in [("id", table(|x| x)), ("spec", table(|x| 2 * x % 16))] {
            let mut acc = [vec![0; N], rotated(&table, 2 * N - body)];
            for (&exponent, rows) in mask.iter().zip(key.chunks_exact(4 * N)) {
                let digits = acc.each_ref().map(|polynomial| {
                    let turned = rotated(polynomial, exponent);
                    let differences = turned.iter().zip(polynomial);
                    let digits = differences.map(|(x, y)| digit(x.wrapping_sub(*y), PBS_BASE_LOG));
                    digits.collect::<Vec<_>>()
                });
                for (digits, row) in digits.iter().zip(rows.chunks_exact(2 * N)) {
                    for (sum, polynomial) in acc.iter_mut().zip(row.chunks_exact(N)) {
                        add_product(sum, digits, polynomial);
                    }
                }
            }
            let size = PolynomialSize::new(N).unwrap();
            let acc = GlweCiphertext::from_vec(acc.concat(), size).unwrap();
            assert!(
                acc == glwe(&format!("glwe_after_{name}_br_karatsuba")),
                "{name} {}",
                isa.name()
            );
            assert_eq!(
                acc.sample_extract(0),
                lwe(&format!("lwe_after_{name}_pbs_karatsuba"))
            );
        }
    }
}
