//! Computing nodes: with a server key, or in a rehearsal.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::circuit::{self, Block, Circuit};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_python_shared::errors::{KeyMismatch, TfheSbcError, refused};
use tfhe_sbc_query::cost::{Cost, Speed};
use tfhe_sbc_query::device_keys::DeviceKeys;
use tfhe_sbc_query::evaluate::{EvaluateError, MAX_LOADED_BLOCKS};
use tfhe_sbc_query::progress::Progress;

use crate::mask::Mask;
use crate::node::{Content, Kind, KnownBlock, Node, Op};
use crate::number::Number;
use crate::record::{Recorder, degree_at, in_order};
use crate::watch::watched;

/// Who computes.
pub(crate) enum Backend {
    /// A server: on ciphertexts.
    Server(Box<ServerBackend>),
    /// Nobody but whoever tries a computation out, in the clear.
    Rehearsal(Parameters),
}

/// A server key that is ready to compute.
pub(crate) struct ServerBackend {
    pub(crate) key: ServerKey<u64>,
    pub(crate) devices: DeviceKeys,
    speed: OnceLock<Speed>,
}

impl ServerBackend {
    pub(crate) fn new(key: ServerKey<u64>, devices: DeviceKeys) -> Self {
        Self {
            key,
            devices,
            speed: OnceLock::new(),
        }
    }

    /// How fast it is: tried once.
    fn speed(&self) -> Result<Speed, EvaluateError> {
        if let Some(speed) = self.speed.get() {
            return Ok(*speed);
        }
        let speed = Speed::measure(&self.key)?;
        Ok(*self.speed.get_or_init(|| speed))
    }
}

impl Backend {
    pub(crate) fn parameters(&self) -> &Parameters {
        match self {
            Self::Server(server) => server.key.parameters(),
            Self::Rehearsal(parameters) => parameters,
        }
    }

    pub(crate) fn fingerprint(&self) -> Option<KeyFingerprint> {
        match self {
            Self::Server(server) => Some(server.key.fingerprint()),
            Self::Rehearsal(_) => None,
        }
    }

    /// Checks that what two of them made may meet.
    pub(crate) fn check_same(self: &Arc<Self>, other: &Arc<Self>) -> PyResult<()> {
        if Arc::ptr_eq(self, other) {
            return Ok(());
        }
        match (self.fingerprint(), other.fingerprint()) {
            (Some(a), Some(b)) if a == b => Ok(()),
            (Some(a), Some(b)) => Err(KeyMismatch::new_err(format!(
                "the operands are of two key sets, {a} and {b}: compute on data of one"
            ))),
            _ => Err(refused(
                "an operand is of another rehearsal, or only one of them is encrypted",
                "load both with one Server or one Rehearsal",
            )),
        }
    }
}

fn evaluate_error(error: impl Into<EvaluateError>) -> PyErr {
    let error = error.into();
    match error {
        EvaluateError::TooLarge(blocks) => refused(
            format_args!("this loads {blocks} blocks at once, more than {MAX_LOADED_BLOCKS}"),
            "compute on slices and combine their results, or on sums, which load few blocks",
        ),
        EvaluateError::DeviceKey { .. } => KeyMismatch::new_err(error.to_string()),
        error => TfheSbcError::new_err(error.to_string()),
    }
}

/// Where circuits are made: refuses sets that carry no integers.
pub(crate) fn new_circuit(parameters: &Parameters) -> PyResult<Circuit> {
    Circuit::new(parameters).map_err(evaluate_error)
}

/// What may be computed.
#[derive(FromPyObject)]
pub(crate) enum Computable<'py> {
    Number(PyRef<'py, Number>),
    Mask(PyRef<'py, Mask>),
}

impl Computable<'_> {
    pub(crate) fn backend(&self) -> &Arc<Backend> {
        match self {
            Self::Number(number) => &number.backend,
            Self::Mask(mask) => &mask.backend,
        }
    }

    pub(crate) fn node(&self) -> &Arc<Node> {
        match self {
            Self::Number(number) => &number.node,
            Self::Mask(mask) => &mask.node,
        }
    }
}

/// Who computes, and what: nodes.
type Task = (Arc<Backend>, Vec<Arc<Node>>);

