//! The TFHE-SBC paper: its own figures, and the methods that it compares.

pub mod configuration;
pub mod energy;
pub mod figures;
pub mod single_precision;
pub mod urandom;
