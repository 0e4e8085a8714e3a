//! Nodes counted, rehearsed and evaluated.

use std::collections::HashSet;
use std::sync::Arc;

use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::circuit::{self, Block, Circuit};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::backend::{Backend, Keys};
use crate::cost::Cost;
use crate::error::Error;
use crate::limits::MAX_LOADED_BLOCKS;
use crate::node::{Content, Kind, KnownBlock, Node, Op};
use crate::progress::Progress;
use crate::record::inputs::sum_plan;
use crate::record::{Recorder, degree_at, in_order, loads_itself};

/// The number of blocks that are switched or lifted between two looks at whether the computation is
/// called off.
const AT_A_TIME: usize = 64;

fn check_wanted(progress: &Progress) -> Result<(), Error> {
    match progress.is_cancelled() {
        true => Err(circuit::CircuitEvaluateError::Cancelled.into()),
        false => Ok(()),
    }
}

/// Records nodes in an order and returns the blocks of each output.
fn record(
    circuit: &Circuit,
    stand_ins: bool,
    outputs: &[Arc<Node>],
    progress: &Progress,
) -> Result<Vec<Vec<Block>>, Error> {
    let order = in_order(outputs);
    circuit.record_watched(progress.watch(), |circuit| {
        let mut recorder = Recorder::new(circuit, stand_ins, &order);
        for node in &order {
            recorder.record(node)?;
        }
        let blocks = outputs.iter().map(|node| recorder.blocks(node));
        Ok(blocks.collect::<Result<_, _>>()?)
    })?
}

/// Returns the costs of each list of nodes by itself, and of all of them together.
pub(crate) fn count(
    parameters: &Parameters,
    lists: &[&[Arc<Node>]],
    progress: &Progress,
) -> Result<(Vec<Cost>, Cost), Error> {
    let circuit = Circuit::new(parameters)?;
    let all: Vec<Arc<Node>> = lists.concat();
    let blocks = record(&circuit, true, &all, progress)?;
    let rows_of = |nodes: &[Arc<Node>]| -> HashSet<*const Node> {
        in_order(nodes).iter().map(Arc::as_ptr).collect()
    };
    let all_rows = rows_of(&all);
    let mut each = Vec::with_capacity(lists.len());
    let mut left = blocks.iter();
    for nodes in lists {
        let own: Vec<&Block> = left.by_ref().take(nodes.len()).flatten().collect();
        each.push(match lists.len() > 1 && shares_rows(nodes, &all_rows) {
            true => {
                let alone = record(&circuit, true, nodes, progress)?;
                cost(&circuit, nodes, &alone.iter().flatten().collect::<Vec<_>>())
            }
            false => cost(&circuit, nodes, &own),
        });
    }
    let blocks: Vec<&Block> = blocks.iter().flatten().collect();
    Ok((each, cost(&circuit, &all, &blocks)))
}

/// Whether a column that `nodes` load a part of by themselves is loaded whole for other nodes.
fn shares_rows(nodes: &[Arc<Node>], all_rows: &HashSet<*const Node>) -> bool {
    let order = in_order(nodes);
    let own: HashSet<*const Node> = order.iter().map(Arc::as_ptr).collect();
    order.iter().any(|node| {
        let op = node.op();
        loads_itself(&op)
            && op.children().iter().any(|column| {
                let column = Arc::as_ptr(column);
                all_rows.contains(&column) && !own.contains(&column)
            })
    })
}

/// The cost of blocks, and of bringing the sealed values that they are made of under the big key.
fn cost(circuit: &Circuit, outputs: &[Arc<Node>], blocks: &[&Block]) -> Cost {
    let sealed = in_order(outputs).iter().fold(0, |sealed, node| {
        sealed
            + match &*node.op() {
                Op::Sealed(ciphertexts) => ciphertexts.len() as u64,
                _ => 0,
            }
    });
    let Cost { bootstraps, depth } = Cost::of(circuit, blocks);
    Cost {
        bootstraps: bootstraps + sealed,
        depth: depth + u32::from(sealed > 0),
    }
}

