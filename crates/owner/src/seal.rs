//! Requests made of questions.

use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::ColumnValues;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::condition::{Condition, Threshold};
use tfhe_sbc_query::request::{EncryptThresholds, Manner, Request, RequestError};
use tfhe_sbc_query::scope::{MAX_GROUPS, Scope};
use tfhe_sbc_transport::protocol::ColumnList;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};
use tfhe_sbc_upload::{DeviceSession, UploadError};

/// The reason why questions cannot be sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The key cannot encrypt thresholds.
    #[error(transparent)]
    Key(#[from] UploadError),
    /// Questions that cannot be asked about such columns.
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// Returns the bytes of a request about such columns, for answers of that manner. `session` has a device key or a public key of
/// the key set, which encrypts the thresholds that are to be encrypted.
///
/// # Errors
/// Questions that cannot be asked about the columns, thresholds that these cannot have, and a key that does not encrypt.
pub fn seal(
    questions: &[Question],
    columns: &[Column],
    session: &mut DeviceSession,
    manner: Manner<'_>,
) -> Result<Vec<u8>, SealError> {
    let readings = ReadingsMetadata {
        columns: columns.to_vec(),
        rows: Vec::new(),
        gaps: Default::default(),
    };
    let (parameters, fingerprint) = (*session.parameters(), session.fingerprint());
    let conditions = questions.iter().flat_map(Question::conditions);
    let mut comparisons = conditions.flat_map(Condition::comparisons);
    let encrypts = comparisons.any(|(.., threshold)| matches!(threshold, Threshold::ToEncrypt(_)));
    let mut open = if encrypts {
        Some(session.encryptor(ExpanderKind::ChaCha20)?)
    } else {
        None
    };
    let mut encrypt = open
        .as_mut()
        .map(|encryptor| move |values: &[ColumnValues<'_>]| encryptor.encrypt_values(values));
    let encrypt = encrypt
        .as_mut()
        .map(|encrypt| encrypt as &mut EncryptThresholds<'_>);
    let under = (&parameters, fingerprint);
    Ok(Request::seal_in(
        manner, questions, &readings, under, encrypt,
    )?)
}

/// Returns the most bytes of a result that are read: at most 1 GiB, and less if no answers to the questions about such readings
/// are so long.
pub fn largest_result(questions: &[Question], list: &ColumnList, scope: &Scope) -> u64 {
    const MOST: u64 = 1 << 30;
    let rows = list.rows.unwrap_or(u64::MAX);
    let devices = match scope.by.device {
        true => list.devices.unwrap_or(rows),
        false => 1,
    };
    let periods = match (scope.by.period, list.span) {
        (Some(period), Some(span)) => period.count_in(span),
        (Some(_), None) => rows,
        (None, _) => 1,
    };
    let groups = devices.saturating_mul(periods).min(MAX_GROUPS as u64);
    let answers = questions.iter().map(|q| q.largest_answers(rows, groups));
    answers.fold(0, u64::saturating_add).min(MOST)
}
