//! The integration tests: one program, so that the crate is linked once.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

#[allow(dead_code, reason = "the tests of the service use the rest")]
mod key_set;
mod plain;
#[path = "../../../columns/tests/it/quick_set.rs"]
mod quick_set;

mod answers;
mod derived;
mod device_keys;
mod draw;
mod formats;
mod functions;
mod optional;
mod queries;
mod rehearsals;
mod sanitised;
mod scopes;
