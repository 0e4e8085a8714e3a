//! Compact values: their noise, the failure probability of exact sums and of the lookups that take
//! them apart, and the plans that follow.
//!
//! - [`CompactNoise`]: the noise of a compact value, from uploads, sums, weights and key switches.
//! - [`exact_sum_log2_p_fail`]: the failure probability of decoding a sum.
//! - [`sign_chunks`] and [`digit_chunks`]: the fewest lookups for a sign, and for radix digits.
//! - [`least_body_bits`]: the fewest bits of a body for the uses of a column.
//! - [`Profile`]: the encodings for the uses that people name.
//! - [`sum_plans`]: the forms of sums of lookup results.
//! - [`extreme_plan`]: the fewest lookups for the largest or the smallest of a group.
//! - [`derived_encoding`]: the encodings of squares and flags that are derived from a column.
//!
//! The lookups themselves are described in [`tfhe_sbc_core::encoding::chunks`], which the crate
//! `engine` evaluates. All plans are for [`TARGET_LOG2_P_FAIL`](crate::upload::TARGET_LOG2_P_FAIL).

mod derived;
mod extremes;
mod lookups;
mod noise;
mod plan;
mod profile;
mod sums;

pub use derived::{derived_encoding, widest_with};
pub use extremes::{Extreme, extreme_failures, extreme_plan};
pub use lookups::{
    LookupFailure, digit_chunks, digit_failures, digit_plan, sign_chunks, sign_failures,
    view_failure,
};
pub use noise::{CompactNoise, Roundings, SumRows, answer_coefficient_bits, exact_sum_log2_p_fail};
pub use plan::{CompactUse, least_body_bits};
pub use profile::{Profile, UnknownProfile};
pub use sums::sum_plans;
