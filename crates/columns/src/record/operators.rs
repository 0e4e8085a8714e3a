//! Operators of several nodes, row by row, and histograms.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::integer::{Comparison, FheBool, FheUint, IntegerError, Width};

use super::{Recorder, Recording, Values, all_codes, at};
use crate::node::Node;

impl Recorder<'_> {
    /// An operator on the truth values that several nodes have in each row.
    pub(super) fn row_by_row(
        &self,
        nodes: &[Arc<Node>],
        rows: usize,
        operator: impl Fn(Vec<&FheBool>) -> Result<FheBool, IntegerError>,
    ) -> Recording {
        let lists = nodes.iter().map(|node| self.get(node));
        let lists: Vec<Rc<Values>> = lists.collect::<Result<_, _>>()?;
        let lists = lists.iter().map(|values| match &**values {
            Values::Truths(truths) => Ok(&truths[..]),
            Values::Codes(_) => Err(AnalyticsError::Integer(IntegerError::Digits)),
        });
        let lists: Vec<&[FheBool]> = lists.collect::<Result<_, _>>()?;
        let row = |row: usize| operator(lists.iter().map(|truths| at(truths, row)).collect());
        let met = (0..rows).map(row).collect::<Result<Vec<_>, _>>()?;
        Ok(Values::Truths(met))
    }

    pub(super) fn compare(
        &self,
        comparison: Comparison,
        a: &[FheUint],
        b: &[FheUint],
        rows: usize,
    ) -> Result<Vec<FheBool>, AnalyticsError> {
        let compared = self.circuit.side_by_side(rows, |circuit| {
            let compare = |row| circuit.compare(comparison, at(a, row), at(b, row));
            (0..rows).map(compare).collect::<Result<Vec<_>, _>>()
        });
        Ok(compared?)
    }

    pub(super) fn linear(
        &self,
        terms: &[(Arc<Node>, i64)],
        shift: u64,
        rows: usize,
        width: Width,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let parts = terms.iter().map(|(node, _)| self.get(node));
        let parts: Vec<Rc<Values>> = parts.collect::<Result<_, _>>()?;
        let weights: Vec<i64> = terms.iter().map(|&(_, weight)| weight).collect();
        let parts = all_codes(&parts)?;
        self.circuit.side_by_side(rows, |circuit| {
            let row = |row: usize| {
                let codes: Vec<FheUint> = parts.iter().map(|part| at(part, row).clone()).collect();
                let sum = match (&weights[..], &codes[..]) {
                    ([1], [code]) => code.clone(),
                    _ => circuit.linear_score(&codes, &weights, 0)?.above_lowest,
                };
                let sum: FheUint = circuit.cast(&sum, width)?;
                if shift == 0 {
                    return Ok(sum);
                }
                let sum = circuit.add(&sum, &circuit.clear(shift, width))?;
                Ok(circuit.propagate(&sum)?)
            };
            (0..rows).map(row).collect()
        })
    }

    pub(super) fn histogram(&self, of: &Arc<Node>, bins: &[Range<u64>], width: Width) -> Recording {
        let filled = bins.iter().filter(|bin| !bin.is_empty());
        let filled: Vec<_> = filled
            .map(|bin| i128::from(bin.start)..i128::from(bin.end))
            .collect();
        let counts = match filled.is_empty() {
            true => Vec::new(),
            false => self.codes(of, |codes| self.circuit.histogram(codes, &filled))?,
        };
        let mut counts = counts.into_iter();
        let none = || self.circuit.clear(0u64, width);
        let counts = bins.iter().map(|bin| match bin.is_empty() {
            true => none(),
            false => counts.next().unwrap_or_else(none),
        });
        Ok(Values::Codes(counts.collect()))
    }
}
