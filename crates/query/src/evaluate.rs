//! Evaluation of a request on one or more uploads, blindly.
//!
//! Every upload is brought under the evaluation key first. From then on the rows of all uploads are rows
//! of one table. All questions are recorded before the first bootstrap, so work that they have in common
//! is done once, and lookups that are ready are done together even if they belong to several questions.

use std::collections::HashSet;

use tfhe_sbc_columns::{self as columns, Computed, Exported, Progress, Server, Uploads};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{EntropyError, SeedSequence};
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_upload::readings::ReadingsMetadata;

pub use tfhe_sbc_columns::{MAX_LOADED_BLOCKS, first_header};

use crate::columns::known_column;
use crate::cost;
pub use crate::error::{EvaluateError, device_key_of};
use crate::graph::{Asked, Graph, Thresholds};
use crate::request::{ParsedRequest, Request, RequestError};
use crate::results::{Ciphertexts, EncryptedAnswer, Meaning, Results};
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

/// Evaluates a request on uploads, their rows one after the other, and returns the bytes of the
/// result and the number of bootstraps. Uploads and request may each be under the evaluation key or
/// a key of one of the server's devices. `progress` sees the lookups that are recorded and the
/// bootstraps that are done, and can call the evaluation off. `fresh_seeds` draws the randomness of sanitised answers.
///
/// # Errors
/// Returns an error for uploads and requests that are not valid, for questions that take more than
/// `max_bootstraps` bootstraps or load too many blocks, and if `progress` calls the evaluation off.
pub fn evaluate(
    server: &Server,
    uploads: &[&[u8]],
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
    let uploads = Uploads::parse(parameters, devices, uploads)?;
    uploads.check_count()?;
    let metadata = uploads.metadata().clone();
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
    check_size(parameters, &metadata, &uploads.row_counts(), &questions)?;
    for question in &questions {
        question.check(&metadata)?;
    }
    let described = server.describe(metadata);
    let graph = Graph {
        table: &described,
        thresholds: &Thresholds::StandIns,
        parameters: *parameters,
    };
    cost::bound(server, &graph, questions.iter().copied(), max_bootstraps)?;
    let thresholds =
        thresholds.map(|list| columns::EncryptedLimits::expand(&list, parameters, switch.as_ref()));
    let asked: Vec<Asked> = {
        let table = server.load_parsed(uploads);
        let thresholds = Thresholds::Encrypted(thresholds);
        let graph = Graph {
            table: &table,
            thresholds: &thresholds,
            parameters: *parameters,
        };
        let asked = questions.iter().map(|question| graph.answer(question));
        asked.collect::<Result<_, _>>()?
    };
    let asked = request.questions.into_iter().zip(asked);
    let asked: Vec<(String, Asked)> = asked.map(|((name, _), asked)| (name, asked)).collect();
    let (results, ciphertexts) = match sanitiser {
        Some(sanitiser) => sanitised::answers(server, sanitiser, asked, max_bootstraps, progress)?,
        None => {
            let parts = asked.iter().flat_map(|(_, asked)| &asked.parts);
            let parts: Vec<Computed> = parts.cloned().collect();
            let bootstraps = server.compute_within(&parts, max_bootstraps, progress)?;
            let (answers, ciphertexts) = answers(key, asked, form, progress)?;
            (Results::new(answers, bootstraps), ciphertexts)
        }
    };
    let bytes = results.seal(parameters, fingerprint, &ciphertexts)?;
    Ok((bytes, results.bootstraps))
}

/// Returns the computed answers in the form that is asked for.
fn answers(
    key: &ServerKey<u64>,
    asked: Vec<(String, Asked)>,
    form: Form,
    progress: &Progress,
) -> Result<(Vec<EncryptedAnswer>, Ciphertexts), EvaluateError> {
    let parameters = key.parameters();
    let mut ciphertexts = match form {
        Form::ForDecryption => Ciphertexts::for_decryption(),
        Form::Whole => Ciphertexts::default(),
    };
    let mut answers = Vec::with_capacity(asked.len());
    for (name, asked) in asked {
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
