//! The catalogue: lists of uploads by device and time, removal, and descriptions of uploads that the index lacks.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::PoisonError;
use std::time::UNIX_EPOCH;

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::{Filter, MAX_PAGE};
use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::moments::Moment;

use super::commits::{NewEntry, insert, lock};
use super::{
    INDEX_COLUMNS, Store, StoreError, StoredReadings, as_i64, entry, from_row, id_at, to_json,
};

/// The columns and tables of version 2 of the index, which version 1 lacks. `described` is 0 of uploads that a program
/// with version 1 has stored, whose summary has no time and no key.
pub(super) const LAYOUT: &str = "
    ALTER TABLE readings ADD COLUMN first_ms INTEGER; -- milliseconds since 1970
    ALTER TABLE readings ADD COLUMN last_ms INTEGER;
    ALTER TABLE readings ADD COLUMN described INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX readings_of ON readings (uploader, last_ms);
    CREATE INDEX readings_until ON readings (last_ms);
    CREATE INDEX readings_undescribed ON readings (sequence) WHERE described = 0;
    CREATE TABLE removed (id TEXT PRIMARY KEY) STRICT;
    PRAGMA user_version = 2;
";

/// A page of the list of uploads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The uploads, those that were stored last first.
    pub readings: Vec<StoredReadings>,
    /// The `before` of the next page; `None` if this is the last.
    pub next: Option<u64>,
}

/// The content of an upload and the device of its key, as its bytes tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The content.
    pub summary: UploadSummary,
    /// The name of the device whose key it is encrypted under; `None` for a key that devices share.
    pub device: Option<String>,
}

/// The uploads whose description was added to the index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Completed {
    /// The number of those that the index knew without time and key.
    pub described: u64,
    /// The number of those that the index did not know.
    pub adopted: u64,
    /// The number of those that could not be read. They are tried again at the next start.
    pub left: u64,
}

/// The name of the uploader of an upload that was encrypted under a shared key, if the index that knew it is lost.
pub const UNKNOWN_UPLOADER: &str = "unknown";

/// The most uploads that are described, or whose removal is finished, in one transaction.
const AT_A_TIME: usize = 256;

