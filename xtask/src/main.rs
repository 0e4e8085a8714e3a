//! Project tasks.
//!
//! `cargo xtask quick` is for every commit, `cargo xtask test` for every change that is proposed, and
//! `cargo xtask nightly` runs all tasks. Each task has a module with its description.

mod arm;
mod c;
mod crates;
mod ct;
mod deny;
mod failure;
mod fire;
mod fuzz;
mod gateway;
mod interop;
mod map;
mod nightly;
mod python;
mod quick;
mod site;
mod test;
mod undefined;
mod unsafe_code;
mod venv;
mod web;
mod wheels;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

use failure::Failure;
use fuzz::Limit;

const USAGE: &str = "usage: cargo xtask TASK
       quick            formatting, and lints and fast tests of the crates that differ from main
       test             lock files, formatting, lints, documentation, tests, the demo, the C library
       test --all       and the long tests
       nightly          all of these tasks; goes on after a failure
       nightly --resume those that have not passed on this commit
       map              the graph of the crates, whose arrows must point down
       unsafe [--check] writes or checks docs/unsafe.md, the list of unsafe code
       deny             licences, duplicates and sources of dependencies
       site             the guides as a site with search, and its links
       python [--all]   the Python packages, installed, and their tests; --all adds the long ones
       gateway [--lints]
                        the SQL gateway, with psql, pandas, JDBC and DuckDB; with --lints also its lints
       web              the key owner's page, and its test in headless Chromium
       web --page FILE  the page alone, into a file
       interop [NAME]   other libraries compute on what the program makes
       fuzz [--seconds S | --runs N] [TARGET]
                        all fuzz targets, or one, for S seconds (5) or N executions each
       fire             the server under load, attacks and failures: writes docs/under-fire.md
       fire --seconds 20 --boards 50
                        the same, short, and writes nothing
       arm              tests, instruction counts and message bytes on ARM, under QEMU
       arm --short      the counts, and the device library's tests on ARMv7 only
       arm --record     no tests, and the counts become the recorded ones
       c [--arm]        the C library on this machine, or on ARM
       ct [--all]       secret paths on Valgrind: no branch and no address depends on a secret
       undefined [--only miri|asan]
                        undefined behaviour: Miri on unsafe code, AddressSanitizer on what boards run
       wheels           the Python packages as wheels, used on x86-64 and, under QEMU, AArch64
       header           writes the header of the C library
       install-c --prefix FOLDER [--target TRIPLE] [--features LIST]
                        the C library, its header, files for CMake and pkg-config";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["quick"] => quick::run(),
        ["test"] => test::run(test::Depth::Usual),
        ["test", "--all"] => test::run(test::Depth::All),
        ["nightly"] => nightly::run(nightly::Extent::All),
        ["nightly", "--resume"] => nightly::run(nightly::Extent::Rest),
        ["map"] => map::run(),
        ["deny"] => deny::run(),
        ["arm"] => arm::run(arm::Mode::Check),
        ["arm", "--short"] => arm::run(arm::Mode::Short),
        ["arm", "--record"] => arm::run(arm::Mode::Record),
        ["c"] => c::test(),
        ["unsafe"] => unsafe_code::write(),
        ["unsafe", "--check"] => unsafe_code::check(),
        ["undefined"] => undefined::run(None),
        ["undefined", "--only", "miri"] => undefined::run(Some(undefined::Tool::Miri)),
        ["undefined", "--only", "asan"] => undefined::run(Some(undefined::Tool::AddressSanitizer)),
        ["ct"] => ct::run(ct::Depth::Usual),
        ["ct", "--all"] => ct::run(ct::Depth::All),
        ["c", "--arm"] => arm::c_library(),
        ["fuzz", ref options @ ..] => match options {
            [] => fuzz::run(Limit::USUAL, None),
            [target] => fuzz::run(Limit::USUAL, Some(target)),
            [option, value, target @ ..] if target.len() < 2 => match Limit::parse(option, value) {
                Some(limit) => fuzz::run(limit, target.first().copied()),
                None => return usage(),
            },
            _ => return usage(),
        },
        ["fire", ref options @ ..] => fire::run(options),
        ["interop"] => interop::run(None),
        ["interop", name] => interop::run(Some(name)),
        ["web"] => web::run(),
        ["web", "--page", file] => web::page(Path::new(file)),
        ["gateway"] => gateway::run(gateway::Depth::Usual),
        ["gateway", "--lints"] => gateway::run(gateway::Depth::All),
        ["python"] => python::run(test::Depth::Usual),
        ["python", "--all"] => python::run(test::Depth::All),
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
