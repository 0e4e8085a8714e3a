//! The cryptographic side as the server needs it: a check of uploaded bytes, and an evaluation of a
//! query. The server looks into neither.

use tfhe_sbc_query::evaluate::StoredUpload;
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::scope::Scope;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::moments::Moment;
use tfhe_sbc_upload::pads::PadFile;
use tfhe_sbc_upload::readings::Column;

use crate::store::Description;

/// The cryptographic half of the service. Its methods block and may take long: the server calls
/// them away from its network threads.
pub trait Backend: Send + Sync + 'static {
    /// Returns the upload in what `uploader` sent: checks the signature of a device that signs, and takes it off.
    fn open<'a>(&self, sent: &'a [u8], uploader: Uploader<'_>) -> Result<&'a [u8], BackendError>;

    /// Checks an upload before it is stored: kind, parameter and key fingerprints, checksum, sizes, and that
    /// `uploader` may upload under the key that it names.
    fn check_upload(
        &self,
        bytes: &[u8],
        uploader: Uploader<'_>,
    ) -> Result<UploadSummary, BackendError>;

    /// Tells what a stored upload is. Its key may be one that is not current any more.
    fn describe(&self, upload: &[u8]) -> Result<Description, BackendError>;

    /// Reads a file of pads, and checks that uploads made with them are ones that this server computes on.
    fn check_pads(&self, file: &[u8]) -> Result<PadFile, BackendError>;

    /// Returns the columns of an upload that was checked.
    fn columns(&self, upload: &[u8]) -> Result<Vec<Column>, BackendError>;

    /// Returns the moments of the rows of an upload that was checked, as far as their labels are times.
    fn moments(&self, upload: &[u8]) -> Result<Vec<Moment>, BackendError>;

    /// Tells what a query asks for, and checks that it is one.
    fn describe_query(&self, query: &[u8]) -> Result<QueryDescription, BackendError>;

    /// Returns the same query about those of its rows that are of a period, from its beginning up to its end.
    fn within(&self, query: &[u8], period: (Moment, Moment)) -> Result<Vec<u8>, BackendError>;

    /// Evaluates an encrypted query on stored readings; several uploads count as one, their rows
    /// one after the other. Reports bootstraps to `progress` as they are done, and may stop with
    /// [`BackendErrorKind::Cancelled`] once [`Progress::is_cancelled`].
    fn evaluate(
        &self,
        readings: &[StoredUpload<'_>],
        query: &[u8],
        progress: &Progress,
    ) -> Result<Evaluation, BackendError>;
}

/// The party in whose name an upload comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uploader<'a> {
    /// A device, by the name in its certificate.
    Device(&'a str),
    /// A device behind a broker, by the name in the topic, for which the server has the broker's word.
    Topic(&'a str),
    /// A key owner, who may upload under every key. A board's frames are completed with pads that the owner stored, so
    /// they count as the owner's.
    Owner,
}

/// What a query asks for, as far as it shows without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryDescription {
    /// The texts of its questions.
    pub questions: Vec<String>,
    /// The rows that it is about, and their groups.
    pub scope: Scope,
}

/// An encrypted answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// The answer, for the owner to decrypt.
    pub result: Vec<u8>,
    /// The number of bootstraps that the query took.
    pub bootstraps: u64,
}

/// The reason why the cryptographic side refused, in words for the caller.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct BackendError {
    /// A description of the error.
    pub message: String,
    /// Advice to the caller.
    pub hint: String,
    /// The kind of the failure.
    pub kind: BackendErrorKind,
}

/// The kinds of [`BackendError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendErrorKind {
    /// The bytes are not what they should be.
    BadInput,
    /// The bytes are fine but were made under other keys or parameters.
    WrongKey,
    /// The bytes are fine but came in a name that may not upload under their key.
    WrongName,
    /// A signature is missing, wrong, or cannot be checked.
    BadSignature,
    /// The server failed.
    Internal,
    /// None of the rows of the uploads is one that the query is about.
    NoRows,
    /// The evaluation stopped because nobody waits for it any more.
    Cancelled,
}
