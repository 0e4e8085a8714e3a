//! Truth values and their operators: and, or, exclusive or, not, selection, and the conjunction
//! and disjunction of many values.

use crate::circuit::{Block, Circuit};

use super::IntegerError;

/// An encrypted truth value, represented as a property of the value of a block.
///
/// The truth value gets a block of its own only when an operator needs one, in the lookup that
/// gives it the weight needed there. So the operator after a comparison takes the place of the
/// comparison's last lookup.
#[derive(Clone, Debug)]
pub struct FheBool {
    x: Block,
    /// The truth for each value of the block, from its lowest.
    truth: Vec<bool>,
}

impl FheBool {
    /// The truth of `f` for the value of `x`.
    pub(crate) fn of(x: Block, f: impl Fn(i64) -> bool) -> Self {
        let truth = (x.low()..=x.high()).map(f).collect();
        Self { x, truth }
    }

    fn holds(&self, value: i64) -> bool {
        let at = usize::try_from(value - self.x.low()).ok();
        at.and_then(|at| self.truth.get(at))
            .is_some_and(|&holds| holds)
    }

    fn is_bit(&self) -> bool {
        (self.x.low(), self.x.high()) == (0, 1) && self.truth == [false, true]
    }

    pub(super) fn is_of(&self, circuit: &Circuit) -> bool {
        self.x.is_of(circuit.id())
    }
}

impl Circuit {
    /// A clear truth value, for use as an operand.
    pub fn clear_bool(&self, bit: bool) -> FheBool {
        FheBool::of(Block::clear(i64::from(bit)), |value| value == 1)
    }

    /// Makes a truth value of a block with the values 0 (false) and 1 (true).
    ///
    /// # Errors
    /// If the block can have other values or belongs to another circuit.
    pub fn truth(&self, bit: Block) -> Result<FheBool, IntegerError> {
        self.check_own([&bit])?;
        match bit.low() >= 0 && bit.high() <= 1 {
            true => Ok(FheBool::of(bit, |value| value == 1)),
            false => Err(IntegerError::Digits),
        }
    }

    /// A stand-in for an encrypted truth value, for counting and rehearsing a circuit.
    pub fn stand_in_bool(&self, bit: bool) -> FheBool {
        FheBool::of(self.stand_in(u64::from(bit), 1), |value| value == 1)
    }

    /// Returns the block that is 1 if the truth value holds and 0 if it does not.
    pub fn bit(&self, a: &FheBool) -> Block {
        self.weighted_bit(a, 1)
    }

    /// Returns the block that is `weight` if the truth value holds and 0 if it does not.
    pub(crate) fn weighted_bit(&self, a: &FheBool, weight: i64) -> Block {
        if a.is_bit() && weight.unsigned_abs() == 1 {
            return &a.x * weight;
        }
        self.look_up(&a.x, |value| i64::from(a.holds(value)) * weight)
    }

    /// Returns `¬a`, without a bootstrap.
    pub fn not(&self, a: &FheBool) -> FheBool {
        if a.is_bit() {
            return FheBool::of(&Block::clear(1) - &a.x, |value| value == 1);
        }
        FheBool::of(a.x.clone(), |value| !a.holds(value))
    }

