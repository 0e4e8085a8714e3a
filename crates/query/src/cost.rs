//! What questions cost, known without evaluating them and without a key.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use serde::Serialize;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{Comparison, FheUint, Width};
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::Question;
use crate::evaluate::EvaluateError;
use crate::record::{Inputs, Loading, Recorder};
use crate::request::{RequestError, encoding_of};
use crate::results::{Answer, EncryptedAnswer};

/// Most bootstraps that a request may cost if nobody says otherwise: about an hour of two
/// cores.
pub const MAX_BOOTSTRAPS: u64 = 2_000_000;

/// What one question or several cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Bootstraps.
    pub bootstraps: u64,
    /// How many of them must follow one another.
    pub depth: u32,
}

impl Cost {
    pub(super) fn of(circuit: &Circuit, blocks: &[&Block]) -> Self {
        Self {
            bootstraps: circuit.bootstrap_count(blocks),
            depth: circuit.bootstrap_depth(blocks),
        }
    }
}

/// What each of these questions about such readings costs by itself, and what all of them
/// cost together: less than the sum if they have work in common. Nothing is needed of the
/// readings but what they mean, and thresholds need not be encrypted.
///
/// # Errors
/// Questions that the server would refuse; those that cost too much are none of them.
pub fn costs(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    questions: &[Question],
) -> Result<(Vec<Cost>, Cost), EvaluateError> {
    let circuit = Circuit::new(parameters)?;
    let inputs = Inputs::StandIns(None);
    let loading = Loading::of(readings, questions)?;
    let recorder = Recorder::new(&circuit, readings, &inputs, &loading);
    let mut each = Vec::with_capacity(questions.len());
    let mut together = Vec::new();
    for question in questions {
        question.check(readings)?;
        bound(&circuit, readings, [question], MAX_COUNTED)?;
        let blocks = recorder.record(question)?.blocks;
        let alone = match loading.shares_rows(readings, question)? {
            true => {
                let loading = Loading::of(readings, [question])?;
                let recorder = Recorder::new(&circuit, readings, &inputs, &loading);
                &recorder.record(question)?.blocks
            }
            false => &blocks,
        };
        each.push(Cost::of(&circuit, &alone.iter().collect::<Vec<_>>()));
        together.extend(blocks);
    }
    let together: Vec<&Block> = together.iter().collect();
    Ok((each, Cost::of(&circuit, &together)))
}

/// What the server's lookups make of these readings, column by column, in the clear: the
/// answers, for tests of questions without keys.
///
/// # Errors
/// Questions that the server would refuse, and readings that their columns cannot encode.
pub fn rehearse(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    values: &[Vec<f64>],
    questions: &[Question],
) -> Result<Vec<Answer>, EvaluateError> {
    let mut codes = Vec::with_capacity(values.len());
    for (column, values) in readings.columns.iter().zip(values) {
        let encoding = encoding_of(column)?;
        let code = |value: &f64| {
            let code = encoding.encode(*value);
            code.map_err(|error| RequestError::Threshold {
                name: column.name.clone(),
                error,
            })
        };
        codes.push(values.iter().map(code).collect::<Result<Vec<u64>, _>>()?);
    }
    let circuit = Circuit::new(parameters)?;
    let inputs = Inputs::StandIns(Some(codes));
    let loading = Loading::of(readings, questions)?;
    let recorder = Recorder::new(&circuit, readings, &inputs, &loading);
    let answer = |question: &Question| {
        question.check(readings)?;
        bound(&circuit, readings, [question], MAX_COUNTED)?;
        let recorded = recorder.record(question)?;
        let blocks = circuit.rehearse(&recorded.blocks.iter().collect::<Vec<_>>())?;
        let blocks: Vec<u64> = blocks.into_iter().map(|block| block as u64).collect();
        let answer = EncryptedAnswer {
            name: question.public_text(),
            blocks: blocks.len() as u32,
            meaning: recorded.meaning,
        };
        Ok(answer.read(parameters, &blocks)?)
    };
    questions.iter().map(answer).collect()
}

