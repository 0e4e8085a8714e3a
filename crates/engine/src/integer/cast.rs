//! Casts between widths, and functions of small integers and of blocks.

use super::{Block, Circuit, Clear, FheUint, Integer, IntegerError, Signedness, Width};

impl Circuit {
    /// Returns the number mod `2^width`, as a signed or unsigned integer. A wider result continues
    /// the sign of signed integers, and has zeros above unsigned ones.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
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
        // All digits above that of the sign bit are equal, except the most significant one.
        let places: Vec<usize> = (last..count).collect();
        let functions: Vec<_> = places.iter().map(|&i| continued(i)).collect();
        blocks.extend(self.look_up_moved(&top, &functions));
        Ok(Integer::new(blocks, width))
    }

    /// Returns an unsigned number mod `2^width`, see [`cast`](Self::cast), without a copy if the width is not larger.
    ///
    /// # Errors
    /// As [`cast`](Self::cast).
    pub fn resized(&self, mut a: FheUint, width: Width) -> Result<FheUint, IntegerError> {
        self.check(&[&a])?;
        if width > a.width {
            return self.cast(&a, width);
        }
        a.blocks.truncate(self.block_count(width));
        a.width = width;
        Ok(a)
    }

    /// Looks up a function of the value of a block. The values of the function must be in
    /// `[-block_modulus, block_modulus]`.
    ///
    /// # Errors
    /// If the block belongs to another circuit, has more values or more noise than a lookup can
    /// take, or the function has values beyond the block modulus.
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

    /// Looks up a function of the values of two blocks, which may have at most `block_modulus`
    /// pairs of values.
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

    /// Looks up a function of an integer that fits one block. The result is mod `2^width`.
    ///
    /// # Errors
    /// If the integer has more bits than a block holds, or belongs to another circuit.
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
