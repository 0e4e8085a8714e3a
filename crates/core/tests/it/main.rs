//! The integration tests: one program, so that the crate is linked once. `common` and `samples`
//! are also included by the tests of other crates and by the fuzz targets.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../samples/mod.rs"]
mod samples;
#[path = "../../../../tests/vectors/mod.rs"]
mod vectors;

mod corrupted;
mod corrupted_columns;
mod golden;
mod golden_answers;
mod independent_reader;
mod tfhe_rs_vectors;
mod tfhepp_vectors;
