//! The part of a computation that comes before its circuit: sums on polynomials, signs, digits.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit, CircuitError};
use tfhe_sbc_engine::compact::{CompactDigits, CompactEvaluateError};

use super::linear::Linear;
use super::plan::{Plan, Sign, Signs, Way};
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
    signs: Vec<Vec<LweCiphertext<u64>>>,
    /// The digits of each row, or of each group. The circuit takes them.
    digits: RefCell<HashMap<*const Node, Vec<CompactDigits>>>,
    sums: HashMap<*const Node, Arc<CompactValues>>,
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
        let extracted =
            |linear, rows, bits| values::evaluate_extracted(parameters, linear, rows, bits, go_on);
        let wanted = || go_on().is_ok();
        let signs = plan.signs.iter().map(|sign| {
            let Sign {
                linear,
                rows,
                bits,
                chunks,
            } = sign;
            let mut values = extracted(linear, *rows, *bits)?;
            let spare = linear.plaintext_bits() - bits;
            for value in &mut values {
                value.mul_assign(1 << spare);
            }
            let signs = evaluator.compact_signs(&values, chunks, &wanted);
            signs.map_err(|error| or_cancelled(error, go_on))
        });
        let signs = signs.collect::<Result<_, Error>>()?;
        let (mut digits, mut sums) = (HashMap::new(), HashMap::new());
        for node in &plan.order {
            let (values, plan) = match plan.way(node) {
                Some(Way::Sum(parts)) => {
                    let (rows, bits) = (node.len(), node.bits());
                    let sum = values::evaluate_parts(parameters, parts, rows, bits, go_on)?;
                    sums.insert(Arc::as_ptr(node), Arc::new(sum));
                    continue;
                }
                Some(Way::Digits(digits)) => {
                    let values = extracted(&digits.linear, node.len(), node.bits())?;
                    (values, &digits.plan)
                }
                Some(Way::Groups(groups)) => {
                    let mut values = Vec::with_capacity(groups.count());
                    for sum in groups.sums.iter().flatten() {
                        values.extend(extracted(sum, 1, groups.bits)?);
                    }
                    (values, &groups.plan)
                }
                Some(Way::Signs(_) | Way::Same(_)) | None => continue,
            };
            let found = evaluator.compact_digits(&values, plan, &wanted);
            let found = found.map_err(|error| or_cancelled(error, go_on))?;
            digits.insert(Arc::as_ptr(node), found);
        }
        Ok(Self {
            signs,
            digits: RefCell::new(digits),
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
    /// The truth values of a node, as blocks of `circuit`.
    pub(crate) fn truths(
        &self,
        circuit: &Circuit,
        plan: &Plan,
        signs: &Signs,
    ) -> Result<Vec<Block>, CircuitError> {
        let below = self.sign(circuit, plan, signs.below)?;
        let bits = match signs.except {
            None => below,
            Some(except) => {
                let except = self.sign(circuit, plan, except)?;
                // Both are the same number where both hold, so the difference is 0 or 1.
                let both = below.iter().zip(&except);
                both.map(|(below, except)| (below - except).known_in(0, 1))
                    .collect()
            }
        };
        Ok(match signs.negated {
            false => bits,
            true => bits.iter().map(|bit| &Block::clear(1) - bit).collect(),
        })
    }

    fn sign(
        &self,
        circuit: &Circuit,
        plan: &Plan,
        number: usize,
    ) -> Result<Vec<Block>, CircuitError> {
        match self {
            Self::Computed(computed) => {
                let bits = computed.signs.get(number).into_iter().flatten();
                bits.map(|bit| circuit.bootstrapped_input(bit.clone(), 1))
                    .collect()
            }
            Self::StandIns => {
                let Some(sign) = plan.signs.get(number) else {
                    return Ok(Vec::new());
                };
                let values = rehearse(&sign.linear, sign.rows);
                let bits = values
                    .into_iter()
                    .map(|value| u64::from((value as i64) < 0));
                bits.map(|bit| {
                    let one = circuit.bootstrapped_stand_ins(&[(bit, 1)])?;
                    Ok(one.into_iter().next().unwrap_or_else(|| Block::clear(0)))
                })
                .collect()
            }
        }
    }

    /// The digits of each row of a node, or of each group, as blocks of `circuit`.
    pub(crate) fn digits(
        &self,
        circuit: &Circuit,
        node: &Arc<Node>,
        way: &Way,
    ) -> Result<Vec<Vec<Block>>, CircuitError> {
        if let Self::Computed(computed) = self {
            let digits = computed.digits.borrow_mut().remove(&Arc::as_ptr(node));
            let digits = digits.into_iter().flatten();
            return digits
                .map(|digits| circuit.compact_digits(digits))
                .collect();
        }
        let (plan, values) = match way {
            Way::Digits(digits) => (&digits.plan, rehearse(&digits.linear, node.len())),
            Way::Groups(groups) => {
                let sum = |sum: &Linear| rehearse(sum, 1).first().copied();
                let sums = groups.sums.iter().flatten();
                (&groups.plan, sums.filter_map(sum).collect())
            }
            Way::Sum(_) | Way::Signs(_) | Way::Same(_) => return Ok(Vec::new()),
        };
        let stand_in = |value: &u64| circuit.compact_digits_stand_in(*value, plan);
        values.iter().map(stand_in).collect()
    }
}
