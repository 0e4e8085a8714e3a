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
        let last = terms.len() - 1;
        let half = self.digit_modulus(a.width, last) / 2;
        if S::SIGNED && half == 1 {
            // Sign bits are the other way round.
            terms[last] = -&terms[last];
        } else if S::SIGNED {
            // Two's complement numbers with the sign bits flipped are in the order of
            // unsigned ones.
            let (a, b) = (self.digits(a, 2), self.digits(b, 2));
            let (a, b) = (&a.blocks[last], &b.blocks[last]);
            let order = |a: i64, b: i64| (a ^ half).cmp(&(b ^ half)) as i64;
            if let Some(b) = b.clear_value() {
                terms[last] = self.look_up(a, |a| (a ^ half) - (b ^ half));
            } else if let Some(a) = a.clear_value() {
                terms[last] = self.look_up(b, |b| (a ^ half) - (b ^ half));
            } else {
                let place = terms.len().min(self.signs_together()) - 1;
                terms[last] = self.look_up_pair(a, b, |a, b| order(a, b) << place);
                return self.sign_of(terms, true);
            }
        }
        self.sign_of(self.merged(terms), false)
    }

    /// How many signs, weighted by powers of two, have a sum that a lookup takes.
    fn signs_together(&self) -> usize {
        (self.encoding().plaintext_bits() - 1) as usize
    }

    /// A block with the sign of the highest of these terms that is not 0, least significant
    /// first. The most significant one may have its weight already.
    pub(super) fn sign_of(&self, mut terms: Vec<Block>, mut weighted: bool) -> Block {
        let group_len = self.signs_together();
        while terms.len() > 1 {
            // Groups are full from the most significant end, so that a group of one, which
            // needs no more than its sign, can only be the least significant.
            let mut groups = Vec::with_capacity(terms.len().div_ceil(group_len));
            let mut end = terms.len();
            while end > 0 {
                let start = end.saturating_sub(group_len);
                let places = terms[start..end].iter().enumerate();
                let sum = places.fold(Block::clear(0), |mut sum, (place, term)| {
                    // A sign, quiet enough for its weight, needs no lookup.
                    let is_sign = term.low() >= -1 && term.high() <= 1;
                    let is_sign = is_sign && term.norm_squared() <= 1 && place == 0;
                    let is_weighted = weighted && start + place + 1 == terms.len();
                    sum += &match is_sign || is_weighted {
                        true => term.clone(),
                        false => self.look_up(term, |x| x.signum() << place),
                    };
                    sum
                });
                groups.push(sum);
                end = start;
            }
            groups.reverse();
            terms = groups;
            weighted = false;
        }
        terms.pop().unwrap_or_else(|| Block::clear(0))
    }

    /// The differences of the digits, least significant first, quiet enough for a lookup.
    fn digit_differences<S: Signedness>(&self, a: &Integer<S>, b: &Integer<S>) -> Vec<Block> {
        let (a, b) = (self.digits(a, 2), self.digits(b, 2));
        a.blocks.iter().zip(&b.blocks).map(|(a, b)| a - b).collect()
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
        let one_sided = |difference: &Block| match (difference.low(), difference.high()) {
            (0.., _) => difference.clone(),
            (_, ..=0) => -difference,
            _ => self.look_up(difference, |x| i64::from(x != 0)),
        };
        let differs = self.any_nonzero(differences.iter().map(one_sided).collect());
        Ok(self.not(&differs))
    }
}
