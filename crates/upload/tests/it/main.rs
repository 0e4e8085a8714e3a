//! Tests of the crate, as one program.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod derived;
mod description;
mod list_sum;
mod optional;
mod pads;
mod short;
mod sums;
