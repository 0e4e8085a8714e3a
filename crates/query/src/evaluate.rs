//! Evaluation of a request on one or more uploads, blindly.
//!
//! Every upload is brought under the evaluation key first. From then on the rows of all uploads are rows
//! of one table. All questions are recorded before the first bootstrap, so work that they have in common
//! is done once, and lookups that are ready are done together even if they belong to several questions.

use std::ops::Range;

use tfhe_sbc_columns::device_keys::DeviceKeys;
use tfhe_sbc_columns::{self as columns, Computed, Exported, Progress, Server, Uploads};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{EntropyError, SeedSequence};
use tfhe_sbc_engine::server_key::ServerKey;

pub use tfhe_sbc_columns::{MAX_LOADED_BLOCKS, first_header};

use crate::cost;
pub use crate::error::{EvaluateError, device_key_of};
use crate::graph::Thresholds;
use crate::groups::{AskedOf, GroupTable, Groups};
use crate::request::{ParsedRequest, Request, RequestError};
use crate::results::{Ciphertexts, EncryptedAnswer, Meaning, Results};
use crate::scope::UploadRows;
use crate::slices::slices;
use crate::{Question, sanitised};

/// A function that starts a sequence of seeds with fresh randomness, such as `tfhe_sbc_upload::fresh_seeds`.
pub type FreshSeeds = fn() -> Result<SeedSequence, EntropyError>;

/// The form of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As short as decryption permits: packed with the server key's packing key, or cut if it has none.
    ForDecryption,
    /// Ciphertexts that can be computed on again.
    Whole,
}

/// An upload with the device that it is of.
#[derive(Clone, Copy, Debug)]
pub struct StoredUpload<'a> {
    /// The name of the device; `None` if only the key of the upload can tell.
    pub device: Option<&'a str>,
    /// The upload.
    pub bytes: &'a [u8],
}

impl<'a> From<&'a [u8]> for StoredUpload<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self {
            device: None,
            bytes,
        }
    }
}

/// Evaluates a request on uploads, their rows one after the other, and returns the bytes of the
/// result and the number of bootstraps. Uploads and request may each be under the evaluation key or
/// a key of one of the server's devices. `progress` sees the lookups that are recorded and the
/// bootstraps that are done, and can call the evaluation off. `fresh_seeds` draws the randomness of sanitised answers.
///
/// # Errors
/// Returns an error for uploads and requests that are not valid, for questions that take more than
/// `max_bootstraps` bootstraps or load too many blocks, and if `progress` calls the evaluation off.
pub fn evaluate<'u>(
    server: &Server,
    uploads: &[impl Into<StoredUpload<'u>> + Copy],
    request: &[u8],
    form: Form,
    max_bootstraps: u64,
    progress: &Progress,
    fresh_seeds: FreshSeeds,
) -> Result<(Vec<u8>, u64), EvaluateError> {
    let (Some(key), Some(devices)) = (server.key(), server.devices()) else {
        return Err(columns::Error::RehearsalLoads.into());
    };
    let parameters = key.parameters();
    let uploads: Vec<StoredUpload<'u>> = uploads.iter().map(|&upload| upload.into()).collect();
    let names: Vec<Option<String>> = uploads.iter().map(|it| device_of(devices, it)).collect();
    let bytes: Vec<&[u8]> = uploads.iter().map(|upload| upload.bytes).collect();
    let uploads = Uploads::parse(parameters, devices, &bytes)?;
    let header = first_header(request).map_err(RequestError::from)?;
    let switch = devices
        .switch_key(&header)
        .map_err(device_key_of("query"))?;
    let ParsedRequest {
        request,
        thresholds,
        public_key,
    } = Request::parse(request, parameters, header.key)?;
    let sanitiser = match (public_key, form) {
        (Some(_), Form::Whole) => return Err(RequestError::SanitisedWhole.into()),
        (Some(public_key), Form::ForDecryption) => {
            let seeds = fresh_seeds().map_err(columns::Error::from)?;
            Some(server.sanitiser(&public_key, seeds)?)
        }
        (None, _) => None,
    };
    let questions: Vec<&Question> = request.questions.iter().map(|(_, q)| q).collect();
    let rows = uploads
        .labels()
        .zip(&names)
        .map(|(labels, name)| UploadRows {
            device: name.as_deref(),
            labels,
        });
    let rows: Vec<UploadRows<'_>> = rows.collect();
    let groups = Groups::new(&request.scope, &rows, &questions).map_err(RequestError::from)?;
    let group_rows: Vec<Vec<usize>> = match request.scope.is_all() {
        true => vec![rows.iter().map(|upload| upload.labels.len()).collect()],
        false => groups.row_counts().map(|rows| vec![rows]).collect(),
    };
    if sanitiser.is_some() {
        let readings = uploads.metadata();
        questions
            .iter()
            .try_for_each(|question| question.check_sanitised(readings))?;
    }
    let mut slices = slices(parameters, uploads.metadata(), &group_rows, &questions)?;
    if sanitiser.is_some() {
        // Sanitised answers are packed together.
        slices = std::iter::once(0..groups.len()).collect();
    }
    drop(rows);
    let described = server.describe(uploads.metadata().clone());
    let mut estimate = 0.0;
    for slice in &slices {
        let tables = groups.tables(slice.clone(), &described)?;
        for table in &tables {
            questions
                .iter()
                .try_for_each(|question| table.check(question))?;
        }
        estimate = cost::bound(server, &tables, &questions, max_bootstraps, estimate)?;
    }
    let thresholds =
        thresholds.map(|list| columns::EncryptedLimits::expand(&list, parameters, switch.as_ref()));
    let thresholds = Thresholds::Encrypted(thresholds);
    if slices.len() > 1 {
        let count = |slice: &Range<usize>| {
            let tables = groups.tables(slice.clone(), &described)?;
            let asked = ask(&tables, &request, &thresholds, parameters)?;
            Ok(server.cost(&parts_of(&asked), progress)?.bootstraps)
        };
        let counts = slices.iter().map(count);
        let bootstraps = counts.sum::<Result<u64, EvaluateError>>()?;
        if bootstraps > max_bootstraps {
            return Err(EvaluateError::TooCostly {
                bootstraps,
                most: max_bootstraps,
            });
        }
        progress.expect_bootstraps(bootstraps);
    }
    drop(described);
    let table = server.load_parsed(uploads);
    if let Some(sanitiser) = sanitiser {
        let asked = {
            let tables = groups.tables(0..groups.len(), &table)?;
            ask(&tables, &request, &thresholds, parameters)?
        };
        drop(table);
        let sanitised = sanitised::answers(server, sanitiser, asked, max_bootstraps, progress)?;
        let (results, ciphertexts) = sanitised;
        return seal(results.about(groups.about), &ciphertexts, key);
    }
    let mut ciphertexts = match form {
        Form::ForDecryption => Ciphertexts::for_decryption().with_device_keys(&request.device_keys),
        Form::Whole => Ciphertexts::default(),
    };
    let (mut encrypted, mut bootstraps) = (Vec::new(), 0);
    for slice in slices {
        let asked = {
            let tables = groups.tables(slice, &table)?;
            ask(&tables, &request, &thresholds, parameters)?
        };
        let most = max_bootstraps.saturating_sub(bootstraps);
        let computed = server.compute_within(&parts_of(&asked), most, progress);
        bootstraps += computed.map_err(|error| match error {
            columns::Error::TooCostly { bootstraps: of, .. } => EvaluateError::TooCostly {
                bootstraps: bootstraps.saturating_add(of),
                most: max_bootstraps,
            },
            error => error.into(),
        })?;
        encrypted.extend(answers(
            parameters,
            asked,
            form,
            &mut ciphertexts,
            progress,
        )?);
        if form == Form::ForDecryption {
            ciphertexts.shorten_whole(parameters, key.packing_key());
        }
    }
    drop(table);
    if form == Form::ForDecryption {
        ciphertexts.shorten(parameters, key.packing_key());
    }
    let results = Results::new(encrypted, bootstraps).about(groups.about);
    seal(results, &ciphertexts, key)
}

