//! Evaluation of a request on one or more uploads, blindly.
//!
//! Every upload is brought under the evaluation key first. From then on the rows of all uploads are rows
//! of one table. All questions are recorded before the first bootstrap, so work that they have in common
//! is done once, and lookups that are ready are done together even if they belong to several questions.

use std::collections::HashSet;

use tfhe_sbc_columns::device_keys::DeviceKeys;
use tfhe_sbc_columns::{self as columns, Computed, Exported, Progress, Server, Uploads};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{EntropyError, SeedSequence};
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_upload::readings::ReadingsMetadata;

pub use tfhe_sbc_columns::{MAX_LOADED_BLOCKS, first_header};

use crate::columns::known_column;
use crate::cost;
pub use crate::error::{EvaluateError, device_key_of};
use crate::graph::Thresholds;
use crate::groups::{AskedOf, Groups};
use crate::request::{ParsedRequest, Request, RequestError};
use crate::results::{Ciphertexts, EncryptedAnswer, Meaning, Results};
use crate::scope::UploadRows;
use crate::{Aggregate, Question, sanitised};

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
    let (parameters, fingerprint) = (key.parameters(), key.fingerprint());
    let uploads: Vec<StoredUpload<'u>> = uploads.iter().map(|&upload| upload.into()).collect();
    let names: Vec<Option<String>> = uploads.iter().map(|it| device_of(devices, it)).collect();
    let bytes: Vec<&[u8]> = uploads.iter().map(|upload| upload.bytes).collect();
    let uploads = Uploads::parse(parameters, devices, &bytes)?;
    uploads.check_count()?;
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
    let row_counts: Vec<usize> = match request.scope.is_all() {
        true => rows.iter().map(|upload| upload.labels.len()).collect(),
        false => groups.row_counts().collect(),
    };
    check_size(parameters, uploads.metadata(), &row_counts, &questions)?;
    drop(rows);
    let described = server.describe(uploads.metadata().clone());
    let described = groups.tables(&described)?;
    for (question, table) in questions
        .iter()
        .flat_map(|q| described.iter().map(move |t| (q, t)))
    {
        table.check(question)?;
    }
    cost::bound(server, &described, &questions, max_bootstraps)?;
    drop(described);
    let thresholds =
        thresholds.map(|list| columns::EncryptedLimits::expand(&list, parameters, switch.as_ref()));
    let mut asked: Vec<(String, AskedOf)> = Vec::new();
    {
        let table = server.load_parsed(uploads);
        let tables = groups.tables(&table)?;
        let thresholds = Thresholds::Encrypted(thresholds);
        for (name, question) in &request.questions {
            for table in &tables {
                let about_group = table.ask(question, &thresholds, parameters)?;
                asked.push((name.clone(), about_group));
            }
        }
    }
    let (results, ciphertexts) = match sanitiser {
        Some(sanitiser) => sanitised::answers(server, sanitiser, asked, max_bootstraps, progress)?,
        None => {
            let parts = asked.iter().flat_map(|(_, of)| &of.asked.parts);
            let parts: Vec<Computed> = parts.cloned().collect();
            let bootstraps = server.compute_within(&parts, max_bootstraps, progress)?;
            let (answers, ciphertexts) = answers(key, asked, form, progress)?;
            (Results::new(answers, bootstraps), ciphertexts)
        }
    };
    let results = results.about(groups.about);
    let bytes = results.seal(parameters, fingerprint, &ciphertexts)?;
    Ok((bytes, results.bootstraps))
}

/// The name of an upload's device: as it is given, else that of the device whose key it is under.
fn device_of(devices: &DeviceKeys, upload: &StoredUpload<'_>) -> Option<String> {
    let by_key = || {
        let header = first_header(upload.bytes).ok()?;
        let issue = devices.issue_of(&header).ok()??;
        Some(issue.device.as_str().to_owned())
    };
    upload.device.map(str::to_owned).or_else(by_key)
}

