//! Project tasks.
//!
//! `cargo xtask test` checks everything that can be checked on one machine, in the order
//! in which a mistake is cheapest to find. `cargo xtask arm` runs what boards run, under
//! QEMU, and counts its instructions. `cargo xtask fuzz` gives readers bad bytes,
//! `cargo xtask interop` other libraries what the program makes. `cargo xtask fire` puts the
//! server under load, attacks it and lets things go wrong around it. `cargo xtask web` makes the key
//! owner's page and opens it in a browser, `cargo xtask python` installs and tests the Python
//! packages, `cargo xtask wheels` makes and uses their wheels.

mod arm;
mod c;
mod failure;
mod fire;
mod fuzz;
mod interop;
mod python;
mod site;
mod test;
mod venv;
mod web;
mod wheels;

use std::path::Path;
use std::process::ExitCode;

use failure::Failure;

const USAGE: &str = "usage: cargo xtask test
       cargo xtask arm            tests, instruction counts and message bytes on ARM, under QEMU
       cargo xtask arm --short    with fewer tests on ARMv7
       cargo xtask arm --record   no tests, and the counts become the recorded ones
       cargo xtask c              of these, only the C library on this machine
       cargo xtask c --arm        and on ARM
       cargo xtask fuzz [--seconds S] [TARGET]
                                  the fuzz targets, or one, S seconds each (5)
       cargo xtask fire           the server under load, attack and mischance: docs/under-fire.md
       cargo xtask fire --seconds 20 --boards 50
                                  the same, short, and nothing is written
       cargo xtask interop [NAME] other libraries compute on what the program makes
       cargo xtask web            the key owner's page, and its test in headless Chromium
       cargo xtask web --page FILE
                                  the page alone, into a file
       cargo xtask python         the Python packages, installed, and their tests
       cargo xtask site           the guides as a site with search, and its links
       cargo xtask wheels         the Python packages as wheels, used on x86-64 and, under QEMU, AArch64
       cargo xtask header         the header of the C library, of its sources
       cargo xtask install-c --prefix FOLDER [--target TRIPLE] [--features LIST]
                                  the C library, its header, files for CMake and pkg-config";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test::run(),
        ["arm"] => arm::run(arm::Mode::Check),
        ["arm", "--short"] => arm::run(arm::Mode::Short),
        ["arm", "--record"] => arm::run(arm::Mode::Record),
        ["c"] => c::test(),
        ["c", "--arm"] => arm::c_library(),
        ["fuzz", ref options @ ..] => match options {
            [] => fuzz::run(5, None),
            [target] => fuzz::run(5, Some(target)),
            ["--seconds", seconds, target @ ..] if target.len() < 2 => match seconds.parse() {
                Ok(seconds) => fuzz::run(seconds, target.first().copied()),
                Err(_) => return usage(),
            },
            _ => return usage(),
        },
        ["fire", ref options @ ..] => fire::run(options),
        ["interop"] => interop::run(None),
        ["interop", name] => interop::run(Some(name)),
        ["web"] => web::run(),
        ["web", "--page", file] => web::page(Path::new(file)),
        ["python"] => python::run(),
        ["site"] => site::run(),
        ["wheels"] => wheels::run(),
        ["header"] => c::header(),
        ["install-c", ref options @ ..] => match install_options(options) {
            Some([Some(prefix), target, features]) => {
                c::install(Path::new(prefix), target, features)
            }
            _ => return usage(),
        },
        _ => return usage(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            eprintln!("\n=== {message}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// The values of `--prefix`, `--target` and `--features`; `None` if there is something else.
fn install_options<'a>(mut options: &[&'a str]) -> Option<[Option<&'a str>; 3]> {
    let mut values = [None; 3];
    while let [name, value, rest @ ..] = options {
        let names = ["--prefix", "--target", "--features"];
        values[names.iter().position(|known| known == name)?] = Some(*value);
        options = rest;
    }
    options.is_empty().then_some(values)
}
