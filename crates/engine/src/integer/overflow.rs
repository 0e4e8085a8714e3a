//! Arithmetic with overflow detection: overflowing, saturating and checked operators.
//!
//! A sum of unsigned numbers overflows if its last carry is set. A sum of signed numbers overflows if
//! the operands have the same sign and the sum has the other, which the most significant digits of the
//! three show. `a - b` is computed as `a + ¬b + 1`, and a signed product as the product of the absolute
//! values with the sign of the result.

use super::{Block, Circuit, FheBool, Integer, IntegerError, Signedness, Width};

impl Circuit {
    /// Returns the digits of `a + b` mod 2^width, and whether the sum has overflowed.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn overflowing_add<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        self.check(&[a, b])?;
        let (a, b) = (self.digits(a, 2), self.digits(b, 2));
        Ok(self.overflowing_sum(&a, &b, 0, |carry| carry > 0))
    }

    /// Returns the digits of `a - b` mod 2^width, and whether the difference has overflowed.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn overflowing_sub<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        self.check(&[a, b])?;
        let (a, b) = (self.digits(a, 2), self.digits(b, 2));
        let b = self.complement_unchecked(&b);
        Ok(self.overflowing_sum(&a, &b, 1, |carry| carry == 0))
    }

    /// Returns the digits of `a * b` mod 2^width, and whether the product has overflowed.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn overflowing_mul<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        self.check(&[a, b])?;
        if !S::SIGNED {
            let (a, b) = (a.clone().reinterpret(), b.clone().reinterpret());
            let (product, overflow) = self.overflowing_product(&a, &b);
            return Ok((product.reinterpret(), overflow));
        }
        let negative = self.xor(&self.sign(a), &self.sign(b))?;
        let (a, b) = (self.magnitude(a), self.magnitude(b));
        let (product, beyond) = self.overflowing_product(&a, &b);
        let signed: Integer<S> = self.negate_if(&negative, &product).reinterpret();
        // The product fits if it has the right sign or is 0.
        let wrong_sign = self.xor(&negative, &self.sign(&signed))?;
        let nonzero = self.any_nonzero(product.blocks);
        let overflow = self.or(&beyond, &self.and(&wrong_sign, &nonzero)?)?;
        Ok((signed, overflow))
    }

    /// Returns `a + b`, or the nearest number of the width if the sum overflows.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn saturating_add<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        let (sum, overflow) = self.overflowing_add(a, b)?;
        let above = match S::SIGNED {
            // A sum that overflows has wrapped to the other sign.
            true => self.sign(&sum),
            false => self.clear_bool(true),
        };
        Ok(self.saturate(&sum, &overflow, &above))
    }

    /// Returns `a - b`, or the nearest number of the width if the difference overflows.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn saturating_sub<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        let (difference, overflow) = self.overflowing_sub(a, b)?;
        let above = match S::SIGNED {
            true => self.sign(&difference),
            false => self.clear_bool(false),
        };
        Ok(self.saturate(&difference, &overflow, &above))
    }

    /// Returns `a * b`, or the nearest number of the width if the product overflows.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn saturating_mul<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        let (product, overflow) = self.overflowing_mul(a, b)?;
        let above = match S::SIGNED {
            true => self.not(&self.xor(&self.sign(a), &self.sign(b))?),
            false => self.clear_bool(true),
        };
        Ok(self.saturate(&product, &overflow, &above))
    }

    /// Returns `a + b`, or 0 if it overflows, and whether it does.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn checked_add<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        let (sum, overflow) = self.overflowing_add(a, b)?;
        Ok(self.checked(sum, overflow))
    }

    /// Returns `a - b`, or 0 if it overflows, and whether it does.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn checked_sub<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        let (difference, overflow) = self.overflowing_sub(a, b)?;
        Ok(self.checked(difference, overflow))
    }

    /// Returns `a * b`, or 0 if it overflows, and whether it does.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn checked_mul<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        let (product, overflow) = self.overflowing_mul(a, b)?;
        Ok(self.checked(product, overflow))
    }

    /// The value, or the largest number of the width if it has overflowed `above`, the smallest if it has
    /// overflowed below.
    fn saturate<S: Signedness>(
        &self,
        value: &Integer<S>,
        overflow: &FheBool,
        above: &FheBool,
    ) -> Integer<S> {
        let nearest = self.end(above, value.width);
        self.choose(overflow, &nearest, value).0
    }

    /// The value, or 0 if it has overflowed, and the condition itself.
    fn checked<S: Signedness>(
        &self,
        value: Integer<S>,
        overflow: FheBool,
    ) -> (Integer<S>, FheBool) {
        let zero = Integer::new(vec![Block::clear(0); value.blocks.len()], value.width);
        (self.choose(&overflow, &zero, &value).0, overflow)
    }

    /// The digits of `a + b + carry_in`, and whether the sum has overflowed: by its signs if it is
    /// signed, otherwise by `overflows` of its carry.
    fn overflowing_sum<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
        carry_in: i64,
        overflows: impl Fn(i64) -> bool,
    ) -> (Integer<S>, FheBool) {
        let blocks: Vec<Block> = a.blocks.iter().zip(&b.blocks).map(|(a, b)| a + b).collect();
        let carried = self.carry(&blocks, &Block::clear(carry_in), a.width);
        let sum = Integer::new(carried.digits, a.width);
        let overflow = match S::SIGNED {
            true => self.signed_overflow(a, b, &sum),
            false => FheBool::of(carried.carry, overflows),
        };
        (sum, overflow)
    }

    /// Returns whether two summands have the same sign and their sum has the other. All three are in digits.
    fn signed_overflow<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
        sum: &Integer<S>,
    ) -> FheBool {
        let modulus = self.digit_modulus(a.width, a.blocks.len() - 1);
        let of = |integer: &Integer<S>| integer.blocks.last().cloned();
        let (Some(a), Some(b), Some(sum)) = (of(a), of(b), of(sum)) else {
            return self.clear_bool(false);
        };
        if modulus == 2 {
            // The most significant digit is the sign bit alone. Twice the number of negative summands plus
            // the sign bit of the sum is 1 or 4 if the sum has overflowed. If these values do not fit
            // below the padding bit, the lookup still has the symmetry of a sign.
            let ones = self.look_up(&(&a + &b), |ones| 2 * ones);
            return FheBool::of(&ones + &self.refresh(&sum), |x| x == 1 || x == 4);
        }
        let half = modulus / 2;
        // The number of negative summands, 0, 1 or 2.
        let negative = self.look_up_pair(&a, &b, |a, b| {
            (i64::from(a >= half) + i64::from(b >= half)) * modulus
        });
        FheBool::of(&negative + &self.refresh(&sum), move |x| {
            let (negative, sum_negative) = (x / modulus, x % modulus >= half);
            negative == 0 && sum_negative || negative == 2 && !sum_negative
        })
    }

    /// The largest number of the width if the condition holds, the smallest if not.
    fn end<S: Signedness>(&self, largest: &FheBool, width: Width) -> Integer<S> {
        let count = self.block_count(width);
        let digit = |i: usize| {
            let modulus = self.digit_modulus(width, i);
            match S::SIGNED && i + 1 == count {
                // The largest number has ones below the sign bit, the smallest only the sign bit.
                true => &Block::clear(modulus / 2) - &self.weighted_bit(largest, 1),
                false => self.weighted_bit(largest, modulus - 1),
            }
        };
        Integer::new((0..count).map(digit).collect(), width)
    }
}
