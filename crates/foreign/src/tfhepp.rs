//! Hand-over to [TFHEpp](https://github.com/virtualsecureplatform/TFHEpp) and back.
//!
//! A secret key file of theirs ([`SecretKey`]) becomes a parameter set and a GLWE key, under
//! which devices encrypt bits; [`TlweVector`] and [`TrlweVector`] turn their uploads into the
//! ciphertexts that TFHEpp's gates take; [`Ciphertexts`] reads what the gates give, and decrypts
//! it.
//!
//! TFHEpp writes with [cereal](https://uscilabs.github.io/cereal): scalars little-endian, without
//! tags, padding or checksum, arrays as their elements, vectors as a 64-bit count and their
//! elements ([`Archive`]). A file does not say what it holds, so it is told by its length, which
//! is another for every object. Of its parameters only lvl1 matters here: N = 1024, k = 1,
//! q = 2^32, bits at ±1/8. The phase is `b - a·s`, as ours.

mod archive;
mod ciphertexts;
mod description;
mod error;
mod secret_key;
mod sets;
mod stream;

pub use archive::{Archive, Content, content_of};
pub use ciphertexts::Ciphertexts;
pub use description::describe;
pub use error::TfheppError;
pub use secret_key::{Layout, SecretKey};
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

/// Coefficients of a polynomial of lvl1, and scalars of the mask of its LWE ciphertexts.
pub const LVL1_N: usize = 1024;

/// Bytes of a `TLWE<lvl1param>`: mask and body.
pub const TLWE_BYTES: usize = 4 * (LVL1_N + 1);

/// Bytes of a `TRLWE<lvl1param>`: one mask polynomial and the body.
pub const TRLWE_BYTES: usize = 2 * 4 * LVL1_N;
