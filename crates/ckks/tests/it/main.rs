//! The integration tests: one program, so that the crate is linked once. `common` is also
//! included by the benchmarks.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
#[cfg(feature = "alloc")]
mod decryption;
mod defects;
mod known_answers;
mod round_trip;
