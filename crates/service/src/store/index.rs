//! The index: where each upload is, and what lists and selections need to know of it.
//!
//! All of it follows from the segments. Its commits are not flushed: after a power cut, what the index lacks of the segments is read
//! from them again.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Row, params};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::moments::{Moment, Span};
use tfhe_sbc_upload::short::Definitions;

use super::commits::lock;
use super::segments::Place;
use super::segments::record::{Context, Head, Model, NumberedContext, SpanMs};
use super::{StoreError, StoredReadings, as_i64, definitions, migration, pads, retention};

/// The name of the index's file.
pub(super) const FILE: &str = "index.sqlite";

/// The version of the layout, kept in SQLite's `user_version`. Versions 1 and 2 are of stores with a file for each upload.
pub(super) const VERSION: i64 = 3;

/// The tables. `id_start` is the beginning of an id, by which uploads are found: an index of whole ids would have each id twice.
pub(super) const LAYOUT: &str = "
    CREATE TABLE contexts (
        number     INTEGER PRIMARY KEY,
        digest     BLOB    NOT NULL, -- BLAKE3 of the content
        uploader   TEXT    NOT NULL,
        longest_ms INTEGER NOT NULL, -- of the spans of its uploads
        content    BLOB    NOT NULL,
        labels     BLOB    NOT NULL, -- what short uploads are compared with
        list       BLOB    NOT NULL
    ) STRICT;
    CREATE INDEX contexts_of ON contexts (uploader);
    CREATE INDEX contexts_like ON contexts (digest);
    CREATE TABLE uploads (
        sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
        id         BLOB    NOT NULL,
        place      INTEGER, -- none if its bytes are lost
        length     INTEGER NOT NULL, -- of its record
        bytes      INTEGER NOT NULL, -- of the whole upload
        created_at INTEGER NOT NULL, -- seconds since 1970
        context    INTEGER NOT NULL,
        rows       INTEGER NOT NULL,
        elements   INTEGER, -- none if it is rows times columns
        first_ms   INTEGER, -- milliseconds since 1970
        last_ms    INTEGER
    ) STRICT;
    CREATE INDEX uploads_by_id ON uploads (substr(id, 1, 8));
    CREATE INDEX uploads_of ON uploads (context, last_ms);
    CREATE TABLE undescribed (sequence INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE segments (
        number     INTEGER PRIMARY KEY,
        head       BLOB    NOT NULL,
        applied    INTEGER NOT NULL, -- the bytes that the index knows
        live       INTEGER NOT NULL, -- the bytes of records of uploads
        dead       INTEGER NOT NULL, -- the bytes of records of uploads that were removed or are elsewhere
        dead_since INTEGER -- seconds since 1970
    ) STRICT;
    CREATE TABLE removed (
        id       BLOB    PRIMARY KEY,
        sequence INTEGER NOT NULL,
        segment  INTEGER NOT NULL -- no later one has a record of it
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX removed_from ON removed (segment);
";

/// Opens the index, and tells whether it was made anew. An index of a former layout is left for [`migration`].
pub(super) fn open(directory: &Path) -> Result<(Connection, bool), StoreError> {
    let mut index = connect(directory)?;
    let version = index.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match version {
        0 => {
            let transaction = index.transaction()?;
            create(&transaction)?;
            transaction.commit()?;
        }
        migration::FIRST..VERSION => migration::begin(&mut index, version)?,
        VERSION => create_others(&index)?,
        found => {
            return Err(StoreError::NewerLayout {
                directory: directory.to_owned(),
                found,
            });
        }
    }
    Ok((index, version == 0))
}

/// Opens the index once more, to read.
pub(super) fn connect(directory: &Path) -> Result<Connection, StoreError> {
    let index = Connection::open(directory.join(FILE))?;
    index.busy_timeout(Duration::from_secs(5))?;
    index.pragma_update(None, "journal_mode", "WAL")?;
    index.pragma_update(None, "synchronous", "NORMAL")?;
    index.set_prepared_statement_cache_capacity(64);
    Ok(index)
}

/// Makes the tables.
pub(super) fn create(index: &Connection) -> rusqlite::Result<()> {
    index.execute_batch(LAYOUT)?;
    create_others(index)?;
    retention::create_index(index)?;
    index.pragma_update(None, "user_version", VERSION)
}

/// Makes the tables that the segments do not fill, where they are not there.
fn create_others(index: &Connection) -> rusqlite::Result<()> {
    index.execute_batch(definitions::LAYOUT)?;
    index.execute_batch(pads::LAYOUT)
}

/// Does something whose commit is flushed, because the segments do not have it.
pub(super) fn flushed<T>(
    index: &mut Connection,
    write: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    index.pragma_update(None, "synchronous", "FULL")?;
    let written = write(index);
    index.pragma_update(None, "synchronous", "NORMAL")?;
    written
}

/// A line of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) sequence: i64,
    pub(super) id: BlobId,
    /// Where its record is; `None` if it is lost.
    pub(super) place: Option<Place>,
    /// The length of its record.
    pub(super) len: u64,
    pub(super) bytes: u64,
    pub(super) created_at: i64,
    pub(super) context: u32,
    pub(super) rows: u64,
    pub(super) elements: Option<u64>,
    pub(super) span: Option<SpanMs>,
}

pub(super) const COLUMNS: &str =
    "sequence, id, place, length, bytes, created_at, context, rows, elements, first_ms, last_ms";

impl Entry {
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let count = |column| {
            row.get(column)
                .map(|count: i64| u64::try_from(count).unwrap_or(0))
        };
        let place: Option<i64> = row.get(2)?;
        let elements: Option<i64> = row.get(8)?;
        let span = row.get::<_, Option<i64>>(9)?.zip(row.get(10)?);
        Ok(Self {
            sequence: row.get(0)?,
            id: id_at(row, 1)?,
            place: place.and_then(Place::from_i64),
            len: count(3)?,
            bytes: count(4)?,
            created_at: row.get(5)?,
            context: row.get(6)?,
            rows: count(7)?,
            elements: elements.and_then(|elements| u64::try_from(elements).ok()),
            span: span.map(|(first, last)| SpanMs { first, last }),
        })
    }

    pub(super) fn insert(&self, index: &Connection) -> rusqlite::Result<()> {
        let mut insert = index.prepare_cached(&format!(
            "INSERT INTO uploads ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
        ))?;
        insert.execute(params![
            self.sequence,
            self.id.as_bytes(),
            self.place.map(Place::to_i64),
            as_i64(self.len),
            as_i64(self.bytes),
            self.created_at,
            self.context,
            as_i64(self.rows),
            self.elements.map(as_i64),
            self.span.map(|span| span.first),
            self.span.map(|span| span.last),
        ])?;
        Ok(())
    }

    /// What the store tells of it.
    pub(super) fn readings(&self, known: &Known) -> StoredReadings {
        let Context {
            uploader,
            columns,
            key,
            epoch,
            ..
        } = &known.context;
        let moment = Moment::from_unix_ms;
        let product = || self.rows.saturating_mul(columns.len() as u64);
        StoredReadings {
            id: self.id,
            bytes: self.bytes,
            created_at: UNIX_EPOCH
                + Duration::from_secs(u64::try_from(self.created_at).unwrap_or(0)),
            uploader: uploader.clone(),
            summary: UploadSummary {
                elements: self.elements.unwrap_or_else(product),
                rows: self.rows,
                columns: columns.clone(),
                span: self.span.map(|span| Span {
                    first: moment(span.first),
                    last: moment(span.last),
                }),
                key: key.clone(),
                epoch: *epoch,
            },
        }
    }
}

