//! The lookups of a circuit, each recorded once.
//!
//! A circuit of a year of readings has millions of them: their terms are in one list, and what is
//! known already is found by the places of lookups rather than by copies of them.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::block::{Source, Term};

/// Recorded lookups, each after those that it depends on.
#[derive(Default)]
pub(super) struct Lookups {
    terms: Vec<Term>,
    list: Vec<Recorded>,
    /// The places of lookups by their terms, constants and tables, with half of the hash of those:
    /// a table that grows does not read the lookups.
    known: HashTable<(u32, u32)>,
    hasher: DefaultHashBuilder,
}

struct Recorded {
    /// The place of the first term.
    first: u32,
    /// The number of terms.
    count: u32,
    constant: i64,
    table: u32,
    depth: u32,
}

/// One lookup.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'l> {
    pub(super) terms: &'l [Term],
    pub(super) constant: i64,
    pub(super) table: u32,
    /// The largest number of lookups one after the other up to this one.
    pub(super) depth: u32,
}

impl Hash for Lookup<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for term in self.terms {
            let (lookup, at) = match term.source {
                Source::Input(at) => (u64::MAX, at),
                Source::Lookup(at, output) => (u64::from(output), at),
            };
            // The level follows from the source.
            state.write_u64(lookup << 32 | u64::from(at));
            state.write_i64(term.weight);
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
        let Recorded {
            first,
            count,
            constant,
            table,
            depth,
        } = self.list[place];
        let first = first as usize;
        Lookup {
            terms: &self.terms[first..first + count as usize],
            constant,
            table,
            depth,
        }
    }

    /// Returns the place of a lookup of these terms, which are those of a block: of one that is
    /// recorded, if there is the same.
    pub(super) fn place(&mut self, terms: &[Term], constant: i64, table: u32) -> u32 {
        let depths = terms.iter().map(|term| match term.source {
            Source::Input(_) => 0,
            Source::Lookup(at, _) => self.list[at as usize].depth,
        });
        let depth = 1 + depths.max().unwrap_or(0);
        let new = Lookup {
            terms,
            constant,
            table,
            depth,
        };
        let half = self.hasher.hash_one(new) as u32;
        let same = |&(other, place): &(u32, u32)| {
            other == half && {
                let known = self.at(place as usize);
                (known.terms, known.constant, known.table) == (terms, constant, table)
            }
        };
        if let Some(&(_, known)) = self.known.find(spread(half), same) {
            return known;
        }
        let place = self.list.len() as u32;
        self.list.push(Recorded {
            first: self.terms.len() as u32,
            count: terms.len() as u32,
            constant,
            table,
            depth,
        });
        self.terms.extend_from_slice(terms);
        self.known
            .insert_unique(spread(half), (half, place), |&(half, _)| spread(half));
        place
    }
}

/// A hash with half of its bits known: the table uses the upper ones, too.
fn spread(half: u32) -> u64 {
    u64::from(half) << 32 | u64::from(half)
}
