//! Requests: questions on their way to the server.
//!
//! A request is a metadata message ([`Request`]) and, if thresholds are encrypted, a
//! GLWE list of their blocks, seeded or with masks.

use serde::{Deserialize, Serialize};
use tfhe_sbc_adapter::metadata::{self, MetadataError};
use tfhe_sbc_adapter::readings::{Column, ReadingsMetadata};
use tfhe_sbc_core::encoding::{FixedPoint, FixedPointError, ReadingError};
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::wire::{Message, WireError};
use tfhe_sbc_device::DeviceError;
use thiserror::Error;

use super::{Condition, Question, Threshold, threshold_code};

/// Most questions of one request.
pub const MAX_QUESTIONS: usize = 256;
/// Most conditions of one question.
pub const MAX_CONDITIONS: usize = 16;

/// Questions as the server gets them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The questions, each with the text that its answer is to be called by, in which
    /// encrypted thresholds do not show.
    pub questions: Vec<(String, Question)>,
}

/// What makes one message of blocks: a session of the device library with either kind of
/// key.
pub type EncryptBlocks<'a> = dyn FnMut(&[u8]) -> Result<Vec<u8>, DeviceError> + 'a;

/// Why a request could not be made or was refused.
#[derive(Debug, Error)]
pub enum RequestError {
    /// Its metadata.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// Its envelope or its ciphertexts.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The encryption of its thresholds.
    #[error(transparent)]
    Encrypt(#[from] DeviceError),
    /// No questions, or too many, or one with too many conditions.
    #[error("a request has 1 to {MAX_QUESTIONS} questions of up to {MAX_CONDITIONS} conditions")]
    Count,
    /// A column that is not there.
    #[error("there is no column '{name}': the columns are {known}")]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A column whose encoding cannot be.
    #[error("column '{name}': {error}")]
    Column {
        /// Its name.
        name: String,
        /// What is wrong.
        error: FixedPointError,
    },
    /// A threshold that its column cannot encode.
    #[error("the threshold for '{name}': {error}")]
    Threshold {
        /// The column.
        name: String,
        /// What is wrong.
        error: ReadingError,
    },
    /// A threshold to encrypt that no reading can be equal to. It is a plaintext: its value is
    /// not told.
    #[error(
        "no reading of '{name}' can be equal to the threshold: for == and != give one that is a \
         whole number of steps of {scale}"
    )]
    BetweenSteps {
        /// The column.
        name: String,
        /// The column's step.
        scale: f64,
    },
    /// A threshold that is not encrypted as the server needs it.
    #[error(
        "the threshold for '{name}' is not encrypted with that column's encoding: give the query the same column definitions as the readings"
    )]
    ThresholdEncoding {
        /// The column.
        name: String,
    },
    /// Encrypted thresholds without someone who could encrypt them.
    #[error("the question has an encrypted threshold: give a device key to encrypt it with")]
    NoEncryptor,
}

impl Request {
    /// The bytes of a request about readings with these columns. `encrypt` is needed if a
    /// threshold is to be encrypted.
    pub fn seal(
        questions: &[Question],
        readings: &ReadingsMetadata,
        parameters: &Parameters,
        key: KeyFingerprint,
        encrypt: Option<&mut EncryptBlocks<'_>>,
    ) -> Result<Vec<u8>, RequestError> {
        let encoding = parameters.block_encoding();
        let mut blocks = Vec::new();
        let mut sealed = Vec::with_capacity(questions.len());
        for question in questions {
            let text = question.public_text();
            let mut question = question.clone();
            for column in question.columns() {
                known_column(readings, column)?;
            }
            for condition in question.conditions_mut() {
                let (_, column) = known_column(readings, &condition.column)?;
                let Threshold::ToEncrypt(value) = condition.threshold else {
                    continue;
                };
                let fixed_point = column.fixed_point().map_err(|error| RequestError::Column {
                    name: column.name.clone(),
                    error,
                })?;
                let code = threshold_code(&fixed_point, condition.relation, value)
                    .ok_or_else(|| no_code(column, &fixed_point, value))?;
                let first_block = blocks.len();
                blocks.resize(first_block + encoding.block_count(column.bits), 0);
                // A code has at most `bits` bits, which is what the blocks hold.
                let _ = encoding.split(code, &mut blocks[first_block..]);
                condition.threshold = Threshold::Encrypted {
                    first_block: first_block as u32,
                    offset: column.offset,
                    scale: column.scale,
                    bits: column.bits,
                };
            }
            sealed.push((text, question));
        }
        let request = Self { questions: sealed };
        request.check()?;
        let mut bytes = metadata::write(parameters.fingerprint(), key, &request)?;
        if !blocks.is_empty() {
            let encrypt = encrypt.ok_or(RequestError::NoEncryptor)?;
            bytes.extend_from_slice(&encrypt(&blocks)?);
        }
        Ok(bytes)
    }

