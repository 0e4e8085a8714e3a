//! What boards encrypt, held against a real TFHE-rs: its keys are imported, values are encrypted
//! by the device library under them, symmetric and with a public key, converted, and then loaded,
//! computed on and decrypted by TFHE-rs.
//!
//! `cargo run --release -- [--values 1000] [--operations 2] [--threads N]`: so many random values of
//! each type are loaded and decrypted; on the first so many pairs of each, TFHE-rs's server
//! adds, multiplies, compares and takes the larger one. All operations on all values are
//! `--operations 500`.

mod keys;
mod measure;
mod seeded;
mod types;

use std::time::Instant;

use keys::Keys;

struct Options {
    values: usize,
    operations: usize,
}

fn main() {
    let options = options();
    let start = Instant::now();
    let say = |what: &str| eprintln!("{:7.1} s  {what}", start.elapsed().as_secs_f64());
    let keys = Keys::generate();
    say("keys made and imported");
    keys::other_keys_are_refused_by_name();
    keys::other_sets_are_imported();
    say("keys of other parameters: imported, or refused by name");
    seeded::our_seeds_are_expanded_by_tfhe_rs(&keys);
    seeded::its_compressed_values_are_read(&keys, options.values);
    say("seeded masks understood in both directions");
    types::all(&keys, options.values, options.operations, &say);
    measure::all(&keys);
    say("done");
}

fn options() -> Options {
    let mut options = Options {
        values: 1000,
        operations: 2,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse().ok());
        match (&*name, value) {
            ("--values", Some(value)) => options.values = value,
            ("--operations", Some(value)) => options.operations = value,
            _ => panic!("usage: [--values COUNT] [--operations COUNT]"),
        }
    }
    options
}
