//! Pads, and the frames that have arrived for them.
//!
//! A file of pads lies in `pads/`, named by its hash as uploads are, readable by the server alone: it holds
//! the key of the board's tags. The index has a row for each file and one for each frame, which is written in the
//! transaction of the frame's upload. The upload's record in the segment has the frame, too.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Row, params};
use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_transport::protocol::{DeviceId, FrameSpan, UploadSummary};
use tfhe_sbc_transport::{BlobId, BlobIdError};
use tfhe_sbc_upload::pads::{PadFile, PadHead};

use super::{Store, StoreError, Stored, StoredReadings, index, now};

/// The tables. Programs that do not know them use the same index without them.
pub(super) const LAYOUT: &str = "
    CREATE TABLE IF NOT EXISTS pads (
        sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
        id         TEXT    NOT NULL UNIQUE,
        board      TEXT    NOT NULL,
        mac_key    BLOB    NOT NULL UNIQUE,
        head       BLOB    NOT NULL, -- CBOR
        created_at INTEGER NOT NULL, -- seconds since 1970
        ended_at   INTEGER
    ) STRICT;
    CREATE INDEX IF NOT EXISTS pads_of_board ON pads (board, sequence);
    CREATE TABLE IF NOT EXISTS frames (
        pads     INTEGER NOT NULL,
        counter  INTEGER NOT NULL,
        tag      INTEGER NOT NULL,
        readings BLOB    NOT NULL,
        PRIMARY KEY (pads, counter)
    ) STRICT, WITHOUT ROWID;
";

const INSERT: &str =
    "INSERT INTO pads (id, board, mac_key, head, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
                      ON CONFLICT DO NOTHING";
const COLUMNS: &str = "sequence, id, head, created_at, ended_at";

/// The number of pads in the index, by which frames refer to them. Newer ones have larger numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PadsNumber(pub(super) i64);

/// A file of pads in the store.
#[derive(Clone)]
pub struct StoredPads {
    /// Its number.
    pub number: PadsNumber,
    /// The id of the file.
    pub id: BlobId,
    /// What it takes to check frames.
    pub head: PadHead,
    /// The time at which it was stored.
    pub created_at: SystemTime,
    /// The time from which it takes no more frames.
    pub ended_at: Option<SystemTime>,
}

/// The frames of some pads that have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivedFrames {
    /// Their number.
    pub count: u32,
    /// The largest counter.
    pub newest: Option<u32>,
}

/// A frame that is stored with its upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivingFrame {
    /// The pads that it was completed with.
    pub pads: PadsNumber,
    /// Its counter.
    pub counter: u32,
    /// Its tag.
    pub tag: u64,
}

