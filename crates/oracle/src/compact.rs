//! Compact values: their noise, the failure probability of exact sums and of the lookups that take
//! them apart, and the plans that follow.
//!
//! - [`CompactNoise`]: the noise of a compact value, from uploads, sums, weights and key switches.
//! - [`exact_sum_log2_p_fail`]: the failure probability of decoding a sum.
//! - [`sign_chunks`]: the fewest lookups for a sign.
//!
//! The lookups themselves are described in [`tfhe_sbc_core::encoding::chunks`], which the crate
//! `engine` evaluates. All plans are for [`TARGET_LOG2_P_FAIL`](crate::upload::TARGET_LOG2_P_FAIL).

mod lookups;
mod noise;

pub use lookups::{LookupFailure, sign_chunks, sign_failures, view_failure};
pub use noise::{CompactNoise, PUBLIC_KEY_MASK_EXTRA_BITS, exact_sum_log2_p_fail};
