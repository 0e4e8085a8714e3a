//! The tables of lookups: functions of the value of a block, placed so that one bootstrap
//! evaluates them, and the tables that take [sums](super::sums) apart.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::encoding::chunks::DigitLookup;
use tfhe_sbc_core::parameters::Parameters;

use super::short_list::ShortList;
use crate::chunk_table::{ChunkTable, view_offset};
use crate::lookup_table::LookupTable;

/// A function of the integers in an interval.
pub(super) type Function<'f> = &'f dyn Fn(i64) -> i64;

/// The identity of [`Functions`]: those with equal keys are the same. The first word is the number of
/// values, and the second one the number of plaintext bits of the results, whose unit is `2^-bits` of the torus. The
/// words of a function follow, in half units; with these, a function that the padding bit negates may have its middle
/// between two values. They are its middle, and for each value twice its result, minus the middle.
pub(super) type TableKey = ShortList<i64, 37>;

/// The words of a key before those of the functions.
const HEAD: usize = 2;

/// The functions or the digits that a lookup gives.
pub(super) enum Table {
    /// Functions of a block.
    Functions(Functions),
    /// Radix digits of a compact value.
    Chunk(DigitLookup),
}

/// The functions of a lookup, as functions of values in `[0, value_count)`, after the shift that
/// moves the interval of the block there.
pub(super) struct Functions {
    /// The words of the key.
    key: Box<[i64]>,
}

/// A table as a bootstrap takes it.
pub(super) struct Prepared {
    pub(super) polynomial: LookupTable<u64>,
    /// The torus element to add to the input.
    pub(super) input_offset: u64,
    /// The torus element to add to each output.
    pub(super) offsets: Vec<u64>,
}

/// The tables of a circuit, each once.
#[derive(Default)]
pub(super) struct Tables {
    list: Vec<Table>,
    /// The places of functions by their keys.
    known: HashTable<u32>,
    /// The places of lookups of radix digits.
    chunks: Vec<u32>,
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

    /// Returns the place of a lookup of radix digits.
    pub(super) fn place_chunk(&mut self, lookup: &DigitLookup) -> u32 {
        let is_same = |table: &Table| matches!(table, Table::Chunk(known) if known == lookup);
        // A circuit has a few of these for each form of sums, so that a search of all is short.
        let known = self
            .chunks
            .iter()
            .find(|at| is_same(&self.list[**at as usize]));
        known.copied().unwrap_or_else(|| {
            let place = self.list.len() as u32;
            self.list.push(Table::Chunk(lookup.clone()));
            self.chunks.push(place);
            place
        })
    }

    /// Returns the place of the functions of this key.
    pub(super) fn place(&mut self, key: &TableKey) -> u32 {
        let hash = |key: &[i64]| self.hasher.hash_one(key);
        let key_at = |place: &u32| match &self.list[*place as usize] {
            Table::Functions(functions) => &*functions.key,
            Table::Chunk(_) => &[],
        };
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
                let key = (**key).into();
                self.list.push(Table::Functions(Functions { key }));
                place
            }
        }
    }
}

/// One function.
struct Placed<'t> {
    halves: &'t [i64],
    middle: i64,
}

impl Table {
    /// The number of plaintext bits of the results: their unit is `2^-bits` of the torus.
    pub(super) fn plaintext_bits(&self, encoding: BlockEncoding) -> u32 {
        match self {
            Self::Functions(functions) => functions.plaintext_bits(),
            Self::Chunk(_) => encoding.plaintext_bits(),
        }
    }

    /// Returns what a bootstrap needs; `None` if the functions do not fit.
    pub(super) fn prepare(&self, parameters: &Parameters) -> Option<Prepared> {
        match self {
            Self::Functions(functions) => Some(Prepared {
                polynomial: functions.polynomial(parameters)?,
                input_offset: 0,
                offsets: functions.offsets().collect(),
            }),
            Self::Chunk(lookup) => {
                let ChunkTable { polynomial, offset } = ChunkTable::new(parameters, lookup)?;
                let coarseness_log2 = polynomial.coarseness_log2();
                Some(Prepared {
                    input_offset: view_offset(parameters, lookup.view, coarseness_log2),
                    offsets: vec![offset; polynomial.function_count()],
                    polynomial,
                })
            }
        }
    }
}

impl Functions {
    /// Returns the key of functions on an interval, given by the lists of their values
    /// there, with results of `plaintext_bits` bits. Several functions need as many places below the padding bit as they
    /// have values. A
    /// single function may have up to twice as many values if the sum of its values at arguments
    /// `block_modulus` apart is constant: where the padding bit is set, a table gives the negative,
    /// and half of the sum is added after the bootstrap.
    ///
    /// Returns `None` if the functions do not fit.
    pub(super) fn key<'v>(
        encoding: BlockEncoding,
        plaintext_bits: u32,
        functions: impl ExactSizeIterator<Item = &'v [i64]> + Clone,
    ) -> Option<TableKey> {
        let modulus = encoding.block_modulus() as usize;
        let span = functions.clone().next()?.len();
        let alone = functions.len() == 1 && span <= 2 * modulus;
        if !alone && span * functions.len() > modulus {
            return None;
        }
        let value_count = span.min(modulus);
        let mut key = TableKey::from_iter([value_count as i64, plaintext_bits.into()]);
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

    fn plaintext_bits(&self) -> u32 {
        self.key[1] as u32
    }

    fn placed(&self) -> impl ExactSizeIterator<Item = Placed<'_>> {
        let functions = self.key[HEAD..].chunks_exact(1 + self.value_count());
        functions.map(|words| Placed {
            middle: words[0],
            halves: &words[1..],
        })
    }

    /// Returns whether the functions have values at the shifted value `at`.
    pub(super) fn has(&self, encoding: BlockEncoding, at: i64) -> bool {
        let modulus = encoding.block_modulus() as i64;
        let value_count = self.value_count() as i64;
        match self.placed().len() {
            1 => (0..2 * modulus).contains(&at) && at % modulus < value_count,
            _ => (0..value_count).contains(&at),
        }
    }

    /// The values of its functions at a shifted value in `[0, 2·block_modulus)`.
    pub(super) fn look_up(&self, encoding: BlockEncoding, at: i64) -> impl Iterator<Item = i64> {
        let modulus = encoding.block_modulus() as i64;
        self.placed().map(move |f| {
            let halves = |at: i64| f.halves.get(at as usize).copied().unwrap_or(0);
            let turned = match at < modulus {
                true => halves(at),
                false => -halves(at - modulus),
            };
            (turned + f.middle) / 2
        })
    }

    /// The lookup table of the bootstrap; `None` if the functions do not fit.
    fn polynomial(&self, parameters: &Parameters) -> Option<LookupTable<u64>> {
        let count = self.value_count() as u64;
        let functions: Vec<Placed<'_>> = self.placed().collect();
        LookupTable::several(parameters, count, functions.len(), |at| {
            let halves = functions
                .get((at / count) as usize)
                .and_then(|f| f.halves.get((at % count) as usize));
            self.half_units(halves.copied().unwrap_or(0))
        })
    }

    /// The torus element to add to each output of the bootstrap.
    fn offsets(&self) -> impl Iterator<Item = u64> {
        self.placed().map(|f| self.half_units(f.middle))
    }

    /// The torus element of a number of half units.
    fn half_units(&self, halves: i64) -> u64 {
        (halves as u64) << (u64::BITS - self.plaintext_bits() - 1)
    }
}
