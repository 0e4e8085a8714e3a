//! The store of layout 2 as it was written before segments: a file for each upload, and an index whose commits are shared.
//! It is what migration and the bench of ingest begin with.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files;
use tfhe_sbc_transport::protocol::UploadSummary;

const LAYOUT: &str = "
    CREATE TABLE readings (
        sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
        id         TEXT    NOT NULL UNIQUE,
        bytes      INTEGER NOT NULL,
        created_at INTEGER NOT NULL, -- seconds since 1970
        uploader   TEXT    NOT NULL,
        summary    TEXT    NOT NULL  -- JSON
    ) STRICT;
    ALTER TABLE readings ADD COLUMN first_ms INTEGER; -- milliseconds since 1970
    ALTER TABLE readings ADD COLUMN last_ms INTEGER;
    ALTER TABLE readings ADD COLUMN described INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX readings_of ON readings (uploader, last_ms);
    CREATE INDEX readings_until ON readings (last_ms);
    CREATE INDEX readings_undescribed ON readings (sequence) WHERE described = 0;
    CREATE TABLE removed (id TEXT PRIMARY KEY) STRICT;
    CREATE TABLE definitions (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        uploader TEXT NOT NULL,
        id       BLOB NOT NULL,
        bytes    BLOB NOT NULL,
        UNIQUE (uploader, id)
    ) STRICT;
    CREATE TABLE pads (
        sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
        id         TEXT    NOT NULL UNIQUE,
        board      TEXT    NOT NULL,
        mac_key    BLOB    NOT NULL UNIQUE,
        head       BLOB    NOT NULL, -- CBOR
        created_at INTEGER NOT NULL, -- seconds since 1970
        ended_at   INTEGER
    ) STRICT;
    CREATE INDEX pads_of_board ON pads (board, sequence);
    CREATE TABLE frames (
        pads     INTEGER NOT NULL,
        counter  INTEGER NOT NULL,
        tag      INTEGER NOT NULL,
        readings TEXT    NOT NULL,
        PRIMARY KEY (pads, counter)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX readings_by_age ON readings (min(ifnull(last_ms, created_at * 1000), created_at * 1000));
    PRAGMA user_version = 2;
";

/// The reason why nothing was stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FormerError {
    #[error(transparent)]
    File(#[from] files::FileError),
    #[error(transparent)]
    Index(#[from] rusqlite::Error),
}

/// An upload whose file is written and whose entry waits.
struct Waiting {
    id: BlobId,
    bytes: usize,
    uploader: String,
    summary: UploadSummary,
    created_at: i64,
    is_done: AtomicBool,
}

/// A directory of files, and their index.
pub(crate) struct FormerStore {
    blobs: PathBuf,
    index: Mutex<Connection>,
    reader: Mutex<Connection>,
    queue: Mutex<Vec<Arc<Waiting>>>,
}

impl FormerStore {
    pub(crate) fn create(directory: &Path) -> Result<Self, FormerError> {
        let blobs = directory.join("blobs");
        files::create_private_directory(&blobs)?;
        files::create_private_directory(&directory.join("pads"))?;
        let open = || -> rusqlite::Result<Connection> {
            let index = Connection::open(directory.join("index.sqlite"))?;
            index.pragma_update(None, "journal_mode", "WAL")?;
            index.pragma_update(None, "synchronous", "FULL")?;
            Ok(index)
        };
        let index = open()?;
        index.execute_batch(LAYOUT)?;
        Ok(Self {
            blobs,
            index: Mutex::new(index),
            reader: Mutex::new(open()?),
            queue: Mutex::default(),
        })
    }

    /// Stores an upload that arrived at a time, in seconds since 1970.
    pub(crate) fn put(
        &self,
        bytes: &[u8],
        uploader: &str,
        summary: &UploadSummary,
        created_at: i64,
    ) -> Result<(), FormerError> {
        let id = BlobId::of(bytes);
        let reader = lock(&self.reader);
        let select = "SELECT 1 FROM readings WHERE id = ?1";
        let found = reader
            .prepare_cached(select)?
            .query_row([id.to_string()], |_| Ok(()))
            .optional()?;
        drop(reader);
        if found.is_some() {
            return Ok(());
        }
        files::write_unflushed(&self.blobs.join(id.to_string()), bytes)?;
        let own = Arc::new(Waiting {
            id,
            bytes: bytes.len(),
            uploader: uploader.to_owned(),
            summary: summary.clone(),
            created_at,
            is_done: AtomicBool::new(false),
        });
        lock(&self.queue).push(Arc::clone(&own));
        let mut index = lock(&self.index);
        if own.is_done.load(Ordering::Relaxed) {
            return Ok(());
        }
        let some: Vec<_> = std::mem::take(&mut *lock(&self.queue));
        files::flush_directory(&self.blobs)?;
        let transaction = index.transaction()?;
        for waiting in &some {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO readings (id, bytes, created_at, uploader, summary, first_ms, last_ms, described)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1) ON CONFLICT (id) DO NOTHING",
            )?;
            let span = waiting.summary.span;
            insert.execute(params![
                waiting.id.to_string(),
                waiting.bytes as i64,
                waiting.created_at,
                waiting.uploader,
                serde_json::to_string(&waiting.summary).unwrap_or_default(),
                span.map(|span| span.first.unix_ms()),
                span.map(|span| span.last.unix_ms()),
            ])?;
        }
        transaction.commit()?;
        for waiting in &some {
            waiting.is_done.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
