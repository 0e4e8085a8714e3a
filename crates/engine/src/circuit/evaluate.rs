//! The evaluation of circuits: on ciphertexts, in the clear, or as a count of bootstraps.
//!
//! Lookups are evaluated in rounds. A round takes lookups that are ready, those with the longest
//! path to an output first, in batches that keep all threads equally busy. A ciphertext is dropped
//! when the last lookup that needs it is done.

use std::collections::BinaryHeap;

use rayon::prelude::*;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use thiserror::Error;

use super::block::Source;
use super::sums::chunk_values;
use super::table::{Prepared, Table};
use super::{Block, Circuit, Graph, Input};
use crate::bootstrap::{BATCHES, Evaluator, Job, LOCKSTEP};

/// The reason for which a circuit was not evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CircuitEvaluateError {
    /// The server key has another parameter set.
    #[error("the circuit is for another parameter set than the server key")]
    Parameters,
    /// A block belongs to another circuit.
    #[error("what is asked for belongs to another circuit")]
    OtherCircuit,
    /// An input is a stand-in instead of a ciphertext, or the other way round in a rehearsal.
    #[error("the circuit has stand-ins for ciphertexts: it can be counted and rehearsed only")]
    StandIn,
    /// The caller's `go_on` returned false.
    #[error("the evaluation was cancelled")]
    Cancelled,
}

/// The lookups that some outputs need.
struct Plan {
    /// For each lookup, the number of uses of its outputs; 0 if it is not needed.
    uses: Vec<u32>,
    /// For each lookup, the number of lookups on the longest path from it to an output, itself
    /// included.
    heights: Vec<u32>,
}

impl Plan {
    fn new(graph: &Graph, outputs: &[&Block]) -> Self {
        let mut plan = Self {
            uses: vec![0; graph.lookups.len()],
            heights: vec![0; graph.lookups.len()],
        };
        for output in outputs {
            plan.use_lookups(output.lookups(), 0);
        }
        // Every lookup comes after those that it depends on.
        for at in (0..graph.lookups.len()).rev() {
            if plan.uses[at] > 0 {
                plan.use_lookups(graph.lookups.at(at).lookups(), plan.heights[at]);
            }
        }
        plan
    }

    fn use_lookups(&mut self, lookups: impl Iterator<Item = usize>, height: u32) {
        for at in lookups {
            self.uses[at] += 1;
            self.heights[at] = self.heights[at].max(height + 1);
        }
    }

    fn needed(&self) -> impl Iterator<Item = usize> {
        (0..self.uses.len()).filter(|&at| self.uses[at] > 0)
    }
}

impl Circuit {
    /// The number of bootstraps that the evaluation of these blocks takes.
    pub fn bootstrap_count(&self, outputs: &[&Block]) -> u64 {
        Plan::new(&self.graph(), outputs).needed().count() as u64
    }

    /// The largest number of these bootstraps that must follow one another.
    pub fn bootstrap_depth(&self, outputs: &[&Block]) -> u32 {
        let graph = self.graph();
        let lookups = outputs.iter().flat_map(|block| block.lookups());
        let lookups = lookups.filter(|&at| at < graph.lookups.len());
        let depths = lookups.map(|at| graph.lookups.at(at).depth);
        depths.max().unwrap_or(0)
    }

    /// Returns the values of these blocks for the values of the stand-ins among the inputs.
    ///
    /// # Errors
    /// If a block belongs to another circuit, or an input is a ciphertext.
    ///
    /// # Panics
    /// If a value is outside of the interval that its operator has promised.
    pub fn rehearse(&self, outputs: &[&Block]) -> Result<Vec<i64>, CircuitEvaluateError> {
        self.check_outputs(outputs)?;
        let graph = self.graph();
        let inputs = graph.inputs.iter().map(|input| match input {
            Input::Value(value) => Ok(*value),
            Input::Ciphertext(..) => Err(CircuitEvaluateError::StandIn),
        });
        let inputs: Vec<i64> = inputs.collect::<Result<_, _>>()?;
        let mut values: Vec<Vec<i64>> = vec![Vec::new(); graph.lookups.len()];
        let value_of = |source: Source, values: &[Vec<i64>]| match source {
            Source::Input(at) | Source::Bootstrapped(_, at) => inputs[at as usize],
            Source::Lookup(at, output) => values[at as usize][output as usize],
        };
        for at in Plan::new(&graph, outputs).needed() {
            let lookup = graph.lookups.at(at);
            let terms = lookup.terms();
            let terms = terms.map(|(source, weight)| (source, weight * value_of(source, &values)));
            values[at] = match graph.tables.at(lookup.table) {
                Table::Functions(table) => {
                    let x = lookup.constant + terms.map(|(_, value)| value).sum::<i64>();
                    assert!(table.has(self.encoding(), x), "{x} is outside of its table");
                    table.look_up(self.encoding(), x).collect()
                }
                Table::Chunk(chunk) => {
                    let phase = terms.fold(0u64, |phase, (source, value)| {
                        let bits = graph.plaintext_bits(self.encoding(), source);
                        phase.wrapping_add((value as u64) << (u64::BITS - bits))
                    });
                    chunk_values(chunk, phase)
                }
            };
        }
        let value = |block: &&Block| {
            let terms = block.terms();
            let terms = terms.map(|(source, weight)| weight * value_of(source, &values));
            let value = block.constant + terms.sum::<i64>();
            assert!((block.low()..=block.high()).contains(&value));
            value
        };
        Ok(outputs.iter().map(value).collect())
    }

