//! Propagation of carries, until every block is a digit.
//!
//! *Sequentially*: block by block, where one bootstrap gives both the digit and the carry of a
//! block if the block leaves room for two functions. It takes as few bootstraps as there are
//! blocks, one after the other.
//!
//! *In logarithmic depth*: the state of a block is whether it generates a carry (2), propagates
//! one (1), or neither (0). Let `P = 2^K` be the number of values below the padding bit. The sum
//! of `K` states weighted by powers of two and of the incoming carry is below `2P`, and its top
//! bit is the outgoing carry. The same sum gives the state of the group, and groups are the blocks
//! of the next level: a Hillis–Steele scan with groups of `K` instead of 2. It takes about two and
//! a half bootstraps per block.
//!
//! [`Circuit::propagate`] takes the form that a model of the rounds of bootstraps predicts to be
//! faster, for the number of operators that run side by side and the number of threads.

use super::{Block, Circuit, Integer, IntegerError, Signedness, Width};
use crate::circuit::Repeated;

/// Digits, and the carry out of the most significant one.
pub(super) struct Carried {
    pub(super) digits: Vec<Block>,
    pub(super) carry: Block,
}

/// The form in which carries are propagated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarryForm {
    /// Carries go from block to block.
    Sequential,
    /// Carries go by a tree of states.
    Logarithmic,
}

