//! The cost of questions, known without evaluating them and without a key.

use tfhe_sbc_columns::{self as columns, Computed, Progress, Server};
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_upload::gaps::Gaps;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::columns::encoding_of;
use crate::error::{EvaluateError, RequestError};
use crate::graph::{Graph, Thresholds};
use crate::groups::{AskedOf, GroupTable, Groups};
use crate::results::{Answer, EncryptedAnswer};
use crate::scope::{Scope, UploadRows};
use crate::{Question, sanitised};

pub use tfhe_sbc_columns::cost::{Cost, Speed};

/// The most bootstraps that a request may take unless the server is told otherwise: about an hour
/// of two cores.
pub const MAX_BOOTSTRAPS: u64 = 2_000_000;

/// The readings that questions would be asked about, and the manner of their answers.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// The columns.
    pub columns: &'a [Column],
    /// The rows of the uploads.
    pub uploads: &'a [UploadRows<'a>],
    /// The gaps of columns that tell them, in the rows of all uploads; `None` if they are not at hand, so that no reading is taken
    /// to be missing there.
    pub gaps: Option<&'a Gaps>,
    /// The rows that the questions are about, and their groups.
    pub scope: Scope,
    /// Whether the answers are sanitised.
    pub sanitise: bool,
}

impl<'a> Planned<'a> {
    /// Ordinary answers about all rows.
    fn whole(readings: &'a ReadingsMetadata, uploads: &'a [UploadRows<'a>]) -> Self {
        Self {
            columns: &readings.columns,
            uploads,
            gaps: Some(&readings.gaps),
            scope: Scope::default(),
            sanitise: false,
        }
    }
}

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
    let rows = all_rows(readings);
    let planned = Planned::whole(readings, &rows);
    costs_of(parameters, planned, questions, &Progress::default())
}

/// Returns the costs of [`costs`] of such answers. `progress` sees the lookups that are recorded and can call the recording
/// off.
///
/// # Errors
/// Returns the errors of [`costs`], scopes without rows, columns whose values cannot be sanitised, and an error if the
/// recording is called off.
pub fn costs_of(
    parameters: &Parameters,
    planned: Planned<'_>,
    questions: &[Question],
    progress: &Progress,
) -> Result<(Vec<Cost>, Cost), EvaluateError> {
    let server = Server::rehearsal(parameters)?;
    let rows = planned.uploads.iter().flat_map(|upload| upload.labels);
    let table = server.describe(ReadingsMetadata {
        columns: planned.columns.to_vec(),
        rows: rows.cloned().collect(),
        gaps: planned.gaps.cloned().unwrap_or_default(),
    });
    let each: Vec<&Question> = questions.iter().collect();
    let groups = Groups::new(&planned.scope, planned.uploads, &each).map_err(RequestError::from)?;
    let tables = groups.tables(0..groups.len(), &table)?;
    let mut parts = Vec::with_capacity(questions.len());
    for question in questions {
        tables.iter().try_for_each(|table| table.check(question))?;
        if planned.sanitise {
            question.check_sanitised(table.metadata())?;
        }
        bound(&server, &tables, &[question], MAX_COUNTED, 0.0)?;
        let asked = tables.iter().map(|table| {
            Ok(table
                .ask(question, &Thresholds::StandIns, parameters)?
                .asked)
        });
        let asked = asked.collect::<Result<Vec<_>, EvaluateError>>()?;
        let asked = match planned.sanitise {
            true => sanitised::in_blocks(asked),
            false => asked,
        };
        parts.push(asked.into_iter().flat_map(|asked| asked.parts).collect());
    }
    let (each, together) = server.costs(&parts, progress)?;
    // Groups are computed in slices. The largest group is the most that is loaded for one of them.
    let rows = tables.iter().map(|table| table.row_count() as u64);
    let (largest, all) = (rows.clone().max().unwrap_or(0), rows.sum::<u64>().max(1));
    let of_largest = |cost: Cost| Cost {
        loaded_blocks: cost.loaded_blocks.saturating_mul(largest).div_ceil(all),
        ..cost
    };
    let each: Vec<Cost> = each.into_iter().map(of_largest).collect();
    let together = of_largest(together);
    if !planned.sanitise {
        return Ok((each, together));
    }
    let washed = |cost: Cost, parts: &[Computed]| Cost {
        bootstraps: cost.bootstraps + sanitised::washing(parts),
        depth: cost.depth + 1,
        ..cost
    };
    let each = each.into_iter().zip(&parts);
    let each = each.map(|(cost, parts)| washed(cost, parts)).collect();
    Ok((each, washed(together, &parts.concat())))
}

