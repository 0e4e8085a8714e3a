//! Requests: questions on their way to the server.
//!
//! A request is a metadata message ([`Request`]), if thresholds are encrypted a GLWE list of their
//! blocks, seeded or with masks, and if the answers are to be sanitised a public key of the key set.

use serde::{Deserialize, Serialize};
use tfhe_sbc_columns::threshold::threshold_code;
use tfhe_sbc_core::device_public_key::DevicePublicKey;
use tfhe_sbc_core::encoding::{BlockEncoding, CompactEncoding, FixedPoint, ReadingError};
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::wire::{Kind, Message, WireError};
use tfhe_sbc_device::{ColumnValues, DeviceError};
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::moments::Moment;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::columns::encoding_of;
use crate::condition::Threshold;
use crate::error::VERSION;
pub use crate::error::{
    MAX_BINS, MAX_CONDITIONS, MAX_DEPTH, MAX_QUESTIONS, MAX_TERMS, RequestError,
};
use crate::expression::Expression;
use crate::scope::Scope;
use crate::{Aggregate, Question};

/// The questions in the form that the server receives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The version of the format.
    pub version: u32,
    /// The questions, each with the text that names its answer. The text does not contain encrypted
    /// thresholds.
    pub questions: Vec<(String, Question)>,
    /// True if the answers are to be [sanitised](tfhe_sbc_oracle::sanitising), with the public key that the request
    /// ends with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sanitise: bool,
    /// The rows that the questions are about, and their groups.
    #[serde(default, skip_serializing_if = "Scope::is_all")]
    pub scope: Scope,
    /// The keys of devices that whoever decrypts has switch keys of, as in [`Manner::device_keys`].
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "fingerprints")]
    pub device_keys: Vec<KeyFingerprint>,
}

/// Fingerprints of keys as hexadecimal texts.
mod fingerprints {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use tfhe_sbc_core::parameters::KeyFingerprint;

    pub(super) fn serialize<S: Serializer>(
        keys: &[KeyFingerprint],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(keys.iter().map(KeyFingerprint::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<KeyFingerprint>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let key = |text: &String| {
            let key = KeyFingerprint::from_hex(text);
            key.ok_or_else(|| {
                de::Error::custom(format_args!("'{text}' is no fingerprint of a key"))
            })
        };
        texts.iter().map(key).collect()
    }
}

/// The way in which questions are answered; by default about all rows together, in ordinary answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner<'a> {
    /// The rows that the questions are about, and their groups.
    pub scope: Scope,
    /// A public key of the key set that the server computes with, if the answers are to be
    /// [sanitised](tfhe_sbc_oracle::sanitising) with encryptions of zero under it.
    pub public_key: Option<&'a DevicePublicKey>,
    /// The keys of devices that whoever decrypts has switch keys of. Linear answers about readings under these keys can
    /// then travel without their masks, and have some 50 bytes in place of some 9,000.
    pub device_keys: &'a [KeyFingerprint],
}

/// A request that was parsed.
#[derive(Debug)]
pub struct ParsedRequest<'a> {
    /// The questions.
    pub request: Request,
    /// The encrypted thresholds.
    pub thresholds: Option<UploadedGlweList<'a>>,
    /// The public key for sanitised answers; `None` if they are not to be sanitised.
    pub public_key: Option<DevicePublicKey>,
}

