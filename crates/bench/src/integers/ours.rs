//! Our side: a circuit of all operators of a row, which is made and evaluated in the timed work.

use std::sync::atomic::{AtomicU64, Ordering};

use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{BitOp, Comparison, FheUint, IntegerError, Shift, Width};

use crate::error::BenchError;
use crate::integers::tasks::{Operator, Task};
use crate::keys::Keys;
use crate::timing::{Subject, Work};

type Digits = Vec<LweCiphertext<u64>>;

/// Encrypted operands of a task.
pub(super) struct Ours<'k> {
    keys: &'k Keys<u64>,
    evaluator: Evaluator<'k, u64>,
    task: Task,
    pairs: Vec<(Digits, Digits)>,
    outcome: Vec<u64>,
    bootstraps: AtomicU64,
}

/// The results of a run. A number is a list of digits.
type Found = Vec<Digits>;

impl<'k> Ours<'k> {
    /// Encrypts the operands.
    pub(super) fn new(keys: &'k mut Keys<u64>, task: Task) -> Result<Self, BenchError> {
        let operands = task.operands();
        let mut pairs = Vec::with_capacity(operands.len());
        for &(a, b) in &operands {
            let a = keys.encrypt_digits(a, task.bits())?;
            pairs.push((a, keys.encrypt_digits(b, task.second_bits())?));
        }
        Ok(Self {
            evaluator: Evaluator::new(&keys.server),
            keys,
            task,
            pairs,
            outcome: task.outcome(&operands),
            bootstraps: AtomicU64::new(0),
        })
    }

    /// The parameters.
    pub(super) fn parameters(&self) -> &Parameters {
        self.keys.parameters()
    }

    /// Bootstraps of the last run.
    pub(super) fn bootstraps(&self) -> u64 {
        self.bootstraps.load(Ordering::Relaxed)
    }

    /// Runs of the task.
    pub(super) fn subject(&self) -> Box<dyn Subject + '_> {
        Box::new(Work {
            name: format!("ours, {:?}", self.task),
            run: || {
                let before = self.evaluator.bootstrap_count();
                let found = self.run()?;
                let done = self.evaluator.bootstrap_count() - before;
                self.bootstraps.store(done, Ordering::Relaxed);
                Ok(found)
            },
            check: |found: Found| {
                let mut both = found.iter().zip(&self.outcome);
                Ok(found.len() == self.outcome.len()
                    && both.all(|(digits, &value)| self.holds(digits, value)))
            },
        })
    }

    fn run(&self) -> Result<Found, BenchError> {
        let circuit = Circuit::new(self.parameters())?;
        let width = Width::new(self.task.bits())?;
        let second_width = Width::new(self.task.second_bits())?;
        let input = |digits: &Digits, width| circuit.encrypted(digits.clone(), width);
        let results = match self.task {
            Task::Largest { .. } => {
                let list = self.pairs.iter().map(|(a, _)| input(a, width));
                let list = list.collect::<Result<Vec<_>, _>>()?;
                vec![digits(&circuit, &circuit.min_max_of(&list)?.1)?]
            }
            Task::Pairs { .. } | Task::Columns { .. } => {
                let operators = self.task.operators();
                let pairs = self.pairs.iter();
                let pairs = pairs.map(|(a, b)| Ok((input(a, width)?, input(b, second_width)?)));
                let pairs = pairs.collect::<Result<Vec<_>, IntegerError>>()?;
                let _batch = circuit.batch_of(pairs.len());
                let mut results = Vec::new();
                for (a, b) in &pairs {
                    for &operator in operators {
                        results.extend(apply(&circuit, operator, a, b)?);
                    }
                }
                results
            }
        };
        let blocks: Vec<&Block> = results.iter().flatten().collect();
        let mut found = circuit.evaluate(&self.evaluator, &blocks)?.into_iter();
        let numbers = results.iter();
        Ok(numbers
            .map(|blocks| found.by_ref().take(blocks.len()).collect())
            .collect())
    }

    /// Returns whether these are the digits of the value, each below the message modulus: carries
    /// are where they belong, as in what the peer gives.
    fn holds(&self, digits: &[LweCiphertext<u64>], value: u64) -> bool {
        let encoding = self.parameters().block_encoding();
        let mut expected = vec![0; digits.len()];
        encoding.split(value, &mut expected).is_ok()
            && digits.iter().zip(expected).all(|(digit, expected)| {
                let plaintext = encoding.encode(i64::from(expected));
                self.keys.holds(digit, plaintext)
            })
    }
}

fn digits(circuit: &Circuit, integer: &FheUint) -> Result<Vec<Block>, IntegerError> {
    Ok(circuit.propagate(integer)?.blocks().to_vec())
}

/// Records an operator.
fn apply(
    c: &Circuit,
    operator: Operator,
    a: &FheUint,
    b: &FheUint,
) -> Result<Vec<Vec<Block>>, IntegerError> {
    let compare = |comparison| Ok(vec![vec![c.bit(&c.compare(comparison, a, b)?)]]);
    let number = |integer| Ok(vec![digits(c, &integer)?]);
    match operator {
        Operator::Add => number(c.add(a, b)?),
        Operator::Eq => compare(Comparison::Eq),
        Operator::Lt => compare(Comparison::Lt),
        Operator::Max => number(c.max(a, b)?),
        Operator::BitAnd => number(c.bitwise(BitOp::And, a, b)?),
        Operator::Shl => number(c.shift(Shift::Left, a, b)?),
        Operator::Mul => number(c.mul(a, b)?),
        Operator::DivRem => {
            let division = c.div_rem(a, b)?;
            Ok(vec![
                digits(c, &division.quotient)?,
                digits(c, &division.remainder)?,
            ])
        }
    }
}
