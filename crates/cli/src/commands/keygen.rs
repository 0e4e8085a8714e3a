//! `keygen`: a secret key, a device key and a server key.

use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::SeedSequence;
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_service::files;

use crate::failure::{Explain, Outcome, failure};
use crate::keys::fresh_seeds;
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
    let made = make(parameters, &arguments.out)?;
    for (path, what) in [
        (&made.secret, "secret key: stays with you, mode 0600"),
        (&made.device, "device key: goes to the boards, mode 0600"),
        (
            &made.server,
            "server key: goes to the server, holds no secret",
        ),
    ] {
        let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        output::note(format_args!(
            "{:<32} {:>10}  {what}",
            path.display(),
            report::bytes(size)
        ));
    }
    output::note(format_args!(
        "{}: {:.0}-bit security, a bootstrap fails with probability 2^{:.1}",
        parameters.name, parameters.security_bits, parameters.log2_p_fail
    ));
    Ok(())
}

/// Makes a key set in a directory.
pub(crate) fn make(parameters: &Parameters, directory: &Path) -> Outcome<KeyFiles> {
    let paths = KeyFiles::in_directory(directory);
    for path in [&paths.secret, &paths.device, &paths.server] {
        if path.symlink_metadata().is_ok() {
            return Err(failure(
                format_args!(
                    "{} exists already, and keys are never overwritten",
                    path.display()
                ),
                "choose another directory, or move the old keys away",
            ));
        }
    }
    let mut seeds = fresh_seeds()?;
    let secret = SecretKey::generate(*parameters, &mut seeds).explain("no keys")?;
    let server = if parameters.torus_bits == 64 {
        server_key_bytes::<u64>(&secret, &mut seeds)?
    } else {
        server_key_bytes::<u32>(&secret, &mut seeds)?
    };
    let to_bytes_failed = "no key file";
    let device = secret.device_key().to_bytes().explain(to_bytes_failed)?;
    let secret = secret.to_bytes().explain(to_bytes_failed)?;

    let advice = "choose a directory that you can write to and that has room";
    files::create_private_directory(directory).advise("no keys were written", advice)?;
    let written = files::write_public_new(&paths.server, &server)
        .and_then(|()| files::write_private_new(&paths.device, &device))
        .and_then(|()| files::write_private_new(&paths.secret, &secret));
    if written.is_err() {
        // None of them was there before, and parts of a key set are of no use.
        for path in [&paths.server, &paths.device, &paths.secret] {
            let _ = std::fs::remove_file(path);
        }
    }
    written.advise("no keys were written", advice)?;
    Ok(paths)
}

fn server_key_bytes<T: MaskTorus>(
    secret: &SecretKey,
    seeds: &mut SeedSequence,
) -> Outcome<Vec<u8>> {
    let bar = progress::bar(
        "making the server key",
        SeededServerKey::<T>::step_count(secret.parameters()),
    );
    SeededServerKey::<T>::generate(secret, seeds, &|steps| bar.inc(steps))
        .map(|key| key.to_bytes())
        .explain("no server key")
}
