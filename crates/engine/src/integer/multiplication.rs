//! Products, and sums weighted by clear numbers.
//!
//! A product is computed by the schoolbook method: for each pair of digits, one lookup gives the
//! low digit of their product and one the high digit, and these are added in columns. A clear
//! factor needs no lookups of products: its digits, signed so that they are small, are the weights
//! of the other factor's digits in the columns.

use std::borrow::Cow;

use super::sum::Columns;
use super::{Block, Circuit, Clear, FheBool, FheInt, FheUint, Integer, IntegerError, Signedness};
use super::{Signed, Width};
use crate::circuit::Repeated;

impl Circuit {
    /// Returns `a * b` mod 2^width, lazily.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn mul<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a, b])?;
        for (clear, other) in [(a, b), (b, a)] {
            if let Some(factor) = clear.clear_digits() {
                let mut columns = self.columns(a.width);
                self.add_weighted(&mut columns, other, factor);
                return Ok(self.add_columns(columns, a.width));
            }
        }
        let blocks = self.repeated(Repeated::Product(a.width), &[&a.blocks, &b.blocks], || {
            let (a, b) = (self.factor(a), self.factor(b));
            let (columns, _) = self.product(&a.blocks, &b.blocks, a.width);
            let product: Integer<S> = self.add_columns(columns, a.width);
            product.blocks
        });
        Ok(Integer::new(blocks, a.width))
    }

    /// Returns `a * b` mod 2^width in digits, and whether the product has overflowed.
    pub(super) fn overflowing_product(&self, a: &FheUint, b: &FheUint) -> (FheUint, FheBool) {
        let (a, b) = (self.factor(a), self.factor(b));
        let (columns, mut spilled) = self.product(&a.blocks, &b.blocks, a.width);
        // The product of digits `i` and `j` with `i + j >= count` is beyond the width: the number
        // has overflowed if a digit and one at or above its complement are both nonzero.
        let count = a.blocks.len();
        let mut from_top: Vec<Block> = b.blocks.clone();
        from_top.reverse();
        let any = self.running_any(&from_top);
        spilled.extend((1..count).map(|i| {
            let (digit, above) = (&a.blocks[i], &any[i - 1]);
            self.look_up_pair(digit, above, |digit, above| {
                i64::from(digit != 0 && above != 0)
            })
        }));
        self.overflowing_columns(columns, spilled, a.width)
    }

    /// Returns the sum of integers weighted by clear numbers, mod 2^width, lazily.
    ///
    /// # Errors
    /// If the numbers of integers and weights differ, the integers have different widths, or they
    /// belong to another circuit.
    pub fn dot_product<S: Signedness>(
        &self,
        integers: &[Integer<S>],
        weights: &[i64],
        width: Width,
    ) -> Result<FheInt, IntegerError> {
        if integers.len() != weights.len() {
            return Err(IntegerError::Lengths(integers.len(), weights.len()));
        }
        let integers: Vec<&Integer<S>> = integers.iter().collect();
        let sum: Integer<S> = self.weighted_sum(&integers, weights, width)?;
        Ok(sum.reinterpret::<Signed>())
    }

    /// Does the same as [`dot_product`](Self::dot_product) for equal numbers of integers and
    /// weights.
    pub(super) fn weighted_sum<S: Signedness>(
        &self,
        integers: &[&Integer<S>],
        weights: &[i64],
        width: Width,
    ) -> Result<Integer<S>, IntegerError> {
        if integers.is_empty() {
            return Err(IntegerError::Empty);
        }
        self.check_own(integers.iter().flat_map(|integer| &integer.blocks))?;
        let mut columns = self.columns(width);
        for (&integer, &weight) in integers.iter().zip(weights) {
            let factor = || self.digits_of(Clear::from(weight), width).collect();
            if !S::SIGNED || integer.width >= width {
                let wide = match integer.width < width {
                    true => self.as_digits(integer, 1),
                    false => Cow::Borrowed(integer),
                };
                if weight == 1 && wide.blocks.iter().all(|block| self.is_takable(block, 1)) {
                    for (column, block) in columns.iter_mut().zip(&wide.blocks) {
                        column.push(block.clone());
                    }
                    continue;
                }
                let mut wide = wide.into_owned().blocks;
                wide.truncate(columns.len());
                self.add_weighted(&mut columns, &Integer::<S>::new(wide, width), factor());
                continue;
            }
            // With the sign bit flipped, the number is nonnegative, and too large by the value of
            // that bit.
            let flipped = self.sign_flipped(integer);
            let wide = Integer::<S>::new(flipped.blocks, width);
            self.add_weighted(&mut columns, &wide, factor());
            let bit = Clear::power_of_two(integer.width.0 - 1);
            let excess = Integer::<S>::new(
                self.digits_of(bit, width).map(Block::clear).collect(),
                width,
            );
            let negative = self.digits_of(Clear::from(weight).negated(), width);
            self.add_weighted(&mut columns, &excess, negative.collect());
        }
        Ok(self.add_columns(columns, width))
    }

    /// The digits of a factor, with little enough noise for a lookup of a pair.
    fn factor<S: Signedness>(&self, integer: &Integer<S>) -> Integer<S> {
        self.digits(integer, self.encoding().message_modulus() + 1)
    }

    /// The columns of a product, and the terms that its digits add beyond the width. Products of
    /// digits that lie wholly beyond the width are in neither.
    fn product(&self, a: &[Block], b: &[Block], width: Width) -> (Columns, Vec<Block>) {
        let mut columns = self.columns(width);
        let mut spilled = Vec::new();
        let is_square = a == b;
        for i in 0..a.len() {
            for j in 0..b.len() - i {
                // In a square, the two products of a pair of digits are one lookup.
                let (x, y) = match is_square && i > j {
                    true => (&a[j], &b[i]),
                    false => (&a[i], &b[j]),
                };
                let modulus = self.digit_modulus(width, i + j);
                let low = |x: i64, y: i64| x * y % modulus;
                let high = |x: i64, y: i64| x * y / modulus;
                let mut parts = self.look_up_pair_all(x, y, &[&low, &high]);
                let high = parts.pop();
                columns[i + j].extend(parts);
                columns
                    .get_mut(i + j + 1)
                    .unwrap_or(&mut spilled)
                    .extend(high);
            }
        }
        for column in &mut columns {
            column.retain(|block| block.clear_value() != Some(0));
        }
        (columns, spilled)
    }

    /// Adds an integer, multiplied by the clear number with the given digits, to columns. Terms
    /// beyond the columns are dropped.
    fn add_weighted<S: Signedness>(
        &self,
        columns: &mut Columns,
        integer: &Integer<S>,
        factor: Vec<i64>,
    ) {
        let weights = self.signed_digits(factor);
        let largest = weights.iter().map(|w| w.unsigned_abs()).max().unwrap_or(0);
        let largest = largest.max(1);
        let mut blocks = integer.blocks.iter();
        let plain = weights.iter().filter(|&&weight| weight != 0).count() == 1
            && blocks.all(|block| self.is_takable(block, largest));
        // If each column gets one term, the integer may stay lazy.
        let digits = match plain {
            true => integer.clone(),
            false => self.digits(integer, largest),
        };
        for (j, &weight) in weights.iter().enumerate().filter(|(_, w)| **w != 0) {
            for (column, block) in columns.iter_mut().skip(j).zip(&digits.blocks) {
                column.push(block * weight);
            }
        }
    }

    /// Returns whether a lookup can take a block times a weight.
    fn is_takable(&self, block: &Block, weight: u64) -> bool {
        block.norm_squared() * weight.pow(2) <= self.max_norm_squared()
            && block.span() * weight as i64 <= self.block_modulus()
    }

    /// The signed digits of the same number mod a power of the message modulus, none of them
    /// larger than half of the modulus.
    fn signed_digits(&self, digits: Vec<i64>) -> Vec<i64> {
        let modulus = self.message_modulus();
        let mut carry = 0;
        let mut signed = Vec::with_capacity(digits.len());
        for (i, digit) in digits.iter().enumerate() {
            let twice = 2 * (digit + carry).rem_euclid(modulus);
            let next = digits.get(i + 1).copied().unwrap_or(0);
            // A digit of exactly one half takes the sign that makes the next digit smaller.
            let negative = twice > modulus || twice == modulus && 2 * next >= modulus;
            carry = (digit + carry).div_euclid(modulus) + i64::from(negative);
            signed.push(twice / 2 - i64::from(negative) * modulus);
        }
        signed
    }
}

impl<S: Signedness> Integer<S> {
    /// The values of the blocks, if all of them are clear.
    pub(super) fn clear_digits(&self) -> Option<Vec<i64>> {
        self.blocks.iter().map(Block::clear_value).collect()
    }
}
