//! The commands of other libraries: `keys import --from`, `convert --to` and `decrypt --from`.
//!
//! [`COMMANDS`] is the registry: a library has a folder here and one line in it. The bytes of its
//! files are the crate `foreign`'s business. [`library`] has the types of the registry, [`card`] what
//! the libraries share.

pub(crate) mod card;
pub(crate) mod library;
mod seal;
mod tfhe_rs;
mod tfhepp;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use tfhe_sbc_foreign::Library;

use library::{Commands, Conversion, Decryption, KeySource};

/// The libraries, in the order in which help texts list them.
pub(crate) const COMMANDS: [&Commands; 3] =
    [&tfhe_rs::COMMANDS, &tfhepp::COMMANDS, &seal::COMMANDS];

/// The entry of one library under a command's `--to` or `--from`.
type Entry<T> = (&'static Library, &'static T);

fn conversions() -> impl Iterator<Item = Entry<Conversion>> {
    let entry = |commands: &'static Commands| {
        let conversion = commands.conversion.as_ref()?;
        Some((commands.library, conversion))
    };
    COMMANDS.into_iter().filter_map(entry)
}

fn decryptions() -> impl Iterator<Item = Entry<Decryption>> {
    let entry = |commands: &'static Commands| {
        let decryption = commands.decryption.as_ref()?;
        Some((commands.library, decryption))
    };
    COMMANDS.into_iter().filter_map(entry)
}

fn key_sources() -> impl Iterator<Item = &'static KeySource> {
    COMMANDS
        .into_iter()
        .flat_map(|commands| commands.key_sources)
}

/// A parser of one of these names, which gives what the name stands for.
fn choice<T: Clone + Send + Sync + 'static>(
    values: impl Iterator<Item = (&'static str, &'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<_> = values.collect();
    let names = values
        .iter()
        .map(|(name, help, _)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(names).try_map(move |chosen| {
        let mut values = values.iter();
        let value = values.find(|(name, ..)| *name == chosen);
        value
            .map(|(.., value)| value.clone())
            .ok_or("there is no such library")
    })
}

/// The parser of `convert --to`.
pub(crate) fn conversion_parser() -> impl TypedValueParser<Value = Entry<Conversion>> {
    choice(conversions().map(|entry| (entry.0.name, entry.1.help, entry)))
}

/// The parser of `decrypt --from`.
pub(crate) fn decryption_parser() -> impl TypedValueParser<Value = Entry<Decryption>> {
    choice(decryptions().map(|entry| (entry.0.name, entry.1.help, entry)))
}

/// The parser of `keys import --from`.
pub(crate) fn key_source_parser() -> impl TypedValueParser<Value = &'static KeySource> {
    choice(key_sources().map(|source| (source.name, source.help, source)))
}

/// The options of all libraries for `convert`, as they were parsed.
#[derive(Debug)]
pub(crate) struct ConversionOptions(ArgMatches);

/// The options of all libraries for `decrypt`, as they were parsed.
#[derive(Debug)]
pub(crate) struct DecryptionOptions(ArgMatches);

impl ConversionOptions {
    /// The matches that hold them.
    pub(crate) fn matches(&self) -> &ArgMatches {
        &self.0
    }

    /// Returns an option that was given and belongs to another library.
    pub(crate) fn of_others(&self, library: &Library) -> Option<&'static str> {
        let mut others = conversions().filter(|(other, _)| other.name != library.name);
        others.find_map(|(_, conversion)| (conversion.options.given)(&self.0))
    }
}

impl DecryptionOptions {
    /// The matches that hold them.
    pub(crate) fn matches(&self) -> &ArgMatches {
        &self.0
    }

    /// Returns an option that was given and belongs to another library than `library`, which is
    /// `None` for this project's own results.
    pub(crate) fn of_others(&self, library: Option<&Library>) -> Option<&'static str> {
        let mut others =
            decryptions().filter(|(other, _)| library.is_none_or(|own| own.name != other.name));
        others.find_map(|(_, decryption)| (decryption.options.given)(&self.0))
    }
}

/// Implements clap's traits for options of all libraries, which are read when one is chosen.
macro_rules! options_of_all {
    ($options:ty, $entries:path) => {
        impl FromArgMatches for $options {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                Ok(Self(matches.clone()))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                self.0 = matches.clone();
                Ok(())
            }
        }

        impl Args for $options {
            fn augment_args(command: Command) -> Command {
                $entries().fold(command, |command, (_, entry)| {
                    (entry.options.augment)(command)
                })
            }

            fn augment_args_for_update(command: Command) -> Command {
                Self::augment_args(command)
            }
        }
    };
}

options_of_all!(ConversionOptions, conversions);
options_of_all!(DecryptionOptions, decryptions);
