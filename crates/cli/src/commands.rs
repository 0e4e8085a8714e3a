//! The subcommands, one module each.

#[cfg(unix)]
mod agent;
mod backup;
mod certs;
mod checks;
pub(crate) mod ckks;
pub(crate) mod convert;
pub(crate) mod decrypt;
mod device_key;
mod encrypt;
mod eval;
mod inspect;
mod jobs;
pub(crate) mod keygen;
pub(crate) mod keys;
mod pads;
mod params;
#[cfg(unix)]
mod provision;
pub(crate) mod query;
mod readings;
mod restore;
mod sample;
pub(crate) mod scope;
mod send;
mod serve;
mod standing;

use std::process::ExitCode;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;

use crate::demo::DemoArguments;
use crate::failure::Outcome;

/// The subcommand.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the whole path on a day of weather readings (the default)
    Demo(DemoArguments),
    /// Make a secret key, a device key and a server key
    Keygen(keygen::Arguments),
    /// Issue a device a key of its own, or a new one
    DeviceKey(device_key::Arguments),
    /// Make the one file that a board's agent needs: key, certificate and settings
    #[cfg(unix)]
    Provision(provision::Arguments),
    /// Make certificates for a server, a device and a key owner
    Certs(certs::Arguments),
    /// Print a day of the bundled weather readings as CSV
    Sample(sample::Arguments),
    /// Encrypt CSV readings with a device key or a public key
    Encrypt(encrypt::Arguments),
    /// Run the server that stores readings and answers questions about them
    Serve(serve::Arguments),
    /// Make pads for boards that are too small for ciphertexts, and turn their frames into uploads
    Pads(pads::Arguments),
    /// Send encrypted readings to a server
    Send(send::Arguments),
    /// Read sensors, encrypt and send, for as long as a board runs
    #[cfg(unix)]
    Agent(agent::Arguments),
    /// List, get and remove what a server has stored
    Readings(readings::Arguments),
    /// Copy a store, also while its server runs, and check the copy
    Backup(backup::Arguments),
    /// Make a store of a backup
    Restore(restore::Arguments),
    /// Ask a server about stored readings
    Query(query::Arguments),
    /// List, await, get and call off questions that a server goes on with when you are gone
    Jobs(jobs::Arguments),
    /// List, get and remove questions that a server answers for each hour or day once it is over
    Standing(standing::Arguments),
    /// Find out a server that computes wrongly, by uploads whose readings you know
    Checks(checks::Arguments),
    /// Answer questions about encrypted readings in files, without a server
    Eval(eval::Arguments),
    /// Decrypt a result
    Decrypt(decrypt::Arguments),
    /// Encrypt real or complex numbers for Microsoft SEAL
    Ckks(ckks::Arguments),
    /// Turn what boards encrypted into ciphertexts of TFHE-rs, TFHEpp or Microsoft SEAL
    Convert(Box<convert::Arguments>),
    /// Take keys of TFHE-rs, TFHEpp or Microsoft SEAL
    Keys(keys::Arguments),
    /// Describe a file, or compute how large uploads will be
    Inspect(inspect::Arguments),
    /// Find and judge parameter sets
    Params(params::Arguments),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Outcome<ExitCode> {
        match self {
            Self::Demo(arguments) => return crate::demo::run(&arguments),
            Self::Keygen(arguments) => keygen::run(&arguments)?,
            Self::DeviceKey(arguments) => device_key::run(&arguments)?,
            #[cfg(unix)]
            Self::Provision(arguments) => provision::run(&arguments)?,
            Self::Certs(arguments) => certs::run(&arguments)?,
            Self::Sample(arguments) => sample::run(&arguments)?,
            Self::Encrypt(arguments) => encrypt::run(&arguments)?,
            Self::Serve(arguments) => serve::run(&arguments)?,
            Self::Pads(arguments) => pads::run(&arguments)?,
            Self::Send(arguments) => send::run(&arguments)?,
            Self::Readings(arguments) => readings::run(&arguments)?,
            Self::Backup(arguments) => backup::run(&arguments)?,
            Self::Restore(arguments) => restore::run(&arguments)?,
            #[cfg(unix)]
            Self::Agent(arguments) => return agent::run(&arguments),
            Self::Query(arguments) => query::run(&arguments)?,
            Self::Jobs(arguments) => jobs::run(&arguments)?,
            Self::Standing(arguments) => standing::run(&arguments)?,
            Self::Checks(arguments) => checks::run(&arguments)?,
            Self::Eval(arguments) => eval::run(&arguments)?,
            Self::Decrypt(arguments) => decrypt::run(&arguments)?,
            Self::Ckks(arguments) => ckks::run(&arguments)?,
            Self::Convert(arguments) => convert::run(&arguments)?,
            Self::Keys(arguments) => keys::run(&arguments)?,
            Self::Inspect(arguments) => inspect::run(&arguments)?,
            Self::Params(arguments) => params::run(&arguments)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the parser of expanders by name.
fn expander() -> impl TypedValueParser<Value = ExpanderKind> {
    by_name(ExpanderKind::ALL, ExpanderKind::name)
}

/// Returns the parser of memory plans by name.
fn memory_plan() -> impl TypedValueParser<Value = MemoryPlan> {
    by_name(MemoryPlan::ALL, MemoryPlan::name)
}

fn by_name<T: Copy + Send + Sync + 'static, const COUNT: usize>(
    all: [T; COUNT],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name)).try_map(move |given| {
        let found = all.into_iter().find(|&value| name(value) == given);
        found.ok_or("there is none of this name")
    })
}
