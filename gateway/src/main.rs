//! `tfhe-sbc-gateway`: SQL over encrypted readings, for the key owner.
//!
//! The gateway runs on the key owner's machine and speaks PostgreSQL's protocol. DataFusion parses and plans. What can be computed on
//! ciphertexts is asked of the server, in the questions of `tfhe-sbc query`; what cannot is fetched and decrypted here.
//!
//! - [`options`] are the program's arguments, [`serve`] starts it.
//! - [`demo`] starts a server with sample devices.
//! - [`owner`] has the keys and the connections to the server, [`catalogue`] knows what the server has stored.
//! - [`tables`] are what SQL sees. [`session`] makes the sessions of clients, [`functions`] adds what DataFusion lacks.
//! - [`pushdown`] recognises aggregates that the server can compute, and [`predicates`] the filters.
//! - [`cache`] keeps answers, [`journal`] the questions that were asked.
//! - [`wire`] is the protocol, with its errors, and [`names`] are those of columns.
//! - [`answers`] asks statements of the gateway's own: for [`page`], which a browser shows, and for [`watch`], which sends answers where
//!   people look.
#![forbid(unsafe_code)]

mod answers;
mod cache;
mod catalogue;
mod demo;
mod error;
mod functions;
mod hardening;
mod journal;
mod names;
mod options;
mod owner;
mod page;
mod predicates;
mod pushdown;
mod serve;
mod session;
mod settings;
mod tables;
mod watch;
mod wire;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = options::Arguments::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn,tfhe_sbc_gateway=info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    hardening::harden();
    match serve::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) = error.hint() {
                eprintln!("  help: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}
