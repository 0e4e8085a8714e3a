//! Bitwise operators, with one lookup for each pair of digits, and functions of all bits of a
//! number: the number of set bits, their parity, leading and trailing zeros.

use super::{Block, Circuit, FheBool, FheUint, Integer, IntegerError, Signedness, Width};

/// A bitwise operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOp {
    /// `a & b`
    And,
    /// `a | b`
    Or,
    /// `a ^ b`
    Xor,
}

impl BitOp {
    fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

impl Circuit {
    /// Applies the operator to each pair of bits.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
    pub fn bitwise<S: Signedness>(
        &self,
        op: BitOp,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<Integer<S>, IntegerError> {
        self.check(&[a, b])?;
        let packed = self.encoding().message_modulus() + 1;
        let (a, b) = (self.digits(a, packed), self.digits(b, packed));
        let pairs = a.blocks.iter().zip(&b.blocks);
        let digits = pairs.map(|(a, b)| match (a.clear_value(), b.clear_value()) {
            (_, Some(b)) => self.map_linearly(a, |a| op.apply(a, b)),
            (Some(a), _) => self.map_linearly(b, |b| op.apply(a, b)),
            _ => self.look_up_pair(a, b, |a, b| op.apply(a, b)),
        });
        Ok(Integer::new(digits.collect(), a.width))
    }

    /// Applies a function to a digit, without a lookup if the function is the identity or a
    /// complement.
    fn map_linearly(&self, x: &Block, f: impl Fn(i64) -> i64) -> Block {
        let ends = x.low() + x.high();
        match (x.low()..=x.high()).all(|value| f(value) == value) {
            true => x.clone(),
            _ if (x.low()..=x.high()).all(|value| f(value) == ends - value) => {
                &Block::clear(ends) - x
            }
            _ => self.look_up(x, f),
        }
    }

    /// Returns the number of set bits.
    ///
    /// # Errors
    /// If the operand belongs to another circuit.
    pub fn count_ones<S: Signedness>(&self, a: &Integer<S>) -> Result<FheUint, IntegerError> {
        self.check(&[a])?;
        let ones = self.of_digits(a, |digit, _| i64::from(digit.count_ones()));
        Ok(self.add_column(ones, self.count_width(a)?))
    }

    /// Returns whether an odd number of bits is set.
    ///
    /// # Errors
    /// If the operand belongs to another circuit.
    pub fn parity<S: Signedness>(&self, a: &Integer<S>) -> Result<FheBool, IntegerError> {
        self.check(&[a])?;
        let mut bits = self.of_digits(a, |digit, _| i64::from(digit.count_ones() % 2));
        let most = (self.block_modulus() - 1).min(i64::from(self.parameters().max_noise_level()));
        loop {
            let sum = |group: &[Block]| super::carry::total(group);
            if bits.len() as i64 <= most {
                return Ok(FheBool::of(sum(&bits), |ones| ones % 2 == 1));
            }
            let groups = bits.chunks(most as usize);
            bits = groups
                .map(|group| self.look_up(&sum(group), |ones| ones % 2))
                .collect();
        }
    }

    /// Returns the number of bits above the most significant set bit, or the width if no bit is
    /// set.
    ///
    /// # Errors
    /// If the operand belongs to another circuit.
    pub fn leading_zeros<S: Signedness>(&self, a: &Integer<S>) -> Result<FheUint, IntegerError> {
        self.check(&[a])?;
        let zeros = |digit: i64, modulus: i64| match digit {
            0 => modulus.ilog2(),
            _ => modulus.ilog2() - 1 - digit.ilog2(),
        };
        self.zeros(a, true, zeros)
    }

    /// Returns the number of bits below the least significant set bit, or the width if no bit is
    /// set.
    ///
    /// # Errors
    /// If the operand belongs to another circuit.
    pub fn trailing_zeros<S: Signedness>(&self, a: &Integer<S>) -> Result<FheUint, IntegerError> {
        self.check(&[a])?;
        let zeros = |digit: i64, modulus: i64| digit.trailing_zeros().min(modulus.ilog2());
        self.zeros(a, false, zeros)
    }

    /// Returns the number of zeros before the first set bit, counted from either end: the sum of
    /// the zeros of each digit that has no set bit before it.
    fn zeros<S: Signedness>(
        &self,
        a: &Integer<S>,
        from_top: bool,
        zeros: impl Fn(i64, i64) -> u32,
    ) -> Result<FheUint, IntegerError> {
        let width = self.count_width(a)?;
        let digits = self.digits(a, 2).blocks;
        let mut places: Vec<usize> = (0..digits.len()).collect();
        if from_top {
            places.reverse();
        }
        let in_order: Vec<Block> = places.iter().map(|&i| digits[i].clone()).collect();
        let any = self.running_any(&in_order);
        let none = Block::clear(0);
        let counts = places.iter().enumerate().map(|(at, &i)| {
            let modulus = self.digit_modulus(a.width, i);
            let before = if at == 0 { &none } else { &any[at - 1] };
            self.look_up_pair(&digits[i], before, |digit, before| match before {
                0 => i64::from(zeros(digit, modulus)),
                _ => 0,
            })
        });
        Ok(self.add_column(counts.collect(), width))
    }

    /// Looks up a function of each digit and its modulus.
    fn of_digits<S: Signedness>(&self, a: &Integer<S>, f: impl Fn(i64, i64) -> i64) -> Vec<Block> {
        let digits = self.digits(a, 1).blocks;
        let each = digits.iter().enumerate().map(|(i, digit)| {
            let modulus = self.digit_modulus(a.width, i);
            self.map_linearly(digit, |digit| f(digit, modulus))
        });
        each.collect()
    }

    /// The width of the number of bits of an integer.
    fn count_width<S: Signedness>(&self, a: &Integer<S>) -> Result<Width, IntegerError> {
        Width::new(a.width.0.ilog2() + 1)
    }
}