/// A function that encrypts values into one message, such as a session of the device library with either
/// kind of key: radix blocks alone into a list of blocks, anything else into a list of columns.
pub type EncryptThresholds<'a> =
    dyn FnMut(&[ColumnValues<'_>]) -> Result<Vec<u8>, DeviceError> + 'a;

/// The codes of thresholds that are encrypted together.
#[derive(Default)]
struct Codes {
    blocks: Vec<u8>,
    /// Compact codes, by their encodings.
    compact: Vec<(CompactEncoding, Vec<u64>)>,
}

impl Codes {
    /// Appends the radix blocks of a code and returns the place of the first.
    fn push_blocks(&mut self, encoding: BlockEncoding, bits: u32, code: u64) -> u32 {
        let first_block = self.blocks.len();
        self.blocks
            .resize(first_block + encoding.block_count(bits), 0);
        // A code has at most `bits` bits, which is what the blocks hold.
        let _ = encoding.split(code, &mut self.blocks[first_block..]);
        first_block as u32
    }

    /// Appends a compact code and returns its place among those of the same encoding.
    fn push_compact(&mut self, encoding: CompactEncoding, code: u64) -> u32 {
        let known = self.compact.iter().position(|(own, _)| *own == encoding);
        let at = known.unwrap_or_else(|| {
            self.compact.push((encoding, Vec::new()));
            self.compact.len() - 1
        });
        let codes = &mut self.compact[at].1;
        codes.push(code);
        codes.len() as u32 - 1
    }

    fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.compact.is_empty()
    }

    fn encrypt(&self, encrypt: &mut EncryptThresholds<'_>) -> Result<Vec<u8>, DeviceError> {
        let blocks = (!self.blocks.is_empty()).then_some(ColumnValues::Blocks(&self.blocks));
        let compact = self.compact.iter();
        let compact = compact.map(|(encoding, codes)| ColumnValues::Codes(*encoding, codes));
        encrypt(&blocks.into_iter().chain(compact).collect::<Vec<_>>())
    }
}

impl Request {
    /// Returns the bytes of a request about readings with these columns. `encrypt` is needed if a
    /// threshold is to be encrypted.
    ///
    /// A threshold that is compared with compact columns only is sent as one compact code, any other one
    /// as radix blocks. The server answers both with any column, and compact codes with fewer bootstraps.
    ///
    /// # Errors
    /// Questions that cannot be asked about these readings, thresholds without a code, and what `encrypt`
    /// returns.
    pub fn seal(
        questions: &[Question],
        readings: &ReadingsMetadata,
        parameters: &Parameters,
        key: KeyFingerprint,
        encrypt: Option<&mut EncryptThresholds<'_>>,
    ) -> Result<Vec<u8>, RequestError> {
        let manner = Manner::default();
        Self::seal_in(manner, questions, readings, (parameters, key), encrypt)
    }

    /// Does the same as [`seal`](Self::seal), for answers of another manner.
    ///
    /// # Errors
    /// Those of [`seal`](Self::seal), scopes that there are not, and a public key of other parameters.
    pub fn seal_in(
        manner: Manner<'_>,
        questions: &[Question],
        readings: &ReadingsMetadata,
        (parameters, key): (&Parameters, KeyFingerprint),
        encrypt: Option<&mut EncryptThresholds<'_>>,
    ) -> Result<Vec<u8>, RequestError> {
        let Manner {
            scope,
            public_key,
            device_keys,
        } = manner;
        if public_key.is_some_and(|public_key| public_key.parameters() != parameters) {
            return Err(RequestError::PublicKey);
        }
        let mut codes = Codes::default();
        let mut sealed = Vec::with_capacity(questions.len());
        for question in questions {
            let text = question.public_text();
            let mut question = question.clone();
            question.check(readings)?;
            for condition in question.conditions_mut() {
                condition.thresholds_mut(&mut |of, comparing, threshold| {
                    let Threshold::ToEncrypt(value) = *threshold else {
                        return Ok(());
                    };
                    let column = of.encoding(readings)?;
                    let fixed_point = encoding_of(&column)?;
                    let code = threshold_code(&fixed_point, comparing.relation(), value)
                        .ok_or_else(|| no_code(&column, &fixed_point, value))?;
                    let (offset, scale, bits) = (column.offset, column.scale, column.bits);
                    *threshold = match of.limit_encoding(readings, parameters, comparing, bits) {
                        Some(encoding) => Threshold::EncryptedCode {
                            index: codes.push_compact(encoding, code),
                            offset,
                            scale,
                            bits,
                        },
                        None => Threshold::Encrypted {
                            first_block: codes.push_blocks(parameters.block_encoding(), bits, code),
                            offset,
                            scale,
                            bits,
                        },
                    };
                    Ok::<_, RequestError>(())
                })?;
            }
            sealed.push((text, question));
        }
        let is_new = |question: &Question| {
            matches!(
                question,
                Question::Aggregate(Aggregate::Count, _)
                    | Question::Ordered(..)
                    | Question::Pair(..)
            )
        };
        let are_new = questions.iter().any(is_new);
        let request = Self {
            version: match (
                scope.is_all() && device_keys.is_empty() && !are_new,
                codes.compact.is_empty(),
            ) {
                (true, true) => 1,
                (true, false) => 2,
                (false, _) => VERSION,
            },
            questions: sealed,
            sanitise: public_key.is_some(),
            scope,
            device_keys: device_keys.to_vec(),
        };
        request.check()?;
        let mut bytes = metadata::write(parameters.fingerprint(), key, &request)?;
        if !codes.is_empty() {
            let encrypt = encrypt.ok_or(RequestError::NoEncryptor)?;
            bytes.extend_from_slice(&codes.encrypt(encrypt)?);
        }
        if let Some(public_key) = public_key {
            bytes.extend_from_slice(&public_key.to_bytes()?);
        }
        Ok(bytes)
    }

    /// Parses and checks a request that was made under the given parameters and key.
    ///
    /// # Errors
    /// The first defect, and more or fewer messages than the request has by its metadata.
    pub fn parse<'a>(
        bytes: &'a [u8],
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<ParsedRequest<'a>, RequestError> {
        let (first, mut rest) = Message::parse(bytes)?;
        first.header.check_belongs(parameters.fingerprint(), key)?;
        let request = Self::read(first)?;
        let (mut thresholds, mut public_key) = (None, None);
        while !rest.is_empty() {
            let (message, behind) = Message::parse(rest)?;
            let is_key = message.header.kind == Kind::DevicePublicKey;
            let is_second = match is_key && request.sanitise {
                true => {
                    let (bytes, _) = rest.split_at(rest.len() - behind.len());
                    let read = DevicePublicKey::from_bytes(bytes)?;
                    if read.parameters() != parameters {
                        return Err(RequestError::PublicKey);
                    }
                    public_key.replace(read).is_some()
                }
                false => {
                    let list = UploadedGlweList::check(message, parameters, key)?;
                    thresholds.replace(list).is_some()
                }
            };
            if is_second {
                return Err(WireError::TrailingBytes(rest.len()).into());
            }
            rest = behind;
        }
        match request.sanitise && public_key.is_none() {
            true => Err(RequestError::NoPublicKey),
            false => Ok(ParsedRequest {
                request,
                thresholds,
                public_key,
            }),
        }
    }

    /// Returns the bytes of the same request about those of its rows that are of a period, from its beginning up to its end.
    /// Encrypted thresholds and a public key stay as they are.
    ///
    /// # Errors
    /// Bytes that are no request, and a period that has none of the request's time.
    pub fn within(bytes: &[u8], period: (Moment, Moment)) -> Result<Vec<u8>, RequestError> {
        let (first, rest) = Message::parse(bytes)?;
        let request = Self::read(first)?;
        let request = Self {
            version: VERSION,
            scope: request.scope.within(period),
            ..request
        };
        request.check()?;
        let header = &first.header;
        let mut narrower = metadata::write(header.parameters, header.key, &request)?;
        narrower.extend_from_slice(rest);
        Ok(narrower)
    }

    /// Reads and checks the request in a metadata message.
    pub fn read(message: Message<'_>) -> Result<Self, RequestError> {
        #[derive(Deserialize)]
        struct Format {
            #[serde(default)]
            version: u32,
        }
        // Bytes without a version are no request, rather than an old one.
        if let Ok(Format { version }) = metadata::read(message)
            && version > VERSION
        {
            return Err(RequestError::Version(version));
        }
        let request: Self = metadata::read(message)?;
        request.check()?;
        Ok(request)
    }

    fn check(&self) -> Result<(), RequestError> {
        if !(1..=VERSION).contains(&self.version) {
            return Err(RequestError::Version(self.version));
        }
        if !(1..=MAX_QUESTIONS).contains(&self.questions.len()) {
            return Err(RequestError::Count);
        }
        self.scope.check()?;
        self.questions
            .iter()
            .try_for_each(|(_, question)| check(question))
    }
}

