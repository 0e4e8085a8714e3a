//! The questions that the gateway has asked the server since it started, for the table `queries`.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tfhe_sbc_upload::moments::Moment;

/// The most entries; older ones are forgotten.
const MOST: usize = 1000;

/// A request to the server, or a fetch of readings.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) asked: Moment,
    /// The questions as the server saw them; for a fetch, what was fetched.
    pub(crate) what: String,
    pub(crate) devices: u64,
    /// The groups that were answered by the server.
    pub(crate) groups: u64,
    /// The groups that were found in the cache.
    pub(crate) cached: u64,
    pub(crate) bootstraps: u64,
    pub(crate) seconds: f64,
    /// The bytes that were received.
    pub(crate) bytes: u64,
}

/// The last entries.
#[derive(Default)]
pub(crate) struct Journal(Mutex<VecDeque<Entry>>);

impl Journal {
    /// Adds an entry.
    pub(crate) fn add(&self, entry: Entry) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == MOST {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// Returns the entries, the oldest first.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().cloned().collect()
    }
}

/// The present moment.
pub(crate) fn now() -> Moment {
    tfhe_sbc_transport::human::before_now(std::time::Duration::ZERO)
}
