//! Comparisons.
//!
//! The order of two numbers is the sign of the difference of their most significant differing
//! digits. Differences of neighbouring digits are looked up together where a block takes both, as their
//! sign times a power of two. A sum of such terms has the sign of its highest nonzero term, so that one
//! further lookup evaluates as many terms as there are bits below the padding bit. The lowest term
//! needs no lookup of its own where there are bits left for more than its sign.

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
    pub(super) fn sign_of_difference<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Block {
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
        // Of an odd number of digits the lowest is a term of its own, which may need no lookup.
        let first = terms.len() % 2;
        self.sign_of(self.merged(terms, first), false)
    }

    /// The number of signs, weighted by powers of two, whose sum a lookup can take.
    fn signs_together(&self) -> usize {
        (self.encoding().plaintext_bits() - 1) as usize
    }

    /// The number of lookups at each depth of the sign of a difference of this many digits that are fresh.
    pub(super) fn sign_levels(&self, digit_count: usize) -> Vec<usize> {
        let together = self.signs_together();
        let (mut terms, mut lowest) = match self.merges(2) {
            true => (digit_count.div_ceil(2), 1 + (digit_count + 1) % 2),
            false => (digit_count, 1),
        };
        let mut levels = Vec::new();
        while terms > 1 {
            let largest = self.message_modulus().pow(lowest as u32) - 1;
            let in_lowest = (terms - 1) % together + 1;
            let is_raw = self.takes_raw(largest, in_lowest);
            levels.push(terms - usize::from(is_raw));
            terms = terms.div_ceil(together);
            lowest = 1;
        }
        levels
    }

    /// Returns whether a lookup takes the sum of a term between `-largest` and `largest` and of `terms - 1` signs
    /// above it, with weights that exceed what is below.
    fn takes_raw(&self, largest: i64, terms: usize) -> bool {
        let signs = u32::try_from(terms - 1).unwrap_or(u32::MAX);
        let weights = 1i64
            .checked_shl(signs)
            .and_then(|w| w.checked_mul(largest + 1));
        weights.is_some_and(|weights| weights <= self.block_modulus())
    }

    /// Returns whether a lookup takes two differences of digits with this squared norm.
    fn merges(&self, norm_squared: u64) -> bool {
        let modulus = self.message_modulus();
        let norm_squared = norm_squared * (1 + modulus * modulus) as u64;
        modulus * modulus <= self.block_modulus() && norm_squared <= self.max_norm_squared()
    }

    /// A block with the sign of the highest nonzero term. The terms are given least significant
    /// first; `weighted` says that the most significant one has its weight already.
    pub(super) fn sign_of(&self, mut terms: Vec<Block>, mut weighted: bool) -> Block {
        let group_len = self.signs_together();
        while terms.len() > 1 {
            // Groups are filled from the most significant end, so that only the least significant
            // group can have room for more than the sign of a term.
            let mut groups = Vec::with_capacity(terms.len().div_ceil(group_len));
            let mut end = terms.len();
            while end > 0 {
                let start = end.saturating_sub(group_len);
                let has_top = weighted && end == terms.len();
                groups.push(self.group_of_signs(&terms[start..end], has_top));
                end = start;
            }
            groups.reverse();
            terms = groups;
            weighted = false;
        }
        terms.pop().unwrap_or_else(|| Block::clear(0))
    }

    /// A sum with the sign of the highest nonzero term of a group. `weighted` says that its most significant one has
    /// its weight already, a power of two for each term below.
    fn group_of_signs(&self, terms: &[Block], weighted: bool) -> Block {
        let Some((lowest, others)) = terms.split_first() else {
            return Block::clear(0);
        };
        let largest = lowest.high().max(-lowest.low());
        let norm_squared = lowest.norm_squared() + others.len() as u64;
        let is_raw = !(weighted && largest > 1)
            && self.takes_raw(largest, terms.len())
            && norm_squared <= self.max_norm_squared();
        let (mut sum, mut weight) = match (is_raw, others.is_empty() && weighted) {
            (false, false) => (self.look_up(lowest, i64::signum), 2),
            _ => (lowest.clone(), largest + 1),
        };
        for (place, term) in others.iter().enumerate() {
            sum += &match weighted && place + 1 == others.len() {
                true => term.clone(),
                false => self.look_up(term, |x| x.signum() * weight),
            };
            weight *= 2;
        }
        sum
    }

    /// The differences of the digits, the least significant first, with little enough noise for a
    /// lookup.
    fn digit_differences<S: Signedness>(&self, a: &Integer<S>, b: &Integer<S>) -> Vec<Block> {
        let (a, b) = (self.as_digits(a, 2), self.as_digits(b, 2));
        a.blocks.iter().zip(&b.blocks).map(|(a, b)| a - b).collect()
    }

    /// Merges pairs of neighbouring differences from number `first` on into one term each, if one lookup can take both.
    fn merged(&self, differences: Vec<Block>, first: usize) -> Vec<Block> {
        let (alone, others) = differences.split_at(first);
        let pairs = others.chunks(2).map(|pair| match pair {
            [low, high] => {
                let both = low + &(high * self.message_modulus());
                let fits = both.norm_squared() <= self.max_norm_squared()
                    && both.low() > -self.block_modulus()
                    && both.high() < self.block_modulus();
                fits.then_some(both)
            }
            _ => pair.first().cloned(),
        });
        let merged = alone.iter().cloned().map(Some).chain(pairs);
        match merged.collect::<Option<Vec<Block>>>() {
            Some(merged) => merged,
            None => differences,
        }
    }

    fn is_equal<S: Signedness>(
        &self,
        a: &Integer<S>,
        b: &Integer<S>,
    ) -> Result<FheBool, IntegerError> {
        let differences = self.merged(self.digit_differences(a, b), 0);
        let one_sided = |difference: &Block| match (difference.low(), difference.high()) {
            (0.., _) => difference.clone(),
            (_, ..=0) => -difference,
            _ => self.look_up(difference, |x| i64::from(x != 0)),
        };
        let differs = self.any_nonzero(differences.iter().map(one_sided).collect());
        Ok(self.not(&differs))
    }
}
