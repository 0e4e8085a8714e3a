//! The server's answers, made from what the store knows.

use std::time::SystemTime;

use tfhe_sbc_transport::protocol::{ReadingsEntry, UploadReceipt, UploadSummary};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::store::StoredReadings;

/// Returns the receipt for an upload. `created` says whether this upload brought the readings, or
/// they were stored already; `definitions_kept`, whether the next may travel in the short form.
pub(super) fn receipt(
    stored: StoredReadings,
    created: bool,
    definitions_kept: bool,
) -> UploadReceipt {
    UploadReceipt {
        id: stored.id,
        bytes: stored.bytes,
        created,
        created_at: rfc3339(stored.created_at),
        // A board knows its own times and keys.
        summary: UploadSummary {
            span: None,
            key: None,
            epoch: None,
            ..stored.summary
        },
        definitions_kept,
    }
}

/// Returns the line of the list for an upload.
pub(super) fn entry(stored: StoredReadings) -> ReadingsEntry {
    ReadingsEntry {
        id: stored.id,
        bytes: stored.bytes,
        created_at: rfc3339(stored.created_at),
        uploader: stored.uploader,
        summary: stored.summary,
    }
}

/// Returns a time as RFC 3339 in UTC, to the second.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    // Only years past 9999 cannot be written.
    time.replace_nanosecond(0)
        .unwrap_or(time)
        .format(&Rfc3339)
        .unwrap_or_default()
}
