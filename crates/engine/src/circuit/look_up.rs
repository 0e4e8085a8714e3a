//! The recording of lookups.

use super::short_list::ShortList;
use super::table::{Function, Functions};
use super::{Block, Circuit, Source};

impl Circuit {
    /// Records the lookup of `f` and returns a block of one term with the value `f(x)`.
    ///
    /// `x` may have at most `block_modulus` values, or up to twice as many if the sum of the
    /// values of `f` at arguments `block_modulus` apart is constant, as for a sign.
    ///
    /// # Panics
    /// If `x` has more values, or more noise than a bootstrap can take. This is a defect of the
    /// calling operator, which must not decrypt to a wrong value silently.
    pub(crate) fn look_up(&self, x: &Block, f: impl Fn(i64) -> i64) -> Block {
        let values: Values = (x.low()..=x.high()).map(f).collect();
        let (low, high) = range(&values);
        if low == high {
            return Block::clear(low);
        }
        let at = self.record(
            x,
            self.encoding().plaintext_bits(),
            std::iter::once(&*values),
        );
        Block::of_source(self.id, Source::Lookup(at, 0), low, high)
    }

    /// Records the lookup of `f`, whose result is in units of `2^-plaintext_bits` of the torus.
    ///
    /// # Panics
    /// As [`look_up`](Self::look_up).
    pub(super) fn look_up_in_units(
        &self,
        x: &Block,
        plaintext_bits: u32,
        f: impl Fn(i64) -> i64,
    ) -> Source {
        let values: Values = (x.low()..=x.high()).map(f).collect();
        Source::Lookup(self.record(x, plaintext_bits, std::iter::once(&*values)), 0)
    }

    /// Records the lookup of several functions and returns a block for each. One bootstrap gives
    /// the results of as many functions as `x` leaves room for.
    ///
    /// # Panics
    /// As for [`look_up`](Self::look_up).
    pub(crate) fn look_up_all(&self, x: &Block, functions: &[Function<'_>]) -> Vec<Block> {
        let span = x.span() as usize;
        let functions = functions.iter();
        let values: Values = functions
            .flat_map(|f| (x.low()..=x.high()).map(f))
            .collect();
        // Few lookups have more functions than these lists have room for.
        let values: ShortList<&[i64], 4> = values.chunks_exact(span).collect();
        let ranges: ShortList<(i64, i64), 4> = values.iter().map(|values| range(values)).collect();
        let mut outputs: Vec<Block> = ranges.iter().map(|&(low, _)| Block::clear(low)).collect();
        // A constant function needs no bootstrap.
        let wanted: ShortList<usize, 4> = (0..values.len())
            .filter(|&j| ranges[j].0 != ranges[j].1)
            .collect();
        let room = (self.block_modulus() / x.span()).max(1) as usize;
        for some in wanted.chunks(room) {
            let bits = self.encoding().plaintext_bits();
            let at = self.record(x, bits, some.iter().map(|&j| values[j]));
            for (output, &j) in some.iter().enumerate() {
                let (low, high) = ranges[j];
                outputs[j] = Block::of_source(self.id, Source::Lookup(at, output as u8), low, high);
            }
        }
        outputs
    }

    /// Records the lookup of a function of two blocks. Blocks with too much noise are refreshed
    /// first.
    ///
    /// # Panics
    /// As [`look_up`](Self::look_up), if the two have more than `block_modulus` pairs of values.
    pub(crate) fn look_up_pair(&self, a: &Block, b: &Block, f: impl Fn(i64, i64) -> i64) -> Block {
        let mut outputs = self.look_up_pair_all(a, b, &[&f]);
        outputs.pop().unwrap_or_else(|| Block::clear(0))
    }

    /// Does the same as [`look_up_pair`](Self::look_up_pair) for several functions.
    ///
    /// # Panics
    /// As for [`look_up_pair`](Self::look_up_pair).
    pub(crate) fn look_up_pair_all(
        &self,
        a: &Block,
        b: &Block,
        functions: &[&dyn Fn(i64, i64) -> i64],
    ) -> Vec<Block> {
        // The block with fewer values is packed below, and its number of values is the weight of
        // the other.
        let swap = a.span() < b.span();
        let (above, below) = if swap { (b, a) } else { (a, b) };
        let (weight, low) = (below.span(), below.low());
        let mut packed = below - low;
        packed += &(above * weight);
        if packed.norm_squared() > self.max_norm_squared() {
            packed = &(&self.refresh(below) - low) + &(&self.refresh(above) * weight);
        }
        let apart = |x: i64| {
            let (above, below) = (x.div_euclid(weight), x.rem_euclid(weight) + low);
            if swap { (below, above) } else { (above, below) }
        };
        let of_packed: Vec<_> = functions
            .iter()
            .map(|f| {
                move |x: i64| {
                    let (a, b) = apart(x);
                    f(a, b)
                }
            })
            .collect();
        let of_packed: Vec<Function<'_>> = of_packed.iter().map(|f| f as Function<'_>).collect();
        self.look_up_all(&packed, &of_packed)
    }

    /// Returns a block with the same value and the noise of at most one bootstrap output.
    pub(crate) fn refresh(&self, x: &Block) -> Block {
        match x.norm_squared() {
            0 | 1 => x.clone(),
            _ => self.look_up(x, |value| value),
        }
    }

    /// Records a lookup of functions with these values, and results of `plaintext_bits` bits, and returns its number, or
    /// the number of an equal lookup that is already recorded.
    fn record<'v>(
        &self,
        x: &Block,
        plaintext_bits: u32,
        functions: impl ExactSizeIterator<Item = &'v [i64]> + Clone,
    ) -> u32 {
        let Some(key) = Functions::key(self.encoding(), plaintext_bits, functions) else {
            panic!("values in [{}, {}] overflow a block", x.low(), x.high());
        };
        assert!(
            x.norm_squared() <= self.max_norm_squared(),
            "squared norm {} over the noise budget",
            x.norm_squared()
        );
        let graph = &mut *self.graph_mut();
        graph.watched.tick(graph.lookups.len());
        let table = graph.tables.place(&key);
        let constant = x.constant - x.low();
        graph.place_lookup(&x.terms, constant, table)
    }
}

/// The values of functions on the interval of a block, one function after the other.
type Values = ShortList<i64, 32>;

/// The smallest and the largest of some values.
fn range(values: &[i64]) -> (i64, i64) {
    let ends = (i64::MAX, i64::MIN);
    values
        .iter()
        .fold(ends, |(low, high), &y| (low.min(y), high.max(y)))
}
