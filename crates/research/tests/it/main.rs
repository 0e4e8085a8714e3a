//! The integration tests of the research crate, as one program.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

#[path = "../../../core/src/random/tests/normal.rs"]
mod normal;

mod published_sets;
mod reproduce;
mod reproduce_command;
mod samplers;