/// Returns the entry of an upload.
pub(super) fn find(index: &Connection, id: &BlobId) -> Result<Option<Entry>, StoreError> {
    let mut statement = index.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM uploads WHERE substr(id, 1, 8) = substr(?1, 1, 8) AND id = ?1"
    ))?;
    let found = statement.query_row([id.as_bytes()], Entry::from_row);
    Ok(found.optional()?)
}

/// Returns the entry of a sequence.
pub(super) fn of_sequence(index: &Connection, sequence: i64) -> Result<Option<Entry>, StoreError> {
    let mut statement = index.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM uploads WHERE sequence = ?1"
    ))?;
    Ok(statement
        .query_row([sequence], Entry::from_row)
        .optional()?)
}

/// Returns the id in a column of a row.
pub(super) fn id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<BlobId> {
    Ok(BlobId::from_hash(row.get(column)?))
}

/// Takes an upload's entry out of the index.
pub(super) fn delete(index: &Connection, sequence: i64) -> rusqlite::Result<()> {
    let mut delete = index.prepare_cached("DELETE FROM uploads WHERE sequence = ?1")?;
    delete.execute([sequence])?;
    let mut delete = index.prepare_cached("DELETE FROM undescribed WHERE sequence = ?1")?;
    delete.execute([sequence])?;
    Ok(())
}

