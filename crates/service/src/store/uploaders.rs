//! The uploaders and their uploads, kept in memory beside the index.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use super::StoredReadings;

/// The uploads that one uploader brought first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uploader {
    /// The name in its certificate.
    pub name: String,
    /// The number of uploads.
    pub uploads: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The time at which the last one was stored.
    pub last: SystemTime,
}

/// All uploaders.
pub(super) struct Uploaders(Mutex<HashMap<String, Uploader>>);

impl Uploaders {
    /// Returns the uploaders of the uploads in the index.
    pub(super) fn read(index: &Connection) -> rusqlite::Result<Self> {
        let mut statement = index.prepare(
            "SELECT uploader, sum(uploads), sum(bytes), max(last) FROM
             (SELECT context, count(*) AS uploads, sum(bytes) AS bytes, max(created_at) AS last FROM uploads GROUP BY context)
             JOIN contexts ON number = context GROUP BY uploader",
        )?;
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        let rows = statement.query_map([], |row| {
            let name: String = row.get(0)?;
            Ok(Uploader {
                name,
                uploads: count(row.get(1)?),
                bytes: count(row.get(2)?),
                last: UNIX_EPOCH + Duration::from_secs(count(row.get(3)?)),
            })
        })?;
        let rows = rows.map(|row| row.map(|uploader| (uploader.name.clone(), uploader)));
        Ok(Self(Mutex::new(rows.collect::<Result<_, _>>()?)))
    }

    /// Counts what has been stored.
    pub(super) fn add(&self, stored: &StoredReadings) {
        let mut all = self.lock();
        match all.get_mut(&stored.uploader) {
            Some(uploader) => {
                uploader.uploads += 1;
                uploader.bytes += stored.bytes;
                uploader.last = uploader.last.max(stored.created_at);
            }
            None => {
                let uploader = Uploader {
                    name: stored.uploader.clone(),
                    uploads: 1,
                    bytes: stored.bytes,
                    last: stored.created_at,
                };
                all.insert(stored.uploader.clone(), uploader);
            }
        }
    }

    /// Counts what has been removed.
    pub(super) fn take(&self, removed: &StoredReadings) {
        let mut all = self.lock();
        if let Some(uploader) = all.get_mut(&removed.uploader) {
            uploader.uploads = uploader.uploads.saturating_sub(1);
            uploader.bytes = uploader.bytes.saturating_sub(removed.bytes);
            if uploader.uploads == 0 {
                all.remove(&removed.uploader);
            }
        }
    }

    /// Returns the bytes of all uploads.
    pub(super) fn bytes(&self) -> u64 {
        self.lock().values().map(|uploader| uploader.bytes).sum()
    }

    /// Returns the uploaders, those that stored something last first.
    pub(super) fn list(&self) -> Vec<Uploader> {
        let mut all: Vec<_> = self.lock().values().cloned().collect();
        all.sort_by(|a, b| (Reverse(a.last), &a.name).cmp(&(Reverse(b.last), &b.name)));
        all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Uploader>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