/// Computes nodes in the clear.
pub(crate) fn rehearse(
    parameters: &Parameters,
    nodes: &[Arc<Node>],
    progress: &Progress,
) -> Result<(), Error> {
    let circuit = Circuit::new(parameters)?;
    let blocks = record(&circuit, false, nodes, progress)?;
    for (node, blocks) in nodes.iter().zip(&blocks) {
        check_wanted(progress)?;
        let values = circuit.rehearse(&blocks.iter().collect::<Vec<_>>())?;
        let values = values.into_iter().map(|value| value as u128);
        node.set(Op::Clear(match node.kind {
            Kind::Truth => values.collect(),
            Kind::Code(bits) => {
                let encoding = circuit.encoding();
                let digits: Vec<u128> = values.collect();
                let codes = digits.chunks(encoding.block_count(bits));
                codes
                    .map(|digits| joined(digits.iter().copied(), encoding))
                    .collect()
            }
        }));
    }
    Ok(())
}

/// Returns the code of digits, least significant first. Sums of squares have up to 128 bits.
pub fn joined(digits: impl DoubleEndedIterator<Item = u128>, encoding: BlockEncoding) -> u128 {
    let bits = encoding.message_bits();
    digits.rev().fold(0, |code, digit| code << bits | digit)
}

/// Computes nodes on ciphertexts and returns the number of bootstraps.
pub(crate) fn evaluate(
    keys: &Keys,
    nodes: &[Arc<Node>],
    most: Option<u64>,
    progress: &Progress,
) -> Result<u64, Error> {
    let parameters = keys.key.parameters();
    let observer = |count| progress.add_bootstraps(count);
    let evaluator = Evaluator::with_observer(&keys.key, &observer);
    let circuit = Circuit::new(parameters)?;
    let order = in_order(nodes);
    check_size(&circuit, &order)?;
    let sealed: Vec<&Arc<Node>> = order
        .iter()
        .filter(|node| matches!(*node.op(), Op::Sealed(_)))
        .collect();
    let within = |bootstraps: u64| match most {
        Some(most) if bootstraps > most => Err(Error::TooCostly { bootstraps, most }),
        _ => Ok(()),
    };
    if !sealed.is_empty() {
        // Bringing sealed values under the big key takes bootstraps itself, so they are counted first.
        let (_, cost) = count(parameters, &[nodes], progress)?;
        within(cost.bootstraps)?;
        progress.expect_bootstraps(cost.bootstraps);
    }
    lift(&evaluator, &sealed, progress)?;
    let blocks = record(&circuit, false, nodes, progress)?;
    let outputs: Vec<&Block> = blocks.iter().flatten().collect();
    let bootstraps = evaluator.bootstrap_count() + circuit.bootstrap_count(&outputs);
    within(bootstraps)?;
    progress.expect_bootstraps(bootstraps);
    let go_on = || !progress.is_cancelled();
    let ciphertexts = circuit.evaluate_while(&evaluator, &outputs, &go_on)?;
    let known = outputs.iter().zip(ciphertexts);
    let mut known = known.map(|(block, ciphertext)| KnownBlock {
        ciphertext,
        degree: block.high().max(0) as u64,
        level: (block.norm_squared().max(1) - 1).isqrt() as u32 + 1,
    });
    for (node, blocks) in nodes.iter().zip(&blocks) {
        let blocks: Vec<KnownBlock> = known.by_ref().take(blocks.len()).collect();
        node.set(Op::Known(blocks.into()));
    }
    Ok(evaluator.bootstrap_count())
}

/// Brings values under the small key under the big one.
fn lift(
    evaluator: &Evaluator<'_, u64>,
    nodes: &[&Arc<Node>],
    progress: &Progress,
) -> Result<(), Error> {
    if nodes.is_empty() {
        return Ok(());
    }
    let parameters = evaluator.parameters();
    let table = LookupTable::from_fn(parameters, |value| value as i64);
    let ops: Vec<Arc<Op>> = nodes.iter().map(|node| node.op()).collect();
    let ciphertexts = ops.iter().flat_map(|op| match &**op {
        Op::Sealed(ciphertexts) => &ciphertexts[..],
        _ => &[],
    });
    let jobs: Vec<Job<'_, u64, u32>> = ciphertexts
        .map(|input| Job {
            input: input.clone(),
            table: &table,
        })
        .collect();
    let mut lifted = Vec::with_capacity(jobs.len());
    for jobs in jobs.chunks(AT_A_TIME) {
        check_wanted(progress)?;
        // Their dimension was checked when they were read.
        let some = evaluator.bootstrap_switched_batch(jobs);
        lifted.extend(some.map_err(|_| circuit::CircuitEvaluateError::Parameters)?);
    }
    let mut lifted = lifted.into_iter();
    for (node, op) in nodes.iter().zip(&ops) {
        let Op::Sealed(ciphertexts) = &**op else {
            continue;
        };
        let known = lifted.by_ref().take(ciphertexts.len()).enumerate();
        let known: Vec<KnownBlock> = known
            .map(|(place, ciphertext)| KnownBlock {
                ciphertext,
                degree: degree_at(node.kind, parameters.block_encoding(), place),
                level: 1,
            })
            .collect();
        node.set(Op::Known(known.into()));
    }
    Ok(())
}

