//! Sums of many: carry-save addition in columns, until what is left of a column fits a block.

use super::{Block, Circuit, FheBool, FheUint, Integer, IntegerError, Signedness, Unsigned, Width};

/// The blocks that add up at each power of the message modulus.
pub(crate) type Columns = Vec<Vec<Block>>;

impl Circuit {
    /// The sum of many unsigned integers, as wide as it needs to be.
    pub fn sum(&self, integers: &[FheUint]) -> Result<FheUint, IntegerError> {
        let refs: Vec<&FheUint> = integers.iter().collect();
        self.check_own(integers.iter().flat_map(|integer| &integer.blocks))?;
        let widest = refs.iter().map(|integer| integer.width).max();
        let widest = widest.ok_or(IntegerError::Empty)?;
        let carry_bits = usize::BITS - (integers.len() - 1).leading_zeros();
        let width = Width::new(widest.0 + carry_bits)?;
        let mut columns: Columns = vec![Vec::new(); self.block_count(width)];
        for integer in integers {
            for (column, block) in columns.iter_mut().zip(&integer.blocks) {
                column.push(block.clone());
            }
        }
        Ok(self.add_columns(columns, width))
    }

    /// The number of truth values that hold.
    pub fn count(&self, bits: &[FheBool]) -> Result<FheUint, IntegerError> {
        if bits.is_empty() {
            return Err(IntegerError::Empty);
        }
        self.check_own_bools(bits)?;
        let width = Width::new(bits.len().ilog2() + 1)?;
        let mut columns: Columns = vec![Vec::new(); self.block_count(width)];
        columns[0] = bits.iter().map(|bit| self.bit(bit)).collect();
        Ok(self.add_columns::<Unsigned>(columns, width))
    }

    /// Adds columns up. What the last one carries out is dropped.
    pub(crate) fn add_columns<S: Signedness>(
        &self,
        mut columns: Columns,
        width: Width,
    ) -> Integer<S> {
        let zero = Block::clear(0);
        let total = |column: &Vec<Block>| column.iter().fold(zero.clone(), |sum, b| &sum + b);
        loop {
            // Every round takes what is there at its start, so that it is one lookup deep.
            let mut next: Columns = vec![Vec::new(); columns.len()];
            let mut progress = false;
            for (c, column) in columns.iter_mut().enumerate() {
                let modulus = self.digit_modulus(width, c);
                while !self.has_room(&total(column)) {
                    let group = self.take_group(column);
                    let (digit, carry) = self.split(&group, modulus);
                    // A block too noisy for company comes back alone.
                    let digit = match digit == group {
                        true => self.refresh(&digit),
                        false => digit,
                    };
                    next[c].push(digit);
                    match next.get_mut(c + 1) {
                        Some(above) if carry.clear_value() != Some(0) => above.push(carry),
                        _ => {}
                    }
                    progress = true;
                }
            }
            if !progress {
                break;
            }
            for (column, more) in columns.iter_mut().zip(next) {
                column.extend(more);
            }
        }
        Integer::new(columns.iter().map(total).collect(), width)
    }

    /// Takes blocks out of a column that has no room, as many as fit one lookup.
    fn take_group(&self, column: &mut Vec<Block>) -> Block {
        let mut group = column.pop().unwrap_or_else(|| Block::clear(0));
        let mut left = Vec::with_capacity(column.len());
        while let Some(next) = column.pop() {
            let sum = &group + &next;
            let fits =
                sum.high() < self.block_modulus() && sum.norm_squared() <= self.max_norm_squared();
            match fits {
                true => group = sum,
                false => left.push(next),
            }
        }
        left.reverse();
        *column = left;
        group
    }
}
