//! `convert`: uploads as ciphertexts of other libraries. One file for each of them.

mod seal;
mod tfhe_rs;
mod tfhepp;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tfhe_sbc_core::wire::card::{Card, Peer};

use crate::failure::{Explain, Outcome, failure};
use crate::keys::read_file;

/// Turns what boards encrypted into ciphertexts of the library that a server runs.
///
/// What goes where:
///   --to tfhe-rs   uploads under a key of TFHE-rs, as its integers and booleans
///   --to tfhepp    uploads under a key of TFHEpp, as its TLWE or TRLWE ciphertexts
///   --to seal      CKKS streams and seeded ciphertexts, as SEAL's ciphertexts
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Arguments {
    /// The library whose ciphertexts are wanted
    #[arg(long, value_enum)]
    to: Target,
    /// What boards encrypted, or - for stdin
    #[arg(default_value = "-")]
    input: PathBuf,
    /// The card that `keys import` wrote beside the device key
    #[arg(long, default_value = "keys/card.tsbc")]
    card: PathBuf,
    /// To SEAL: its parameters
    #[arg(long, value_name = "FILE", default_value = "keys/parms.seal")]
    parms: PathBuf,
    /// To SEAL: the scale of ciphertexts that do not say theirs, SEAL-Embedded's raw stream
    #[arg(long, value_parser = super::ckks::scale)]
    scale: Option<f64>,
    /// The file to write [default: stdout]
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    tfhe_rs: tfhe_rs::Options,
    #[command(flatten)]
    tfhepp: tfhepp::Options,
}

/// Where ciphertexts go.
#[derive(Clone, Copy, ValueEnum)]
enum Target {
    /// TFHE-rs
    TfheRs,
    /// TFHEpp
    Tfhepp,
    /// Microsoft SEAL
    Seal,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    match arguments.to {
        Target::TfheRs => tfhe_rs::run(arguments),
        Target::Tfhepp => tfhepp::run(arguments),
        Target::Seal => seal::run(arguments),
    }
}

/// Reads a card, which must be of that library.
fn read_card(path: &Path, peer: Peer) -> Outcome<Card> {
    let card = Card::from_bytes(&read_file(path)?).explain(path.display())?;
    if card.peer == peer {
        return Ok(card);
    }
    Err(failure(
        format_args!(
            "{} is of a key of {}, not of {peer}",
            path.display(),
            card.peer
        ),
        "convert to the library that the key comes from: uploads are under that key",
    ))
}