/// The nodes of what is to be computed, and who computes them.
fn nodes_of(items: &[Computable<'_>]) -> PyResult<Option<Task>> {
    let Some(first) = items.first() else {
        return Ok(None);
    };
    let backend = Arc::clone(first.backend());
    for item in items {
        backend.check_same(item.backend())?;
    }
    let nodes = items.iter().map(Computable::node);
    let unknown = nodes.filter(|node| !node.is_known()).cloned();
    Ok(Some((backend, unknown.collect())))
}

/// Computes all of them together; gives the number of bootstraps.
#[pyfunction]
pub(crate) fn compute(
    py: Python<'_>,
    items: Vec<Computable<'_>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    let Some((backend, nodes)) = nodes_of(&items)? else {
        return Ok(0);
    };
    drop(items);
    if nodes.is_empty() {
        return Ok(0);
    }
    let computed = watched(py, progress, |progress| match &*backend {
        Backend::Server(server) => evaluate(server, &nodes, progress),
        Backend::Rehearsal(parameters) => rehearse(parameters, &nodes, progress).map(|()| 0),
    })?;
    computed.map_err(evaluate_error)
}

/// Bootstraps, how many of them follow one another, and seconds if a server computes and
/// is to say how fast it is.
#[pyfunction]
pub(crate) fn cost(
    py: Python<'_>,
    items: Vec<Computable<'_>>,
    measure: bool,
) -> PyResult<(u64, u32, Option<f64>)> {
    let Some((backend, nodes)) = nodes_of(&items)? else {
        return Ok((0, 0, measure.then_some(0.0)));
    };
    drop(items);
    let counted = watched(py, None, |progress| {
        let cost = count(backend.parameters(), &nodes, progress)?;
        let seconds = match &*backend {
            Backend::Server(server) if measure => {
                Some(server.speed()?.predict(&cost).as_secs_f64())
            }
            _ => None,
        };
        Ok((cost.bootstraps, cost.depth, seconds))
    })?;
    counted.map_err(|error: EvaluateError| evaluate_error(error))
}

fn count(
    parameters: &Parameters,
    nodes: &[Arc<Node>],
    progress: &Progress,
) -> Result<Cost, EvaluateError> {
    let circuit = Circuit::new(parameters)?;
    let order = in_order(nodes);
    let mut recorder = Recorder::new(&circuit, true, &order);
    let mut sealed = 0;
    for node in &order {
        if let Op::Sealed(ciphertexts) = &*node.op() {
            sealed += ciphertexts.len() as u64;
        }
    }
    record_all(&mut recorder, &order, progress)?;
    let mut blocks = Vec::new();
    for node in nodes {
        blocks.extend(recorder.blocks(node)?);
    }
    let blocks: Vec<&Block> = blocks.iter().collect();
    Ok(Cost {
        bootstraps: circuit.bootstrap_count(&blocks) + sealed,
        depth: circuit.bootstrap_depth(&blocks) + u32::from(sealed > 0),
    })
}

/// Writes all of them down, unless nobody waits any more.
fn record_all(
    recorder: &mut Recorder<'_>,
    order: &[Arc<Node>],
    progress: &Progress,
) -> Result<(), EvaluateError> {
    for node in order {
        check_wanted(progress)?;
        recorder.record(node)?;
    }
    check_wanted(progress)
}

fn check_wanted(progress: &Progress) -> Result<(), EvaluateError> {
    match progress.is_cancelled() {
        true => Err(circuit::EvaluateError::Cancelled.into()),
        false => Ok(()),
    }
}

