//! The paths. Each module has those of one part of the libraries.

mod ckks;
mod columns;
mod controls;
mod decryption;
mod encryption;
mod frames;
mod keys;
mod random;

use std::error::Error;

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::memcheck::mark_secret;
use tfhe_sbc_core::parameter_sets::{BOOLEAN_1024, BOOLEAN_1024_TUNIFORM, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::{GlweSecret, PARAMETERS_BYTES, ParameterSet};
use tfhe_sbc_core::random::{NoiseDistribution, Seed, SeedSequence};
use tfhe_sbc_core::wire::HEADER_BYTES;
use tfhe_sbc_core::wire::key::BINDING_BYTES;

use crate::check::Check;

/// Runs all paths and controls.
pub(crate) fn run_all(check: &mut Check) {
    controls::run(check);
    random::run(check);
    keys::run(check);
    encryption::run(check);
    columns::run(check);
    decryption::run(check);
    ckks::run(check);
    frames::run(check);
}

/// The parameter sets on which paths run: both tori, both sorts of secrets, all distributions of noise.
fn sets() -> [(&'static str, ParameterSet); 4] {
    [
        ("integers", MESSAGE_2_CARRY_2),
        ("bits, TUniform", BOOLEAN_1024_TUNIFORM),
        (
            "bits, ternary key",
            ParameterSet {
                glwe_secret: GlweSecret::Ternary,
                ..BOOLEAN_1024
            },
        ),
        (
            "bits, binomial",
            ParameterSet {
                glwe_noise: NoiseDistribution::CenteredBinomial { eta: 21 },
                ..BOOLEAN_1024
            },
        ),
    ]
}

/// Bytes that look random.
fn bytes<const LEN: usize>(salt: u8) -> [u8; LEN] {
    let mut state = u32::from(salt).wrapping_mul(0x9e37_79b9) | 1;
    core::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 11) as u8
    })
}

/// Secret bytes.
fn secret_bytes<const LEN: usize>(salt: u8) -> [u8; LEN] {
    let mut bytes = bytes(salt);
    mark_secret(&mut bytes);
    bytes
}

/// Seeds that are no secret, for what is only prepared.
fn public_seeds(salt: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes(bytes(salt)))
}

/// Seeds from a secret root.
fn secret_seeds(salt: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes(secret_bytes(salt)))
}

/// A key set whose coefficients memcheck takes for public.
fn public_key_set(set: ParameterSet) -> Result<SecretKey, Box<dyn Error>> {
    Ok(SecretKey::generate(set.validate()?, &mut public_seeds(9))?)
}

/// The file of a key set's device key, with secret coefficients, and so a secret checksum.
fn device_key_file(set: ParameterSet) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut file = public_key_set(set)?.device_key().to_bytes()?.to_vec();
    mark_from(&mut file, HEADER_BYTES + PARAMETERS_BYTES + BINDING_BYTES);
    Ok(file)
}

/// The file of a secret key, with secret coefficients, and so a secret checksum.
fn secret_key_file(set: ParameterSet) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut file = public_key_set(set)?.to_bytes()?.to_vec();
    mark_from(&mut file, HEADER_BYTES + PARAMETERS_BYTES);
    Ok(file)
}

fn mark_from(bytes: &mut [u8], start: usize) {
    if let Some(coefficients) = bytes.get_mut(start..) {
        mark_secret(coefficients);
    }
}
