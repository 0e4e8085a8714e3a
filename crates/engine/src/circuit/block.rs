//! Linear combinations of the inputs and the lookups of a circuit.

use std::cmp::Ordering;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use super::short_list::ShortList;

/// The source of the ciphertext of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Input(u32),
    /// The number of a bootstrap done before the circuit, and of the input that is an output of it.
    Bootstrapped(u32, u32),
    /// The number of a lookup, and the index of its function.
    Lookup(u32, u8),
}

/// The source of an error: terms of different origins have independent errors.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Origin {
    Inputs,
    EarlierBootstrap(u32),
    Lookup(u32),
}

impl Source {
    /// A number by which sources are in order: inputs, outputs of earlier bootstraps, and lookups, each by their numbers. One comparison
    /// of these is faster than those of kinds and fields.
    fn rank(self) -> u128 {
        let (kind, first, second) = match self {
            Self::Input(at) => (0, 0, at),
            Self::Bootstrapped(bootstrap, at) => (1, bootstrap, at),
            Self::Lookup(at, output) => (2, at, u32::from(output)),
        };
        kind << 64 | u128::from(first) << 32 | u128::from(second)
    }
}

impl Ord for Source {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Default for Source {
    fn default() -> Self {
        Self::Input(0)
    }
}

impl Source {
    pub(super) fn origin(self) -> Origin {
        match self {
            Self::Input(_) => Origin::Inputs,
            Self::Bootstrapped(bootstrap, _) => Origin::EarlierBootstrap(bootstrap),
            Self::Lookup(at, _) => Origin::Lookup(at),
        }
    }

    /// The number of the lookup, if it is one.
    pub(super) fn lookup(self) -> Option<usize> {
        match self {
            Self::Input(_) | Self::Bootstrapped(..) => None,
            Self::Lookup(at, _) => Some(at as usize),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) source: Source,
    pub(super) weight: i32,
    /// The number of ciphertexts that an input is the sum of; 1 for a lookup.
    pub(super) level: u32,
}

/// The terms of a block. Few blocks that operators keep have more than three.
type Terms = ShortList<Term, 3>;

/// A linear combination of ciphertexts plus a clear constant, with the interval that its value
/// lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The terms, in the order of their sources, without duplicates and without weights of 0.
    pub(super) terms: Terms,
    pub(super) constant: i64,
    low: i64,
    high: i64,
    /// The circuit of the sources; `None` if there are no terms.
    circuit: Option<NonZeroU64>,
}

impl Block {
    /// Returns a block of a clear number, without terms.
    pub fn clear(value: i64) -> Self {
        Self {
            terms: Terms::default(),
            constant: value,
            low: value,
            high: value,
            circuit: None,
        }
    }

    pub(super) fn of_source(circuit: NonZeroU64, source: Source, low: i64, high: i64) -> Self {
        Self {
            terms: Terms::from_iter([Term {
                source,
                weight: 1,
                level: 1,
            }]),
            constant: 0,
            low,
            high,
            circuit: Some(circuit),
        }
    }

    /// Returns the block with the noise level of its terms set to `level`.
    pub(super) fn of_level(mut self, level: u32) -> Self {
        for term in self.terms.iter_mut() {
            term.level = level;
        }
        self
    }

    /// Returns whether the block can be used in the circuit of this id.
    pub(crate) fn is_of(&self, circuit: NonZeroU64) -> bool {
        self.circuit.is_none_or(|own| own == circuit)
    }

    /// The smallest value that the block can have.
    pub fn low(&self) -> i64 {
        self.low
    }

    /// The largest value that the block can have.
    pub fn high(&self) -> i64 {
        self.high
    }

    /// The number of values from the smallest to the largest.
    pub fn span(&self) -> i64 {
        self.high - self.low + 1
    }