/// Most bootstraps that are counted: what is written down takes memory.
const MAX_COUNTED: u64 = 20_000_000;

/// Refuses questions that cost far more than `most` bootstraps, before they are written down.
pub(super) fn bound<'q>(
    circuit: &Circuit,
    readings: &ReadingsMetadata,
    questions: impl IntoIterator<Item = &'q Question>,
    most: u64,
) -> Result<(), EvaluateError> {
    let mut bootstraps = 0.0;
    for question in questions {
        bootstraps += estimate(circuit, readings, question)?;
    }
    // It is an estimate: what it lets pass is counted.
    match bootstraps > 4.0 * most as f64 + 100_000.0 {
        true => Err(EvaluateError::TooCostly {
            bootstraps: bootstraps as u64,
            most,
        }),
        false => Ok(()),
    }
}

/// About how many bootstraps a question takes.
fn estimate(
    circuit: &Circuit,
    readings: &ReadingsMetadata,
    question: &Question,
) -> Result<f64, EvaluateError> {
    let rows = readings.rows.len() as f64;
    let mut blocks = 0.0;
    for of in question.expressions() {
        let bits = of.linear(readings)?.column.bits;
        blocks += of.terms.len() as f64 * circuit.encoding().block_count(bits) as f64;
    }
    let rounds = rows.log2().ceil().max(1.0);
    let each = match question {
        // Batcher's network has a quarter of rows · rounds² comparators.
        Question::Sort(_) | Question::TopK(..) | Question::Percentile(..) => rounds * rounds,
        Question::Aggregate(super::Aggregate::Median, _) => rounds * rounds,
        Question::Histogram(_, edges) => 2.0 * edges.len() as f64,
        Question::Aggregate(..) => 6.0 + blocks / 2.0,
        _ => 2.0,
    };
    Ok(rows * blocks * each)
}

/// How fast a machine bootstraps.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// One of many.
    each: Duration,
    /// One alone.
    alone: Duration,
}

impl Speed {
    /// Tries a server key.
    ///
    /// # Errors
    /// A key whose parameters do not carry integers.
    pub fn measure(key: &ServerKey<u64>) -> Result<Self, EvaluateError> {
        /// Batches for every thread.
        const MANY: usize = 32;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let many = MANY * threads;
        Ok(Self {
            alone: time(key, 1)?.min(time(key, 1)?),
            each: time(key, many)? / many as u32,
        })
    }

    /// How long questions take that cost so much.
    pub fn predict(&self, cost: &Cost) -> Duration {
        let all = self.each.as_secs_f64() * cost.bootstraps as f64;
        let one_by_one = self.alone.as_secs_f64() * f64::from(cost.depth);
        Duration::from_secs_f64(all.max(one_by_one))
    }
}

/// How long so many bootstraps of arbitrary ciphertexts take.
fn time(key: &ServerKey<u64>, count: usize) -> Result<Duration, EvaluateError> {
    let parameters = key.parameters();
    let circuit = Circuit::new(parameters)?;
    let width = Width::new(parameters.message_bits.0)?;
    let limit: FheUint = circuit.clear(1u64, width);
    let random = RandomState::new();
    let words = parameters.big_lwe_dimension().0 + 1;
    let bits = (0..count).map(|i| {
        let words = (0..words).map(|word| random.hash_one((i, word))).collect();
        let ciphertexts = LweCiphertext::from_vec(words).into_iter().collect();
        let x: FheUint = circuit.encrypted(ciphertexts, width)?;
        Ok(circuit.bit(&circuit.compare(Comparison::Lt, &x, &limit)?))
    });
    let bits: Vec<Block> = bits.collect::<Result<_, EvaluateError>>()?;
    let start = Instant::now();
    circuit.evaluate(&Evaluator::new(key), &bits.iter().collect::<Vec<_>>())?;
    Ok(start.elapsed())
}
