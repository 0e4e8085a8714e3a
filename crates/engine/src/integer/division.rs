//! Division with remainder.
//!
//! Long division in the radix `m` of the blocks. Each step appends one digit of the dividend to
//! the remainder, compares the remainder with all multiples `1·d, …, (m - 1)·d` of the divisor at
//! once, and subtracts the largest multiple that is not above it. After `s` steps a remainder is
//! below `m^s`, so that only `s` digits take part; a divisor with higher digits is too large. One
//! lookup compares a pair of differences of digits, because every other digit is also known times
//! `m`.

use super::carry::total;
use super::{Block, Circuit, FheBool, FheUint, Integer, IntegerError, Shift, Signedness, Width};

/// The result of a division.
#[derive(Clone, Debug)]
pub struct Division<S> {
    /// The quotient `a / b`, truncated toward zero. If `b` is 0, it is all ones for unsigned
    /// numbers; for signed ones it is -1 if `a` is at least 0, and 1 otherwise. The quotient of
    /// the smallest signed number and -1 wraps to the smallest number.
    pub quotient: Integer<S>,
    /// The remainder `a - b * quotient`, with the sign of `a`. If `b` is 0, it is `a`.
    pub remainder: Integer<S>,
    /// The truth of `b` being 0.
    pub by_zero: FheBool,
}

/// A digit of a remainder or of a multiple, also multiplied by the message modulus.
#[derive(Clone)]
struct Digit {
    plain: Block,
    scaled: Block,
}

struct Divisor {
    /// The digits of `t·d` at index `t - 1`, one more than the divisor has.
    multiples: Vec<Vec<Digit>>,
    /// At index `s`, whether the divisor has a nonzero digit at place `s` or above.
    above: Vec<Block>,
    /// The number of digits of a clear divisor, in place of `above`.
    clear_len: Option<usize>,
}

