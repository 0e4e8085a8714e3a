//! Evaluation of a request on one or more uploads, blindly.
//!
//! Whatever key an upload is under, it is brought under the evaluation key first; from
//! there on the rows of all uploads are rows of one table. All questions are written down
//! before the first bootstrap: what they have in common is done once, and what is ready is
//! done together, whichever question it belongs to.

use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::wire::glwe::{MAX_ELEMENTS, UploadedGlweList};
use tfhe_sbc_core::wire::{Header, Message, WireError};
use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::bootstrap::Evaluator;
use tfhe_sbc_engine::circuit::{self, Block, Circuit, CircuitError};
use tfhe_sbc_engine::glwe_key_switch::DeviceSwitchKey;
use tfhe_sbc_engine::integer::IntegerError;
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::metadata::MetadataError;
use tfhe_sbc_upload::readings::{ReadingsError, ReadingsMetadata, Upload};
use thiserror::Error;

use crate::device_keys::{DeviceKeyError, DeviceKeys};
use crate::progress::Progress;

use crate::Question;
use crate::cost;
use crate::record::{Inputs, Loading, Recorder, Table};
use crate::request::{Request, RequestError};
use crate::results::{EncryptedAnswer, Results, ResultsError};

/// Most blocks that the questions of a request may load: of readings, or of sums of several
/// where only their sum is asked for. At the default parameters each is an LWE ciphertext of
/// 16 KiB, and an evaluation holds up to six times as many at once: about 3 GiB.
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
    /// More bootstraps than a query may cost.
    #[error("the questions take about {bootstraps} bootstraps, more than the {most} of one query")]
    TooCostly {
        /// What they take.
        bootstraps: u64,
        /// What they may take.
        most: u64,
    },
    /// A question about columns.
    #[error(transparent)]
    Analytics(#[from] AnalyticsError),
    /// The result does not fit its envelope.
    #[error("the result: {0}")]
    Results(#[from] MetadataError),
    /// An answer that cannot be read: of a rehearsal.
    #[error(transparent)]
    Answer(#[from] ResultsError),
    /// More readings than a server should hold at once.
    #[error(
        "the questions load {0} blocks of readings, more than the {MAX_LOADED_BLOCKS} that one \
         query may load"
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
pub fn first_header(bytes: &[u8]) -> Result<Header, WireError> {
    Ok(Message::parse(bytes)?.0.header)
}

/// The error of the key of readings or a query.
pub fn device_key_of(of: &'static str) -> impl Fn(DeviceKeyError) -> EvaluateError {
    move |error| EvaluateError::DeviceKey { of, error }
}

/// Ciphertexts of a list under the evaluation key: `switch` brings them there if they are
/// under another one.
pub fn expand(
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
/// evaluation key or one of the keys of `devices`. `progress` is told how many bootstraps it
/// will take and of each as they are done, and can call the evaluation off.
///
/// # Errors
/// Among others, questions that take more than `max_bootstraps` bootstraps.
pub fn evaluate(
    key: &ServerKey<u64>,
    devices: &DeviceKeys,
    readings: &[&[u8]],
    request: &[u8],
    max_bootstraps: u64,
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
    let circuit = Circuit::new(parameters)?;
    let questions = || request.questions.iter().map(|(_, question)| question);
    let loading = Loading::of(&metadata, questions())?;
    let rows = uploads.iter().map(|(upload, _)| upload.metadata.rows.len());
    let rows: Vec<usize> = rows.collect();
    check_size(questions(), |question| {
        loading.block_count(&circuit, &metadata, &rows, question)
    })?;
    for question in questions() {
        question.check(&metadata)?;
    }
    cost::bound(&circuit, &metadata, questions(), max_bootstraps)?;
    let inputs = Inputs::Ciphertexts {
        thresholds: thresholds.map(|list| expand(&list, parameters, switch.as_ref())),
        tables: uploads
            .into_iter()
            .map(|(upload, switch)| Table {
                ciphertexts: expand(&upload.list, parameters, switch.as_ref()),
                rows: upload.metadata.rows.len(),
            })
            .collect(),
    };
    let recorder = Recorder::new(&circuit, &metadata, &inputs, &loading);
    let recorded = questions().map(|question| recorder.record(question));
    let recorded: Vec<_> = recorded.collect::<Result<_, _>>()?;
    drop(recorder);
    drop(inputs);

    let blocks: Vec<&Block> = recorded.iter().flat_map(|answer| &answer.blocks).collect();
    let bootstraps = circuit.bootstrap_count(&blocks);
    if bootstraps > max_bootstraps {
        return Err(EvaluateError::TooCostly {
            bootstraps,
            most: max_bootstraps,
        });
    }
    progress.expect_bootstraps(bootstraps);
    let go_on = || !progress.is_cancelled();
    let ciphertexts = circuit.export_while(&evaluator, &blocks, &go_on)?;
    let answers = request.questions.iter().zip(&recorded);
    let answers = answers.map(|((name, _), answer)| EncryptedAnswer {
        name: name.clone(),
        blocks: answer.blocks.len() as u32,
        meaning: answer.meaning.clone(),
    });
    let bootstraps = evaluator.bootstrap_count();
    let results = Results::new(answers.collect(), bootstraps);
    Ok((
        results.seal(parameters, fingerprint, &ciphertexts)?,
        bootstraps,
    ))
}

/// The columns that all uploads have, and the rows of all of them.
///
/// # Errors
/// Uploads of different columns.
pub fn joined<'m>(
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

/// Refuses questions that load more blocks than a server should hold.
fn check_size<'q>(
    questions: impl Iterator<Item = &'q Question>,
    loaded: impl Fn(&Question) -> Result<u64, EvaluateError>,
) -> Result<(), EvaluateError> {
    let blocks = questions.map(loaded).sum::<Result<u64, _>>()?;
    match blocks > MAX_LOADED_BLOCKS {
        true => Err(EvaluateError::TooLarge(blocks)),
        false => Ok(()),
    }
}
