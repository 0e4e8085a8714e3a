//! The engine run on real keys and held against what the oracle predicts.
#![forbid(unsafe_code)]

pub mod calibrate;
