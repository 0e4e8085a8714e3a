//! The integration tests: one program, so that the crate is linked once.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod common;
mod compact;
mod counts;
mod derived;
mod encodings;
mod evaluated;
mod extremes;
mod optional;
mod pair;
mod quick_set;
mod recordings;
mod rehearsed;
mod rolling;
mod shared_rows;
