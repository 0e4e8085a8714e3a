//! Selection, minimum and maximum.
//!
//! A choice between two digits is `b + c·(a - b)`. If a block has room for `(a - b) + (2m - 1)·c`,
//! which determines both factors, one lookup gives the product `c·(a - b)`. The same product gives
//! the minimum and the maximum together, as `a - c·(a - b)` and `b + c·(a - b)`. If a block does
//! not have the room, `c·a` and `¬c·b` take one lookup each.

use super::{Block, Circuit, Comparison, FheBool, Integer, IntegerError, Signedness};

impl Circuit {
    /// Returns `a` if the condition holds, `b` if not, as digits.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn select<S: Signedness>(
        &self,
        condition: &FheBool,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a, b])?;
        self.check_own_bools([condition])?;
        Ok(self.choose(condition, a, b).0)
    }

    /// Returns the smaller of two integers.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn min<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        Ok(self.min_max(a, b)?.0)
    }

    /// Returns the larger of two integers.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn max<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        Ok(self.min_max(a, b)?.1)
    }

    /// Returns the smaller and the larger of two integers, under most parameter sets at the price
    /// of one of them.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn min_max<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, Integer<S>), IntegerError> {
        self.check(&[a, b])?;
        // Both parts need digits, which are found once.
        let (a, b) = (self.as_digits(a, 2), self.as_digits(b, 2));
        let a_is_larger = self.compare(Comparison::Gt, &a, &b)?;
        let (max, min) = self.choose_digits(&a_is_larger, &a, &b);
        Ok((min, max))
    }

    /// Returns the smallest and the largest integer of a list, by a tournament.
    ///
    /// # Errors
    /// If the list is empty, or the integers have different widths or belong to another circuit.
    pub fn min_max_of<S: Signedness>(
        &self,
        list: &[Integer<S>],
    ) -> Result<(Integer<S>, Integer<S>), IntegerError> {
        // The first round serves both results; after it the smaller and the larger integers have
        // tournaments of their own. An integer without an opponent takes part in both.
        let mut smaller = Vec::with_capacity(list.len().div_ceil(2));
        let mut larger = Vec::with_capacity(list.len().div_ceil(2));
        for pair in list.chunks(2) {
            let (min, max) = match pair {
                [a, b] => self.min_max(a, b)?,
                _ => (pair[0].clone(), pair[0].clone()),
            };
            smaller.push(min);
            larger.push(max);
        }
        Ok((
            self.tournament(smaller, Self::min)?,
            self.tournament(larger, Self::max)?,
        ))
    }

    /// Reduces a list to one element, by rounds of pairs.
    pub(crate) fn tournament<V: Clone>(
        &self,
        mut list: Vec<V>,
        winner: impl Fn(&Self, &V, &V) -> Result<V, IntegerError>,
    ) -> Result<V, IntegerError> {
        while list.len() > 1 {
            let round = list.chunks(2).map(|pair| match pair {
                [a, b] => winner(self, a, b),
                _ => Ok(pair[0].clone()),
            });
            list = round.collect::<Result<_, _>>()?;
        }
        list.pop().ok_or(IntegerError::Empty)
    }

    /// The integer that the condition chooses and the other one, as digits.
    pub(super) fn choose<S: Signedness>(
        &self,
        condition: &FheBool,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> (Integer<S>, Integer<S>) {
        self.choose_digits(condition, &self.as_digits(a, 2), &self.as_digits(b, 2))
    }

    /// Does the same as [`choose`](Self::choose) between digits whose differences a lookup can
    /// take.
    fn choose_digits<S: Signedness>(
        &self,
        condition: &FheBool,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> (Integer<S>, Integer<S>) {
        let mut condition = WeightedBits {
            circuit: self,
            bit: condition,
            known: Vec::new(),
        };
        let both = a.blocks.iter().zip(&b.blocks);
        let chosen = both.map(|(a, b)| self.choose_block(&mut condition, a, b));
        let (chosen, other) = chosen.unzip();
        (Integer::new(chosen, a.width), Integer::new(other, a.width))
    }

    fn choose_block(
        &self,
        condition: &mut WeightedBits<'_>,
        a: &Block,
        b: &Block,
    ) -> (Block, Block) {
        let low = a.low().min(b.low());
        let high = a.high().max(b.high());
        let difference = a - b;
        if let Some(difference) = difference.clear_value() {
            let product = condition.of(difference);
            let chosen = (b + product).known_in(low, high);
            return (chosen, (a - product).known_in(low, high));
        }
        let span = difference.span();
        if 2 * span <= self.block_modulus() {
            let start = difference.low();
            let x = &difference + condition.of(span);
            let product = self.look_up(&x, |x| if x >= start + span { x - span } else { 0 });
            let chosen = (b + &product).known_in(low, high);
            return (chosen, (a - &product).known_in(low, high));
        }
        let bit = condition.of(1).clone();
        let of = |digit: &Block, when: i64| {
            self.look_up_pair(
                digit,
                &bit,
                |digit, bit| if bit == when { digit } else { 0 },
            )
        };
        let choice = |when: i64| (&of(a, when) + &of(b, 1 - when)).known_in(low, high);
        (choice(1), choice(0))
    }
}

/// The blocks that are a weight if a truth value holds and 0 if it does not, each recorded once.
struct WeightedBits<'b> {
    circuit: &'b Circuit,
    bit: &'b FheBool,
    known: Vec<(i64, Block)>,
}

impl WeightedBits<'_> {
    fn of(&mut self, weight: i64) -> &Block {
        let known = self.known.iter().position(|&(known, _)| known == weight);
        let at = known.unwrap_or_else(|| {
            let block = self.circuit.weighted_bit(self.bit, weight);
            self.known.push((weight, block));
            self.known.len() - 1
        });
        &self.known[at].1
    }
}
