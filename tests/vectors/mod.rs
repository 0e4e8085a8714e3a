//! The files of this folder, which other libraries wrote. The tests of several crates include this
//! module by its path.
#![allow(dead_code, reason = "each crate reads the files of some libraries")]

use std::path::{Path, PathBuf};

/// Returns the path of a file of Microsoft SEAL or of SEAL-Embedded.
pub(crate) fn seal_path(name: &str) -> PathBuf {
    folder().join("seal").join(name)
}

/// Reads a file of Microsoft SEAL or of SEAL-Embedded.
pub(crate) fn seal(name: &str) -> Vec<u8> {
    read(&seal_path(name))
}

/// Returns the path of a file of TFHEpp v9.
pub(crate) fn tfhepp_path(name: &str) -> PathBuf {
    folder().join("tfhepp/v9-binary-lvl1").join(name)
}

/// Reads a file of TFHEpp v9.
pub(crate) fn tfhepp(name: &str) -> Vec<u8> {
    read(&tfhepp_path(name))
}

/// Reads a test vector that TFHE-rs publishes.
pub(crate) fn tfhe_rs_core(name: &str) -> Vec<u8> {
    read(&folder().join("tfhe-rs-core").join(format!("{name}.cbor")))
}

/// Reads the bits that a file of TFHEpp v9 holds, from the file that lists them as digits.
pub(crate) fn tfhepp_bits(name: &str) -> Vec<bool> {
    let digits = tfhepp(name);
    digits.iter().map(|&digit| digit == b'1').collect()
}

/// All crates that include this module lie two folders below the root.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
