//! Selection, minimum and maximum.
//!
//! A choice between two digits is `b + c·(a - b)`. If a block has room for `(a - b) + (2m - 1)·c`,
//! which determines both factors, one lookup gives the product `c·(a - b)`. The same product gives
//! the minimum and the maximum together, as `a - c·(a - b)` and `b + c·(a - b)`. If a block does
//! not have the room, `c·a` and `¬c·b` take one lookup each.
//!
//! Where many pairs are compared side by side, the digits of a pair are compared one after the other, the most
//! significant first: one lookup a digit, of the sign found so far and the difference. The most significant digits of
//! the minimum and the maximum come from the first of these lookups, too, so that `k` digits take `2·k - 1` bootstraps.

use super::{Block, Circuit, FheBool, Integer, IntegerError, Signedness};
use crate::circuit::{Repeated, round_cost};

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
        let extremes = Repeated::Extremes {
            width: a.width,
            signed: S::SIGNED,
        };
        let mut min = self.repeated(extremes, &[&a.blocks, &b.blocks], || {
            let (min, max) = self.min_max_unchecked(a, b);
            [min.blocks, max.blocks].concat()
        });
        let max = min.split_off(a.blocks.len());
        Ok((Integer::new(min, a.width), Integer::new(max, a.width)))
    }

    fn min_max_unchecked<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> (Integer<S>, Integer<S>) {
        // Both parts need digits, which are found once.
        let (a, b) = (self.as_digits(a, 2), self.as_digits(b, 2));
        if !S::SIGNED && self.is_faster_in_sequence(a.blocks.len()) {
            return self.min_max_in_sequence(&a, &b);
        }
        let sign = self.sign_of_difference(&a, &b);
        let a_is_larger = FheBool::of(sign, |sign| sign > 0);
        let (max, min) = self.choose_digits(&a_is_larger, &a, &b);
        (min, max)
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

    /// Returns whether the minimum and the maximum of two unsigned numbers of `digit_count` digits come sooner if their
    /// digits are compared one after the other.
    fn is_faster_in_sequence(&self, digit_count: usize) -> bool {
        let [in_sequence, at_once] = self.times_of_min_max(digit_count, self.batch());
        in_sequence < at_once
    }

    /// The times in which `pairs` pairs of unsigned numbers of `digit_count` digits have their minimum and maximum: by digits one
    /// after the other, and by all digits at once.
    fn times_of_min_max(&self, digit_count: usize, pairs: usize) -> [f64; 2] {
        let time = |levels: &[usize]| -> f64 {
            let rounds = levels.iter().map(|jobs| jobs * pairs);
            rounds.map(|jobs| round_cost(jobs, self.threads())).sum()
        };
        let mut in_sequence = vec![1; digit_count];
        in_sequence.push(digit_count.saturating_sub(1));
        // The first lookup has two functions of a difference of digits.
        if 2 * (2 * self.message_modulus() - 1) > self.block_modulus()
            && let Some(first) = in_sequence.first_mut()
        {
            *first = 2;
        }
        // Signs of all digits, then signs of groups of them, the weighted bit, and the products.
        let mut at_once = self.sign_levels(digit_count);
        at_once.extend([1, digit_count]);
        [time(&in_sequence), time(&at_once)]
    }

    /// The time in which the minimum or the maximum of `count` unsigned numbers of `digit_count` digits is found.
    pub(crate) fn time_of_extreme(&self, count: usize, digit_count: usize) -> f64 {
        let mut left = count;
        let mut time = 0.0;
        while left > 1 {
            let [in_sequence, at_once] = self.times_of_min_max(digit_count, left / 2);
            time += in_sequence.min(at_once);
            left = left.div_ceil(2);
        }
        time
    }

    /// The smaller and the larger of two unsigned numbers in digits whose differences a lookup can take.
    fn min_max_in_sequence<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> (Integer<S>, Integer<S>) {
        // A sign of this weight exceeds every difference of digits.
        let weight = self.message_modulus();
        let sign = |x: i64| weight * x.signum();
        let both = a.blocks.iter().zip(&b.blocks);
        let differences: Vec<Block> = both.map(|(a, b)| a - b).collect();
        // Lower digits of which everybody knows the differences need no lookup.
        let known = differences.iter().map_while(Block::clear_value);
        let known: Vec<i64> = known.collect();
        let of_known = known.iter().rfind(|&&x| x != 0).map_or(0, |x| x.signum());
        let mut found: Option<Found> = None;
        for (at, difference) in differences.iter().enumerate().skip(known.len()).rev() {
            found = Some(match found {
                None => {
                    let functions: [&dyn Fn(i64) -> i64; 2] = [&|x| x.max(0), &sign];
                    let mut outputs = self.look_up_all(difference, &functions).into_iter();
                    let mut next = || outputs.next().unwrap_or_else(|| Block::clear(0));
                    Found {
                        top: next(),
                        sign: next(),
                    }
                }
                Some(Found { top, sign: above }) => {
                    let together = &above + difference;
                    let sign = match at == known.len() {
                        true => together,
                        false => self.look_up(&together, sign),
                    };
                    Found { top, sign }
                }
            });
        }
        let Some(Found { top, sign }) = found else {
            // Everybody knows which number is larger.
            let (a, b) = (a.clone(), b.clone());
            return if of_known > 0 { (b, a) } else { (a, b) };
        };
        let mut condition = WeightedBits {
            circuit: self,
            bit: &FheBool::of(sign, |sign| sign > 0 || sign == 0 && of_known > 0),
            known: Vec::new(),
        };
        let last = a.blocks.len() - 1;
        let both = a.blocks.iter().zip(&b.blocks).enumerate();
        let chosen = both.map(|(at, (a, b))| match at == last {
            true => with_product(&top, a, b),
            false => self.choose_block(&mut condition, a, b),
        });
        let (max, min) = chosen.unzip();
        (Integer::new(min, a.width), Integer::new(max, a.width))
    }

    /// Reduces a list to one element, by rounds of pairs, whose operators are recorded side by side.
    pub(crate) fn tournament<V: Clone>(
        &self,
        mut list: Vec<V>,
        winner: impl Fn(&Self, &V, &V) -> Result<V, IntegerError>,
    ) -> Result<V, IntegerError> {
        while list.len() > 1 {
            let _round = self.batch_of(list.len() / 2);
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
        let difference = a - b;
        if let Some(difference) = difference.clear_value() {
            return with_product(condition.of(difference), a, b);
        }
        let span = difference.span();
        if 2 * span <= self.block_modulus() {
            let start = difference.low();
            let x = &difference + condition.of(span);
            let product = self.look_up(&x, |x| if x >= start + span { x - span } else { 0 });
            return with_product(&product, a, b);
        }
        let (low, high) = range_of_both(a, b);
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

/// What is known after some digits of two numbers, the most significant first.
struct Found {
    /// The amount by which the most significant digit of the first number exceeds that of the second, or 0.
    top: Block,
    /// The sign of the difference of the digits so far, with a weight.
    sign: Block,
}

/// The smallest and the largest value that one of two blocks can have.
fn range_of_both(a: &Block, b: &Block) -> (i64, i64) {
    (a.low().min(b.low()), a.high().max(b.high()))
}

/// The digit that a condition chooses and the other one, from the product of the condition and their difference.
fn with_product(product: &Block, a: &Block, b: &Block) -> (Block, Block) {
    let (low, high) = range_of_both(a, b);
    let chosen = (b + product).known_in(low, high);
    (chosen, (a - product).known_in(low, high))
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
