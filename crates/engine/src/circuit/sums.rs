//! Sums of the results of many lookups.
//!
//! A radix block overflows after a few results, so that columns of them are lowered by many lookups, each of a few
//! blocks. Here a lookup puts its result out as a compact value instead, some bits above the
//! noise: as many results are added up as these bits and the noise allow, and the sum is taken apart chunk by chunk
//! ([`chunks`](tfhe_sbc_core::encoding::chunks), which names the source). For two bits of message and of carry, 20 results
//! up to 12 are added before six lookups bring four digits.

use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::encoding::chunks::{DigitLookup, SumPlan};

use super::block::Source;
use super::{Block, Circuit, Graph};

/// The lookups that a digit of a sum takes later, when it is added to others, as part of the cost of the sum.
const LOOKUPS_OF_A_DIGIT: f64 = 0.4;

/// A number that is added up: a function, with values from 0 on, of a block that a lookup can take.
pub(crate) struct Addend<'f> {
    pub(crate) block: Block,
    pub(crate) function: &'f dyn Fn(i64) -> i64,
}

impl Addend<'_> {
    /// The smallest and the largest value.
    fn range(&self) -> (i64, i64) {
        let values = (self.block.low()..=self.block.high()).map(self.function);
        values.fold((i64::MAX, i64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }
}

/// An addend, and its largest value.
type Bounded<'a, 'f> = (&'a Addend<'f>, i64);

impl Circuit {
    /// Adds numbers up. Returns the digits of the sums of groups of them, the least significant digit of each first.
    /// `None` if the circuit has no form of sums of such numbers.
    ///
    /// # Panics
    /// As [`look_up`](Self::look_up).
    pub(crate) fn digits_of_sums(&self, addends: &[Addend<'_>]) -> Option<Vec<Vec<Block>>> {
        let mut clear = 0;
        let mut bounded: Vec<Bounded<'_, '_>> = Vec::with_capacity(addends.len());
        for addend in addends {
            match addend.range() {
                (low, high) if low == high => clear += low,
                (_, high) => bounded.push((addend, high)),
            }
        }
        let mut sums = vec![vec![Block::clear(clear)]];
        let mut left = &bounded[..];
        let plan = self.cheapest_plan(left)?;
        while !left.is_empty() {
            let (group, others) = left.split_at(taken(plan, left));
            let smaller = self
                .sums
                .iter()
                .find(|plan| taken(plan, group) == group.len());
            self.add_group(group, smaller.unwrap_or(plan), &mut sums);
            left = others;
        }
        Some(sums)
    }

    /// The form with the fewest lookups for a number of average size.
    fn cheapest_plan(&self, addends: &[Bounded<'_, '_>]) -> Option<&SumPlan> {
        let largest = addends
            .iter()
            .map(|(_, largest)| *largest)
            .max()
            .unwrap_or(1);
        let total: f64 = addends.iter().map(|(_, largest)| *largest as f64).sum();
        let average = (total / addends.len().max(1) as f64).max(1.0);
        let cost = |plan: &SumPlan| {
            let count = (plan.largest() as f64 / average).floor();
            let count = count.min(plan.max_norm_squared() as f64).max(1.0);
            let digits = LOOKUPS_OF_A_DIGIT * plan.digits().digit_count() as f64;
            (plan.digits().lookups().len() as f64 + digits) / count
        };
        let possible = self.sums.iter().filter(|plan| plan.largest() >= largest);
        possible.min_by(|a, b| cost(a).total_cmp(&cost(b)))
    }

    /// Returns the sum of blocks with values from 0 on, as it is before a form takes it apart, for measurements of its noise:
    /// its unit is `2^-plaintext_bits` of the torus.
    ///
    /// # Panics
    /// If a lookup cannot take a block.
    pub fn sum_before_digits(&self, blocks: &[Block], plan: &SumPlan) -> Block {
        let addends = blocks.iter().map(|block| Addend {
            block: block.clone(),
            function: &|x| x,
        });
        let addends: Vec<Addend<'_>> = addends.collect();
        let bounded: Vec<Bounded<'_, '_>> = addends
            .iter()
            .map(|addend| (addend, addend.range().1))
            .collect();
        self.sum_of_group(&bounded, plan)
    }

    /// The sum of a group in units of a form.
    fn sum_of_group(&self, group: &[Bounded<'_, '_>], plan: &SumPlan) -> Block {
        let bits = plan.digits().plaintext_bits();
        let mut sum = Block::clear(0);
        for (addend, largest) in group {
            let result = self.look_up_in_units(&addend.block, bits, addend.function);
            sum += &Block::of_source(self.id, result, 0, *largest);
        }
        sum
    }

    /// Adds a group that fits a form, in parts if results that are the same lookup have too much noise together.
    fn add_group(&self, group: &[Bounded<'_, '_>], plan: &SumPlan, sums: &mut Vec<Vec<Block>>) {
        let sum = self.sum_of_group(group, plan);
        if sum.norm_squared() > plan.max_norm_squared() && group.len() > 1 {
            let (first, second) = group.split_at(group.len() / 2);
            self.add_group(first, plan, sums);
            self.add_group(second, plan, sums);
            return;
        }
        sums.push(self.taken_apart(&sum, plan));
    }

    /// The digits of a sum in units of the plan.
    fn taken_apart(&self, sum: &Block, plan: &SumPlan) -> Vec<Block> {
        let plan = plan.digits();
        let mut digits = vec![Block::clear(0); plan.digit_count()];
        let mut first_outputs: Vec<Block> = Vec::with_capacity(plan.lookups().len());
        for lookup in plan.lookups() {
            let mut input = sum * (1 << lookup.view.factor_log2);
            for bit in &lookup.subtracted {
                let factor = -(1 << bit.factor_log2);
                input += &(&first_outputs[bit.lookup] * factor);
            }
            let at = self.record_chunk(&input, lookup);
            let outputs = lookup.outputs.iter().zip(0..).map(|(part, output)| {
                let source = Source::Lookup(at, output);
                Block::of_source(self.id, source, 0, part.degree() as i64)
            });
            let outputs: Vec<Block> = outputs.collect();
            for (part, output) in lookup.outputs.iter().zip(&outputs) {
                digits[part.digit] += output;
            }
            first_outputs.extend(outputs.into_iter().take(1));
        }
        let message_bits = self.encoding().message_bits();
        let digits = digits.into_iter().zip(0..).map(|(digit, place)| {
            let most = sum.high() >> (place * message_bits);
            digit.known_in(0, most)
        });
        digits.collect()
    }

    fn record_chunk(&self, input: &Block, lookup: &DigitLookup) -> u32 {
        let graph = &mut *self.graph_mut();
        graph.watched.tick(graph.lookups.len());
        let table = graph.tables.place_chunk(lookup);
        graph.place_lookup(&input.terms, 0, table)
    }
}

/// The number of addends, from the first on, that a form takes.
fn taken(plan: &SumPlan, addends: &[Bounded<'_, '_>]) -> usize {
    let most = usize::try_from(plan.max_norm_squared()).unwrap_or(usize::MAX);
    let mut sum = 0;
    let fit = addends.iter().take(most).take_while(|(_, largest)| {
        sum += largest;
        sum <= plan.largest()
    });
    fit.count()
}

impl Graph {
    /// The number of plaintext bits of the values of a source: their unit is `2^-bits` of the torus.
    pub(super) fn plaintext_bits(&self, encoding: BlockEncoding, source: Source) -> u32 {
        match source.lookup() {
            Some(at) => {
                let table = self.lookups.at(at).table;
                self.tables.at(table).plaintext_bits(encoding)
            }
            None => encoding.plaintext_bits(),
        }
    }
}

/// The results of a lookup of a sum with an exact phase.
///
/// # Panics
/// If the padding bit of the lookup is not clear.
pub(super) fn chunk_values(lookup: &DigitLookup, phase: u64) -> Vec<i64> {
    let value = phase >> (u64::BITS - lookup.view.unit_log2);
    let outputs = lookup
        .outputs
        .iter()
        .map(|output| match lookup.padded_bits {
            None if phase >> (u64::BITS - 1) == 0 => 0,
            None => output.degree() as i64,
            Some(bits) => {
                assert!(value < 1 << bits, "{value} is outside of its chunk");
                output.of(value) as i64
            }
        });
    outputs.collect()
}