    /// Evaluates these blocks and returns their ciphertexts under the big key. Runs on all threads
    /// of the current rayon pool; the result is the same, bit for bit, for any number of threads.
    ///
    /// # Errors
    /// If a block belongs to another circuit, the key has other parameters, or one of the needed
    /// inputs is a stand-in.
    pub fn evaluate(
        &self,
        evaluator: &Evaluator<'_, u64>,
        outputs: &[&Block],
    ) -> Result<Vec<LweCiphertext<u64>>, CircuitEvaluateError> {
        self.evaluate_while(evaluator, outputs, &|| true)
    }

    /// Does the same as [`evaluate`](Self::evaluate), but calls `go_on` before every round and
    /// stops if it returns false.
    ///
    /// # Errors
    /// Those of [`evaluate`](Self::evaluate), and [`CircuitEvaluateError::Cancelled`].
    pub fn evaluate_while(
        &self,
        evaluator: &Evaluator<'_, u64>,
        outputs: &[&Block],
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<LweCiphertext<u64>>, CircuitEvaluateError> {
        if evaluator.parameters().fingerprint() != self.parameters().fingerprint() {
            return Err(CircuitEvaluateError::Parameters);
        }
        self.check_outputs(outputs)?;
        let graph = &*self.graph();
        let mut work = Work::new(self.parameters(), graph, outputs)?;
        while !work.ready.is_empty() {
            if !go_on() {
                return Err(CircuitEvaluateError::Cancelled);
            }
            work.round(evaluator);
        }
        let values = |block: &&Block| work.combine(block.terms(), block.constant);
        Ok(outputs.par_iter().map(values).collect())
    }

    /// Does the same as [`evaluate_while`](Self::evaluate_while), followed by a key switch of the
    /// results to the small key, the form in which they go back to the key owner.
    ///
    /// # Errors
    /// Those of [`evaluate_while`](Self::evaluate_while).
    pub fn export_while(
        &self,
        evaluator: &Evaluator<'_, u64>,
        outputs: &[&Block],
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<LweCiphertext<u32>>, CircuitEvaluateError> {
        let ciphertexts = self.evaluate_while(evaluator, outputs, go_on)?;
        Ok(evaluator.switch_all(&ciphertexts))
    }

    fn check_outputs(&self, outputs: &[&Block]) -> Result<(), CircuitEvaluateError> {
        match outputs.iter().all(|block| block.is_of(self.id)) {
            true => Ok(()),
            false => Err(CircuitEvaluateError::OtherCircuit),
        }
    }
}

/// The state of an evaluation.
struct Work<'c> {
    parameters: &'c Parameters,
    graph: &'c Graph,
    plan: Plan,
    /// For each lookup, the lookups that wait for it.
    waiting: Vec<Vec<u32>>,
    /// For each lookup, the number of its dependencies that are not done.
    missing: Vec<u32>,
    /// The ready lookups by height, and among equal heights the first recorded first.
    ready: BinaryHeap<(u32, std::cmp::Reverse<usize>)>,
    /// The number of needed lookups that are not done.
    left: usize,
    outputs: Vec<Vec<LweCiphertext<u64>>>,
    /// Each needed table.
    tables: Vec<Option<Prepared>>,
}

impl<'c> Work<'c> {
    fn new(
        parameters: &'c Parameters,
        graph: &'c Graph,
        outputs: &[&Block],
    ) -> Result<Self, CircuitEvaluateError> {
        let plan = Plan::new(graph, outputs);
        let count = graph.lookups.len();
        let mut work = Self {
            parameters,
            graph,
            waiting: vec![Vec::new(); count],
            missing: vec![0; count],
            ready: BinaryHeap::new(),
            left: plan.needed().count(),
            outputs: vec![Vec::new(); count],
            tables: (0..graph.tables.len()).map(|_| None).collect(),
            plan,
        };
        let is_stand_in = |(source, _): (Source, i64)| match source {
            Source::Input(at) | Source::Bootstrapped(_, at) => {
                matches!(graph.inputs[at as usize], Input::Value(_))
            }
            Source::Lookup(..) => false,
        };
        if outputs.iter().any(|block| block.terms().any(is_stand_in)) {
            return Err(CircuitEvaluateError::StandIn);
        }
        for at in work.plan.needed() {
            let lookup = graph.lookups.at(at);
            if lookup.terms().any(is_stand_in) {
                return Err(CircuitEvaluateError::StandIn);
            }
            for on in lookup.lookups() {
                work.waiting[on].push(at as u32);
                work.missing[at] += 1;
            }
            if work.missing[at] == 0 {
                let height = work.plan.heights[at];
                work.ready.push((height, std::cmp::Reverse(at)));
            }
            let table = lookup.table as usize;
            if work.tables[table].is_none() {
                work.tables[table] = graph.tables.at(lookup.table).prepare(parameters);
            }
        }
        Ok(work)
    }

