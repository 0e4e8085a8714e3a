//! Uploads in the short form, restored before anything else sees them.

use std::borrow::Cow;

use tfhe_sbc_upload::short::{self, Definitions, ShortUpload};

use super::error::Refusal;
use crate::store::Store;

/// Returns the whole upload that was sent: as it is, or restored with definitions that this uploader has sent
/// before.
///
/// # Errors
/// Returns a refusal if a short upload is malformed, if its definitions are not known, or if the whole upload
/// has more than `limit` bytes.
pub(super) fn restored<'a>(
    store: &Store,
    uploader: &str,
    sent: &'a [u8],
    limit: usize,
) -> Result<Cow<'a, [u8]>, Refusal> {
    if !short::is_short(sent) {
        return Ok(Cow::Borrowed(sent));
    }
    let short = ShortUpload::parse(sent)?;
    let Some(definitions) = store.definitions(uploader, short.definitions)? else {
        return Err(Refusal::unknown_definitions());
    };
    let upload = short.restore(&definitions)?;
    match upload.len() <= limit {
        true => Ok(Cow::Owned(upload)),
        false => Err(Refusal::too_large(limit)),
    }
}

/// Returns whether the store has the definitions, so that the uploader's next upload may be short.
pub(super) fn is_kept(store: &Store, uploader: &str, definitions: Option<&Definitions>) -> bool {
    let found = definitions.map(|definitions| store.definitions(uploader, definitions.id()));
    match found {
        Some(Ok(found)) => found.is_some(),
        Some(Err(error)) => {
            // The upload is on the disk, and the next one travels whole.
            tracing::warn!(%error, "the definitions of an upload cannot be read");
            false
        }
        None => false,
    }
}
