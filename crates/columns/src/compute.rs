//! Nodes counted, rehearsed and evaluated.

use std::collections::HashSet;
use std::sync::Arc;

use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::bootstrap::{Evaluator, Job, round_len};
use tfhe_sbc_engine::circuit::{self, Block, Circuit};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_engine::packing_key::join_flags;
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_oracle::compact::sum_plans;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::backend::{Backend, Keys};
use crate::compact::plan::{Plan, Way};
use crate::compact::rehearsed;
use crate::compact::stage::{self, Stage};
use crate::compact::values::CompactValues;
use crate::cost::Cost;
use crate::error::Error;
use crate::limits::MAX_LOADED_BLOCKS;
use crate::node::{Kind, KnownBlock, Node, Op};
use crate::progress::Progress;
use crate::record::inputs::sum_plan;
use crate::record::{Recorder, degree_at, loads_itself};

pub(crate) fn check_wanted(progress: &Progress) -> Result<(), Error> {
    match progress.is_cancelled() {
        true => Err(circuit::CircuitEvaluateError::Cancelled.into()),
        false => Ok(()),
    }
}

/// Returns an empty circuit, which adds long columns up in the forms of the parameters.
///
/// # Errors
/// Parameters that do not carry integers.
fn circuit_of(parameters: &Parameters) -> Result<Circuit, Error> {
    Ok(Circuit::new(parameters)?.with_sums(sum_plans(parameters)))
}

/// Records nodes as planned and returns the blocks of each output, none of one that is added up on
/// polynomials.
fn record(
    circuit: &Circuit,
    stand_ins: bool,
    plan: &Plan,
    stage: &Stage,
    outputs: &[Arc<Node>],
    progress: &Progress,
) -> Result<Vec<Vec<Block>>, Error> {
    circuit.record_watched(progress.watch(), |circuit| {
        let mut recorder = Recorder::new(circuit, stand_ins, plan, stage);
        for node in plan.order.iter().filter(|node| !plan.is_sum(node)) {
            recorder.record(node)?;
        }
        let blocks = outputs.iter().map(|node| match plan.is_sum(node) {
            true => Ok(Vec::new()),
            false => recorder.blocks(node),
        });
        Ok(blocks.collect::<Result<_, _>>()?)
    })?
}

/// Returns the costs of each list of nodes by itself, and of all of them together.
pub(crate) fn count(
    parameters: &Parameters,
    lists: &[&[Arc<Node>]],
    progress: &Progress,
) -> Result<(Vec<Cost>, Cost), Error> {
    let circuit = circuit_of(parameters)?;
    let all: Vec<Arc<Node>> = lists.concat();
    let together = Plan::new(parameters, &all)?;
    let record = |plan: &Plan, nodes: &[Arc<Node>]| {
        record(&circuit, true, plan, &Stage::StandIns, nodes, progress)
    };
    let blocks = record(&together, &all)?;
    let all_rows: HashSet<*const Node> = together.order.iter().map(Arc::as_ptr).collect();
    let mut each = Vec::with_capacity(lists.len());
    let mut left = blocks.iter();
    for nodes in lists {
        let own: Vec<&Block> = left.by_ref().take(nodes.len()).flatten().collect();
        let alone = Plan::new(parameters, nodes)?;
        // An output of all may be a step of the others, and so be computed in another way.
        let differs = !together.ways.is_empty() || shares_rows(&alone, &all_rows);
        each.push(match lists.len() > 1 && differs {
            true => {
                let blocks = record(&alone, nodes)?;
                cost(
                    &circuit,
                    &alone,
                    &blocks.iter().flatten().collect::<Vec<_>>(),
                )
            }
            false => cost(&circuit, &alone, &own),
        });
    }
    let blocks: Vec<&Block> = blocks.iter().flatten().collect();
    Ok((each, cost(&circuit, &together, &blocks)))
}