impl Store {
    /// Stores a file of pads. When this returns it is on disk. The same file is stored once.
    ///
    /// # Errors
    /// [`StoreError::PadsOfSameKey`] if there are other pads that were made with the same key, or if the disk fails.
    pub fn put_pads(
        &self,
        file: &[u8],
        head: &PadHead,
    ) -> Result<(StoredPads, Stored), StoreError> {
        let id = BlobId::of(file);
        if self.read_pads(&id)?.is_none() {
            let path = self.pads.join(id.to_string());
            // What is there is damaged, or was never acknowledged.
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(FileError::io("replace", &path)(error).into());
                }
                _ => files::write_private_new(&path, file)?,
            }
        }
        let board = DeviceId(head.plan.device).to_string();
        let bytes = head.to_bytes().map_err(StoreError::PadHead)?;
        let mut writing = super::commits::lock(&self.writing);
        let added = index::flushed(&mut writing.index, |index| {
            let row = params![id.to_string(), board, head.mac_key(), bytes, now()];
            Ok(index.execute(INSERT, row)?)
        })?;
        let select = format!("SELECT {COLUMNS} FROM pads WHERE id = ?1");
        let found = writing
            .index
            .query_row(&select, [id.to_string()], from_row)
            .optional()?;
        let Some(pads) = found else {
            drop(writing);
            // No row refers to the file.
            let _ = fs::remove_file(self.pads.join(id.to_string()));
            return Err(StoreError::PadsOfSameKey);
        };
        let stored = match added {
            0 => Stored::AlreadyStored,
            _ => Stored::New,
        };
        Ok((pads, stored))
    }

    /// Returns all pads, the oldest first.
    pub fn pads(&self) -> Result<Vec<StoredPads>, StoreError> {
        let index = self.reader();
        let select = format!("SELECT {COLUMNS} FROM pads ORDER BY sequence");
        let mut statement = index.prepare_cached(&select)?;
        let rows = statement.query_map([], from_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the bytes of a file of pads, checked against their name.
    pub fn pads_file(&self, id: &BlobId) -> Result<Vec<u8>, StoreError> {
        let missing = || StoreError::NoPads { id: *id };
        self.read_pads(id)?.ok_or_else(missing)
    }

    /// `None` if the file is not there, or damaged.
    fn read_pads(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.pads.join(id.to_string());
        match fs::read(&path) {
            Ok(bytes) if BlobId::of(&bytes) == *id => Ok(Some(bytes)),
            Ok(_) => {
                tracing::error!(file = %path.display(), "a file of pads is damaged");
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::io("read", &path)(error).into()),
        }
    }

    /// Has all pads of a board take no more frames.
    pub fn end_pads(&self, board: DeviceId) -> Result<(), StoreError> {
        let mut writing = super::commits::lock(&self.writing);
        index::flushed(&mut writing.index, |index| {
            index.execute(
                "UPDATE pads SET ended_at = ?2 WHERE board = ?1 AND ended_at IS NULL",
                params![board.to_string(), now()],
            )?;
            Ok(())
        })
    }

    /// Returns how many frames of some pads have arrived.
    pub fn arrived(&self, pads: PadsNumber) -> Result<ArrivedFrames, StoreError> {
        let index = self.reader();
        let mut statement =
            index.prepare_cached("SELECT count(*), max(counter) FROM frames WHERE pads = ?1")?;
        Ok(statement.query_row([pads.0], |row| {
            Ok(ArrivedFrames {
                count: row.get(0)?,
                newest: row.get(1)?,
            })
        })?)
    }

    /// Returns the tag of the frame of a counter that has arrived, and the readings that it became.
    pub fn arrival(
        &self,
        pads: PadsNumber,
        counter: u32,
    ) -> Result<Option<(u64, BlobId)>, StoreError> {
        let index = self.reader();
        let mut statement = index
            .prepare_cached("SELECT tag, readings FROM frames WHERE pads = ?1 AND counter = ?2")?;
        let found = statement.query_row(params![pads.0, counter], |row| {
            let tag: i64 = row.get(0)?;
            Ok((tag.cast_unsigned(), index::id_at(row, 1)?))
        });
        Ok(found.optional()?)
    }

    /// Stores the upload that a frame became, in one transaction with the frame's arrival. Older pads of the board take
    /// no more frames then.
    ///
    /// # Errors
    /// [`StoreError::PadUsedTwice`] if another frame of the counter has arrived, and nothing is stored then; or if
    /// the disk fails.
    pub fn put_frame(
        &self,
        upload: &[u8],
        board: DeviceId,
        summary: &UploadSummary,
        frame: ArrivingFrame,
    ) -> Result<(StoredReadings, Stored), StoreError> {
        let select = "SELECT id FROM pads WHERE sequence = ?1";
        let pads = self
            .reader()
            .query_row(select, [frame.pads.0], |row| text_id_at(row, 0))?;
        let uploader = board.to_string();
        self.put_entry(upload, &uploader, summary, None, Some((frame, pads)))
    }

    /// Returns what became of a board's frames, in the order of their counters: of the newest pads of which frames
    /// have arrived. Those whose uploads were removed are left out.
    pub fn readings_of_board(
        &self,
        board: DeviceId,
        span: FrameSpan,
    ) -> Result<Vec<BlobId>, StoreError> {
        let index = self.reader();
        let mut statement = index.prepare_cached(
            "SELECT readings FROM frames WHERE counter BETWEEN ?2 AND ?3
             AND EXISTS (SELECT 1 FROM uploads WHERE substr(uploads.id, 1, 8) = substr(frames.readings, 1, 8)
                         AND uploads.id = frames.readings) AND pads =
             (SELECT max(sequence) FROM pads WHERE board = ?1
              AND EXISTS (SELECT 1 FROM frames WHERE frames.pads = pads.sequence))
             ORDER BY counter",
        )?;
        let rows = statement
            .query_map(params![board.to_string(), span.first, span.last], |row| {
                index::id_at(row, 0)
            })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Adds a frame to those that have arrived, and returns whether it is new. Nothing happens if it is not.
pub(super) fn record(
    index: &Connection,
    frame: &ArrivingFrame,
    readings: &BlobId,
) -> Result<bool, StoreError> {
    let (pads, tag) = (frame.pads.0, frame.tag.cast_signed());
    let mut insert = index.prepare_cached(
        "INSERT INTO frames (pads, counter, tag, readings) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (pads, counter) DO NOTHING",
    )?;
    let added = insert.execute(params![pads, frame.counter, tag, readings.as_bytes()])?;
    if added == 0 {
        let mut select =
            index.prepare_cached("SELECT tag FROM frames WHERE pads = ?1 AND counter = ?2")?;
        let known: i64 = select.query_row(params![pads, frame.counter], |row| row.get(0))?;
        return match known == tag {
            true => Ok(false),
            false => Err(StoreError::PadUsedTwice {
                counter: frame.counter,
            }),
        };
    }
    let mut end = index.prepare_cached(
        "UPDATE pads SET ended_at = ?2 WHERE sequence < ?1 AND ended_at IS NULL
         AND board = (SELECT board FROM pads WHERE sequence = ?1)",
    )?;
    end.execute(params![pads, now()])?;
    Ok(true)
}

/// Returns the number of a file of pads.
pub(super) fn number_of(index: &Connection, id: &BlobId) -> Result<Option<PadsNumber>, StoreError> {
    let mut select = index.prepare_cached("SELECT sequence FROM pads WHERE id = ?1")?;
    let number = select.query_row([id.to_string()], |row| row.get(0));
    Ok(number.optional()?.map(PadsNumber))
}

/// Adds the files of pads in a directory to an index that was lost, in the order of their times.
pub(super) fn relist(index: &Connection, directory: &Path) -> Result<(), StoreError> {
    let failed = || FileError::io("list", directory);
    let mut found = Vec::new();
    for file in fs::read_dir(directory).map_err(failed())? {
        let file = file.map_err(failed())?;
        let name = file.file_name();
        let id: Option<BlobId> = name.to_str().and_then(|name| name.parse().ok());
        let Some(id) = id else { continue };
        let bytes = fs::read(file.path()).map_err(FileError::io("read", &file.path()))?;
        let pads = PadFile::read(&bytes).ok();
        match pads.filter(|_| BlobId::of(&bytes) == id) {
            Some(pads) => {
                let modified = file.metadata().and_then(|metadata| metadata.modified());
                found.push((modified.unwrap_or(UNIX_EPOCH), id, pads.head()));
            }
            None => {
                tracing::error!(file = %file.path().display(), "a file of pads is damaged");
            }
        }
    }
    found.sort_by_key(|(modified, id, _)| (*modified, id.to_string()));
    for (modified, id, head) in &found {
        let since = modified.duration_since(UNIX_EPOCH);
        let created_at = since.map_or(0, |since| super::as_i64(since.as_secs()));
        let board = DeviceId(head.plan.device).to_string();
        let bytes = head.to_bytes().map_err(StoreError::PadHead)?;
        let row = params![id.to_string(), board, head.mac_key(), bytes, created_at];
        index.execute(INSERT, row)?;
    }
    if !found.is_empty() {
        tracing::warn!(
            files = found.len(),
            "the index was lost: files of pads are listed again. Pads that were ended take frames again until they are ended again"
        );
    }
    Ok(())
}

/// Returns the id in a column of a row, which is a text.
pub(super) fn text_id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<BlobId> {
    let text = row.get_ref(column)?.as_str()?;
    text.parse().map_err(|error: BlobIdError| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(column, kind, error.into())
    })
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredPads> {
    let time = |seconds: i64| UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    let head = PadHead::from_bytes(row.get_ref(2)?.as_blob()?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Blob, error.into())
    })?;
    Ok(StoredPads {
        number: PadsNumber(row.get(0)?),
        id: text_id_at(row, 1)?,
        head,
        created_at: time(row.get(3)?),
        ended_at: row.get::<_, Option<i64>>(4)?.map(time),
    })
}

impl ArrivedFrames {
    /// Returns the number of counters up to the newest that have not arrived.
    pub fn missing(self) -> u32 {
        self.next().saturating_sub(self.count)
    }

    /// Returns the counter behind the newest.
    pub fn next(self) -> u32 {
        self.newest.map_or(0, |newest| newest.saturating_add(1))
    }
}
