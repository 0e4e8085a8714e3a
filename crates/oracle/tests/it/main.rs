//! The oracle's integration tests, as one program.

mod estimator;
mod parameter_file;
mod search;
mod security_table;
mod shipped_sets;
mod splitting;
mod statistics;
mod upload_noise;
