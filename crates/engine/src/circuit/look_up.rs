//! The recording of lookups.

use super::table::{Function, Table};
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
        let mut outputs = self.look_up_all(x, &[&f]);
        outputs.pop().unwrap_or_else(|| Block::clear(0))
    }

    /// Records the lookup of several functions and returns a block for each. One bootstrap gives
    /// the results of as many functions as `x` leaves room for.
    ///
    /// # Panics
    /// As for [`look_up`](Self::look_up).
    pub(crate) fn look_up_all(&self, x: &Block, functions: &[Function<'_>]) -> Vec<Block> {
        let ranges: Vec<(i64, i64)> = functions
            .iter()
            .map(|f| {
                let values = (x.low()..=x.high()).map(f);
                values.fold((i64::MAX, i64::MIN), |(low, high), y| {
                    (low.min(y), high.max(y))
                })
            })
            .collect();
        let mut outputs: Vec<Block> = ranges.iter().map(|&(low, _)| Block::clear(low)).collect();
        // A constant function needs no bootstrap.
        let wanted: Vec<usize> = (0..functions.len())
            .filter(|&j| ranges[j].0 != ranges[j].1)
            .collect();
        let room = (self.block_modulus() / x.span()).max(1) as usize;
        for some in wanted.chunks(room) {
            let functions: Vec<Function<'_>> = some.iter().map(|&j| functions[j]).collect();
            let at = self.record(x, &functions);
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

    /// [`look_up_pair`](Self::look_up_pair) of several functions.
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

    /// Records a lookup and returns its number, or the number of an equal lookup that is already
    /// recorded.
    fn record(&self, x: &Block, functions: &[Function<'_>]) -> u32 {
        let interval = (x.low(), x.span());
        let Some(key) = Table::key(self.encoding(), interval, functions) else {
            panic!("values in [{}, {}] overflow a block", x.low(), x.high());
        };
        assert!(
            x.norm_squared() <= self.max_norm_squared(),
            "squared norm {} over the noise budget",
            x.norm_squared()
        );
        let graph = &mut *self.graph_mut();
        graph.watched.tick(graph.lookups.len());
        let next = graph.tables.len() as u32;
        let table = *graph.known_tables.entry(key.clone()).or_insert(next);
        if table == next {
            graph.tables.push(Table::new(key));
        }
        let constant = x.constant - x.low();
        graph.lookups.place(&x.terms, constant, table)
    }
}
