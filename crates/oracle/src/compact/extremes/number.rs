//! Numbers of a plan: sums of values and of lookup results at the scales that views need.

use std::collections::BTreeSet;

use tfhe_sbc_core::encoding::chunks::{ExtremeFunction, ExtremeTerm};

/// A number that is a sum of values of the group and of lookup results.
#[derive(Clone)]
pub(super) struct Number {
    pub(super) values: Vec<i64>,
    pub(super) parts: Vec<Part>,
}

/// A summand that is known at some scales.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) factor: i64,
    /// The summand is a multiple of `2^first`.
    pub(super) first: u32,
    /// The results that are the summand, the largest unit first.
    pub(super) results: Vec<Scaled>,
}

/// A result of a lookup that is a number in units of `2^-unit_log2` of the torus.
#[derive(Clone, Copy)]
pub(super) struct Scaled {
    pub(super) unit_log2: u32,
    pub(super) lookup: usize,
    pub(super) function: usize,
}

impl Scaled {
    /// The result in units of `2^-wanted`, times a factor.
    pub(super) fn at(self, wanted: u32, factor: i64) -> ExtremeTerm {
        ExtremeTerm {
            lookup: self.lookup,
            function: self.function,
            factor: factor << (self.unit_log2 - wanted),
        }
    }
}

/// The result with the largest unit that is not above `2^-wanted`.
pub(super) fn serving(results: &[Scaled], wanted: u32) -> Option<Scaled> {
    let fine = results.iter().filter(|result| result.unit_log2 >= wanted);
    fine.copied().min_by_key(|result| result.unit_log2)
}

impl Number {
    pub(super) fn value(at: usize, rows: usize) -> Self {
        let mut values = vec![0; rows];
        values[at] = 1;
        Self {
            values,
            parts: Vec::new(),
        }
    }

    pub(super) fn with_parts(mut self, parts: Vec<Part>) -> Self {
        self.parts.extend(parts);
        self
    }

    /// The sum with a multiple of another number.
    pub(super) fn and(&self, other: &Self, factor: i64) -> Self {
        let values = self.values.iter().zip(&other.values);
        let more = other.parts.iter().map(|part| Part {
            factor: part.factor * factor,
            ..part.clone()
        });
        Self {
            values: values.map(|(a, b)| a + factor * b).collect(),
            parts: self.parts.iter().cloned().chain(more).collect(),
        }
    }
}

/// The input of a lookup.
#[derive(Clone)]
pub(super) struct Phase {
    pub(super) values: Vec<i64>,
    pub(super) results: Vec<ExtremeTerm>,
    pub(super) half_width: u64,
    pub(super) value_bits: u32,
}

impl Phase {
    pub(super) fn with(mut self, results: impl IntoIterator<Item = ExtremeTerm>) -> Self {
        self.results.extend(results);
        self
    }
}

/// The torus element of a number in units of `2^-unit_log2` of the torus; 0 of a multiple of the torus.
pub(super) fn torus(number: i64, unit_log2: u32) -> u64 {
    match unit_log2 {
        0 => 0,
        _ => (number as u64) << (u64::BITS - unit_log2),
    }
}

/// The function that is a bit in units of `2^-unit_log2` of the torus: 0 without the padding bit and 1 with it.
pub(super) fn bit_function(unit_log2: u32, value_bits: u32) -> ExtremeFunction {
    let half = torus(1, unit_log2 + 1);
    ExtremeFunction {
        values: vec![half.wrapping_neg(); 1 << value_bits],
        offset: half,
    }
}

/// The scales at which a multiple of `2^first` is put out for views with these bounds: a finer one serves those that are at
/// most `2^gap` above it.
pub(super) fn scales(bounds: &BTreeSet<u32>, first: u32, gap: u32) -> Vec<u32> {
    let mut scales: Vec<u32> = Vec::new();
    for &bound in bounds.iter().rev().filter(|&&bound| bound > first) {
        if scales.last().is_none_or(|&finer| finer - bound > gap) {
            scales.push(bound);
        }
    }
    scales
}
