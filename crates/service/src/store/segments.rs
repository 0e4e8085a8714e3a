//! Segments: the files that uploads are packed into.
//!
//! A segment only grows, at its end, until it has `LIMIT` bytes; then the next one begins. What is appended together is flushed together, before
//! the index learns of it. A crash leaves at most a torn end, which was acknowledged to nobody and is cut off at the
//! next start. Numbers of segments rise and are used once.

pub mod record;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_upload::short::Definitions;

use super::commits::lock;
use super::{StoreError, private_file};
use record::{HEAD_BYTES, Head, HeadError, NumberedContext, Record, Records, Upload};

/// The bytes from which on a segment does not grow any more.
pub(super) const LIMIT: u64 = 1 << 26;
/// The bits of the offset of a record in its segment: records begin below [`LIMIT`].
const OFFSET_BITS: u32 = 27;

const EXTENSION: &str = "seg";

/// Where a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) segment: u32,
    pub(super) offset: u32,
}

impl Place {
    /// The number that the index has for it. Later places have larger numbers.
    pub(super) fn to_i64(self) -> i64 {
        i64::from(self.segment) << OFFSET_BITS | i64::from(self.offset)
    }

    pub(super) fn from_i64(number: i64) -> Option<Self> {
        let offset = number & ((1 << OFFSET_BITS) - 1);
        Some(Self {
            segment: u32::try_from(number >> OFFSET_BITS).ok()?,
            offset: u32::try_from(offset).ok()?,
        })
    }
}

/// The files of the segments of a store.
pub(super) struct Segments {
    directory: PathBuf,
    heads: Mutex<HashMap<u32, Head>>,
}

/// What a segment's file has at a place.
#[derive(Debug)]
pub(super) enum Lookup {
    Record(Record),
    /// Other bytes.
    Damaged,
    /// The file is gone.
    Gone,
}

impl Segments {
    /// Opens the directory, which is made (mode 0700) if it does not exist.
    pub(super) fn open(directory: PathBuf) -> Result<Self, FileError> {
        files::create_private_directory(&directory)?;
        Ok(Self::of(directory))
    }

    pub(super) fn of(directory: PathBuf) -> Self {
        Self {
            directory,
            heads: Mutex::default(),
        }
    }

