//! Every secret path of the libraries for boards and of the key owner's keys, run on Valgrind's memcheck with
//! secrets marked as undefined: memcheck then reports each branch and each address that depends on one.
//!
//! `cargo xtask ct` builds this program for several kernels and runs it. A path of which memcheck reports something
//! fails by name. So does a path whose results do not depend on the marked secrets, because then the check sees
//! nothing; and the controls, which are planted leaks, must be found.
#![forbid(unsafe_code)]

mod check;
mod paths;

use std::process::ExitCode;

use tfhe_sbc_core::memcheck;
use tfhe_sbc_core::simd::Isa;

use crate::check::Check;

fn main() -> ExitCode {
    if !memcheck::is_running() {
        eprintln!("this program asks Valgrind: run it with cargo xtask ct");
        return ExitCode::from(2);
    }
    let mut check = Check::default();
    paths::run_all(&mut check);
    println!("kernels: {}", Isa::detect().name());
    check.conclude()
}
