//! The integration tests: one program, so that the crate is linked once.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod common;
mod key_set;
mod plain;

mod device_keys;
mod formats;
mod functions;
mod keys;
mod limits;
mod page;
mod queries;
mod rehearsals;
mod requests;
mod revocation;
mod shutdown;
mod store;
mod transport;
mod uploads_and_queries;
