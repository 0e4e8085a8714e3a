//! Results: what was computed, as bytes, under the small key.

use std::path::PathBuf;

use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tfhe_sbc_columns::{Computed, Exported, decimal};
use tfhe_sbc_python_shared::errors::{self, FormatError, KeyMismatch, TfheSbcError, refused};
use tfhe_sbc_query::Pair;
use tfhe_sbc_query::results::{
    AnswerParts, AnswerValue, Ciphertexts, EncryptedAnswer, Gaps, Meaning, Results, ResultsError,
    Spread, sort_answers,
};
use tfhe_sbc_query::scope::GroupKey;
use tfhe_sbc_upload::moments::Moment;
use tfhe_sbc_upload::readings::Column;

use crate::compute::Computable;
use crate::errors::refused as error;
use crate::keys::SecretKey;
use crate::mask::Mask;
use crate::number::{Number, number};
use crate::sealing::devices_at_hand;
use crate::server::Server;
use crate::watch::watched;

/// A value to be sealed under a name: the kind, the parts, the unit, the rows' labels.
type ToSeal<'py> = (String, String, Vec<Computable<'py>>, String, Vec<String>);

/// The widest code of a column.
const MAX_BITS: u32 = 52;

fn results_error(error: ResultsError) -> PyErr {
    match error {
        ResultsError::Wire(error) => errors::wire(error),
        ResultsError::Metadata(tfhe_sbc_upload::metadata::MetadataError::Wire(error)) => {
            errors::wire(error)
        }
        error @ ResultsError::DeviceKey(_) => KeyMismatch::new_err(format!(
            "{error}: give the directory of switch keys that the question was asked with, with device_keys="
        )),
        error @ ResultsError::SwitchKey(_) => KeyMismatch::new_err(error.to_string()),
        error => FormatError::new_err(error.to_string()),
    }
}