    /// The variance of the noise in units of that of a bootstrap output or an upload: a bound of
    /// the squared 2-norm of the weights that takes correlated errors into account. See the
    /// [module](super).
    pub fn norm_squared(&self) -> u64 {
        let of_term = |t: &Term| u64::from(t.weight.unsigned_abs()) * u64::from(t.level);
        // Most blocks have one term.
        if let [term] = &*self.terms {
            return of_term(term).pow(2);
        }
        let same_origin = |a: &Term, b: &Term| a.source.origin() == b.source.origin();
        let origins = self.terms.chunk_by(same_origin);
        let level = |terms: &[Term]| terms.iter().map(of_term).sum::<u64>();
        origins.map(|terms| level(terms).pow(2)).sum()
    }

    /// The value, if the block has no terms and is thus not secret.
    pub fn clear_value(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The sources and weights of the terms.
    pub(super) fn terms(&self) -> impl Iterator<Item = (Source, i64)> {
        let terms = self.terms.iter();
        terms.map(|term| (term.source, term.weight.into()))
    }

    /// The lookups among the sources.
    pub(super) fn lookups(&self) -> impl Iterator<Item = usize> {
        self.terms.iter().filter_map(|term| term.source.lookup())
    }

    /// Returns the same combination of other sources, which must be as different and as correlated as those of the block;
    /// `None` if there is none for a source.
    pub(super) fn of_sources(&self, of: impl Fn(Source) -> Option<Source>) -> Option<Self> {
        let mut block = self.clone();
        for term in block.terms.iter_mut() {
            term.source = of(term.source)?;
        }
        sort(&mut block.terms);
        Some(block)
    }

    /// Returns the block with a smaller interval, which the operator knows although the terms do
    /// not show it.
    #[must_use]
    pub fn known_in(mut self, low: i64, high: i64) -> Self {
        if !self.terms.is_empty() {
            self.low = self.low.max(low);
            self.high = self.high.min(high);
        }
        self
    }

    fn add_scaled(&mut self, other: &Self, factor: i64) {
        if factor == 0 {
            return;
        }
        assert!(
            self.circuit.is_none() || other.circuit.is_none() || self.circuit == other.circuit,
            "blocks of two circuits"
        );
        self.circuit = self.circuit.or(other.circuit);
        self.add_terms(&other.terms, factor);
        self.constant += other.constant * factor;
        let ends = (other.low * factor, other.high * factor);
        self.low += ends.0.min(ends.1);
        self.high += ends.0.max(ends.1);
        if self.terms.is_empty() {
            (self.low, self.high) = (self.constant, self.constant);
        }
    }
}

impl Block {
    /// Merges scaled terms with those of the block.
    fn add_terms(&mut self, theirs: &[Term], factor: i64) {
        let scaled = |term: &Term| Term {
            weight: weight(i64::from(term.weight).saturating_mul(factor)),
            ..*term
        };
        let Some(first) = theirs.first() else {
            return;
        };
        let last = self.terms.last();
        if last.is_none_or(|last| last.source < first.source) {
            self.terms.extend(theirs.iter().map(scaled));
            return;
        }
        let ours = std::mem::take(&mut self.terms);
        let mut theirs = theirs.iter().peekable();
        for &(mut term) in ours.iter() {
            while let Some(next) = theirs.next_if(|next| next.source < term.source) {
                self.terms.push(scaled(next));
            }
            if let Some(same) = theirs.next_if(|next| next.source == term.source) {
                let theirs = scaled(same).weight;
                term.weight = weight(i64::from(term.weight) + i64::from(theirs));
            }
            if term.weight != 0 {
                self.terms.push(term);
            }
        }
        self.terms.extend(theirs.map(scaled));
    }
}

/// Puts terms in the order of their sources, in which they usually are.
pub(super) fn sort(terms: &mut [Term]) {
    if !terms.is_sorted_by_key(|term| term.source) {
        terms.sort_unstable_by_key(|term| term.source);
    }
}

/// The weight of a term. Lookups take weights up to 2^16; a larger one than 2^31 is a defect of an
/// operator.
fn weight(weight: i64) -> i32 {
    match i32::try_from(weight) {
        Ok(weight) => weight,
        Err(_) => panic!("a block has a weight of {weight}"),
    }
}

impl AddAssign<&Block> for Block {
    fn add_assign(&mut self, other: &Block) {
        self.add_scaled(other, 1);
    }
}

impl SubAssign<&Block> for Block {
    fn sub_assign(&mut self, other: &Block) {
        self.add_scaled(other, -1);
    }
}

impl Add for &Block {
    type Output = Block;

