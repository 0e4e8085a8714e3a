//! `keys import --from seal` and `--from seal-embedded`.

use crate::commands::ckks::key_file::{self, Key, SealFiles};
use crate::failure::{Explain, Outcome, failure};
use crate::foreign::library::ImportRequest;
use crate::keys;

pub(super) fn run(request: &ImportRequest) -> Outcome<()> {
    let bytes = keys::read_file(&request.key)?;
    let key = key_file::read_seal(&request.key, &bytes, request.parms.as_deref())?;
    write(&key, request)
}

pub(super) fn run_embedded(request: &ImportRequest) -> Outcome<()> {
    let parms = request.parms.as_deref();
    let key = match request.key.is_dir() {
        true => key_file::read_embedded(&request.key, parms)?,
        false => key_file::read(&request.key, parms)?,
    };
    write(&key, request)
}

fn write(key: &Key, request: &ImportRequest) -> Outcome<()> {
    let mut files = SealFiles::in_directory(&request.out);
    files.add_parameters(key.parameters());
    match key {
        Key::Secret(key) => {
            files.add_secret(key)?;
            if request.public {
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
                        request.key.display()
                    ),
                    "import the secret key, or the public key that SEAL saved; \
                     `ckks encrypt --key` takes these files as they are, with more noise",
                ));
            }
        },
    }
    files.write()
}