/// Returns the computed answers in the form that is asked for.
fn answers(
    key: &ServerKey<u64>,
    asked: Vec<(String, AskedOf)>,
    form: Form,
    progress: &Progress,
) -> Result<(Vec<EncryptedAnswer>, Ciphertexts), EvaluateError> {
    let parameters = key.parameters();
    let mut ciphertexts = match form {
        Form::ForDecryption => Ciphertexts::for_decryption(),
        Form::Whole => Ciphertexts::default(),
    };
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
    if form == Form::ForDecryption {
        ciphertexts.shorten(parameters, key.packing_key());
    }
    Ok((answers, ciphertexts))
}

/// Refuses questions that load more blocks than a server should hold. Each column counts as often as
/// questions name it.
fn check_size(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    uploads: &[usize],
    questions: &[&Question],
) -> Result<(), EvaluateError> {
    let blocks = loaded_blocks(parameters, readings, uploads, questions)?;
    match blocks.iter().sum() {
        blocks if blocks > MAX_LOADED_BLOCKS => Err(EvaluateError::TooLarge(blocks)),
        _ => Ok(()),
    }
}

/// Returns the number of blocks that each question loads from uploads of these numbers of rows. A
/// column whose single rows no question needs is loaded as sums of several rows.
fn loaded_blocks(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    uploads: &[usize],
    questions: &[&Question],
) -> Result<Vec<u64>, EvaluateError> {
    let mut by_row = HashSet::new();
    for question in questions {
        if summed_column(readings, question)?.is_none() {
            for name in question.columns() {
                by_row.insert(known_column(readings, name)?.0);
            }
        }
    }
    let rows = uploads.iter().sum::<usize>() as u64;
    let loaded = |question: &&Question| {
        if let Some(place) = summed_column(readings, question)?
            && !by_row.contains(&place)
            && readings.columns[place].compact.is_none()
        {
            let blocks = columns::summed_blocks(parameters, readings, uploads, place)?;
            return Ok(blocks);
        }
        let mut blocks = 0;
        for name in question.columns() {
            let (_, column) = known_column(readings, name)?;
            if column.compact.is_some() {
                // The plan of the questions tells which of its rows are loaded.
                continue;
            }
            blocks += rows * parameters.block_encoding().block_count(column.bits) as u64;
        }
        Ok(blocks)
    };
    questions.iter().map(loaded).collect()
}

/// Returns the place of the column whose sum of codes answers a question, if nothing else is needed.
fn summed_column(
    readings: &ReadingsMetadata,
    question: &Question,
) -> Result<Option<usize>, RequestError> {
    match question {
        Question::Aggregate(Aggregate::Sum | Aggregate::Mean, of) => match &of.terms[..] {
            [(name, weight)] if *weight > 0.0 => Ok(Some(known_column(readings, name)?.0)),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
    use tfhe_sbc_upload::readings::Column;

    use super::*;

    fn loaded(uploads: &[usize], texts: &[&str]) -> Vec<u64> {
        let column = |name: &str, bits| Column {
            name: name.to_owned(),
            unit: String::new(),
            offset: 0.0,
            scale: 0.5,
            bits,
            compact: None,
            derived: Default::default(),
        };
        let readings = ReadingsMetadata {
            columns: vec![column("a", 8), column("b", 3)],
            rows: vec![String::new(); uploads.iter().sum()],
        };
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let questions: Vec<Question> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let questions: Vec<&Question> = questions.iter().collect();
        loaded_blocks(&parameters, &readings, uploads, &questions).unwrap()
    }

    #[test]
    fn of_a_column_that_is_only_summed_no_rows_are_loaded() {
        // Five rows to a sum: of 25 and 35 rows in two uploads, 12 sums of 4 and of 2 blocks.
        let uploads = [25, 35];
        let sums = ["sum(a)", "mean(2 * b + 1)"];
        assert_eq!(loaded(&uploads, &sums), [48, 24]);
        assert_eq!(loaded(&uploads, &["sum(a)", "max(b)"]), [48, 120]);
        // A column whose rows are there anyway is added up from them.
        assert_eq!(loaded(&uploads, &["sum(a)", "max(a)"]), [240, 240]);
        assert_eq!(loaded(&uploads, &["sum(a)", "sum(a - b)"]), [240, 360]);
        // Over several polynomials.
        let [blocks] = loaded(&[1000, 3000], &["sum(a)"])[..] else {
            unreachable!()
        };
        assert!((3200..3300).contains(&blocks), "{blocks}");
    }
}
