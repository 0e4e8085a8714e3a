//! Shifts and rotations.
//!
//! By a clear amount every bit goes to a known place: the bits of a digit that stay together are
//! the value of one lookup, and whole digits need none. By an encrypted amount the shift is done
//! for one bit of the amount after the other: lookups of a digit with that bit give the part of
//! the digit that stays and the parts that move to other digits. The parts that meet in a digit do
//! not overlap and are added.

use super::{Block, Circuit, FheBool, FheUint, Integer, IntegerError, Signedness, Width};

/// A kind of shift or rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shift {
    /// `a << amount`; 0 if the amount is at least the width.
    Left,
    /// `a >> amount`, filled with the sign of signed integers; only the fill if the amount is at
    /// least the width.
    Right,
    /// A rotation to the left by the amount mod the width.
    RotateLeft,
    /// A rotation to the right by the amount mod the width.
    RotateRight,
}

impl Shift {
    fn is_rotation(self) -> bool {
        matches!(self, Self::RotateLeft | Self::RotateRight)
    }

    /// The bit that bit `to` of the result comes from; `None` if it becomes 0.
    fn source(self, to: u32, amount: u32, width: u32, signed: bool) -> Option<u32> {
        match self {
            Self::Left => to.checked_sub(amount),
            Self::Right if amount < width - to => Some(to + amount),
            Self::Right => signed.then_some(width - 1),
            Self::RotateLeft => Some((to + width - amount % width) % width),
            Self::RotateRight => Some((to + amount % width) % width),
        }
    }
}

/// The bits that a digit gives to one digit of the result, and their place there.
struct Part {
    to: usize,
    bits: Vec<(u32, u32)>,
}

impl Part {
    fn of(&self, digit: i64) -> i64 {
        let bits = self.bits.iter();
        bits.map(|&(from, to)| (digit >> from & 1) << to).sum()
    }
}

