//! From uploads to ciphertexts that an engine computes on.
//!
//! The path of an upload: [`readings`] parses its two messages, metadata and seeded
//! GLWE list, and checks them against each other and against the key set;
//! [`extract`] expands the masks and takes LWE ciphertexts out of the polynomials, in
//! bulk; [`sums`] adds rows up before that, polynomial by polynomial. [`foreign`] tells what
//! files of other libraries are; [`seal`] is SEAL's and SEAL-Embedded's keys and ciphertexts, [`tfhe_rs`]
//! TFHE-rs's, [`tfhepp`] TFHEpp's.
#![forbid(unsafe_code)]

pub mod extract;
pub mod foreign;
pub mod metadata;
pub mod readings;
pub mod seal;
pub mod sums;
pub mod tfhe_rs;
pub mod tfhepp;
