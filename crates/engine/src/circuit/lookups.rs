//! The lookups of a circuit, each recorded once.
//!
//! A circuit of a year of readings has millions of them. Their terms are in one list, 8 bytes each,
//! and what is known already is found by the places of lookups rather than by copies of them.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::block::{Source, Term};

/// Recorded lookups, each after those that it depends on.
#[derive(Default)]
pub(super) struct Lookups {
    terms: Vec<PackedTerm>,
    list: Vec<Recorded>,
    /// The places of lookups by their terms, constants and tables, with half of the hash of those:
    /// a table that grows does not read the lookups.
    known: HashTable<(u32, u32)>,
    hasher: DefaultHashBuilder,
}

/// The source and the weight of a term, whose level follows from the source. So does the earlier
/// bootstrap of an input, so that all inputs are of one kind here. From the least
/// significant bit: 32 bits for the place of the source, 8 for the index of the function, 2 for the
/// kind of the source, and 22 for the weight with its sign. Weights are within the noise level of
/// the parameter set, which is at most 2^16.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PackedTerm(u64);

impl PackedTerm {
    const OUTPUT: u32 = 32;
    const KIND: u32 = 40;
    const WEIGHT: u32 = 42;

    fn new(term: &Term) -> Self {
        let (kind, output, at) = match term.source {
            Source::Input(at) | Source::Bootstrapped(_, at) => (0, 0, at),
            Source::Lookup(at, output) => (1, output, at),
        };
        let source = u64::from(at) | u64::from(output) << Self::OUTPUT | kind << Self::KIND;
        let packed = Self(source | (i64::from(term.weight) as u64) << Self::WEIGHT);
        debug_assert_eq!(packed.unpacked().1, term.weight.into());
        packed
    }

    fn unpacked(self) -> (Source, i64) {
        let at = self.0 as u32;
        let source = match self.0 >> Self::KIND & 3 {
            0 => Source::Input(at),
            _ => Source::Lookup(at, (self.0 >> Self::OUTPUT) as u8),
        };
        (source, self.0 as i64 >> Self::WEIGHT)
    }
}

/// All of a lookup but its terms, in 20 bytes.
#[repr(C, packed(4))]
struct Recorded {
    constant: i64,
    /// The place after the last term; the first is where those of the lookup before it end.
    end: u32,
    table: u32,
    depth: u32,
}

/// One lookup.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'l> {
    terms: &'l [PackedTerm],
    pub(super) constant: i64,
    pub(super) table: u32,
    /// The largest number of lookups one after the other up to this one.
    pub(super) depth: u32,
}

impl<'l> Lookup<'l> {
    /// The sources and weights of the terms.
    pub(super) fn terms(&self) -> impl Iterator<Item = (Source, i64)> + Clone + use<'l> {
        self.terms.iter().map(|term| term.unpacked())
    }

    /// The lookups among the sources.
    pub(super) fn lookups(&self) -> impl Iterator<Item = usize> + use<'l> {
        self.terms().filter_map(|(source, _)| source.lookup())
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.terms, self.constant, self.table) == (other.terms, other.constant, other.table)
    }
}

impl Hash for Lookup<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for term in self.terms {
            state.write_u64(term.0);
        }
        state.write_i64(self.constant);
        state.write_u32(self.table);
    }
}

impl Lookups {
    /// The number of lookups.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The lookup at a place, which must be there.
    pub(super) fn at(&self, place: usize) -> Lookup<'_> {
        lookup_at(&self.terms, &self.list, place)
    }

    /// Returns the place of a lookup of these terms, which are those of a block within the noise
    /// level of the parameter set: of one that is recorded, if there is the same.
    pub(super) fn place(&mut self, terms: &[Term], constant: i64, table: u32) -> u32 {
        let first = self.terms.len();
        self.terms.extend(terms.iter().map(PackedTerm::new));
        let depths = terms.iter().filter_map(|term| term.source.lookup());
        let depth = depths.map(|at| self.list[at].depth).max();
        let new = Lookup {
            terms: &self.terms[first..],
            constant,
            table,
            depth: 1 + depth.unwrap_or(0),
        };
        let half = self.hasher.hash_one(new) as u32;
        let is_same = |&(other, place): &(u32, u32)| {
            other == half && lookup_at(&self.terms, &self.list, place as usize).is_same(&new)
        };
        let place = self.list.len() as u32;
        let known = self
            .known
            .entry(spread(half), is_same, |&(half, _)| spread(half));
        match known {
            Entry::Occupied(known) => {
                let (_, known) = *known.get();
                self.terms.truncate(first);
                known
            }
            Entry::Vacant(unknown) => {
                unknown.insert((half, place));
                let depth = new.depth;
                self.list.push(Recorded {
                    constant,
                    end: self.terms.len() as u32,
                    table,
                    depth,
                });
                place
            }
        }
    }
}

fn lookup_at<'l>(terms: &'l [PackedTerm], list: &'l [Recorded], place: usize) -> Lookup<'l> {
    let first = place.checked_sub(1).map_or(0, |before| list[before].end);
    let Recorded {
        constant,
        end,
        table,
        depth,
    } = list[place];
    Lookup {
        terms: &terms[first as usize..end as usize],
        constant,
        table,
        depth,
    }
}

/// A hash with half of its bits known: the table uses the upper ones, too.
fn spread(half: u32) -> u64 {
    u64::from(half) << 32 | u64::from(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(source: Source, weight: i32) -> Term {
        Term {
            source,
            weight,
            level: 1,
        }
    }

    #[test]
    fn terms_come_back_from_their_eight_bytes() {
        let most = 1 << 16;
        for weight in [1, -1, 3, -4, most, -most] {
            for at in [0, 1, u32::MAX] {
                let outputs = [0, 1, u8::MAX].map(|output| Source::Lookup(at, output));
                for source in outputs.into_iter().chain([Source::Input(at)]) {
                    let packed = PackedTerm::new(&term(source, weight));
                    assert_eq!(packed.unpacked(), (source, weight.into()));
                }
                let bootstrapped = PackedTerm::new(&term(Source::Bootstrapped(7, at), weight));
                assert_eq!(bootstrapped.unpacked(), (Source::Input(at), weight.into()));
            }
        }
    }

    #[test]
    fn only_equal_lookups_share_a_place() {
        let mut lookups = Lookups::default();
        let input = term(Source::Input(0), 1);
        assert_eq!(lookups.place(&[input], 0, 0), 0);
        let output = term(Source::Lookup(0, 0), 1);
        let different: [(&[Term], i64, u32); 7] = [
            (&[input], 0, 1),
            (&[input], 1, 0),
            (&[term(Source::Input(0), -1)], 0, 0),
            (&[term(Source::Input(1), 1)], 0, 0),
            (&[output], 0, 0),
            (&[term(Source::Lookup(0, 1), 1)], 0, 0),
            (&[input, output], 0, 0),
        ];
        for round in 0..2 {
            for (place, &(terms, constant, table)) in (1..).zip(&different) {
                assert_eq!(lookups.place(terms, constant, table), place, "{round}");
            }
        }
        assert_eq!(lookups.len(), 1 + different.len());
        let last = lookups.at(7);
        let terms: Vec<_> = last.terms().collect();
        assert_eq!(terms, [(input.source, 1), (output.source, 1)]);
        assert_eq!((last.depth, lookups.at(1).depth), (2, 1));
    }
}
