//! Measurements of the engine on real keys, compared with the oracle's predictions.
//!
//! - [`calibrate`]: the time of bootstraps on this machine, as prices of the engine's kernels.
//! - [`check`]: the noise of every step, and the failure probability of a bootstrap.
#![forbid(unsafe_code)]

pub mod calibrate;
pub mod check;
