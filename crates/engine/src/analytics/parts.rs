//! Sums of readings that were begun before there were LWE ciphertexts.
//!
//! Adding up rows is linear, so it may be done on whole GLWE ciphertexts, before digits are
//! extracted from them: as many rows as a block can hold. What comes out enters a circuit here.

use tfhe_sbc_core::lwe::LweCiphertext;

use super::AnalyticsError;
use crate::circuit::{Circuit, CircuitError};
use crate::integer::sum::Columns;
use crate::integer::{FheUint, Width};

/// The sum of a digit of some readings.
#[derive(Clone, Debug)]
pub struct PartialSum {
    /// Which digit, the least significant being 0.
    pub place: usize,
    /// Of how many readings.
    pub count: u32,
    /// The sum.
    pub sum: SumInput,
}

/// What a [`PartialSum`] enters a circuit as.
#[derive(Clone, Debug)]
pub enum SumInput {
    /// To be evaluated.
    Ciphertext(LweCiphertext<u64>),
    /// The value that a stand-in has, at most as much as so many digits come to: for counting
    /// and rehearsing.
    StandIn(u64),
}

impl Circuit {
    /// The most readings that a [`PartialSum`] may have: their digits must not overflow a
    /// block, nor their noise the budget.
    pub fn most_in_a_part(&self) -> u32 {
        let digits = (self.block_modulus() - 1) / (self.message_modulus() - 1);
        self.parameters().max_noise_level.min(digits as u32)
    }

    /// The sum of unsigned readings of a width, from the partial sums of their digits. There
    /// are as many readings for every digit.
    pub fn sum_of_parts(
        &self,
        parts: Vec<PartialSum>,
        width: Width,
    ) -> Result<FheUint, AnalyticsError> {
        let mut counts = vec![0u64; self.block_count(width)];
        for part in &parts {
            let count = counts.get_mut(part.place).ok_or(AnalyticsError::Parts)?;
            *count += u64::from(part.count);
            if !(1..=self.most_in_a_part()).contains(&part.count) {
                return Err(AnalyticsError::Parts);
            }
        }
        let rows = counts[0];
        if rows == 0 || counts.iter().any(|&count| count != rows) {
            return Err(AnalyticsError::Parts);
        }
        let carry_bits = u64::BITS - (rows - 1).leading_zeros();
        let total = Width::new(width.bits() + carry_bits).map_err(AnalyticsError::Integer)?;
        let mut columns: Columns = vec![Vec::new(); self.block_count(total)];
        for part in parts {
            let largest = self.digit_modulus(width, part.place) as u64 - 1;
            let degree = u64::from(part.count) * largest;
            let block = match part.sum {
                SumInput::Ciphertext(sum) => self.input_sum(sum, degree, part.count),
                SumInput::StandIn(value) => self.stand_in_sum(value, degree, part.count),
            };
            let block =
                block.map_err(|error: CircuitError| AnalyticsError::Integer(error.into()))?;
            columns[part.place].push(block);
        }
        Ok(self.propagate_unchecked(&self.add_columns(columns, total)))
    }
}
