//! Tests of the crate, as one program.

mod description;
mod sums;
