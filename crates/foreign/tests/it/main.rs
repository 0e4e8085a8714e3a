//! Tests of the crate, as one program.

mod seal;
mod tfhe_rs;
mod tfhepp;
mod tfhepp_sets;