impl Circuit {
    /// Returns the same number with every block a digit, in the faster form.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn propagate<S: Signedness>(&self, a: &Integer<S>) -> Result<Integer<S>, IntegerError> {
        self.check(&[a])?;
        Ok(self.propagate_unchecked(a))
    }

    /// Does the same as [`propagate`](Self::propagate) in the given form.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn propagate_by<S: Signedness>(
        &self,
        form: CarryForm,
        a: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a])?;
        let carried = self.carry_by(form, &a.blocks, &Block::clear(0), a.width);
        Ok(Integer::new(carried.digits, a.width))
    }

    pub(crate) fn propagate_unchecked<S: Signedness>(&self, a: &Integer<S>) -> Integer<S> {
        if self.are_digits(a) {
            return a.clone();
        }
        let digits = self.repeated(Repeated::Digits(a.width), &[&a.blocks], || {
            self.carry(&a.blocks, &Block::clear(0), a.width).digits
        });
        Integer::new(digits, a.width)
    }

    /// The digits of blocks [with room](Self::have_room), and the carry out of the width.
    /// `carry_in` must be 0 or 1.
    pub(super) fn carry(&self, blocks: &[Block], carry_in: &Block, width: Width) -> Carried {
        if let (Some(clear @ 1..), [first, others @ ..]) = (carry_in.clear_value(), blocks) {
            let blocks = [&[first + clear], others].concat();
            return self.carry(&blocks, &Block::clear(0), width);
        }
        let start = self.lookup_count();
        let sequential = self.carry_by(CarryForm::Sequential, blocks, carry_in, width);
        if self.is_busy() {
            return sequential;
        }
        let logarithmic = self.carry_by(CarryForm::Logarithmic, blocks, carry_in, width);
        let cost = |carried: &Carried| self.time_since(start, &carried.digits, self.batch());
        match cost(&logarithmic) < cost(&sequential) {
            true => logarithmic,
            false => sequential,
        }
    }

    fn carry_by(
        &self,
        form: CarryForm,
        blocks: &[Block],
        carry_in: &Block,
        width: Width,
    ) -> Carried {
        match form {
            CarryForm::Sequential => self.carry_sequentially(blocks, carry_in, width),
            CarryForm::Logarithmic => self.carry_by_states(blocks, carry_in, width, None),
        }
    }

    pub(super) fn is_digit(&self, block: &Block, modulus: i64) -> bool {
        block.low() >= 0 && block.high() < modulus
    }

    fn carry_sequentially(&self, blocks: &[Block], carry_in: &Block, width: Width) -> Carried {
        let mut carry = carry_in.clone();
        let mut digits = Vec::with_capacity(blocks.len());
        for (i, block) in blocks.iter().enumerate() {
            let (digit, out) = self.split(&(block + &carry), self.digit_modulus(width, i));
            digits.push(digit);
            carry = out;
        }
        Carried { digits, carry }
    }

    /// Splits a block into its digit and its carry.
    pub(super) fn split(&self, block: &Block, modulus: i64) -> (Block, Block) {
        if self.is_digit(block, modulus) {
            return (block.clone(), Block::clear(0));
        }
        let mut split = self.look_up_all(
            block,
            &[&|x| x.rem_euclid(modulus), &|x| x.div_euclid(modulus)],
        );
        let carry = split.pop().unwrap_or_else(|| Block::clear(0));
        let digit = split.pop().unwrap_or_else(|| Block::clear(0));
        (digit, carry)
    }

    /// The digits by a tree of states, and the digits times the message modulus.
    pub(super) fn carry_scaled(&self, blocks: &[Block], width: Width) -> (Vec<Block>, Vec<Block>) {
        let mut scaled = Vec::with_capacity(blocks.len());
        let carried = self.carry_by_states(blocks, &Block::clear(0), width, Some(&mut scaled));
        (carried.digits, scaled)
    }

    /// Propagates carries by a tree of states. If a list is given, the digits times the message
    /// modulus are appended to it.
    fn carry_by_states(
        &self,
        blocks: &[Block],
        carry_in: &Block,
        width: Width,
        mut scaled: Option<&mut Vec<Block>>,
    ) -> Carried {
        let mut last = |x: &Block, digit: &dyn Fn(i64) -> i64| match scaled.as_mut() {
            Some(scaled) => {
                let times = |x: i64| digit(x) * self.message_modulus();
                let mut both = self.look_up_all(x, &[digit, &times]);
                scaled.extend(both.pop());
                both.pop().unwrap_or_else(|| Block::clear(0))
            }
            None => self.look_up(x, digit),
        };
        let group_len = self.group_len();
        let modulus_of = |i: usize| self.digit_modulus(width, i);
        let (blocks, overflow) = self.with_carries_of_one(blocks, carry_in, width);
        // Each block gives its digit, scaled for its last lookup, and its state, scaled for its
        // place in its group.
        let pairing = Pairing::new(self);
        let mut digits = Vec::with_capacity(blocks.len());
        let mut states = Vec::with_capacity(blocks.len());
        for (i, block) in blocks.iter().enumerate() {
            let (place, modulus) = (i % group_len, modulus_of(i));
            let scale = pairing.digit_scale(place);
            let state = |x: i64| (1 + (x - (modulus - 1)).signum()) << place;
            let both: [&dyn Fn(i64) -> i64; 2] = [&|x| x % modulus * scale, &state];
            let is_digit = self.is_digit(block, modulus) && scale == 1;
            let mut outputs = match is_digit && block.norm_squared() <= self.max_norm_squared() / 2
            {
                true => vec![block.clone(), self.look_up(block, state)],
                false => self.look_up_all(block, &both),
            };
            states.extend(outputs.pop());
            digits.extend(outputs.pop());
        }
        let carries = self.carries(carry_in, &states);
        let carry_into = |i: usize| match i {
            0 => carry_in,
            _ => &carries[i - 1],
        };
        let mut done = Vec::with_capacity(blocks.len());
        // The carry into the previous block, weighted by its place.
        let mut below = Block::clear(0);
        for (i, digit) in digits.iter().enumerate() {
            let (place, modulus) = (i % group_len, modulus_of(i));
            let first = i - place;
            done.push(match pairing.of(place) {
                // The state of the block below and the carry into that block give this block's
                // carry.
                Some(Pair::DigitAbove) => {
                    let x = &(digit + &states[first]) + carry_into(first);
                    last(&x, &|x| (x / 4 + i64::from(x % 4 >= 2)) % modulus)
                }
                Some(Pair::DigitBelow) => {
                    let weight = 1 << (place - 1);
                    let x = &(digit + &states[i - 1]) + &below;
                    last(&x, &|x| (x % weight + i64::from(x / weight >= 2)) % modulus)
                }
                None => {
                    let mut carry = carry_into(i).clone();
                    if matches!(pairing.of(place + 1), Some(Pair::DigitBelow)) {
                        let end = 1 << place;
                        let sum = &total(&states[first..i]) + carry_into(first);
                        let carried = |x: i64| i64::from(x >= end);
                        let mut both = self.look_up_all(&sum, &[&carried, &|x| carried(x) * end]);
                        below = both.pop().unwrap_or(below);
                        carry = both.pop().unwrap_or(carry);
                    }
                    match carry.clear_value() {
                        Some(0) => {
                            last(&blocks[i], &|x| x % modulus);
                            digit.clone()
                        }
                        _ => last(&(digit + &carry), &|x| x % modulus),
                    }
                }
            });
        }
        Carried {
            digits: done,
            carry: carries.last().unwrap_or(carry_in) + &overflow,
        }
    }

    /// The number of states of a group: their weighted sum plus a carry is below twice the block
    /// modulus.
    fn group_len(&self) -> usize {
        (self.encoding().plaintext_bits() - 1) as usize
    }

    /// The blocks, reduced so that no block carries more than 1 whatever comes in, and the carry
    /// of this reduction out of the width.
    fn with_carries_of_one(
        &self,
        blocks: &[Block],
        carry_in: &Block,
        width: Width,
    ) -> (Vec<Block>, Block) {
        let mut carry = Block::clear(0);
        let each = |(i, block): (usize, &Block)| {
            let modulus = self.digit_modulus(width, i);
            let sum = block + &carry;
            // No carry comes into the first block.
            let most = 2 * modulus - 2 + i64::from(i == 0 && carry_in.clear_value() == Some(0));
            if block.low() >= 0 && sum.high() <= most {
                carry = Block::clear(0);
                return sum;
            }
            let (digit, out) = self.split(block, modulus);
            let sum = &digit + &carry;
            // A most significant block of few bits may need a second reduction.
            let (sum, more) = match sum.high() <= 2 * modulus - 2 {
                true => (sum, Block::clear(0)),
                false => self.split(&sum, modulus),
            };
            carry = &out + &more;
            sum
        };
        let small = blocks.iter().enumerate().map(each).collect();
        (small, carry)
    }

    /// The carry after each state, for states with the weights `2^(i mod K)` and the incoming
    /// carry `carry_in`.
    fn carries(&self, carry_in: &Block, states: &[Block]) -> Vec<Block> {
        let group_len = self.group_len();
        let groups: Vec<&[Block]> = states.chunks(group_len).collect();
        let (first, others) = match groups[..] {
            [] => return Vec::new(),
            [first, ref others @ ..] => (first, others),
        };
        let after = |carry: &Block, states: &[Block]| {
            let end = 1 << states.len();
            self.look_up(&(carry + &total(states)), |x| i64::from(x >= end))
        };
        let mut into_groups = vec![carry_in.clone()];
        if let [inner @ .., _] = others {
            let carry = after(carry_in, first);
            let states = inner.iter().enumerate().map(|(g, states)| {
                let all = (1 << states.len()) - 1;
                let place = g % group_len;
                self.look_up(&total(states), |x| (1 + (x - all).signum()) << place)
            });
            let states: Vec<Block> = states.collect();
            let carries = self.carries(&carry, &states);
            into_groups.push(carry);
            into_groups.extend(carries);
        }
        let mut carries = Vec::with_capacity(states.len());
        for (g, (states, carry)) in groups.iter().zip(&into_groups).enumerate() {
            for len in 1..=states.len() {
                carries.push(match into_groups.get(g + 1) {
                    Some(next) if len == states.len() => next.clone(),
                    _ => after(carry, &states[..len]),
                });
            }
        }
        carries
    }
}

