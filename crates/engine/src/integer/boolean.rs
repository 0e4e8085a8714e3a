//! Truth values: and, or, exclusive or, not, and the and of many.

use crate::circuit::{Block, Circuit};

use super::IntegerError;

/// An encrypted truth value: a property of a block's value.
///
/// It becomes a block of its own only where one is needed, with the weight that is needed
/// there: what follows a comparison starts where its last lookup would have ended.
#[derive(Clone, Debug)]
pub struct FheBool {
    x: Block,
    /// Whether it holds, for each value from the block's lowest.
    truth: Vec<bool>,
}

impl FheBool {
    /// Whether `f` holds for the value of `x`.
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
    /// A truth value that is no secret, to take part in computations.
    pub fn clear_bool(&self, bit: bool) -> FheBool {
        FheBool::of(Block::clear(i64::from(bit)), |value| value == 1)
    }

    /// The truth value that holds where a block, whose values are 0 and 1, is 1.
    ///
    /// # Errors
    /// A block of other values or of another circuit.
    pub fn truth(&self, bit: Block) -> Result<FheBool, IntegerError> {
        self.check_own([&bit])?;
        match bit.low() >= 0 && bit.high() <= 1 {
            true => Ok(FheBool::of(bit, |value| value == 1)),
            false => Err(IntegerError::Digits),
        }
    }

    /// A stand-in for an encrypted truth value: for counting and rehearsing.
    pub fn stand_in_bool(&self, bit: bool) -> FheBool {
        FheBool::of(self.stand_in(u64::from(bit), 1), |value| value == 1)
    }

    /// The block that is 1 where it holds, and 0 where it does not.
    pub fn bit(&self, a: &FheBool) -> Block {
        self.weighted_bit(a, 1)
    }

    /// The block that is `weight` where it holds, and 0 where it does not.
    pub(crate) fn weighted_bit(&self, a: &FheBool, weight: i64) -> Block {
        if a.is_bit() && weight.unsigned_abs() == 1 {
            return &a.x * weight;
        }
        self.look_up(&a.x, |value| i64::from(a.holds(value)) * weight)
    }

    /// `¬a`. No bootstrap.
    pub fn not(&self, a: &FheBool) -> FheBool {
        if a.is_bit() {
            return FheBool::of(&Block::clear(1) - &a.x, |value| value == 1);
        }
        FheBool::of(a.x.clone(), |value| !a.holds(value))
    }

    /// `a ∧ b`.
    pub fn and(&self, a: &FheBool, b: &FheBool) -> Result<FheBool, IntegerError> {
        self.of_sum(a, b, |ones| ones == 2)
    }

    /// `a ∨ b`.
    pub fn or(&self, a: &FheBool, b: &FheBool) -> Result<FheBool, IntegerError> {
        self.of_sum(a, b, |ones| ones > 0)
    }

    /// `a ⊕ b`.
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

    /// Whether all of them hold.
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
        // As many at a time as fit one bootstrap, each a bit of the next round.
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

    /// Whether any of them holds.
    pub fn any<'a>(
        &self,
        bits: impl IntoIterator<Item = &'a FheBool>,
    ) -> Result<FheBool, IntegerError> {
        let none: Vec<FheBool> = bits.into_iter().map(|bit| self.not(bit)).collect();
        Ok(self.not(&self.all(&none)?))
    }

    /// `condition ? a : b`.
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

    /// Whether any of some blocks from 0 up is not 0.
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

    /// For each of some blocks from 0 up, the bit whether it or one before it is not 0.
    pub(super) fn running_any(&self, blocks: &[Block]) -> Vec<Block> {
        // Sums from the start of each chunk; a chunk has room for a bit of those before.
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

    /// The sum of blocks, if a lookup has room for it and for some bits more.
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
