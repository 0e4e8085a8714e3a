//! The engine's integration tests, as one program.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod against_reference;
mod analytics;
mod analytics_counts;
mod bootstrap;
mod bootstrap_counts;
mod circuit_noise;
mod common;
mod compact;
mod determinism;
mod device_switch;
mod encrypted_analytics;
mod encrypted_integers;
#[path = "../../../core/tests/common/mod.rs"]
mod frozen;
mod gates;
mod golden;
mod noise;
mod operators;
mod packing;
#[path = "../../../columns/tests/it/quick_set.rs"]
mod quick_set;
mod reference;
mod sanitise;
mod sums;
mod transform_error;
mod uploads;
mod windows;
