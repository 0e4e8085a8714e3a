//! The types of the registry: what a library's folder says about its commands, and the options that the
//! commands hand on to it.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use tfhe_sbc_foreign::Library;

use crate::failure::{Outcome, failure};

/// The functions that the commands have for one library.
pub(crate) struct Commands {
    /// The library.
    pub(crate) library: &'static Library,
    /// The kinds of keys that `keys import` takes from it.
    pub(super) key_sources: &'static [KeySource],
    /// The conversion of uploads into its ciphertexts.
    pub(super) conversion: Option<Conversion>,
    /// The decryption of its results.
    pub(super) decryption: Option<Decryption>,
}

/// A kind of keys that can be imported.
pub(crate) struct KeySource {
    /// The value of `--from`.
    pub(crate) name: &'static str,
    /// The line about it in the help text.
    pub(super) help: &'static str,
    /// True if `--parms` says something about the library's keys.
    pub(crate) takes_parms: bool,
    /// Imports the key.
    pub(crate) import: fn(&ImportRequest) -> Outcome<()>,
}

/// A conversion of uploads into ciphertexts of a library.
pub(crate) struct Conversion {
    /// The line about it in the help text.
    pub(super) help: &'static str,
    /// The library's own options of `convert`.
    pub(super) options: LibraryOptions,
    /// Converts an upload.
    pub(crate) run: fn(&ConversionRequest, &ArgMatches) -> Outcome<()>,
}

/// A decryption of results that a library computed.
pub(crate) struct Decryption {
    /// The line about it in the help text.
    pub(super) help: &'static str,
    /// The library's own options of `decrypt`.
    pub(super) options: LibraryOptions,
    /// Decrypts a result and prints it.
    pub(crate) run: fn(&DecryptionRequest, &ArgMatches) -> Outcome<()>,
}

/// The options that a command has for one library only.
pub(crate) struct LibraryOptions {
    /// Adds them to the command.
    pub(super) augment: fn(Command) -> Command,
    /// Returns one of them that was given, as it is written.
    pub(super) given: fn(&ArgMatches) -> Option<&'static str>,
}

impl LibraryOptions {
    /// The options of type `T`.
    pub(super) const fn of<T: OfOneLibrary>() -> Self {
        Self {
            augment: T::augment_args,
            given: |matches| T::from_arg_matches(matches).ok()?.given(),
        }
    }
}

/// Options of a command that only one library has.
pub(crate) trait OfOneLibrary: Args {
    /// Returns one of them that was given, as it is written on the command line.
    fn given(&self) -> Option<&'static str>;
}

/// Reads a library's options, which the command line was parsed with.
pub(super) fn options<T: FromArgMatches>(matches: &ArgMatches) -> Outcome<T> {
    T::from_arg_matches(matches)
        .map_err(|error| failure(error.kind(), "see the --help of the command"))
}

/// The options of `keys import` that all libraries share.
#[derive(Args)]
pub(crate) struct ImportRequest {
    /// The key file; of SEAL-Embedded also the directory of its files
    pub(crate) key: PathBuf,
    /// The directory for what is made of it
    #[arg(long, default_value = "keys")]
    pub(crate) out: PathBuf,
    /// SEAL's parameters [default: recognised, or parms.seal beside the key]
    #[arg(long, value_name = "FILE")]
    pub(crate) parms: Option<PathBuf>,
    /// Also make a public key, with which boards encrypt and decrypt nothing
    #[arg(long)]
    pub(crate) public: bool,
}

/// The options of `convert` that all libraries share.
#[derive(Args)]
pub(crate) struct ConversionRequest {
    /// What boards encrypted, or - for stdin
    #[arg(default_value = "-")]
    pub(crate) input: PathBuf,
    /// The card that `keys import` wrote beside the device key; SEAL needs none [default: keys/card.tsbc]
    #[arg(long, value_name = "FILE")]
    pub(crate) card: Option<PathBuf>,
    /// The file to write [default: stdout]
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

/// The options of `decrypt` that all results share.
#[derive(Args)]
pub(crate) struct DecryptionRequest {
    /// The result that `query` or `eval` gave, or - for stdin; of `standing get` also a directory of results
    #[arg(default_value = "-")]
    pub(crate) result: PathBuf,
    /// The secret key; of another library's result, that library's, or the device key made of it
    /// [default: keys/secret.tsbc, with --from keys/device.tsbc]
    #[arg(long)]
    key: Option<PathBuf>,
    /// Draw the histograms among the answers, as an SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl DecryptionRequest {
    /// The key, or `usual`, the one that the commands before this one wrote.
    pub(crate) fn key_or<'p>(&'p self, usual: &'p str) -> &'p Path {
        self.key.as_deref().unwrap_or(Path::new(usual))
    }
}
