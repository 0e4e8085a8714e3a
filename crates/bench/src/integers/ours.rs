//! Our side.

use std::sync::atomic::{AtomicU64, Ordering};

use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::integer::{Block, Comparison, Integer, Integers, Unsigned};

use crate::error::BenchError;
use crate::integers::tasks::{Operator, Task};
use crate::keys::Keys;
use crate::timing::{Subject, Work};

type Uint = Integer<Unsigned, u64>;

/// Encrypted operands of a task.
pub(super) struct Ours<'k> {
    keys: &'k Keys<u64>,
    evaluator: Evaluator<'k, u64>,
    task: Task,
    pairs: Vec<(Uint, Uint)>,
    outcome: Vec<u64>,
    bootstraps: AtomicU64,
}

impl<'k> Ours<'k> {
    /// Encrypts the operands.
    pub(super) fn new(keys: &'k mut Keys<u64>, task: Task) -> Result<Self, BenchError> {
        let operands = task.operands();
        let mut encrypted = Vec::new();
        for &(a, b) in &operands {
            encrypted.push((
                keys.encrypt_digits(a, task.bits())?,
                keys.encrypt_digits(b, task.bits())?,
            ));
        }
        let keys = &*keys;
        let evaluator = Evaluator::new(&keys.server);
        let integers = Integers::new(&evaluator)?;
        let pairs = encrypted
            .into_iter()
            .map(|(a, b)| Ok((integers.from_fresh(a)?, integers.from_fresh(b)?)))
            .collect::<Result<_, BenchError>>()?;
        Ok(Self {
            outcome: task.outcome(&operands),
            keys,
            evaluator,
            task,
            pairs,
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
            check: |found: Vec<Vec<Block<u64>>>| {
                let same = |(blocks, &value): (&Vec<_>, _)| self.holds(blocks, value);
                Ok(found.len() == self.outcome.len() && found.iter().zip(&self.outcome).all(same))
            },
        })
    }

    fn run(&self) -> Result<Vec<Vec<Block<u64>>>, BenchError> {
        let integers = Integers::new(&self.evaluator)?;
        let pairs: Vec<_> = self.pairs.iter().map(|(a, b)| (a, b)).collect();
        let compared = |comparison| {
            let compared: Vec<_> = pairs.iter().map(|&(a, b)| (comparison, a, b)).collect();
            let bits = integers.compare_batch(&compared)?;
            let bits = bits.iter().map(|bit| vec![bit.block().clone()]);
            Ok::<Vec<_>, BenchError>(bits.collect())
        };
        let blocks = |all: Vec<Uint>| all.iter().map(|one| one.blocks().to_vec()).collect();
        Ok(match self.task {
            Task::Pairs { operator, .. } => match operator {
                Operator::Add => blocks(integers.add_batch(&pairs)?),
                Operator::Eq => compared(Comparison::Eq)?,
                Operator::Lt => compared(Comparison::Lt)?,
                Operator::Max => blocks(integers.max_batch(&pairs)?),
                _ => Vec::new(),
            },
            Task::Largest { .. } => {
                let list: Vec<_> = self.pairs.iter().map(|(a, _)| a).collect();
                let both = integers.min_max_of_batch(&[&list])?;
                blocks(both.into_iter().map(|(_, max)| max).collect())
            }
            Task::Columns { .. } => {
                let sums: Vec<_> = blocks(integers.add_batch(&pairs)?);
                let smaller = compared(Comparison::Lt)?;
                let larger: Vec<_> = blocks(integers.max_batch(&pairs)?);
                let rows = sums.into_iter().zip(smaller).zip(larger);
                rows.flat_map(|((sum, bit), max)| [sum, bit, max]).collect()
            }
        })
    }

    /// Whether these are the digits of the value: each below the message modulus, as the peer's are.
    fn holds(&self, blocks: &[Block<u64>], value: u64) -> bool {
        let encoding = self.keys.parameters().block_encoding();
        let mut digits = vec![0; blocks.len()];
        encoding.split(value, &mut digits).is_ok()
            && blocks.iter().zip(digits).all(|(block, digit)| {
                let plaintext = encoding.encode(i64::from(digit));
                self.keys.holds(block.ciphertext(), plaintext)
            })
    }
}
