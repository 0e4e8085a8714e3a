//! `keygen`: a secret key, a device key and a server key.

use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::packing::PackingParameters;
use tfhe_sbc_core::parameter_sets::packing_of;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::SeedSequence;
use tfhe_sbc_engine::packing_key::SeededPackingKey;
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_oracle::packing::{self, PackingRequest};

use crate::failure::{Explain, Outcome};
use crate::keys::fresh_seeds;
use crate::keys::new_files::{NewFiles, refuse_existing};
use crate::parameters::{Chosen, chosen};
use crate::{output, progress, report};

/// Makes three files: secret.tsbc for the key owner alone, device.tsbc for boards,
/// server.tsbc for the server. Existing files are never overwritten.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys\n  tfhe-sbc inspect keys/server.tsbc"
)]
pub(crate) struct Arguments {
    /// The directory for the keys
    #[arg(long, default_value = "keys")]
    out: PathBuf,
    /// The parameter set: a shipped one's name, or a file of `params find`
    #[arg(long, value_name = "NAME|FILE", default_value = "message_2_carry_2", value_parser = chosen)]
    parameters: Chosen,
    /// Leave out the packing key: the server key is smaller, answers are longer
    #[arg(long)]
    no_packing: bool,
    /// Make a larger packing key, of up to 6 MB: answers of thousands of values are shorter
    #[arg(long, conflicts_with = "no_packing")]
    large_packing: bool,
    /// Make keys even for a set that is too weak to use
    #[arg(long)]
    insecure_for_tests: bool,
}

/// The key files of a directory.
pub(crate) struct KeyFiles {
    /// The key owner's.
    pub(crate) secret: PathBuf,
    /// The boards'.
    pub(crate) device: PathBuf,
    /// The server's.
    pub(crate) server: PathBuf,
}

impl KeyFiles {
    fn in_directory(directory: &Path) -> Self {
        Self {
            secret: directory.join("secret.tsbc"),
            device: directory.join("device.tsbc"),
            server: directory.join("server.tsbc"),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let parameters = &arguments
        .parameters
        .for_keys(arguments.insecure_for_tests)?;
    let packing = match (arguments.no_packing, arguments.large_packing) {
        (true, _) => None,
        (false, true) => packing::find(parameters, &PackingRequest::for_long_answers(parameters)),
        (false, false) => packing_for(parameters),
    };
    let paths = KeyFiles::in_directory(&arguments.out);
    let files = new_files(parameters, packing.as_ref(), &paths)?;
    files.write()?;
    files.say();
    if let Some(packing) = &packing {
        let bytes = SeededPackingKey::message_len(parameters, packing);
        output::note(format_args!(
            "{} of the server key are its packing key, which makes answers short: --no-packing leaves it out",
            report::bytes(bytes as u64)
        ));
    }
    output::note(format_args!(
        "{}: {:.0}-bit security, a bootstrap fails with probability 2^{:.1}",
        parameters.name(),
        parameters.security_bits(),
        parameters.log2_p_fail()
    ));
    Ok(())
}

/// Makes a key set in a directory.
pub(crate) fn make(parameters: &Parameters, directory: &Path) -> Outcome<KeyFiles> {
    let paths = KeyFiles::in_directory(directory);
    let packing = packing_for(parameters);
    new_files(parameters, packing.as_ref(), &paths)?.write()?;
    Ok(paths)
}

/// Returns the packing parameters of a shipped set, and those that the oracle finds for others. There are
/// none for gates.
fn packing_for(parameters: &Parameters) -> Option<PackingParameters> {
    let request = PackingRequest::for_set(parameters);
    packing_of(parameters).or_else(|| packing::find(parameters, &request))
}

fn new_files(
    parameters: &Parameters,
    packing: Option<&PackingParameters>,
    paths: &KeyFiles,
) -> Outcome<NewFiles> {
    let KeyFiles {
        secret: secret_path,
        device: device_path,
        server: server_path,
    } = paths;
    // The check comes before the work, which takes a while.
    refuse_existing([&**secret_path, device_path, server_path])?;
    let mut seeds = fresh_seeds()?;
    let secret = SecretKey::generate(*parameters, &mut seeds).explain("no keys")?;
    let server = if parameters.torus_bits() == 64 {
        server_key_bytes::<u64>(&secret, packing, &mut seeds)?
    } else {
        server_key_bytes::<u32>(&secret, packing, &mut seeds)?
    };
    let to_bytes_failed = "no key file";
    let device = secret.device_key().to_bytes().explain(to_bytes_failed)?;
    let secret = secret.to_bytes().explain(to_bytes_failed)?;

    let mut files = NewFiles::default();
    files.add_secret(secret_path, secret, "secret key: stays with you, mode 0600");
    files.add_secret(
        device_path,
        device,
        "device key: goes to the boards, mode 0600",
    );
    files.add_public(
        server_path,
        server,
        "server key: goes to the server, holds no secret",
    );
    Ok(files)
}

fn server_key_bytes<T: ProductTorus>(
    secret: &SecretKey,
    packing: Option<&PackingParameters>,
    seeds: &mut SeedSequence,
) -> Outcome<Vec<u8>> {
    let bar = progress::bar(
        "making the server key",
        SeededServerKey::<T>::step_count(secret.parameters()),
    );
    let no_key = "no server key";
    let mut key =
        SeededServerKey::<T>::generate(secret, seeds, &|steps| bar.inc(steps)).explain(no_key)?;
    if let Some(packing) = packing {
        let packing = SeededPackingKey::generate(secret, packing, seeds).explain(no_key)?;
        key = key.with_packing_key(packing).explain(no_key)?;
    }
    Ok(key.to_bytes())
}
