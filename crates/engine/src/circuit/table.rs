//! The tables of lookups: functions of the value of a block, placed so that one bootstrap
//! evaluates them.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::parameters::Parameters;

use super::short_list::ShortList;
use crate::lookup_table::LookupTable;

/// A function of the integers in an interval.
pub(super) type Function<'f> = &'f dyn Fn(i64) -> i64;

/// The identity of a [`Table`]: tables with equal keys are the same. The first word is the number of
/// values. The words of a function follow, in units of half a step of the encoding; with these, a
/// function that the padding bit negates may have its middle between two values. They are its middle,
/// and for each value twice its result, minus the middle.
pub(super) type TableKey = ShortList<i64, 36>;

/// The functions of a lookup, as functions of values in `[0, value_count)`, after the shift that
/// moves the interval of the block there.
pub(super) struct Table {
    /// The words of the key.
    key: Box<[i64]>,
}

/// The tables of a circuit, each once.
#[derive(Default)]
pub(super) struct Tables {
    list: Vec<Table>,
    /// The places of tables by their keys.
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Tables {
    /// The number of tables.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The table at a place, which must be there.
    pub(super) fn at(&self, place: u32) -> &Table {
        &self.list[place as usize]
    }

    /// Returns the place of the table of this key.
    pub(super) fn place(&mut self, key: &TableKey) -> u32 {
        let hash = |key: &[i64]| self.hasher.hash_one(key);
        let key_at = |place: &u32| &*self.list[*place as usize].key;
        let known = self.known.entry(
            hash(key),
            |place| *key_at(place) == **key,
            |place| hash(key_at(place)),
        );
        match known {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                let place = self.list.len() as u32;
                unknown.insert(place);
                self.list.push(Table {
                    key: (**key).into(),
                });
                place
            }
        }
    }
}

/// One function of a table.
struct Placed<'t> {
    halves: &'t [i64],
    middle: i64,
}

impl Table {
    /// Returns the key of the table of functions on an interval, given by the lists of their values
    /// there. Several functions need as many places below the padding bit as they have values. A
    /// single function may have up to twice as many values if the sum of its values at arguments
    /// `block_modulus` apart is constant: where the padding bit is set, a table gives the negative,
    /// and half of the sum is added after the bootstrap.
    ///
    /// Returns `None` if the functions do not fit.
    pub(super) fn key<'v>(
        encoding: BlockEncoding,
        functions: impl ExactSizeIterator<Item = &'v [i64]> + Clone,
    ) -> Option<TableKey> {
        let modulus = encoding.block_modulus() as usize;
        let span = functions.clone().next()?.len();
        let alone = functions.len() == 1 && span <= 2 * modulus;
        if !alone && span * functions.len() > modulus {
            return None;
        }
        let value_count = span.min(modulus);
        let mut key = TableKey::from_iter([value_count as i64]);
        for values in functions {
            let (below, above) = values.split_at(value_count);
            let middle = above.first().map_or(0, |turned| below[0] + turned);
            let mut turned = below.iter().zip(above);
            if turned.any(|(value, turned)| value + turned != middle) {
                return None;
            }
            key.push(middle);
            key.extend(below.iter().map(|value| 2 * value - middle));
        }
        Some(key)
    }

    fn value_count(&self) -> usize {
        self.key[0] as usize
    }

    fn functions(&self) -> impl ExactSizeIterator<Item = Placed<'_>> {
        let functions = self.key[1..].chunks_exact(1 + self.value_count());
        functions.map(|words| Placed {
            middle: words[0],
            halves: &words[1..],
        })
    }

    /// Returns whether the table has values at the shifted value `at`.
    pub(super) fn has(&self, encoding: BlockEncoding, at: i64) -> bool {
        let modulus = encoding.block_modulus() as i64;
        let value_count = self.value_count() as i64;
        match self.functions().len() {
            1 => (0..2 * modulus).contains(&at) && at % modulus < value_count,
            _ => (0..value_count).contains(&at),
        }
    }

    /// The values of its functions at a shifted value in `[0, 2·block_modulus)`.
    pub(super) fn look_up(&self, encoding: BlockEncoding, at: i64) -> impl Iterator<Item = i64> {
        let modulus = encoding.block_modulus() as i64;
        self.functions().map(move |f| {
            let halves = |at: i64| f.halves.get(at as usize).copied().unwrap_or(0);
            let turned = match at < modulus {
                true => halves(at),
                false => -halves(at - modulus),
            };
            (turned + f.middle) / 2
        })
    }

    /// The lookup table of the bootstrap; `None` if the functions do not fit.
    pub(super) fn polynomial(&self, parameters: &Parameters) -> Option<LookupTable<u64>> {
        let count = self.value_count() as u64;
        let functions: Vec<Placed<'_>> = self.functions().collect();
        LookupTable::several(parameters, count, functions.len(), |at| {
            let halves = functions
                .get((at / count) as usize)
                .and_then(|f| f.halves.get((at % count) as usize));
            half_steps(parameters, halves.copied().unwrap_or(0))
        })
    }

    /// The torus element to add to each output of the bootstrap.
    pub(super) fn offsets(&self, parameters: &Parameters) -> impl Iterator<Item = u64> {
        self.functions().map(|f| half_steps(parameters, f.middle))
    }
}

/// The torus element of a number of half steps.
fn half_steps(parameters: &Parameters, halves: i64) -> u64 {
    let half_step = u64::BITS - parameters.block_encoding().plaintext_bits() - 1;
    (halves as u64) << half_step
}