    /// Returns `a ∧ b`.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn and(&self, a: &FheBool, b: &FheBool) -> Result<FheBool, IntegerError> {
        self.of_sum(a, b, |ones| ones == 2)
    }

    /// Returns `a ∨ b`.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn or(&self, a: &FheBool, b: &FheBool) -> Result<FheBool, IntegerError> {
        self.of_sum(a, b, |ones| ones > 0)
    }

    /// Returns `a ⊕ b`.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn xor(&self, a: &FheBool, b: &FheBool) -> Result<FheBool, IntegerError> {
        self.of_sum(a, b, |ones| ones == 1)
    }

    fn of_sum(
        &self,
        a: &FheBool,
        b: &FheBool,
        f: impl Fn(i64) -> bool,
    ) -> Result<FheBool, IntegerError> {
        self.check_own_bools([a, b])?;
        let sum = &self.bit(a) + &self.bit(b);
        Ok(FheBool::of(sum, f))
    }

    /// Returns whether all values hold. The conjunction of no values holds.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn all<'a>(
        &self,
        bits: impl IntoIterator<Item = &'a FheBool>,
    ) -> Result<FheBool, IntegerError> {
        let bits: Vec<&FheBool> = bits.into_iter().collect();
        self.check_own_bools(bits.iter().copied())?;
        if let [one] = bits[..] {
            return Ok(one.clone());
        }
        let mut blocks: Vec<Block> = bits.iter().map(|bit| self.bit(bit)).collect();
        if blocks.is_empty() {
            return Err(IntegerError::Empty);
        }
        // Each round takes groups of as many values as fit one bootstrap, and makes one bit of
        // each group.
        let most = (self.block_modulus() - 1).min(self.max_norm_squared() as i64);
        loop {
            let groups = blocks.chunks(most as usize).map(|group| {
                let zero = Block::clear(0);
                let sum = group.iter().fold(zero, |sum, bit| &sum + bit);
                let all = group.len() as i64;
                FheBool::of(sum, move |ones| ones == all)
            });
            let mut groups: Vec<FheBool> = groups.collect();
            if groups.len() == 1 {
                return groups.pop().ok_or(IntegerError::Empty);
            }
            blocks = groups.iter().map(|group| self.bit(group)).collect();
        }
    }

    /// Returns whether at least one of the values holds.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn any<'a>(
        &self,
        bits: impl IntoIterator<Item = &'a FheBool>,
    ) -> Result<FheBool, IntegerError> {
        let none: Vec<FheBool> = bits.into_iter().map(|bit| self.not(bit)).collect();
        Ok(self.not(&self.all(&none)?))
    }

    /// Returns `a` if the condition holds, `b` if not.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn select_bool(
        &self,
        condition: &FheBool,
        a: &FheBool,
        b: &FheBool,
    ) -> Result<FheBool, IntegerError> {
        self.check_own_bools([condition, a, b])?;
        if self.block_modulus() >= 8 {
            let bits = &self.weighted_bit(a, 2) + &self.weighted_bit(b, 1);
            let x = &bits + &self.weighted_bit(condition, 4);
            let choice = |x: i64| if x >= 4 { x & 2 != 0 } else { x & 1 != 0 };
            return Ok(FheBool::of(x, choice));
        }
        let then = self.and(condition, a)?;
        let otherwise = self.and(&self.not(condition), b)?;
        let either = &self.bit(&then) + &self.bit(&otherwise);
        Ok(FheBool::of(either.known_in(0, 1), |bit| bit == 1))
    }

    /// The truth of at least one block being nonzero. The blocks must be nonnegative.
    pub(super) fn any_nonzero(&self, mut blocks: Vec<Block>) -> FheBool {
        loop {
            blocks.retain(|block| block.clear_value() != Some(0));
            let mut groups: Vec<Block> = Vec::new();
            for block in blocks {
                let last = groups.last_mut();
                match last.and_then(|group| self.together(group, &block, 0)) {
                    Some(sum) => groups.splice(groups.len() - 1.., [sum]).for_each(drop),
                    None => groups.push(block),
                }
            }
            if groups.len() <= 1 {
                let group = groups.pop().unwrap_or_else(|| Block::clear(0));
                return FheBool::of(group, |sum| sum != 0);
            }
            let bit = |group: &Block| match group.high() == 1 && group.norm_squared() == 1 {
                true => group.clone(),
                false => self.look_up(group, |sum| i64::from(sum != 0)),
            };
            blocks = groups.iter().map(bit).collect();
        }
    }

    /// For each block, the bit that tells whether this block or one before it is nonzero. The
    /// blocks must be nonnegative.
    pub(super) fn running_any(&self, blocks: &[Block]) -> Vec<Block> {
        // Each chunk has the running sums from its start, and room for one bit from the chunks
        // before it.
        let mut chunks: Vec<Vec<Block>> = Vec::new();
        for block in blocks {
            let last = chunks.last().and_then(|chunk| chunk.last());
            match last.and_then(|sum| self.together(sum, block, 1)) {
                Some(sum) => chunks.last_mut().into_iter().for_each(|chunk| {
                    chunk.push(sum.clone());
                }),
                None => chunks.push(vec![block.clone()]),
            }
        }
        let bit = |sum: &Block| self.look_up(sum, |sum| i64::from(sum != 0));
        let before = match &chunks[..] {
            [] | [_] => Vec::new(),
            [some @ .., _] => {
                let ends = some.iter().filter_map(|chunk| chunk.last());
                self.running_any(&ends.map(bit).collect::<Vec<_>>())
            }
        };
        let mut any = Vec::with_capacity(blocks.len());
        for (g, chunk) in chunks.iter().enumerate() {
            for (i, sum) in chunk.iter().enumerate() {
                any.push(match (before.get(g), g.checked_sub(1)) {
                    (Some(end), _) if i + 1 == chunk.len() => end.clone(),
                    (_, Some(last)) => bit(&(sum + &before[last])),
                    (_, None) => bit(sum),
                });
            }
        }
        any
    }

    /// The sum of two blocks, if a lookup has room for the sum and `bits` more bits.
    fn together(&self, a: &Block, b: &Block, bits: i64) -> Option<Block> {
        let sum = a + b;
        let fits = sum.span() + bits <= self.block_modulus()
            && sum.norm_squared() + bits as u64 <= self.max_norm_squared();
        fits.then_some(sum)
    }

    pub(crate) fn check_own_bools<'a>(
        &self,
        bits: impl IntoIterator<Item = &'a FheBool>,
    ) -> Result<(), IntegerError> {
        match bits.into_iter().all(|bit| bit.is_of(self)) {
            true => Ok(()),
            false => Err(IntegerError::OtherCircuit),
        }
    }
}
