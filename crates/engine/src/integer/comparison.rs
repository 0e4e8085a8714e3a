//! Comparisons.
//!
//! The order of two numbers is the sign of their most significant differing digits. Each
//! difference of digits is looked up to its sign times a power of two; a sum of such signs
//! has the sign of its highest nonzero term, so one more lookup decides as many digits at
//! once as there are bits below the padding.

use super::{Block, Circuit, FheBool, Integer, IntegerError, Signedness};

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
}

impl Comparison {
    /// The comparison of clear numbers.
    pub fn apply<V: PartialOrd>(self, a: V, b: V) -> bool {
        match self {
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
            Self::Eq => a == b,
            Self::Ne => a != b,
        }
    }
}

impl Circuit {
    /// Whether a comparison holds.
    pub fn compare<S: Signedness>(
        &self,
        comparison: Comparison,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<FheBool, IntegerError> {
        self.check(&[a, b])?;
        Ok(match comparison {
            Comparison::Eq => self.is_equal(a, b)?,
            Comparison::Ne => self.not(&self.is_equal(a, b)?),
            _ => {
                let sign = self.sign_of_difference(a, b);
                FheBool::of(sign, |sign| comparison.apply(sign, 0))
            }
        })
    }

    /// A block with the sign of `a - b`.
    fn sign_of_difference<S: Signedness>(&self, a: &Integer<S>, b: &Integer<S>) -> Block {
        let mut terms = self.digit_differences(a, b);
        if S::SIGNED {
            // Two's complement numbers with the sign bits flipped are in the order of
            // unsigned ones: the other way round in the sign bit's half of a digit.
            self.flip_sign_bits(a, b, &mut terms);
        }
        let group_len = (self.encoding().plaintext_bits() - 1) as usize;
        let mut terms = self.merged(terms);
        // Whether a term is a sign already, at place 0.
        let mut signs = vec![false; terms.len()];
        while terms.len() > 1 {
            // Groups are full from the most significant end, so that a group of one, which
            // needs no more than its sign, can only be the least significant.
            let mut groups = Vec::with_capacity(terms.len().div_ceil(group_len));
            let mut alone = Vec::with_capacity(groups.capacity());
            let mut end = terms.len();
            while end > 0 {
                let start = end.saturating_sub(group_len);
                let mut sum = Block::clear(0);
                for (place, term) in terms[start..end].iter().enumerate() {
                    match signs[start + place] && place == 0 {
                        true => sum += term,
                        false => sum += &self.look_up(term, |x| x.signum() << place),
                    }
                }
                groups.push(sum);
                alone.push(end - start == 1);
                end = start;
            }
            groups.reverse();
            alone.reverse();
            (terms, signs) = (groups, alone);
        }
        terms.pop().unwrap_or_else(|| Block::clear(0))
    }

    /// The differences of the digits, least significant first, quiet enough for a lookup.
    fn digit_differences<S: Signedness>(&self, a: &Integer<S>, b: &Integer<S>) -> Vec<Block> {
        let (a, b) = (self.digits(a, 2), self.digits(b, 2));
        a.blocks.iter().zip(&b.blocks).map(|(a, b)| a - b).collect()
    }

    fn flip_sign_bits<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
        differences: &mut [Block],
    ) {
        let half = self.digit_modulus(a.width, differences.len() - 1) / 2;
        let flipped = |integer: &Integer<S>| {
            let digits = self.digits(integer, 1);
            let top = digits.blocks.last().cloned();
            top.map(|top| self.look_up(&top, |digit| digit ^ half))
        };
        if let (Some(top), Some(a), Some(b)) = (differences.last_mut(), flipped(a), flipped(b)) {
            *top = &a - &b;
        }
    }

    /// Terms in place of pairs of neighbours, where one lookup takes both: half as many.
    fn merged(&self, differences: Vec<Block>) -> Vec<Block> {
        let pairs = differences.chunks(2).map(|pair| match pair {
            [low, high] => {
                let both = low + &(high * self.message_modulus());
                let fits = both.norm_squared() <= self.max_norm_squared()
                    && both.low() > -self.block_modulus()
                    && both.high() < self.block_modulus();
                fits.then_some(both)
            }
            _ => pair.first().cloned(),
        });
        match pairs.collect::<Option<Vec<Block>>>() {
            Some(merged) => merged,
            None => differences,
        }
    }

    fn is_equal<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<FheBool, IntegerError> {
        let differences = self.merged(self.digit_differences(a, b));
        let bits: Vec<FheBool> = differences
            .into_iter()
            .map(|difference| FheBool::of(difference, |x| x == 0))
            .collect();
        self.all(&bits)
    }
}