    pub(super) fn path(&self, number: u32) -> PathBuf {
        self.directory.join(name(number))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the numbers of the segments that there are, in their order.
    pub(super) fn numbers(&self) -> Result<Vec<u32>, FileError> {
        let failed = || FileError::io("list", &self.directory);
        let mut numbers = Vec::new();
        for file in fs::read_dir(&self.directory).map_err(failed())? {
            let name = file.map_err(failed())?.file_name();
            numbers.extend(name.to_str().and_then(number_of));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(super) fn exists(&self, number: u32) -> bool {
        self.path(number).exists()
    }

    /// Has a head count for a segment, as the index knows it.
    pub(super) fn know(&self, head: Head) {
        lock(&self.heads).insert(head.number, head);
    }

    fn known(&self, number: u32) -> Option<Head> {
        lock(&self.heads).get(&number).copied()
    }

    /// Returns the head of a segment; `None` if it is damaged.
    ///
    /// # Errors
    /// A segment of a newer version, and a file that cannot be read.
    pub(super) fn head(&self, number: u32) -> Result<Option<Head>, StoreError> {
        if let Some(head) = self.known(number) {
            return Ok(Some(head));
        }
        let path = self.path(number);
        let file = File::open(&path).map_err(FileError::io("open", &path))?;
        self.head_in(number, &file)
    }

    /// Does the same as [`head`](Self::head) with the open file of the segment, which may have been removed
    /// since.
    fn head_in(&self, number: u32, mut file: &File) -> Result<Option<Head>, StoreError> {
        if let Some(head) = self.known(number) {
            return Ok(Some(head));
        }
        let path = self.path(number);
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.take(HEAD_BYTES as u64).read_to_end(&mut bytes))
            .map_err(FileError::io("read", &path))?;
        match Head::from_bytes(&bytes) {
            Ok(head) if head.number == number => {
                self.know(head);
                Ok(Some(head))
            }
            Ok(_) | Err(HeadError::Damaged) => Ok(None),
            Err(HeadError::Version(found)) => Err(StoreError::NewerSegment { path, found }),
        }
    }

    /// Returns the record at a place.
    pub(super) fn read(&self, place: Place, len: u64) -> Result<Lookup, StoreError> {
        let path = self.path(place.segment);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Lookup::Gone),
            Err(error) => return Err(FileError::io("open", &path)(error).into()),
        };
        // From here on the file can be read, even if another thread removes it.
        let read = |mut file: &File| -> io::Result<Vec<u8>> {
            file.seek(SeekFrom::Start(u64::from(place.offset)))?;
            let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
            file.take(len).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read(&file).map_err(FileError::io("read", &path))?;
        let Some(head) = self.head_in(place.segment, &file)? else {
            return Ok(Lookup::Damaged);
        };
        Ok(Record::read(&head, &bytes).map_or(Lookup::Damaged, Lookup::Record))
    }

    /// Returns the length of a segment.
    pub(super) fn len(&self, number: u32) -> Result<u64, FileError> {
        let path = self.path(number);
        let metadata = fs::metadata(&path).map_err(FileError::io("find", &path))?;
        Ok(metadata.len())
    }

    /// Returns the records from a place on.
    pub(super) fn records(&self, head: Head, from: u64) -> Result<Records<File>, FileError> {
        let path = self.path(head.number);
        let open = || -> io::Result<Records<File>> {
            let mut file = File::open(&path)?;
            let end = file.metadata()?.len();
            let from = from.max(HEAD_BYTES as u64);
            file.seek(SeekFrom::Start(from))?;
            Ok(Records::new(head, file, from, end))
        };
        open().map_err(FileError::io("read", &path))
    }

    /// Cuts a segment off.
    pub(super) fn cut(&self, number: u32, len: u64) -> Result<(), FileError> {
        let path = self.path(number);
        let file = OpenOptions::new().write(true).open(&path);
        file.and_then(|file| {
            file.set_len(len)?;
            file.sync_all()
        })
        .map_err(FileError::io("cut", &path))
    }

    /// Removes the file of a segment, which may be gone.
    pub(super) fn remove(&self, number: u32) -> Result<(), FileError> {
        let path = self.path(number);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(FileError::io("remove", &path)(error));
            }
            _ => {}
        }
        lock(&self.heads).remove(&number);
        files::flush_directory(&self.directory)
    }
}

/// Returns the uploads in the segments of a store, in the order in which they were stored, each with its name. Another process may be using the store: this looks
/// at its files and at nothing else.
///
/// # Errors
/// Files that cannot be read.
pub fn uploads_in(store: &Path) -> Result<Vec<(BlobId, Vec<u8>)>, StoreError> {
    let segments = Segments::of(store.join(super::SEGMENTS));
    if !segments.directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut uploads = BTreeMap::new();
    let mut removed = HashMap::new();
    for number in segments.numbers()? {
        let path = segments.path(number);
        // A segment that is gone was copied before.
        let Some(head) = segments.head(number).ok().flatten() else {
            continue;
        };
        let Ok(mut records) = segments.records(head, 0) else {
            continue;
        };
        let mut contexts = HashMap::new();
        while let Some(found) = records.next_found().map_err(FileError::io("read", &path))? {
            match found.record {
                Some(Record::Context(numbered)) => {
                    contexts.insert(numbered.number, numbered);
                }
                Some(Record::Upload(upload)) => {
                    let sequence = upload.sequence;
                    let context = contexts.get(&upload.context);
                    let bytes = context.and_then(|context| whole(context, upload));
                    uploads.extend(bytes.map(|bytes| (sequence, (BlobId::of(&bytes), bytes))));
                }
                Some(Record::Removed(removal)) => {
                    let last = removed.entry(removal.id).or_insert(removal.sequence);
                    *last = (*last).max(removal.sequence);
                }
                Some(Record::Frame(_)) | None => {}
            }
        }
    }
    uploads.retain(|sequence, (id, _)| {
        let last = removed.get(id.as_bytes());
        last.is_none_or(|last| last < sequence)
    });
    Ok(uploads.into_values().collect())
}

