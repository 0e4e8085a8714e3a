//! Sums of many integers, by carry-save addition in columns until the rest of each column fits a
//! block.
//!
//! A lookup of a group of blocks gives a digit and a carry into the next column. If a group spans
//! at most half of the values below the padding bit, one bootstrap gives both, otherwise two. Full
//! groups save more per bootstrap; half groups are for the rest. Columns are lowered either until
//! they fit a lazy integer, or until none carries more than 1, whichever gives digits sooner.
//!
//! Long columns come first if the circuit has forms of [sums of lookup results](Circuit::with_sums): full groups are looked up
//! as they are, and the results are added up at a scale that has room for many.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Block, Circuit, FheBool, FheUint, Integer, IntegerError, Signedness, Unsigned, Width};
use crate::circuit::{Addend, Lowering};

/// The length of columns whose groups are added up at a scale of their own.
const LONG_COLUMN: usize = 48;

/// The number of bits that a sum of `count` numbers has more than the widest of them.
pub fn carry_bits(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// The blocks that add up at each power of the message modulus.
pub(crate) type Columns = Vec<Vec<Block>>;

/// The blocks of a column while groups of them are looked up.
#[derive(Default)]
struct Pile {
    /// Blocks that are not clear by their spans, each list in the order in which they came.
    by_span: BTreeMap<i64, Vec<Block>>,
    /// The sum of the clear blocks.
    clear: i64,
    /// The number of clear blocks.
    clear_len: usize,
    /// The number of all blocks.
    len: usize,
    /// The smallest value of the sum.
    low: i64,
    /// The largest value of the sum less the smallest.
    high: i64,
}

/// Blocks of a [`Pile`] for one lookup.
struct Group {
    sum: Block,
    /// The span of each block and its place in the list of that span, the last place first.
    places: Vec<(i64, usize)>,
    /// The number of blocks, clear ones included.
    len: usize,
    /// Whether the clear blocks are in it.
    clear: bool,
    /// Whether a block was left out because the sum would be too noisy.
    noisy: bool,
}

impl Pile {
    fn new(blocks: Vec<Block>) -> Self {
        let mut pile = Self::default();
        for block in blocks {
            pile.push(block);
        }
        pile
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn push(&mut self, block: Block) {
        self.len += 1;
        self.low += block.low();
        self.high += block.span() - 1;
        match block.clear_value() {
            Some(value) => {
                self.clear += value;
                self.clear_len += 1;
            }
            None => self.by_span.entry(block.span()).or_default().push(block),
        }
    }

    fn extend(&mut self, other: Self) {
        self.clear += other.clear;
        self.clear_len += other.clear_len;
        self.len += other.len;
        self.low += other.low;
        self.high += other.high;
        for (span, blocks) in other.by_span {
            self.by_span.entry(span).or_default().extend(blocks);
        }
    }

    /// Takes a group out and returns its sum.
    fn remove(&mut self, group: Group) -> Block {
        for (span, at) in group.places {
            if let Entry::Occupied(mut blocks) = self.by_span.entry(span) {
                let block = blocks.get_mut().remove(at);
                self.low -= block.low();
                self.high -= block.span() - 1;
                if blocks.get().is_empty() {
                    blocks.remove();
                }
            }
        }
        if group.clear {
            self.low -= self.clear;
            (self.clear, self.clear_len) = (0, 0);
        }
        self.len -= group.len;
        group.sum
    }

    fn total(&self) -> Block {
        let blocks = self.by_span.values().flatten();
        blocks.fold(Block::clear(self.clear), |sum, block| &sum + block)
    }
}

/// The intervals and the noise of the blocks of columns, on which the cheaper lowering depends; `None` of many blocks, whose columns
/// are few.
fn shape_of(columns: &[Vec<Block>], width: Width) -> Option<Box<[i64]>> {
    const MOST: usize = 256;
    let count: usize = columns.iter().map(Vec::len).sum();
    if count > MOST {
        return None;
    }
    let mut shape = Vec::with_capacity(1 + columns.len() + 3 * count);
    shape.push(width.bits().into());
    for column in columns {
        shape.push(column.len() as i64);
        for block in column {
            shape.extend([block.low(), block.high(), block.norm_squared() as i64]);
        }
    }
    Some(shape.into())
}

/// The rest of columns after lowering.
struct Lowered {
    blocks: Vec<Block>,
    /// Carries out of the width.
    spilled: Vec<Block>,
}

impl Circuit {
    /// Returns the sum of many integers, in the width that it needs.
    ///
    /// # Errors
    /// If the list is empty, or the integers have different widths or belong to another circuit.
    pub fn sum<S: Signedness>(&self, integers: &[Integer<S>]) -> Result<Integer<S>, IntegerError> {
        self.sum_of(&integers.iter().collect::<Vec<_>>())
    }

    /// Does the same as [`sum`](Self::sum) for integers of different lists.
    pub(crate) fn sum_of<S: Signedness>(
        &self,
        integers: &[&Integer<S>],
    ) -> Result<Integer<S>, IntegerError> {
        let widest = integers.iter().map(|integer| integer.width.0).max();
        let widest = widest.ok_or(IntegerError::Empty)?;
        let width = Width::new(widest + carry_bits(integers.len()))?;
        let weights = vec![1; integers.len()];
        self.weighted_sum(integers, &weights, width)
    }

    /// Returns the number of truth values that hold.
    ///
    /// # Errors
    /// If a truth value belongs to another circuit.
    pub fn count(&self, bits: &[FheBool]) -> Result<FheUint, IntegerError> {
        if bits.is_empty() {
            return Err(IntegerError::Empty);
        }
        self.check_own_bools(bits)?;
        let width = Width::new(bits.len().ilog2() + 1)?;
        let bits = bits.iter().map(|bit| self.bit(bit)).collect();
        Ok(self.add_column(bits, width))
    }

    /// The sum of blocks, which must be below 2^width.
    pub(crate) fn add_column(&self, column: Vec<Block>, width: Width) -> FheUint {
        let mut columns = self.columns(width);
        columns[0] = column;
        self.add_columns::<Unsigned>(columns, width)
    }

    /// Empty columns.
    pub(super) fn columns(&self, width: Width) -> Columns {
        vec![Vec::new(); self.block_count(width)]
    }

    /// Adds the columns. The carry of the last one is dropped.
    pub(crate) fn add_columns<S: Signedness>(&self, columns: Columns, width: Width) -> Integer<S> {
        Integer::new(self.lowered(columns, width).blocks, width)
    }

    /// Adds columns of nonnegative numbers into digits, and tells whether the sum overflows the
    /// width. `spilled` holds blocks beyond the width already.
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
        let (columns, mut spilled) = self.shortened(columns);
        let mut lowered = self.lowered_in_blocks(columns, width);
        lowered.spilled.append(&mut spilled);
        lowered
    }

    /// Adds up long columns by groups, so that digits of the sums of groups are left of them. The second list has digits
    /// beyond the last column.
    fn shortened(&self, mut columns: Columns) -> (Columns, Vec<Block>) {
        let mut spilled = Vec::new();
        loop {
            // A round takes only blocks that exist at its start, and leaves fewer of them.
            let shorter = |column: &mut Vec<Block>| {
                let is_long = column.len() >= LONG_COLUMN;
                let sums = is_long.then(|| self.sums_of_groups(column))??;
                let left: usize = sums.iter().map(Vec::len).sum();
                (left < column.len()).then(|| column.clear())?;
                Some(sums)
            };
            let sums: Vec<Option<Vec<Vec<Block>>>> = columns.iter_mut().map(shorter).collect();
            if sums.iter().all(Option::is_none) {
                return (columns, spilled);
            }
            for (at, sums) in sums.into_iter().enumerate() {
                let sums = sums.into_iter().flatten();
                for (digit, place) in sums.flat_map(|sum| sum.into_iter().zip(at..)) {
                    match columns.get_mut(place) {
                        Some(column) => column.push(digit),
                        None => spilled.push(digit),
                    }
                }
            }
        }
    }

    /// Adds up the blocks of a column by groups. Returns the digits of the sum of each, the least significant first;
    /// `None` if the circuit has no form of such sums.
    pub(crate) fn sums_of_groups(&self, column: &[Block]) -> Option<Vec<Vec<Block>>> {
        let mut pile = Pile::new(column.to_vec());
        let mut groups = Vec::new();
        let mut offset = 0;
        while !pile.by_span.is_empty() {
            let group = self.pick(&pile, self.block_modulus());
            let block = pile.remove(group);
            offset += block.low();
            groups.push(Addend {
                block: &block - block.low(),
                function: &|x| x,
            });
        }
        let mut sums = self.digits_of_sums(&groups)?;
        sums.push(vec![Block::clear(offset + pile.clear)]);
        Some(sums)
    }

    fn lowered_in_blocks(&self, columns: Columns, width: Width) -> Lowered {
        // Operators that run side by side are alike, so that the first one finds the form of all.
        let shape = self.is_busy().then(|| shape_of(&columns, width)).flatten();
        let known = shape
            .as_deref()
            .and_then(|shape| self.known_lowering(shape));
        if let Some(known) = known {
            return self.lowered_by(known, columns, width);
        }
        let start = self.lookup_count();
        let roomy = self.lowered_by(Lowering::Roomy, columns.clone(), width);
        let ready = self.lowered_by(Lowering::Ready, columns, width);
        let cost = |lowered: &Lowered| {
            let digits = self.carry(&lowered.blocks, &Block::clear(0), width).digits;
            self.time_since(start, &digits, self.batch())
        };
        let is_roomy = roomy.blocks != ready.blocks && cost(&roomy) < cost(&ready);
        let (form, lowered) = match is_roomy {
            true => (Lowering::Roomy, roomy),
            false => (Lowering::Ready, ready),
        };
        if let Some(shape) = shape {
            self.keep_lowering(shape, form);
        }
        lowered
    }

    fn lowered_by(&self, form: Lowering, columns: Columns, width: Width) -> Lowered {
        match form {
            Lowering::Roomy => {
                let room = self.block_modulus() - 1 - self.largest_carry();
                self.lower(columns, width, |_| room)
            }
            Lowering::Ready => self.lower(columns, width, |modulus| 2 * modulus - 2),
        }
    }

    /// The sums of columns that need no lookup: each, which starts in `[0, message_modulus)`, is at most `most` of its modulus and
    /// has little enough noise. `None` if one does not.
    fn totals_of_low(
        &self,
        columns: &[Vec<Block>],
        width: Width,
        most: impl Fn(i64) -> i64,
    ) -> Option<Vec<Block>> {
        let mut lent = 0;
        let totals = columns.iter().enumerate().map(|(c, column)| {
            let modulus = self.digit_modulus(width, c);
            let low = column.iter().fold(lent, |low, block| low + block.low());
            let high: i64 = column.iter().map(|block| block.span() - 1).sum();
            lent = low.div_euclid(modulus);
            let [first, others @ ..] = &column[..] else {
                return Some(Block::clear(0));
            };
            if low.rem_euclid(modulus) + high > most(modulus) {
                return None;
            }
            let mut total = first.clone();
            for block in others {
                total += block;
            }
            (total.norm_squared() < self.max_norm_squared()).then_some(total)
        });
        totals.collect()
    }

    /// Looks up groups until the sum of each column, which starts in `[0, message_modulus)`, is at
    /// most `most` of its modulus.
    fn lower(&self, columns: Columns, width: Width, most: impl Fn(i64) -> i64) -> Lowered {
        let mut spilled = Vec::new();
        if let Some(totals) = self.totals_of_low(&columns, width, &most) {
            let blocks = self.brought_to_zero(totals, width);
            return Lowered { blocks, spilled };
        }
        let mut piles: Vec<Pile> = columns.into_iter().map(Pile::new).collect();
        loop {
            // A round takes only blocks that exist at its start, so that it is one lookup deep.
            let mut next: Vec<Pile> = piles.iter().map(|_| Pile::default()).collect();
            let mut progress = false;
            // The amount that the columns below have lent, so that they begin at 0.
            let mut lent = 0;
            for (c, pile) in piles.iter_mut().enumerate() {
                let modulus = self.digit_modulus(width, c);
                loop {
                    let low = lent + pile.low + next[c].low;
                    let high = pile.high + next[c].high;
                    let excess = low.rem_euclid(modulus) + high - most(modulus);
                    let quiet = || {
                        let sum = &pile.total() + &next[c].total();
                        sum.norm_squared() < self.max_norm_squared()
                    };
                    if pile.is_empty() || excess <= 0 && quiet() {
                        lent = low.div_euclid(modulus);
                        break;
                    }
                    let wait = !next[c].is_empty();
                    let Some(group) = self.take_group(pile, excess, wait) else {
                        lent = low.div_euclid(modulus);
                        break;
                    };
                    // A group that starts at 0 has the smallest carry; the offset stays in the
                    // column.
                    let (group, offset) = (&group - group.low(), group.low());
                    if offset != 0 {
                        next[c].push(Block::clear(offset));
                    }
                    let (digit, carry) = self.split(&group, modulus);
                    // A block that is too noisy for a group comes back alone.
                    let digit = match digit == group {
                        true => self.refresh(&digit),
                        false => digit,
                    };
                    next[c].push(digit);
                    if carry.clear_value() != Some(0) {
                        match next.get_mut(c + 1) {
                            Some(above) => above.push(carry),
                            None => spilled.push(carry),
                        }
                    }
                    progress = true;
                }
            }
            if !progress {
                break;
            }
            for (pile, more) in piles.iter_mut().zip(next) {
                pile.extend(more);
            }
        }
        let totals = piles.iter().map(Pile::total).collect();
        Lowered {
            blocks: self.brought_to_zero(totals, width),
            spilled,
        }
    }

    /// Takes blocks out of a column that is too high by `excess`: as many as fit one lookup, or as
    /// few as are enough. `None` if it is better to wait for further blocks of the column.
    fn take_group(&self, pile: &mut Pile, excess: i64, wait: bool) -> Option<Block> {
        let (modulus, digit) = (self.block_modulus(), self.message_modulus() - 1);
        // Half a group lowers a column by at most this much.
        if excess < modulus / 2 - digit {
            let half = self.pick(pile, modulus / 2);
            let lowers = half.sum.span() - 1 - digit;
            if half.sum.span() <= modulus / 2 && lowers > 0 && lowers >= excess.max(1) {
                return Some(pile.remove(half));
            }
        }
        let full = self.pick(pile, modulus);
        let left = pile.len - full.len;
        // Further blocks do not fill a group that is full of noise.
        if wait && !full.noisy && full.sum.span() + digit <= modulus && full.len < 2 + left {
            return None;
        }
        Some(pile.remove(full))
    }

    /// Finds blocks of a column with `span` values together, the widest first.
    fn pick(&self, pile: &Pile, span: i64) -> Group {
        /// The number of blocks of one span that may be too noisy for the group before the others
        /// of that span are skipped, so that the time to find a group does not grow with the
        /// column.
        const MOST_MISSES: usize = 64;
        let max_norm_squared = self.max_norm_squared();
        let mut group: Option<Group> = None;
        for (&own_span, blocks) in pile.by_span.iter().rev() {
            let mut misses = 0;
            for (at, block) in blocks.iter().enumerate().rev() {
                let Some(group) = &mut group else {
                    group = Some(Group {
                        sum: block.clone(),
                        places: vec![(own_span, at)],
                        len: 1,
                        clear: false,
                        noisy: false,
                    });
                    continue;
                };
                if group.sum.span() + own_span - 1 > span || misses == MOST_MISSES {
                    break;
                }
                let sum = &group.sum + block;
                match sum.norm_squared() <= max_norm_squared {
                    true => {
                        group.sum = sum;
                        group.places.push((own_span, at));
                        group.len += 1;
                    }
                    false => {
                        misses += 1;
                        group.noisy = true;
                    }
                }
            }
        }
        let mut group = group.unwrap_or_else(|| Group {
            sum: Block::clear(0),
            places: Vec::new(),
            len: 0,
            clear: false,
            noisy: false,
        });
        // Clear blocks have no noise and one value.
        if group.sum.span() <= span && group.sum.norm_squared() <= max_norm_squared {
            group.sum = &group.sum + pile.clear;
            group.len += pile.clear_len;
            group.clear = true;
        }
        group
    }

    /// The same number with every block nonnegative: whole multiples of the modulus are moved to
    /// the next block, and out of the width.
    pub(super) fn brought_to_zero(&self, mut blocks: Vec<Block>, width: Width) -> Vec<Block> {
        let mut lent = 0;
        for (i, block) in blocks.iter_mut().enumerate() {
            let modulus = self.digit_modulus(width, i);
            let low = block.low() + lent;
            let moved = low.div_euclid(modulus);
            let more = lent - moved * modulus;
            if more != 0 {
                *block = &*block + more;
            }
            lent = moved;
        }
        blocks
    }
}
