//! The integration tests: one program, so that the crate is linked once.

mod common;
mod counts;
mod encodings;
mod evaluated;
mod recordings;
mod rehearsed;
