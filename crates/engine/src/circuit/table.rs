//! The tables of lookups: functions of the value of a block, placed so that one bootstrap
//! evaluates them.

use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::parameters::Parameters;

use crate::lookup_table::LookupTable;

/// A function of the integers in an interval.
pub(super) type Function<'f> = &'f dyn Fn(i64) -> i64;

/// The identity of a [`Table`]: tables with equal keys are the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct TableKey {
    value_count: i64,
    functions: Vec<Placed>,
}

/// The functions of a lookup, as functions of values in `[0, value_count)`, after the shift that
/// moves the interval of the block there.
pub(super) struct Table {
    key: TableKey,
}

/// One function, in units of half a step of the encoding. With these, a function that the padding
/// bit negates may have its middle between two values.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Placed {
    /// Twice each value, minus `middle`.
    halves: Vec<i64>,
    middle: i64,
}

impl Table {
    /// Returns the key of the table of functions on `[low, low + span)`. Several functions need
    /// `span` values each below the padding bit. A single function may have up to twice as many
    /// values if the sum of its values at arguments `block_modulus` apart is constant: where the
    /// padding bit is set, a table gives the negative, and half of the sum is added after the
    /// bootstrap.
    ///
    /// Returns `None` if the functions do not fit.
    pub(super) fn key(
        encoding: BlockEncoding,
        (low, span): (i64, i64),
        functions: &[Function<'_>],
    ) -> Option<TableKey> {
        let modulus = encoding.block_modulus() as i64;
        let alone = functions.len() == 1 && span <= 2 * modulus;
        if !alone && span * functions.len() as i64 > modulus {
            return None;
        }
        let place = |f: &Function<'_>| {
            let value = |at: i64| f(low + at);
            let middle = if span > modulus {
                value(0) + value(modulus)
            } else {
                0
            };
            let negated = (modulus..span).all(|at| value(at - modulus) + value(at) == middle);
            negated.then(|| Placed {
                halves: (0..span.min(modulus))
                    .map(|at| 2 * value(at) - middle)
                    .collect(),
                middle,
            })
        };
        Some(TableKey {
            value_count: span.min(modulus),
            functions: functions.iter().map(place).collect::<Option<_>>()?,
        })
    }

    pub(super) fn new(key: TableKey) -> Self {
        Self { key }
    }

    /// Whether the table has values at the shifted value `at`.
    pub(super) fn has(&self, encoding: BlockEncoding, at: i64) -> bool {
        let modulus = encoding.block_modulus() as i64;
        match self.key.functions.len() {
            1 => (0..2 * modulus).contains(&at) && at % modulus < self.key.value_count,
            _ => (0..self.key.value_count).contains(&at),
        }
    }

    /// The values of its functions at a shifted value in `[0, 2·block_modulus)`.
    pub(super) fn look_up(&self, encoding: BlockEncoding, at: i64) -> impl Iterator<Item = i64> {
        let modulus = encoding.block_modulus() as i64;
        self.key.functions.iter().map(move |f| {
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
        let count = self.key.value_count as u64;
        let functions = &self.key.functions;
        LookupTable::several(parameters, count, functions.len(), |at| {
            let halves = functions
                .get((at / count) as usize)
                .and_then(|f| f.halves.get((at % count) as usize));
            half_steps(parameters, halves.copied().unwrap_or(0))
        })
    }

    /// The torus element to add to each output of the bootstrap.
    pub(super) fn offsets(&self, parameters: &Parameters) -> impl Iterator<Item = u64> {
        self.key
            .functions
            .iter()
            .map(|f| half_steps(parameters, f.middle))
    }
}

/// The torus element of a number of half steps.
fn half_steps(parameters: &Parameters, halves: i64) -> u64 {
    let half_step = u64::BITS - parameters.block_encoding().plaintext_bits() - 1;
    (halves as u64) << half_step
}