impl Circuit {
    /// Returns the quotient and the remainder of `a` by `b`.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn div_rem<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Division<S>, IntegerError> {
        self.check(&[a, b])?;
        if !S::SIGNED {
            let (a, b) = (a.clone().reinterpret(), b.clone().reinterpret());
            let (quotient, remainder, by_zero) = self.divide(&a, &b);
            return Ok(Division {
                quotient: quotient.reinterpret(),
                remainder: remainder.reinterpret(),
                by_zero,
            });
        }
        let a_negative = self.sign(a);
        let negative = self.xor(&a_negative, &self.sign(b))?;
        let (quotient, remainder, by_zero) = self.divide(&self.magnitude(a), &self.magnitude(b));
        Ok(Division {
            quotient: self.negate_if(&negative, &quotient).reinterpret(),
            remainder: self.negate_if(&a_negative, &remainder).reinterpret(),
            by_zero,
        })
    }

    /// Returns the quotient of [`div_rem`](Self::div_rem).
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn div<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        Ok(self.div_rem(a, b)?.quotient)
    }

    /// Returns the remainder of [`div_rem`](Self::div_rem).
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn rem<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        Ok(self.div_rem(a, b)?.remainder)
    }

    fn divide(&self, a: &FheUint, b: &FheUint) -> (FheUint, FheUint, FheBool) {
        // A multiple has the noise of a digit times its weight.
        let (a, b) = (
            self.digits(a, 2),
            self.digits(b, self.message_modulus() as u64),
        );
        if let Some(place) = b
            .clear_digits()
            .and_then(|digits| self.place_of_one(&digits))
        {
            let low = |i: usize, digit: &Block| match place.saturating_sub(self.place_of(i)) {
                kept if kept >= self.encoding().message_bits() => digit.clone(),
                kept => self.look_up(digit, |digit| digit & ((1 << kept) - 1)),
            };
            let low = a.blocks.iter().enumerate().map(|(i, digit)| low(i, digit));
            let remainder = Integer::new(low.collect(), a.width);
            let quotient = self.shifted_clear(Shift::Right, &a, place);
            return (quotient, remainder, self.clear_bool(false));
        }
        let divisor = self.divisor(&b);
        let by_zero = FheBool::of(divisor.above[0].clone(), |above| above == 0);
        let count = a.blocks.len();
        let mut remainder: Vec<Digit> = Vec::new();
        let mut quotient = Vec::with_capacity(count);
        for s in 1..=count {
            let next = a.blocks[count - s].clone();
            // No lookup uses the scaled digit of an even place.
            let scaled = next.clone();
            remainder.insert(
                0,
                Digit {
                    plain: next,
                    scaled,
                },
            );
            let modulus = self.digit_modulus(a.width, count - s);
            let most = if s == 1 {
                modulus
            } else {
                self.message_modulus()
            };
            let (digit, left) = self.divide_step(&remainder, &divisor, most as usize - 1);
            quotient.push(digit.known_in(0, modulus - 1));
            remainder = left;
        }
        quotient.reverse();
        let mut remainder: Vec<Block> = remainder.into_iter().map(|digit| digit.plain).collect();
        // The remainder is at most the dividend.
        if let Some(top) = remainder.last_mut() {
            *top = top
                .clone()
                .known_in(0, self.digit_modulus(a.width, count - 1) - 1);
        }
        (
            Integer::new(quotient, a.width),
            Integer::new(remainder, a.width),
            by_zero,
        )
    }

    /// The place of the least significant bit of a digit.
    fn place_of(&self, i: usize) -> u32 {
        i as u32 * self.encoding().message_bits()
    }

    /// The place of the only set bit of the digits, if exactly one bit is set.
    fn place_of_one(&self, digits: &[i64]) -> Option<u32> {
        let mut set = digits.iter().enumerate().filter(|(_, digit)| **digit != 0);
        match (set.next(), set.next()) {
            (Some((i, digit)), None) if digit.count_ones() == 1 => {
                Some(self.place_of(i) + digit.trailing_zeros())
            }
            _ => None,
        }
    }

    /// One step: returns the digit of the quotient and the new remainder.
    fn divide_step(
        &self,
        remainder: &[Digit],
        divisor: &Divisor,
        most: usize,
    ) -> (Block, Vec<Digit>) {
        let modulus = self.message_modulus();
        let held: Vec<Block> = divisor.multiples[..most]
            .iter()
            .enumerate()
            .map(|(t, multiple)| {
                let sign = self.sign_of_remainder(remainder, multiple, &divisor.above, t);
                self.weighted_bit(&FheBool::of(sign, |sign| sign >= 0), modulus)
            })
            .collect();
        // The number of multiples that are not above the remainder, times the message modulus.
        let times = total(&held).known_in(0, most as i64 * modulus);
        let digit = self.look_up(&times, |times| times / modulus);
        let taken = self.taken(&times, &held, divisor, remainder.len());
        let width = Width(self.encoding().message_bits() * remainder.len() as u32);
        let blocks = remainder.iter().zip(&taken);
        let blocks = blocks.map(|(digit, taken)| &digit.plain - taken).collect();
        let blocks = self.brought_to_zero(blocks, width);
        let (digits, scaled) = self.carry_scaled(&blocks, width);
        let mut left: Vec<Digit> = digits
            .into_iter()
            .zip(scaled)
            .map(|(plain, scaled)| Digit { plain, scaled })
            .collect();
        // The new remainder is less than the divisor.
        for digit in left
            .iter_mut()
            .skip(divisor.clear_len.unwrap_or(usize::MAX))
        {
            (digit.plain, digit.scaled) = (Block::clear(0), Block::clear(0));
        }
        (digit, left)
    }

    /// The sign of the remainder minus a multiple.
    fn sign_of_remainder(
        &self,
        remainder: &[Digit],
        multiple: &[Digit],
        above: &[Block],
        t: usize,
    ) -> Block {
        let len = remainder.len();
        let pairs = remainder.chunks(2).zip(multiple.chunks(2));
        let mut terms: Vec<Block> = pairs
            .map(|(digits, of)| match (digits, of) {
                ([low, high], [d_low, d_high]) => {
                    &(&low.plain - &d_low.plain) + &(&high.scaled - &d_high.scaled)
                }
                _ => &digits[0].plain - &of[0].plain,
            })
            .collect();
        // The part of the multiple above the remainder: the higher digits of the divisor, and the
        // carry of the multiplication.
        let mut beyond = above[len].clone();
        if t > 0 {
            beyond += &multiple[len].plain;
        }
        terms.push(-&beyond);
        while terms
            .last()
            .is_some_and(|term| term.clear_value() == Some(0))
        {
            terms.pop();
        }
        self.sign_of(terms, false)
    }

    /// The blocks that a step subtracts.
    fn taken(&self, times: &Block, held: &[Block], divisor: &Divisor, len: usize) -> Vec<Block> {
        let modulus = self.message_modulus();
        let digits = |t: usize| {
            divisor.multiples[t]
                .iter()
                .take(len)
                .map(|digit| &digit.plain)
        };
        if divisor.clear_len.is_some() {
            // For a clear divisor, the digits are looked up by the number of multiples.
            let tables: Vec<Vec<i64>> = (0..len)
                .map(|i| {
                    let of = |t: usize| digits(t).nth(i).and_then(Block::clear_value).unwrap_or(0);
                    std::iter::once(0).chain((0..held.len()).map(of)).collect()
                })
                .collect();
            let function = |table: &Vec<i64>| {
                let table = table.clone();
                move |times: i64| table[(times / modulus) as usize]
            };
            let functions: Vec<_> = tables.iter().map(function).collect();
            return self.look_up_moved(times, &functions);
        }
        if held.len() <= 3 {
            // A multiple is the largest one if it is not above the remainder and the next one is.
            let none = Block::clear(0);
            let mut taken = vec![Block::clear(0); len];
            for (t, bit) in held.iter().enumerate() {
                let next = held.get(t + 1).unwrap_or(&none);
                let flag = (bit - next).known_in(0, modulus);
                for (taken, digit) in taken.iter_mut().zip(digits(t)) {
                    let x = digit + &flag;
                    *taken += &self.look_up(&x, |x| if x >= modulus { x - modulus } else { 0 });
                }
            }
            return taken
                .into_iter()
                .map(|taken| taken.known_in(0, modulus - 1))
                .collect();
        }
        // The low and high parts of the products with the digit of the quotient.
        let mut taken = vec![Block::clear(0); len];
        for (i, digit) in digits(0).enumerate() {
            let x = digit + times;
            let product = |x: i64| x % modulus * (x / modulus);
            let low = self.look_up(&x, |x| product(x) % modulus);
            let high = self.look_up(&x, |x| product(x) / modulus);
            taken[i] += &low;
            if let Some(above) = taken.get_mut(i + 1) {
                *above += &high;
            }
        }
        taken
    }

    fn divisor(&self, b: &FheUint) -> Divisor {
        let modulus = self.message_modulus();
        let count = b.blocks.len();
        let mut from_top: Vec<Block> = b.blocks.clone();
        from_top.reverse();
        let mut above = self.running_any(&from_top);
        above.reverse();
        above.push(Block::clear(0));
        let clear = b.clear_digits();
        let clear_len = clear.map(|digits| {
            let top = digits.iter().rposition(|&digit| digit != 0);
            // A divisor of 0 subtracts nothing.
            top.map_or(count, |top| top + 1)
        });
        let width = Width(self.encoding().message_bits() * (count + 1) as u32);
        let mut digits = b.blocks.clone();
        digits.push(Block::clear(0));
        let scaled = |digit: &Block| self.look_up(digit, |digit| digit * modulus);
        let multiples = (1..modulus).map(|t| {
            let products: Vec<Block> = digits.iter().map(|digit| digit * t).collect();
            let multiple = self.carry(&products, &Block::clear(0), width).digits;
            multiple
                .into_iter()
                .map(|plain| Digit {
                    scaled: scaled(&plain),
                    plain,
                })
                .collect()
        });
        Divisor {
            multiples: multiples.collect(),
            above,
            clear_len,
        }
    }
}
