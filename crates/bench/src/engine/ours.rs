//! Our side of the comparisons.

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::gates::{Gate, Gates};

use crate::engine::cases::Cases;
use crate::engine::contestant::Contestant;
use crate::keys::{KeyCosts, Keys, describe};
use crate::timing::{Subject, Work};

/// NAND gates.
pub(super) struct OurNands<'k> {
    keys: &'k Keys<u64>,
    cases: &'k Cases<u64>,
    evaluator: Evaluator<'k, u64>,
}

impl<'k> OurNands<'k> {
    /// Gates on the bits of `cases`.
    pub(super) fn new(keys: &'k Keys<u64>, cases: &'k Cases<u64>) -> Self {
        Self {
            keys,
            cases,
            evaluator: Evaluator::new(&keys.server),
        }
    }
}

impl Contestant for OurNands<'_> {
    fn description(&self) -> String {
        describe(self.keys.parameters())
    }

    fn key_costs(&self) -> KeyCosts {
        self.keys.costs
    }

    fn subject(&self, batch: usize) -> Box<dyn Subject + '_> {
        // Every bit with its neighbour.
        let pairs: Vec<(usize, usize)> = (0..batch)
            .map(|i| (i, (i + 1) % self.cases.inputs.len()))
            .collect();
        let gates: Vec<_> = pairs
            .iter()
            .map(|&(a, b)| (Gate::Nand, &self.cases.inputs[a], &self.cases.inputs[b]))
            .collect();
        Box::new(Work {
            name: "our NAND".to_owned(),
            run: move || Ok(Gates::new(&self.evaluator)?.gate_batch(&gates)?),
            check: move |outputs: Vec<_>| {
                let bit = |i: usize| boolean::decode(self.cases.before[i]);
                let right = |(output, &(a, b)): (_, &(usize, usize))| {
                    self.keys.holds(output, boolean::encode(!(bit(a) & bit(b))))
                };
                Ok(outputs.len() == pairs.len() && outputs.iter().zip(&pairs).all(right))
            },
        })
    }
}

/// Lookups.
pub(super) struct OurLookups<'k, T> {
    keys: &'k Keys<T>,
    cases: &'k Cases<T>,
    evaluator: Evaluator<'k, T>,
}

impl<'k, T: ProductTorus> OurLookups<'k, T> {
    /// The lookups of `cases`.
    pub(super) fn new(keys: &'k Keys<T>, cases: &'k Cases<T>) -> Self {
        Self {
            keys,
            cases,
            evaluator: Evaluator::new(&keys.server),
        }
    }

    /// Runs of `batch` key switches alone.
    pub(super) fn key_switches(&self, batch: usize) -> impl Subject {
        let inputs = &self.cases.inputs[..batch];
        let plaintexts = &self.cases.before[..batch];
        Work {
            name: "our key switch".to_owned(),
            run: move || Ok(self.evaluator.key_switch_batch(inputs)?),
            check: move |outputs: Vec<_>| {
                let mut both = outputs.iter().zip(plaintexts);
                Ok(outputs.len() == batch && both.all(|(c, &p)| self.keys.small_holds(c, p)))
            },
        }
    }

    /// Runs of `batch` bootstraps.
    pub(super) fn bootstraps(&self, batch: usize) -> impl Subject {
        let table = &self.cases.table;
        let inputs = self.cases.inputs[..batch].iter().cloned();
        let jobs: Vec<_> = inputs.map(|input| Job { input, table }).collect();
        let plaintexts = &self.cases.after[..batch];
        Work {
            name: "our bootstrap".to_owned(),
            run: move || Ok(self.evaluator.bootstrap_batch(&jobs)?),
            check: move |outputs: Vec<_>| {
                let mut both = outputs.iter().zip(plaintexts);
                Ok(outputs.len() == batch && both.all(|(c, &p)| self.keys.holds(c, p)))
            },
        }
    }
}

impl<T: ProductTorus> Contestant for OurLookups<'_, T> {
    fn description(&self) -> String {
        describe(self.keys.parameters())
    }

    fn key_costs(&self) -> KeyCosts {
        self.keys.costs
    }

    fn subject(&self, batch: usize) -> Box<dyn Subject + '_> {
        Box::new(self.bootstraps(batch))
    }
}
