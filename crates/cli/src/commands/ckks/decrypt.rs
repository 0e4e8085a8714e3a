//! `ckks decrypt`: ciphertexts that a server returned, in the clear.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tfhe_sbc_ckks::decrypt;
use tfhe_sbc_foreign::seal::{ciphertexts, uncompressed};

use super::key_file::{self, Key};
use super::scale;
use crate::failure::{Explain, Outcome, failure};
use crate::output;

/// Decrypts ciphertexts of SEAL's, fresh or computed on, and prints their slots.
///
/// CKKS is approximate: decrypted numbers reveal the noise, and with it something of the key. Show
/// them only to those who have the key.
#[derive(Args)]
pub(super) struct Arguments {
    /// The ciphertexts, one after the other, or - for stdin
    #[arg(default_value = "-")]
    ciphertexts: PathBuf,
    /// The secret key: SEAL's SecretKey, or sk_N.dat of SEAL-Embedded's
    #[arg(long, default_value = "keys/secret.seal")]
    key: PathBuf,
    /// SEAL's parameters [default: recognised, or parms.seal beside the key]
    #[arg(long, value_name = "FILE")]
    parms: Option<PathBuf>,
    /// The scale of ciphertexts that do not contain theirs: SEAL-Embedded's raw stream
    #[arg(long, value_parser = scale)]
    scale: Option<f64>,
    /// The number of numbers to print [default: all slots]
    #[arg(long)]
    count: Option<usize>,
    /// Print imaginary parts too
    #[arg(long)]
    complex: bool,
    /// Print JSON, with all digits
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Decrypted<'s> {
    real: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imaginary: Option<Vec<f64>>,
    scales: &'s [f64],
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let name = arguments.ciphertexts.display();
    let bytes = uncompressed(&output::read_input(&arguments.ciphertexts)?).explain(&name)?;
    let Key::Secret(key) = key_file::read(&arguments.key, arguments.parms.as_deref())? else {
        return Err(failure(
            format_args!(
                "{} is a public key, which decrypts nothing",
                arguments.key.display()
            ),
            "give the secret key",
        ));
    };
    let mut slots = Vec::new();
    let mut scales = Vec::new();
    for ciphertext in ciphertexts(key.parameters(), arguments.scale, &bytes) {
        let ciphertext = ciphertext.advise(
            &name,
            "give ciphertexts that SEAL saved, and the key and parameters that they were made with; of a raw stream the --scale too",
        )?;
        let key = key.key().explain(arguments.key.display())?;
        slots.extend(decrypt(key, &ciphertext).explain(&name)?);
        scales.push(ciphertext.scale());
    }
    slots.truncate(arguments.count.unwrap_or(usize::MAX));
    if arguments.json {
        let part = |part: usize| slots.iter().map(|slot| slot[part]).collect();
        return output::print_json(&Decrypted {
            real: part(0),
            imaginary: arguments.complex.then(|| part(1)),
            scales: &scales,
        });
    }
    let lines: Vec<String> = slots
        .iter()
        .map(|[re, im]| match arguments.complex {
            true => format!("{re:.6},{im:.6}"),
            false => format!("{re:.6}"),
        })
        .collect();
    output::emit(lines.join("\n"))
}