impl Store {
    /// Returns the uploads that meet a filter, those that were stored last first.
    ///
    /// Uploads whose labels are no times meet no filter by time.
    pub fn list(&self, filter: &Filter) -> Result<Listed, StoreError> {
        let limit = u64::from(filter.limit.unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE));
        let (conditions, mut values) = conditions(filter);
        // One more tells whether there is a next page.
        values.push(Value::from(as_i64(limit + 1)));
        let index = self.reader();
        let mut statement = index.prepare_cached(&format!(
            "SELECT {INDEX_COLUMNS}, sequence FROM readings {conditions} ORDER BY sequence DESC LIMIT ?"
        ))?;
        let rows = statement.query_map(params_from_iter(values), |row| {
            Ok((from_row(row)?, row.get::<_, i64>(5)?))
        })?;
        let mut rows: Vec<(StoredReadings, i64)> = rows.collect::<Result<_, _>>()?;
        let more = rows.len() as u64 > limit;
        rows.truncate(limit as usize);
        let last = rows
            .last()
            .and_then(|(_, sequence)| u64::try_from(*sequence).ok());
        Ok(Listed {
            readings: rows.into_iter().map(|(readings, _)| readings).collect(),
            next: last.filter(|_| more),
        })
    }

    /// Returns all uploads, page by page.
    pub fn all(&self) -> Result<Vec<StoredReadings>, StoreError> {
        let mut filter = Filter::ALL;
        let mut all = Vec::new();
        loop {
            let page = self.list(&filter)?;
            all.extend(page.readings);
            match page.next {
                Some(next) => filter.before = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Returns the uploads that meet a filter, in the order in which they were stored. Stops behind the first that have more than
    /// `most` bytes together.
    pub fn select(&self, filter: &Filter, most: u64) -> Result<Vec<StoredReadings>, StoreError> {
        let mut filter = filter.clone();
        let mut selected = Vec::new();
        let mut bytes = 0u64;
        loop {
            let page = self.list(&filter)?;
            bytes = page
                .readings
                .iter()
                .fold(bytes, |sum, it| sum.saturating_add(it.bytes));
            selected.extend(page.readings);
            match page.next {
                Some(next) if bytes <= most => filter.before = Some(next),
                _ => break,
            }
        }
        selected.reverse();
        Ok(selected)
    }

    /// Removes an upload: from the index, and then its file. What a crash interrupts, the next opening finishes.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if nothing is stored under this id.
    pub fn remove(&self, id: &BlobId) -> Result<StoredReadings, StoreError> {
        let removed = self.remove_selected(|index| Ok(entry(index, id)?.into_iter().collect()))?;
        let removed = removed.into_iter().next();
        removed.ok_or(StoreError::NotFound { id: *id })
    }

    /// Removes the uploads that `select` takes from the index: from the index, and then their files. Returns them.
    pub(super) fn remove_selected(
        &self,
        select: impl FnOnce(&Connection) -> Result<Vec<StoredReadings>, StoreError>,
    ) -> Result<Vec<StoredReadings>, StoreError> {
        // Nobody stores the same content between the two steps.
        let _removing = self.removal.write().unwrap_or_else(PoisonError::into_inner);
        let mut index = lock(&self.index);
        // Where files cannot be removed, no further ones are left without an entry.
        finish_removals(&index, &self.blobs)?;
        let removed = select(&index)?;
        if removed.is_empty() {
            return Ok(removed);
        }
        let transaction = index.transaction()?;
        for readings in &removed {
            let text = readings.id.to_string();
            let mut note =
                transaction.prepare_cached("INSERT OR IGNORE INTO removed (id) VALUES (?1)")?;
            note.execute([&text])?;
            let mut delete = transaction.prepare_cached("DELETE FROM readings WHERE id = ?1")?;
            delete.execute([&text])?;
        }
        transaction.commit()?;
        removed
            .iter()
            .for_each(|readings| self.uploaders.take(readings));
        finish_removals(&index, &self.blobs)?;
        Ok(removed)
    }

    /// Adds to the index what it does not know: time and key of uploads that a program of an older version has stored,
    /// and, if the index was lost and made anew, all uploads whose files are there. `describe` reads the bytes
    /// of an upload, and returns `None` for what is none. `progress` is told the number of uploads that are done.
    ///
    /// Without the index, the uploader of an upload under a key that devices share is not known any more; it becomes
    /// [`UNKNOWN_UPLOADER`]. The time at which an upload was stored becomes that of its file.
    pub fn complete(
        &self,
        describe: impl Fn(&[u8]) -> Option<Description>,
        progress: impl Fn(u64),
    ) -> Result<Completed, StoreError> {
        let known = self.undescribed()?;
        let unlisted = match self.is_new {
            true => self.unlisted()?,
            false => Vec::new(),
        };
        let mut completed = Completed::default();
        let all = known.iter().map(|id| (id, false));
        let all: Vec<_> = all.chain(unlisted.iter().map(|id| (id, true))).collect();
        for some in all.chunks(AT_A_TIME) {
            let read = some.iter().map(|&(id, is_new)| {
                let bytes = self.read_file(id).ok();
                (id, is_new, bytes.and_then(|bytes| describe(&bytes)))
            });
            let read: Vec<_> = read.collect();
            let mut added = Vec::new();
            let mut index = lock(&self.index);
            let transaction = index.transaction()?;
            for (id, is_new, description) in read {
                match (description, is_new) {
                    (None, _) => completed.left += 1,
                    (Some(description), false) => {
                        set_summary(&transaction, id, &description.summary)?;
                        completed.described += 1;
                    }
                    (Some(description), true) => {
                        let new = self.unlisted_entry(id, description)?;
                        added.push(insert(&transaction, &new)?.0);
                        completed.adopted += 1;
                    }
                }
            }
            transaction.commit()?;
            drop(index);
            added
                .iter()
                .for_each(|readings| self.uploaders.add(readings));
            progress(completed.described + completed.adopted + completed.left);
        }
        Ok(completed)
    }

    /// The uploads that a program of an older version has stored.
    fn undescribed(&self) -> Result<Vec<BlobId>, StoreError> {
        let index = self.reader();
        let mut statement = index
            .prepare_cached("SELECT id FROM readings WHERE described = 0 ORDER BY sequence")?;
        let ids = statement.query_map([], |row| id_at(row, 0))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    /// The files that the index does not know, in the order of their times.
    fn unlisted(&self) -> Result<Vec<BlobId>, StoreError> {
        let failed = || FileError::io("list", &self.blobs);
        let mut unlisted = Vec::new();
        for file in fs::read_dir(&self.blobs).map_err(failed())? {
            let file = file.map_err(failed())?;
            let name = file.file_name();
            let id: Option<BlobId> = name.to_str().and_then(|name| name.parse().ok());
            if let Some(id) = id
                && self.find(&id)?.is_none()
            {
                let modified = file.metadata().and_then(|metadata| metadata.modified());
                unlisted.push((modified.ok(), id));
            }
        }
        unlisted.sort_by_key(|&(modified, _)| modified);
        Ok(unlisted.into_iter().map(|(_, id)| id).collect())
    }

    /// The bytes of an upload, also if the index does not know it.
    fn read_file(&self, id: &BlobId) -> Result<Vec<u8>, StoreError> {
        let path = self.blob_path(id);
        let bytes = fs::read(&path).map_err(FileError::io("read", &path))?;
        match BlobId::of(&bytes) == *id {
            true => Ok(bytes),
            false => Err(StoreError::Corrupt { id: *id, path }),
        }
    }

    /// The entry of a file that the index does not know.
    fn unlisted_entry(
        &self,
        id: &BlobId,
        description: Description,
    ) -> Result<NewEntry, StoreError> {
        let path = self.blob_path(id);
        let file = fs::metadata(&path).map_err(FileError::io("find", &path))?;
        let modified = file.modified().ok();
        let seconds = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let device = description.device;
        Ok(NewEntry {
            id: *id,
            bytes: file.len(),
            uploader: device.unwrap_or_else(|| UNKNOWN_UPLOADER.to_owned()),
            summary: description.summary,
            definitions: None,
            created_at: seconds.map(|seconds| as_i64(seconds.as_secs())),
            frame: None,
        })
    }
}

/// Records what an upload of the index is.
fn set_summary(index: &Connection, id: &BlobId, summary: &UploadSummary) -> Result<(), StoreError> {
    let mut statement = index.prepare_cached(
        "UPDATE readings SET summary = ?2, first_ms = ?3, last_ms = ?4, described = 1 WHERE id = ?1",
    )?;
    let span = summary.span;
    statement.execute(params![
        id.to_string(),
        to_json(summary)?,
        span.map(|span| span.first.unix_ms()),
        span.map(|span| span.last.unix_ms()),
    ])?;
    Ok(())
}

/// The conditions of a filter in SQL, and their values in order.
pub(super) fn conditions(filter: &Filter) -> (String, Vec<Value>) {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    let patterns = filter.names.patterns();
    if !patterns.is_empty() {
        let each = patterns.iter().map(|pattern| {
            values.push(Value::from(pattern.clone()));
            match pattern.contains(['*', '?']) {
                true => "uploader GLOB ?",
                false => "uploader = ?",
            }
        });
        let each: Vec<&str> = each.collect();
        conditions.push(format!("({})", each.join(" OR ")));
    }
    let mut number = |condition: &str, value: Option<i64>| {
        if let Some(value) = value {
            conditions.push(condition.to_owned());
            values.push(Value::from(value));
        }
    };
    number("last_ms >= ?", filter.since.map(Moment::unix_ms));
    number("first_ms < ?", filter.until.map(Moment::unix_ms));
    number("sequence < ?", filter.before.map(as_i64));
    match conditions.is_empty() {
        true => (String::new(), values),
        false => (format!("WHERE {}", conditions.join(" AND ")), values),
    }
}

/// Removes the files of uploads that are to be removed.
pub(super) fn finish_removals(index: &Connection, blobs: &Path) -> Result<(), StoreError> {
    // The file of an upload that has come again since is no longer to be removed.
    index.execute(
        "DELETE FROM removed WHERE id IN (SELECT id FROM readings)",
        [],
    )?;
    loop {
        let mut statement = index.prepare_cached("SELECT id FROM removed LIMIT ?1")?;
        let some = statement.query_map([as_i64(AT_A_TIME as u64)], |row| id_at(row, 0))?;
        let some: Vec<BlobId> = some.collect::<Result<_, _>>()?;
        if some.is_empty() {
            return Ok(());
        }
        for id in &some {
            let path = blobs.join(id.to_string());
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(FileError::io("remove", &path)(error).into());
                }
                _ => {}
            }
        }
        files::flush_directory(blobs)?;
        let transaction = index.unchecked_transaction()?;
        for id in &some {
            let mut statement = transaction.prepare_cached("DELETE FROM removed WHERE id = ?1")?;
            statement.execute([id.to_string()])?;
        }
        transaction.commit()?;
    }
}