/// Checks everything about a question that does not depend on the readings.
fn check(question: &Question) -> Result<(), RequestError> {
    if let Question::Tree(tree) = question {
        tree.check().map_err(|error| RequestError::Tree {
            name: tree.name.clone(),
            error,
        })?;
    }
    let conditions = question.conditions();
    let mut count = 0;
    for condition in &conditions {
        if condition.depth() > MAX_DEPTH || condition.has_empty_list() {
            return Err(RequestError::Conditions);
        }
        for (of, _, threshold) in condition.comparisons() {
            count += 1;
            match threshold {
                Threshold::Clear(value) if !value.is_finite() => {
                    return Err(RequestError::Threshold {
                        name: of.to_string(),
                        error: ReadingError::NotFinite,
                    });
                }
                _ => {}
            }
        }
    }
    if count > MAX_CONDITIONS || (count == 0 && !conditions.is_empty()) {
        return Err(RequestError::Conditions);
    }
    if !question.expressions().into_iter().all(is_expression) {
        return Err(RequestError::Expression);
    }
    match question {
        Question::Percentile(_, percent) if !(0.0..=100.0).contains(percent) => {
            Err(RequestError::Percentage)
        }
        Question::TopK(_, 0) => Err(RequestError::TopK { asked: 0, rows: 0 }),
        Question::Ordered(function, _) => function.check(),
        Question::Histogram(_, edges) => {
            let increase = edges.windows(2).all(|pair| pair[0] < pair[1]);
            let finite = edges.iter().all(|edge| edge.is_finite());
            match (2..=MAX_BINS + 1).contains(&edges.len()) && increase && finite {
                true => Ok(()),
                false => Err(RequestError::Bins),
            }
        }
        _ => Ok(()),
    }
}