/// Records where the record of an upload is now, and its context.
pub(super) fn set_place(index: &Connection, entry: &Entry) -> rusqlite::Result<()> {
    let mut update = index.prepare_cached(
        "UPDATE uploads SET place = ?2, length = ?3, context = ?4 WHERE sequence = ?1",
    )?;
    let place = entry.place.map(Place::to_i64);
    update.execute(params![
        entry.sequence,
        place,
        as_i64(entry.len),
        entry.context
    ])?;
    Ok(())
}

/// Notes that span and key of an upload are not known.
pub(super) fn set_undescribed(index: &Connection, sequence: i64) -> rusqlite::Result<()> {
    let mut insert =
        index.prepare_cached("INSERT OR IGNORE INTO undescribed (sequence) VALUES (?1)")?;
    insert.execute([sequence])?;
    Ok(())
}

/// Returns the sequence behind all that were used.
pub(super) fn next_sequence(index: &Connection) -> rusqlite::Result<i64> {
    let select = "SELECT max(
        ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'uploads'), 0),
        ifnull((SELECT max(sequence) FROM uploads), 0),
        ifnull((SELECT max(sequence) FROM removed), 0))";
    let last: i64 = index.query_row(select, [], |row| row.get(0))?;
    Ok(last.saturating_add(1))
}

/// A change of the bytes of a segment's records.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Change {
    pub(super) live: i64,
    pub(super) dead: i64,
}

/// Adds to what the index knows of the bytes of a segment.
pub(super) fn count(
    index: &Connection,
    number: u32,
    change: Change,
    now: i64,
) -> rusqlite::Result<()> {
    let mut update = index.prepare_cached(
        "UPDATE segments SET live = live + ?2, dead = dead + ?3,
         dead_since = CASE WHEN dead + ?3 > 0 THEN ifnull(dead_since, ?4) END WHERE number = ?1",
    )?;
    update.execute(params![number, change.live, change.dead, now])?;
    Ok(())
}

/// Records that an upload's record is where nobody looks for it any more.
pub(super) fn died(index: &Connection, entry: &Entry, now: i64) -> rusqlite::Result<()> {
    let Some(place) = entry.place else {
        return Ok(());
    };
    let len = as_i64(entry.len);
    let change = Change {
        live: -len,
        dead: len,
    };
    count(index, place.segment, change, now)
}

/// Records how far the index knows a segment.
pub(super) fn applied(index: &Connection, head: &Head, end: u64) -> rusqlite::Result<()> {
    let mut update = index.prepare_cached(
        "INSERT INTO segments (number, head, applied, live, dead) VALUES (?1, ?2, ?3, 0, 0)
         ON CONFLICT (number) DO UPDATE SET applied = max(applied, excluded.applied)",
    )?;
    update.execute(params![head.number, head.to_bytes(), as_i64(end)])?;
    Ok(())
}

/// A context of the index.
pub(super) struct Known {
    pub(super) number: u32,
    pub(super) context: Context,
    pub(super) definitions: Option<Definitions>,
    /// What short uploads are compared with.
    pub(super) model: Model,
    longest_ms: AtomicI64,
}

impl Known {
    pub(super) fn numbered(&self) -> NumberedContext {
        NumberedContext {
            number: self.number,
            context: self.context.clone(),
            model: self.model.clone(),
        }
    }

    /// Has the index know the longest span of the context's uploads, by which selections find those that begin before a time.
    pub(super) fn stretch(&self, index: &Connection, span: Option<SpanMs>) -> rusqlite::Result<()> {
        let Some(length) = span.map(|span| span.last.saturating_sub(span.first)) else {
            return Ok(());
        };
        if self.longest_ms.fetch_max(length, Ordering::Relaxed) < length {
            let mut update = index.prepare_cached(
                "UPDATE contexts SET longest_ms = max(longest_ms, ?2) WHERE number = ?1",
            )?;
            update.execute(params![self.number, length])?;
        }
        Ok(())
    }
}

