//! Room given back: a segment of whose uploads most are removed is read through, what is still needed goes to the end of the
//! segments, and its file is removed.
//!
//! What is needed are uploads that the index has there; removals, as long as an older segment may have what they remove; and frames of
//! uploads that were removed, so that no pad is used a second time. The copies are flushed with each slice, before the index refers to
//! them, and the file goes when the index refers to nothing in it. A crash in between leaves some uploads there twice, which costs room until
//! the next compaction.

use std::collections::HashMap;
use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, params};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::{FileError, FileLock};
use tfhe_sbc_upload::short::Definitions;

use super::commits::{Addition, lock};
use super::index::{self, Change};
use super::segments::record::{
    Context, FrameMark, HEAD_BYTES, Head, Model, NumberedContext, Record, Removal, Upload,
    UsedFrame,
};
use super::segments::{LIMIT, Place, Segments};
use super::{Store, StoreError, as_i64, form, now};

/// The file whose lock keeps segments where they are. A backup holds it shared.
pub(super) const LOCK: &str = "segments.lock";

/// The seconds after which a segment is compacted if anything in it was removed.
const AT_LATEST: i64 = 86_400;
/// The bytes that a slice copies, and those that it reads. Uploads that arrive meanwhile wait for it.
const COPIED: u64 = 1 << 20;
const READ: u64 = 1 << 24;

/// The compaction that is under way.
#[derive(Default)]
pub(super) struct Compaction {
    current: Option<Current>,
    /// Segments that have damaged uploads: they stay, because a part of an upload is better than none.
    damaged: Vec<u32>,
}

struct Current {
    head: Head,
    /// How far it was read.
    at: u64,
    /// Its contexts so far, by their numbers in it.
    contexts: HashMap<u32, Local>,
}

/// A context of a segment.
struct Local {
    pads: Option<[u8; 32]>,
    definitions: Option<Definitions>,
    model: Model,
}

/// Something of a segment that may be needed.
enum Piece {
    Upload {
        place: Place,
        len: u64,
        upload: Upload,
        /// The hash of the whole upload, and the pads of its frame.
        id: Option<BlobId>,
        pads: Option<[u8; 32]>,
    },
    Removed(Removal),
    Frame {
        pads: [u8; 32],
        mark: FrameMark,
        readings: BlobId,
    },
    /// Bytes that are no record.
    Damaged(Range<u64>),
}

impl Store {
    /// Gives back the room of removed uploads, in one slice of work, and returns whether there is more to do. Segments of which at least half is
    /// removed are compacted, and a day after a removal all that have something removed. While a backup is made,
    /// nothing is.
    ///
    /// # Errors
    /// A disk or an index that fails. Nothing is lost then.
    pub fn compact(&self) -> Result<bool, StoreError> {
        let mut compaction = lock(&self.compaction);
        let Some(_held) = FileLock::take(&self.directory.join(LOCK))? else {
            return Ok(false);
        };
        let mut current = match compaction.current.take() {
            Some(current) => current,
            None => match self.candidate(&mut compaction)? {
                Some(current) => current,
                None => return Ok(false),
            },
        };
        let number = current.head.number;
        let (pieces, more) = current.read(&self.segments)?;
        if !self.copy(number, pieces)? {
            tracing::error!(
                segment = number,
                "a segment is damaged and stays as it is: uploads in it cannot be read"
            );
            compaction.damaged.push(number);
        } else if more {
            compaction.current = Some(current);
        } else if !self.drop_segment(number)? {
            compaction.damaged.push(number);
        }
        Ok(true)
    }

