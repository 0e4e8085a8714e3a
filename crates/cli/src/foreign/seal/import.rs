//! `keys import --from seal` and `--from seal-embedded`.

use crate::commands::ckks::key_file::{self, Key, SealFiles};
use crate::commands::keys::import::Arguments;
use crate::failure::{Explain, Outcome, failure};
use crate::keys;

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let bytes = keys::read_file(&arguments.key)?;
    let key = key_file::read_seal(&arguments.key, &bytes, arguments.parms.as_deref())?;
    write(&key, arguments)
}

pub(super) fn run_embedded(arguments: &Arguments) -> Outcome<()> {
    let parms = arguments.parms.as_deref();
    let key = match arguments.key.is_dir() {
        true => key_file::read_embedded(&arguments.key, parms)?,
        false => key_file::read(&arguments.key, parms)?,
    };
    write(&key, arguments)
}

fn write(key: &Key, arguments: &Arguments) -> Outcome<()> {
    let mut files = SealFiles::in_directory(&arguments.out);
    files.add_parameters(key.parameters());
    match key {
        Key::Secret(key) => {
            files.add_secret(key)?;
            if arguments.public {
                let public = key.public_key(&mut keys::fresh_seeds()?);
                files.add_public(public.explain("no public key")?);
            }
        }
        Key::Public(key) => match key.as_seal() {
            Some(object) => files.add_public(object.to_vec()),
            None => {
                return Err(failure(
                    format_args!(
                        "{} has no polynomials for the special prime, which SEAL's public keys have",
                        arguments.key.display()
                    ),
                    "import the secret key, or the public key that SEAL saved; \
                     `ckks encrypt --key` takes these files as they are, with more noise",
                ));
            }
        },
    }
    files.write()
}
