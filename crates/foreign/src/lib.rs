//! Keys and ciphertexts of other libraries.
//!
//! Each library has a module of its own: [`seal`] reads and writes the files of Microsoft SEAL and
//! SEAL-Embedded, [`tfhe_rs`] those of TFHE-rs, [`tfhepp`] those of TFHEpp. [`LIBRARIES`] lists
//! them, and [`describe`] tells which library a file is of and what it holds.
#![forbid(unsafe_code)]

mod registry;
pub mod seal;
pub mod tfhe_rs;
pub mod tfhepp;

pub use registry::{Description, LIBRARIES, Library, describe};
