//! Operators on many rows, recorded alike.
//!
//! An operator finds intervals, noise and tables of each lookup again for every row, which takes one or two microseconds for each lookup,
//! although these are the same for all rows whose blocks have the same form. The first of them is therefore recorded by the
//! operator itself. The lookups that its results depend on are a small circuit, the *template*, whose inputs are the sources of the
//! operands. For the next operands of this form it is copied, with their sources in the place of the first ones. Where a lookup of
//! the operator is one of these sources, because an operand was computed from another one by the same steps, there is no template
//! and no copy: products of a number with itself, for instance, are recorded otherwise.
//!
//! The form of operands is all that an operator can see of them: the intervals, constants, weights and levels of their blocks,
//! which blocks have a source in common, and which sources have correlated errors.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use super::block::{Origin, Term, sort};
use super::{Block, Circuit, Graph, Source};
use crate::integer::Width;

/// The largest number of lookups of a template.
const MOST_LOOKUPS: usize = 4096;

/// The largest number of templates of a circuit.
const MOST_TEMPLATES: usize = 1 << 14;

/// An operator whose recording depends on the form of its operands and on the batch alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeated {
    /// The product of two integers of this width.
    Product(Width),
    /// The digits of an integer of this width.
    Digits(Width),
    /// The minimum and the maximum of two integers of this width.
    Extremes { width: Width, signed: bool },
}

impl Repeated {
    /// A number that no other operator has.
    fn number(self) -> i64 {
        let (kind, width) = match self {
            Self::Product(width) => (0, width),
            Self::Digits(width) => (1, width),
            Self::Extremes {
                width,
                signed: false,
            } => (2, width),
            Self::Extremes {
                width,
                signed: true,
            } => (3, width),
        };
        i64::from(width.bits()) << 8 | kind
    }
}

/// The templates of a circuit, and lists for one copy after the other.
#[derive(Default)]
pub(super) struct Templates {
    /// The templates by operators, batches and forms of operands; `None` where an operator has none.
    known: HashMap<Box<[i64]>, Option<Template>>,
    operands: Operands,
    /// The places of the lookups of a copy.
    places: Vec<u32>,
    terms: Vec<Term>,
}

/// A recording whose sources are numbers: an input is a source of the operands by its place among them, and a lookup one of
/// the template.
struct Template {
    lookups: Vec<Lookup>,
    /// The terms of all lookups, one after the other.
    terms: Vec<Term>,
    results: Vec<Block>,
}

/// The recordings of which templates are made, while they last.
#[derive(Default)]
pub(super) struct Traces {
    open: Vec<Trace>,
    begun: u64,
}

/// The recording of an operator.
struct Trace {
    number: u64,
    /// The lookups that give sources of the operands.
    sources: Vec<usize>,
    /// False once one of these lookups was recorded again. A template would then hold for operands with the same dependence only.
    is_apart: bool,
}

impl Traces {
    /// Begins a recording and returns its number.
    fn begin(&mut self, operands: &Operands) -> u64 {
        self.begun += 1;
        let lookups = operands.sources.iter().filter_map(|source| source.lookup());
        self.open.push(Trace {
            number: self.begun,
            sources: lookups.collect(),
            is_apart: true,
        });
        self.begun
    }

    /// Ends a recording. Returns whether no lookup that was recorded is a source of its operands.
    fn end(&mut self, number: u64) -> bool {
        let place = self.open.iter().position(|trace| trace.number == number);
        place.is_some_and(|place| self.open.swap_remove(place).is_apart)
    }
}

impl Graph {
    /// Records a lookup, unless it is recorded already, and returns its place.
    pub(super) fn place_lookup(&mut self, terms: &[Term], constant: i64, table: u32) -> u32 {
        let at = self.lookups.place(terms, constant, table);
        for trace in &mut self.traces.open {
            trace.is_apart &= !trace.sources.contains(&(at as usize));
        }
        at
    }
}

/// A lookup of a template.
struct Lookup {
    constant: i64,
    /// The number of terms.
    terms: u32,
    table: u32,
}