/// The sum of all blocks.
pub(super) fn total(blocks: &[Block]) -> Block {
    blocks
        .iter()
        .fold(Block::clear(0), |sum, block| &sum + block)
}

/// The way in which the last lookup of a block at an odd place of its group gets its carry.
#[derive(Clone, Copy)]
enum Pair {
    /// The carry comes from the state of the block below and the carry into that block, packed
    /// below the digit times 4.
    DigitAbove,
    /// The carry comes from the same two values, weighted by the place of the block below and
    /// packed above the digit.
    DigitBelow,
}

/// The places of a group that need no carry of their own.
struct Pairing {
    message_modulus: i64,
    block_modulus: i64,
}

impl Pairing {
    fn new(circuit: &Circuit) -> Self {
        Self {
            message_modulus: circuit.message_modulus(),
            block_modulus: circuit.block_modulus(),
        }
    }

    fn of(&self, place: usize) -> Option<Pair> {
        let weight = 1 << place.saturating_sub(1);
        match place % 2 {
            0 => None,
            _ if place == 1 => {
                (4 * self.message_modulus <= self.block_modulus).then_some(Pair::DigitAbove)
            }
            _ => (weight >= self.message_modulus && 4 * weight <= self.block_modulus)
                .then_some(Pair::DigitBelow),
        }
    }

    fn digit_scale(&self, place: usize) -> i64 {
        match self.of(place) {
            Some(Pair::DigitAbove) => 4,
            _ => 1,
        }
    }
}
