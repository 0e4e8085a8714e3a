//! `keys import`: keys for boards, of a key that another library made. One file for each of the
//! libraries; what is written for all of them is here.

mod seal;
mod tfhe_rs;
mod tfhepp;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::wire::card::{Card, Peer};
use tfhe_sbc_service::files;

use crate::failure::{Explain, Outcome, failure};
use crate::{keys, output, report};

/// Makes keys for boards of a key that another library made, so that its owner decrypts, and its
/// server computes on, what boards encrypt. Nothing changes on their side.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The library that made the key
    #[arg(long, value_enum)]
    from: Source,
    /// The key file; of SEAL-Embedded also the directory of its files
    key: PathBuf,
    /// The directory for what is made of it
    #[arg(long, default_value = "keys")]
    out: PathBuf,
    /// Of SEAL: its parameters [default: recognised, or parms.seal beside the key]
    #[arg(long, value_name = "FILE")]
    parms: Option<PathBuf>,
    /// Also make a public key, with which boards encrypt and decrypt nothing
    #[arg(long)]
    public: bool,
}

/// Where keys come from.
#[derive(Clone, Copy, ValueEnum)]
enum Source {
    /// A `ClientKey` of TFHE-rs, written by `safe_serialize`
    TfheRs,
    /// A `SecretKey` of TFHEpp, written by cereal
    Tfhepp,
    /// A `SecretKey` or `PublicKey` of Microsoft SEAL
    Seal,
    /// The key files of SEAL-Embedded
    SealEmbedded,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let is_seals = matches!(arguments.from, Source::Seal | Source::SealEmbedded);
    if arguments.parms.is_some() && !is_seals {
        return Err(failure(
            "--parms is for keys of SEAL and SEAL-Embedded",
            "leave it out: the key's file has its parameters",
        ));
    }
    match arguments.from {
        Source::TfheRs => tfhe_rs::run(arguments),
        Source::Tfhepp => tfhepp::run(arguments),
        Source::Seal => seal::run(arguments),
        Source::SealEmbedded => seal::run_embedded(arguments),
    }
}

/// Writes what boards and servers need of an imported key: `device.tsbc`, `card.tsbc` and, if it
/// is asked for, `public.tsbc`.
fn write(key: &DeviceKey, peer: Peer, arguments: &Arguments) -> Outcome<()> {
    const ADVICE: &str = "choose a directory that you can write to and that has room";
    let path = |name| arguments.out.join(name);
    let (device_path, card_path) = (path("device.tsbc"), path("card.tsbc"));
    let public_path = arguments.public.then(|| path("public.tsbc"));
    let paths = [Some(&device_path), Some(&card_path), public_path.as_ref()];
    for path in paths.into_iter().flatten() {
        if path.symlink_metadata().is_ok() {
            return Err(failure(
                format_args!(
                    "{} exists already, and keys are never overwritten",
                    path.display()
                ),
                "choose another directory with --out, or move the old keys away",
            ));
        }
    }
    let card = Card {
        parameters: *key.parameters(),
        key: key.fingerprint(),
        peer,
    };
    let public = match &public_path {
        None => None,
        Some(path) => {
            let public = key
                .public_key(&mut keys::fresh_seeds()?)
                .explain("no public key")?;
            Some((path, public.to_bytes().explain("no key file")?))
        }
    };
    let device = key.to_bytes().explain("no key file")?;

    files::create_private_directory(&arguments.out).advise("no keys were written", ADVICE)?;
    let written = files::write_public_new(&card_path, &card.to_bytes())
        .and_then(|()| match &public {
            Some((path, bytes)) => files::write_public_new(path, bytes),
            None => Ok(()),
        })
        .and_then(|()| files::write_private_new(&device_path, &device));
    if written.is_err() {
        // None of them was there before, and parts of them are of no use.
        for path in paths.into_iter().flatten() {
            let _ = std::fs::remove_file(path);
        }
    }
    written.advise("no keys were written", ADVICE)?;
    say(&device_path, "device key: goes to the boards, mode 0600");
    if let Some(path) = &public_path {
        say(path, "public key: goes to the boards, holds no secret");
    }
    say(
        &card_path,
        format_args!("card: goes to the server with {peer}, holds no secret"),
    );
    Ok(())
}

/// Says what was written.
fn say(path: &Path, what: impl Display) {
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    output::note(format_args!(
        "{:<32} {:>10}  {what}",
        path.display(),
        report::bytes(size)
    ));
}
