//! Check uploads: readings that the key owner made up, stored among the others, so that a server that computes wrongly
//! is found out with a known probability.
//!
//! The owner encrypts random readings under a board's key and uploads them in that board's name. To the server they are
//! an upload like any other. From time to time the owner asks the questions of the day about a check upload, too, and
//! compares the answers with the same computation in the clear. A server that answers a fraction `f` of all questions
//! wrongly, and cannot tell which are checks, passes `k` of them with probability `(1 − f)^k`.
//!
//! This shows nothing about a server that can tell check uploads from others (by the board that they are of, or by what else is asked
//! about that board), about answers that were right for other readings than those that were asked about, and about
//! single wrong answers. It is a spot check and no proof of computation.

use serde::{Deserialize, Serialize};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};
use thiserror::Error;

use crate::Question;
use crate::cost::rehearse;
use crate::error::EvaluateError;
use crate::results::{Answer, AnswerValue, Unreadable};

/// The version of the record that this program writes and reads.
const VERSION: u32 = 1;

/// The owner's record of check uploads. It is a secret: a server that has it knows which questions it must answer
/// rightly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checks {
    version: u32,
    /// The uploads, the oldest first.
    uploads: Vec<CheckUpload>,
    /// The questions whose answers have not been compared yet.
    asked: Vec<Asked>,
    /// The number of questions that were answered rightly.
    right: u64,
    /// The number of questions that were answered wrongly, or not readably.
    wrong: u64,
}

/// A check upload, with its readings in the clear.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckUpload {
    /// The name of the stored upload.
    pub id: String,
    /// The columns and the labels of the rows.
    pub readings: ReadingsMetadata,
    /// The readings of each column.
    pub values: Vec<Vec<f64>>,
}

impl std::fmt::Debug for CheckUpload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckUpload")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Questions that were asked about a check upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// The name of the encrypted result.
    result: String,
    /// The name of the upload.
    upload: String,
    /// The texts of the questions, with thresholds that the server saw encrypted.
    questions: Vec<String>,
}

/// The reason why a record of check uploads cannot be used.
#[derive(Debug, Error)]
pub enum ChecksError {
    /// Text that is no record.
    #[error("it is no record of check uploads: {0}")]
    Format(#[from] serde_json::Error),
    /// A record in another version of the format.
    #[error("the record is of format {0}, and this program knows format {VERSION}")]
    Version(u32),
    /// A result that belongs to no question of the record.
    #[error("it is no answer to a check question, or it was compared already")]
    NotAsked,
    /// A question that cannot be asked about its upload any more, such as one that names a file that has gone.
    #[error("the question '{question}' cannot be computed in the clear: {reason}")]
    Question {
        /// The text of the question.
        question: String,
        /// The reason.
        reason: String,
    },
    /// An error of the computation in the clear.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
}

/// An answer to a check question, compared.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// The question.
    pub question: String,
    /// The right answer.
    pub expected: AnswerValue,
    /// True if it was given.
    pub is_right: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Self {
            version: VERSION,
            uploads: Vec::new(),
            asked: Vec::new(),
            right: 0,
            wrong: 0,
        }
    }
}

impl Checks {
    /// Reads a record from JSON.
    ///
    /// # Errors
    /// If the text is no record, or one of a version that is not known.
    pub fn from_json(text: &str) -> Result<Self, ChecksError> {
        #[derive(Deserialize)]
        struct Format {
            version: u32,
        }
        match serde_json::from_str(text)? {
            Format { version: VERSION } => Ok(serde_json::from_str(text)?),
            Format { version } => Err(ChecksError::Version(version)),
        }
    }

    /// Returns the record as JSON.
    ///
    /// # Errors
    /// If a reading is no number.
    pub fn to_json(&self) -> Result<String, ChecksError> {
        Ok(serde_json::to_string(self)?)
    }

    /// Adds an upload.
    pub fn add(&mut self, upload: CheckUpload) {
        self.uploads.push(upload);
    }

    /// The number of uploads.
    pub fn upload_count(&self) -> usize {
        self.uploads.len()
    }

    /// Returns one of the uploads of these columns; `None` if there is none. `random` chooses, each value of it one
    /// upload.
    pub fn choose(&self, columns: &[Column], random: u64) -> Option<&CheckUpload> {
        let fitting = |upload: &&CheckUpload| upload.readings.columns == columns;
        let count = self.uploads.iter().filter(fitting).count() as u64;
        let place = random.checked_rem(count)?;
        self.uploads.iter().filter(fitting).nth(place as usize)
    }

    /// Remembers that questions were asked about an upload, and the name of the result.
    pub fn asked(&mut self, upload: &str, result: String, questions: Vec<String>) {
        self.asked.push(Asked {
            result,
            upload: upload.to_owned(),
            questions,
        });
    }

    /// The number of results that have not been compared yet.
    pub fn open_count(&self) -> usize {
        self.asked.len()
    }

    /// The numbers of questions that were answered rightly and wrongly.
    pub fn compared(&self) -> (u64, u64) {
        (self.right, self.wrong)
    }

    /// Returns the probability with which a server that answers a fraction `wrong` of all questions wrongly would have been found
    /// out by as many check questions as were answered rightly: `1 − (1 − wrong)^right`.
    pub fn detection_probability(&self, wrong: f64) -> f64 {
        let right = i32::try_from(self.right).unwrap_or(i32::MAX);
        1.0 - (1.0 - wrong).powi(right)
    }

