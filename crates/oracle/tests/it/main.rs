//! The oracle's integration tests, as one program.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

mod compact;
mod estimator;
mod extremes;
mod packing;
mod parameter_file;
mod published_sets;
mod search;
mod security_page;
mod security_table;
mod shipped_sets;
mod splitting;
mod statistics;
mod upload_noise;
