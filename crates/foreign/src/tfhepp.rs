//! Keys and ciphertexts of [TFHEpp](https://github.com/virtualsecureplatform/TFHEpp).
//!
//! [`SecretKey`] reads a secret key file of TFHEpp as a parameter set and a GLWE key, under which
//! devices encrypt bits. [`TlweVector`] and [`TrlweVector`] turn uploads into the ciphertexts that
//! TFHEpp's gates take. [`Ciphertexts`] reads and decrypts the results of gates.
//!
//! TFHEpp writes with [cereal](https://uscilabs.github.io/cereal): scalars are little-endian, without
//! tags, padding or checksum; arrays are their elements; vectors are a 64-bit count and their elements
//! ([`Archive`]). A file does not name its content, so it is recognised by its length, which differs
//! between all objects. Only lvl1 of the parameters matters here: N = 1024, k = 1, q = 2^32, bits at
//! ±1/8. The phase is `b - a·s`, as in this project.

mod archive;
mod ciphertexts;
mod description;
mod error;
mod layout;
mod secret_key;
mod sets;
mod stream;

pub use archive::{Archive, Content, content_of};
pub use ciphertexts::Ciphertexts;
pub use description::describe;
pub use error::TfheppError;
pub use layout::Layout;
pub use secret_key::SecretKey;
pub use sets::{LVL1_BINARY, LVL1_TERNARY};
pub use stream::{TlweVector, TrlweVector};

use crate::Library;
use tfhe_sbc_core::wire::card::LibraryNumber;

/// The entry of the registry.
pub const LIBRARY: Library = Library {
    name: "tfhepp",
    title: "TFHEpp",
    number: Some(LibraryNumber(2)),
    describe,
};

/// The number of coefficients of an lvl1 polynomial, and of scalars in the mask of an LWE ciphertext.
pub const LVL1_N: usize = 1024;

/// The number of bytes of a `TLWE<lvl1param>`: mask and body.
pub const TLWE_BYTES: usize = 4 * (LVL1_N + 1);

/// The number of bytes of a `TRLWE<lvl1param>`: one mask polynomial and the body.
pub const TRLWE_BYTES: usize = 2 * 4 * LVL1_N;