/// Returns the whole upload of a record.
fn whole(context: &NumberedContext, upload: Upload) -> Option<Vec<u8>> {
    match upload.is_short {
        false => Some(upload.payload),
        true => {
            let definitions = Definitions::from_bytes(context.context.definitions.clone()?)?;
            super::form::upload_of(&definitions, &context.model, &upload.payload)
        }
    }
}

/// The name of a segment's file.
pub(super) fn name(number: u32) -> String {
    format!("{number:08}.{EXTENSION}")
}

/// Returns the number of the segment whose file has this name.
pub(super) fn number_of(name: &str) -> Option<u32> {
    let (number, extension) = name.split_once('.')?;
    let is_ours = extension == EXTENSION && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok().filter(|_| is_ours)?;
    (self::name(number) == name).then_some(number)
}

/// The segment that grows.
struct Active {
    file: File,
    head: Head,
    len: u64,
    /// The contexts that are in it since it was opened.
    contexts: HashSet<u32>,
}

/// The end of the segments, where records are appended.
pub(super) struct Appender {
    active: Option<Active>,
    /// The number of the next segment.
    next: u32,
}

/// Records that are appended together, all of them or none.
pub(super) struct Batch {
    head: Head,
    start: u64,
    bytes: Vec<u8>,
    contexts: HashSet<u32>,
    new_contexts: Vec<u32>,
}

impl Batch {
    /// Appends a context, unless the segment has it.
    pub(super) fn context(&mut self, number: u32, context: impl FnOnce() -> NumberedContext) {
        if self.contexts.insert(number) {
            self.new_contexts.push(number);
            Record::Context(context()).write(&self.head, &mut self.bytes);
        }
    }

    /// Appends an upload, and returns where it will be, and its length.
    pub(super) fn upload<P: AsRef<[u8]>>(&mut self, upload: &Upload<P>) -> (Place, u64) {
        let begin = self.bytes.len();
        upload.write(&self.head, &mut self.bytes);
        self.place_from(begin)
    }

    /// Appends a record that refers to contexts of the segment only, and returns where it will be, and its length.
    pub(super) fn record(&mut self, record: &Record) -> (Place, u64) {
        let begin = self.bytes.len();
        record.write(&self.head, &mut self.bytes);
        self.place_from(begin)
    }

    fn place_from(&self, begin: usize) -> (Place, u64) {
        let place = Place {
            segment: self.head.number,
            // Below twice the limit, for a batch begins below it and has less.
            offset: u32::try_from(self.start + begin as u64).unwrap_or(u32::MAX),
        };
        (place, (self.bytes.len() - begin) as u64)
    }

    /// The bytes so far.
    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The segment, and where its end will be.
    pub(super) fn end(&self) -> (u32, u64) {
        (self.head.number, self.start + self.len())
    }

    /// The head of the segment.
    pub(super) fn head(&self) -> Head {
        self.head
    }
}

impl Appender {
    /// An appender whose first segment has this number or a larger one.
    pub(super) fn new(next: u32) -> Self {
        Self { active: None, next }
    }

    /// Goes on with a segment, which ends with a whole record.
    pub(super) fn resume(&mut self, segments: &Segments, head: Head) -> Result<(), FileError> {
        let path = segments.path(head.number);
        let open = || -> io::Result<(File, u64)> {
            let mut file = OpenOptions::new().write(true).open(&path)?;
            let len = file.seek(SeekFrom::End(0))?;
            Ok((file, len))
        };
        let (file, len) = open().map_err(FileError::io("open", &path))?;
        self.active = Some(Active {
            file,
            head,
            len,
            contexts: HashSet::new(),
        });
        Ok(())
    }