/// The operands of one use of an operator.
#[derive(Clone, Default)]
struct Operands {
    /// The sources, each once, in the order in which the blocks have them.
    sources: Vec<Source>,
    /// The identities of their ciphertexts.
    ciphertexts: Vec<u64>,
    /// The origins of their errors.
    origins: Vec<Origin>,
    /// The operator, the batch and the form of the operands.
    key: Vec<i64>,
}

/// A number that identifies the ciphertext of a source. Recorded lookups have inputs that are outputs of earlier bootstraps as
/// plain inputs, so both have the same number.
fn ciphertext(source: Source) -> u64 {
    match source {
        Source::Input(at) | Source::Bootstrapped(_, at) => at.into(),
        Source::Lookup(at, output) => 1 << 40 | u64::from(at) << 8 | u64::from(output),
    }
}

impl Operands {
    /// Reads the operands of another use.
    fn read(&mut self, operator: Repeated, batch: usize, blocks: &[&[Block]]) {
        self.sources.clear();
        self.ciphertexts.clear();
        self.origins.clear();
        self.key.clear();
        self.key.extend([operator.number(), batch as i64]);
        for blocks in blocks {
            self.key.push(blocks.len() as i64);
            for block in *blocks {
                let (low, high) = (block.low(), block.high());
                let terms = block.terms.len() as i64;
                self.key.extend([terms, block.constant, low, high]);
                for term in &*block.terms {
                    let (place, correlation) = self.number(term.source);
                    let both = i64::from(term.level) << 32 | place as i64;
                    self.key.extend([both, term.weight.into()]);
                    self.key.extend(correlation);
                }
            }
        }
    }

    /// The place of a source among all, and of a new one the word of the key that tells the first place of those with correlated errors, and
    /// whether it is a lookup.
    fn number(&mut self, source: Source) -> (usize, Option<i64>) {
        let ciphertext = ciphertext(source);
        if let Some(place) = self.ciphertexts.iter().position(|own| *own == ciphertext) {
            return (place, None);
        }
        let (place, origin) = (self.sources.len(), source.origin());
        let first = self.origins.iter().position(|own| *own == origin);
        let first = first.unwrap_or(place) as i64;
        self.sources.push(source);
        self.ciphertexts.push(ciphertext);
        self.origins.push(origin);
        let word = first << 1 | i64::from(source.lookup().is_some());
        (place, Some(word))
    }

    /// The place of a source, which may be one of a recorded lookup.
    fn place_of(&self, source: Source) -> Option<usize> {
        let ciphertext = ciphertext(source);
        self.ciphertexts.iter().position(|own| *own == ciphertext)
    }

    /// Returns whether a lookup gives one of the sources.
    fn have_lookup(&self, at: u32) -> bool {
        self.origins.contains(&Origin::Lookup(at))
    }
}

impl Template {
    /// Returns the template of what was recorded for operands; `None` if the results also depend on something else, or on very
    /// many lookups. No lookup that was recorded may be a source of the operands.
    fn new(graph: &Graph, operands: &Operands, results: &[Block]) -> Option<Self> {
        let place_of = |source: Source| operands.place_of(source);
        let mut places: BTreeSet<u32> = BTreeSet::new();
        let sources = |block: &Block| block.terms().map(|(source, _)| source).collect::<Vec<_>>();
        let mut wanted: Vec<Source> = results.iter().flat_map(sources).collect();
        while let Some(source) = wanted.pop() {
            match source {
                _ if place_of(source).is_some() => {}
                Source::Lookup(at, _) => {
                    if places.insert(at) {
                        let terms = graph.lookups.at(at as usize).terms();
                        wanted.extend(terms.map(|(source, _)| source));
                    }
                    if places.len() > MOST_LOOKUPS {
                        return None;
                    }
                }
                Source::Input(_) | Source::Bootstrapped(..) => return None,
            }
        }
        let places: Vec<u32> = places.into_iter().collect();
        let local = |source: Source| match (place_of(source), source) {
            (Some(place), _) => Some(Source::Input(place as u32)),
            (None, Source::Lookup(at, output)) => {
                let place = places.binary_search(&at).ok()?;
                Some(Source::Lookup(place as u32, output))
            }
            (None, _) => None,
        };
        let mut terms = Vec::new();
        let mut lookups = Vec::with_capacity(places.len());
        for &at in &places {
            let lookup = graph.lookups.at(at as usize);
            let before = terms.len();
            for (source, weight) in lookup.terms() {
                terms.push(Term {
                    source: local(source)?,
                    weight: weight as i32,
                    level: 1,
                });
            }
            lookups.push(Lookup {
                constant: lookup.constant,
                terms: (terms.len() - before) as u32,
                table: lookup.table,
            });
        }
        let results = results.iter().map(|block| block.of_sources(local));
        Some(Self {
            lookups,
            terms,
            results: results.collect::<Option<_>>()?,
        })
    }