fn rehearse(
    parameters: &Parameters,
    nodes: &[Arc<Node>],
    progress: &Progress,
) -> Result<(), EvaluateError> {
    let circuit = Circuit::new(parameters)?;
    let order = in_order(nodes);
    let mut recorder = Recorder::new(&circuit, false, &order);
    record_all(&mut recorder, &order, progress)?;
    for node in nodes {
        check_wanted(progress)?;
        let blocks = recorder.blocks(node)?;
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

/// The code of digits, least significant first: of up to 128 bits, as sums of squares have.
pub(crate) fn joined(
    digits: impl DoubleEndedIterator<Item = u128>,
    encoding: BlockEncoding,
) -> u128 {
    let bits = encoding.message_bits();
    digits.rev().fold(0, |code, digit| code << bits | digit)
}

fn evaluate(
    server: &ServerBackend,
    nodes: &[Arc<Node>],
    progress: &Progress,
) -> Result<u64, EvaluateError> {
    let parameters = server.key.parameters();
    let observer = |count| progress.add_bootstraps(count);
    let evaluator = Evaluator::with_observer(&server.key, &observer);
    let circuit = Circuit::new(parameters)?;
    let order = in_order(nodes);
    check_size(&circuit, &order)?;
    let sealed: Vec<&Arc<Node>> = order
        .iter()
        .filter(|node| matches!(*node.op(), Op::Sealed(_)))
        .collect();
    if !sealed.is_empty() {
        progress.expect_bootstraps(count(parameters, nodes, progress)?.bootstraps);
    }
    lift(&evaluator, &sealed, progress)?;
    let mut recorder = Recorder::new(&circuit, false, &order);
    record_all(&mut recorder, &order, progress)?;
    let mut blocks = Vec::new();
    let mut lengths = Vec::with_capacity(nodes.len());
    for node in nodes {
        let of_node = recorder.blocks(node)?;
        lengths.push(of_node.len());
        blocks.extend(of_node);
    }
    drop(recorder);
    let outputs: Vec<&Block> = blocks.iter().collect();
    progress.expect_bootstraps(evaluator.bootstrap_count() + circuit.bootstrap_count(&outputs));
    let go_on = || !progress.is_cancelled();
    let ciphertexts = circuit.evaluate_while(&evaluator, &outputs, &go_on)?;
    let known = blocks.iter().zip(ciphertexts);
    let mut known = known.map(|(block, ciphertext)| KnownBlock {
        ciphertext,
        degree: block.high().max(0) as u64,
        level: (block.norm_squared().max(1) - 1).isqrt() as u32 + 1,
    });
    for (node, length) in nodes.iter().zip(lengths) {
        let blocks: Vec<KnownBlock> = known.by_ref().take(length).collect();
        node.set(Op::Known(blocks.into()));
    }
    Ok(evaluator.bootstrap_count())
}

/// Brings what is under the small key under the big one.
fn lift(
    evaluator: &Evaluator<'_, u64>,
    nodes: &[&Arc<Node>],
    progress: &Progress,
) -> Result<(), EvaluateError> {
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
        lifted.extend(some.map_err(|_| circuit::EvaluateError::Parameters)?);
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

/// So many blocks are switched or lifted between two looks at whether anybody waits.
const AT_A_TIME: usize = 64;

/// Refuses to load more blocks than memory should hold.
fn check_size(circuit: &Circuit, order: &[Arc<Node>]) -> Result<(), EvaluateError> {
    let mut blocks = 0;
    for node in order {
        let of = match &*node.op() {
            Op::Load { source, .. } => match source.content {
                Content::Ciphertexts(_) => Arc::clone(node),
                Content::Codes(_) => continue,
            },
            // Of all others only rows that are taken are loaded.
            Op::Take { of, .. } if matches!(*of.op(), Op::Load { .. }) => Arc::clone(node),
            Op::Sealed(_) | Op::Known(_) | Op::Public(_) => Arc::clone(node),
            _ => continue,
        };
        blocks += (of.len() * circuit.encoding().block_count(of.bits())) as u64;
    }
    match blocks > MAX_LOADED_BLOCKS {
        true => Err(EvaluateError::TooLarge(blocks)),
        false => Ok(()),
    }
}

/// What a computed node holds, as whoever decrypts needs it.
pub(crate) enum Exported {
    /// Under the small key.
    Sealed(Vec<LweCiphertext<u32>>),
    /// The codes or bits of a rehearsal.
    Clear(Vec<u128>),
}

/// The ciphertexts of a computed node under the small key; `None` if it is not computed, or
/// if nobody waits for them any more.
pub(crate) fn export(backend: &Backend, node: &Node, progress: &Progress) -> Option<Exported> {
    let op = node.op();
    match (&*op, backend) {
        (Op::Sealed(ciphertexts), _) => Some(Exported::Sealed(ciphertexts.clone())),
        (Op::Clear(values), _) => Some(Exported::Clear(values.clone())),
        (Op::Constant(truth), Backend::Rehearsal(_)) => {
            Some(Exported::Clear(vec![u128::from(*truth); node.len()]))
        }
        (Op::Constant(truth), Backend::Server(server)) => {
            let parameters = server.key.parameters();
            let bit = parameters.block_encoding().encode(i64::from(*truth));
            let bit = LweCiphertext::trivial(parameters.lwe_dimension, bit);
            Some(Exported::Sealed(vec![bit; node.len()]))
        }
        (Op::Known(known), Backend::Server(server)) => {
            if let Some(switched) = known.switched.get() {
                return Some(Exported::Sealed(switched.clone()));
            }
            let evaluator = Evaluator::new(&server.key);
            let mut switched = Vec::with_capacity(known.blocks.len());
            for blocks in known.blocks.chunks(AT_A_TIME) {
                check_wanted(progress).ok()?;
                let blocks: Vec<_> = blocks
                    .iter()
                    .map(|block| block.ciphertext.clone())
                    .collect();
                // They came out of an evaluation with this key's parameters.
                switched.extend(evaluator.key_switch_batch(&blocks).ok()?);
            }
            Some(Exported::Sealed(
                known.switched.get_or_init(|| switched).clone(),
            ))
        }
        _ => None,
    }
}
