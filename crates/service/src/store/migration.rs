//! Stores of the layouts 1 and 2, which had a file in `blobs` for each upload: their uploads are packed into segments.
//!
//! The index gets the tables of today at once, and keeps the former one of uploads beside them. Then the uploads go to segments, some
//! at a time: an upload leaves the former table in the transaction in which it enters the new one, and its file is removed after
//! that. So whatever interrupts it, each upload is in one of the two, and the next start goes on.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::FileError;
use tfhe_sbc_transport::protocol::UploadSummary;

use super::commits::{Addition, Form, NewEntry, Writing};
use super::index::{self, Entry};
use super::pads::{ArrivingFrame, PadsNumber};
use super::{StoreError, as_i64};

/// The oldest layout.
pub(super) const FIRST: i64 = 1;

/// The directory of the files of uploads.
pub(super) const BLOBS: &str = "blobs";

/// What version 2 added to version 1.
const SECOND: &str = "
    ALTER TABLE readings ADD COLUMN first_ms INTEGER;
    ALTER TABLE readings ADD COLUMN last_ms INTEGER;
    ALTER TABLE readings ADD COLUMN described INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE removed (id TEXT PRIMARY KEY) STRICT;
";

/// The former tables get other names.
const FORMER: &str = "
    ALTER TABLE readings RENAME TO former_readings;
    ALTER TABLE removed RENAME TO former_removed;
    DROP INDEX IF EXISTS readings_of;
    DROP INDEX IF EXISTS readings_until;
    DROP INDEX IF EXISTS readings_undescribed;
    DROP INDEX IF EXISTS readings_by_age;
";

/// Frames refer to uploads by the bytes of their ids.
const FRAMES: &str = "
    INSERT INTO frames SELECT pads, counter, tag, unhex(readings) FROM former_frames;
    DROP TABLE former_frames;
";

/// The most uploads of one transaction, and the bytes after which it has no more.
const AT_A_TIME: u64 = 1024;
const BYTES_AT_A_TIME: u64 = 1 << 24;

/// Gives an index of a former layout the tables of today. From here on older programs refuse the store.
pub(super) fn begin(index: &mut Connection, version: i64) -> Result<(), StoreError> {
    tracing::info!(
        version,
        "the store is of a former version, with a file for each upload: packing them into segments"
    );
    index::flushed(index, |index| {
        let transaction = index.transaction()?;
        if version == FIRST {
            transaction.execute_batch(SECOND)?;
        }
        transaction.execute_batch(FORMER)?;
        let has_frames = has_table(&transaction, "frames")?;
        if has_frames {
            transaction.execute_batch("ALTER TABLE frames RENAME TO former_frames")?;
        }
        index::create(&transaction)?;
        if has_frames {
            transaction.execute_batch(FRAMES)?;
        }
        transaction.execute_batch("CREATE INDEX former_frames_of ON frames (readings)")?;
        // Numbers of uploads are used once.
        transaction.execute(
            "INSERT INTO sqlite_sequence (name, seq) SELECT 'uploads', seq FROM sqlite_sequence WHERE name = 'former_readings'",
            [],
        )?;
        transaction.commit()?;
        Ok(())
    })
}

/// Packs what is left of the former layout into segments.
pub(super) fn run(writing: &mut Writing, directory: &Path) -> Result<(), StoreError> {
    if !has_table(&writing.index, "former_readings")? {
        return Ok(());
    }
    let blobs = directory.join(BLOBS);
    let count = "SELECT count(*) FROM former_readings";
    let of: i64 = writing.index.query_row(count, [], |row| row.get(0))?;
    let of = u64::try_from(of).unwrap_or(0);
    let (mut done, mut damaged) = (0, 0);
    loop {
        let moved = writing.append(|addition| some(addition, &blobs))?;
        if moved.is_empty() {
            break;
        }
        for (id, is_whole) in &moved {
            match is_whole {
                true => remove_if_there(&blobs.join(id.to_string()))?,
                false => damaged += 1,
            }
        }
        done += moved.len() as u64;
        tracing::info!(done, of, "packing uploads into segments");
    }
    sweep(&writing.index, &blobs)?;
    index::flushed(&mut writing.index, |index| {
        Ok(index.execute_batch(
            "DROP INDEX IF EXISTS former_frames_of; DROP TABLE former_removed; DROP TABLE former_readings;",
        )?)
    })?;
    // The file keeps its size otherwise; it does no harm.
    if let Err(error) = writing.index.execute_batch("VACUUM") {
        tracing::warn!(%error, "the index keeps the size that it had");
    }
    // It has damaged files, if any.
    let _ = fs::remove_dir(&blobs);
    tracing::info!(uploads = done, "all uploads are in segments now");
    if damaged > 0 {
        tracing::error!(
            uploads = damaged,
            "files of uploads are missing or damaged: they are listed and cannot be read. Uploading them again repairs them"
        );
    }
    Ok(())
}

