//! Parameter sets that exist for the tests alone, so that bytes recorded in them do
//! not depend on the shipped sets, and what the tests of the wire format share.
#![allow(dead_code)]

use std::path::PathBuf;
use std::process::Command;

use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::dimensions::{
    CarryBits, GlweDimension, LweDimension, MessageBits, PolynomialSize,
};
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::packing::{PackingParameters, SlotBits};
use tfhe_sbc_core::parameters::{
    Decomposition, GlweSecret, ModulusSwitch, ParameterName, ParameterSet, PlaintextKind,
};
use tfhe_sbc_core::random::{ExpanderKind, NoiseDistribution, Seed, SeedSequence};
use tfhe_sbc_core::wire::card::{Card, LibraryNumber};
use tfhe_sbc_core::wire::{CHECKSUM_BYTES, HEADER_BYTES, Header, Message, lwe};

/// Radix blocks over the 64-bit torus. The dimension of the small key is no multiple
/// of 8, so its last byte has padding.
pub(crate) const FROZEN_RADIX: ParameterSet = ParameterSet {
    name: ParameterName::new("frozen_radix"),
    torus_bits: 64,
    lwe_dimension: LweDimension(70),
    lwe_block_size: 1,
    lwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 0.000_030_517_578_125,
    },
    glwe_dimension: GlweDimension(1),
    polynomial_size: 256,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::Gaussian {
        standard_deviation: 1.0 / (1u64 << 48) as f64,
    },
    pbs: Decomposition::new(23, 1),
    pbs_body: Decomposition::new(23, 1),
    key_switch: Decomposition::new(3, 5),
    plaintext: PlaintextKind::Radix,
    message_bits: MessageBits(2),
    carry_bits: CarryBits(2),
    max_noise_level: 5,
    modulus_switch: ModulusSwitch::MeanCompensated,
    body_bits: 13,
    public_key_mask_bits: 0,
    log2_p_fail: -40.25,
    security_bits: 0.5,
};

/// Booleans over the 32-bit torus, with TUniform noise and two mask polynomials.
pub(crate) const FROZEN_BOOLEAN: ParameterSet = ParameterSet {
    name: ParameterName::new("frozen_boolean"),
    torus_bits: 32,
    lwe_dimension: LweDimension(72),
    lwe_block_size: 3,
    lwe_noise: NoiseDistribution::TUniform { bound_log2: 16 },
    glwe_dimension: GlweDimension(2),
    polynomial_size: 256,
    glwe_secret: GlweSecret::Binary,
    glwe_noise: NoiseDistribution::TUniform { bound_log2: 7 },
    pbs: Decomposition::new(10, 2),
    pbs_body: Decomposition::new(10, 1),
    key_switch: Decomposition::new(3, 4),
    plaintext: PlaintextKind::Boolean,
    message_bits: MessageBits(1),
    carry_bits: CarryBits(1),
    max_noise_level: 3,
    modulus_switch: ModulusSwitch::Plain,
    body_bits: 9,
    public_key_mask_bits: 0,
    log2_p_fail: -30.0,
    security_bits: 0.5,
};

/// The same with public-key uploads, whose masks are cut.
pub(crate) const FROZEN_PUBLIC_RADIX: ParameterSet = ParameterSet {
    name: ParameterName::new("frozen_public_radix"),
    public_key_mask_bits: 21,
    ..FROZEN_RADIX
};
pub(crate) const FROZEN_PUBLIC_BOOLEAN: ParameterSet = ParameterSet {
    name: ParameterName::new("frozen_public_boolean"),
    public_key_mask_bits: 15,
    ..FROZEN_BOOLEAN
};

/// Booleans under a ternary GLWE key.
pub(crate) const FROZEN_TERNARY: ParameterSet = ParameterSet {
    name: ParameterName::new("frozen_ternary"),
    glwe_secret: GlweSecret::Ternary,
    ..FROZEN_PUBLIC_BOOLEAN
};

/// Packing parameters: small, and neither secure nor free of failures.
pub(crate) const FROZEN_PACKING: PackingParameters = PackingParameters {
    glwe_dimension: GlweDimension(2),
    polynomial_size: match PolynomialSize::new(256) {
        Ok(size) => size,
        Err(_) => panic!("256 is a power of two"),
    },
    standard_deviation: 1.0 / 16777216.0,
    decomposition: Decomposition::new(6, 2),
    key_body_bits: 24,
    slot_bits: SlotBits { mask: 9, body: 5 },
    log2_p_fail: -40.25,
    security_bits: 0.5,
};

/// A session of known seed.
pub(crate) fn seeds(seed: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([seed; 32]))
}

