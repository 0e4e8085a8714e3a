//! Addition, subtraction and negation mod 2^width. All are lazy: they record a bootstrap only if a
//! sum would not fit its block.

use super::{Block, Circuit, Integer, IntegerError, Signedness};

impl Circuit {
    /// Returns `a + b` mod 2^width, lazily.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn add<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a, b])?;
        Ok(self.add_unchecked(a, b))
    }

    pub(super) fn add_unchecked<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Integer<S> {
        let sum = |a: &Integer<S>, b: &Integer<S>| -> Vec<Block> {
            a.blocks.iter().zip(&b.blocks).map(|(a, b)| a + b).collect()
        };
        let mut blocks = sum(a, b);
        if !self.have_room(&blocks) {
            blocks = sum(&self.propagate_unchecked(a), b);
        }
        if !self.have_room(&blocks) {
            blocks = sum(&self.digits(a, 2), &self.digits(b, 2));
        }
        Integer::new(blocks, a.width)
    }

    /// Returns `a - b` mod 2^width, lazily.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn sub<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a, b])?;
        Ok(self.add_unchecked(a, &self.neg_unchecked(b)))
    }

    /// Returns `-a` mod 2^width, lazily.
    ///
    /// # Errors
    /// If the operand belongs to another circuit.
    pub fn neg<S: Signedness>(&self, a: &Integer<S>) -> Result<Integer<S>, IntegerError> {
        self.check(&[a])?;
        Ok(self.neg_unchecked(a))
    }

    fn neg_unchecked<S: Signedness>(&self, a: &Integer<S>) -> Integer<S> {
        let negated = self.negated_blocks(a);
        if self.have_room(&negated) {
            return Integer::new(negated, a.width);
        }
        let digits = self.digits(a, 1);
        Integer::new(self.negated_blocks(&digits), a.width)
    }

    /// The blocks of `-a`. To each negated block a multiple of the message modulus is added that
    /// makes it nonnegative, and the next block is lowered accordingly.
    fn negated_blocks<S: Signedness>(&self, a: &Integer<S>) -> Vec<Block> {
        let negated = a.blocks.iter().map(|block| -block).collect();
        self.brought_to_zero(negated, a.width)
    }

    /// Returns `-a - 1`, whose bits are those of `a` flipped.
    ///
    /// # Errors
    /// If the operand belongs to another circuit.
    pub fn complement<S: Signedness>(&self, a: &Integer<S>) -> Result<Integer<S>, IntegerError> {
        self.check(&[a])?;
        Ok(self.complement_unchecked(&self.propagate_unchecked(a)))
    }

    /// Flips the bits of an integer that consists of digits.
    pub(super) fn complement_unchecked<S: Signedness>(&self, a: &Integer<S>) -> Integer<S> {
        let digits = a.blocks.iter().enumerate();
        let flip = |(i, digit): (usize, &Block)| &-digit + (self.digit_modulus(a.width, i) - 1);
        Integer::new(digits.map(flip).collect(), a.width)
    }
}
