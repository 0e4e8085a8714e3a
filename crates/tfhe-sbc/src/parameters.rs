//! Parameter sets.
//!
//! A set of the shipped ones is enough for most programs. [`DEFAULT`] has at least 128 bits of
//! security, and a bootstrap under it fails with a probability of at most 2^-128. The
//! [search](crate::oracle::search) finds sets for other needs, and sets that are weaker in one of the two carry that
//! in their name.

use tfhe_sbc_core::parameters::ParameterSet as Set;

pub use tfhe_sbc_core::parameter_sets::{
    ALL, GATES, MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3,
};
pub use tfhe_sbc_core::parameters::{ParameterError, ParameterSet, Parameters};

/// The set that this crate and the program use unless they are told otherwise.
pub const DEFAULT: Set = MESSAGE_2_CARRY_2;
