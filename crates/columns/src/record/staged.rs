//! Values that are computed before the circuit.

use std::rc::Rc;

use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::circuit::Block;
use tfhe_sbc_engine::integer::{FheUint, IntegerError, Width};

use super::{Recorder, Recording, Values, extreme_of};
use crate::compact::parts::{Lookups, Part};
use crate::compact::plan::{Signs, Way};
use crate::node::Kind;

impl Recorder<'_> {
    /// The values of a node of this kind that is computed before the circuit, in codes of this width.
    pub(super) fn staged(&self, kind: Kind, way: &Way, width: Width) -> Recording {
        let circuit = self.circuit;
        Ok(match way {
            // It is no part of the circuit.
            Way::Sum(_) => return Err(AnalyticsError::NoRows),
            Way::Signs(signs) => {
                let bits = self.bits_of(signs)?.into_iter();
                let truths = bits.map(|bit| circuit.truth(bit));
                Values::Truths(truths.collect::<Result<_, _>>()?)
            }
            Way::Digits(part) if kind == Kind::Truth => {
                let bits = owned(self.part(*part)?).into_iter().flatten();
                let truths = bits.map(|bit| circuit.truth(bit));
                Values::Truths(truths.collect::<Result<_, _>>()?)
            }
            Way::Digits(part) => {
                let digits = owned(self.part(*part)?).into_iter();
                let codes = digits.map(|digits| circuit.integer_of_digits(digits, width));
                Values::Codes(codes.collect::<Result<_, _>>()?)
            }
            Way::Extremes(part) => {
                let digits = owned(self.part(*part)?).into_iter();
                let codes = digits.map(|digits| circuit.integer_of_digits(digits, width));
                let codes: Vec<FheUint> = codes.collect::<Result<_, _>>()?;
                let order = self.plan.parts.get(*part).and_then(Part::order);
                let order = order.ok_or(AnalyticsError::NoRows)?;
                Values::Codes(vec![extreme_of(circuit, order, &codes)?])
            }
            Way::Groups(groups) => {
                let each = Width::new(groups.bits)?;
                let digits = owned(self.part(groups.part)?).into_iter();
                let mut sums = digits.map(|digits| {
                    let sum: FheUint = circuit.integer_of_digits(digits, each)?;
                    circuit.cast(&sum, width)
                });
                let codes = groups.counts.iter().map(|count| {
                    let sums = sums.by_ref().take(*count);
                    let sums: Vec<FheUint> = sums.collect::<Result<_, IntegerError>>()?;
                    let sum = circuit.propagate(&circuit.sum(&sums)?)?;
                    circuit.cast(&sum, width)
                });
                Values::Codes(codes.collect::<Result<_, IntegerError>>()?)
            }
        })
    }

    /// The truth values that are signs, or the differences of two.
    fn bits_of(&self, signs: &Signs) -> Result<Vec<Block>, AnalyticsError> {
        let below = self.part(signs.below)?;
        let below = below.iter().flatten();
        let bits: Vec<Block> = match signs.except {
            None => below.cloned().collect(),
            Some(except) => {
                let except = self.part(except)?;
                // Both are the same number where both hold, so the difference is 0 or 1.
                let both = below.zip(except.iter().flatten());
                both.map(|(below, except)| (below - except).known_in(0, 1))
                    .collect()
            }
        };
        Ok(match signs.negated {
            false => bits,
            true => bits.iter().map(|bit| &Block::clear(1) - bit).collect(),
        })
    }

    /// The digits, or the sign, of each value of a part of the plan.
    fn part(&self, number: usize) -> Result<Rc<Vec<Vec<Block>>>, AnalyticsError> {
        if let Some(known) = self.parts.borrow().get(&number) {
            return Ok(Rc::clone(known));
        }
        let own = self.stage.blocks(self.circuit, self.plan, number);
        let own = own.map_err(IntegerError::from)?;
        let part = self.plan.parts.get(number).ok_or(AnalyticsError::NoRows)?;
        let blocks = part.joined(number, own, |other, value| {
            let other = self.part(other)?;
            other.get(value).cloned().ok_or(AnalyticsError::NoRows)
        })?;
        let blocks = Rc::new(blocks);
        // Several comparisons have the same signs.
        if part.is_shared || matches!(part.lookups, Lookups::Sign(_)) {
            self.parts.borrow_mut().insert(number, Rc::clone(&blocks));
        }
        Ok(blocks)
    }
}

/// The blocks of a part, without a copy if nobody else needs them.
fn owned(blocks: Rc<Vec<Vec<Block>>>) -> Vec<Vec<Block>> {
    Rc::unwrap_or_clone(blocks)
}
