//! What boards encrypt, as values of the crate `tfhe`: for servers in Rust that run TFHE-rs and
//! want no files in between. Without the feature `tfhe` there is nothing here.
//!
//! `device_key` makes a device key of a `ClientKey`, once, where the key is; `values` makes
//! `FheUint32` and the like of an upload, on the server; `seeded_glwe` hands over
//! ciphertexts whose masks TFHE-rs expands itself. The bytes in between are
//! [`tfhe_sbc_foreign::tfhe_rs`]'s.
#![forbid(unsafe_code)]

#[cfg(feature = "tfhe")]
mod with_tfhe;

#[cfg(feature = "tfhe")]
pub use with_tfhe::{Error, FheValue, device_key, seeded_glwe, values};
