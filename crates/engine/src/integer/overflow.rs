//! Arithmetic that tells whether it has overflowed, or does something about it.
//!
//! A sum of unsigned numbers overflows by its last carry. One of signed numbers does if the
//! operands have one sign and the sum has the other, which the most significant digits of the
//! three tell. `a - b` is `a + ¬b + 1`. Signed products are products of absolute values.

use super::{Block, Circuit, FheBool, Integer, IntegerError, Signedness, Width};

impl Circuit {
    /// `a + b` mod 2^width in digits, and whether it has overflowed.
    pub fn overflowing_add<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        self.check(&[a, b])?;
        let (a, b) = (self.digits(a, 2), self.digits(b, 2));
        let (sum, carry) = self.add_carrying(&a, &b, &Block::clear(0));
        let overflow = match S::SIGNED {
            true => self.signed_overflow(&a, &b, &sum),
            false => FheBool::of(carry, |carry| carry > 0),
        };
        Ok((sum, overflow))
    }

    /// `a - b` mod 2^width in digits, and whether it has overflowed.
    pub fn overflowing_sub<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        self.check(&[a, b])?;
        let (a, b) = (self.digits(a, 2), self.digits(b, 2));
        let b = self.complement_unchecked(&b);
        let (difference, carry) = self.add_carrying(&a, &b, &Block::clear(1));
        let overflow = match S::SIGNED {
            true => self.signed_overflow(&a, &b, &difference),
            false => FheBool::of(carry, |carry| carry == 0),
        };
        Ok((difference, overflow))
    }

    /// `a * b` mod 2^width in digits, and whether it has overflowed.
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
        // The right sign, or 0, which has none.
        let wrong_sign = self.xor(&negative, &self.sign(&signed))?;
        let nonzero = self.any_nonzero(product.blocks);
        let overflow = self.or(&beyond, &self.and(&wrong_sign, &nonzero)?)?;
        Ok((signed, overflow))
    }

    /// `a + b`, or the nearest number of the width.
    pub fn saturating_add<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        let (sum, overflow) = self.overflowing_add(a, b)?;
        let nearest = match S::SIGNED {
            // It has wrapped to the other sign.
            true => self.end(&self.sign(&sum), sum.width),
            false => self.end(&self.clear_bool(true), sum.width),
        };
        Ok(self.choose(&overflow, &nearest, &sum).0)
    }

    /// `a - b`, or the nearest number of the width.
    pub fn saturating_sub<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        let (difference, overflow) = self.overflowing_sub(a, b)?;
        let nearest = match S::SIGNED {
            true => self.end(&self.sign(&difference), difference.width),
            false => self.end(&self.clear_bool(false), difference.width),
        };
        Ok(self.choose(&overflow, &nearest, &difference).0)
    }

    /// `a * b`, or the nearest number of the width.
    pub fn saturating_mul<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        let (product, overflow) = self.overflowing_mul(a, b)?;
        let nearest = match S::SIGNED {
            true => {
                let negative = self.xor(&self.sign(a), &self.sign(b))?;
                self.end(&self.not(&negative), product.width)
            }
            false => self.end(&self.clear_bool(true), product.width),
        };
        Ok(self.choose(&overflow, &nearest, &product).0)
    }

    /// `a + b`, or 0 where it overflows, and whether it does.
    pub fn checked_add<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        let (sum, overflow) = self.overflowing_add(a, b)?;
        Ok(self.checked(sum, overflow))
    }

    /// `a - b`, or 0 where it overflows, and whether it does.
    pub fn checked_sub<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        let (difference, overflow) = self.overflowing_sub(a, b)?;
        Ok(self.checked(difference, overflow))
    }

    /// `a * b`, or 0 where it overflows, and whether it does.
    pub fn checked_mul<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, FheBool), IntegerError> {
        let (product, overflow) = self.overflowing_mul(a, b)?;
        Ok(self.checked(product, overflow))
    }

    fn checked<S: Signedness>(
        &self,
        value: Integer<S>,
        overflow: FheBool,
    ) -> (Integer<S>, FheBool) {
        let zero = Integer::new(vec![Block::clear(0); value.blocks.len()], value.width);
        (self.choose(&overflow, &zero, &value).0, overflow)
    }

    /// Digits of the sum, and its carry.
    fn add_carrying<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
        carry_in: &Block,
    ) -> (Integer<S>, Block) {
        let blocks: Vec<Block> = a.blocks.iter().zip(&b.blocks).map(|(a, b)| a + b).collect();
        let carried = self.carry(&blocks, carry_in, a.width);
        (Integer::new(carried.digits, a.width), carried.carry)
    }

    /// Whether the digits of two summands have one sign, and those of the sum the other.
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
            // Twice the ones of the two, and the sum's: none and 1, or two and 0. Even where those
            // values do not fit below the padding bit, the lookup is a sign's.
            let ones = self.look_up(&(&a + &b), |ones| 2 * ones);
            return FheBool::of(&ones + &self.refresh(&sum), |x| x == 1 || x == 4);
        }
        let half = modulus / 2;
        // 0, 1 or 2 of them are negative.
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
                // One below the sign bit, or that bit.
                true => &Block::clear(modulus / 2) - &self.weighted_bit(largest, 1),
                false => self.weighted_bit(largest, modulus - 1),
            }
        };
        Integer::new((0..count).map(digit).collect(), width)
    }
}