/// A row of the former table.
struct Former {
    sequence: i64,
    id: BlobId,
    bytes: u64,
    created_at: i64,
    uploader: String,
    summary: UploadSummary,
    is_described: bool,
}

impl Former {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let failed = |column, error: Box<dyn std::error::Error + Send + Sync>| {
            let kind = rusqlite::types::Type::Text;
            rusqlite::Error::FromSqlConversionFailure(column, kind, error)
        };
        let id = row.get_ref(1)?.as_str()?.parse();
        let summary = serde_json::from_str(row.get_ref(5)?.as_str()?);
        Ok(Self {
            sequence: row.get(0)?,
            id: id.map_err(|error: tfhe_sbc_transport::BlobIdError| failed(1, error.into()))?,
            bytes: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
            created_at: row.get(3)?,
            uploader: row.get(4)?,
            summary: summary.map_err(|error| failed(5, error.into()))?,
            is_described: row.get(6)?,
        })
    }
}

/// Moves the oldest uploads, and returns them, and whether their files are whole.
fn some(addition: &mut Addition<'_>, blobs: &Path) -> Result<Vec<(BlobId, bool)>, StoreError> {
    let mut select = addition.index.prepare_cached(
        "SELECT sequence, id, bytes, created_at, uploader, summary, described FROM former_readings
         ORDER BY sequence LIMIT ?1",
    )?;
    let rows = select.query_map([as_i64(AT_A_TIME)], Former::from_row)?;
    let rows: Vec<Former> = rows.collect::<Result<_, _>>()?;
    drop(select);
    let mut moved = Vec::new();
    for former in rows {
        let mut delete = addition
            .index
            .prepare_cached("DELETE FROM former_readings WHERE sequence = ?1")?;
        delete.execute([former.sequence])?;
        moved.push((former.id, upload(addition, blobs, former)?));
        if addition.batch.len() > BYTES_AT_A_TIME {
            break;
        }
    }
    Ok(moved)
}

/// Moves an upload. Returns false if its file is missing or damaged; then the index knows it, and no segment has it.
fn upload(addition: &mut Addition<'_>, blobs: &Path, former: Former) -> Result<bool, StoreError> {
    // A power cut may have taken back the transaction that moved it, and not the record.
    if index::find(addition.index, &former.id)?.is_some() {
        return Ok(true);
    }
    let path = blobs.join(former.id.to_string());
    let bytes = match fs::read(&path) {
        Ok(bytes) => Some(bytes).filter(|bytes| BlobId::of(bytes) == former.id),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(FileError::io("read", &path)(error).into()),
    };
    let frame = frame_of(addition.index, &former.id)?;
    let is_whole = bytes.is_some();
    let bytes = bytes.unwrap_or_default();
    let new = NewEntry {
        id: former.id,
        bytes: former.bytes,
        form: Form::of(&bytes),
        uploader: former.uploader,
        summary: former.summary,
        definitions: None,
        created_at: Some(former.created_at),
        sequence: Some(former.sequence),
        is_undescribed: !former.is_described,
        frame,
        repairs: false,
    };
    match is_whole {
        true => {
            addition.insert(&new)?;
        }
        false => addition.insert_lost(&new)?,
    }
    Ok(is_whole)
}

/// The frame that an upload was made of.
fn frame_of(
    index: &Connection,
    id: &BlobId,
) -> Result<Option<(ArrivingFrame, BlobId)>, StoreError> {
    let mut select = index.prepare_cached(
        "SELECT pads, counter, tag, id FROM frames JOIN pads ON pads.sequence = frames.pads WHERE readings = ?1 LIMIT 1",
    )?;
    let found = select.query_row(params![id.as_bytes()], |row| {
        let frame = ArrivingFrame {
            pads: PadsNumber(row.get(0)?),
            counter: row.get(1)?,
            tag: row.get::<_, i64>(2)?.cast_unsigned(),
        };
        Ok((frame, super::pads::text_id_at(row, 3)?))
    });
    Ok(found.optional()?)
}

/// Removes what is left of the files: those of uploads that are in segments or were to be removed, and those that were acknowledged to nobody.
fn sweep(index: &Connection, blobs: &Path) -> Result<(), StoreError> {
    let files = match fs::read_dir(blobs) {
        Ok(files) => files,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(FileError::io("list", blobs)(error).into()),
    };
    for file in files {
        let file = file.map_err(FileError::io("list", blobs))?;
        let name = file.file_name();
        let id: Option<BlobId> = name.to_str().and_then(|name| name.parse().ok());
        let entry = id.map(|id| index::find(index, &id)).transpose()?.flatten();
        match entry {
            // Somebody may want to look at it.
            Some(Entry { place: None, .. }) => {
                tracing::warn!(file = %file.path().display(), "left where it is: the file of an upload is damaged");
            }
            _ => remove_if_there(&file.path())?,
        }
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(FileError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Returns whether an index has a table.
pub(super) fn has_table(index: &Connection, name: &str) -> rusqlite::Result<bool> {
    let select = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    let count: i64 = index.query_row(select, [name], |row| row.get(0))?;
    Ok(count > 0)
}