/// A key set of known seed.
pub(crate) fn secret_key(set: ParameterSet, seed: u8) -> SecretKey {
    SecretKey::generate(set.validate().unwrap(), &mut seeds(seed)).unwrap()
}

/// The key of one device, of known seed.
pub(crate) fn issued_device_key(secret: &SecretKey) -> DeviceKey {
    let issue = DeviceIssue {
        device: DeviceId::new("station-7"),
        epoch: Epoch::new(0x0102).unwrap(),
    };
    secret.issue_device_key(issue, &mut seeds(60)).unwrap()
}

/// The bytes of a device public key, of known seed.
pub(crate) fn device_public_key(secret: &SecretKey) -> Vec<u8> {
    let key = secret.device_public_key(&mut seeds(61)).unwrap();
    key.to_bytes().unwrap()
}

/// The card of that key set, as if TFHEpp had made it.
pub(crate) fn card(secret: &SecretKey) -> Card {
    Card {
        parameters: *secret.parameters(),
        key: secret.fingerprint(),
        library: LibraryNumber(2),
    }
}

/// The message of small LWE encryptions of block values, of known seed.
pub(crate) fn lwe_list(secret: &SecretKey, values: &[i64], seed: u8) -> Vec<u8> {
    let parameters = secret.parameters();
    let mut seeds = seeds(seed);
    let ciphertexts: Vec<LweCiphertext<u32>> = values
        .iter()
        .map(|&value| {
            let (mask, noise) = seeds.next_pair().unwrap();
            secret.lwe().encrypt(
                parameters.block_encoding().encode(value),
                parameters.lwe_noise(),
                &mut ExpanderKind::ChaCha20.mask_stream(&mask, 0),
                &mut ExpanderKind::ChaCha20.noise_stream(&noise, 0),
            )
        })
        .collect();
    lwe::write(parameters, secret.fingerprint(), &ciphertexts)
}

/// The message with its header changed and its checksum right again: what a forger
/// would send.
pub(crate) fn forged(message: &[u8], change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header = Message::parse(message).unwrap().0.header;
    change(&mut header);
    resealed(&header, Message::parse(message).unwrap().0.payload)
}

/// A header in front of a payload, sealed.
pub(crate) fn resealed(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; HEADER_BYTES];
    out.extend_from_slice(payload);
    header.seal_vec(&mut out).unwrap();
    out
}

/// The message with header byte `at` overwritten and its checksum right again, for
/// bytes that no [`Header`] can hold.
pub(crate) fn patched(message: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut out = message.to_vec();
    out[at..at + bytes.len()].copy_from_slice(bytes);
    let (covered, checksum) = out.split_at_mut(message.len() - CHECKSUM_BYTES);
    checksum.copy_from_slice(&(!crc32(covered, !0)).to_le_bytes());
    out
}

/// The CRC-32 register after `bytes`, bit by bit as the definition says.
fn crc32(bytes: &[u8], register: u32) -> u32 {
    bytes.iter().fold(register, |mut crc, &byte| {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1));
        }
        crc
    })
}

/// Lower-case hexadecimal digits, 32 bytes a line.
pub(crate) fn hex_lines(bytes: &[u8]) -> Vec<String> {
    bytes
        .chunks(32)
        .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect())
        .collect()
}

/// Compares bytes with recorded ones: all of them, or the first 128 and the BLAKE3
/// hash of all where `hash` is given.
pub(crate) fn assert_golden(what: &str, bytes: &[u8], recorded: &[&str], hash: Option<&str>) {
    let shown = if hash.is_some() { &bytes[..128] } else { bytes };
    let seen = hex_lines(shown);
    let digest = blake3::hash(bytes).to_hex();
    assert!(
        seen == recorded && hash.is_none_or(|hash| hash == digest.as_str()),
        "the bytes of the {what} ({} of them) have changed: old files are no longer \
         readable unless the format version changes too. Now:\n{}\nBLAKE3 {digest}",
        bytes.len(),
        seen.join("\n"),
    );
}

/// Runs the Python program that reads files by `docs/wire-format.md` alone, and returns its lines. It
/// panics if the program refuses a file.
pub(crate) fn independent_reader(files: &[PathBuf]) -> String {
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../core/tests/independent_reader"
    );
    // With -B nothing is written beside the program.
    let output = Command::new("python3")
        .args(["-B", program])
        .args(files)
        .output()
        .unwrap_or_else(|error| {
            panic!("this test needs `python3` (3.8 or newer) on the PATH, but: {error}")
        });
    assert!(
        output.status.success(),
        "the independent reader refused a file:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
