//! The server side of tfhe-sbc: devices upload encrypted readings over TLS,
//! the store keeps them, the owner of the keys asks questions about them.
//! The server holds no secret key and never sees a reading.
//!
//! The path of an upload:
//! [`server`] accepts a connection whose two ends proved themselves with
//! certificates ([`tls`], [`identity`]) that nobody took back ([`revocation`]), asks [`role`] whether this caller may
//! upload, reads the body under its limits, lets the [`backend`] check the bytes
//! and hands them to the [`store`], which answers once they are on disk.
//! The path of a query: the same gates, then one evaluation at a time through
//! [`backend::Backend::evaluate`], counted in [`metrics`] while it runs.
//!
//! [`certificates`] is the small certificate authority that issues the
//! identities, [`client`] is the other end of the wire, [`protocol`] what both
//! ends say to each other, [`files`] writes keys
//! and data so that a crash leaves nothing half-written.
//!
//! All of this knows bytes, files and sockets only; what the bytes mean is the
//! [`backend`]'s business. The real one is [`evaluator`], which holds a server key and
//! answers the questions of the crate `query`.
#![forbid(unsafe_code)]

pub mod backend;
pub mod certificates;
pub mod client;
mod error_chain;
pub mod evaluator;
pub mod files;
pub mod identity;
pub mod metrics;
pub mod mqtt;
pub mod protocol;
pub mod revocation;
pub mod role;
pub mod server;
pub mod store;
pub mod tls;
