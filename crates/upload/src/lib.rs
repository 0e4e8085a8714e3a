//! Uploads: the bytes that a board sends, and what a server takes out of them.
//!
//! An upload is two messages: [`metadata`] that names its columns and rows, and a list of GLWE
//! ciphertexts with the blocks of all columns. On the sending side a [`DeviceSession`] (feature
//! `session`) holds a device key or a device public key and makes the bytes of an upload out of a
//! table of numbers, and derives columns from columns ([`derived`]); [`definition`] says what people
//! write of a column and which form follows. On the receiving side [`readings`] parses both messages and checks them against
//! each other and against the key set, [`extract`] expands the masks and extracts LWE ciphertexts
//! from the polynomials, [`sums`] and [`window`] add rows up on the polynomials before extraction, and
//! [`list_sum`] adds many uploads of the same compact columns. On the way between them, [`short`] leaves out
//! what the server knows from earlier uploads. [`pads`] makes uploads of the frames of boards that are too small for ciphertexts.
#![forbid(unsafe_code)]

pub mod byte_string;
pub mod cuts;
pub mod declaration;
pub mod derived;
pub mod extract;
pub mod gaps;
pub mod list_sum;
pub mod masks;
pub mod metadata;
pub mod moments;
pub mod pads;
pub mod readings;
pub mod row_labels;
pub mod short;
pub mod sums;
pub mod window;

#[cfg(feature = "session")]
pub mod definition;
#[cfg(feature = "session")]
mod error;
#[cfg(feature = "session")]
mod session;

#[cfg(feature = "session")]
pub use error::UploadError;
#[cfg(feature = "session")]
pub use session::{AnyEncryptor, DeviceSession, fresh_seeds};
