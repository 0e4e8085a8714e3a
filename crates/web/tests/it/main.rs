//! The integration tests: one program, so that the crate is linked once.

mod common;

mod decrypt;
