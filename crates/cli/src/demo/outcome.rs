//! The outcome of the demo: encrypted against plain answers, sizes and times.

use std::path::Path;
use std::time::Duration;

use comfy_table::{Cell, CellAlignment};
use serde::Serialize;
use tfhe_sbc_core::wire::{ENVELOPE_BYTES, Header};
use tfhe_sbc_query::Question;
use tfhe_sbc_query::condition::{Condition, Threshold};
use tfhe_sbc_query::results::{Answer, AnswerValue};
use tfhe_sbc_transport::client::QueryReply;
use tfhe_sbc_upload::readings::Column;

use super::picture::{Panel, Picture};
use super::{answer_to, plain};
use crate::answers;
use crate::failure::{Explain, Outcome, failure};
use crate::table::Table;
use crate::{output, report};

/// The time of each stage.
#[derive(Default)]
pub(super) struct Stages {
    pub(super) keygen: Duration,
    pub(super) device_start: Duration,
    pub(super) encrypt: Duration,
    pub(super) server_start: Duration,
    pub(super) upload: Duration,
    pub(super) query: Duration,
    pub(super) decrypt: Duration,
}

impl Stages {
    fn named(&self) -> [(&'static str, &'static str, Duration); 7] {
        [
            ("keygen", "owner makes all keys", self.keygen),
            (
                "device_start",
                "board reads and transforms its key",
                self.device_start,
            ),
            ("encrypt", "board encodes and encrypts", self.encrypt),
            (
                "server_start",
                "server starts and expands its key",
                self.server_start,
            ),
            ("upload", "upload over mutual TLS 1.3", self.upload),
            ("query", "query: server computes", self.query),
            ("decrypt", "owner decrypts", self.decrypt),
        ]
    }
}

/// The outcome of a demo.
pub(super) struct Report {
    answers: Vec<Answer>,
    plain: Vec<AnswerValue>,
    agree: Vec<bool>,
    stages: Stages,
    bytes_uploaded: usize,
    ciphertext_bytes: usize,
    plain_bits: usize,
    result_bytes: usize,
    bootstraps: u64,
}

#[derive(Serialize)]
struct JsonReport<'a> {
    ok: bool,
    results: Vec<JsonResult<'a>>,
    bytes_uploaded: usize,
    ciphertext_bytes: usize,
    plaintext_bytes: usize,
    ciphertext_expansion: f64,
    result_bytes: usize,
    bootstraps: u64,
    seconds: serde_json::Map<String, serde_json::Value>,
    picture: String,
}

#[derive(Serialize)]
struct JsonResult<'a> {
    name: &'a str,
    encrypted: JsonValue<'a>,
    plain: JsonValue<'a>,
    agree: bool,
}

/// Returns a number without its unit, or another answer.
#[derive(Serialize)]
#[serde(untagged)]
enum JsonValue<'a> {
    Number(f64),
    Other(&'a AnswerValue),
}

impl<'a> From<&'a AnswerValue> for JsonValue<'a> {
    fn from(value: &'a AnswerValue) -> Self {
        match value {
            AnswerValue::Number { value, .. } => Self::Number(*value),
            other => Self::Other(other),
        }
    }
}

impl Report {
    /// Compares every answer with the plain one.
    pub(super) fn new(
        questions: &[Question],
        answers: Vec<Answer>,
        columns: &[Column],
        table: &Table,
        upload: &[u8],
        reply: &QueryReply,
        stages: Stages,
    ) -> Outcome<Self> {
        if answers.len() != questions.len() {
            return Err(failure(
                format_args!(
                    "{} questions, but {} answers",
                    questions.len(),
                    answers.len()
                ),
                "the server is of another version: build it again",
            ));
        }
        let mut plain_answers = Vec::new();
        let mut agree = Vec::new();
        for (question, answer) in questions.iter().zip(&answers) {
            let plain = plain::answer(question, columns, table).ok_or_else(|| {
                failure("a question about no column", "this is a defect of the demo")
            })?;
            let steps = columns
                .iter()
                .filter(|c| question.columns().contains(&c.name.as_str()));
            let step = steps.map(|column| column.scale).fold(1.0, f64::min);
            agree.push(
                answer.name == question.to_string() && plain::agrees(&answer.value, &plain, step),
            );
            plain_answers.push(plain);
        }
        let (_, metadata_len) = Header::parse(upload).explain("the upload")?;
        let bits: u32 = columns.iter().map(|column| column.bits).sum();
        Ok(Self {
            answers,
            plain: plain_answers,
            agree,
            stages,
            bytes_uploaded: upload.len(),
            ciphertext_bytes: upload.len() - ENVELOPE_BYTES - metadata_len as usize,
            plain_bits: bits as usize * table.labels.len(),
            result_bytes: reply.result.len(),
            bootstraps: reply.bootstraps,
        })
    }

    /// Returns whether every answer is right.
    pub(super) fn ok(&self) -> bool {
        self.agree.iter().all(|&agree| agree)
    }

    fn expansion(&self) -> f64 {
        8.0 * self.ciphertext_bytes as f64 / self.plain_bits as f64
    }

    pub(super) fn print_json(&self, picture: &Path) -> Outcome<()> {
        let results = self.answers.iter().zip(&self.plain).zip(&self.agree);
        output::print_json(&JsonReport {
            ok: self.ok(),
            results: results
                .map(|((answer, plain), &agree)| JsonResult {
                    name: &answer.name,
                    encrypted: (&answer.value).into(),
                    plain: plain.into(),
                    agree,
                })
                .collect(),
            bytes_uploaded: self.bytes_uploaded,
            ciphertext_bytes: self.ciphertext_bytes,
            plaintext_bytes: self.plain_bits.div_ceil(8),
            ciphertext_expansion: self.expansion(),
            result_bytes: self.result_bytes,
            bootstraps: self.bootstraps,
            seconds: self
                .stages
                .named()
                .map(|(key, _, time)| (key.to_owned(), time.as_secs_f64().into()))
                .into_iter()
                .collect(),
            picture: picture.display().to_string(),
        })
    }

