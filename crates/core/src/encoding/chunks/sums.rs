//! Sums of the results of many lookups.
//!
//! A lookup can put its result out as a compact value, `v / 2^p` of the torus with `p` far above the bits of a radix
//! block. Hundreds of such results are added up before the sum is taken apart, where a radix block would overflow after
//! a few.

use super::DigitPlan;

/// The form of a sum of lookup results, and the lookups that take it apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SumPlan {
    digits: DigitPlan,
    max_norm_squared: u64,
}

impl SumPlan {
    /// Returns the form of sums that `digits` takes apart. The noise of a sum may be that of `max_norm_squared`
    /// bootstrap outputs.
    pub fn new(digits: DigitPlan, max_norm_squared: u64) -> Self {
        Self {
            digits,
            max_norm_squared,
        }
    }

    /// The lookups that take a sum apart into radix digits.
    pub fn digits(&self) -> &DigitPlan {
        &self.digits
    }

    /// The largest sum of the squared weights of the bootstrap outputs that are added up.
    pub fn max_norm_squared(&self) -> u64 {
        self.max_norm_squared
    }

    /// The largest sum.
    pub fn largest(&self) -> i64 {
        (1 << self.digits.bits()) - 1
    }
}
