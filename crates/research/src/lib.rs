//! The work of others on TFHE, reproduced in order to compare with it. Nothing that ships uses this
//! crate.
//!
//! - [`published`]: the parameter sets of TFHE-rs, and what TFHE-rs states beside them.
//! - [`klemsa`]: the bounds, the search and the sets of Klemsa's guide to TFHE parameters.
//! - [`reproduce`]: the oracle's figures for published sets beside the published figures. The command
//!   `cargo run --release -p tfhe-sbc-research -- reproduce` prints them.
//! - [`samplers`]: the variable-time Gaussian samplers of other libraries.
//! - [`paper`]: the encryptions that the TFHE-SBC paper compares, and its figures. The benchmark
//!   `cargo run --release -p tfhe-sbc-bench -- paper` measures them.
#![forbid(unsafe_code)]

pub mod klemsa;
pub mod paper;
pub mod published;
pub mod reproduce;
pub mod samplers;