    pub(super) fn print(&self, picture: &Path, kept: Option<&Path>) {
        let mut table = output::text_table();
        table.set_header([
            "question",
            "computed on ciphertexts",
            "computed in the clear",
            "",
        ]);
        for ((answer, plain), &agree) in self.answers.iter().zip(&self.plain).zip(&self.agree) {
            table.add_row([
                answer.name.clone(),
                shown(&answer.value),
                shown(plain),
                if agree { "✓" } else { "WRONG" }.to_owned(),
            ]);
        }
        output::print(table);

        let mut table = output::text_table();
        for (_, what, time) in self.stages.named() {
            table.add_row([Cell::new(what), right(report::time(time))]);
        }
        let bootstraps = report::count(self.bootstraps);
        let size = |bytes: usize| report::bytes(bytes as u64);
        for (what, figure) in [
            ("bootstraps", bootstraps),
            (
                "readings, packed in the clear",
                size(self.plain_bits.div_ceil(8)),
            ),
            ("their ciphertexts", size(self.ciphertext_bytes)),
            ("ciphertext expansion", format!("{:.1}×", self.expansion())),
            (
                "uploaded, names and times included",
                size(self.bytes_uploaded),
            ),
            ("encrypted result", size(self.result_bytes)),
        ] {
            table.add_row([Cell::new(what), right(figure)]);
        }
        output::print(table);
        output::print(format_args!("picture: {}", picture.display()));
        if let Some(kept) = kept {
            output::print(format_args!("keys and data: {}", kept.display()));
        }
        if !self.ok() {
            eprintln!(
                "An answer is WRONG: please report it, with the output of `tfhe-sbc demo --json`."
            );
        }
    }

    /// Returns the content of the picture.
    pub(super) fn picture(
        &self,
        columns: &[Column],
        table: &Table,
        questions: &[Question],
    ) -> Picture {
        let number = |name: String| match answer_to(&self.answers, &name)?.value {
            AnswerValue::Number { value, .. } => Some(tidy(value)),
            _ => None,
        };
        let panels = columns
            .iter()
            .zip(&table.readings)
            .map(|(column, readings)| {
                let name = &column.name;
                let count = questions.iter().find_map(|question| match question {
                    Question::Count(Condition::Compare {
                        of,
                        threshold: Threshold::ToEncrypt(value),
                        ..
                    }) if of.column() == Some(name) => {
                        Some((*value, number(question.to_string())?))
                    }
                    _ => None,
                });
                Panel {
                    title: title(name),
                    unit: column.unit.clone(),
                    readings: readings.clone(),
                    minimum: number(format!("min({name})")),
                    maximum: number(format!("max({name})")),
                    mean: number(format!("mean({name})")),
                    threshold: count.map(|(threshold, _)| threshold),
                    caption: count.map_or_else(String::new, |(_, hours)| {
                        format!("{hours} hours above the encrypted threshold")
                    }),
                }
            })
            .collect();
        let marked = self.answers.iter().find_map(|answer| match &answer.value {
            AnswerValue::Rows(rows) => Some((answer, rows)),
            _ => None,
        });
        let hour_of = |label: &String| table.labels.iter().position(|other| other == label);
        Picture {
            title: "A day that the server never saw".to_owned(),
            subtitle:
                "Greensboro, hourly readings (NREL TMY3, station 723170); minimum, maximum, mean, \
                       count and shaded hours were computed on ciphertexts"
                    .to_owned(),
            hours: table.labels.clone(),
            panels,
            marked_hours: marked.map_or_else(Vec::new, |(_, rows)| {
                rows.iter().filter_map(hour_of).collect()
            }),
            marked_caption: marked.map_or_else(String::new, |(answer, _)| {
                let conditions = answer
                    .name
                    .trim_start_matches("rows(")
                    .trim_end_matches(')');
                format!(
                    "hours with {}",
                    conditions.replace(">=", "≥").replace("<=", "≤")
                )
            }),
            figures: vec![
                (
                    "uploaded".to_owned(),
                    report::bytes(self.bytes_uploaded as u64),
                ),
                ("expansion".to_owned(), format!("{:.1}×", self.expansion())),
                ("encryption".to_owned(), report::time(self.stages.encrypt)),
                ("bootstraps".to_owned(), report::count(self.bootstraps)),
                ("server time".to_owned(), report::time(self.stages.query)),
            ],
        }
    }
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// Returns an answer as text, with hours shortened to the part that differs.
fn shown(value: &AnswerValue) -> String {
    match value {
        AnswerValue::Rows(labels) if !labels.is_empty() => {
            let time = |label: &'_ String| -> String {
                label
                    .split_once('T')
                    .map_or(label.as_str(), |(_, time)| time)
                    .to_owned()
            };
            answers::lines(&labels.iter().map(time).collect::<Vec<_>>())
        }
        other => answers::text(other),
    }
}

/// Returns a value without the tail that binary fractions of a decimal step leave behind the sixth
/// place.
fn tidy(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Returns the name of a column without its unit, for a heading.
fn title(name: &str) -> String {
    let words = name.rsplit_once('_').map_or(name, |(words, _)| words);
    let mut characters = words.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}