    /// Evaluates one round of ready lookups.
    fn round(&mut self, evaluator: &Evaluator<'_, u64>) {
        let threads = rayon::current_num_threads();
        let full = threads * LOCKSTEP;
        let ready = self.ready.len();
        let mut count = match ready >= BATCHES * full {
            true => BATCHES * full,
            // Two rounds of one and a half batches are faster than one round of two and one of
            // one.
            false => ready.div_ceil(ready.div_ceil(full)),
        };
        // The lookups that would keep one thread busy longer than the others go into the next
        // round.
        if count > threads && self.left > ready {
            count -= count % threads;
        }
        self.left -= count;
        let taken = (0..count).filter_map(|_| self.ready.pop());
        let taken: Vec<usize> = taken.map(|(_, at)| at.0).collect();
        let jobs: Vec<(usize, Job<'_, u64, u64>)> = taken
            .par_iter()
            .filter_map(|&at| {
                let lookup = self.graph.lookups.at(at);
                let table = self.tables[lookup.table as usize].as_ref()?;
                let mut input = self.combine(lookup.terms(), lookup.constant);
                input.add_plaintext(table.input_offset);
                let table = &table.polynomial;
                Some((at, Job { input, table }))
            })
            .collect();
        let (taken, jobs): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let mut results = evaluator.bootstrap_all(&jobs).into_iter();
        drop(jobs);
        for at in taken {
            let lookup = self.graph.lookups.at(at);
            if let Some(Prepared { offsets, .. }) = &self.tables[lookup.table as usize] {
                self.outputs[at] = results.by_ref().take(offsets.len()).collect();
                for (output, &offset) in self.outputs[at].iter_mut().zip(offsets) {
                    output.add_plaintext(offset);
                }
            }
            for on in lookup.lookups() {
                self.plan.uses[on] -= 1;
                if self.plan.uses[on] == 0 {
                    self.outputs[on] = Vec::new();
                }
            }
            for next in std::mem::take(&mut self.waiting[at]) {
                let next = next as usize;
                self.missing[next] -= 1;
                if self.missing[next] == 0 {
                    let height = self.plan.heights[next];
                    self.ready.push((height, std::cmp::Reverse(next)));
                }
            }
        }
    }

    /// Computes a linear combination of ciphertexts that are available.
    fn combine(
        &self,
        terms: impl Iterator<Item = (Source, i64)>,
        constant: i64,
    ) -> LweCiphertext<u64> {
        let constant = self.parameters.block_encoding().encode(constant);
        let mut sum = LweCiphertext::trivial(self.parameters.big_lwe_dimension(), constant);
        for (source, weight) in terms {
            let lwe = match source {
                Source::Input(at) | Source::Bootstrapped(_, at) => {
                    match &self.graph.inputs[at as usize] {
                        Input::Ciphertext(lwe, _) => lwe,
                        Input::Value(_) => continue,
                    }
                }
                Source::Lookup(at, output) => &self.outputs[at as usize][output as usize],
            };
            sum.add_scaled(lwe, weight);
        }
        sum
    }
}
