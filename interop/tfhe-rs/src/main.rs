//! Checks uploads of boards against a real TFHE-rs. Its keys are imported, the device library encrypts values
//! under them, symmetric and with a public key, the uploads are converted, and TFHE-rs loads them, computes
//! on them and decrypts the results.
//!
//! `cargo run --release -- [--values 1000] [--operations 1] [--sum 20]`: for each type, `--values` random
//! values are loaded and decrypted; on `--operations` pairs of them, TFHE-rs's server adds, multiplies,
//! compares and takes the larger one; and `--sum` values are added. `--sum 1000` computes on every value, which
//! takes a quarter of an hour; `--operations 500` uses every value with every operator, in half a day.

mod keys;
mod library;
mod seeded;
mod types;

use std::time::Instant;

use keys::Keys;
use tfhe::ConfigBuilder;
use tfhe_sbc_core::parameter_sets::NIST_SUBMISSION_2_2;

/// The number of checks for each type.
#[derive(Clone, Copy)]
struct Options {
    values: usize,
    operations: usize,
    summed: usize,
}

fn main() {
    let options = options();
    let start = Instant::now();
    let say = |what: &str| eprintln!("{:7.1} s  {what}", start.elapsed().as_secs_f64());
    let keys = Keys::generate(ConfigBuilder::default().build());
    say("keys made and imported");
    keys::other_keys_are_refused_by_name();
    keys::other_sets_are_imported();
    say("keys of other parameters: imported, or refused by name");
    seeded::our_seeds_are_expanded_by_tfhe_rs(&keys);
    seeded::its_compressed_values_are_read(&keys, options.values);
    say("seeded masks understood in both directions");
    library::gives_the_same_without_files(&keys);
    say("the library for servers in Rust gives the same");
    types::all(&keys, options, &say);
    let nist = Keys::generate(keys::nist_submission());
    assert_eq!(*nist.parameters().as_set(), NIST_SUBMISSION_2_2);
    say("keys of Zama's NIST submission made and imported");
    types::one(&nist, options, &say);
    say("done");
}

fn options() -> Options {
    let mut options = Options {
        values: 1000,
        operations: 1,
        summed: 20,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse().ok());
        match (&*name, value) {
            ("--values", Some(value)) => options.values = value,
            ("--operations", Some(value)) => options.operations = value,
            ("--sum", Some(value)) => options.summed = value,
            _ => panic!("usage: [--values COUNT] [--operations COUNT] [--sum COUNT]"),
        }
    }
    options
}
