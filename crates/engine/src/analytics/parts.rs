//! Sums of readings that were begun on GLWE ciphertexts.
//!
//! The addition of rows is linear, so it can be done on whole GLWE ciphertexts, before digits are
//! extracted from them, for as many rows as a block can hold. The extracted sums enter a circuit
//! here.

use tfhe_sbc_core::lwe::LweCiphertext;

use super::AnalyticsError;
use crate::circuit::{Circuit, CircuitError};
use crate::integer::sum::Columns;
use crate::integer::{FheUint, Width, carry_bits};

/// The sum of a digit of some readings.
#[derive(Clone, Debug)]
pub struct PartialSum {
    /// The place of the digit; the least significant one is 0.
    pub place: usize,
    /// The number of readings in the sum.
    pub count: u32,
    /// The sum.
    pub sum: SumInput,
}

/// The input of a circuit for a [`PartialSum`].
#[derive(Clone, Debug)]
pub enum SumInput {
    /// The ciphertext of the sum.
    Ciphertext(LweCiphertext<u64>),
    /// A stand-in of this value, for counting and rehearsing. The value is at most the largest sum
    /// of the digits.
    StandIn(u64),
}

impl Circuit {
    /// The largest number of readings of a [`PartialSum`]. Their digits must not overflow a block,
    /// nor their noise the budget.
    pub fn most_in_a_part(&self) -> u32 {
        let digits = (self.block_modulus() - 1) / (self.message_modulus() - 1);
        self.parameters().max_noise_level().min(digits as u32)
    }

    /// Returns the sum of unsigned readings of a width, from the partial sums of their digits. The
    /// number of readings must be the same for every digit.
    ///
    /// # Errors
    /// If the parts do not fit together, have more readings than a block can hold, or the circuit
    /// refuses a ciphertext.
    pub fn sum_of_parts(
        &self,
        parts: Vec<PartialSum>,
        width: Width,
    ) -> Result<FheUint, AnalyticsError> {
        let mut counts = vec![0usize; self.block_count(width)];
        for part in &parts {
            let count = counts.get_mut(part.place).ok_or(AnalyticsError::Parts)?;
            *count += part.count as usize;
            if !(1..=self.most_in_a_part()).contains(&part.count) {
                return Err(AnalyticsError::Parts);
            }
        }
        let rows = counts[0];
        if rows == 0 || counts.iter().any(|&count| count != rows) {
            return Err(AnalyticsError::Parts);
        }
        let total = Width::new(width.bits() + carry_bits(rows)).map_err(AnalyticsError::Integer)?;
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