    /// The next segment to compact.
    fn candidate(&self, compaction: &mut Compaction) -> Result<Option<Current>, StoreError> {
        let mut writing = lock(&self.writing);
        let mut select = writing.index.prepare_cached(
            "SELECT number, head FROM segments WHERE dead > 0 AND (dead >= live OR dead_since <= ?1) ORDER BY number",
        )?;
        let rows = select.query_map([now().saturating_sub(AT_LATEST)], |row| {
            Ok((row.get::<_, u32>(0)?, row.get::<_, Vec<u8>>(1)?))
        })?;
        let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
        drop(select);
        for (number, head) in rows {
            if compaction.damaged.contains(&number) {
                continue;
            }
            let Ok(head) = Head::from_bytes(&head) else {
                compaction.damaged.push(number);
                continue;
            };
            if !self.segments.exists(number) {
                tracing::error!(
                    segment = number,
                    "a segment is gone: its uploads are lost. Uploading them again, or a backup, brings them back"
                );
                compaction.damaged.push(number);
                continue;
            }
            if writing.appender.active() == Some(number) {
                writing.appender.seal();
            }
            return Ok(Some(Current {
                head,
                at: HEAD_BYTES as u64,
                contexts: HashMap::new(),
            }));
        }
        Ok(None)
    }

    /// Copies what is needed of a segment to the end of all. Returns false if an upload that is needed is damaged.
    fn copy(&self, number: u32, pieces: Vec<Piece>) -> Result<bool, StoreError> {
        let others = self.segments.numbers()?.into_iter();
        let oldest = others.filter(|&other| other != number).min();
        lock(&self.writing).append(|addition| {
            for piece in pieces {
                match piece {
                    Piece::Upload {
                        place,
                        len,
                        upload,
                        id,
                        pads,
                    } => {
                        let frame = upload.frame;
                        let is_copied = copy_upload(addition, place, len, upload, id.as_ref())?;
                        if let Some(((pads, mark), id)) = pads.zip(frame).zip(id)
                            && !is_copied
                        {
                            copy_frame(addition, pads, mark, &id)?;
                        }
                    }
                    Piece::Removed(removal) => copy_removal(addition, oldest, &removal)?,
                    Piece::Frame {
                        pads,
                        mark,
                        readings,
                    } => copy_frame(addition, pads, mark, &readings)?,
                    Piece::Damaged(bytes) => {
                        if is_needed(addition.index, number, &bytes)? {
                            return Ok(false);
                        }
                    }
                }
            }
            Ok(true)
        })
    }

    /// Removes a segment, unless something in it is needed after all.
    fn drop_segment(&self, number: u32) -> Result<bool, StoreError> {
        let writing = lock(&self.writing);
        if is_needed(&writing.index, number, &(0..LIMIT * 2))? {
            tracing::error!(
                segment = number,
                "a segment has uploads that could not be moved, and stays"
            );
            return Ok(false);
        }
        let delete = "DELETE FROM segments WHERE number = ?1";
        writing.index.execute(delete, [number])?;
        self.segments.remove(number)?;
        if let Some(&oldest) = self.segments.numbers()?.first() {
            let delete = "DELETE FROM removed WHERE segment < ?1";
            writing.index.execute(delete, [oldest])?;
        }
        tracing::debug!(segment = number, "the room of a segment was given back");
        Ok(true)
    }
}

impl Current {
    /// Reads the next slice, and tells whether there is one behind it.
    fn read(&mut self, segments: &Segments) -> Result<(Vec<Piece>, bool), StoreError> {
        let path = segments.path(self.head.number);
        let mut records = segments.records(self.head, self.at)?;
        let from = self.at;
        let mut pieces = Vec::new();
        let mut copied = 0;
        while copied < COPIED && self.at - from < READ {
            let found = records.next_found().map_err(FileError::io("read", &path))?;
            let Some(found) = found else {
                return Ok((pieces, false));
            };
            self.at = found.at + found.len;
            match found.record {
                Some(Record::Upload(upload)) => {
                    copied += found.len;
                    pieces.push(self.upload(found.at, found.len, upload));
                }
                Some(Record::Removed(removal)) => pieces.push(Piece::Removed(removal)),
                Some(Record::Frame(frame)) => {
                    let local = self.contexts.get(&frame.context);
                    pieces.extend(local.and_then(|local| local.pads).map(|pads| Piece::Frame {
                        pads,
                        mark: frame.mark,
                        readings: BlobId::from_hash(frame.readings),
                    }));
                }
                Some(Record::Context(numbered)) => {
                    let NumberedContext {
                        number,
                        context,
                        model,
                    } = numbered;
                    let local = Local {
                        pads: context.pads,
                        definitions: context.definitions.and_then(Definitions::from_bytes),
                        model,
                    };
                    self.contexts.insert(number, local);
                }
                None => pieces.push(Piece::Damaged(found.at..self.at)),
            }
        }
        Ok((pieces, true))
    }

