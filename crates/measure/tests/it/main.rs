//! The integration tests of the measurements, as one program.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod check;
mod cost;
