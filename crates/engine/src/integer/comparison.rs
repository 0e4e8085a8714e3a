//! Comparisons.
//!
//! The order of two numbers is the sign of the difference of their most significant differing
//! digits. The difference of each pair of digits is looked up as its sign times a power of two. A
//! sum of such terms has the sign of its highest nonzero term, so that one further lookup
//! evaluates as many digits as there are bits below the padding bit.

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
    /// Compares clear values.
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
    /// Returns whether the comparison of `a` with `b` holds.
    ///
    /// # Errors
    /// If the operands have different widths or belong to another circuit.
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
            // The sign bit has a negative weight.
            terms[last] = -&terms[last];
        } else if S::SIGNED {
            // With their sign bits flipped, two's complement numbers have the order of unsigned
            // numbers.
            let (a, b) = (self.as_digits(a, 2), self.as_digits(b, 2));
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

    /// The number of signs, weighted by powers of two, whose sum a lookup can take.
    fn signs_together(&self) -> usize {
        (self.encoding().plaintext_bits() - 1) as usize
    }

    /// The number of lookups at each depth of the sign of a difference of this many digits.
    pub(super) fn sign_levels(&self, digit_count: usize) -> Vec<usize> {
        let mut levels = vec![digit_count];
        let mut terms = digit_count.div_ceil(self.signs_together());
        while terms > 1 {
            levels.push(terms);
            terms = terms.div_ceil(self.signs_together());
        }
        levels
    }

    /// A block with the sign of the highest nonzero term. The terms are given least significant
    /// first; `weighted` says that the most significant one has its weight already.
    pub(super) fn sign_of(&self, mut terms: Vec<Block>, mut weighted: bool) -> Block {
        let group_len = self.signs_together();
        while terms.len() > 1 {
            // Groups are filled from the most significant end, so that only the least significant
            // group can consist of one term, which needs its sign only.
            let mut groups = Vec::with_capacity(terms.len().div_ceil(group_len));
            let mut end = terms.len();
            while end > 0 {
                let start = end.saturating_sub(group_len);
                let places = terms[start..end].iter().enumerate();
                let sum = places.fold(Block::clear(0), |mut sum, (place, term)| {
                    // A term that is a sign already and has little enough noise for its weight
                    // needs no lookup.
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

    /// The differences of the digits, the least significant first, with little enough noise for a
    /// lookup.
    fn digit_differences<S: Signedness>(&self, a: &Integer<S>, b: &Integer<S>) -> Vec<Block> {
        let (a, b) = (self.as_digits(a, 2), self.as_digits(b, 2));
        a.blocks.iter().zip(&b.blocks).map(|(a, b)| a - b).collect()
    }

    /// Merges pairs of neighbouring differences into one term each, if one lookup can take both.
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