    /// Compares the answers of a result with the same computation in the clear, and counts them. `read` returns the
    /// contents of files that questions name. A result is compared once.
    ///
    /// # Errors
    /// If the result was not asked for, or the computation in the clear fails; the record then stays as it was.
    pub fn compare(
        &mut self,
        parameters: &Parameters,
        result: &str,
        answers: &[Result<Answer, Unreadable>],
        read: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Vec<Verdict>, ChecksError> {
        let place = self.asked.iter().position(|asked| asked.result == result);
        let place = place.ok_or(ChecksError::NotAsked)?;
        let asked = self.asked.get(place).ok_or(ChecksError::NotAsked)?;
        let upload = self.uploads.iter().find(|upload| upload.id == asked.upload);
        let upload = upload.ok_or(ChecksError::NotAsked)?;
        let parse = |text: &String| {
            Question::parse(text, &read).map_err(|error| ChecksError::Question {
                question: text.clone(),
                reason: error.to_string(),
            })
        };
        let questions: Vec<_> = asked
            .questions
            .iter()
            .map(parse)
            .collect::<Result<_, _>>()?;
        let expected = rehearse(parameters, &upload.readings, &upload.values, &questions)?;
        let mut verdicts = Vec::new();
        for (place, expected) in expected.into_iter().enumerate() {
            // A server that leaves an answer out has not given it.
            let given = answers.get(place).and_then(|answer| answer.as_ref().ok());
            let is_right = given.is_some_and(|given| given.value == expected.value);
            verdicts.push(Verdict {
                question: asked.questions.get(place).cloned().unwrap_or_default(),
                expected: expected.value,
                is_right,
            });
        }
        let right = verdicts.iter().filter(|verdict| verdict.is_right).count() as u64;
        self.right += right;
        self.wrong += verdicts.len() as u64 - right;
        self.asked.remove(place);
        Ok(verdicts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str) -> Column {
        Column {
            name: name.to_owned(),
            unit: String::new(),
            offset: 0.0,
            scale: 1.0,
            bits: 4,
            compact: None,
            derived: Default::default(),
        }
    }

    fn upload(id: &str, name: &str) -> CheckUpload {
        CheckUpload {
            id: id.to_owned(),
            readings: ReadingsMetadata {
                columns: vec![column(name)],
                rows: vec!["r".to_owned()],
                gaps: Default::default(),
            },
            values: vec![vec![3.0]],
        }
    }

    #[test]
    fn uploads_of_the_same_columns_are_chosen_alike() {
        let mut checks = Checks::default();
        assert!(checks.choose(&[column("a")], 7).is_none());
        for (id, name) in [("1", "a"), ("2", "b"), ("3", "a")] {
            checks.add(upload(id, name));
        }
        let chosen = |random| checks.choose(&[column("a")], random).unwrap().id.clone();
        assert_eq!([0, 1, 2, u64::MAX].map(chosen), ["1", "3", "1", "3"]);
        assert!(checks.choose(&[column("c")], 0).is_none());
    }

    /// A fuzzer found this step, which a reader of JSON that rounds carelessly changes.
    #[test]
    fn numbers_go_through_json_unchanged() {
        let step = "0.2444444444444444444444444444444444444444444445";
        let mut upload = upload("1", "a");
        upload.readings.columns[0].scale = step.parse().unwrap();
        let mut checks = Checks::default();
        checks.add(upload);
        let text = checks.to_json().unwrap();
        assert_eq!(Checks::from_json(&text).unwrap(), checks);
    }

    #[test]
    fn a_record_goes_through_json_and_counts() {
        let mut checks = Checks::default();
        checks.add(upload("1", "a"));
        let asked = |checks: &mut Checks, result: &str| {
            checks.asked(
                "1",
                result.to_owned(),
                vec!["max(a)".to_owned(), "max(a)".to_owned()],
            );
        };
        asked(&mut checks, "x");
        asked(&mut checks, "y");
        let mut checks = Checks::from_json(&checks.to_json().unwrap()).unwrap();
        let parameters = tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2
            .validate()
            .unwrap();
        let answer = |value| {
            let unit = String::new();
            Ok(Answer {
                name: "max(a)".to_owned(),
                group: None,
                value: AnswerValue::Number { value, unit },
                missing: None,
            })
        };
        let read = |_: &str| Err("no files".to_owned());
        let answers = [answer(3.0), answer(3.0)];
        let verdicts = checks.compare(&parameters, "x", &answers, read).unwrap();
        assert!(verdicts.iter().all(|verdict| verdict.is_right));
        let again = checks.compare(&parameters, "x", &answers, read);
        assert!(matches!(again, Err(ChecksError::NotAsked)));
        // One is wrong, and one is left out.
        let verdicts = checks
            .compare(&parameters, "y", &[answer(4.0)], read)
            .unwrap();
        assert!(verdicts.iter().all(|verdict| !verdict.is_right));
        assert_eq!((checks.compared(), checks.open_count()), ((2, 2), 0));
        assert!((checks.detection_probability(0.1) - 0.19).abs() < 1e-12);

        assert!(matches!(
            Checks::from_json("{\"version\":2}"),
            Err(ChecksError::Version(2))
        ));
        let text = checks.to_json().unwrap().replace("right", "rigth");
        assert!(matches!(
            Checks::from_json(&text),
            Err(ChecksError::Format(_))
        ));
    }
}
