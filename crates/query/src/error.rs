//! Errors of questions, requests and evaluations, and the limits that they name.

use tfhe_sbc_columns::device_keys::DeviceKeyError;
use tfhe_sbc_columns::{self as columns, MAX_LOADED_BLOCKS};
use tfhe_sbc_core::encoding::{FixedPointError, ReadingError};
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_device::DeviceError;
use tfhe_sbc_engine::circuit;
use tfhe_sbc_upload::metadata::MetadataError;
use tfhe_sbc_upload::readings::ReadingsError;
use thiserror::Error;

use crate::results::ResultsError;
use crate::scope::ScopeError;

/// The most questions of one request.
pub const MAX_QUESTIONS: usize = 256;
/// The most comparisons with thresholds in one question, or in all nodes of a tree.
pub const MAX_CONDITIONS: usize = 256;
/// The greatest depth of nested conditions.
pub const MAX_DEPTH: usize = 16;
/// The most columns of one expression.
pub const MAX_TERMS: usize = 64;
/// The most bins of a histogram.
pub const MAX_BINS: usize = 256;
/// The most nodes of a tree, which has one leaf more.
pub const MAX_NODES: usize = 255;
/// The most nodes from the root of a tree to a leaf.
pub const MAX_TREE_DEPTH: usize = 32;

/// The newest version of the format of requests. Version 2 has no scope, no counts of values and no functions of rows in their order, and version 1 no thresholds that are compact codes
/// either. Requests without them are of these versions.
pub(crate) const VERSION: u32 = 3;

/// The reason why a request could not be made or was refused.
#[derive(Debug, Error)]
pub enum RequestError {
    /// A defect of the metadata.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// A defect of the envelope or of the ciphertexts.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// An encryption of thresholds that failed.
    #[error(transparent)]
    Encrypt(#[from] DeviceError),
    /// A request in another version of the format.
    #[error(
        "the request is of format {0}, this is version {VERSION}: client and server must be of \
         one version"
    )]
    Version(u32),
    /// No questions, or too many.
    #[error("a request has 1 to {MAX_QUESTIONS} questions")]
    Count,
    /// A question whose conditions are too many, too deep or empty.
    #[error(
        "a question has 1 to {MAX_CONDITIONS} conditions, nested up to {MAX_DEPTH} deep, and no \
         list in them is empty"
    )]
    Conditions,
    /// An expression with no column or too many, or numbers that are not finite.
    #[error("an expression has 1 to {MAX_TERMS} columns, each once, and finite numbers")]
    Expression,
    /// An expression whose values have no encoding.
    #[error(
        "the values of '{0}' have no common step: round its numbers, or ask about columns of one \
         scale"
    )]
    NoCommonStep(String),
    /// An expression of more than 52 bits.
    #[error("the values of '{0}' need more than 52 bits")]
    TooWide(String),
    /// A percentage that is not from 0 to 100.
    #[error("a percentile is from 0 to 100")]
    Percentage,
    /// A window of no rows, or one that needs more values than it has rows.
    #[error(
        "a window of {rows} rows cannot need {min_periods} values: a window has at least 1 row, and needs 1 value to as many as \
         it has rows"
    )]
    Window {
        /// The number of rows.
        rows: u32,
        /// The number of values that it needs.
        min_periods: u32,
    },
    /// Means of windows with different numbers of values.
    #[error(
        "the means of windows with different numbers of values have no common step: leave out the last argument, so that windows \
         with fewer values have no mean, or ask for rolling_sum and divide"
    )]
    WindowMeans,
    /// The difference to the same row.
    #[error(
        "the difference of a row to itself is 0, which is no secret: give another number of rows than 0"
    )]
    Difference,
    /// A number of rows that is 0 or larger than the number of rows there are.
    #[error("top_k of {asked} rows: there are {rows}")]
    TopK {
        /// The number asked for.
        asked: u32,
        /// The number of rows.
        rows: usize,
    },
    /// A sample of one.
    #[error("the variance of a sample needs two rows: there is one")]
    Sample,
    /// A sanitised percentile of values some of which may be missing, by the name of the values.
    #[error(
        "percentiles of '{0}' cannot be sanitised, because its readings may be missing: the answer has more values than \
         the percentile, of which the key owner takes the right one when it is known how many there are. Ask without \
         sanitising"
    )]
    Rank(String),
    /// Bins that overlap, or too many.
    #[error("a histogram has 1 to {MAX_BINS} bins, whose edges are finite and increase")]
    Bins,
    /// A tree that is not valid.
    #[error("the tree '{name}': {error}")]
    Tree {
        /// The name of the tree.
        name: String,
        /// The defect of the tree.
        error: TreeError,
    },
    /// A column that does not exist.
    #[error("there is no column '{name}': the columns are {known}{hint}")]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The names of the columns that exist.
        known: String,
        /// The name that may have been meant.
        hint: String,
    },
    /// A column whose encoding is not possible.
    #[error("column '{name}': {error}")]
    Column {
        /// The name of the column.
        name: String,
        /// The defect of the encoding.
        error: FixedPointError,
    },
    /// A threshold that its column cannot encode.
    #[error("the threshold for '{name}': {error}")]
    Threshold {
        /// The name of the column.
        name: String,
        /// The reason why the threshold has no code.
        error: ReadingError,
    },
    /// A threshold to be encrypted that no reading can be equal to. The message does not contain the
    /// value, because it is a secret.
    #[error(
        "no reading of '{name}' can be equal to the threshold: for == and != give one that is a \
         whole number of steps of {scale}"
    )]
    BetweenSteps {
        /// The name of the column.
        name: String,
        /// The step of the column.
        scale: f64,
    },
    /// A threshold that was encrypted with another encoding than the column's.
    #[error(
        "the threshold for '{name}' is not encrypted with that column's encoding: give the query the same column definitions as the readings"
    )]
    ThresholdEncoding {
        /// The name of the column.
        name: String,
    },
    /// A public key of other parameters than the request's.
    #[error(
        "the public key for sanitised answers is of another parameter set: make one of this key set with \
         `tfhe-sbc device-key --public`"
    )]
    PublicKey,
    /// A request for sanitised answers without a public key.
    #[error("the request asks for sanitised answers and has no public key to make them with")]
    NoPublicKey,
    /// Sanitised answers that are to be computed on again.
    #[error("sanitised answers can only be decrypted: ask for answers that are not left whole")]
    SanitisedWhole,
    /// A scope that there is not.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// Thresholds to be encrypted, but no key to encrypt them with.
    #[error("the question has an encrypted threshold: give a device key to encrypt it with")]
    NoEncryptor,
}

