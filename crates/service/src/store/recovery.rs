//! What a start does: it adds to the index what the segments have and the index does not know, which is everything if the index is
//! lost, and cuts off what a crash has left half-written.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use tfhe_sbc_transport::BlobId;

use super::commits::Writing;
use super::index::{self, Change, Contexts, Entry, Known};
use super::migration::has_table;
use super::pads::{self, ArrivingFrame};
use super::segments::record::{Found, HEAD_BYTES, Head, Record, Removal, Upload};
use super::segments::{Appender, Place, Segments};
use super::{StoreError, as_i64, now};

/// What was found in the segments that the index did not know.
#[derive(Debug, Clone, Copy, Default)]
struct Recovered {
    uploads: u64,
    removals: u64,
    /// The bytes that are no records.
    damaged: u64,
}

/// The table of an index that was restored from a backup: segments up to this number grow no more, because the store of the backup may
/// have gone on with them in another way.
pub(super) const RESTORED: &str = "
    DROP TABLE IF EXISTS restored;
    CREATE TABLE restored (number INTEGER NOT NULL) STRICT;
    INSERT INTO restored SELECT ifnull(max(number), 0) FROM segments;
";

/// The number of records after which the log says how far it is.
const PROGRESS: u64 = 20_000;

/// Brings the index up to date, and finds the place where the next upload goes. `pads` is the directory of files of pads if the
/// index does not know them.
pub(super) fn recover(writing: &mut Writing, pads: Option<&Path>) -> Result<(), StoreError> {
    if let Some(pads) = pads {
        pads::relist(&writing.index, pads)?;
    }
    let segments = Arc::clone(&writing.segments);
    let numbers = segments.numbers()?;
    let last = numbers.last().copied();
    let known = known_segments(&writing.index)?;
    let mut all = Recovered::default();
    let mut appendable = None;
    for &number in &numbers {
        let in_index = known.get(&number);
        let Some(head) = segments.head(number)?.or(in_index.map(|known| known.0)) else {
            let len = segments.len(number)?;
            if Some(number) == last && len <= HEAD_BYTES as u64 {
                // A crash came while it was begun, and nothing is in it.
                segments.remove(number)?;
            } else {
                tracing::error!(
                    segment = number,
                    bytes = len,
                    "the head of a segment is damaged, and the index does not know it: what is in it cannot be read"
                );
            }
            continue;
        };
        segments.know(head);
        let applied = in_index.map_or(HEAD_BYTES as u64, |known| known.1);
        let len = segments.len(number)?;
        if len < applied {
            tracing::error!(
                segment = number,
                bytes = len,
                expected = applied,
                "a segment is shorter than it was: the uploads at its end are lost. Uploading them again, or a backup, brings them back"
            );
            continue;
        }
        let mut end = len;
        if len > applied || in_index.is_none() {
            let transaction = writing.index.transaction()?;
            let mut segment = Segment {
                index: &transaction,
                segments: &segments,
                shared: &writing.contexts,
                head,
                contexts: HashMap::new(),
                now: now(),
            };
            end = segment.read(applied, Some(number) == last, &mut all)?;
            transaction.commit()?;
            if end < len {
                tracing::info!(
                    segment = number,
                    bytes = len - end,
                    "cut off the end of a segment that a crash had interrupted"
                );
                segments.cut(number, end)?;
            }
        }
        if Some(number) == last && end < super::segments::LIMIT {
            appendable = Some(head);
        }
    }
    if pads.is_some() && all.uploads > 0 {
        tracing::warn!(
            uploads = all.uploads,
            "the index was made anew: uploads in the segments are listed again"
        );
    } else if all.uploads + all.removals > 0 {
        tracing::info!(
            uploads = all.uploads,
            removals = all.removals,
            "the index was older than the segments, and knows them now"
        );
    }
    if all.damaged > 0 {
        tracing::error!(
            bytes = all.damaged,
            "segments are damaged: some uploads are lost unless they are uploaded again or restored from a backup"
        );
    }
    let highest = known.keys().chain(&numbers).max().copied().unwrap_or(0);
    let mut appender = Appender::new(highest.saturating_add(1));
    let restored = match has_table(&writing.index, "restored")? {
        true => {
            let select = "SELECT number FROM restored";
            writing.index.query_row(select, [], |row| row.get(0))?
        }
        false => 0,
    };
    if let Some(head) = appendable.filter(|head| head.number > restored) {
        appender.resume(&segments, head)?;
    }
    writing.appender = appender;
    writing.next_sequence = index::next_sequence(&writing.index)?;
    Ok(())
}

