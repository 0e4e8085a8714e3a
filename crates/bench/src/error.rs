//! The errors that stop a benchmark.

use tfhe_sbc_ckks::CkksError;
use tfhe_sbc_ckks::seal::SealError;
use tfhe_sbc_core::encoding::{BlockOutOfRange, CompactError};
use tfhe_sbc_core::parameters::ParameterError;
use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_device::DeviceError;
use tfhe_sbc_engine::bootstrap::BootstrapError;
use tfhe_sbc_engine::circuit::{CircuitError, CircuitEvaluateError};
use tfhe_sbc_engine::compact::CompactEvaluateError;
use tfhe_sbc_engine::gates::GateError;
use tfhe_sbc_engine::integer::IntegerError;
use tfhe_sbc_engine::server_key::ServerKeyError;
use tfhe_sbc_foreign::tfhe_rs::TfheRsError;
use tfhe_sbc_foreign::tfhepp::TfheppError;
use tfhe_sbc_oracle::adopted::NotAdopted;
use tfhe_sbc_upload::list_sum::ListSumError;
use thiserror::Error;

/// The reason for which a benchmark gives no figures.
#[derive(Debug, Error)]
pub(crate) enum BenchError {
    /// The timed work gave a result that decrypts to a wrong value.
    #[error("wrong answer from {0}: its figures would mean nothing")]
    WrongAnswer(String),
    /// A parameter set is not valid.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A number does not fit its blocks.
    #[error(transparent)]
    Digits(#[from] BlockOutOfRange),
    /// The source of randomness failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The server key could not be made.
    #[error(transparent)]
    ServerKey(#[from] ServerKeyError),
    /// The engine refused a batch of bootstraps.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// The engine refused gates.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// The engine refused integers.
    #[error(transparent)]
    Integer(#[from] IntegerError),
    /// A circuit refused its parameters or inputs.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// A circuit was not evaluated.
    #[error(transparent)]
    Evaluate(#[from] CircuitEvaluateError),
    /// A computation on columns was refused.
    #[error(transparent)]
    Columns(#[from] tfhe_sbc_columns::Error),
    /// An upload was not made.
    #[error(transparent)]
    Upload(#[from] tfhe_sbc_upload::UploadError),
    /// A compact encoding is not possible.
    #[error(transparent)]
    Compact(#[from] CompactError),
    /// Compact values were not taken apart.
    #[error(transparent)]
    CompactEvaluate(#[from] CompactEvaluateError),
    /// The oracle finds no lookups for values of this width.
    #[error("no plan of lookups for readings of {0} bits")]
    NoPlan(u32),
    /// Uploads were not added.
    #[error(transparent)]
    ListSum(#[from] ListSumError),
    /// The oracle finds no body that is wide enough for exact sums.
    #[error("no body is wide enough for exact sums of {0} bits")]
    NoBody(u32),
    /// The device library refused to encrypt.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An upload was not converted for TFHEpp, or a key of TFHEpp was not read.
    #[error(transparent)]
    Tfhepp(#[from] TfheppError),
    /// A key of TFHE-rs was not read.
    #[error(transparent)]
    TfheRs(#[from] TfheRsError),
    /// The parameters of a key of TFHE-rs were not adopted.
    #[error(transparent)]
    Adopted(#[from] NotAdopted),
    /// A message could not be written to memory.
    #[error(transparent)]
    Sink(#[from] std::io::Error),
    /// The CKKS library refused to encrypt.
    #[error(transparent)]
    Ckks(#[from] CkksError),
    /// A key of SEAL was not read.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A message was not read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The thread pool could not be made.
    #[error("no thread pool: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// `/dev/urandom` could not be opened.
    #[error("/dev/urandom: {0}")]
    Urandom(std::io::Error),
    /// The picture could not be drawn.
    #[error("no picture: {0}")]
    Picture(String),
    /// The file of the picture could not be written.
    #[error("cannot write the picture: {0}")]
    PictureFile(std::io::Error),
    /// Callgrind gave no count.
    #[error("callgrind: {0}")]
    Callgrind(String),
    /// The table has no picture.
    #[error("only the table 'engine' has a picture: leave --plot out")]
    NoPicture,
    /// The table has no rows to choose from.
    #[error("only the table 'integers' has rows to choose: leave --rows out")]
    NoRows,
    /// The chosen rows do not exist.
    #[error("the rows are {0}")]
    Rows(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] tfhe_sbc_service::store::StoreError),
    /// The former store failed.
    #[error(transparent)]
    FormerStore(#[from] crate::catalogue::former::FormerError),
    /// A filter of the store's list is none.
    #[error(transparent)]
    Filter(#[from] tfhe_sbc_transport::catalogue::FilterError),
    /// The report could not be written as JSON.
    #[error("no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The peer refused something.
    #[cfg(feature = "tfhe-rs")]
    #[error("TFHE-rs: {0}")]
    Peer(String),
}
