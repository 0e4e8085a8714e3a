//! Retention: the removal of uploads that are older than a time, and of the oldest ones if all together have more than
//! some bytes.
//!
//! The age of an upload counts from its newest row, or from the time at which it was stored if that is earlier or if its
//! labels are no times. So rows from the future get no older than others, and an upload of old rows is old on arrival.
//! Frames that uploads were made of stay in the index, so that no pad is used a second time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, params};

use super::index::{COLUMNS, Entry};
use super::{Store, StoreError, as_i64};

/// The moment from which the age of an upload counts, in milliseconds since 1970.
const COUNTS_FROM: &str = "min(ifnull(last_ms, created_at * 1000), created_at * 1000)";

/// The most uploads that are removed in one transaction. Uploads that arrive meanwhile wait for it.
const AT_A_TIME: usize = 64;

/// The bounds of what a store keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// The age at which uploads are removed; `None` for any.
    pub age: Option<Duration>,
    /// The most bytes of all uploads together; `None` for any number.
    pub bytes: Option<u64>,
}

/// A number of uploads that were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// The number.
    pub uploads: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The uploads that one slice of work has removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expired {
    /// Those that were too old.
    pub by_age: Removed,
    /// Those that were the oldest of too many bytes.
    pub by_bytes: Removed,
    /// True if there may be more to remove.
    pub more: bool,
}

/// Makes the index by age.
pub(super) fn create_index(index: &Connection) -> rusqlite::Result<()> {
    index.execute_batch(&format!(
        "CREATE INDEX IF NOT EXISTS uploads_by_age ON uploads ({COUNTS_FROM})"
    ))
}

impl Retention {
    /// Returns whether everything is kept.
    pub fn is_unbounded(&self) -> bool {
        self.age.is_none() && self.bytes.is_none()
    }

    /// Returns the moment before which the age of uploads to remove counts, in milliseconds since 1970.
    fn cutoff(&self, now: SystemTime) -> i64 {
        let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let now = now.duration_since(UNIX_EPOCH).map_or(0, ms);
        let age = self.age.map(ms);
        age.map_or(i64::MIN, |age| now.saturating_sub(age))
    }
}

impl Removed {
    fn add(&mut self, bytes: u64) {
        self.uploads += 1;
        self.bytes += bytes;
    }
}

impl std::ops::AddAssign for Removed {
    fn add_assign(&mut self, other: Self) {
        self.uploads += other.uploads;
        self.bytes += other.bytes;
    }
}

impl Store {
    /// Removes the oldest uploads that are beyond the bounds at the time `now`, at most 64 of them. [`Store::compact`] gives their
    /// room back.
    ///
    /// # Errors
    /// An index or a disk that fails. Nothing of this slice is removed then.
    pub fn expire(&self, retention: &Retention, now: SystemTime) -> Result<Expired, StoreError> {
        let cutoff = retention.cutoff(now);
        let mut expired = Expired::default();
        self.remove_selected(|index| {
            let mut excess = retention
                .bytes
                .map_or(0, |most| self.uploaders.bytes().saturating_sub(most));
            let mut selected = Vec::new();
            let oldest = oldest(index)?;
            expired.more = oldest.len() == AT_A_TIME;
            for (entry, counts_from) in oldest {
                let removed = match counts_from < cutoff {
                    true => &mut expired.by_age,
                    false if excess > 0 => &mut expired.by_bytes,
                    false => {
                        expired.more = false;
                        break;
                    }
                };
                removed.add(entry.bytes);
                excess = excess.saturating_sub(entry.bytes);
                selected.push(entry);
            }
            Ok(selected)
        })?;
        Ok(expired)
    }

    /// Returns the bytes of all uploads.
    pub fn bytes(&self) -> u64 {
        self.uploaders.bytes()
    }
}

/// Returns the oldest uploads, the oldest first, with the moments from which their ages count.
fn oldest(index: &Connection) -> Result<Vec<(Entry, i64)>, StoreError> {
    let mut statement = index.prepare_cached(&oldest_first())?;
    let rows = statement.query_map(params![as_i64(AT_A_TIME as u64)], |row| {
        Ok((Entry::from_row(row)?, row.get(11)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn oldest_first() -> String {
    format!(
        "SELECT {COLUMNS}, {COUNTS_FROM} FROM uploads ORDER BY {COUNTS_FROM}, sequence LIMIT ?1"
    )
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a test stops at what it does not expect"
    )]

    use super::*;

    /// A look at the oldest uploads every minute must not read the whole index.
    #[test]
    fn the_oldest_are_found_by_an_index() {
        let index = Connection::open_in_memory().unwrap();
        super::super::index::create(&index).unwrap();
        let plan = format!("EXPLAIN QUERY PLAN {}", oldest_first());
        let mut statement = index.prepare(&plan).unwrap();
        let steps = statement.query_map([64], |row| row.get::<_, String>(3));
        let steps: Vec<String> = steps.unwrap().map(Result::unwrap).collect();
        assert_eq!(steps, ["SCAN uploads USING INDEX uploads_by_age"]);
    }

    #[test]
    fn a_cutoff_may_be_before_1970() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        let after = |age| Retention { age, bytes: None };
        let cutoff = |seconds| after(Some(Duration::from_secs(seconds))).cutoff(now);
        assert_eq!(cutoff(40), 60_000);
        assert_eq!(cutoff(101), -1000);
        assert_eq!(cutoff(u64::MAX), 100_000 - i64::MAX);
        assert_eq!(after(None).cutoff(now), i64::MIN);
    }
}
