//! The lookups of a plan.

use std::collections::BTreeSet;

use tfhe_sbc_core::encoding::chunks::{
    DigitOutput, DigitPlan, ExtremeFunction, ExtremeLookup, ExtremeTerm,
};

use super::number::{Number, Part, Phase, Scaled, bit_function, scales, serving, torus};
use super::{Builder, Extreme};

/// The most functions of a lookup, as a power of two.
const MAX_INTERLEAVED_LOG2: u32 = 3;

/// The ends of the chunks of a comparison at a level.
pub(super) fn ends(level: u32, chunks: &[u32]) -> impl Iterator<Item = u32> {
    chunks.iter().scan(level, |end, chunk| {
        *end += chunk;
        Some(*end)
    })
}

/// The form of a comparison of two numbers that are multiples of `2^level`.
pub(super) struct Comparison<'c> {
    level: u32,
    chunks: &'c [u32],
    /// The ends of the chunks.
    ends: Vec<u32>,
    /// The views of the result that are needed.
    bounds: &'c BTreeSet<u32>,
    /// A result serves the scales that are at most `2^gap` above its own.
    gap: u32,
}

impl<'c> Comparison<'c> {
    pub(super) fn new(level: u32, chunks: &'c [u32], bounds: &'c BTreeSet<u32>, gap: u32) -> Self {
        Self {
            level,
            chunks,
            ends: ends(level, chunks).collect(),
            bounds,
            gap,
        }
    }

    /// The lowest bit of a chunk.
    fn begin(&self, at: usize) -> u32 {
        self.ends[at] - self.chunks[at]
    }

    /// The scales at which a multiple of `2^first` is put out.
    fn scales(&self, first: u32) -> Vec<u32> {
        scales(self.bounds, first, self.gap)
    }
}

/// The lookups so far.
pub(super) struct Program<'b> {
    pub(super) builder: &'b Builder<'b>,
    pub(super) lookups: Vec<ExtremeLookup>,
    /// The most lookups.
    pub(super) most: usize,
}