impl Circuit {
    /// Shifts or rotates by a clear amount.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn shift_clear<S: Signedness>(
        &self,
        shift: Shift,
        a: &Integer<S>,
        amount: u32,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a])?;
        Ok(self.shifted_clear(shift, a, amount))
    }

    pub(super) fn shifted_clear<S: Signedness>(
        &self,
        shift: Shift,
        a: &Integer<S>,
        amount: u32,
    ) -> Integer<S> {
        let digits = self.digits(a, 1);
        let mut moved = vec![Block::clear(0); digits.blocks.len()];
        for (from, digit) in digits.blocks.iter().enumerate() {
            let parts = self.parts::<S>(shift, amount, a.width, from);
            let functions: Vec<_> = parts.iter().map(|part| move |x: i64| part.of(x)).collect();
            for (part, block) in parts.iter().zip(self.look_up_moved(digit, &functions)) {
                moved[part.to] += &block;
            }
        }
        self.known_digits(moved, a.width)
    }

    /// Shifts or rotates by an encrypted amount. An amount of few bits takes fewer bootstraps, so
    /// cast it to the width that it needs.
    ///
    /// # Errors
    /// If an operand belongs to another circuit.
    pub fn shift<S: Signedness>(
        &self,
        shift: Shift,
        a: &Integer<S>,
        amount: &FheUint,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a])?;
        self.check_own(&amount.blocks)?;
        let amount = self.digits(amount, 1);
        if let Some(digits) = amount.clear_digits() {
            return self.shift_clear(shift, a, self.clear_amount(shift, &digits, a.width));
        }
        let bits = self.encoding().message_bits();
        let mut digits = self.digits(a, 1);
        // The number of bits of the amounts below the width.
        let useful = u32::BITS - (a.width.0 - 1).leading_zeros();
        for place in 0..amount.width.0 {
            if place >= useful && !shift.is_rotation() {
                break;
            }
            let from = &amount.blocks[(place / bits) as usize];
            let bit = FheBool::of(from.clone(), |x| x >> (place % bits) & 1 == 1);
            let by = match shift.is_rotation() {
                true => self.power_mod(place, a.width),
                false => 1 << place,
            };
            // The rotation is a whole turn.
            if by == 0 {
                continue;
            }
            digits = self.shift_if::<S>(shift, &digits, by, &bit);
        }
        if shift.is_rotation() || amount.width.0 <= useful {
            return Ok(digits);
        }
        let high: Vec<Block> = amount
            .blocks
            .iter()
            .enumerate()
            .map(|(i, block)| {
                let below = useful.saturating_sub(i as u32 * bits).min(bits);
                match below {
                    0 => block.clone(),
                    _ => self.look_up(block, |x| x >> below),
                }
            })
            .collect();
        let beyond = self.any_nonzero(high);
        let end = self.shifted_clear(shift, a, a.width.0);
        Ok(self.choose(&beyond, &end, &digits).0)
    }

    /// A clear amount with the same effect as the amount of these digits.
    fn clear_amount(&self, shift: Shift, digits: &[i64], width: Width) -> u32 {
        let modulus = self.message_modulus() as u64;
        let width = u64::from(width.0);
        let amount = digits.iter().rev().fold(0u64, |amount, &digit| {
            let amount = amount * modulus + digit as u64;
            match shift.is_rotation() {
                true => amount % width,
                false => amount.min(width),
            }
        });
        amount as u32
    }

    /// Returns `2^place` mod the width.
    fn power_mod(&self, place: u32, width: Width) -> u32 {
        (0..place).fold(1 % width.0, |power, _| power * 2 % width.0)
    }

    /// The digits after the shift if the bit is set, else the digits unchanged.
    fn shift_if<S: Signedness>(
        &self,
        shift: Shift,
        digits: &Integer<S>,
        by: u32,
        bit: &FheBool,
    ) -> Integer<S> {
        let mut sums = vec![Block::clear(0); digits.blocks.len()];
        for (from, digit) in digits.blocks.iter().enumerate() {
            let modulus = self.digit_modulus(digits.width, from);
            let flag = self.weighted_bit(bit, modulus);
            let x = match digit.norm_squared() + flag.norm_squared() > self.max_norm_squared() {
                true => &self.refresh(digit) + &flag,
                false => digit + &flag,
            };
            let x = x.known_in(0, 2 * modulus - 1);
            let mut parts = self.parts::<S>(shift, by, digits.width, from);
            // If the bit is not set, the digit itself stays, packed with the part that moves to
            // the same place.
            let own = parts.iter().position(|part| part.to == from);
            let own = own.unwrap_or_else(|| {
                parts.push(Part {
                    to: from,
                    bits: Vec::new(),
                });
                parts.len() - 1
            });
            let functions: Vec<_> = parts
                .iter()
                .enumerate()
                .map(|(i, part)| {
                    move |x: i64| match x >= modulus {
                        true => part.of(x - modulus),
                        false if i == own => x,
                        false => 0,
                    }
                })
                .collect();
            // A function that takes the whole digit leaves nothing, so the rest needs no lookup.
            let whole = (0..parts.len()).find(|&i| {
                let part = &parts[i];
                i != own && parts[own].bits.is_empty() && (0..modulus).all(|x| part.of(x) == x)
            });
            let room = self.block_modulus() / x.span();
            let lone = digit.norm_squared() + 3 <= self.max_norm_squared() / 4;
            if let (Some(whole), true) = (whole, lone && parts.len() as i64 > room) {
                let moved = self.look_up(&x, functions[whole]);
                sums[from] += &(digit - &moved);
                sums[parts[whole].to] += &moved;
                continue;
            }
            for (part, block) in parts.iter().zip(self.look_up_moved(&x, &functions)) {
                sums[part.to] += &block;
            }
        }
        self.known_digits(sums, digits.width)
    }

    /// The parts that digit `from` gives, one for each digit that it gives bits to.
    fn parts<S: Signedness>(
        &self,
        shift: Shift,
        amount: u32,
        width: Width,
        from: usize,
    ) -> Vec<Part> {
        let bits = self.encoding().message_bits();
        let mut parts: Vec<Part> = Vec::new();
        for to in 0..width.0 {
            let Some(source) = shift.source(to, amount, width.0, S::SIGNED) else {
                continue;
            };
            if (source / bits) as usize != from {
                continue;
            }
            let (digit, moved) = ((to / bits) as usize, (source % bits, to % bits));
            match parts.last_mut().filter(|part| part.to == digit) {
                Some(part) => part.bits.push(moved),
                None => parts.push(Part {
                    to: digit,
                    bits: vec![moved],
                }),
            }
        }
        // A rotation may return to the first digit.
        parts.sort_by_key(|part| part.to);
        parts.dedup_by(|part, kept| {
            let same = part.to == kept.to;
            if same {
                kept.bits.append(&mut part.bits);
            }
            same
        });
        parts
    }

    /// Looks up the functions, equal ones once, and the identity not at all.
    pub(super) fn look_up_moved<F: Fn(i64) -> i64>(
        &self,
        x: &Block,
        functions: &[F],
    ) -> Vec<Block> {
        let values = |f: &F| (x.low()..=x.high()).map(f).collect::<Vec<i64>>();
        let mut distinct: Vec<(Vec<i64>, &F)> = Vec::new();
        let mut which = Vec::with_capacity(functions.len());
        for f in functions {
            let values = values(f);
            let known = distinct.iter().position(|(known, _)| *known == values);
            which.push(known.unwrap_or(distinct.len()));
            if known.is_none() {
                distinct.push((values, f));
            }
        }
        let is_same = |values: &[i64]| values.iter().copied().eq(x.low()..=x.high());
        let other = distinct.iter().filter(|(values, _)| !is_same(values));
        let other: Vec<&dyn Fn(i64) -> i64> = other.map(|(_, f)| *f as _).collect();
        let mut others = self.look_up_all(x, &other).into_iter();
        let blocks: Vec<Block> = distinct
            .iter()
            .map(|(values, _)| match is_same(values) {
                true => x.clone(),
                false => others.next().unwrap_or_else(|| Block::clear(0)),
            })
            .collect();
        which.iter().map(|&i| blocks[i].clone()).collect()
    }

    /// The sums as digits. The terms of a sum do not overlap.
    fn known_digits<S: Signedness>(&self, sums: Vec<Block>, width: Width) -> Integer<S> {
        let sums = sums.into_iter().enumerate();
        let digits = sums.map(|(i, sum)| sum.known_in(0, self.digit_modulus(width, i) - 1));
        Integer::new(digits.collect(), width)
    }
}