impl Question {
    /// Checks that the answer about readings of this metadata has nothing but what is asked for, as sanitised answers do.
    ///
    /// # Errors
    /// A percentile of values some of which may be missing without the server knowing which.
    pub(crate) fn check_sanitised(&self, readings: &ReadingsMetadata) -> Result<(), RequestError> {
        match self {
            Self::Percentile(of, _) | Self::Aggregate(Aggregate::Median, of)
                if of.hides_gaps(readings) =>
            {
                Err(RequestError::Rank(of.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the question can be asked about readings of this metadata.
    ///
    /// # Errors
    /// Returns an error for columns that do not exist, numbers out of their ranges, and conditions,
    /// expressions or trees that are too large.
    pub fn check(&self, readings: &ReadingsMetadata) -> Result<(), RequestError> {
        check(self)?;
        for expression in self.expressions() {
            expression.encoding(readings)?;
        }
        let rows = readings.rows.len();
        match *self {
            Self::TopK(_, asked) if asked as usize > rows && rows > 0 => {
                Err(RequestError::TopK { asked, rows })
            }
            Self::Aggregate(Aggregate::SampleVariance | Aggregate::SampleStd, _) if rows == 1 => {
                Err(RequestError::Sample)
            }
            _ => Ok(()),
        }
    }
}

fn is_expression(expression: &Expression) -> bool {
    let terms = &expression.terms;
    let once = |at: usize| terms[..at].iter().all(|(name, _)| *name != terms[at].0);
    (1..=MAX_TERMS).contains(&terms.len())
        && (0..terms.len()).all(once)
        && expression.constant.is_finite()
        && terms.iter().all(|(_, w)| w.is_finite() && *w != 0.0)
}

/// Returns the reason why a threshold has no code.
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