    /// Records the lookups for other operands of the same form, and returns the results. `None` if a lookup is a source of
    /// the operands, so that its error is not independent of theirs. `places` and `terms` are lists to use.
    fn record(
        &self,
        graph: &mut Graph,
        operands: &Operands,
        places: &mut Vec<u32>,
        terms: &mut Vec<Term>,
    ) -> Option<Vec<Block>> {
        places.clear();
        let actual = |places: &[u32], source: Source| match source {
            Source::Input(place) | Source::Bootstrapped(_, place) => {
                operands.sources.get(place as usize).copied()
            }
            Source::Lookup(place, output) => {
                let at = places.get(place as usize)?;
                Some(Source::Lookup(*at, output))
            }
        };
        let mut others = &self.terms[..];
        for lookup in &self.lookups {
            graph.watched.tick(graph.lookups.len());
            let (own, rest) = others.split_at_checked(lookup.terms as usize)?;
            others = rest;
            terms.clear();
            for term in own {
                let source = actual(places, term.source)?;
                terms.push(Term { source, ..*term });
            }
            sort(terms);
            let at = graph.place_lookup(terms, lookup.constant, lookup.table);
            if operands.have_lookup(at) {
                return None;
            }
            places.push(at);
        }
        let results = self.results.iter();
        results
            .map(|block| block.of_sources(|source| actual(places, source)))
            .collect()
    }
}

impl Templates {
    /// Returns the results of an operator by a template, if there is one for the operands.
    fn copy(&mut self, graph: &mut Graph) -> Option<Vec<Block>> {
        let Self {
            known,
            operands,
            places,
            terms,
        } = self;
        let template = known.get(&operands.key[..])?.as_ref()?;
        template.record(graph, operands, places, terms)
    }

    /// Returns whether nothing is known of the operands, and there is room for a template.
    fn is_new(&self) -> bool {
        self.known.len() < MOST_TEMPLATES && !self.known.contains_key(&self.operands.key[..])
    }
}

impl Circuit {
    /// Returns the results of an operator, which `record` records: by a template where the same was recorded for operands of the same
    /// form, and many operators are recorded side by side. The results must depend on nothing but the operands.
    pub(crate) fn repeated(
        &self,
        operator: Repeated,
        operands: &[&[Block]],
        record: impl FnOnce() -> Vec<Block>,
    ) -> Vec<Block> {
        if !self.is_busy() {
            return record();
        }
        let batch = self.batch();
        let new = {
            let graph = &mut *self.graph_mut();
            let mut templates = std::mem::take(&mut graph.templates);
            templates.operands.read(operator, batch, operands);
            let copied = templates.copy(graph);
            let new = templates.is_new().then(|| templates.operands.clone());
            graph.templates = templates;
            if let Some(results) = copied {
                return results;
            }
            new.map(|operands| (graph.traces.begin(&operands), operands))
        };
        let results = record();
        if let Some((number, operands)) = new {
            let graph = &mut *self.graph_mut();
            let is_apart = graph.traces.end(number);
            let template = is_apart.then(|| Template::new(graph, &operands, &results));
            let key = operands.key.into();
            graph.templates.known.insert(key, template.flatten());
        }
        results
    }
}

#[cfg(test)]
mod tests;