/// Refuses to load more blocks than memory should hold.
fn check_size(circuit: &Circuit, order: &[Arc<Node>]) -> Result<(), Error> {
    let mut blocks = 0;
    for node in order {
        let op = node.op();
        let loads = match &*op {
            Op::Load { source, .. } => matches!(source.content, Content::Ciphertexts(_)),
            // Only the rows that are taken of other columns are loaded.
            Op::Take { .. } => loads_itself(&op),
            Op::Sealed(_) | Op::Known(_) | Op::Public(_) => true,
            _ => false,
        };
        if loads {
            blocks += (node.len() * circuit.encoding().block_count(node.bits())) as u64;
        }
    }
    match blocks > MAX_LOADED_BLOCKS {
        true => Err(Error::TooLarge(blocks)),
        false => Ok(()),
    }
}

/// Returns the number of blocks that the sum of a column loads from uploads of these numbers of
/// rows, if no row of the column is loaded for anything else.
///
/// # Errors
/// Parameters that do not carry integers.
pub fn summed_blocks(
    parameters: &Parameters,
    metadata: &ReadingsMetadata,
    uploads: &[usize],
    column: usize,
) -> Result<u64, Error> {
    let circuit = Circuit::new(parameters)?;
    let encoding = circuit.encoding();
    let blocks = |&rows: &usize| metadata.blocks_of_column(encoding, column, rows);
    let columns: Vec<_> = uploads.iter().map(blocks).collect();
    let row_blocks = encoding.block_count(metadata.columns[column].bits);
    Ok(sum_plan(&circuit, &columns, row_blocks)?.sum_count() as u64)
}

/// The content of a computed value.
#[derive(Clone, Debug)]
pub enum Exported {
    /// Ciphertexts under the small key: digits, least significant first, or bits.
    Sealed(Vec<LweCiphertext<u32>>),
    /// Codes or bits of a rehearsal.
    Clear(Vec<u128>),
}

/// Returns the content of a computed node as the key owner needs it.
pub(crate) fn export(
    backend: &Backend,
    node: &Node,
    progress: &Progress,
) -> Result<Exported, Error> {
    let op = node.op();
    Ok(match (&*op, backend) {
        (Op::Sealed(ciphertexts), _) => Exported::Sealed(ciphertexts.clone()),
        (Op::Clear(values), _) => Exported::Clear(values.clone()),
        (Op::Constant(truth), Backend::Rehearsal(_)) => {
            Exported::Clear(vec![u128::from(*truth); node.len()])
        }
        (Op::Constant(truth), Backend::Server(keys)) => {
            let parameters = keys.key.parameters();
            let bit = parameters.block_encoding().encode(i64::from(*truth));
            let bit = LweCiphertext::trivial(parameters.lwe_dimension(), bit);
            Exported::Sealed(vec![bit; node.len()])
        }
        (Op::Known(known), Backend::Server(keys)) => {
            if let Some(switched) = known.switched.get() {
                return Ok(Exported::Sealed(switched.clone()));
            }
            let evaluator = Evaluator::new(&keys.key);
            let mut switched = Vec::with_capacity(known.blocks.len());
            for blocks in known.blocks.chunks(AT_A_TIME) {
                check_wanted(progress)?;
                let blocks: Vec<_> = blocks
                    .iter()
                    .map(|block| block.ciphertext.clone())
                    .collect();
                // They came out of an evaluation with this key's parameters.
                let some = evaluator.key_switch_batch(&blocks);
                switched.extend(some.map_err(|_| circuit::CircuitEvaluateError::Parameters)?);
            }
            Exported::Sealed(known.switched.get_or_init(|| switched).clone())
        }
        _ => return Err(Error::NotComputed),
    })
}
