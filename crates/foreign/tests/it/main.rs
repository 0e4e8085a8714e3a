//! Tests of the crate, as one program.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

#[path = "../../../../tests/vectors/mod.rs"]
mod vectors;

mod seal;
mod tfhe_rs;
mod tfhepp;
mod tfhepp_sets;
