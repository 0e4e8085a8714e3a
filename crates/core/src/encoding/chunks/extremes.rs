//! The largest or the smallest of a few compact values, by lookups, without digits of each value.
//!
//! The larger of two values `a` and `b` follows from their difference `d`, because `2·max(a, b) = (a + b) + |d|`. The
//! sum `a + b` takes no lookup, and `|d|` is `d` or `-d`, chunk by chunk: a lookup whose padding bit is the sign of `d` puts out
//! the bits of a chunk or their negative, because a table has its negative where the padding bit is set. The sign comes from the same
//! chunks ([`super::sign_views`]).
//!
//! A number that is found so is never in one ciphertext, which would not be precise enough. It is the sum of the values, as many
//! bits of them as are needed, and of lookup results, each at the scale of the view of it that
//! the next lookup takes. The next comparison, of `2·max(a, b)` with `2·max(c, d)`, takes views of the difference of
//! two such sums, and so on. The digits of the last one follow as those of a single value do ([`DigitPlan`]).

use alloc::vec::Vec;

use super::DigitPlan;

/// The lookups that take the largest or the smallest of a group of compact values to radix digits, each after those whose
/// results it takes. The crate `oracle` plans them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtremePlan {
    rows: usize,
    lookups: Vec<ExtremeLookup>,
    digits: DigitPlan,
}

/// One lookup, that is one bootstrap, of an [`ExtremePlan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtremeLookup {
    /// The factors of the ciphertexts of the values of the group.
    pub values: Vec<i64>,
    /// The results of other lookups that are added.
    pub results: Vec<ExtremeTerm>,
    /// The distance between a phase and the nearest border of the table, in units of `2^-64` of the torus. It is
    /// the number to add to a phase, too, so that it is as far from the border below it as from that above.
    pub half_width: u64,
    /// The table has `2^value_bits` values below the padding bit.
    pub value_bits: u32,
    /// The functions of the table, which are interleaved.
    pub functions: Vec<ExtremeFunction>,
    /// The number of lookups on the longest path to this one.
    pub depth: u32,
}

/// A result of another lookup, and its factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtremeTerm {
    /// The number of the lookup.
    pub lookup: usize,
    /// The number of its function.
    pub function: usize,
    /// The factor.
    pub factor: i64,
}

/// A function of a lookup, in units of `2^-64` of the torus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtremeFunction {
    /// The value for each number below the padding bit. It is negated where the padding bit is set.
    pub values: Vec<u64>,
    /// A constant on the torus that is added to the result.
    pub offset: u64,
}

impl ExtremeLookup {
    /// log2 of the number of functions that are interleaved in the table.
    pub fn interleaved_log2(&self) -> u32 {
        self.functions.len().next_power_of_two().trailing_zeros()
    }

    /// The results for an exact phase, to which [`half_width`](Self::half_width) is added already.
    pub fn results_of(&self, phase: u64) -> impl Iterator<Item = u64> {
        let is_turned = phase >> (u64::BITS - 1) == 1;
        let place = phase << 1 >> (u64::BITS - 1 - self.value_bits) >> 1;
        self.functions.iter().map(move |function| {
            let value = function.values.get(place as usize).copied().unwrap_or(0);
            let value = if is_turned {
                value.wrapping_neg()
            } else {
                value
            };
            value.wrapping_add(function.offset)
        })
    }
}

impl ExtremePlan {
    /// Returns the plan for groups of `rows` values. The last lookups are those of `digits`, in their order.
    pub fn new(rows: usize, lookups: Vec<ExtremeLookup>, digits: DigitPlan) -> Self {
        Self {
            rows,
            lookups,
            digits,
        }
    }

    /// The number of values of a group.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The lookups.
    pub fn lookups(&self) -> &[ExtremeLookup] {
        &self.lookups
    }

    /// The lookups that give the digits are the last ones, those of this plan.
    pub fn digits(&self) -> &DigitPlan {
        &self.digits
    }

    /// The place of the first lookup that gives digits.
    pub fn first_of_digits(&self) -> usize {
        self.lookups
            .len()
            .saturating_sub(self.digits.lookups().len())
    }

    /// The number of lookups that are at each depth.
    pub fn rounds(&self) -> Vec<usize> {
        let depth = self.lookups.iter().map(|lookup| lookup.depth).max();
        let depths = 1..=depth.unwrap_or(0);
        let at = |depth| move |lookup: &&ExtremeLookup| lookup.depth == depth;
        depths
            .map(|depth| self.lookups.iter().filter(at(depth)).count())
            .collect()
    }
}
