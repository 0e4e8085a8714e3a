//! `ckks keygen`: keys that SEAL loads.

use std::path::PathBuf;

use clap::Args;
use tfhe_sbc_ckks::Parameters;
use tfhe_sbc_foreign::seal::SecretKeyFile;

use super::key_file::{SealFiles, read_parameters};
use crate::failure::{Explain, Outcome, failure};
use crate::keys::fresh_seeds;

/// Makes four files: parms.seal, from which the server makes its context; secret.seal for the
/// owner, and the same key packed as sk_N.dat for boards; public.seal for boards that hold no
/// secret. SEAL loads those that end in .seal. Existing files are never overwritten.
#[derive(Args)]
pub(super) struct Arguments {
    /// The directory for the keys
    #[arg(long, default_value = "keys")]
    out: PathBuf,
    /// The polynomial size, with SEAL-Embedded's primes unless --primes are given
    #[arg(long, value_name = "SIZE", default_value_t = 4096)]
    n: usize,
    /// The primes of ciphertexts, of at most 31 bits, and 1 modulo 2n
    #[arg(long, value_delimiter = ',', requires = "special")]
    primes: Vec<u32>,
    /// The special prime, of at most 60 bits, which only keys have
    #[arg(long, requires = "primes")]
    special: Option<u64>,
    /// Instead, parameters that SEAL saved
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n", "primes", "special"])]
    parms: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let parameters = parameters(arguments)?;
    let mut seeds = fresh_seeds()?;
    let secret = SecretKeyFile::generate(&parameters, &mut seeds).explain("no keys")?;
    let public = secret.public_key(&mut seeds).explain("no keys")?;
    let mut files = SealFiles::in_directory(&arguments.out);
    files.add_parameters(&parameters);
    files.add_secret(&secret)?;
    files.add_public(public);
    files.write()
}

fn parameters(arguments: &Arguments) -> Outcome<Parameters> {
    if let Some(parms) = &arguments.parms {
        return read_parameters(parms);
    }
    if arguments.primes.is_empty() {
        let of_size = |p: &Parameters| p.polynomial_size() == arguments.n;
        return Parameters::SEAL_EMBEDDED
            .into_iter()
            .find(of_size)
            .ok_or_else(|| {
                failure(
                    format_args!("there are no parameters of polynomial size {}", arguments.n),
                    "give 1024, 2048, 4096, 8192 or 16384",
                )
            });
    }
    Parameters::new(arguments.n, &arguments.primes, arguments.special).advise(
        "no such parameters",
        "give primes that are 1 modulo twice the polynomial size, and few enough of them",
    )
}