/// The segments that the index knows: their heads, and how far it knows them.
fn known_segments(index: &Connection) -> Result<HashMap<u32, (Head, u64)>, StoreError> {
    let mut select = index.prepare("SELECT number, head, applied FROM segments")?;
    let rows = select.query_map([], |row| {
        let applied: i64 = row.get(2)?;
        let applied = u64::try_from(applied).unwrap_or(0);
        Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?, applied))
    })?;
    let mut known = HashMap::new();
    for row in rows {
        let (number, head, applied) = row?;
        if let Ok(head) = Head::from_bytes(&head) {
            known.insert(number, (head, applied));
        }
    }
    Ok(known)
}

/// A segment whose records are added to the index.
struct Segment<'a> {
    index: &'a Connection,
    segments: &'a Segments,
    shared: &'a Contexts,
    head: Head,
    /// The contexts by their numbers in the segment.
    contexts: HashMap<u32, Arc<Known>>,
    now: i64,
}

impl Segment<'_> {
    /// Adds the records from a place on, and returns the end of the last. Damage at the end of the last segment is what a crash has
    /// interrupted.
    fn read(&mut self, from: u64, is_last: bool, all: &mut Recovered) -> Result<u64, StoreError> {
        let path = self.segments.path(self.head.number);
        let failed = || tfhe_sbc_transport::files::FileError::io("read", &path);
        index::applied(self.index, &self.head, from)?;
        let mut records = self.segments.records(self.head, from)?;
        let mut end = from.max(HEAD_BYTES as u64);
        let mut torn = 0;
        while let Some(found) = records.next_found().map_err(failed())? {
            let Found { at, len, record } = found;
            match record {
                Some(record) => {
                    all.damaged += std::mem::take(&mut torn);
                    end = at + len;
                    self.add(record, at, len, all)?;
                }
                None => torn = len,
            }
        }
        if torn > 0 && !is_last {
            all.damaged += torn;
            end += torn;
        }
        index::applied(self.index, &self.head, end)?;
        Ok(end)
    }

    fn add(
        &mut self,
        record: Record,
        at: u64,
        len: u64,
        all: &mut Recovered,
    ) -> Result<(), StoreError> {
        match record {
            Record::Context(numbered) => {
                let known = self
                    .shared
                    .exactly(self.index, &numbered.context, &numbered.model)?;
                self.contexts.insert(numbered.number, known);
            }
            Record::Upload(upload) => {
                let known = self.context(upload.context)?;
                match known.zip(u32::try_from(at).ok()) {
                    Some((known, offset)) => {
                        let segment = self.head.number;
                        let place = Place { segment, offset };
                        self.upload(&known, upload, place, len, all)?;
                    }
                    None => all.damaged += len,
                }
            }
            Record::Removed(removal) => {
                self.removal(&removal)?;
                all.removals += 1;
            }
            Record::Frame(frame) => {
                let known = self.context(frame.context)?;
                let readings = BlobId::from_hash(frame.readings);
                self.frame(known.as_deref(), frame.mark, &readings)?;
            }
        }
        Ok(())
    }

    /// The context of this number in the segment; an index that is not new knows those before the place where it ended.
    fn context(&self, number: u32) -> Result<Option<Arc<Known>>, StoreError> {
        if let Some(known) = self.contexts.get(&number) {
            return Ok(Some(Arc::clone(known)));
        }
        match self.shared.get(self.index, number) {
            Ok(known) => Ok(Some(known)),
            Err(StoreError::Index(rusqlite::Error::QueryReturnedNoRows)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn upload(
        &self,
        known: &Known,
        upload: Upload,
        place: Place,
        len: u64,
        all: &mut Recovered,
    ) -> Result<(), StoreError> {
        let frame = upload.frame;
        let mut entry = Entry {
            sequence: upload.sequence,
            id: BlobId::of(&[]),
            place: Some(place),
            len,
            bytes: 0,
            created_at: upload.created_at,
            context: known.number,
            rows: upload.rows,
            elements: upload.elements,
            span: upload.span,
        };
        let is_undescribed = upload.is_undescribed;
        let Some(bytes) = known.upload(upload) else {
            all.damaged += len;
            return Ok(());
        };
        (entry.id, entry.bytes) = (BlobId::of(&bytes), bytes.len() as u64);
        drop(bytes);
        if let Some(mark) = frame {
            self.frame(Some(known), mark, &entry.id)?;
        }
        let is_live = self.is_kept(&entry)? && self.put(&mut entry)?;
        let signed = as_i64(len);
        let change = match is_live {
            true => Change {
                live: signed,
                dead: 0,
            },
            false => Change {
                live: 0,
                dead: signed,
            },
        };
        index::count(self.index, place.segment, change, self.now)?;
        if is_live {
            if is_undescribed {
                index::set_undescribed(self.index, entry.sequence)?;
            }
            self.known_of(&entry)?.stretch(self.index, entry.span)?;
            all.uploads += 1;
            if all.uploads.is_multiple_of(PROGRESS) {
                tracing::info!(
                    uploads = all.uploads,
                    "reading segments that the index does not know"
                );
            }
        }
        Ok(())
    }

    fn known_of(&self, entry: &Entry) -> Result<Arc<Known>, StoreError> {
        self.shared.get(self.index, entry.context)
    }

    /// Returns whether an upload was not removed since it was stored.
    fn is_kept(&self, entry: &Entry) -> Result<bool, StoreError> {
        let mut select = self
            .index
            .prepare_cached("SELECT sequence FROM removed WHERE id = ?1")?;
        let removed = select.query_row([entry.id.as_bytes()], |row| row.get::<_, i64>(0));
        Ok(removed
            .optional()?
            .is_none_or(|sequence| sequence < entry.sequence))
    }

    /// Puts an upload into the index, unless that has a later record of the same content.
    fn put(&self, entry: &mut Entry) -> Result<bool, StoreError> {
        let Some(found) = index::find(self.index, &entry.id)? else {
            // Two uploads have one sequence if an index that was lost had been older than its segments.
            let mut select = self
                .index
                .prepare_cached("SELECT 1 FROM uploads WHERE sequence = ?1")?;
            if select.exists([entry.sequence])? {
                entry.sequence = index::next_sequence(self.index)?;
            }
            entry.insert(self.index)?;
            return Ok(true);
        };
        if found.sequence > entry.sequence {
            return Ok(false);
        }
        if found.sequence < entry.sequence {
            index::died(self.index, &found, self.now)?;
            index::delete(self.index, found.sequence)?;
            entry.insert(self.index)?;
            return Ok(true);
        }
        let is_later = found
            .place
            .is_none_or(|place| Some(place) < entry.place || !self.segments.exists(place.segment));
        if is_later {
            index::died(self.index, &found, self.now)?;
            index::set_place(self.index, entry)?;
        }
        Ok(is_later)
    }

    fn removal(&self, removal: &Removal) -> Result<(), StoreError> {
        let id = BlobId::from_hash(removal.id);
        let found = index::find(self.index, &id)?;
        let found = found.filter(|entry| entry.sequence <= removal.sequence);
        let place = found.as_ref().and_then(|entry| entry.place);
        let segment = place.map_or(self.head.number, |place| place.segment);
        note_removal(self.index, removal, segment)?;
        if let Some(entry) = found {
            index::died(self.index, &entry, self.now)?;
            index::delete(self.index, entry.sequence)?;
        }
        Ok(())
    }

    /// Records that a frame has arrived, if its pads are known.
    fn frame(
        &self,
        known: Option<&Known>,
        mark: super::segments::record::FrameMark,
        readings: &BlobId,
    ) -> Result<(), StoreError> {
        let Some(pads) = known.and_then(|known| known.context.pads) else {
            return Ok(());
        };
        let Some(pads) = pads::number_of(self.index, &BlobId::from_hash(pads))? else {
            return Ok(());
        };
        let frame = ArrivingFrame {
            pads,
            counter: mark.counter,
            tag: mark.tag,
        };
        match pads::record(self.index, &frame, readings) {
            // The first counts, as it did when it arrived.
            Err(StoreError::PadUsedTwice { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Notes that an upload was removed, whose records are in segments up to this one.
pub(super) fn note_removal(
    index: &Connection,
    removal: &Removal,
    segment: u32,
) -> rusqlite::Result<()> {
    let mut insert = index.prepare_cached(
        "INSERT INTO removed (id, sequence, segment) VALUES (?1, ?2, ?3)
         ON CONFLICT (id) DO UPDATE SET sequence = max(sequence, excluded.sequence), segment = max(segment, excluded.segment)",
    )?;
    insert.execute(params![removal.id, removal.sequence, segment])?;
    Ok(())
}
