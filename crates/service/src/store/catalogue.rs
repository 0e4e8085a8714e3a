//! The catalogue: lists of uploads by device and time, removal, and descriptions of uploads that the index lacks.

use std::fs;
use std::time::UNIX_EPOCH;

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::{Filter, MAX_PAGE};
use tfhe_sbc_transport::files::FileError;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::moments::Moment;

use super::commits::{Form, NewEntry, lock};
use super::index::{self, COLUMNS, Entry};
use super::migration::BLOBS;
use super::recovery::note_removal;
use super::segments::record::{Context, Record, Removal, SpanMs};
use super::{Store, StoreError, StoredReadings, as_i64};

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

/// The most uploads that are described in one transaction.
const AT_A_TIME: usize = 256;

impl Store {
    /// Returns the uploads that meet a filter, those that were stored last first.
    ///
    /// Uploads whose labels are no times meet no filter by time.
    pub fn list(&self, filter: &Filter) -> Result<Listed, StoreError> {
        let limit = u64::from(filter.limit.unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE));
        let index = self.lister();
        // One more tells whether there is a next page.
        let mut entries = Vec::new();
        select(&index, filter, None, LAST_FIRST, Some(limit + 1), |entry| {
            entries.push(entry);
            true
        })?;
        let more = entries.len() as u64 > limit;
        entries.truncate(limit as usize);
        let last = entries
            .last()
            .and_then(|entry| u64::try_from(entry.sequence).ok());
        let readings = entries.iter().map(|entry| self.readings(&index, entry));
        Ok(Listed {
            readings: readings.collect::<Result<_, _>>()?,
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
        let index = self.lister();
        let mut entries = Vec::new();
        let mut bytes = 0u64;
        select(&index, filter, None, LAST_FIRST, None, |entry| {
            bytes = bytes.saturating_add(entry.bytes);
            entries.push(entry);
            bytes <= most
        })?;
        let selected = entries.iter().rev();
        selected.map(|entry| self.readings(&index, entry)).collect()
    }

    /// Removes an upload. When this returns its removal is on disk. Its bytes go when [`Store::compact`] gives the room back.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if nothing is stored under this id.
    pub fn remove(&self, id: &BlobId) -> Result<StoredReadings, StoreError> {
        let removed =
            self.remove_selected(|index| Ok(index::find(index, id)?.into_iter().collect()))?;
        let removed = removed.into_iter().next();
        removed.ok_or(StoreError::NotFound { id: *id })
    }

    /// Removes the uploads that `select` takes from the index, and returns them.
    pub(super) fn remove_selected(
        &self,
        select: impl FnOnce(&Connection) -> Result<Vec<Entry>, StoreError>,
    ) -> Result<Vec<StoredReadings>, StoreError> {
        let mut writing = lock(&self.writing);
        let selected = select(&writing.index)?;
        if selected.is_empty() {
            return Ok(Vec::new());
        }
        let removed = writing.append(|addition| {
            let mut removed = Vec::with_capacity(selected.len());
            for entry in &selected {
                let removal = Removal {
                    id: *entry.id.as_bytes(),
                    sequence: entry.sequence,
                };
                if let Some(place) = entry.place {
                    addition.batch.record(&Record::Removed(removal));
                    note_removal(addition.index, &removal, place.segment)?;
                }
                index::died(addition.index, entry, addition.now)?;
                index::delete(addition.index, entry.sequence)?;
                let context = addition.contexts.get(addition.index, entry.context)?;
                removed.push(entry.readings(&context));
            }
            Ok(removed)
        })?;
        drop(writing);
        removed
            .iter()
            .for_each(|readings| self.uploaders.take(readings));
        Ok(removed)
    }

    /// Adds to the index what the segments do not tell: time and key of uploads that a program of layout 1 has stored, and, if the
    /// index was lost and made anew, uploads in files of a former layout. `describe` reads the bytes
    /// of an upload, and returns `None` for what is none. `progress` is told the number of uploads that are done.
    ///
    /// The uploader of an upload in a file of its own, under a key that devices share, is not known without the former index; it becomes
    /// [`UNKNOWN_UPLOADER`]. The time at which it was stored becomes that of its file.
    pub fn complete(
        &self,
        describe: impl Fn(&[u8]) -> Option<Description>,
        progress: impl Fn(u64),
    ) -> Result<Completed, StoreError> {
        let mut completed = Completed::default();
        for some in self.undescribed()?.chunks(AT_A_TIME) {
            let read = some.iter().map(|(sequence, id)| {
                let bytes = self.get(id).ok();
                (*sequence, bytes.and_then(|bytes| describe(&bytes)))
            });
            let read: Vec<_> = read.collect();
            lock(&self.writing).append(|addition| {
                for (sequence, description) in read {
                    match description {
                        Some(description) => {
                            set_summary(addition, sequence, &description.summary)?;
                            completed.described += 1;
                        }
                        None => completed.left += 1,
                    }
                }
                Ok(())
            })?;
            progress(completed.described + completed.left);
        }
        if self.is_new {
            self.adopt(describe, progress, &mut completed)?;
        }
        Ok(completed)
    }

    /// The uploads whose time and key are not known.
    fn undescribed(&self) -> Result<Vec<(i64, BlobId)>, StoreError> {
        let index = self.lister();
        let mut statement = index.prepare(
            "SELECT sequence, id FROM uploads JOIN undescribed USING (sequence) ORDER BY sequence",
        )?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, index::id_at(row, 1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Packs files of a former layout, whose index is lost, into segments, in the order of their times.
    fn adopt(
        &self,
        describe: impl Fn(&[u8]) -> Option<Description>,
        progress: impl Fn(u64),
        completed: &mut Completed,
    ) -> Result<(), StoreError> {
        let blobs = self.directory.join(BLOBS);
        if !blobs.is_dir() {
            return Ok(());
        }
        let failed = || FileError::io("list", &blobs);
        let mut files = Vec::new();
        for file in fs::read_dir(&blobs).map_err(failed())? {
            let file = file.map_err(failed())?;
            let name = file.file_name();
            let id: Option<BlobId> = name.to_str().and_then(|name| name.parse().ok());
            let modified = file.metadata().and_then(|metadata| metadata.modified());
            files.extend(id.map(|id| (modified.unwrap_or(UNIX_EPOCH), id)));
        }
        files.sort_by_key(|&(modified, _)| modified);
        for (modified, id) in files {
            let path = blobs.join(id.to_string());
            let bytes = fs::read(&path).map_err(FileError::io("read", &path))?;
            let description = match BlobId::of(&bytes) == id {
                true => describe(&bytes),
                false => None,
            };
            let Some(Description { summary, device }) = description else {
                completed.left += 1;
                continue;
            };
            let since = modified.duration_since(UNIX_EPOCH).ok();
            let new = NewEntry {
                id,
                bytes: bytes.len() as u64,
                form: Form::of(&bytes),
                uploader: device.unwrap_or_else(|| UNKNOWN_UPLOADER.to_owned()),
                summary,
                definitions: None,
                created_at: since.map(|since| as_i64(since.as_secs())),
                sequence: None,
                is_undescribed: false,
                frame: None,
                repairs: false,
            };
            let (readings, stored) =
                lock(&self.writing).append(|addition| addition.insert(&new))?;
            if stored == super::Stored::New {
                self.uploaders.add(&readings);
                completed.adopted += 1;
            }
            fs::remove_file(&path).map_err(FileError::io("remove", &path))?;
            progress(completed.described + completed.adopted + completed.left);
        }
        // Files that are no uploads stay, if there are any.
        let _ = fs::remove_dir(&blobs);
        Ok(())
    }
}

/// Records what an upload of the index is.
fn set_summary(
    addition: &super::commits::Addition<'_>,
    sequence: i64,
    summary: &UploadSummary,
) -> Result<(), StoreError> {
    let index = addition.index;
    let select = format!("SELECT {COLUMNS} FROM uploads WHERE sequence = ?1");
    let entry = index
        .prepare_cached(&select)?
        .query_row([sequence], Entry::from_row)?;
    let former = addition.contexts.get(index, entry.context)?;
    let context = Context {
        columns: summary.columns.clone(),
        key: summary.key.clone(),
        epoch: summary.epoch,
        ..former.context.clone()
    };
    // The record in the segment is read with this model.
    let context = addition.contexts.exactly(index, &context, &former.model)?;
    let span = summary.span.map(|span| SpanMs {
        first: span.first.unix_ms(),
        last: span.last.unix_ms(),
    });
    let product = summary.rows.checked_mul(summary.columns.len() as u64);
    let elements = (product != Some(summary.elements)).then_some(as_i64(summary.elements));
    let mut update = index.prepare_cached(
        "UPDATE uploads SET context = ?2, rows = ?3, elements = ?4, first_ms = ?5, last_ms = ?6 WHERE sequence = ?1",
    )?;
    update.execute(params![
        sequence,
        context.number,
        as_i64(summary.rows),
        elements,
        span.map(|span| span.first),
        span.map(|span| span.last),
    ])?;
    context.stretch(index, span)?;
    let mut delete = index.prepare_cached("DELETE FROM undescribed WHERE sequence = ?1")?;
    delete.execute([sequence])?;
    Ok(())
}

/// The uploads of a list: those that were stored last first.
pub(super) const LAST_FIRST: &str = "DESC";
/// The uploads in the order in which they were stored.
pub(super) const FIRST_FIRST: &str = "ASC";

/// Returns the statement of [`select`], and the values of its parameters.
fn statement_of(
    filter: &Filter,
    after: Option<u64>,
    order: &str,
    limit: Option<u64>,
) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let patterns = filter.names.patterns();
    let each = patterns.iter().map(|pattern| {
        values.push(Value::from(pattern.clone()));
        match pattern.contains(['*', '?']) {
            true => "uploader GLOB ?",
            false => "uploader = ?",
        }
    });
    let of_names: Vec<&str> = each.collect();
    let mut conditions = Vec::new();
    let mut condition = |text: &str, value: Option<i64>, times: usize| {
        if let Some(value) = value {
            conditions.push(text.to_owned());
            values.extend(std::iter::repeat_n(Value::from(value), times));
        }
    };
    let since = filter.since.map(Moment::unix_ms);
    let until = filter.until.map(Moment::unix_ms);
    condition("last_ms >= ?", since, 1);
    condition("last_ms < ? + longest_ms AND first_ms < ?", until, 2);
    condition("sequence < ?", filter.before.map(as_i64), 1);
    condition("sequence > ?", after.map(as_i64), 1);
    let limit = limit.map_or(-1, as_i64);
    let is_plain = of_names.is_empty() && since.is_none() && until.is_none();
    let statement = if after.is_some() && !is_plain {
        // What came behind a number is little, whatever the filter is.
        let names = match of_names.is_empty() {
            true => String::new(),
            false => format!("({}) AND ", of_names.join(" OR ")),
        };
        let conditions = conditions.join(" AND ");
        format!(
            "SELECT {COLUMNS} FROM uploads NOT INDEXED CROSS JOIN contexts ON context = number
             WHERE {names}{conditions} ORDER BY sequence {order} LIMIT ?"
        )
    } else if is_plain {
        let conditions = match conditions.is_empty() {
            true => String::new(),
            false => format!("WHERE {}", conditions.join(" AND ")),
        };
        format!("SELECT {COLUMNS} FROM uploads {conditions} ORDER BY sequence {order} LIMIT ?")
    } else {
        let contexts = match of_names.is_empty() {
            true => "contexts".to_owned(),
            false => format!("(SELECT * FROM contexts WHERE {})", of_names.join(" OR ")),
        };
        let conditions: String = conditions
            .iter()
            .map(|condition| format!(" AND {condition}"))
            .collect();
        // The numbers first, so that only uploads that are taken are read.
        format!(
            "SELECT {COLUMNS} FROM uploads WHERE sequence IN
             (SELECT sequence FROM {contexts} CROSS JOIN uploads INDEXED BY uploads_of ON context = number{conditions}
              ORDER BY sequence {order} LIMIT ?) ORDER BY sequence {order}"
        )
    };
    values.push(Value::from(limit));
    (statement, values)
}

/// Gives the uploads that meet a filter and were stored after the one of the number `after` to `take`, in an order, until it returns false.
///
/// Which uploads these are is found in the indices of uploads by context and time; those of one device on one day are few, whatever
/// the store has. An upload begins at most its context's longest span before its end.
pub(super) fn select(
    index: &Connection,
    filter: &Filter,
    after: Option<u64>,
    order: &str,
    limit: Option<u64>,
    mut take: impl FnMut(Entry) -> bool,
) -> Result<(), StoreError> {
    let (statement, values) = statement_of(filter, after, order, limit);
    let mut statement = index.prepare_cached(&statement)?;
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        if !take(Entry::from_row(row)?) {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a test stops at what it does not expect"
    )]

    use super::*;

    /// A look every second must not read the index of everything that a device has ever uploaded.
    #[test]
    fn a_look_is_about_what_is_behind_the_last_one() {
        let directory = tempfile::tempdir().unwrap();
        let (index, _) = index::open(directory.path()).unwrap();
        let selected = Filter::from_query("device=hill,lake-*&since=2026-11-23").unwrap();
        for filter in [selected, Filter::ALL] {
            let filter = Filter {
                before: Some(9),
                ..filter
            };
            let (statement, values) = statement_of(&filter, Some(7), FIRST_FIRST, Some(1000));
            let plan = format!("EXPLAIN QUERY PLAN {statement}");
            let mut statement = index.prepare(&plan).unwrap();
            let steps =
                statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3));
            let steps: Vec<String> = steps.unwrap().map(Result::unwrap).collect();
            let expected = "SEARCH uploads USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)";
            assert_eq!(
                steps.first().map(String::as_str),
                Some(expected),
                "{steps:?}"
            );
            // Nothing is sorted, and contexts are found by their numbers.
            assert!(steps.len() <= 2, "{steps:?}");
        }
    }
}