/// The bytes of a result of what is computed.
#[pyfunction]
pub(crate) fn seal<'py>(
    py: Python<'py>,
    answers: Vec<ToSeal<'py>>,
    bootstraps: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut ciphertexts = Ciphertexts::default();
    let mut sealed = Vec::with_capacity(answers.len());
    let mut first: Option<Computed> = None;
    for (kind, name, parts, unit, labels) in answers {
        let mut blocks = Vec::with_capacity(parts.len());
        let mut exported = Vec::with_capacity(parts.len());
        for (place, part) in parts.iter().enumerate() {
            let part = part.computed();
            match &first {
                Some(first) => first.check_same(&part).map_err(error)?,
                None => first = Some(part.clone()),
            }
            // The columns that these are of only tell their encodings.
            if place < columns_of(&kind) {
                blocks.push(0);
                continue;
            }
            let content = watched(py, None, |progress| part.export(progress))?.map_err(error)?;
            blocks.push(content.block_count(part.block_encoding()) as u32);
            exported.push(content);
        }
        let meaning = meaning(&kind, &name, &parts, &blocks, unit, labels)?;
        let Some(server) = first.as_ref().map(Computed::server) else {
            continue;
        };
        let answer = ciphertexts.add(server.parameters(), name, exported, meaning);
        let answer = answer.ok_or_else(|| error(tfhe_sbc_columns::Error::NoCiphertexts))?;
        sealed.push(answer);
    }
    let server = first.map(|first| first.server());
    let Some((server, key)) = server.and_then(|by| by.fingerprint().map(|key| (by, key))) else {
        return Err(refused(
            "a rehearsal, or nothing, has no encrypted result",
            "seal what a Server computed",
        ));
    };
    let results = Results::new(sealed, bootstraps);
    let bytes = results.seal(server.parameters(), key, &ciphertexts);
    let bytes = bytes.map_err(|error| TfheSbcError::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The number of parts, from the first on, that are columns which this kind of answer is of.
fn columns_of(kind: &str) -> usize {
    match kind {
        "cov" | "corr" | "optional_cov" | "optional_corr" => 2,
        _ => usize::from(is_spread(kind) || is_optional(kind)),
    }
}

/// The meaning of sums of two columns, which are the first parts.
fn pair_meaning(kind: &str, columns: [Column; 2], rows: u32, blocks: &[u32]) -> Option<Meaning> {
    let pair = |function, blocks: &[u32]| Meaning::Pair {
        columns: Box::new(columns),
        rows,
        blocks: blocks.to_vec(),
        function,
    };
    let optional = |meaning, count| Meaning::Optional(Box::new(meaning), Gaps::Counted(count));
    Some(match (kind, blocks) {
        ("cov", [_, _, sums @ ..]) => pair(Pair::Cov, sums),
        ("corr", [_, _, sums @ ..]) => pair(Pair::Corr, sums),
        ("optional_cov", [_, _, count, sums @ ..]) => optional(pair(Pair::Cov, sums), *count),
        ("optional_corr", [_, _, count, sums @ ..]) => optional(pair(Pair::Corr, sums), *count),
        _ => return None,
    })
}

/// Returns whether this kind of answer is a measure of how far values are from each other.
fn is_spread(kind: &str) -> bool {
    kind.ends_with("variance") || kind.ends_with("std")
}

/// Returns whether this kind of answer is of readings some of which may be missing.
fn is_optional(kind: &str) -> bool {
    kind.starts_with("optional_")
}

/// The meaning of an answer about readings some of which may be missing, of whose parts the first is these readings.
fn optional_meaning(
    kind: &str,
    column: Column,
    rows: u32,
    blocks: &[u32],
    labels: Vec<String>,
) -> Option<Meaning> {
    let optional = |meaning, gaps| Some(Meaning::Optional(Box::new(meaning), gaps));
    match (kind.strip_prefix("optional_")?, blocks) {
        ("numbers", [_, _, _]) => optional(Meaning::Scores(column, labels), Gaps::Flagged),
        ("mean", &[_, count, _]) => optional(Meaning::Mean(column, rows), Gaps::Counted(count)),
        ("min", [_, _]) => optional(Meaning::Reading(column), Gaps::Marked(false)),
        ("max", [_, _]) => optional(Meaning::Reading(column), Gaps::Marked(true)),
        ("range", [_, _, _]) => optional(Meaning::Range(column), Gaps::Marked(false)),
        (place @ ("argmin" | "argmax"), &[_, code, _]) => optional(
            Meaning::Place(column, code, labels),
            Gaps::Marked(place == "argmax"),
        ),
        (spread, &[_, count, sum_blocks, _]) if is_spread(spread) => {
            let measure = measure(spread);
            let spread = Meaning::Spread {
                column,
                rows,
                sum_blocks,
                measure,
            };
            optional(spread, Gaps::Counted(count))
        }
        _ => None,
    }
}

/// The measure of a kind of answer that is one.
fn measure(kind: &str) -> Spread {
    Spread {
        sample: kind.starts_with("sample"),
        root: kind.ends_with("std"),
    }
}

fn meaning(
    kind: &str,
    name: &str,
    parts: &[Computable<'_>],
    blocks: &[u32],
    unit: String,
    labels: Vec<String>,
) -> PyResult<Meaning> {
    let column = |number: &Number| Column {
        name: name.to_owned(),
        unit: unit.clone(),
        offset: number.0.offset(),
        scale: number.0.scale(),
        bits: number.0.bits(),
        compact: None,
        derived: Default::default(),
    };
    Ok(match (kind, parts) {
        ("count", [Computable::Number(_)]) => Meaning::Count,
        ("number", [Computable::Number(number)]) => match column(number) {
            // Wider than a column can be: a sum of one, whose blocks alone say how wide it is.
            column if column.bits > MAX_BITS => {
                let bits = MAX_BITS;
                Meaning::Sum(Column { bits, ..column }, 1)
            }
            column => Meaning::Reading(column),
        },
        ("numbers", [Computable::Number(number)]) => Meaning::Scores(column(number), labels),
        ("rows", [Computable::Mask(_)]) => Meaning::Rows(labels),
        ("place", [Computable::Number(value), Computable::Number(_)]) => {
            Meaning::Place(column(value), blocks[0], labels)
        }
        (
            "variance" | "std" | "sample_variance" | "sample_std",
            [
                Computable::Number(of),
                Computable::Number(_),
                Computable::Number(_),
            ],
        ) => Meaning::Spread {
            column: column(of),
            rows: of.0.row_count() as u32,
            sum_blocks: blocks[1],
            measure: measure(kind),
        },
        (pair, [Computable::Number(a), Computable::Number(b), ..]) if columns_of(pair) == 2 => {
            let columns = [
                column(a),
                Column {
                    unit: String::new(),
                    ..column(b)
                },
            ];
            let rows = a.0.row_count() as u32;
            let meaning = pair_meaning(pair, columns, rows, blocks);
            return meaning.ok_or_else(|| without_form(name));
        }
        (optional, [Computable::Number(of), ..]) if is_optional(optional) => {
            let rows = of.0.row_count() as u32;
            let meaning = optional_meaning(optional, column(of), rows, blocks, labels);
            return meaning.ok_or_else(|| without_form(name));
        }
        _ => {
            return Err(without_form(name));
        }
    })
}

fn without_form(name: &str) -> PyErr {
    TfheSbcError::new_err(format!("'{name}' has no form as a result: seal its parts"))
}

/// The group of an answer: its device and the beginning of its period in milliseconds since 1970, as far as it has them.
type GroupTuple = (Option<String>, Option<i64>);

/// The value of an answer, and the labels of its numbers if it is a list of which each has one.
type Labelled = (Py<PyAny>, Vec<String>);

/// The name, the group, the value and the labels of an answer.
type OpenedAnswer = (String, Option<GroupTuple>, Py<PyAny>, Vec<String>);

/// The answers of a result in the clear: each with its name, its group, its value and the labels of its rows. An answer that cannot be read has the error
/// in place of its value. Of several results that follow one another, the answers are sorted by question and group. `device_keys` is
/// the directory of the switch keys that the questions were asked with.
#[pyfunction]
pub(crate) fn open_result(
    py: Python<'_>,
    bytes: &[u8],
    secret: &SecretKey,
    device_keys: Option<PathBuf>,
) -> PyResult<Vec<OpenedAnswer>> {
    let (parameters, key_set) = (secret.secret.parameters(), secret.secret.fingerprint());
    let devices = devices_at_hand(parameters, key_set, device_keys.as_deref())?;
    let all = Results::parse_all(bytes, parameters, key_set, devices.as_ref());
    let mut all = all.map_err(results_error)?;
    let is_one = all.len() == 1;
    let mut opened = Vec::new();
    for (results, parts) in &mut all {
        let answers = results.answers.drain(..).zip(parts.drain(..));
        for (answer, own) in answers {
            let (name, group) = (answer.name.clone(), answer.group.clone());
            let value = opened_value(py, answer, own, secret)?;
            opened.push((name, group, value));
        }
    }
    if !is_one {
        sort_answers(&mut opened, |(name, group, _)| (name, group.as_ref()));
    }
    let tuple = |group: GroupKey| (group.device, group.from.map(Moment::unix_ms));
    let opened = opened.into_iter();
    Ok(opened
        .map(|(name, group, (value, labels))| (name, group.map(tuple), value, labels))
        .collect())
}

/// The value of an answer, or the error that says why it cannot be read.
fn opened_value(
    py: Python<'_>,
    answer: EncryptedAnswer,
    own: AnswerParts,
    secret: &SecretKey,
) -> PyResult<Labelled> {
    let unlabelled = |value| Ok((value, Vec::new()));
    let blocks = watched(py, None, |_| own.decrypt(&secret.secret))?;
    let Some(blocks) = blocks else {
        let reason = error(tfhe_sbc_columns::Error::Implausible);
        return unlabelled(reason.into_value(py).into_any());
    };
    let truths = match &answer.meaning {
        Meaning::Rows(labels) if is_single(labels) => Some(None),
        Meaning::Rows(labels) => Some(Some(labels.clone())),
        _ => None,
    };
    let is_count = matches!(answer.meaning, Meaning::Count | Meaning::Present(_));
    let answer = match answer.read(secret.secret.parameters(), &blocks) {
        Ok(answer) => answer,
        Err(reason) => return unlabelled(results_error(reason).into_value(py).into_any()),
    };
    let truth = |block: &u64| *block == 1;
    match truths {
        Some(None) => unlabelled(blocks.iter().any(truth).into_py_any(py)?),
        Some(Some(labels)) => {
            let truths = blocks.iter().map(truth).collect();
            Ok((
                PyArray1::<bool>::from_vec(py, truths).into_py_any(py)?,
                labels,
            ))
        }
        None => {
            let labels = labels_of(&answer.value);
            Ok((python_value(py, answer.value, is_count)?, labels))
        }
    }
}

/// Returns whether truth values are a single one and no list: its only row has no label.
fn is_single(labels: &[String]) -> bool {
    matches!(labels, [label] if label.is_empty())
}

/// The labels of the numbers of an answer: of its rows, or the edges of its bins.
fn labels_of(value: &AnswerValue) -> Vec<String> {
    match value {
        AnswerValue::Scores { rows, .. } => rows.iter().map(|row| row.row.clone()).collect(),
        AnswerValue::Histogram { bins, .. } => {
            let edges = bins.iter().map(|bin| format!("{} to {}", bin.from, bin.to));
            edges.collect()
        }
        _ => Vec::new(),
    }
}

fn python_value(py: Python<'_>, value: AnswerValue, is_count: bool) -> PyResult<Py<PyAny>> {
    match value {
        AnswerValue::Number { value, .. } if is_count => (value as u64).into_py_any(py),
        AnswerValue::Number { value, .. } => value.into_py_any(py),
        AnswerValue::Row { row, value, .. } => (row, value).into_py_any(py),
        // What is missing is NaN, as in pandas.
        AnswerValue::Missing { row: None, .. } => f64::NAN.into_py_any(py),
        AnswerValue::Missing { row: Some(row), .. } => (row, f64::NAN).into_py_any(py),
        AnswerValue::Rows(labels) => labels.into_py_any(py),
        AnswerValue::Histogram { bins, .. } => {
            let counts: Vec<u64> = bins.iter().map(|bin| bin.count).collect();
            PyArray1::from_vec(py, counts).into_py_any(py)
        }
        AnswerValue::Values { values, .. } => PyArray1::from_vec(py, values).into_py_any(py),
        AnswerValue::Scores { rows, .. } => {
            let value = |value: Option<f64>| value.unwrap_or(f64::NAN);
            let values = rows.into_iter().map(|row| value(row.value)).collect();
            PyArray1::from_vec(py, values).into_py_any(py)
        }
        AnswerValue::Ranked { rows, .. } => {
            let rows: Vec<(String, f64)> = rows.into_iter().map(|r| (r.row, r.value)).collect();
            rows.into_py_any(py)
        }
        AnswerValue::Leaves { rows } => {
            let leaves: Vec<String> = rows.into_iter().map(|row| row.value).collect();
            leaves.into_py_any(py)
        }
    }
}

/// An answer that can be computed on: its name, unit, rows' labels, and numbers or truth values.
type LoadedAnswer = (String, String, Option<Vec<String>>, Py<PyAny>);

/// The answers of a result, to compute on.
#[pyfunction]
pub(crate) fn load_result(
    py: Python<'_>,
    server: &Server,
    bytes: &[u8],
) -> PyResult<Vec<LoadedAnswer>> {
    let server = &server.0;
    let parameters = server.parameters();
    let Some(key) = server.fingerprint() else {
        return Err(refused(
            "a rehearsal loads no results",
            "load them with a Server",
        ));
    };
    let (results, parts) = Results::parse(bytes, parameters, key).map_err(results_error)?;
    let encoding = parameters.block_encoding();
    let mut loaded = Vec::with_capacity(results.answers.len());
    for (answer, own) in results.answers.into_iter().zip(parts) {
        let count = answer.blocks as usize;
        if own.is_for_decryption() {
            return Err(refused(
                format!(
                    "the answer '{}' is packed or cut, for decryption only",
                    answer.name
                ),
                "evaluate with `tfhe-sbc eval --unpacked`, or seal what a Server computed",
            ));
        }
        let Some(sealed) = own.into_one() else {
            return Err(unfit(&answer.name));
        };
        // A number in blocks may be as wide as they are; a compact code has a width of its own.
        let compact_bits = match &sealed {
            Exported::Compact(values) => Some(values.bits),
            _ => None,
        };
        let bits_of = |rows: usize| match compact_bits {
            Some(bits) => bits,
            None => answer.blocks / rows.max(1) as u32 * encoding.message_bits(),
        };
        let fits = |column: &Column, rows: usize| {
            encoding.block_count(column.bits) * rows == count && rows > 0
        };
        let name = answer.name.clone();
        let most = encoding.block_count(MAX_BITS);
        if matches!(
            answer.meaning,
            Meaning::Count | Meaning::Sum(..) | Meaning::Mean(..)
        ) && !(1..=most).contains(&count)
        {
            return Err(FormatError::new_err(format!(
                "the answer '{name}' is of {count} blocks, and what can be computed on is of 1 to \
                 {most}: decrypt it, or give the readings fewer bits"
            )));
        }
        let (unit, labels, value) = match answer.meaning {
            Meaning::Count => {
                let counting = Column {
                    name: String::new(),
                    unit: String::new(),
                    offset: 0.0,
                    scale: 1.0,
                    bits: bits_of(1),
                    compact: None,
                    derived: Default::default(),
                };
                let number = number(server.number_of(None, &counting, sealed))?;
                (String::new(), None, Py::new(py, number)?.into_any())
            }
            Meaning::Reading(column) if fits(&column, 1) => {
                let number = number(server.number_of(None, &column, sealed))?;
                (column.unit, None, Py::new(py, number)?.into_any())
            }
            Meaning::Sum(column, rows) | Meaning::Mean(column, rows) if rows == 0 => {
                return Err(unfit(&column.name));
            }
            Meaning::Sum(column, rows) => {
                let sum = Column {
                    offset: decimal::product(column.offset, f64::from(rows)),
                    bits: bits_of(1),
                    ..column
                };
                let number = number(server.number_of(None, &sum, sealed))?;
                (sum.unit, None, Py::new(py, number)?.into_any())
            }
            Meaning::Mean(column, rows) => {
                let mean = Column {
                    scale: column.scale / f64::from(rows),
                    bits: bits_of(1),
                    ..column
                };
                let number = number(server.number_of(None, &mean, sealed))?;
                (mean.unit, None, Py::new(py, number)?.into_any())
            }
            Meaning::Readings(column, rows) if fits(&column, rows as usize) => {
                let labels = (0..rows).map(|row| row.to_string()).collect();
                let number = number(server.number_of(Some(rows as usize), &column, sealed))?;
                (column.unit, Some(labels), Py::new(py, number)?.into_any())
            }
            Meaning::Scores(column, labels) if fits(&column, labels.len()) => {
                let number = number(server.number_of(Some(labels.len()), &column, sealed))?;
                (column.unit, Some(labels), Py::new(py, number)?.into_any())
            }
            Meaning::Rows(labels) if labels.len() == count && count > 0 => {
                let rows = (!is_single(&labels)).then_some(count);
                let Exported::Sealed(sealed) = sealed else {
                    return Err(unfit(&name));
                };
                let mask = Mask::made(Ok(server.mask_of(rows, sealed)))?;
                (String::new(), Some(labels), Py::new(py, mask)?.into_any())
            }
            _ => return Err(unfit(&name)),
        };
        loaded.push((name, unit, labels, value));
    }
    Ok(loaded)
}

fn unfit(name: &str) -> PyErr {
    refused(
        format_args!("the answer '{name}' cannot be computed on"),
        "load sums, counts, extremes, columns and masks; decrypt the others",
    )
}
