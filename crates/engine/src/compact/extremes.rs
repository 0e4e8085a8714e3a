//! The largest or the smallest of groups of compact values.

use rayon::prelude::*;
use tfhe_sbc_core::encoding::chunks::{ChunkError, ExtremeLookup, ExtremePlan};
use tfhe_sbc_core::lwe::LweCiphertext;

use super::{CompactDigits, CompactEvaluateError};
use crate::bootstrap::{Evaluator, Job, round_len};
use crate::chunk_table::centre;
use crate::circuit::{Circuit, round_cost};
use crate::lookup_table::LookupTable;

/// The number of bootstraps of [`Evaluator::compact_extremes`] for `rows` values.
pub fn extreme_bootstraps(plan: &ExtremePlan, rows: usize) -> u64 {
    (rows.div_ceil(plan.rows().max(1)) * plan.lookups().len()) as u64
}

/// The results of the lookups of a group, each until no other lookup needs it.
type Results = Vec<Vec<LweCiphertext<u64>>>;

impl Evaluator<'_, u64> {
    /// Returns the radix digits of the largest or the smallest of each group of values, as the plan has it. `values` are
    /// ciphertexts under the big key, a group after the other; the last group may be shorter. Each holds an unsigned
    /// number at the top of the torus, below the headroom that the plan is for. All values take
    /// [`extreme_bootstraps`].
    ///
    /// `go_on` is called before every round of bootstraps, and the evaluation stops if it returns
    /// false. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// If the parameter set does not carry radix blocks, a table has no room for its functions, a
    /// ciphertext is not under the big key, or `go_on` returned false.
    pub fn compact_extremes(
        &self,
        values: &[LweCiphertext<u64>],
        plan: &ExtremePlan,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<CompactDigits>, CompactEvaluateError> {
        self.check_compact(values)?;
        let tables = self.extreme_tables(plan)?;
        let groups: Vec<&[LweCiphertext<u64>]> = values.chunks(plan.rows().max(1)).collect();
        let mut digits = Vec::with_capacity(groups.len());
        for some in groups.chunks(round_len()) {
            let results = self.extremes_of_round(some, (plan, &tables), go_on, None)?;
            digits.extend(results.into_iter().map(|mut results| {
                let results = results.split_off(plan.first_of_digits());
                CompactDigits::new(plan.digits(), results)
            }));
        }
        Ok(digits)
    }

    /// Evaluates [`compact_extremes`](Self::compact_extremes) and returns the ciphertexts before every lookup
    /// instead, lookup by lookup, for measurements of their noise.
    ///
    /// # Errors
    /// Those of [`compact_extremes`](Self::compact_extremes).
    pub fn compact_extreme_inputs(
        &self,
        values: &[LweCiphertext<u64>],
        plan: &ExtremePlan,
    ) -> Result<Vec<Vec<LweCiphertext<u64>>>, CompactEvaluateError> {
        self.check_compact(values)?;
        let tables = self.extreme_tables(plan)?;
        let groups: Vec<&[LweCiphertext<u64>]> = values.chunks(plan.rows().max(1)).collect();
        let mut inputs = vec![Vec::new(); plan.lookups().len()];
        for some in groups.chunks(round_len()) {
            self.extremes_of_round(some, (plan, &tables), &|| true, Some(&mut inputs))?;
        }
        Ok(inputs)
    }

    fn extreme_tables(
        &self,
        plan: &ExtremePlan,
    ) -> Result<Vec<LookupTable<u64>>, CompactEvaluateError> {
        let size = self.parameters().polynomial_size();
        let tables = plan.lookups().iter().map(|lookup| {
            let functions = &lookup.functions;
            let value = |function: usize, at: u64| {
                let function = functions.get(function);
                let value = function.and_then(|function| function.values.get(at as usize));
                value.copied().unwrap_or(0)
            };
            let table = LookupTable::interleaved(size, lookup.value_bits, functions.len(), value);
            let too_long = ChunkError::Size(lookup.value_bits);
            table.ok_or(CompactEvaluateError::Chunks(too_long))
        });
        tables.collect()
    }

    /// The results of the lookups that give digits, for the groups of one round, with empty lists in the places of the
    /// others. `inputs` receives those of every lookup.
    fn extremes_of_round(
        &self,
        groups: &[&[LweCiphertext<u64>]],
        (plan, tables): (&ExtremePlan, &[LookupTable<u64>]),
        go_on: &dyn Fn() -> bool,
        mut inputs: Option<&mut Vec<Vec<LweCiphertext<u64>>>>,
    ) -> Result<Vec<Results>, CompactEvaluateError> {
        let lookups = plan.lookups();
        let last_uses = last_uses(plan);
        let mut results: Vec<Results> = vec![vec![Vec::new(); lookups.len()]; groups.len()];
        // Lookups of one depth are done together as far as they fill a round.
        let together = (round_len() / groups.len().max(1)).max(1);
        for (depth, _) in (1..).zip(plan.rounds()) {
            let ready = lookups.iter().zip(tables).enumerate();
            let ready: Vec<_> = ready
                .filter(|(_, (lookup, _))| lookup.depth == depth)
                .collect();
            for ready in ready.chunks(together) {
                if !go_on() {
                    return Err(CompactEvaluateError::Cancelled);
                }
                let jobs: Vec<Job<'_, u64, u64>> = groups
                    .par_iter()
                    .zip(&results)
                    .flat_map_iter(|(group, results)| {
                        ready.iter().map(move |&(_, (lookup, table))| Job {
                            input: self.extreme_input(group, lookup, results),
                            table,
                        })
                    })
                    .collect();
                let mut outputs = self.bootstrap_all(&jobs).into_iter();
                for results in &mut results {
                    for &(at, (lookup, _)) in ready {
                        let outputs = lookup.functions.iter().zip(outputs.by_ref());
                        let outputs = outputs.map(|(function, mut output)| {
                            output.add_plaintext(function.offset);
                            output
                        });
                        results[at] = outputs.collect();
                    }
                }
                if let Some(inputs) = &mut inputs {
                    let places = ready.iter().map(|(at, _)| *at).cycle();
                    for (at, job) in places.zip(jobs) {
                        inputs[at].push(job.input);
                    }
                }
            }
            for results in &mut results {
                for (result, &last_use) in results.iter_mut().zip(&last_uses) {
                    if last_use == Some(depth) {
                        *result = Vec::new();
                    }
                }
            }
        }
        Ok(results)
    }

    /// The input of a lookup. A group that is too short has its last value again.
    fn extreme_input(
        &self,
        group: &[LweCiphertext<u64>],
        lookup: &ExtremeLookup,
        results: &Results,
    ) -> LweCiphertext<u64> {
        let parameters = self.parameters();
        let centre = centre(parameters, lookup.half_width, lookup.interleaved_log2());
        let mut input = LweCiphertext::trivial(parameters.big_lwe_dimension(), centre);
        for (at, &factor) in lookup.values.iter().enumerate() {
            if let Some(value) = group.get(at).or(group.last())
                && factor != 0
            {
                input.add_scaled(value, factor);
            }
        }
        for term in &lookup.results {
            let result = results
                .get(term.lookup)
                .and_then(|of| of.get(term.function));
            if let Some(result) = result {
                input.add_scaled(result, term.factor);
            }
        }
        input
    }
}

