//! Evaluation of a request on one or more uploads, blindly.
//!
//! Whatever key an upload is under, it is brought under the evaluation key first; from
//! there on the rows of all uploads are rows of one table.
//!
//! Questions of one kind are evaluated together, whatever their columns: one
//! tournament for all minima and maxima, one carry-save addition for all sums, one
//! batch of comparisons for all conditions.

use std::collections::HashMap;

use tfhe_sbc_adapter::extract::ExpandedGlweList;
use tfhe_sbc_adapter::metadata::MetadataError;
use tfhe_sbc_adapter::readings::{Column, ReadingsError, ReadingsMetadata, Upload};
use tfhe_sbc_core::encoding::FixedPointError;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::wire::glwe::{MAX_ELEMENTS, UploadedGlweList};
use tfhe_sbc_core::wire::{Header, Message, WireError};
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{self, Block, Circuit, CircuitError};
use tfhe_sbc_engine::glwe_key_switch::DeviceSwitchKey;
use tfhe_sbc_engine::integer::{Comparison, FheBool, FheUint, IntegerError, Width};
use tfhe_sbc_engine::server_key::ServerKey;
use thiserror::Error;

use crate::backend::Progress;
use crate::device_keys::{DeviceKeyError, DeviceKeys};

use super::request::{Request, RequestError, known_column};
use super::results::{EncryptedAnswer, Meaning, Results};
use super::{CodeCondition, Condition, Question, Threshold, code_condition};

/// Most blocks that the questions of a request may load. At the default parameters each is
/// an LWE ciphertext of 16 KiB, and an evaluation holds up to six times as many at once:
/// about 3 GiB.
pub const MAX_LOADED_BLOCKS: u64 = 1 << 15;

