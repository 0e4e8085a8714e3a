//! Linear scores with clear weights, and the decisions and probabilities of logistic models.
//!
//! A weight is written in digits from `-m/2 + 1` to `m/2` of the radix `m`. A digit of a reading
//! is multiplied by a digit of a weight in a linear combination; for a negative digit, the
//! complement of the reading's digit is taken instead of a subtraction. A score is thus a
//! carry-save addition of weighted digits, without products.
//!
//! Weights are integers: those of a model must be multiplied by a common scale and rounded, which
//! changes the score of a row by at most half the sum of its readings divided by the scale.

use super::{AnalyticsError, range_of};
use crate::circuit::Circuit;
use crate::integer::sum::Columns;
use crate::integer::{
    Clear, Comparison, FheBool, FheInt, FheUint, Integer, Signedness, Unsigned, Width,
};

/// A linear score of a row, minus the smallest score that any row may have.
#[derive(Clone, Debug)]
pub struct Score {
    /// The score minus `lowest`, in digits.
    pub above_lowest: FheUint,
    /// The smallest score.
    pub lowest: i128,
    /// The largest score.
    pub highest: i128,
}

/// The largest magnitude of the product of a weight and its reading.
const LARGEST: i128 = 1 << 120;

impl Circuit {
    /// Returns `bias + Σ weight·reading` of a row, with one weight for every reading. The readings
    /// may have different widths.
    ///
    /// # Errors
    /// If the row is empty, the numbers of readings and weights differ, the sums do not fit 126
    /// bits, or a reading belongs to another circuit.
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
        // The amount by which the sum of the terms below exceeds the score minus the lowest.
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

    /// Returns whether a score is at least a limit.
    ///
    /// This is the decision of a logistic model: a probability is at least `p` if the score is at
    /// least `ln(p / (1 - p))`.
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
    /// The sigmoid is monotone, so that a code is the number of the scores at which it changes
    /// that are at most the score: one comparison for each level but the first.
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

    /// Returns the score itself, in two's complement.
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

/// Returns the scores at which [`Circuit::probability`] changes from one code to the next: the
/// smallest score of each code but 0.
///
/// # Errors
/// If the levels or the step are out of range.
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

/// The nonzero digits of a number, from `-modulus/2 + 1` to `modulus/2`, with their places.
fn signed_digits(number: i64, modulus: i64) -> Vec<(usize, i64)> {
    let mut rest = i128::from(number);
    let modulus = i128::from(modulus);
    let mut digits = Vec::new();
    let mut place = 0;
    while rest != 0 {
        let mut digit = rest.rem_euclid(modulus);
        // In radix 2, a negative number has no finite expansion in the digits 0 and 1, so it takes
        // the negated digits of its absolute value.
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
