//! The errors of computations on columns.

use tfhe_sbc_core::encoding::{FixedPointError, ReadingError};
use tfhe_sbc_core::parameters::KeyFingerprint;
use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::circuit::{self, CircuitError};
use tfhe_sbc_engine::compact::CompactEvaluateError;
use tfhe_sbc_engine::integer::IntegerError;
use tfhe_sbc_engine::sanitise::SanitiseError;
use tfhe_sbc_upload::readings::ReadingsError;
use thiserror::Error;

use crate::device_keys::DeviceKeyError;
use crate::limits::{MAX_DEPTH, MAX_LOADED_BLOCKS};

/// The reason why a computation was refused or not finished. The messages say what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An upload.
    #[error(transparent)]
    Readings(#[from] ReadingsError),
    /// Uploads of different columns; the place of the first that differs, counted from 1.
    #[error("readings number {0} have other columns than the first")]
    OtherColumns(usize),
    /// A compact column whose bodies are rounded too coarsely for what is asked of it.
    #[error(
        "the compact column '{column}' of {bits} bits is sent with too few body bits for this: sums \
         and comparisons of it may need more than it was declared for; declare the column for this \
         use, or use = \"radix\", and encrypt again"
    )]
    BodyBits {
        /// The name of the column.
        column: String,
        /// The width of its codes in bits.
        bits: u32,
    },
    /// A compact result of an earlier computation whose noise leaves no room for what is asked of it.
    #[error(
        "an earlier result of {bits} bits is too noisy to compute on in this way: compute it from \
         the readings again, in one computation with what is asked of it"
    )]
    EarlierNoise {
        /// The width of its codes in bits.
        bits: u32,
    },
    /// The lookups on compact values.
    #[error(transparent)]
    Compact(#[from] CompactEvaluateError),
    /// Sanitised answers of a server key that has no room for them, or no packing key.
    #[error(
        "answers cannot be sanitised under this server key: it has no packing key, or parameters that leave no room \
         for flooding; make a key set with `tfhe-sbc keygen` of this version"
    )]
    NoSanitising,
    /// A source of randomness that failed.
    #[error("no randomness: {0}")]
    Entropy(#[from] EntropyError),
    /// A sanitising that failed.
    #[error(transparent)]
    Sanitise(#[from] SanitiseError),
    /// No uploads.
    #[error("there are no readings: give at least one upload")]
    NoUploads,
    /// An upload or a request under a key that is not known.
    #[error("the {of}: {error}")]
    DeviceKey {
        /// The object that is under the key: "readings" or "query".
        of: &'static str,
        /// The reason why the key cannot be used.
        error: DeviceKeyError,
    },
    /// A column that is not there.
    #[error("there is no column '{name}': the columns are {known}{hint}")]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: String,
        /// The name that may have been meant.
        hint: String,
    },
    /// A row that is not there.
    #[error("there is no row {row} among {rows}: count rows from 0")]
    NoRow {
        /// The row asked for.
        row: usize,
        /// The number of rows.
        rows: usize,
    },
    /// A selection of no rows.
    #[error("no rows are left: an encrypted column has at least one")]
    NoRows,
    /// A reading of a rehearsal that its column cannot encode.
    #[error("row {} ({label}), column '{column}': {error}", .row + 1)]
    OutOfRange {
        /// The row, from 0.
        row: usize,
        /// The row's label.
        label: String,
        /// The column's name.
        column: String,
        /// The reason why the reading has no code.
        error: ReadingError,
    },
    /// Values of a rehearsal for another number of columns or rows than it has.
    #[error("the values are not one for each row of each column: give {columns} lists of {rows}")]
    Shape {
        /// The number of columns.
        columns: usize,
        /// The number of rows.
        rows: usize,
    },
    /// Operands of different numbers of rows.
    #[error(
        "operands of {0} and {1} rows do not belong together: give operands of as many rows, or \
         single numbers"
    )]
    Rows(usize, usize),
    /// Operands of two key sets.
    #[error("the operands are of two key sets, {0} and {1}: compute on data of one")]
    KeySets(KeyFingerprint, KeyFingerprint),
    /// Operands of two rehearsals, or of a rehearsal and a server.
    #[error(
        "an operand is of another rehearsal, or only one of them is encrypted: load both with one \
         Server or one Rehearsal"
    )]
    OtherRehearsal,
    /// Ciphertexts for a rehearsal.
    #[error("a rehearsal loads no ciphertexts: give it readings with load_clear")]
    RehearsalLoads,
    /// A result of a computation that only was rehearsed.
    #[error("a rehearsal has no ciphertexts: seal what a Server computed")]
    NoCiphertexts,
    /// A clear value of something that is encrypted.
    #[error("this is encrypted: decrypt it with the secret key")]
    Encrypted,
    /// A value that was not computed yet.
    #[error("nothing is computed: call compute() first")]
    NotComputed,
    /// A value that the key does not decrypt to anything that it can be.
    #[error(
        "this decrypts to values that it cannot have: the data was changed, or encrypted with \
         another key"
    )]
    Implausible,
    /// A key of another key set.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Too long a chain of operators.
    #[error(
        "this is more than {MAX_DEPTH} steps from anything that is computed: call compute() on \
         intermediate results"
    )]
    TooDeep,
    /// A clear number that is NaN or infinite.
    #[error("a clear operand is not a finite number: leave out NaN and infinite values")]
    NotFinite,
    /// A clear number between two steps.
    #[error(
        "a clear number is no multiple of the step {0}: round the clear numbers to the encoding of \
         what they meet"
    )]
    NoMultiple(f64),
    /// Clear numbers of too many decimals.
    #[error(
        "a clear operand has more than 12 decimals: round it, as every decimal makes sums wider"
    )]
    Decimals,
    /// A factor of 0.
    #[error("a factor is 0: what it gives is no secret")]
    ZeroFactor,
    /// A result of more than 52 bits.
    #[error(
        "the result needs more than 52 bits: round the factors, or give the readings fewer bits"
    )]
    TooWide,
    /// Encodings without a common step.
    #[error(
        "these numbers have no common step: round the clear ones to multiples of the column's \
         scale, or give columns one scale"
    )]
    NoCommonStep,
    /// Encodings whose common step is too small.
    #[error(
        "these numbers are too far apart: from the lowest to the highest there are more steps than \
         52 bits count: bring them closer together, or give them larger steps"
    )]
    TooFarApart,
    /// A number without an encoding, such as a sum of more than 52 bits.
    #[error(transparent)]
    FixedPoint(#[from] FixedPointError),
    /// A result without an encoding.
    #[error("the result: {0}")]
    Encoding(FixedPointError),
    /// A column whose readings may be missing, where numbers are asked for.
    #[error(
        "readings of the column '{0}' may be missing, and these operators know no missing readings: take the column with \
         Table::optional, whose reductions and comparisons leave out what is missing, and fill in the others with its fillna"
    )]
    MayBeMissing(String),
    /// A function of rows in order, of a single number.
    #[error("this function is of rows in order, and a single number has none: take a column")]
    NoOrder,
    /// A window of no rows, or one that needs more numbers than it has rows.
    #[error(
        "a window of {window} rows cannot need {min_periods} numbers: a window has at least 1 row, and needs 1 number to as many \
         as it has rows"
    )]
    Window {
        /// The number of rows.
        window: usize,
        /// The number of numbers that it needs.
        min_periods: usize,
    },
    /// Means of windows with different numbers of numbers.
    #[error(
        "the means of windows with different numbers of numbers have no common step: leave out min_periods, so that windows \
         with fewer numbers have no mean, or divide the sums by the counts after decryption"
    )]
    WindowMeans,
    /// The difference to the same row.
    #[error(
        "the difference of a row to itself is 0, which is no secret: give another number of rows than 0"
    )]
    NoDifference,
    /// A selection of more rows than there are.
    #[error("there are {rows} rows, not {asked}: ask for 1 to {rows}")]
    Count {
        /// The number asked for.
        asked: usize,
        /// The number of rows.
        rows: usize,
    },
    /// The variance of a sample of one row.
    #[error("the variance of a sample needs two rows: there is one")]
    Sample,
    /// Edges of bins that do not increase, or fewer than two.
    #[error("a histogram needs two edges or more, which are finite and increase")]
    Bins,
    /// More blocks than an evaluation may load.
    #[error(
        "this loads {0} blocks at once, more than {MAX_LOADED_BLOCKS}: compute on slices and \
         combine their results, or on sums, which load few blocks"
    )]
    TooLarge(u64),
    /// More bootstraps than an evaluation may take.
    #[error("the questions take about {bootstraps} bootstraps, more than the {most} of one query")]
    TooCostly {
        /// The number that it takes.
        bootstraps: u64,
        /// The number that it may take.
        most: u64,
    },
    /// A parameter set that does not carry integers.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// An operator on integers.
    #[error(transparent)]
    Integer(#[from] IntegerError),
    /// An operator on columns.
    #[error(transparent)]
    Analytics(#[from] AnalyticsError),
    /// The evaluation.
    #[error(transparent)]
    Evaluate(#[from] circuit::CircuitEvaluateError),
}

impl Error {
    /// Returns whether the caller has called the computation off.
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Evaluate(circuit::CircuitEvaluateError::Cancelled)
        )
    }
}