    /// The number of the segment that grows, if one does.
    pub(super) fn active(&self) -> Option<u32> {
        self.active.as_ref().map(|active| active.head.number)
    }

    /// Has the next records begin another segment.
    pub(super) fn seal(&mut self) {
        self.active = None;
    }

    /// Begins a batch, in a new segment if the last one is full.
    pub(super) fn begin(
        &mut self,
        segments: &Segments,
        sequence: i64,
    ) -> Result<Batch, StoreError> {
        if self
            .active
            .as_ref()
            .is_none_or(|active| active.len >= LIMIT)
        {
            self.active = Some(self.create(segments, sequence)?);
        }
        let Some(active) = &self.active else {
            return Err(StoreError::NoSegment);
        };
        Ok(Batch {
            head: active.head,
            start: active.len,
            bytes: Vec::new(),
            contexts: active.contexts.clone(),
            new_contexts: Vec::new(),
        })
    }

    fn create(&mut self, segments: &Segments, sequence: i64) -> Result<Active, StoreError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(|_| StoreError::NoRandomness)?;
        let head = Head {
            number: self.next,
            sequence,
            seconds: now.map_or(0, |now| now.as_secs().cast_signed()),
            nonce,
        };
        self.next = self.next.checked_add(1).ok_or(StoreError::NoSegment)?;
        let path = segments.path(head.number);
        let mut file = private_file(&path)?;
        let written = (|| {
            file.set_len(0)?;
            file.write_all(&head.to_bytes())?;
            file.sync_all()
        })();
        if let Err(error) = written {
            // It holds nothing.
            let _ = fs::remove_file(&path);
            return Err(FileError::io("write", &path)(error).into());
        }
        files::flush_directory(segments.directory())?;
        segments.know(head);
        Ok(Active {
            file,
            head,
            len: HEAD_BYTES as u64,
            contexts: HashSet::new(),
        })
    }

    /// Writes a batch. When this returns it is on disk.
    pub(super) fn write(&mut self, segments: &Segments, batch: &Batch) -> Result<(), StoreError> {
        let Some(active) = self
            .active
            .as_mut()
            .filter(|active| active.len == batch.start)
        else {
            return Err(StoreError::NoSegment);
        };
        let written = active.file.write_all(&batch.bytes);
        match written.and_then(|()| active.file.sync_data()) {
            Ok(()) => {
                active.len += batch.len();
                active.contexts.extend(&batch.new_contexts);
                Ok(())
            }
            Err(error) => {
                let path = segments.path(active.head.number);
                self.cut_back(batch);
                Err(FileError::io("write", &path)(error).into())
            }
        }
    }

    /// Takes back a batch that the index did not take.
    pub(super) fn undo(&mut self, batch: &Batch) {
        self.cut_back(batch);
    }

    /// Cuts the segment where a batch began. If that fails, what the disk has behind it is not known, and nothing is appended there
    /// any more.
    fn cut_back(&mut self, batch: &Batch) {
        let Some(mut active) = self.active.take() else {
            return;
        };
        let cut = (|| {
            active.file.set_len(batch.start)?;
            active.file.sync_all()?;
            active.file.seek(SeekFrom::Start(batch.start))
        })();
        match cut {
            Ok(_) => {
                active.len = batch.start;
                active
                    .contexts
                    .retain(|number| !batch.new_contexts.contains(number));
                self.active = Some(active);
            }
            Err(error) => {
                tracing::warn!(%error, segment = active.head.number, "the end of a segment that failed cannot be cut off");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_segment_has_its_head_after_its_removal() {
        let directory = tempfile::tempdir().unwrap();
        let segments = Segments::open(directory.path().join("segments")).unwrap();
        let mut appender = Appender::new(7);
        let batch = appender.begin(&segments, 1).unwrap();
        appender.write(&segments, &batch).unwrap();
        let file = File::open(segments.path(7)).unwrap();
        segments.remove(7).unwrap();
        let head = segments.head_in(7, &file).unwrap();
        assert_eq!(head, Some(batch.head()));
        assert!(segments.head(8).is_err());
    }
}
