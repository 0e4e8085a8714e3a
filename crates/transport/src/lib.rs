//! The protocols and types that the agent, the client and the server share.
//!
//! - Identity: [`identity`] loads certificates and keys, [`role`] reads from a certificate who its
//!   holder is and what it may do, [`tls`] makes the settings of a
//!   client's TLS connection, [`scheme`] lists the schemes of addresses.
//! - HTTP: [`protocol`] defines paths, headers and bodies, [`frames`] those of frames and pads, [`jobs`] those of jobs; [`client`] is a
//!   blocking client.
//! - MQTT: [`mqtt`] defines packets, a connection to a broker, and how an upload is cut into parts.
//! - Signatures: [`signature`] signs uploads and checks the signatures.
//! - Metrics: [`exposition`] writes the text that Prometheus reads.
//! - Figures for people: [`human`].
//! - Names and files: [`BlobId`] names stored bytes; [`files`] writes keys and data so that a
//!   crash leaves no half-written file.
//!
//! The crate knows bytes, files and sockets only, and neither keys nor ciphertexts.
#![forbid(unsafe_code)]

mod blob_id;
pub mod catalogue;
pub mod client;
pub mod error_chain;
pub mod exposition;
pub mod files;
pub mod frames;
pub mod human;
pub mod identity;
pub mod jobs;
pub mod mqtt;
pub mod protocol;
pub mod provider;
pub mod role;
pub mod scheme;
pub mod signature;
pub mod standing;
pub mod tls;

pub use blob_id::{BlobId, BlobIdError};
