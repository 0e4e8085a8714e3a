//! Addition, subtraction, negation and multiplication by small clear numbers, all mod
//! 2^width and all lazy: a bootstrap is recorded only where a sum would not fit.

use super::{Block, Circuit, FheBool, FheUint, Integer, IntegerError, Signedness};

impl Circuit {
    /// `a + b`.
    pub fn add<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a, b])?;
        Ok(self.add_unchecked(a, b))
    }

    fn add_unchecked<S: Signedness>(&self, a: &Integer<S>, b: &Integer<S>) -> Integer<S> {
        let sum = |a: &Integer<S>, b: &Integer<S>| -> Vec<Block> {
            a.blocks.iter().zip(&b.blocks).map(|(a, b)| a + b).collect()
        };
        let fits = |blocks: &[Block]| blocks.iter().all(|block| self.has_room(block));
        let mut blocks = sum(a, b);
        if !fits(&blocks) {
            blocks = sum(&self.propagate_unchecked(a), b);
        }
        if !fits(&blocks) {
            blocks = sum(&self.digits(a, 2), &self.digits(b, 2));
        }
        Integer::new(blocks, a.width)
    }

    /// `a + b` in digits, and whether it has overflowed.
    pub fn overflowing_add(
        &self,
        a: &FheUint,
        b: &FheUint,
    ) -> Result<(FheUint, FheBool), IntegerError> {
        self.check(&[a, b])?;
        let sum = self.add_unchecked(&self.digits(a, 2), &self.digits(b, 2));
        let carried = self.carry(&sum.blocks, &Block::clear(0), sum.width);
        let overflow = FheBool::of(carried.carry, |carry| carry > 0);
        Ok((Integer::new(carried.digits, sum.width), overflow))
    }

    /// `a - b`.
    pub fn sub<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a, b])?;
        Ok(self.add_unchecked(a, &self.neg_unchecked(b)))
    }

    /// `-a`.
    pub fn neg<S: Signedness>(&self, a: &Integer<S>) -> Result<Integer<S>, IntegerError> {
        self.check(&[a])?;
        Ok(self.neg_unchecked(a))
    }

    fn neg_unchecked<S: Signedness>(&self, a: &Integer<S>) -> Integer<S> {
        let negated = self.negated_blocks(a);
        if negated.iter().all(|block| self.has_room(block)) {
            return Integer::new(negated, a.width);
        }
        let digits = self.digits(a, 1);
        Integer::new(self.negated_blocks(&digits), a.width)
    }

    /// The blocks of `-a`: each negated on a multiple of the message modulus that keeps it
    /// from 0 upwards, which the next block gives back.
    fn negated_blocks<S: Signedness>(&self, a: &Integer<S>) -> Vec<Block> {
        let modulus = self.message_modulus();
        let mut borrow = 0;
        let negate = |block: &Block| {
            let lent = (block.high() + borrow + modulus - 1).div_euclid(modulus);
            let negated = &-block + (lent * modulus - borrow);
            borrow = lent;
            negated
        };
        a.blocks.iter().map(negate).collect()
    }
}