/// Returns whether other nodes load the whole of a column of which planned nodes load a part by themselves.
fn shares_rows(plan: &Plan, all_rows: &HashSet<*const Node>) -> bool {
    let own: HashSet<*const Node> = plan.order.iter().map(Arc::as_ptr).collect();
    plan.order.iter().any(|node| {
        let op = node.op();
        let shares = |column: &Arc<Node>| {
            let column = Arc::as_ptr(column);
            all_rows.contains(&column) && !own.contains(&column)
        };
        // A sum of some rows has the rows between it and the column.
        loads_itself(&op)
            && op
                .children()
                .into_iter()
                .any(|of| shares(of) || of.op().children().into_iter().any(shares))
    })
}

/// The cost of blocks, of what is computed before the circuit, and of bringing the sealed values that
/// they are made of under the big key.
fn cost(circuit: &Circuit, plan: &Plan, blocks: &[&Block]) -> Cost {
    let before = plan.cost();
    let sealed = plan.order.iter().fold(0, |sealed, node| {
        sealed
            + match &*node.op() {
                Op::Sealed(ciphertexts) => ciphertexts.len() as u64,
                _ => 0,
            }
    });
    Cost {
        bootstraps: circuit.bootstrap_count(blocks) + before.bootstraps + sealed,
        depth: circuit.bootstrap_depth(blocks) + before.depth + u32::from(sealed > 0),
        loaded_blocks: loaded_blocks(circuit, plan),
    }
}

/// Computes nodes in the clear.
pub(crate) fn rehearse(
    parameters: &Parameters,
    nodes: &[Arc<Node>],
    progress: &Progress,
) -> Result<(), Error> {
    let circuit = circuit_of(parameters)?;
    let plan = Plan::new(parameters, nodes)?;
    let blocks = record(&circuit, false, &plan, &Stage::StandIns, nodes, progress)?;
    for (node, blocks) in nodes.iter().zip(&blocks) {
        check_wanted(progress)?;
        if let Some(Way::Sum(parts)) = plan.way(node) {
            let each = node.len() / parts.len().max(1);
            let codes = parts
                .iter()
                .flat_map(|part| rehearsed::rehearse(part, each));
            node.set(Op::Clear(codes.map(u128::from).collect()));
            continue;
        }
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
    let circuit = circuit_of(parameters)?;
    let plan = Plan::new(parameters, nodes)?;
    let loaded = loaded_blocks(&circuit, &plan);
    if loaded > MAX_LOADED_BLOCKS {
        return Err(Error::TooLarge(loaded));
    }
    let sealed: Vec<&Arc<Node>> = plan
        .order
        .iter()
        .filter(|node| matches!(*node.op(), Op::Sealed(_)))
        .collect();
    let within = |bootstraps: u64| match most {
        Some(most) if bootstraps > most => Err(Error::TooCostly { bootstraps, most }),
        _ => Ok(()),
    };
    if !sealed.is_empty() || plan.cost().bootstraps > 0 {
        // The computations before the circuit take bootstraps themselves, so they are counted
        // first.
        let (_, cost) = count(parameters, &[nodes], progress)?;
        within(cost.bootstraps)?;
        progress.expect_bootstraps(cost.bootstraps);
    }
    lift(&evaluator, &sealed, progress)?;
    let stage = stage::Computed::new(&evaluator, &plan, &|| check_wanted(progress))?;
    let stage = Stage::Computed(stage);
    let blocks = record(&circuit, false, &plan, &stage, nodes, progress)?;
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
        if let Stage::Computed(computed) = &stage
            && let Some(sum) = computed.sum(node)
        {
            node.set(Op::Compact(Arc::clone(sum)));
            continue;
        }
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
    for jobs in jobs.chunks(round_len()) {
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

/// Returns the number of blocks that a planned computation loads at once.
fn loaded_blocks(circuit: &Circuit, plan: &Plan) -> u64 {
    let in_circuit = plan.order.iter().filter(|node| plan.way(node).is_none());
    let loaded = in_circuit.map(|node| {
        let op = node.op();
        let loads = match &*op {
            // Only the rows that are taken of other columns are loaded.
            Op::Take { .. } => loads_itself(&op),
            Op::Load { .. } | Op::Sealed(_) | Op::Known(_) | Op::Public(_) => true,
            _ => false,
        };
        match loads {
            true => (node.len() * circuit.encoding().block_count(node.bits())) as u64,
            false => 0,
        }
    });
    plan.loaded() + loaded.sum::<u64>()
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
    /// Compact codes under the big key.
    Compact(Arc<CompactValues>),
    /// Codes or bits of a rehearsal.
    Clear(Vec<u128>),
}

impl Exported {
    /// The number of blocks that hold the content. Compact codes count as the blocks that would hold
    /// them, and codes of a rehearsal as none.
    pub fn block_count(&self, encoding: BlockEncoding) -> usize {
        match self {
            Self::Sealed(ciphertexts) => ciphertexts.len(),
            Self::Compact(values) => values.count() * encoding.block_count(values.bits),
            Self::Clear(_) => 0,
        }
    }
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
        (Op::Compact(values), _) => Exported::Compact(Arc::clone(values)),
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
            let switched = switch(&keys.key, &known.blocks, 1, progress)?;
            Exported::Sealed(known.switched.get_or_init(|| switched).clone())
        }
        _ => return Err(Error::NotComputed),
    })
}