impl Program<'_> {
    /// The view of a number in which the bits below `end` are at the top of the torus.
    fn view(&self, number: &Number, end: u32) -> Option<(Vec<i64>, Vec<ExtremeTerm>)> {
        let factor_log2 = self.builder.plaintext_bits.checked_sub(end)?;
        let values = number.values.iter().map(|factor| factor << factor_log2);
        let parts = number.parts.iter().filter(|part| part.first < end);
        let parts = parts.map(|part| Some(serving(&part.results, end)?.at(end, part.factor)));
        Some((values.collect(), parts.collect::<Option<_>>()?))
    }

    /// The view of a chunk that ends at `end` and begins at `begin`, in which the lowest bit of a number that can be
    /// set is at `level`. The bit below the chunk must be subtracted.
    fn chunk(
        &self,
        number: &Number,
        level: u32,
        begin: u32,
        (end, unit_log2): (u32, u32),
    ) -> Option<Phase> {
        let (values, results) = self.view(number, end)?;
        let unit = torus(1, unit_log2);
        let fraction = match begin - level {
            0 => 0,
            below => unit / 2 - (unit >> below),
        };
        Some(Phase {
            values,
            results,
            half_width: (unit - fraction) / 2,
            value_bits: unit_log2 - 1,
        })
    }

    fn lookup(&self, phase: &Phase, functions: &[ExtremeFunction]) -> Option<ExtremeLookup> {
        let depth = |result: &ExtremeTerm| self.lookups.get(result.lookup).map(|of| of.depth);
        let depth = phase.results.iter().filter_map(depth).max();
        // Results of one lookup are together, and equal ones are one.
        let mut results = phase.results.clone();
        results.sort_by_key(|result| (result.lookup, result.function));
        results.dedup_by(|next, before| {
            let same = (next.lookup, next.function) == (before.lookup, before.function);
            if same {
                before.factor += next.factor;
            }
            same
        });
        let lookup = ExtremeLookup {
            values: phase.values.clone(),
            results,
            half_width: phase.half_width,
            value_bits: phase.value_bits,
            functions: functions.to_vec(),
            depth: depth.unwrap_or(0) + 1,
        };
        self.builder.meets(&lookup).then_some(lookup)
    }

    /// Adds one lookup.
    fn push(&mut self, lookup: ExtremeLookup) -> Option<usize> {
        if self.lookups.len() >= self.most {
            return None;
        }
        self.lookups.push(lookup);
        Some(self.lookups.len() - 1)
    }

    /// Adds as few lookups as the noise allows for functions of one phase, and returns the lookup and the function of each.
    fn push_all(
        &mut self,
        phase: &Phase,
        functions: &[ExtremeFunction],
    ) -> Option<Vec<(usize, usize)>> {
        let wanted = functions.len().next_power_of_two().trailing_zeros();
        let together = (0..=wanted.min(MAX_INTERLEAVED_LOG2)).rev().find(|&log2| {
            let some = &functions[..functions.len().min(1 << log2)];
            self.lookup(phase, some).is_some()
        })?;
        let mut places = Vec::with_capacity(functions.len());
        for some in functions.chunks(1 << together) {
            let lookup = self.push(self.lookup(phase, some)?)?;
            places.extend((0..some.len()).map(|function| (lookup, function)));
        }
        Some(places)
    }

    /// Adds the lookups of functions that give a number at these scales.
    fn push_scaled(
        &mut self,
        phase: &Phase,
        units: &[u32],
        function: impl Fn(u32) -> ExtremeFunction,
    ) -> Option<Vec<Scaled>> {
        let functions: Vec<ExtremeFunction> = units.iter().map(|&unit| function(unit)).collect();
        let places = self.push_all(phase, &functions)?;
        let scaled = units.iter().zip(places);
        let scaled = scaled.map(|(&unit_log2, (lookup, function))| Scaled {
            unit_log2,
            lookup,
            function,
        });
        Some(scaled.collect())
    }

    /// Adds the lookups that give twice the larger or the smaller of two numbers.
    pub(super) fn extreme_of(
        &mut self,
        a: &Number,
        b: &Number,
        comparison: &Comparison<'_>,
    ) -> Option<Number> {
        let (mut phases, bits) = self.chunks(&a.and(b, -1), comparison)?;
        let (sign, part) = self.last_chunk(&phases.pop()?, comparison)?;
        let mut parts = vec![part];
        if let Some(sign) = sign {
            for (at, phase) in phases.into_iter().enumerate() {
                if comparison.chunks[at] > 1 {
                    let top_bit = serving(&bits[at], 1)?.at(1, -1);
                    let phase = phase.with([top_bit, sign]);
                    parts.push(self.bits_below(at, &phase, comparison)?);
                }
            }
            parts.push(self.top_bits(&bits, sign, comparison)?);
        }
        Some(a.and(b, 1).with_parts(parts))
    }

    /// The phases of all chunks of a difference, and the top bits of all but the last.
    fn chunks(
        &mut self,
        difference: &Number,
        comparison: &Comparison<'_>,
    ) -> Option<(Vec<Phase>, Vec<Vec<Scaled>>)> {
        let Comparison { level, chunks, .. } = *comparison;
        let mut phases: Vec<Phase> = Vec::with_capacity(chunks.len());
        let mut bits: Vec<Vec<Scaled>> = Vec::with_capacity(chunks.len());
        for (at, &chunk) in chunks.iter().enumerate() {
            let (begin, end) = (comparison.begin(at), comparison.ends[at]);
            let mut phase = self.chunk(difference, level, begin, (end, chunk))?;
            if let Some(below) = bits.last() {
                phase = phase.with([serving(below, chunk + 1)?.at(chunk + 1, -1)]);
            }
            if let Some(next) = chunks.get(at + 1) {
                // The next view needs the bit at the scale below its unit, and the chunk itself needs it at the top.
                let value_bits = phase.value_bits;
                let both = [next + 1, 1];
                let functions = both.map(|unit| bit_function(unit, value_bits));
                let has_room = chunk > 1 && self.lookup(&phase, &functions).is_some();
                let units = if has_room { &both[..] } else { &both[..1] };
                bits.push(self.push_scaled(&phase, units, |unit| bit_function(unit, value_bits))?);
            }
            phases.push(phase);
        }
        Some((phases, bits))
    }

    /// The sign, if there are other chunks, and the bits of the last chunk: those below the sign are negated with it, and the sign itself
    /// is worth as much as in a number without one.
    fn last_chunk(
        &mut self,
        phase: &Phase,
        comparison: &Comparison<'_>,
    ) -> Option<(Option<ExtremeTerm>, Part)> {
        let last = comparison.chunks.len() - 1;
        let first = comparison.begin(last);
        let units = comparison.scales(first);
        // Half of what the sign is worth, in half units of the chunk, so that a chunk may be the sign alone.
        let half = 1i64 << (comparison.ends[last] - 1 - first);
        let number = |unit: &u32| ExtremeFunction {
            values: (0..half)
                .map(|bits| torus((2 * bits - half) << first, unit + 1))
                .collect(),
            offset: torus(half << first, unit + 1),
        };
        let sign = (last > 0).then(|| bit_function(1, phase.value_bits));
        let has_sign = sign.is_some();
        let functions: Vec<ExtremeFunction> =
            sign.into_iter().chain(units.iter().map(number)).collect();
        let mut places = self.push_all(phase, &functions)?.into_iter();
        let sign = if has_sign { places.next() } else { None };
        let sign = sign.map(|(lookup, function)| ExtremeTerm {
            lookup,
            function,
            factor: 1,
        });
        let results = units.iter().zip(places);
        let results = results.map(|(&unit_log2, (lookup, function))| Scaled {
            unit_log2,
            lookup,
            function,
        });
        let part = Part {
            factor: self.factor(),
            first,
            results: results.collect(),
        };
        Some((sign, part))
    }

    /// The bits of a chunk below its top bit, negated with the sign.
    fn bits_below(
        &mut self,
        at: usize,
        phase: &Phase,
        comparison: &Comparison<'_>,
    ) -> Option<Part> {
        let first = comparison.begin(at);
        let numbers = 0..1i64 << (comparison.chunks[at] - 1);
        let function = |unit: u32| ExtremeFunction {
            values: numbers
                .clone()
                .map(|bits| torus(bits << first, unit))
                .collect(),
            offset: 0,
        };
        let results = self.push_scaled(phase, &comparison.scales(first), function)?;
        Some(Part {
            factor: self.factor(),
            first,
            results,
        })
    }

    /// The factor of the size of a difference in the result.
    fn factor(&self) -> i64 {
        match self.builder.extreme {
            Extreme::Largest => 1,
            Extreme::Smallest => -1,
        }
    }

    /// The top bits of all chunks but the last one, negated with the sign.
    fn top_bits(
        &mut self,
        bits: &[Vec<Scaled>],
        sign: ExtremeTerm,
        comparison: &Comparison<'_>,
    ) -> Option<Part> {
        let ends = &comparison.ends;
        let first = ends[0] - 1;
        let value_bits = bits.len() as u32;
        // The bits with the largest units come first below the sign.
        let mut order: Vec<usize> = (0..bits.len()).collect();
        let smallest_unit = |at: &usize| bits[*at].iter().map(|bit| bit.unit_log2).max();
        order.sort_by_key(smallest_unit);
        let mut results = vec![sign];
        for (place, &at) in order.iter().enumerate() {
            let unit_log2 = 2 + place as u32;
            results.push(serving(&bits[at], unit_log2)?.at(unit_log2, 1));
        }
        let unit = torus(1, value_bits + 1);
        let phase = Phase {
            values: vec![0; 1 << self.builder.rows_log2],
            results,
            half_width: unit / 2,
            value_bits,
        };
        let worth = |number: i64| {
            let bits = order.iter().enumerate().map(|(place, &at)| {
                let bit = number >> (bits.len() - 1 - place) & 1;
                bit << (ends[at] - 1)
            });
            bits.sum::<i64>()
        };
        let function = |unit: u32| ExtremeFunction {
            values: (0..1i64 << value_bits)
                .map(|number| torus(worth(number), unit))
                .collect(),
            offset: 0,
        };
        let results = self.push_scaled(&phase, &comparison.scales(first), function)?;
        Some(Part {
            factor: self.factor(),
            first,
            results,
        })
    }

    /// Adds the lookups that give the digits of a number.
    pub(super) fn digits(&mut self, number: &Number, plan: &DigitPlan) -> Option<()> {
        let encoding = self.builder.parameters.block_encoding();
        let level = self.builder.rows_log2;
        let before = self.lookups.len();
        for lookup in plan.lookups() {
            let view = lookup.view;
            let end = level + plan.plaintext_bits() - view.factor_log2;
            let begin = end - view.unit_log2;
            let chunk = self.chunk(number, level, begin, (end, view.unit_log2))?;
            let subtracted = lookup.subtracted.iter().map(|bit| ExtremeTerm {
                lookup: before + bit.lookup,
                function: 0,
                factor: -(1 << bit.factor_log2),
            });
            let phase = chunk.with(subtracted);
            let functions: Vec<ExtremeFunction> = match lookup.padded_bits {
                None => {
                    let output = lookup.outputs.first()?;
                    let unit = encoding.plaintext_bits().checked_sub(output.place)?;
                    vec![bit_function(unit, phase.value_bits)]
                }
                Some(_) => {
                    let function = |output: &DigitOutput| {
                        let numbers = 0..1u64 << phase.value_bits;
                        let values =
                            numbers.map(|number| encoding.encode(output.of(number) as i64));
                        ExtremeFunction {
                            values: values.collect(),
                            offset: 0,
                        }
                    };
                    lookup.outputs.iter().map(function).collect()
                }
            };
            let lookup = self.lookup(&phase, &functions)?;
            self.push(lookup)?;
        }
        Some(())
    }
}
