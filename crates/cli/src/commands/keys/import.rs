//! `keys import`: keys for boards, of a key that another library made. One file for each of the
//! libraries; what is written for all of them is here.

mod seal;
mod tfhe_rs;
mod tfhepp;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::wire::card::{Card, Peer};

use crate::failure::{Explain, Outcome, failure};
use crate::keys;
use crate::keys::new_files::NewFiles;

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
    let path = |name| arguments.out.join(name);
    let card = Card {
        parameters: *key.parameters(),
        key: key.fingerprint(),
        peer,
    };
    let mut files = NewFiles::default();
    files.add_secret(
        &path("device.tsbc"),
        key.to_bytes().explain("no key file")?,
        "device key: goes to the boards, mode 0600",
    );
    if arguments.public {
        let public = key.public_key(&mut keys::fresh_seeds()?);
        let public = public.explain("no public key")?;
        files.add_public(
            &path("public.tsbc"),
            public.to_bytes().explain("no key file")?,
            "public key: goes to the boards, holds no secret",
        );
    }
    files.add_public(
        &path("card.tsbc"),
        card.to_bytes().to_vec(),
        format_args!("card: goes to the server with {peer}, holds no secret"),
    );
    files.write()?;
    files.say();
    Ok(())
}
