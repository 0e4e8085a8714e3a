//! The integration tests of the measurements, as one program.

mod check;
mod cost;
