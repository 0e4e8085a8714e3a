//! The integration tests: one program, so that the library is linked once. The tests in C, beside
//! this folder, are built by `cargo xtask c`.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod abi;
#[cfg(feature = "ckks")]
mod ckks;
mod columns;
mod derived;
