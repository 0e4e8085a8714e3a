//! Integers of other widths, and functions of small ones and of blocks.

use super::{Block, Circuit, Clear, FheUint, Integer, IntegerError, Signedness, Width};

impl Circuit {
    /// The same number mod `2^width`, as signed or unsigned: a wider one continues the sign of
    /// signed integers, and zeros after unsigned ones.
    pub fn cast<S: Signedness, R: Signedness>(
        &self,
        a: &Integer<S>,
        width: Width,
    ) -> Result<Integer<R>, IntegerError> {
        self.check(&[a])?;
        let count = self.block_count(width);
        if width <= a.width {
            let blocks = a.blocks.iter().take(count).cloned();
            return Ok(Integer::new(blocks.collect(), width));
        }
        let mut blocks = self.digits(a, 1).blocks;
        let last = blocks.len() - 1;
        if !S::SIGNED {
            blocks.resize(count, Block::clear(0));
            return Ok(Integer::new(blocks, width));
        }
        let half = self.digit_modulus(a.width, last) / 2;
        let top = blocks.remove(last);
        let continued = |i: usize| {
            let modulus = self.digit_modulus(width, i);
            move |top: i64| match (top >= half, i == last) {
                (true, true) => modulus - 2 * half + top,
                (true, false) => modulus - 1,
                (false, true) => top,
                (false, false) => 0,
            }
        };
        // All above the sign bit's digit are the same, but for the most significant.
        let places: Vec<usize> = (last..count).collect();
        let functions: Vec<_> = places.iter().map(|&i| continued(i)).collect();
        blocks.extend(self.look_up_moved(&top, &functions));
        Ok(Integer::new(blocks, width))
    }

    /// A function of a block's value, in `[-block_modulus, block_modulus]`.
    ///
    /// # Errors
    /// A block of another circuit, or with more values or more noise than a lookup takes, or
    /// values beyond the block modulus.
    pub fn map_block(&self, x: &Block, f: impl Fn(i64) -> i64) -> Result<Block, IntegerError> {
        self.check_own([x])?;
        let most = self.block_modulus();
        if x.span() > most || x.norm_squared() > self.max_norm_squared() {
            return Err(IntegerError::Lookup);
        }
        match (x.low()..=x.high()).all(|value| f(value).unsigned_abs() <= most as u64) {
            true => Ok(self.look_up(x, f)),
            false => Err(IntegerError::Lookup),
        }
    }

    /// A function of the values of two blocks, which have `block_modulus` pairs at most.
    ///
    /// # Errors
    /// Those of [`map_block`](Self::map_block).
    pub fn map_blocks(
        &self,
        a: &Block,
        b: &Block,
        f: impl Fn(i64, i64) -> i64,
    ) -> Result<Block, IntegerError> {
        self.check_own([a, b])?;
        let most = self.block_modulus();
        let pairs = a.span().checked_mul(b.span());
        let quiet = |x: &Block| x.norm_squared() <= self.max_norm_squared();
        if pairs.is_none_or(|pairs| pairs > most) || !quiet(a) || !quiet(b) {
            return Err(IntegerError::Lookup);
        }
        let in_range = (a.low()..=a.high())
            .all(|x| (b.low()..=b.high()).all(|y| f(x, y).unsigned_abs() <= most as u64));
        match in_range {
            true => Ok(self.look_up_pair(a, b, f)),
            false => Err(IntegerError::Lookup),
        }
    }

    /// A function of an integer of as few bits as one block has, mod `2^width`.
    ///
    /// # Errors
    /// An integer of more bits, or of another circuit.
    pub fn map<S: Signedness>(
        &self,
        a: &FheUint,
        width: Width,
        f: impl Fn(u64) -> Clear,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a])?;
        if a.width.0 > self.encoding().plaintext_bits() - 1 {
            return Err(IntegerError::Lookup);
        }
        let modulus = self.message_modulus();
        let pack = |digits: &[Block]| {
            let pack = |sum: Block, digit: &Block| &(&sum * modulus) + digit;
            digits.iter().rev().fold(Block::clear(0), pack)
        };
        let mut digits = self.digits(a, 1).blocks;
        if pack(&digits).norm_squared() > self.max_norm_squared() {
            digits = digits.iter().map(|digit| self.refresh(digit)).collect();
        }
        let digit_of = |i: usize| {
            let f = &f;
            move |x: i64| self.digits_of(f(x as u64), width).nth(i).unwrap_or(0)
        };
        let functions: Vec<_> = (0..self.block_count(width)).map(digit_of).collect();
        Ok(Integer::new(
            self.look_up_moved(&pack(&digits), &functions),
            width,
        ))
    }
}