/// The reason why a request could not be evaluated.
#[derive(Debug, Error)]
pub enum EvaluateError {
    /// A defect of an upload.
    #[error("the readings: {0}")]
    Readings(#[from] ReadingsError),
    /// A defect of the request.
    #[error("the query: {0}")]
    Request(#[from] RequestError),
    /// A question that cannot be asked about a group of rows.
    #[error("the query: in the group {group}, {error}")]
    Group {
        /// The group.
        group: String,
        /// The reason.
        error: Box<RequestError>,
    },
    /// An evaluation that failed or was called off.
    #[error(transparent)]
    Evaluate(#[from] circuit::CircuitEvaluateError),
    /// More bootstraps than a query may take.
    #[error("the questions take about {bootstraps} bootstraps, more than the {most} of one query")]
    TooCostly {
        /// The number that they take.
        bootstraps: u64,
        /// The number that they may take.
        most: u64,
    },
    /// A computation that the columns refuse.
    #[error(transparent)]
    Columns(columns::Error),
    /// A result that does not fit its envelope.
    #[error("the result: {0}")]
    Results(#[from] MetadataError),
    /// An answer of a rehearsal that cannot be read.
    #[error(transparent)]
    Answer(#[from] ResultsError),
    /// More blocks than a server holds at once.
    #[error(
        "the questions load {0} blocks of readings at once, more than the {MAX_LOADED_BLOCKS} that a server holds"
    )]
    TooLarge(u64),
    /// Uploads of different columns; the place of the first that differs, counted from 1.
    #[error("readings number {0} have other columns than the first")]
    OtherColumns(usize),
    /// An upload or a request under a key that is not known.
    #[error("the {of}: {error}")]
    DeviceKey {
        /// The object that is under the key: "readings" or "query".
        of: &'static str,
        /// The reason why the key cannot be used.
        error: DeviceKeyError,
    },
}

impl From<columns::Error> for EvaluateError {
    fn from(error: columns::Error) -> Self {
        match error {
            columns::Error::Readings(error) => Self::Readings(error),
            columns::Error::Evaluate(error) => Self::Evaluate(error),
            columns::Error::TooCostly { bootstraps, most } => Self::TooCostly { bootstraps, most },
            columns::Error::TooLarge(blocks) => Self::TooLarge(blocks),
            columns::Error::OtherColumns(place) => Self::OtherColumns(place),
            columns::Error::DeviceKey { of, error } => Self::DeviceKey { of, error },
            error => Self::Columns(error),
        }
    }
}

/// Returns a function that makes an error of the key of `of`: "readings" or "query".
pub fn device_key_of(of: &'static str) -> impl Fn(DeviceKeyError) -> EvaluateError {
    move |error| EvaluateError::DeviceKey { of, error }
}

/// The reason why a tree was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TreeError {
    /// A text that is not the JSON of a tree.
    #[error(
        "it is no tree: {0}. A tree is {{\"if\": CONDITION, \"then\": BRANCH, \"else\": BRANCH}}, \
         a branch another tree, a text or a number"
    )]
    Json(String),
    /// A condition that could not be parsed.
    #[error("the condition '{text}': {reason}")]
    Condition {
        /// The text of the condition.
        text: String,
        /// The reason.
        reason: String,
    },
    /// A tree with no nodes, too many nodes, or too many nodes on one path.
    #[error("a tree has 1 to {MAX_NODES} conditions, at most {MAX_TREE_DEPTH} one after the other")]
    Size,
    /// A leaf whose text is empty, too long or not plain.
    #[error("a leaf has a text of 1 to 64 characters, none of them a control character")]
    Leaf,
    /// Branches that make no tree.
    #[error("its branches make no tree")]
    Shape,
}
