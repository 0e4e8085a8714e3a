//! Uploads that columns are loaded from. Their ciphertexts stay as short as they travelled: masks are expanded when a
//! computation needs them, and the expanded lists that were used last are kept within a bound, so that thousands of
//! uploads need little more memory than their bytes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_core::wire::bodies::SeededMasks;
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_engine::glwe_key_switch::DeviceSwitchKey;
use tfhe_sbc_upload::extract::ExpandedGlweList;

use crate::uploads::expand;

/// The most GLWE ciphertexts of expanded lists that are kept: 64 MiB in the default set. A longer list is kept while it is
/// the only one.
const MOST_KEPT: usize = 2048;

/// An upload as it was checked.
pub(crate) struct Loaded {
    /// The place of its first row among those of all uploads.
    pub(crate) first_row: usize,
    /// The number of rows.
    pub(crate) rows: usize,
    /// The key that it is under.
    pub(crate) key: KeyFingerprint,
    /// The switch from its key to the evaluation key; `None` if it is under that.
    pub(crate) switch: Option<Arc<DeviceSwitchKey<u64>>>,
    /// True if the upload was made with a device public key.
    pub(crate) is_masked: bool,
    /// The seed of its masks; `None` if the upload carries its masks.
    pub(crate) masks: Option<SeededMasks>,
    /// The message of its list, which [`UploadedGlweList::check`] has passed.
    pub(crate) message: Box<[u8]>,
}

/// The uploads of a table, in the order of their rows.
pub(crate) struct LoadedUploads {
    parameters: Parameters,
    uploads: Vec<Loaded>,
    kept: Mutex<Kept>,
}

/// The key that an expanded list is under.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Under {
    /// The key of the upload.
    Own,
    /// The evaluation key.
    Evaluation,
}

/// Expanded lists by the first row of their upload.
#[derive(Default)]
struct Kept {
    lists: HashMap<(usize, Under), Arc<ExpandedGlweList<u64>>>,
    /// The number of ciphertexts of all lists.
    ciphertexts: usize,
}

impl LoadedUploads {
    /// Takes uploads in the order of their rows.
    pub(crate) fn new(parameters: &Parameters, uploads: Vec<Loaded>) -> Self {
        Self {
            parameters: *parameters,
            uploads,
            kept: Mutex::default(),
        }
    }

    /// Returns the upload that has a row, and the place of the row in it. `None` if there is no such row.
    pub(crate) fn at(&self, row: usize) -> Option<(&Loaded, usize)> {
        let behind = (self.uploads).partition_point(|upload| upload.first_row <= row);
        let upload = self.uploads.get(behind.checked_sub(1)?)?;
        let place = row - upload.first_row;
        (place < upload.rows).then_some((upload, place))
    }

    /// Returns the uploads that have rows of a range.
    pub(crate) fn of(&self, rows: &Range<usize>) -> &[Loaded] {
        let ends_before = |upload: &Loaded| upload.first_row + upload.rows <= rows.start;
        let first = self.uploads.partition_point(ends_before);
        let end = (self.uploads).partition_point(|upload| upload.first_row < rows.end);
        self.uploads.get(first..end).unwrap_or_default()
    }

    /// All uploads.
    pub(crate) fn all(&self) -> &[Loaded] {
        &self.uploads
    }

    /// Returns the expanded list of one of these uploads, under the upload's own key. `None` if its message is not that of a
    /// list.
    pub(crate) fn list(&self, upload: &Loaded) -> Option<Arc<ExpandedGlweList<u64>>> {
        self.expanded(upload, Under::Own)
    }

    /// Returns the expanded list of one of these uploads, under the evaluation key. `None` if its message is not that of a
    /// list.
    pub(crate) fn switched_list(&self, upload: &Loaded) -> Option<Arc<ExpandedGlweList<u64>>> {
        let under = match upload.switch {
            Some(_) => Under::Evaluation,
            None => Under::Own,
        };
        self.expanded(upload, under)
    }

    fn expanded(&self, upload: &Loaded, under: Under) -> Option<Arc<ExpandedGlweList<u64>>> {
        let place = (upload.first_row, under);
        if let Some(list) = self.lock().lists.get(&place) {
            return Some(Arc::clone(list));
        }
        let (message, _) = Message::parse(&upload.message).ok()?;
        let list = UploadedGlweList::check(message, &self.parameters, upload.key).ok()?;
        let switch = match under {
            Under::Own => None,
            Under::Evaluation => upload.switch.as_deref(),
        };
        let list = Arc::new(expand(&list, &self.parameters, switch));
        let mut kept = self.lock();
        let count = list.ciphertexts().len();
        if kept.ciphertexts + count > MOST_KEPT {
            *kept = Kept::default();
        }
        if kept.lists.insert(place, Arc::clone(&list)).is_none() {
            kept.ciphertexts += count;
        }
        Some(list)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Each use leaves lists and their number together.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
