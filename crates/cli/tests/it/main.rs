//! The integration tests: one program, so that the crate is linked once.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod common;
#[path = "../../../../tests/vectors/mod.rs"]
mod vectors;

mod agent;
mod agent_csv;
mod agent_frames;
mod agent_guide;
mod agent_mqtt;
mod backup;
mod bad_clients;
mod bad_files;
mod bad_tables;
mod c_library;
mod checks;
mod compact_columns;
mod decrypted_tables;
mod demo;
mod derived_columns;
mod device_keys;
mod frames_server;
mod help_examples;
mod jobs;
mod packing_keys;
mod pads;
mod params;
mod params_calibrate;
mod params_check;
mod params_find;
mod provision;
mod questions;
mod readings;
mod releases;
mod retention;
mod sanitised;
mod seal;
mod selections;
mod short_uploads;
mod standing;
mod step_by_step;
mod tfhe_rs;
mod tfhepp;
mod uploads;
