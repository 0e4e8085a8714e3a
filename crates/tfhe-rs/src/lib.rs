//! Uploads of boards as values of the crate `tfhe`, for servers in Rust that run TFHE-rs and want no
//! files in between. Without the feature `tfhe` this crate is empty.
//!
//! The key owner calls `device_key` once, to make a device key of a `ClientKey`. The server calls
//! `values` to turn an upload into `FheUint32` and the like, or `seeded_glwe` to get ciphertexts
//! whose masks TFHE-rs expands itself. [`tfhe_sbc_foreign::tfhe_rs`] makes the bytes in between.
#![forbid(unsafe_code)]

#[cfg(feature = "tfhe")]
mod with_tfhe;

#[cfg(feature = "tfhe")]
pub use with_tfhe::{Error, FheValue, device_key, seeded_glwe, values};
