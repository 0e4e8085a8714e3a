//! The integration tests: one program, so that the crate is linked once.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod common;
#[path = "../../../query/tests/it/key_set.rs"]
#[allow(dead_code, reason = "the tests of questions use the rest")]
mod key_set;

mod backup;
mod catalogue;
mod device_keys;
mod frames;
mod jobs;
mod keys;
mod limits;
mod long_answers;
mod names;
mod page;
mod requests;
mod retention;
mod revocation;
mod segments;
mod short_uploads;
mod shutdown;
mod standing;
mod store;
mod transport;
mod uploads_and_queries;
