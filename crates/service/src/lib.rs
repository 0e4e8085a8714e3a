//! The server of tfhe-sbc: devices upload encrypted readings over TLS, the store keeps them, and the
//! owner of the keys asks questions about them. The server holds no secret key and never sees a
//! reading.
//!
//! An upload takes this path: [`server`] accepts a connection whose two ends proved themselves with
//! certificates ([`tls`]) that are not revoked ([`revocation`]), asks
//! [`role`](tfhe_sbc_transport::role) whether this caller may upload, reads the body under its
//! limits, restores the upload if it came in the [short form](tfhe_sbc_upload::short), lets the
//! [`backend`] check the bytes and hands them to the [`store`], which answers once they are on disk.
//! [`ingest`] takes uploads from an MQTT broker on the same path. [`frames`] of small boards come over UDP, brokers and HTTPS;
//! pads make uploads of them, which go to the same store. A query passes the same checks; then
//! one query at a time is evaluated by [`backend::Backend::evaluate`], and the metrics count it while
//! it runs.
//!
//! [`certificates`] is the small certificate authority that issues the identities. The crate
//! `transport` has the other end of the wire, and the protocol that both ends speak.
//!
//! Apart from the short form and pads, the server knows bytes, files and sockets only; only the [`backend`] knows
//! what the bytes mean. The real one is [`key_backend`], which holds a server key and answers the questions of the crate
//! `query`.
#![forbid(unsafe_code)]

pub mod backend;
pub mod certificates;
mod client_verifier;
pub mod frames;
mod headed;
pub mod ingest;
pub mod key_backend;
mod listening;
mod metrics;
mod period_results;
mod results;
pub mod revocation;
pub mod server;
pub mod signers;
pub mod store;
pub mod tls;

pub use metrics::resident_bytes;
