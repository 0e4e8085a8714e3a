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
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc ckks keygen --out keys\n  tfhe-sbc sample | tfhe-sbc ckks encrypt --column temperature_c --out day.seal\n  tfhe-sbc convert --to seal day.seal --out expanded.seal"
)]
pub(crate) struct Arguments {
    /// The library whose ciphertexts are wanted
    #[arg(long, value_enum)]
    to: Target,
    /// What boards encrypted, or - for stdin
    #[arg(default_value = "-")]
    input: PathBuf,
    /// The card that `keys import` wrote beside the device key; SEAL needs none [default: keys/card.tsbc]
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,
    /// The file to write [default: stdout]
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    tfhe_rs: tfhe_rs::Options,
    #[command(flatten)]
    tfhepp: tfhepp::Options,
    #[command(flatten)]
    seal: seal::Options,
}

/// Where ciphertexts go.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Uploads under a key of TFHE-rs, as its FheUint, FheInt and FheBool
    TfheRs,
    /// Uploads under a key of TFHEpp, as its TLWE or TRLWE ciphertexts
    Tfhepp,
    /// Raw streams and seeded ciphertexts of CKKS, as Microsoft SEAL's ciphertexts
    Seal,
}

impl Target {
    /// The option that chooses it.
    fn option(self) -> &'static str {
        match self {
            Self::TfheRs => "--to tfhe-rs",
            Self::Tfhepp => "--to tfhepp",
            Self::Seal => "--to seal",
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    refuse_options_of_others(arguments)?;
    match arguments.to {
        Target::TfheRs => tfhe_rs::run(arguments),
        Target::Tfhepp => tfhepp::run(arguments),
        Target::Seal => seal::run(arguments),
    }
}

/// Refuses options that would change nothing.
fn refuse_options_of_others(arguments: &Arguments) -> Outcome<()> {
    let to = arguments.to;
    let card = arguments.card.as_ref().map(|_| "--card");
    let given = [
        (arguments.tfhe_rs.given(), to == Target::TfheRs),
        (arguments.tfhepp.given(), to == Target::Tfhepp),
        (arguments.seal.given(), to == Target::Seal),
        (card, to != Target::Seal),
    ];
    let foreign = given
        .into_iter()
        .find_map(|(option, fits)| option.filter(|_| !fits));
    foreign.map_or(Ok(()), |option| {
        Err(failure(
            format_args!("{option} does nothing with {}", to.option()),
            "leave it out; `tfhe-sbc convert --help` shows which options go together",
        ))
    })
}

/// Reads the card, which must be of that library.
fn read_card(path: Option<&Path>, peer: Peer) -> Outcome<Card> {
    let path = path.unwrap_or(Path::new("keys/card.tsbc"));
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