/// The depth of the last lookup that takes the results of each one; `None` of those that give digits.
fn last_uses(plan: &ExtremePlan) -> Vec<Option<u32>> {
    let mut last_uses: Vec<Option<u32>> = plan
        .lookups()
        .iter()
        .map(|lookup| Some(lookup.depth))
        .collect();
    for lookup in plan.lookups() {
        for term in &lookup.results {
            if let Some(last_use) = last_uses.get_mut(term.lookup) {
                *last_use = Some(lookup.depth).max(*last_use);
            }
        }
    }
    for last_use in last_uses.iter_mut().skip(plan.first_of_digits()) {
        *last_use = None;
    }
    last_uses
}

impl Circuit {
    /// The time that the largest or the smallest of `rows` compact values takes in groups of a plan, in units of that of one bootstrap of a long
    /// batch on one thread.
    pub fn time_of_compact_extreme(&self, plan: &ExtremePlan, rows: usize) -> f64 {
        let groups = rows.div_ceil(plan.rows().max(1));
        let rounds = plan.rounds().into_iter();
        let rounds = rounds.map(|jobs| round_cost(jobs * groups, self.threads()));
        rounds.sum::<f64>() + self.time_of_extreme(groups, plan.digits().digit_count())
    }

    /// The time that the largest or the smallest of `rows` compact values takes if every value takes `lookups` lookups to
    /// `digits` digits first, in the same units.
    pub fn time_of_extreme_by_digits(&self, rows: usize, lookups: usize, digits: usize) -> f64 {
        lookups as f64 * round_cost(rows, self.threads()) + self.time_of_extreme(rows, digits)
    }
}
