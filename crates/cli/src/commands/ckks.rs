//! `ckks`: real and complex numbers for servers that run Microsoft SEAL. [`keygen`] makes keys in
//! SEAL's form, [`encrypt`] encrypts as a board does, [`decrypt`] decrypts what a server returns;
//! [`key_file`] reads and writes keys, [`numbers`] reads CSV.

mod decrypt;
mod encrypt;
pub(crate) mod key_file;
mod keygen;
mod numbers;

use clap::{Args, Subcommand};

use crate::failure::Outcome;
use crate::report;

/// Encrypts real or complex numbers by CKKS, for servers that run Microsoft SEAL.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc ckks keygen --out keys\n  tfhe-sbc sample | tfhe-sbc ckks encrypt --column temperature_c --out day.seal\n  tfhe-sbc inspect day.seal\n  tfhe-sbc ckks decrypt day.seal --count 24"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Make parameters and keys that SEAL loads
    Keygen(keygen::Arguments),
    /// Encrypt numbers with a secret key or a public key
    Encrypt(encrypt::Arguments),
    /// Decrypt SEAL's ciphertexts with the secret key
    Decrypt(decrypt::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match &arguments.task {
        Task::Keygen(arguments) => keygen::run(arguments),
        Task::Encrypt(arguments) => encrypt::run(arguments),
        Task::Decrypt(arguments) => decrypt::run(arguments),
    }
}

/// Returns a number of ciphertexts in words.
pub(crate) fn ciphertexts(count: usize) -> String {
    match count {
        1 => "1 ciphertext".to_owned(),
        count => format!("{} ciphertexts", report::count(count as u64)),
    }
}

/// Parses a scale: a number, or a power like 2^25.
pub(crate) fn scale(text: &str) -> Result<f64, String> {
    let scale = match text.split_once('^') {
        Some((base, exponent)) => base
            .parse::<f64>()
            .ok()
            .zip(exponent.parse().ok())
            .map(|(base, exponent)| base.powi(exponent)),
        None => text.parse().ok(),
    };
    scale
        .filter(|scale| scale.is_finite() && *scale > 0.0)
        .ok_or_else(|| "a scale is a positive number, like 2^25 or 1000".to_owned())
}