    fn add(self, other: Self) -> Block {
        let mut sum = self.clone();
        sum += other;
        sum
    }
}

impl Sub for &Block {
    type Output = Block;

    fn sub(self, other: Self) -> Block {
        let mut difference = self.clone();
        difference -= other;
        difference
    }
}

impl Add<i64> for &Block {
    type Output = Block;

    fn add(self, clear: i64) -> Block {
        self + &Block::clear(clear)
    }
}

impl Sub<i64> for &Block {
    type Output = Block;

    fn sub(self, clear: i64) -> Block {
        self - &Block::clear(clear)
    }
}

impl Mul<i64> for &Block {
    type Output = Block;

    /// Panics if a weight leaves 32 bits.
    fn mul(self, weight: i64) -> Block {
        let mut product = Block::clear(0);
        product.add_scaled(self, weight);
        product
    }
}

impl Neg for &Block {
    type Output = Block;

    fn neg(self) -> Block {
        self * -1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(at: u32) -> Block {
        Block::of_source(NonZeroU64::MIN, Source::Input(at), 0, 3)
    }

    #[test]
    fn a_source_twice_is_one_term() {
        let (a, b) = (source(0), source(1));
        let twice = &(&a + &b) + &a;
        assert_eq!((twice.norm_squared(), twice.low(), twice.high()), (9, 0, 9));
        let nothing = &twice - &(&(&a * 2) + &b);
        assert_eq!(nothing.clear_value(), Some(0));
        assert_eq!((nothing.low(), nothing.high()), (0, 0));
    }

    #[test]
    fn only_errors_of_different_lookups_are_independent() {
        let output =
            |at, output| Block::of_source(NonZeroU64::MIN, Source::Lookup(at, output), 0, 1);
        let inputs = &source(0) - &source(1);
        let apart = &output(4, 0) + &output(5, 0);
        let together = &output(4, 0) + &output(4, 1);
        assert_eq!(inputs.norm_squared(), 4);
        assert_eq!(apart.norm_squared(), 2);
        assert_eq!(together.norm_squared(), 4);
        assert_eq!(
            (&(&inputs + &apart) + &(&together * 2)).norm_squared(),
            4 + 25 + 1
        );
    }

    #[test]
    fn outputs_of_earlier_bootstraps_count_as_those_of_lookups() {
        let output = |bootstrap, at| {
            Block::of_source(NonZeroU64::MIN, Source::Bootstrapped(bootstrap, at), 0, 1)
        };
        let apart = &output(1, 5) + &output(2, 3);
        let together = &output(1, 5) + &output(1, 6);
        assert_eq!((apart.norm_squared(), together.norm_squared()), (2, 4));
        let all = &(&together + &source(0)) + &(&source(1) - &output(2, 3));
        assert_eq!(all.norm_squared(), 4 + 4 + 1);
        assert_eq!((&all - &together).norm_squared(), 4 + 1);
    }

    #[test]
    fn sums_that_are_inputs_count_as_often_as_they_have_terms() {
        let sum = source(0).of_level(3);
        assert_eq!(sum.norm_squared(), 9);
        assert_eq!((&(&sum * 2) - &source(1)).norm_squared(), 49);
    }

    #[test]
    fn intervals_follow_signs() {
        let x = &(&source(0) - &(&source(1) * 2)) + 1;
        assert_eq!((x.low(), x.high(), x.norm_squared()), (-5, 4, 9));
        let y = -&x;
        assert_eq!((y.low(), y.high()), (-4, 5));
        let none = 0;
        assert_eq!((&x * none).clear_value(), Some(0));
        assert_eq!(x.known_in(0, 3).span(), 4);
    }
}
