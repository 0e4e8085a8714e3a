//! Radix digits.

use rayon::prelude::*;
use tfhe_sbc_core::encoding::chunks::{ChunkError, DigitLookup, DigitOutput, DigitPlan};
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;

use super::{CompactEvaluateError, Inputs, see};
use crate::bootstrap::{Evaluator, Job, round_len};
use crate::chunk_table::ChunkTable;
use crate::circuit::{Block, Circuit, CircuitError};

/// The number of bootstraps of [`Evaluator::compact_digits`] for one value.
pub fn digit_bootstraps(plan: &DigitPlan) -> u64 {
    plan.lookups().len() as u64
}

/// The radix digits of a compact value, in parts: a digit is the sum of one output or two.
pub struct CompactDigits {
    digit_count: usize,
    /// The outputs of every bootstrap.
    bootstraps: Vec<Vec<(DigitOutput, LweCiphertext<u64>)>>,
}

impl CompactDigits {
    /// The digits in the results of the lookups of a plan.
    pub(super) fn new(plan: &DigitPlan, results: Vec<Vec<LweCiphertext<u64>>>) -> Self {
        let bootstraps = plan.lookups().iter().zip(results);
        let bootstraps = bootstraps.map(|(lookup, results)| {
            let outputs = lookup.outputs.iter().copied();
            outputs.zip(results).collect()
        });
        Self {
            digit_count: plan.digit_count(),
            bootstraps: bootstraps.collect(),
        }
    }

    /// The number of digits.
    pub fn digit_count(&self) -> usize {
        self.digit_count
    }

    /// The bootstrap outputs whose sum is a digit. They are of different bootstraps.
    pub fn parts(&self, digit: usize) -> impl Iterator<Item = &LweCiphertext<u64>> {
        let outputs = self.bootstraps.iter().flatten();
        outputs.filter_map(move |(output, lwe)| (output.digit == digit).then_some(lwe))
    }
}

impl Evaluator<'_, u64> {
    /// Returns the radix digits of unsigned numbers. `values` are ciphertexts under the big key. Each
    /// holds a number as the plan has it: below as many clear bits of headroom, at the top of the
    /// torus. The plan must be made for the block encoding of the key's parameters, or the digits are
    /// wrong. One value takes [`digit_bootstraps`] bootstraps.
    ///
    /// All outputs are kept: some 160 KiB for a value of 12 bits at `N` = 2048.
    ///
    /// `go_on` is called before every round of bootstraps, and the evaluation stops if it returns
    /// false. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// If the parameter set does not carry radix blocks, a table has no room for its functions, a
    /// ciphertext is not under the big key, or `go_on` returned false.
    pub fn compact_digits(
        &self,
        values: &[LweCiphertext<u64>],
        plan: &DigitPlan,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<CompactDigits>, CompactEvaluateError> {
        self.check_compact(values)?;
        let tables = tables_of(self.parameters(), plan)?;
        let mut digits = Vec::with_capacity(values.len());
        for some in values.chunks(round_len()) {
            digits.extend(self.digits_of_round(some, (plan, &tables), go_on, None)?);
        }
        Ok(digits)
    }

    /// Evaluates [`compact_digits`](Self::compact_digits) and returns the ciphertexts before every lookup
    /// instead, lookup by lookup, for measurements of their noise.
    ///
    /// # Errors
    /// Those of [`compact_digits`](Self::compact_digits).
    pub fn compact_digit_inputs(
        &self,
        values: &[LweCiphertext<u64>],
        plan: &DigitPlan,
    ) -> Result<Vec<Vec<LweCiphertext<u64>>>, CompactEvaluateError> {
        self.check_compact(values)?;
        let tables = tables_of(self.parameters(), plan)?;
        let mut inputs = Inputs::new(plan.lookups().len());
        for some in values.chunks(round_len()) {
            self.digits_of_round(some, (plan, &tables), &|| true, Some(&mut inputs))?;
        }
        Ok(inputs.finish())
    }

    /// The digits of the values of one round. `inputs` receives those of every lookup.
    fn digits_of_round(
        &self,
        values: &[LweCiphertext<u64>],
        (plan, tables): (&DigitPlan, &[ChunkTable]),
        go_on: &dyn Fn() -> bool,
        mut inputs: Option<&mut Inputs>,
    ) -> Result<Vec<CompactDigits>, CompactEvaluateError> {
        let mut digits: Vec<CompactDigits> = values
            .iter()
            .map(|_| CompactDigits {
                digit_count: plan.digit_count(),
                bootstraps: Vec::with_capacity(plan.lookups().len()),
            })
            .collect();
        for (lookup, table) in plan.lookups().iter().zip(tables) {
            if !go_on() {
                return Err(CompactEvaluateError::Cancelled);
            }
            let jobs: Vec<Job<'_, u64, u64>> = values
                .par_iter()
                .zip(&digits)
                .map(|(value, done)| Job {
                    input: self.input_of(value, lookup, done),
                    table: &table.polynomial,
                })
                .collect();
            let mut outputs = self.bootstrap_all(&jobs).into_iter();
            for done in &mut digits {
                let outputs = lookup.outputs.iter().zip(outputs.by_ref());
                let outputs = outputs.map(|(&part, mut output)| {
                    output.add_plaintext(table.offset);
                    (part, output)
                });
                done.bootstraps.push(outputs.collect());
            }
            if let Some(inputs) = &mut inputs {
                inputs.keep(jobs);
            }
        }
        Ok(digits)
    }

    /// The view of a value for a lookup, less the top bits that are done.
    fn input_of(
        &self,
        value: &LweCiphertext<u64>,
        lookup: &DigitLookup,
        done: &CompactDigits,
    ) -> LweCiphertext<u64> {
        let parameters = self.parameters();
        let mut input = see(parameters, value, lookup.view, lookup.interleaved_log2());
        for bit in &lookup.subtracted {
            let outputs = done.bootstraps.get(bit.lookup).into_iter().flatten();
            for (_, output) in outputs {
                input.add_scaled(output, -(1 << bit.factor_log2));
            }
        }
        input
    }
}

