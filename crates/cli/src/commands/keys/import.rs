//! `keys import`: keys for boards, made of a key of another library. [`crate::foreign`] has a folder
//! for each library; what is written for all of them is here.

use std::path::PathBuf;

use clap::Args;
use tfhe_sbc_core::keys::DeviceKey;
use tfhe_sbc_core::wire::card::Card;
use tfhe_sbc_foreign::Library;

use crate::failure::{Explain, Outcome, failure};
use crate::foreign::{KeySource, key_source_parser};
use crate::keys;
use crate::keys::new_files::NewFiles;

/// Makes keys for boards of a key that another library made, so that its owner decrypts, and its
/// server computes on, what boards encrypt. Nothing changes on their side.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The library that made the key
    #[arg(long, value_parser = key_source_parser())]
    from: &'static KeySource,
    /// The key file; of SEAL-Embedded also the directory of its files
    pub(crate) key: PathBuf,
    /// The directory for what is made of it
    #[arg(long, default_value = "keys")]
    pub(crate) out: PathBuf,
    /// Of SEAL: its parameters [default: recognised, or parms.seal beside the key]
    #[arg(long, value_name = "FILE")]
    pub(crate) parms: Option<PathBuf>,
    /// Also make a public key, with which boards encrypt and decrypt nothing
    #[arg(long)]
    pub(crate) public: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    if arguments.parms.is_some() && !arguments.from.takes_parms {
        return Err(failure(
            "--parms is for keys of SEAL and SEAL-Embedded",
            "leave it out: the key's file has its parameters",
        ));
    }
    (arguments.from.import)(arguments)
}

/// Writes what boards and servers need of a key that was imported from `library`: `device.tsbc`,
/// `public.tsbc` if it is asked for, and `card.tsbc` for a library that needs one.
pub(crate) fn write(key: &DeviceKey, library: &Library, arguments: &Arguments) -> Outcome<()> {
    let path = |name| arguments.out.join(name);
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
    if let Some(number) = library.number {
        let card = Card {
            parameters: *key.parameters(),
            key: key.fingerprint(),
            library: number,
        };
        files.add_public(
            &path("card.tsbc"),
            card.to_bytes().to_vec(),
            format_args!(
                "card: goes to the server with {}, holds no secret",
                library.title
            ),
        );
    }
    files.write()?;
    files.say();
    Ok(())
}