/// Returns what the blocks of a node under the big key decrypt to; `None` of other nodes.
pub(crate) fn decrypted_blocks(node: &Node, secret: &SecretKey) -> Option<Vec<u64>> {
    let op = node.op();
    let Op::Known(known) = &*op else {
        return None;
    };
    let key = secret.glwe().to_lwe_secret_key();
    let encoding = secret.parameters().block_encoding();
    let phases = known
        .blocks
        .iter()
        .map(|block| key.phase(&block.ciphertext));
    Some(phases.map(|phase| encoding.decode(phase)).collect())
}

/// Returns the truth values of a computed node, as many in a block as a message has bits: value `i` of a block is its
/// bit `i`. `None` if they are not ciphertexts under the big key, if only one has room in a block, or if their noise
/// is too much for being joined: joined values have the noise of all of them, each times its weight.
pub(crate) fn export_joined(
    backend: &Backend,
    node: &Node,
    progress: &Progress,
) -> Result<Option<Vec<LweCiphertext<u32>>>, Error> {
    let (op, Backend::Server(keys)) = (node.op(), backend) else {
        return Ok(None);
    };
    let Op::Known(known) = &*op else {
        return Ok(None);
    };
    let parameters = keys.key.parameters();
    if !can_join(parameters, &known.blocks) {
        return Ok(None);
    }
    let together = parameters.message_bits().0 as usize;
    switch(&keys.key, &known.blocks, together, progress).map(Some)
}

/// Returns whether blocks are truth values of which several can share a block: joined values have the noise of all of
/// them, each times its weight.
pub(crate) fn can_join(parameters: &Parameters, blocks: &[KnownBlock]) -> bool {
    let weights = parameters.block_encoding().message_modulus() - 1;
    let room = u64::from(parameters.max_noise_level());
    let fits = |block: &KnownBlock| block.degree <= 1 && u64::from(block.level) * weights <= room;
    parameters.message_bits().0 > 1 && blocks.iter().all(fits)
}

/// Switches blocks of an evaluation under this key to the small key, after `together` of them at a time were joined
/// in one.
fn switch(
    key: &ServerKey<u64>,
    blocks: &[KnownBlock],
    together: usize,
    progress: &Progress,
) -> Result<Vec<LweCiphertext<u32>>, Error> {
    let evaluator = Evaluator::new(key);
    let mut switched = Vec::with_capacity(blocks.len().div_ceil(together));
    for blocks in blocks.chunks(round_len() * together) {
        check_wanted(progress)?;
        let ciphertexts = ciphertexts_of(blocks, together, key.parameters());
        let some = evaluator.key_switch_batch(&ciphertexts);
        switched.extend(some.map_err(|_| circuit::CircuitEvaluateError::Parameters)?);
    }
    Ok(switched)
}

/// The ciphertexts of blocks, after `together` of them at a time were joined in one.
pub(crate) fn ciphertexts_of(
    blocks: &[KnownBlock],
    together: usize,
    parameters: &Parameters,
) -> Vec<LweCiphertext<u64>> {
    let ciphertexts: Vec<_> = blocks.iter().map(|b| b.ciphertext.clone()).collect();
    match together {
        1 => ciphertexts,
        _ => join_flags(parameters, &ciphertexts),
    }
}
