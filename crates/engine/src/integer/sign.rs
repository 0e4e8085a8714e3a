//! Signs, absolute values, and conditional negation.

use super::Unsigned;
use super::{Block, Circuit, FheBool, FheInt, FheUint, Integer, IntegerError, Signedness};

impl Circuit {
    /// Returns `|a|`. The absolute value of the smallest number wraps to itself.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn abs(&self, a: &FheInt) -> Result<FheInt, IntegerError> {
        self.check(&[a])?;
        Ok(self.magnitude(a).reinterpret())
    }

    /// Returns whether a signed integer is negative.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn is_negative(&self, a: &FheInt) -> Result<FheBool, IntegerError> {
        self.check(&[a])?;
        Ok(self.sign(a))
    }

    /// The truth of the most significant bit being set.
    pub(super) fn sign<S: Signedness>(&self, a: &Integer<S>) -> FheBool {
        let half = self.digit_modulus(a.width, a.blocks.len() - 1) / 2;
        let digits = self.propagate_unchecked(a);
        let top = digits.blocks.last().cloned();
        FheBool::of(top.unwrap_or_else(|| Block::clear(0)), move |top| {
            top >= half
        })
    }

    /// The absolute value of a two's complement number.
    pub(super) fn magnitude<S: Signedness>(&self, a: &Integer<S>) -> FheUint {
        let digits: Integer<Unsigned> = self.digits(a, 1).reinterpret();
        self.negate_if(&self.sign(&digits), &digits)
    }

    /// Returns `-a` if the condition holds, `a` if not, in digits.
    pub(super) fn negate_if<S: Signedness>(
        &self,
        condition: &FheBool,
        a: &Integer<S>,
    ) -> Integer<S> {
        let digits = self.digits(a, 1);
        let flipped = digits.blocks.iter().enumerate().map(|(i, digit)| {
            let modulus = self.digit_modulus(a.width, i);
            let flag = self.weighted_bit(condition, modulus);
            self.look_up(&(digit + &flag), |x| match x >= modulus {
                true => 2 * modulus - 1 - x,
                false => x,
            })
        });
        let flipped: Vec<Block> = flipped.collect();
        let carried = self.carry(&flipped, &self.bit(condition), a.width);
        Integer::new(carried.digits, a.width)
    }

    /// The digits, with the most significant bit flipped.
    pub(super) fn sign_flipped<S: Signedness>(&self, a: &Integer<S>) -> Integer<S> {
        let mut digits = self.digits(a, 1);
        let half = self.digit_modulus(a.width, a.blocks.len() - 1) / 2;
        if let Some(top) = digits.blocks.last_mut() {
            *top = match half {
                1 => &Block::clear(1) - &*top,
                _ => self.look_up(top, |top| top ^ half),
            };
        }
        digits
    }
}