/// Returns the bytes of results under the server's key, and their number of bootstraps.
fn seal(
    results: Results,
    ciphertexts: &Ciphertexts,
    key: &ServerKey<u64>,
) -> Result<(Vec<u8>, u64), EvaluateError> {
    let bytes = results.seal(key.parameters(), key.fingerprint(), ciphertexts)?;
    Ok((bytes, results.bootstraps))
}

/// Returns the values that answer the questions of a request about groups: question by question, each about all groups.
fn ask(
    tables: &[GroupTable<'_>],
    request: &Request,
    thresholds: &Thresholds,
    parameters: &Parameters,
) -> Result<Vec<(String, AskedOf)>, EvaluateError> {
    let questions = request.questions.iter();
    let each = questions.flat_map(|(name, question)| {
        tables.iter().map(move |table| {
            let about_group = table.ask(question, thresholds, parameters)?;
            Ok((name.clone(), about_group))
        })
    });
    each.collect()
}

fn parts_of(asked: &[(String, AskedOf)]) -> Vec<Computed> {
    let parts = asked.iter().flat_map(|(_, of)| &of.asked.parts);
    parts.cloned().collect()
}

/// The name of an upload's device: as it is given, else that of the device whose key it is under.
pub fn device_of(devices: &DeviceKeys, upload: &StoredUpload<'_>) -> Option<String> {
    let by_key = || {
        let header = first_header(upload.bytes).ok()?;
        let issue = devices.issue_of(&header).ok()??;
        Some(issue.device.as_str().to_owned())
    };
    upload.device.map(str::to_owned).or_else(by_key)
}

/// Adds the ciphertexts of computed answers in the form that is asked for, and returns what describes them.
fn answers(
    parameters: &Parameters,
    asked: Vec<(String, AskedOf)>,
    form: Form,
    ciphertexts: &mut Ciphertexts,
    progress: &Progress,
) -> Result<Vec<EncryptedAnswer>, EvaluateError> {
    let mut answers = Vec::with_capacity(asked.len());
    for (name, AskedOf { group, asked }) in asked {
        let joined = match (&asked.meaning, &asked.parts[..], form) {
            (Meaning::Rows(_), [flags], Form::ForDecryption) => flags.export_joined(progress)?,
            _ => None,
        };
        let is_joined = joined.is_some();
        let parts = match joined {
            Some(flags) => vec![Exported::Sealed(flags)],
            None => {
                let parts = asked.parts.iter().map(|part| part.export(progress));
                parts.collect::<Result<_, _>>()?
            }
        };
        let answer = ciphertexts.add(parameters, name, parts, asked.meaning);
        let answer = answer.ok_or(columns::Error::NoCiphertexts)?;
        answers.push(EncryptedAnswer {
            group,
            joined: is_joined,
            ..answer
        });
    }
    Ok(answers)
}
