//! The integration tests: one program, so that the crate is linked once.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod common;

mod bad_input;
mod columns;
mod golden;
mod independent_reader;
mod no_alloc;
mod noise;
mod plans;
mod public_key;
mod round_trip;
mod secrecy;
mod sizes;
