//! Signs: of what they are, absolute values, and negation where a condition holds.

use super::Unsigned;
use super::{Block, Circuit, FheBool, FheInt, FheUint, Integer, IntegerError, Signedness};

impl Circuit {
    /// `|a|`. That of the smallest number wraps to itself.
    pub fn abs(&self, a: &FheInt) -> Result<FheInt, IntegerError> {
        self.check(&[a])?;
        Ok(self.magnitude(a).reinterpret())
    }

    /// Whether a signed integer is below 0.
    pub fn is_negative(&self, a: &FheInt) -> Result<FheBool, IntegerError> {
        self.check(&[a])?;
        Ok(self.sign(a))
    }

    /// Whether the most significant bit is set.
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

    /// `condition ? -a : a`, in digits.
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

    /// Digits with the most significant bit flipped.
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