    fn upload(&self, at: u64, len: u64, upload: Upload) -> Piece {
        let local = self.contexts.get(&upload.context);
        let whole = local.and_then(|local| match upload.is_short {
            true => form::upload_of(local.definitions.as_ref()?, &local.model, &upload.payload)
                .map(|whole| BlobId::of(&whole)),
            false => Some(BlobId::of(&upload.payload)),
        });
        Piece::Upload {
            place: Place {
                segment: self.head.number,
                // Records begin below 2^27.
                offset: u32::try_from(at).unwrap_or(u32::MAX),
            },
            len,
            id: whole,
            pads: local.and_then(|local| local.pads),
            upload,
        }
    }
}

/// Copies an upload if the index has it there, and returns whether it has.
fn copy_upload(
    addition: &mut Addition<'_>,
    place: Place,
    len: u64,
    upload: Upload,
    id: Option<&BlobId>,
) -> Result<bool, StoreError> {
    let found = match id {
        Some(id) => index::find(addition.index, id)?,
        // The context was damaged, and the index has it.
        None => index::of_sequence(addition.index, upload.sequence)?,
    };
    let Some(mut entry) = found.filter(|entry| entry.place == Some(place)) else {
        return Ok(false);
    };
    let context = addition.contexts.get(addition.index, entry.context)?;
    addition
        .batch
        .context(context.number, || context.numbered());
    let (copy, copy_len) = addition.batch.upload(&Upload {
        context: context.number,
        sequence: entry.sequence,
        ..upload
    });
    index::died(addition.index, &entry, addition.now)?;
    let live = Change {
        live: as_i64(copy_len),
        dead: 0,
    };
    index::count(addition.index, copy.segment, live, addition.now)?;
    debug_assert_eq!(entry.len, len);
    (entry.place, entry.len) = (Some(copy), copy_len);
    index::set_place(addition.index, &entry)?;
    Ok(true)
}

/// Copies a removal if an older segment may have what it removes. `oldest` is the oldest one but that which is compacted.
fn copy_removal(
    addition: &mut Addition<'_>,
    oldest: Option<u32>,
    removal: &Removal,
) -> Result<(), StoreError> {
    let mut select = addition
        .index
        .prepare_cached("SELECT segment FROM removed WHERE id = ?1 AND sequence = ?2")?;
    let segment = select.query_row(params![removal.id, removal.sequence], |row| {
        row.get::<_, u32>(0)
    });
    let segment = segment.optional()?;
    if segment
        .zip(oldest)
        .is_some_and(|(segment, oldest)| oldest <= segment)
    {
        addition.batch.record(&Record::Removed(*removal));
    }
    Ok(())
}

/// Keeps a frame whose upload is gone.
fn copy_frame(
    addition: &mut Addition<'_>,
    pads: [u8; 32],
    mark: FrameMark,
    readings: &BlobId,
) -> Result<(), StoreError> {
    let context = Context {
        pads: Some(pads),
        ..Context::default()
    };
    let context = addition
        .contexts
        .of(addition.index, &context, Model::default)?;
    addition
        .batch
        .context(context.number, || context.numbered());
    addition.batch.record(&Record::Frame(UsedFrame {
        context: context.number,
        mark,
        readings: *readings.as_bytes(),
    }));
    Ok(())
}

/// Returns whether the index has an upload there in a segment.
fn is_needed(index: &Connection, segment: u32, bytes: &Range<u64>) -> Result<bool, StoreError> {
    let place = |offset: u64| {
        Place { segment, offset: 0 }
            .to_i64()
            .saturating_add(as_i64(offset))
    };
    let mut select =
        index.prepare_cached("SELECT 1 FROM uploads WHERE place >= ?1 AND place < ?2")?;
    Ok(select.exists(params![place(bytes.start), place(bytes.end)])?)
}
