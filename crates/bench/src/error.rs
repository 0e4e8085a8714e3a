//! What stops a benchmark.

use tfhe_sbc_ckks::CkksError;
use tfhe_sbc_ckks::seal::SealError;
use tfhe_sbc_core::encoding::BlockOutOfRange;
use tfhe_sbc_core::parameters::ParameterError;
use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_device::DeviceError;
use tfhe_sbc_engine::bootstrap::BootstrapError;
use tfhe_sbc_engine::circuit::{CircuitError, EvaluateError};
use tfhe_sbc_engine::gates::GateError;
use tfhe_sbc_engine::integer::IntegerError;
use tfhe_sbc_engine::server_key::ServerKeyError;
use tfhe_sbc_foreign::tfhe_rs::TfheRsError;
use tfhe_sbc_foreign::tfhepp::TfheppError;
use tfhe_sbc_oracle::adopted::NotAdopted;
use thiserror::Error;

/// Why there are no figures.
#[derive(Debug, Error)]
pub(crate) enum BenchError {
    /// What was being timed decrypts to something else than it should.
    #[error("wrong answer from {0}: its figures would mean nothing")]
    WrongAnswer(String),
    /// A parameter set that does not validate.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A number that does not fit its blocks.
    #[error(transparent)]
    Digits(#[from] BlockOutOfRange),
    /// No seeds.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// No server key.
    #[error(transparent)]
    ServerKey(#[from] ServerKeyError),
    /// Bootstraps that refuse.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// Gates that refuse.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// Integers that refuse.
    #[error(transparent)]
    Integer(#[from] IntegerError),
    /// Circuits that refuse.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// Circuits that cannot be evaluated.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// A device that does not encrypt.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An upload that does not convert for TFHEpp, or a key of its that does not read.
    #[error(transparent)]
    Tfhepp(#[from] TfheppError),
    /// A key of TFHE-rs's that does not read.
    #[error(transparent)]
    TfheRs(#[from] TfheRsError),
    /// Its parameters.
    #[error(transparent)]
    Adopted(#[from] NotAdopted),
    /// Memory that does not take what is written.
    #[error(transparent)]
    Sink(#[from] std::io::Error),
    /// A board that does not encrypt for SEAL.
    #[error(transparent)]
    Ckks(#[from] CkksError),
    /// A key of SEAL's that does not read.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A message that does not read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// No threads.
    #[error("no thread pool: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// No generator of the operating system's.
    #[error("/dev/urandom: {0}")]
    Urandom(std::io::Error),
    /// No picture.
    #[error("no picture: {0}")]
    Picture(String),
    /// No file for the picture.
    #[error("cannot write the picture: {0}")]
    PictureFile(std::io::Error),
    /// A picture of something that has none.
    #[error("only the table 'engine' has a picture: leave --plot out")]
    NoPicture,
    /// Rows of another table, or of none.
    #[error("only the table 'integers' has rows to choose: leave --rows out")]
    NoRows,
    /// Rows that there are not.
    #[error("the rows are {0}")]
    Rows(String),
    /// No JSON.
    #[error("no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Something that the peer refuses.
    #[cfg(feature = "tfhe-rs")]
    #[error("TFHE-rs: {0}")]
    Peer(String),
}