/// Why a request could not be evaluated.
#[derive(Debug, Error)]
pub enum EvaluateError {
    /// The upload.
    #[error("the readings: {0}")]
    Readings(#[from] ReadingsError),
    /// The request.
    #[error("the query: {0}")]
    Request(#[from] RequestError),
    /// The key's parameters do not carry it.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// An operator.
    #[error(transparent)]
    Integer(#[from] IntegerError),
    /// The computation.
    #[error(transparent)]
    Evaluate(#[from] circuit::EvaluateError),
    /// A column whose encoding cannot be.
    #[error(transparent)]
    Column(#[from] FixedPointError),
    /// The result does not fit its envelope.
    #[error("the result: {0}")]
    Results(#[from] MetadataError),
    /// More readings than a server should hold at once.
    #[error(
        "the questions are about {0} blocks of readings, more than the {MAX_LOADED_BLOCKS} that \
         one query may load"
    )]
    TooLarge(u64),
    /// More ciphertexts than a server should expand at once.
    #[error("the readings have {0} blocks together, more than the {MAX_ELEMENTS} of one upload")]
    TooMany(usize),
    /// Uploads of different columns.
    #[error("readings number {0} have other columns than the first")]
    OtherColumns(usize),
    /// A key that leads nowhere.
    #[error("the {of}: {error}")]
    DeviceKey {
        /// Whose: the readings' or the query's.
        of: &'static str,
        /// Why.
        error: DeviceKeyError,
    },
}

/// The header of the first message of an upload or request, whose key is that of all.
pub(crate) fn first_header(bytes: &[u8]) -> Result<Header, WireError> {
    Ok(Message::parse(bytes)?.0.header)
}

/// The error of the key of readings or a query.
pub(crate) fn device_key_of(of: &'static str) -> impl Fn(DeviceKeyError) -> EvaluateError {
    move |error| EvaluateError::DeviceKey { of, error }
}

/// Ciphertexts of a list under the evaluation key.
fn expand(
    list: &UploadedGlweList<'_>,
    parameters: &Parameters,
    switch: Option<&DeviceSwitchKey<u64>>,
) -> ExpandedGlweList<u64> {
    let mut expanded = ExpandedGlweList::expand(list, parameters);
    if let Some(switch) = switch {
        switch.switch_batch(expanded.ciphertexts_mut());
    }
    expanded
}

/// Evaluates a request on uploads, their rows one after the other, and gives the bytes of
/// the result and the number of bootstraps. Uploads and request may each be under the
/// evaluation key or one of the keys of `devices`. `progress` is told of bootstraps as they
/// are done, and can call the evaluation off.
pub fn evaluate(
    key: &ServerKey<u64>,
    devices: &DeviceKeys,
    readings: &[&[u8]],
    request: &[u8],
    progress: &Progress,
) -> Result<(Vec<u8>, u64), EvaluateError> {
    let (parameters, fingerprint) = (key.parameters(), key.fingerprint());
    let mut uploads = Vec::with_capacity(readings.len());
    for bytes in readings {
        let header = first_header(bytes).map_err(ReadingsError::from)?;
        let switch = devices
            .switch_key(&header)
            .map_err(device_key_of("readings"))?;
        uploads.push((Upload::parse(bytes, parameters, header.key)?, switch));
    }
    let metadata = joined(uploads.iter().map(|(upload, _)| &upload.metadata))?;
    let blocks = uploads
        .iter()
        .map(|(upload, _)| upload.list.element_count());
    match blocks.sum() {
        0..=MAX_ELEMENTS => {}
        blocks => return Err(EvaluateError::TooMany(blocks)),
    }
    let header = first_header(request).map_err(RequestError::from)?;
    let switch = devices
        .switch_key(&header)
        .map_err(device_key_of("query"))?;
    let (request, thresholds) = Request::parse(request, parameters, header.key)?;
    let observer = |count| progress.add_bootstraps(count);
    let evaluator = Evaluator::with_observer(key, &observer);
    let evaluation = Evaluation {
        circuit: Circuit::new(parameters)?,
        thresholds: thresholds.map(|list| expand(&list, parameters, switch.as_ref())),
        tables: uploads
            .into_iter()
            .map(|(upload, switch)| Table {
                ciphertexts: expand(&upload.list, parameters, switch.as_ref()),
                metadata: upload.metadata,
            })
            .collect(),
        metadata,
    };
    evaluation.check_size(&request)?;
    let extremes = evaluation.extremes(&request)?;
    let sums = evaluation.sums(&request)?;
    let rows = evaluation.rows(&request)?;
    let counts = evaluation.counts(&rows)?;

    let mut answers = Vec::with_capacity(request.questions.len());
    let mut blocks: Vec<&Block> = Vec::new();
    for (i, (name, question)) in request.questions.iter().enumerate() {
        let before = blocks.len();
        let column = |name: &str| evaluation.column(name).map(|(_, column)| column.clone());
        let count = evaluation.metadata.rows.len() as u32;
        let meaning = match question {
            Question::Min(name) => {
                blocks.extend(extremes[name].0.blocks());
                Meaning::Reading(column(name)?)
            }
            Question::Max(name) => {
                blocks.extend(extremes[name].1.blocks());
                Meaning::Reading(column(name)?)
            }
            Question::Sum(name) => {
                blocks.extend(sums[name].blocks());
                Meaning::Sum(column(name)?, count)
            }
            Question::Mean(name) => {
                blocks.extend(sums[name].blocks());
                Meaning::Mean(column(name)?, count)
            }
            Question::Count(_) => {
                blocks.extend(counts[&i].blocks());
                Meaning::Count
            }
            Question::Rows(_) => {
                blocks.extend(&rows[&i].bits);
                Meaning::Rows(evaluation.metadata.rows.clone())
            }
        };
        answers.push(EncryptedAnswer {
            name: name.clone(),
            blocks: (blocks.len() - before) as u32,
            meaning,
        });
    }
    let go_on = || !progress.is_cancelled();
    let ciphertexts = (evaluation.circuit).export_while(&evaluator, &blocks, &go_on)?;
    let bootstraps = evaluator.bootstrap_count();
    let results = Results {
        answers,
        bootstraps,
    };
    Ok((
        results.seal(parameters, fingerprint, &ciphertexts)?,
        bootstraps,
    ))
}

/// The rows that meet the conditions of a question.
struct Met {
    is_count: bool,
    held: Vec<FheBool>,
    bits: Vec<Block>,
}

/// One upload, under the evaluation key.
struct Table {
    metadata: ReadingsMetadata,
    ciphertexts: ExpandedGlweList<u64>,
}

/// The columns that all uploads have, and the rows of all of them.
fn joined<'m>(
    uploads: impl Iterator<Item = &'m ReadingsMetadata>,
) -> Result<ReadingsMetadata, EvaluateError> {
    let mut joined = ReadingsMetadata {
        columns: Vec::new(),
        rows: Vec::new(),
    };
    for (i, metadata) in uploads.enumerate() {
        if i == 0 {
            joined.columns.clone_from(&metadata.columns);
        } else if joined.columns != metadata.columns {
            return Err(EvaluateError::OtherColumns(i + 1));
        }
        joined.rows.extend_from_slice(&metadata.rows);
    }
    Ok(joined)
}

struct Evaluation {
    circuit: Circuit,
    metadata: ReadingsMetadata,
    tables: Vec<Table>,
    thresholds: Option<ExpandedGlweList<u64>>,
}

impl Evaluation {
    fn column(&self, name: &str) -> Result<(usize, &Column), RequestError> {
        known_column(&self.metadata, name)
    }

    fn check_size(&self, request: &Request) -> Result<(), EvaluateError> {
        let encoding = self.circuit.encoding();
        let rows = self.metadata.rows.len() as u64;
        let mut blocks = 0;
        for name in request
            .questions
            .iter()
            .flat_map(|(_, question)| question.columns())
        {
            let (_, column) = self.column(name)?;
            blocks += rows * encoding.block_count(column.bits) as u64;
        }
        if blocks > MAX_LOADED_BLOCKS {
            return Err(EvaluateError::TooLarge(blocks));
        }
        Ok(())
    }

    /// The readings of a column.
    fn load(&self, name: &str) -> Result<Vec<FheUint>, EvaluateError> {
        let (column, Column { bits, .. }) = self.column(name)?;
        let width = Width::new(*bits)?;
        let encoding = self.circuit.encoding();
        let mut readings = Vec::with_capacity(self.metadata.rows.len());
        for table in &self.tables {
            for row in 0..table.metadata.rows.len() {
                let blocks = table.metadata.blocks_of(encoding, column, row);
                // `Upload::parse` has checked that all of them are there.
                let ciphertexts = table.ciphertexts.extract(blocks).unwrap_or_default();
                readings.push(self.circuit.encrypted(ciphertexts, width)?);
            }
        }
        Ok(readings)
    }

    /// The readings of every column that `wanted` finds a name of in a question.
    fn load_all<'r>(
        &self,
        request: &'r Request,
        wanted: impl Fn(&'r Question) -> Option<&'r String>,
    ) -> Result<(Vec<String>, Vec<Vec<FheUint>>), EvaluateError> {
        let mut names: Vec<String> = request
            .questions
            .iter()
            .filter_map(|(_, question)| wanted(question).cloned())
            .collect();
        names.sort();
        names.dedup();
        let columns = names
            .iter()
            .map(|name| self.load(name))
            .collect::<Result<_, _>>()?;
        Ok((names, columns))
    }

    fn extremes(
        &self,
        request: &Request,
    ) -> Result<HashMap<String, (FheUint, FheUint)>, EvaluateError> {
        let (names, columns) = self.load_all(request, |question| match question {
            Question::Min(name) | Question::Max(name) => Some(name),
            _ => None,
        })?;
        names
            .into_iter()
            .zip(columns)
            .map(|(name, column)| {
                let circuit = &self.circuit;
                let ends = circuit.side_by_side(column.len(), |c| c.min_max_of(&column))?;
                Ok((
                    name,
                    (circuit.propagate(&ends.0)?, circuit.propagate(&ends.1)?),
                ))
            })
            .collect()
    }

    fn sums(&self, request: &Request) -> Result<HashMap<String, FheUint>, EvaluateError> {
        let (names, columns) = self.load_all(request, |question| match question {
            Question::Sum(name) | Question::Mean(name) => Some(name),
            _ => None,
        })?;
        names
            .into_iter()
            .zip(columns)
            .map(|(name, column)| {
                let sum = self.circuit.sum(&column)?;
                Ok((name, self.circuit.propagate(&sum)?))
            })
            .collect()
    }

    /// For every question with conditions, by its place, the truth value of each row.
    fn rows(&self, request: &Request) -> Result<HashMap<usize, Met>, EvaluateError> {
        let mut asked = Vec::new();
        for (i, (_, question)) in request.questions.iter().enumerate() {
            match question {
                Question::Count(conditions) => asked.push((i, true, conditions)),
                Question::Rows(conditions) => asked.push((i, false, conditions)),
                _ => {}
            }
        }
        let mut met = HashMap::new();
        for (i, is_count, conditions) in asked {
            let outcomes = conditions
                .iter()
                .map(|condition| self.outcomes(condition))
                .collect::<Result<Vec<_>, _>>()?;
            let held = (0..self.metadata.rows.len())
                .map(|row| self.circuit.all(outcomes.iter().map(|bits| &bits[row])))
                .collect::<Result<Vec<_>, _>>()?;
            let bits = held.iter().map(|held| self.circuit.bit(held)).collect();
            met.insert(
                i,
                Met {
                    is_count,
                    held,
                    bits,
                },
            );
        }
        Ok(met)
    }

    /// Whether each row meets a condition.
    fn outcomes(&self, condition: &Condition) -> Result<Vec<FheBool>, EvaluateError> {
        let circuit = &self.circuit;
        Ok(match self.test(condition)? {
            Test::Constant(answer) => {
                vec![circuit.clear_bool(answer); self.metadata.rows.len()]
            }
            Test::Compare(comparison, column, limit) => column
                .iter()
                .map(|reading| circuit.compare(comparison, reading, &limit))
                .collect::<Result<_, _>>()?,
        })
    }

    fn counts(&self, rows: &HashMap<usize, Met>) -> Result<HashMap<usize, FheUint>, EvaluateError> {
        let counted = rows.iter().filter(|(_, met)| met.is_count);
        counted
            .map(|(&i, met)| {
                let count = self.circuit.count(&met.held)?;
                Ok((i, self.circuit.propagate(&count)?))
            })
            .collect()
    }

    /// What a condition asks of every reading of its column.
    fn test(&self, condition: &Condition) -> Result<Test, EvaluateError> {
        let (_, column) = self.column(&condition.column)?;
        let width = Width::new(column.bits)?;
        let blocks = self.circuit.block_count(width);
        let misfit = || RequestError::ThresholdEncoding {
            name: column.name.clone(),
        };
        let (relation, limit) = match condition.threshold {
            Threshold::Clear(threshold) => {
                match code_condition(&column.fixed_point()?, condition.relation, threshold) {
                    CodeCondition::Always(answer) => return Ok(Test::Constant(answer)),
                    CodeCondition::Compare(relation, code) => {
                        (relation, self.circuit.clear(code, width))
                    }
                }
            }
            Threshold::Encrypted {
                first_block,
                offset,
                scale,
                bits,
            } => {
                if (offset, scale, bits) != (column.offset, column.scale, column.bits) {
                    return Err(misfit().into());
                }
                let first = first_block as usize;
                let ciphertexts = self
                    .thresholds
                    .as_ref()
                    .and_then(|list| list.extract(first..first.checked_add(blocks)?))
                    .ok_or_else(misfit)?;
                (
                    condition.relation,
                    self.circuit.encrypted(ciphertexts, width)?,
                )
            }
            Threshold::ToEncrypt(_) => return Err(misfit().into()),
        };
        Ok(Test::Compare(
            relation.comparison(),
            self.load(&condition.column)?,
            limit,
        ))
    }
}

enum Test {
    Constant(bool),
    Compare(Comparison, Vec<FheUint>, FheUint),
}