/// The rows of readings, as if they were of one upload.
fn all_rows(readings: &ReadingsMetadata) -> [UploadRows<'_>; 1] {
    [UploadRows {
        device: None,
        labels: &readings.rows,
    }]
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
        let is_missing = |value: &&f64| column.is_optional() && value.is_nan();
        for value in values.iter().filter(|value| !is_missing(value)) {
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
    let each: Vec<&Question> = questions.iter().collect();
    let groups = Groups::new(&Scope::default(), &all_rows(readings), &each);
    let groups = groups.map_err(RequestError::from)?;
    let tables = groups.tables(0..groups.len(), &table)?;
    let [table] = &tables[..] else {
        return Err(columns::Error::NoRows.into());
    };
    let encoding = parameters.block_encoding();
    let answer = |question: &Question| {
        table.check(question)?;
        bound(&server, &tables, &[question], MAX_COUNTED, 0.0)?;
        let AskedOf { group, asked } = table.ask(question, &Thresholds::StandIns, parameters)?;
        server.compute_all(&asked.parts, &Progress::default())?;
        let mut blocks = Vec::new();
        for part in &asked.parts {
            blocks.extend(digits(part, encoding)?);
        }
        let answer = EncryptedAnswer {
            name: question.public_text(),
            group,
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

/// Returns an estimate of the bootstraps that questions about groups of rows take, in addition to `before`. Refuses them if all
/// are far more than `most`, before they are recorded. The tables are of `server`, and their values are not looked at.
pub(crate) fn bound(
    server: &Server,
    tables: &[GroupTable<'_>],
    questions: &[&Question],
    most: u64,
    before: f64,
) -> Result<f64, EvaluateError> {
    let mut bootstraps = before;
    for table in tables {
        let graph = table.graph(&Thresholds::StandIns, server.parameters());
        for question in questions {
            let question = table.fitting(question);
            bootstraps += match planned(server, &graph, &question) {
                Some(bootstraps) => bootstraps as f64,
                None => estimate(&graph, &question)?,
            };
        }
    }
    // Questions that this estimate lets pass are counted exactly.
    match bootstraps > 4.0 * most as f64 + 100_000.0 {
        true => Err(EvaluateError::TooCostly {
            bootstraps: bootstraps as u64,
            most,
        }),
        false => Ok(bootstraps),
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
    let rows = graph.table.row_count() as f64;
    let mut blocks = 0.0;
    for of in question.expressions() {
        let bits = of.encoding(readings)?.bits;
        blocks += of.terms.len() as f64 * encoding.block_count(bits) as f64;
    }
    let rounds = rows.log2().ceil().max(1.0);
    let each = match question {
        // Batcher's network has a quarter of rows · rounds² comparators.
        Question::Sort(_) | Question::Percentile(..) => rounds * rounds,
        // Lists of k are merged. A row has its place beside its value.
        Question::TopK(_, count) => {
            let merged = f64::from(*count).log2() + 1.0;
            4.0 * merged * merged.min(rounds)
        }
        Question::Aggregate(super::Aggregate::Median, _) => rounds * rounds,
        Question::Histogram(_, edges) => 2.0 * edges.len() as f64,
        Question::Aggregate(..) => 6.0 + blocks / 2.0,
        _ => 2.0,
    };
    Ok(rows * blocks * each)
}
