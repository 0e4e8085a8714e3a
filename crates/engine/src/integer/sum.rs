//! Sums of many: carry-save addition in columns, until what is left of a column fits a block.
//!
//! A lookup of a group of blocks gives a digit and a carry into the next column. Where a group
//! spans at most half of the values below the padding bit, both come out of one bootstrap, else
//! they take two; full groups save more for each bootstrap, halves are for what remains.
//! Columns are lowered either to where they fit a lazy integer, or to where none carries more
//! than 1, whichever makes digits of them sooner.

use super::carry::total;
use super::{Block, Circuit, FheBool, FheUint, Integer, IntegerError, Signedness, Unsigned, Width};
use crate::circuit::round_cost;

/// The blocks that add up at each power of the message modulus.
pub(crate) type Columns = Vec<Vec<Block>>;

/// What is left of columns.
struct Lowered {
    blocks: Vec<Block>,
    /// Carries out of the width.
    spilled: Vec<Block>,
}

impl Circuit {
    /// The sum of many integers, as wide as it needs to be.
    pub fn sum<S: Signedness>(&self, integers: &[Integer<S>]) -> Result<Integer<S>, IntegerError> {
        let widest = integers.iter().map(|integer| integer.width.0).max();
        let widest = widest.ok_or(IntegerError::Empty)?;
        let carry_bits = usize::BITS - (integers.len() - 1).leading_zeros();
        let width = Width::new(widest + carry_bits)?;
        let weights = vec![1; integers.len()];
        self.weighted_sum(integers, &weights, width)
    }

    /// The number of truth values that hold.
    pub fn count(&self, bits: &[FheBool]) -> Result<FheUint, IntegerError> {
        if bits.is_empty() {
            return Err(IntegerError::Empty);
        }
        self.check_own_bools(bits)?;
        let width = Width::new(bits.len().ilog2() + 1)?;
        let bits = bits.iter().map(|bit| self.bit(bit)).collect();
        Ok(self.add_column(bits, width))
    }

    /// The sum of blocks, which is below 2^width.
    pub(super) fn add_column(&self, column: Vec<Block>, width: Width) -> FheUint {
        let mut columns = self.columns(width);
        columns[0] = column;
        self.add_columns::<Unsigned>(columns, width)
    }

    /// Empty columns.
    pub(super) fn columns(&self, width: Width) -> Columns {
        vec![Vec::new(); self.block_count(width)]
    }

    /// Adds columns up. What the last one carries out is dropped.
    pub(crate) fn add_columns<S: Signedness>(&self, columns: Columns, width: Width) -> Integer<S> {
        Integer::new(self.lowered(columns, width).blocks, width)
    }

    /// Adds columns of numbers from 0 up, into digits, and says whether they overflow. What has
    /// spilled already comes to what spills here.
    pub(super) fn overflowing_columns(
        &self,
        columns: Columns,
        mut spilled: Vec<Block>,
        width: Width,
    ) -> (FheUint, FheBool) {
        let lowered = self.lowered(columns, width);
        let carried = self.carry(&lowered.blocks, &Block::clear(0), width);
        spilled.extend(lowered.spilled);
        spilled.push(carried.carry);
        let overflow = self.any_nonzero(spilled);
        (Integer::new(carried.digits, width), overflow)
    }

    fn lowered(&self, columns: Columns, width: Width) -> Lowered {
        let start = self.lookup_count();
        let room = self.block_modulus() - 1 - self.largest_carry();
        let roomy = self.lower(columns.clone(), width, |_| room);
        // What nobody carries more than 1 out of.
        let ready = self.lower(columns, width, |modulus| 2 * modulus - 2);
        if roomy.blocks == ready.blocks {
            return ready;
        }
        let cost = |lowered: &Lowered| {
            let digits = self.carry(&lowered.blocks, &Block::clear(0), width).digits;
            let levels = self.levels_since(start, &digits);
            let jobs = levels.iter().map(|&jobs| jobs * self.batch());
            jobs.map(|jobs| round_cost(jobs, self.threads()))
                .sum::<f64>()
        };
        match cost(&roomy) < cost(&ready) {
            true => roomy,
            false => ready,
        }
    }