    /// Parses and checks a request made under these parameters and this key set.
    pub fn parse<'a>(
        bytes: &'a [u8],
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<(Self, Option<UploadedGlweList<'a>>), RequestError> {
        let (first, rest) = Message::parse(bytes)?;
        first.header.check_belongs(parameters.fingerprint(), key)?;
        let request: Self = metadata::read(first)?;
        request.check()?;
        if rest.is_empty() {
            return Ok((request, None));
        }
        let (second, rest) = Message::parse(rest)?;
        let list = UploadedGlweList::check(second, parameters, key)?;
        if rest.is_empty() {
            Ok((request, Some(list)))
        } else {
            Err(WireError::TrailingBytes(rest.len()).into())
        }
    }

    fn check(&self) -> Result<(), RequestError> {
        let count_ok = (1..=MAX_QUESTIONS).contains(&self.questions.len());
        let conditions_ok = self.questions.iter().all(|(_, question)| match question {
            Question::Count(conditions) | Question::Rows(conditions) => {
                (1..=MAX_CONDITIONS).contains(&conditions.len())
            }
            _ => true,
        });
        if !(count_ok && conditions_ok) {
            return Err(RequestError::Count);
        }
        let mut conditions = self.questions.iter().flat_map(|(_, q)| q.conditions());
        match conditions.find(|c| matches!(c.threshold, Threshold::Clear(x) if !x.is_finite())) {
            None => Ok(()),
            Some(condition) => Err(RequestError::Threshold {
                name: condition.column.clone(),
                error: ReadingError::NotFinite,
            }),
        }
    }
}

/// Why a threshold has no code.
fn no_code(column: &Column, encoding: &FixedPoint, value: f64) -> RequestError {
    let name = column.name.clone();
    match encoding.encode(value) {
        Ok(_) if (encoding.minimum()..=encoding.maximum()).contains(&value) => {
            RequestError::BetweenSteps {
                name,
                scale: column.scale,
            }
        }
        Err(error @ ReadingError::NotFinite) => RequestError::Threshold { name, error },
        _ => RequestError::Threshold {
            name,
            error: ReadingError::OutOfRange {
                minimum: encoding.minimum(),
                maximum: encoding.maximum(),
            },
        },
    }
}

/// The column of that name, or an error that lists those that there are.
pub(crate) fn known_column<'m>(
    readings: &'m ReadingsMetadata,
    name: &str,
) -> Result<(usize, &'m Column), RequestError> {
    readings.column(name).ok_or_else(|| {
        let names: Vec<_> = readings.columns.iter().map(|c| c.name.as_str()).collect();
        RequestError::UnknownColumn {
            name: name.to_owned(),
            known: names.join(", "),
        }
    })
}

impl Question {
    /// The columns that it is about.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Self::Min(column) | Self::Max(column) | Self::Sum(column) | Self::Mean(column) => {
                vec![column]
            }
            Self::Count(conditions) | Self::Rows(conditions) => {
                conditions.iter().map(|c| c.column.as_str()).collect()
            }
        }
    }

    /// Its conditions.
    pub fn conditions(&self) -> &[Condition] {
        match self {
            Self::Count(conditions) | Self::Rows(conditions) => conditions,
            _ => &[],
        }
    }

    fn conditions_mut(&mut self) -> &mut [Condition] {
        match self {
            Self::Count(conditions) | Self::Rows(conditions) => conditions,
            _ => &mut [],
        }
    }
}
