//! Frames as boards, key owners and servers use them.
#![allow(
    clippy::unwrap_used,
    reason = "the functions that several tests share stop where a test does"
)]

mod bad_input;
mod c;
mod formats;
mod golden;
mod kill;
mod power;
mod reference;
mod sequence;
mod support;
