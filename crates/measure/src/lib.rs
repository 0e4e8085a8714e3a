//! The engine run on real keys and held against what the oracle predicts.
//!
//! - [`calibrate`]: what bootstraps take on this machine, as prices of the engine's kernels.
//! - [`check`]: the noise of every step, and how often a bootstrap fails.
#![forbid(unsafe_code)]

pub mod calibrate;
pub mod check;
