//! Project tasks.
//!
//! `cargo xtask test` checks everything that can be checked on one machine, in the order
//! in which a mistake is cheapest to find. `cargo xtask arm` runs what boards run, under
//! QEMU, and counts its instructions.

mod arm;
mod failure;
mod test;

use std::process::ExitCode;

use failure::Failure;

const USAGE: &str = "usage: cargo xtask test
       cargo xtask arm            tests, instruction counts and message bytes on ARM, under QEMU
       cargo xtask arm --record   no tests, and the counts become the recorded ones";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test::run(),
        ["arm"] => arm::run(arm::Mode::Check),
        ["arm", "--record"] => arm::run(arm::Mode::Record),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            eprintln!("\n=== {message}");
            ExitCode::FAILURE
        }
    }
}
