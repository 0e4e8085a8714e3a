//! Ciphertexts that TFHEpp v9 made, read with this crate's types. Their origin is in
//! `tests/vectors/tfhepp/v9-binary-lvl1/README.md`.

use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe::{GlweCiphertext, GlweSecretKey};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::GlweSecret;

use crate::vectors::{tfhepp as file, tfhepp_bits as bits};

const N: usize = 1024;
/// The place at which lvl1 begins in `secretkey.bin`: archive byte, u16 lvl0[636], u32
/// lvlhalf[760].
const LVL1_AT: usize = 1 + 2 * 636 + 4 * 760;
/// TFHEpp's alpha of lvl1, in steps of the 32-bit torus: 2^-25 · 2^32.
const SIGMA: f64 = 128.0;
const DEGREES: [usize; 4] = [0, 1, 511, 1023];

/// The scalars behind the byte that every cereal portable archive of a little-endian
/// machine begins with.
fn archive(name: &str) -> Vec<u8> {
    let bytes = file(name);
    assert_eq!(
        bytes[0], 1,
        "{name} is not a little-endian portable archive"
    );
    bytes[1..].to_vec()
}

fn scalars(bytes: &[u8]) -> Vec<u32> {
    let (words, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty());
    words.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

/// A `std::vector` of TLWE lvl1: a 64-bit count, then mask and body of each.
fn tlwe_vector(name: &str) -> Vec<LweCiphertext<u32>> {
    let bytes = archive(name);
    let (count, elements) = bytes.split_first_chunk::<8>().unwrap();
    let words = scalars(elements);
    assert_eq!(
        words.len() as u64,
        u64::from_le_bytes(*count) * (N as u64 + 1)
    );
    words
        .chunks(N + 1)
        .map(|words| LweCiphertext::from_vec(words.to_vec()).unwrap())
        .collect()
}

fn key() -> GlweSecretKey {
    let words = scalars(&file("secretkey.bin")[LVL1_AT..LVL1_AT + 4 * N]);
    let bits: Vec<i8> = words
        .iter()
        .map(|&word| i8::try_from(word).unwrap())
        .collect();
    assert!(
        bits.iter()
            .map(|&bit| bit as usize)
            .sum::<usize>()
            .abs_diff(N / 2)
            < 5 * 16
    );
    GlweSecretKey::from_coefficients(
        GlweSecret::Binary,
        bits.into(),
        PolynomialSize::new(N).unwrap(),
    )
    .unwrap()
}

fn trlwe() -> GlweCiphertext<u32> {
    let words = scalars(&archive("trlwe1024.bin"));
    assert_eq!(words.len(), 2 * N);
    GlweCiphertext::from_vec(words, PolynomialSize::new(N).unwrap()).unwrap()
}

/// Returns a phase less the plaintext of `bit`.
fn noise(phase: u32, bit: bool) -> f64 {
    f64::from(phase.wrapping_sub(boolean::encode(bit)) as i32)
}

#[test]
fn a_trlwe_decrypts_to_its_bits_with_the_stated_noise() {
    let phases = key().prepare().phase(&trlwe());
    let expected = bits("trlwe_bits.txt");
    assert_eq!(expected.len(), N);
    let seen: Vec<bool> = phases.iter().map(|&phase| boolean::decode(phase)).collect();
    assert_eq!(seen, expected);

    let noises = || {
        phases
            .iter()
            .zip(&expected)
            .map(|(&phase, &bit)| noise(phase, bit))
    };
    let mean = noises().sum::<f64>() / N as f64;
    let deviation = (noises().map(|e| e * e).sum::<f64>() / N as f64).sqrt();
    // Five standard deviations of either estimate.
    assert!(mean.abs() < 5.0 * SIGMA / (N as f64).sqrt(), "mean {mean}");
    let tolerance = 5.0 * SIGMA / (2.0 * N as f64).sqrt();
    assert!(
        (deviation - SIGMA).abs() < tolerance,
        "deviation {deviation}"
    );
    assert!(noises().all(|e| e.abs() < 6.0 * SIGMA));
}

#[test]
fn sample_extraction_gives_tfhepps_words() {
    let (trlwe, lwe_key) = (trlwe(), key().to_lwe_secret_key());
    let extracted = tlwe_vector("extracted_0_1_511_1023.bin");
    let (expected, all) = (bits("extracted_bits.txt"), bits("trlwe_bits.txt"));
    assert_eq!(extracted.len(), DEGREES.len());
    for ((theirs, degree), bit) in extracted.iter().zip(DEGREES).zip(expected) {
        let ours = trlwe.sample_extract(degree);
        assert!(ours == *theirs, "the words at degree {degree} differ");
        assert_eq!(boolean::decode(lwe_key.phase(&ours)), bit);
        assert_eq!(bit, all[degree]);
    }
}

#[test]
fn fresh_tlwes_decrypt_to_their_bits() {
    let lwe_key = key().to_lwe_secret_key();
    let (fresh, expected) = (tlwe_vector("vec8.bin"), bits("vec8_bits.txt"));
    assert_eq!((fresh.len(), expected.len()), (8, 8));
    for (tlwe, bit) in fresh.iter().zip(expected) {
        let phase = lwe_key.phase(tlwe);
        assert_eq!(boolean::decode(phase), bit);
        assert!(noise(phase, bit).abs() < 6.0 * SIGMA);
    }
}

#[test]
fn gate_outputs_decrypt_to_the_nand_of_the_inputs() {
    let lwe_key = key().to_lwe_secret_key();
    let (fresh, extracted) = (bits("vec8_bits.txt"), bits("extracted_bits.txt"));
    for (name, a, b) in [
        ("nand_0_1.bin", fresh[0], fresh[1]),
        ("nand_2_3.bin", fresh[2], fresh[3]),
        ("nand_4_5.bin", fresh[4], fresh[5]),
        ("nand_extracted_0_1.bin", extracted[0], extracted[1]),
    ] {
        let outputs = tlwe_vector(name);
        assert_eq!(outputs.len(), 1, "{name}");
        let phase = lwe_key.phase(&outputs[0]);
        assert_eq!(boolean::decode(phase), !(a && b), "{name}");
        // A bootstrap's noise: far above a fresh one's, far below 1/16 of the torus.
        let noise = noise(phase, !(a && b)).abs();
        assert!(noise < f64::from(1 << 26), "{name}: {noise}");
    }
}
