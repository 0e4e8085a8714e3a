//! The part of a computation that comes before its circuit: sums on polynomials, signs, digits.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit, CircuitError};
use tfhe_sbc_engine::compact::{CompactDigits, CompactEvaluateError};

use super::parts::{Lookups, Part};
use super::plan::{Plan, Way};
use super::rehearsed::rehearse;
use super::values::{self, CompactValues};
use crate::error::Error;
use crate::node::Node;

/// What is computed before the circuit, or stand-ins for it.
pub(crate) enum Stage {
    /// Results on ciphertexts.
    Computed(Computed),
    /// Stand-ins whose values are computed in the clear.
    StandIns,
}

/// Results on ciphertexts.
pub(crate) struct Computed {
    /// The signs or digits of each part of the plan, until the circuit takes them.
    found: RefCell<Vec<Found>>,
    sums: HashMap<*const Node, Arc<CompactValues>>,
}

/// The signs or digits of the values of a part.
enum Found {
    Signs(Vec<LweCiphertext<u64>>),
    Digits(Vec<CompactDigits>),
    /// The circuit has it.
    Taken,
}

impl Computed {
    /// Computes what a plan has before its circuit. `go_on` is called again and again.
    ///
    /// # Errors
    /// Columns without ciphertexts, and what `go_on` returns.
    pub(crate) fn new(
        evaluator: &Evaluator<'_, u64>,
        plan: &Plan,
        go_on: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let parameters = evaluator.parameters();
        let wanted = || go_on().is_ok();
        let find = |part: &Part| {
            let mut values = Vec::with_capacity(part.count());
            for (linear, rows) in part.own() {
                let some = values::evaluate_extracted(parameters, &linear, rows, part.bits, go_on);
                values.extend(some?);
            }
            let found = match &part.lookups {
                Lookups::Sign(chunks) => {
                    let spare = part.plaintext_bits() - part.bits;
                    for value in &mut values {
                        value.mul_assign(1 << spare);
                    }
                    let signs = evaluator.compact_signs(&values, chunks, &wanted);
                    signs.map(Found::Signs)
                }
                Lookups::Digits(plan) => {
                    let digits = evaluator.compact_digits(&values, plan, &wanted);
                    digits.map(Found::Digits)
                }
                Lookups::Extremes(extremes) => {
                    let digits = evaluator.compact_extremes(&values, &extremes.plan, &wanted);
                    digits.map(Found::Digits)
                }
            };
            found.map_err(|error| or_cancelled(error, go_on))
        };
        let found = plan.parts.iter().map(find).collect::<Result<_, Error>>()?;
        let mut sums = HashMap::new();
        for node in &plan.order {
            if let Some(Way::Sum(parts)) = plan.way(node) {
                let (rows, bits) = (node.len(), node.bits());
                let sum = values::evaluate_parts(parameters, parts, rows, bits, go_on)?;
                sums.insert(Arc::as_ptr(node), Arc::new(sum));
            }
        }
        Ok(Self {
            found: RefCell::new(found),
            sums,
        })
    }

    /// The values of a node that is added up on polynomials.
    pub(crate) fn sum(&self, node: &Arc<Node>) -> Option<&Arc<CompactValues>> {
        self.sums.get(&Arc::as_ptr(node))
    }
}

/// The error of `go_on`, if that is why an evaluation stopped.
fn or_cancelled(error: CompactEvaluateError, go_on: &dyn Fn() -> Result<(), Error>) -> Error {
    match go_on() {
        Err(called_off) => called_off,
        Ok(()) => Error::Compact(error),
    }
}

impl Stage {
    /// The digits, or the sign, of each value that is found for a part of a plan, or of each group of them, as blocks of `circuit`.
    pub(crate) fn blocks(
        &self,
        circuit: &Circuit,
        plan: &Plan,
        number: usize,
    ) -> Result<Vec<Vec<Block>>, CircuitError> {
        if let Self::Computed(computed) = self {
            let mut found = computed.found.borrow_mut();
            let found = found
                .get_mut(number)
                .map(|found| std::mem::replace(found, Found::Taken));
            return match found {
                Some(Found::Signs(signs)) => {
                    let signs = signs.into_iter();
                    let bits = signs.map(|sign| circuit.bootstrapped_inputs(vec![(sign, 1)]));
                    bits.collect()
                }
                Some(Found::Digits(digits)) => {
                    let digits = digits.into_iter();
                    let blocks = digits.map(|digits| circuit.compact_digits(digits));
                    blocks.collect()
                }
                Some(Found::Taken) | None => Ok(Vec::new()),
            };
        }
        let Some(part) = plan.parts.get(number) else {
            return Ok(Vec::new());
        };
        let mut blocks = Vec::with_capacity(part.count());
        let digits = |value: &u64, plan| circuit.compact_digits_stand_in(*value, plan);
        for (linear, rows) in part.own() {
            let values = rehearse(&linear, rows);
            for value in &values {
                blocks.push(match &part.lookups {
                    Lookups::Sign(_) => {
                        let is_negative = (*value as i64) < 0;
                        circuit.bootstrapped_stand_ins(&[(u64::from(is_negative), 1)])?
                    }
                    Lookups::Digits(plan) => digits(value, plan)?,
                    Lookups::Extremes(_) => break,
                });
            }
            if let Lookups::Extremes(extremes) = &part.lookups {
                for value in &extremes.of_groups(&values) {
                    blocks.push(digits(value, extremes.plan.digits())?);
                }
            }
        }
        Ok(blocks)
    }
}