/// The tables of all lookups of a plan.
fn tables_of(
    parameters: &Parameters,
    plan: &DigitPlan,
) -> Result<Vec<ChunkTable>, CompactEvaluateError> {
    let tables = plan.lookups().iter().map(|lookup| {
        let too_long = ChunkError::Size(lookup.view.unit_log2);
        ChunkTable::new(parameters, lookup).ok_or(CompactEvaluateError::Chunks(too_long))
    });
    tables.collect()
}

impl Circuit {
    /// Adds the digits of a compact value as inputs, the least significant first.
    ///
    /// # Errors
    /// If the digits are of another parameter set.
    pub fn compact_digits(&self, digits: CompactDigits) -> Result<Vec<Block>, CircuitError> {
        let mut blocks = vec![Block::clear(0); digits.digit_count];
        for outputs in digits.bootstraps {
            let (parts, inputs): (Vec<DigitOutput>, Vec<_>) = outputs
                .into_iter()
                .map(|(part, lwe)| (part, (lwe, part.degree())))
                .unzip();
            add_parts(&mut blocks, &parts, self.bootstrapped_inputs(inputs)?);
        }
        Ok(blocks)
    }

    /// Adds stand-ins for the digits of a compact value, the least significant first.
    ///
    /// # Errors
    /// If the plan is for another block encoding.
    pub fn compact_digits_stand_in(
        &self,
        value: u64,
        plan: &DigitPlan,
    ) -> Result<Vec<Block>, CircuitError> {
        let mut blocks = vec![Block::clear(0); plan.digit_count()];
        for lookup in plan.lookups() {
            let values = lookup.outputs.iter().map(|part| {
                let first = part.digit as u32 * self.encoding().message_bits() + part.place;
                let bits = value.checked_shr(first).unwrap_or(0);
                (bits << part.place & part.degree(), part.degree())
            });
            let values: Vec<(u64, u64)> = values.collect();
            let inputs = self.bootstrapped_stand_ins(&values)?;
            add_parts(&mut blocks, &lookup.outputs, inputs);
        }
        Ok(blocks)
    }
}

/// Adds outputs of one bootstrap to the digits that they are parts of.
fn add_parts(digits: &mut [Block], parts: &[DigitOutput], inputs: Vec<Block>) {
    for (part, input) in parts.iter().zip(&inputs) {
        if let Some(digit) = digits.get_mut(part.digit) {
            *digit += input;
        }
    }
}
