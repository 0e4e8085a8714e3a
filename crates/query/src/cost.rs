//! The cost of questions, known without evaluating them and without a key.

use tfhe_sbc_columns::{self as columns, Computed, Progress, Server};
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::columns::encoding_of;
use crate::error::{EvaluateError, RequestError};
use crate::graph::{Asked, Graph, Thresholds};
use crate::results::{Answer, EncryptedAnswer};
use crate::{Question, sanitised};

pub use tfhe_sbc_columns::cost::{Cost, Speed};

/// The most bootstraps that a request may take unless the server is told otherwise: about an hour
/// of two cores.
pub const MAX_BOOTSTRAPS: u64 = 2_000_000;

/// Returns the cost of each question about uploads of this metadata by itself, and that of all of
/// them together: less than the sum if they have work in common. Thresholds need not be encrypted.
///
/// # Errors
/// Returns the errors of questions that the server would refuse for another reason than their cost.
pub fn costs(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    questions: &[Question],
) -> Result<(Vec<Cost>, Cost), EvaluateError> {
    costs_watched(parameters, readings, questions, &Progress::default())
}

/// Does the same as [`costs`]. `progress` sees the lookups that are recorded and can call the recording
/// off.
///
/// # Errors
/// Returns the errors of [`costs`], and an error if the recording is called off.
pub fn costs_watched(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    questions: &[Question],
    progress: &Progress,
) -> Result<(Vec<Cost>, Cost), EvaluateError> {
    let server = Server::rehearsal(parameters)?;
    let asked = asked(&server, readings, questions)?;
    let parts: Vec<_> = asked.into_iter().map(|asked| asked.parts).collect();
    Ok(server.costs(&parts, progress)?)
}

/// Returns the costs of [`costs`] for answers that are sanitised.
///
/// # Errors
/// Returns the errors of [`costs`], and an error for columns whose values cannot become digits.
pub fn costs_sanitised(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    questions: &[Question],
) -> Result<(Vec<Cost>, Cost), EvaluateError> {
    let server = Server::rehearsal(parameters)?;
    let asked = sanitised::in_blocks(asked(&server, readings, questions)?);
    let parts: Vec<_> = asked.into_iter().map(|asked| asked.parts).collect();
    let (each, together) = server.costs(&parts, &Progress::default())?;
    let washed = |cost: Cost, parts: &[Computed]| Cost {
        bootstraps: cost.bootstraps + sanitised::washing(parts),
        depth: cost.depth + 1,
    };
    let each = each.into_iter().zip(&parts);
    let each = each.map(|(cost, parts)| washed(cost, parts)).collect();
    Ok((each, washed(together, &parts.concat())))
}

/// Returns the values that questions ask for, of a table without values.
fn asked(
    server: &Server,
    readings: &ReadingsMetadata,
    questions: &[Question],
) -> Result<Vec<Asked>, EvaluateError> {
    let table = server.describe(readings.clone());
    let graph = Graph {
        table: &table,
        thresholds: &Thresholds::StandIns,
        parameters: *server.parameters(),
    };
    let asked = questions.iter().map(|question| {
        question.check(readings)?;
        bound(server, &graph, [question], MAX_COUNTED)?;
        graph.answer(question)
    });
    asked.collect()
}

/// Computes questions in the clear, with the lookups of a server, and returns their answers: for
/// trying questions out without keys. `values` has the readings of each column.
///
/// # Errors
/// Returns an error for questions that the server would refuse and for values that their columns
/// cannot encode.
pub fn rehearse(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    values: &[Vec<f64>],
    questions: &[Question],
) -> Result<Vec<Answer>, EvaluateError> {
    for (column, values) in readings.columns.iter().zip(values) {
        let encoding = encoding_of(column)?;
        for value in values {
            encoding
                .encode(*value)
                .map_err(|error| RequestError::Threshold {
                    name: column.name.clone(),
                    error,
                })?;
        }
    }
    let server = Server::rehearsal(parameters)?;
    let table = server.load_clear(readings.clone(), values)?;
    let graph = Graph {
        table: &table,
        thresholds: &Thresholds::StandIns,
        parameters: *parameters,
    };
    let encoding = parameters.block_encoding();
    let answer = |question: &Question| {
        question.check(readings)?;
        bound(&server, &graph, [question], MAX_COUNTED)?;
        let asked = graph.answer(question)?;
        server.compute_all(&asked.parts, &Progress::default())?;
        let mut blocks = Vec::new();
        for part in &asked.parts {
            blocks.extend(digits(part, encoding)?);
        }
        let answer = EncryptedAnswer {
            name: question.public_text(),
            blocks: blocks.len() as u32,
            compact: Vec::new(),
            joined: false,
            meaning: asked.meaning,
        };
        Ok(answer.read(parameters, &blocks)?)
    };
    questions.iter().map(answer).collect()
}

/// Returns the blocks of a rehearsed value as a decryption would return them.
fn digits(part: &Computed, encoding: BlockEncoding) -> Result<Vec<u64>, EvaluateError> {
    let columns::Exported::Clear(codes) = part.export(&Progress::default())? else {
        return Err(columns::Error::Encrypted.into());
    };
    let each = match part {
        Computed::Number(number) => encoding.block_count(number.bits()),
        Computed::Mask(_) => 1,
    };
    let bits = encoding.message_bits() as usize;
    let digit = |code: u128, place: usize| {
        let rest = code.checked_shr((place * bits) as u32).unwrap_or(0);
        (rest % (1 << bits)) as u64
    };
    let codes = codes.into_iter();
    Ok(codes
        .flat_map(|code| (0..each).map(move |place| digit(code, place)))
        .collect())
}

/// The most bootstraps that are counted, because recorded lookups take memory.
const MAX_COUNTED: u64 = 20_000_000;

/// Refuses questions that take far more than `most` bootstraps, before they are recorded. `graph` is of a table
/// of `server`, whose values are not looked at.
pub(super) fn bound<'q>(
    server: &Server,
    graph: &Graph<'_>,
    questions: impl IntoIterator<Item = &'q Question>,
    most: u64,
) -> Result<(), EvaluateError> {
    let mut bootstraps = 0.0;
    for question in questions {
        bootstraps += match planned(server, graph, question) {
            Some(bootstraps) => bootstraps as f64,
            None => estimate(graph, question)?,
        };
    }
    // Questions that this estimate lets pass are counted exactly.
    match bootstraps > 4.0 * most as f64 + 100_000.0 {
        true => Err(EvaluateError::TooCostly {
            bootstraps: bootstraps as u64,
            most,
        }),
        false => Ok(()),
    }
}

/// Returns the number of bootstraps of a question whose answer takes no circuit, as linear functions of compact
/// columns do.
fn planned(server: &Server, graph: &Graph<'_>, question: &Question) -> Option<u64> {
    let asked = graph.answer(question).ok()?;
    server.cost_without_circuit(&asked.parts).ok()?
}

/// Returns an estimate of the number of bootstraps that a question takes.
fn estimate(graph: &Graph<'_>, question: &Question) -> Result<f64, EvaluateError> {
    let (encoding, readings) = (graph.parameters.block_encoding(), graph.table.metadata());
    let rows = readings.rows.len() as f64;
    let mut blocks = 0.0;
    for of in question.expressions() {
        let bits = of.encoding(readings)?.bits;
        blocks += of.terms.len() as f64 * encoding.block_count(bits) as f64;
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
