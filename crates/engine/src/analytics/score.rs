//! Linear scores with clear weights, and what a logistic model makes of them.
//!
//! A weight is written in digits from `-m/2 + 1` to `m/2` of the radix `m`: a multiple of a
//! reading's digit by one of them is a weight of a linear combination, and what negative
//! ones would subtract is the complement of the digit. So a score is a carry-save addition of
//! weighted digits, without a product.
//!
//! Weights are integers: a model's are to be multiplied by a common scale and rounded, which
//! changes the score of a row by at most half the sum of its readings over that scale.

use super::{AnalyticsError, range_of};
use crate::circuit::Circuit;
use crate::integer::sum::Columns;
use crate::integer::{
    Clear, Comparison, FheBool, FheInt, FheUint, Integer, Signedness, Unsigned, Width,
};

/// A linear score of a row, less the smallest that any row may have.
#[derive(Clone, Debug)]
pub struct Score {
    /// The score less `lowest`, in digits.
    pub above_lowest: FheUint,
    /// The smallest score.
    pub lowest: i128,
    /// The largest score.
    pub highest: i128,
}

/// A weight's multiple of its reading is within this.
const LARGEST: i128 = 1 << 120;

impl Circuit {
    /// `bias + Σ weight·reading` of a row, where every reading has a weight.
    pub fn linear_score<S: Signedness>(
        &self,
        row: &[Integer<S>],
        weights: &[i64],
        bias: i64,
    ) -> Result<Score, AnalyticsError> {
        if row.is_empty() || row.len() != weights.len() {
            return Err(AnalyticsError::Weights);
        }
        self.check_own(row.iter().flat_map(Integer::blocks))?;
        let (mut lowest, mut highest) = (i128::from(bias), i128::from(bias));
        for (reading, &weight) in row.iter().zip(weights) {
            let (low, high) = range_of::<S>(reading.width());
            let ends = [low, high].map(|end| end.checked_mul(i128::from(weight)));
            let [Some(a), Some(b)] = ends else {
                return Err(AnalyticsError::Weights);
            };
            lowest += a.min(b);
            highest += a.max(b);
            if a.abs().max(b.abs()).max(-lowest).max(highest) > LARGEST {
                return Err(AnalyticsError::Weights);
            }
        }
        let width = Width::new((highest - lowest).max(1).ilog2() + 1)?;
        let digits = self.block_count(width);
        let mut columns: Columns = vec![Vec::new(); digits];
        // What the terms below are more than the score less the lowest.
        let mut excess = lowest - i128::from(bias);
        for (reading, &weight) in row.iter().zip(weights) {
            let origin = range_of::<S>(reading.width()).0;
            excess -= origin * i128::from(weight);
            let ordered = self.ordered(std::slice::from_ref(reading));
            for (place, weight_digit) in signed_digits(weight, self.message_modulus()) {
                for (i, digit) in ordered[0].blocks().iter().enumerate() {
                    let Some(column) = columns.get_mut(i + place) else {
                        continue;
                    };
                    let norm = digit.norm_squared() * weight_digit.unsigned_abs().pow(2);
                    let term = match norm <= self.max_norm_squared() {
                        true => digit * weight_digit,
                        false => &self.refresh(digit) * weight_digit,
                    };
                    let low = term.low();
                    column.push(&term - low);
                    let worth = i128::from(self.message_modulus()).checked_pow((i + place) as u32);
                    let worth = worth.ok_or(AnalyticsError::Weights)?;
                    excess -= i128::from(low) * worth;
                }
            }
        }
        let correction: FheUint = self.clear(Clear::from(-excess), width);
        for (column, digit) in columns.iter_mut().zip(correction.blocks()) {
            column.push(digit.clone());
        }
        Ok(Score {
            above_lowest: self.propagate_unchecked(&self.add_columns(columns, width)),
            lowest,
            highest,
        })
    }

    /// Whether a score is at least a limit.
    ///
    /// This is what a logistic model decides: a probability is at least `p` where the score
    /// is at least `ln(p / (1 - p))`.
    pub fn score_at_least(&self, score: &Score, limit: i128) -> Result<FheBool, AnalyticsError> {
        if limit <= score.lowest || limit > score.highest {
            return Ok(self.clear_bool(limit <= score.lowest));
        }
        let x = &score.above_lowest;
        let limit = self.clear(Clear::from(limit - score.lowest), x.width());
        Ok(self.compare::<Unsigned>(Comparison::Ge, x, &limit)?)
    }

    /// The probability `1 / (1 + exp(-step·score))` of a logistic model, as a code of `levels`
    /// values: the code `c` of a probability `p` is `p·(levels - 1)` rounded to the nearest
    /// integer, so that `c / (levels - 1)` is within `1 / (2·(levels - 1))` of `p`.
    ///
    /// The sigmoid is monotone, so a code is the number of those scores passed at which
    /// it changes: a comparison for each level but the first.
    pub fn probability(
        &self,
        score: &Score,
        step: f64,
        levels: u32,
    ) -> Result<FheUint, AnalyticsError> {
        let passed = probability_limits(step, levels)?
            .into_iter()
            .map(|limit| self.score_at_least(score, limit))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(self.propagate_unchecked(&self.count(&passed)?))
    }

    /// The score itself, in two's complement.
    pub fn score_value(&self, score: &Score) -> Result<FheInt, AnalyticsError> {
        let most = score.highest.max(-score.lowest - 1).max(0);
        let bits = score
            .above_lowest
            .width()
            .bits()
            .max(most.max(1).ilog2() + 2);
        let width = Width::new(bits)?;
        let mut blocks = score.above_lowest.blocks().to_vec();
        blocks.resize(self.block_count(width), crate::circuit::Block::clear(0));
        let lowest = self.clear(Clear::from(score.lowest), width);
        let value = self.add(&Integer::new(blocks, width), &lowest)?;
        Ok(self.propagate_unchecked(&value))
    }
}

/// The scores at which [`Circuit::probability`] goes from one code to the next: the smallest
/// of each code but 0.
pub fn probability_limits(step: f64, levels: u32) -> Result<Vec<i128>, AnalyticsError> {
    let is_step = step.is_finite() && step > 0.0;
    if !(2..=256).contains(&levels) || !is_step {
        return Err(AnalyticsError::Levels);
    }
    let limit = |code: u32| {
        let p = (f64::from(code) - 0.5) / f64::from(levels - 1);
        ((p / (1.0 - p)).ln() / step).ceil() as i128
    };
    Ok((1..levels).map(limit).collect())
}

/// The digits of a number from `-modulus/2 + 1` to `modulus/2` that are not 0, with their
/// places.
fn signed_digits(number: i64, modulus: i64) -> Vec<(usize, i64)> {
    let mut rest = i128::from(number);
    let modulus = i128::from(modulus);
    let mut digits = Vec::new();
    let mut place = 0;
    while rest != 0 {
        let mut digit = rest.rem_euclid(modulus);
        // With the radix 2 a negative number has no end in digits 0 and 1: its ends are
        // those of its opposite.
        if digit > modulus / 2 || (modulus == 2 && digit == 1 && rest < 0) {
            digit -= modulus;
        }
        if digit != 0 {
            digits.push((place, digit as i64));
        }
        rest = (rest - digit) / modulus;
        place += 1;
    }
    digits
}