    /// Looks groups up until the sum of each column, begun in `[0, message_modulus)`, is at
    /// most `most` of its modulus.
    fn lower(&self, mut columns: Columns, width: Width, most: impl Fn(i64) -> i64) -> Lowered {
        let mut spilled = Vec::new();
        loop {
            // Every round takes what is there at its start, so that it is one lookup deep.
            let mut next: Columns = vec![Vec::new(); columns.len()];
            let mut progress = false;
            // What the columns below have lent, to begin at 0.
            let mut lent = 0;
            for (c, column) in columns.iter_mut().enumerate() {
                let modulus = self.digit_modulus(width, c);
                column.sort_by_key(Block::span);
                loop {
                    let all = || column.iter().chain(&next[c]);
                    let low = lent + all().map(Block::low).sum::<i64>();
                    let high = all().map(|block| block.span() - 1).sum::<i64>();
                    let excess = low.rem_euclid(modulus) + high - most(modulus);
                    let quiet = || {
                        let sum = &total(column) + &total(&next[c]);
                        sum.norm_squared() < self.max_norm_squared()
                    };
                    if column.is_empty() || excess <= 0 && quiet() {
                        lent = low.div_euclid(modulus);
                        break;
                    }
                    let wait = !next[c].is_empty();
                    let Some(group) = self.take_group(column, excess, wait) else {
                        lent = low.div_euclid(modulus);
                        break;
                    };
                    // From 0 up, it carries least; what that takes off stays in the column.
                    let (group, offset) = (&group - group.low(), group.low());
                    if offset != 0 {
                        next[c].push(Block::clear(offset));
                    }
                    let (digit, carry) = self.split(&group, modulus);
                    // A block too noisy for company comes back alone.
                    let digit = match digit == group {
                        true => self.refresh(&digit),
                        false => digit,
                    };
                    next[c].push(digit);
                    if carry.clear_value() != Some(0) {
                        next.get_mut(c + 1).unwrap_or(&mut spilled).push(carry);
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
        let totals = columns.iter().map(|column| total(column)).collect();
        Lowered {
            blocks: self.brought_to_zero(totals, width),
            spilled,
        }
    }

    /// Takes blocks out of a column that is too high by `excess`, as many as fit one lookup, or
    /// as few as are enough. None if it is better to wait for what comes to the column.
    fn take_group(&self, column: &mut Vec<Block>, excess: i64, wait: bool) -> Option<Block> {
        let (modulus, digit) = (self.block_modulus(), self.message_modulus() - 1);
        let mut full = column.clone();
        let group = self.take_up_to(&mut full, modulus);
        let mut half = column.clone();
        let half_group = self.take_up_to(&mut half, modulus / 2);
        let lowers = half_group.span() - 1 - digit;
        if half_group.span() <= modulus / 2 && lowers > 0 && lowers >= excess.max(1) {
            *column = half;
            return Some(half_group);
        }
        if wait && group.span() + digit <= modulus && column.len() - full.len() < 2 + full.len() {
            return None;
        }
        *column = full;
        Some(group)
    }

    /// Takes blocks out of a column, the widest first, of `span` values in all.
    fn take_up_to(&self, column: &mut Vec<Block>, span: i64) -> Block {
        let mut group = column.pop().unwrap_or_else(|| Block::clear(0));
        let mut left = Vec::with_capacity(column.len());
        while let Some(next) = column.pop() {
            if group.span() + next.span() - 1 <= span {
                let sum = &group + &next;
                if sum.norm_squared() <= self.max_norm_squared() {
                    group = sum;
                    continue;
                }
            }
            left.push(next);
        }
        left.reverse();
        *column = left;
        group
    }

    /// The same number with every block from 0 up: whole multiples of the modulus are moved to
    /// the next block, and out of the width.
    pub(super) fn brought_to_zero(&self, mut blocks: Vec<Block>, width: Width) -> Vec<Block> {
        let mut lent = 0;
        for (i, block) in blocks.iter_mut().enumerate() {
            let modulus = self.digit_modulus(width, i);
            let low = block.low() + lent;
            let moved = low.div_euclid(modulus);
            *block = &*block + (lent - moved * modulus);
            lent = moved;
        }
        blocks
    }
}
