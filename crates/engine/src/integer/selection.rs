//! Selection, minimum and maximum.
//!
//! A choice between two digits is `b + c·(a - b)`. Where a block has room for
//! `(a - b) + (2m - 1)·c`, which tells both factors, the product comes out of one lookup;
//! and the same product gives minimum and maximum together, as `a - c·(a - b)` and
//! `b + c·(a - b)`. Where it has not, `c·a` and `¬c·b` take one each.

use super::{Block, Circuit, Comparison, FheBool, Integer, IntegerError, Signedness};

impl Circuit {
    /// `condition ? a : b`.
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

    /// The smaller one.
    pub fn min<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        Ok(self.min_max(a, b)?.0)
    }

    /// The larger one.
    pub fn max<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        Ok(self.min_max(a, b)?.1)
    }

    /// The smaller one and the larger one, for the price of one of them at most parameters.
    pub fn min_max<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<(Integer<S>, Integer<S>), IntegerError> {
        let a_is_larger = self.compare(Comparison::Gt, a, b)?;
        let (max, min) = self.choose(&a_is_larger, a, b);
        Ok((min, max))
    }

    /// The smallest and the largest of a list, in a tournament.
    pub fn min_max_of<S: Signedness>(
        &self,
        list: &[Integer<S>],
    ) -> Result<(Integer<S>, Integer<S>), IntegerError> {
        // The first round serves both ends; from then on losers and winners go on apart. An
        // odd one out takes part in both.
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

    /// One of a list, by rounds of pairs.
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

    /// What the condition chooses, and what it does not, as digits.
    pub(super) fn choose<S: Signedness>(
        &self,
        condition: &FheBool,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> (Integer<S>, Integer<S>) {
        let (a, b) = (self.digits(a, 2), self.digits(b, 2));
        let both = a.blocks.iter().zip(&b.blocks);
        let chosen = both.map(|(a, b)| self.choose_block(condition, a, b));
        let (chosen, other) = chosen.unzip();
        (Integer::new(chosen, a.width), Integer::new(other, a.width))
    }

    fn choose_block(&self, condition: &FheBool, a: &Block, b: &Block) -> (Block, Block) {
        let low = a.low().min(b.low());
        let high = a.high().max(b.high());
        let difference = a - b;
        if let Some(difference) = difference.clear_value() {
            let product = self.weighted_bit(condition, difference);
            let chosen = (b + &product).known_in(low, high);
            return (chosen, (a - &product).known_in(low, high));
        }
        let span = difference.span();
        let x = |weight| &difference + &self.weighted_bit(condition, weight);
        if 2 * span <= self.block_modulus() {
            let (x, start) = (x(span), difference.low());
            let product = self.look_up(&x, |x| if x >= start + span { x - span } else { 0 });
            let chosen = (b + &product).known_in(low, high);
            return (chosen, (a - &product).known_in(low, high));
        }
        let bit = self.bit(condition);
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
