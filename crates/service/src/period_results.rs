//! The files of the results of standing queries: a line about the result, the uploads that it was computed from, and its bytes.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::standing::PeriodResult;

use crate::headed;

/// A result with the uploads that it was computed from.
#[derive(Debug)]
pub(crate) struct ReadResult {
    pub(crate) about: PeriodResult,
    /// The [short](BlobId::short) ids of the uploads.
    pub(crate) uploads: BTreeSet<u64>,
    pub(crate) bytes: Vec<u8>,
}

impl ReadResult {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that is damaged, among others.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let (about, mut behind): (PeriodResult, Vec<u8>) = headed::read(path)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
        let ids = usize::try_from(about.uploads).ok();
        let ids = ids.and_then(|ids| ids.checked_mul(8));
        let ids = ids.filter(|ids| *ids <= behind.len()).ok_or_else(damaged)?;
        let bytes = behind.split_off(ids);
        if BlobId::of(&bytes) != about.id {
            return Err(damaged());
        }
        let (uploads, _) = behind.as_chunks::<8>();
        Ok(Self {
            about,
            uploads: uploads.iter().map(|id| u64::from_be_bytes(*id)).collect(),
            bytes,
        })
    }
}

/// Returns the content of a file.
///
/// # Errors
/// A description that is no JSON.
pub(crate) fn content(
    about: &PeriodResult,
    uploads: &BTreeSet<u64>,
    bytes: &[u8],
) -> io::Result<Vec<u8>> {
    let ids: Vec<u8> = uploads.iter().flat_map(|id| id.to_be_bytes()).collect();
    headed::content(about, &[&ids, bytes])
}
