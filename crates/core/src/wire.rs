//! The wire format: every file and upload is a sequence of *messages*, each a fixed
//! 100-byte [`Header`], a payload and a checksum of both. `docs/wire-format.md`
//! describes every byte.
//!
//! To write a message, put the payload behind [`HEADER_BYTES`] free bytes and call
//! [`Header::seal`], or stream header, payload and [`Checksum`]. To read one, call
//! [`Message::parse`], which checks sizes, version, kind, flags and checksum before anything uses the
//! payload; [`glwe`], [`columns`], [`lwe`], [`packed`], [`key`], [`public_key`] and [`card`] read the payloads.

pub mod bits;
#[cfg(feature = "alloc")]
pub mod bodies;
pub mod card;
pub mod columns;
#[cfg(feature = "alloc")]
pub mod cut;
mod error;
pub mod glwe;
mod header;
pub mod key;
mod kind;
#[cfg(feature = "alloc")]
pub mod lwe;
#[cfg(feature = "alloc")]
pub mod packed;
pub mod public_key;
mod upload_size;
#[cfg(feature = "alloc")]
pub mod values;

pub use error::{WireError, require};
pub use header::{CHECKSUM_BYTES, Checksum, ENVELOPE_BYTES, HEADER_BYTES, Header, MAGIC, Message};
pub use kind::{FLAG_SEEDED, FORMAT_VERSION, Kind};
pub use upload_size::UploadSize;