/// The contexts that were used last, kept in memory.
#[derive(Default)]
pub(super) struct Contexts(Mutex<Cached>);

#[derive(Default)]
struct Cached {
    by_number: HashMap<u32, Arc<Known>>,
    by_content: HashMap<Context, u32>,
}

impl Contexts {
    /// The most that are kept.
    const MOST: usize = 1024;

    /// Returns a context of the index.
    pub(super) fn get(&self, index: &Connection, number: u32) -> Result<Arc<Known>, StoreError> {
        if let Some(known) = lock(&self.0).by_number.get(&number) {
            return Ok(Arc::clone(known));
        }
        let mut select = index.prepare_cached(
            "SELECT content, labels, list, longest_ms FROM contexts WHERE number = ?1",
        )?;
        let found = select.query_row([number], |row| {
            let model = Model {
                labels: row.get(1)?,
                list: row.get(2)?,
            };
            Ok((row.get::<_, Vec<u8>>(0)?, model, row.get::<_, i64>(3)?))
        });
        let (content, model, longest_ms) = found?;
        let Some(context) = Context::from_bytes(&content) else {
            let kind = rusqlite::types::Type::Blob;
            let error = "a damaged context".into();
            return Err(rusqlite::Error::FromSqlConversionFailure(0, kind, error).into());
        };
        Ok(self.keep(number, context, model, longest_ms))
    }

    /// Returns a context of this content, which is added to the index with this model if there is none.
    pub(super) fn of(
        &self,
        index: &Connection,
        context: &Context,
        model: impl FnOnce() -> Model,
    ) -> Result<Arc<Known>, StoreError> {
        let number = lock(&self.0).by_content.get(context).copied();
        if let Some(number) = number {
            return self.get(index, number);
        }
        let content = context.to_bytes();
        let digest = blake3::hash(&content);
        let mut select = index.prepare_cached(
            "SELECT number FROM contexts WHERE digest = ?1 ORDER BY number LIMIT 1",
        )?;
        let number = select.query_row([digest.as_bytes()], |row| row.get(0));
        match number.optional()? {
            Some(number) => self.get(index, number),
            None => self.exactly(index, context, &model()),
        }
    }

    /// Returns the context of this content and this model, which is added to the index if it is not there.
    pub(super) fn exactly(
        &self,
        index: &Connection,
        context: &Context,
        model: &Model,
    ) -> Result<Arc<Known>, StoreError> {
        let content = context.to_bytes();
        let digest = blake3::hash(&content);
        let mut select = index.prepare_cached(
            "SELECT number FROM contexts WHERE digest = ?1 AND labels = ?2 AND list = ?3",
        )?;
        let row = params![digest.as_bytes(), model.labels, model.list];
        let number = select.query_row(row, |row| row.get(0));
        if let Some(number) = number.optional()? {
            return self.get(index, number);
        }
        let mut insert = index.prepare_cached(
            "INSERT INTO contexts (digest, uploader, longest_ms, content, labels, list) VALUES (?1, ?2, 0, ?3, ?4, ?5)",
        )?;
        let uploader = &context.uploader;
        insert.execute(params![
            digest.as_bytes(),
            uploader,
            content,
            model.labels,
            model.list
        ])?;
        let number = u32::try_from(index.last_insert_rowid()).map_err(|_| StoreError::NoSegment)?;
        self.get(index, number)
    }

    /// Forgets what a transaction that failed may have added.
    pub(super) fn clear(&self) {
        *lock(&self.0) = Cached::default();
    }

    fn keep(&self, number: u32, context: Context, model: Model, longest_ms: i64) -> Arc<Known> {
        let mut cached = lock(&self.0);
        if cached.by_number.len() >= Self::MOST {
            *cached = Cached::default();
        }
        cached.by_content.entry(context.clone()).or_insert(number);
        let definitions = context.definitions.clone();
        let known = Arc::new(Known {
            number,
            context,
            definitions: definitions.and_then(Definitions::from_bytes),
            model,
            longest_ms: AtomicI64::new(longest_ms),
        });
        cached.by_number.insert(number, Arc::clone(&known));
        known
    }
}
