//! Commits of several uploads at once.
//!
//! A commit waits for the disk, whatever its size. So an upload that comes while a commit is under
//! way leaves its entry in a queue. When the commit is done, the one that waits longest commits the whole
//! queue: the records of all of them go to the segment in one piece, which is flushed once, and then to the index. The more
//! uploads come, the more of them share a wait.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::short::Definitions;

use super::form::Short;
use super::index::{self, Change, Contexts, Entry, Known};
use super::pads::{self, ArrivingFrame};
use super::segments::record::{Context, FrameMark, Model, Record, SpanMs, Upload, UsedFrame};
use super::segments::{Appender, Batch, Segments};
use super::{StoreError, Stored, StoredReadings, as_i64, definitions, now};

/// The most entries of one transaction.
const MAXIMUM: usize = 256;

/// The bytes of an upload in a segment.
pub(super) enum Form<'a> {
    /// Without what its context has.
    Short(Short),
    /// As it came.
    Whole(Cow<'a, [u8]>),
}

impl<'a> Form<'a> {
    pub(super) fn of(upload: &'a [u8]) -> Self {
        match Short::of(upload) {
            Some(short) => Self::Short(short),
            None => Self::Whole(Cow::Borrowed(upload)),
        }
    }

    fn definitions(&self) -> Option<&Definitions> {
        match self {
            Self::Short(short) => Some(&short.definitions),
            Self::Whole(_) => None,
        }
    }

    /// What later uploads in the context are compared with, if this is the first.
    fn model(&self) -> Model {
        match self {
            Self::Short(short) => short.model(),
            Self::Whole(_) => Model::default(),
        }
    }

    fn is_short(&self) -> bool {
        matches!(self, Self::Short(_))
    }

    /// The bytes, in their context.
    fn payload(&self, known: &Known) -> Cow<'_, [u8]> {
        match self {
            Self::Short(short) => Cow::Owned(short.payload(&known.model)),
            Self::Whole(bytes) => Cow::Borrowed(bytes),
        }
    }
}

/// An upload that is to be stored.
pub(super) struct NewEntry<'a> {
    pub(super) id: BlobId,
    pub(super) bytes: u64,
    pub(super) form: Form<'a>,
    pub(super) uploader: String,
    pub(super) summary: UploadSummary,
    /// The definitions to keep for the uploader.
    pub(super) definitions: Option<Definitions>,
    /// The time at which it was stored, in seconds since 1970; now if there is none.
    pub(super) created_at: Option<i64>,
    /// The place in the order of all; the next one if there is none.
    pub(super) sequence: Option<i64>,
    /// True if span and key are not known.
    pub(super) is_undescribed: bool,
    /// The frame that the upload was made of, and the file of its pads.
    pub(super) frame: Option<(ArrivingFrame, BlobId)>,
    /// True if the copy that the index knows is damaged or lost.
    pub(super) repairs: bool,
}

impl NewEntry<'_> {
    /// Returns whether its bytes are too many to be copied.
    fn is_large(&self) -> bool {
        matches!(&self.form, Form::Whole(bytes) if bytes.len() > LARGE)
    }

    /// Returns the entry with bytes of its own.
    fn into_owned(self) -> NewEntry<'static> {
        NewEntry {
            id: self.id,
            bytes: self.bytes,
            form: match self.form {
                Form::Short(short) => Form::Short(short),
                Form::Whole(bytes) => Form::Whole(Cow::Owned(bytes.into_owned())),
            },
            uploader: self.uploader,
            summary: self.summary,
            definitions: self.definitions,
            created_at: self.created_at,
            sequence: self.sequence,
            is_undescribed: self.is_undescribed,
            frame: self.frame,
            repairs: self.repairs,
        }
    }

    fn context(&self) -> Context {
        Context {
            uploader: self.uploader.clone(),
            columns: self.summary.columns.clone(),
            key: self.summary.key.clone(),
            epoch: self.summary.epoch,
            pads: self.frame.as_ref().map(|(_, pads)| *pads.as_bytes()),
            definitions: self
                .form
                .definitions()
                .map(|definitions| definitions.as_bytes().to_vec()),
        }
    }

    fn span(&self) -> Option<SpanMs> {
        self.summary.span.map(|span| SpanMs {
            first: span.first.unix_ms(),
            last: span.last.unix_ms(),
        })
    }
}

/// The bytes above which an upload is not copied into the queue, and has a commit of its own.
const LARGE: usize = 1 << 16;

type Committed = (StoredReadings, Stored);

/// The state of an entry.
enum State {
    Waiting(NewEntry<'static>),
    /// It is its turn to commit the queue.
    Leading(NewEntry<'static>),
    /// Its transaction failed, perhaps because of another entry: it is tried by itself.
    Alone(NewEntry<'static>),
    Done(Result<Committed, StoreError>),
    Taken,
}

/// An entry that waits.
struct Slot {
    state: Mutex<State>,
    changed: Condvar,
}

impl Slot {
    /// Waits until there is something to do, and takes it.
    fn wait(&self) -> State {
        let mut state = lock(&self.state);
        while matches!(*state, State::Waiting(_)) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::replace(&mut *state, State::Taken)
    }

    fn finish(&self, done: Result<Committed, StoreError>) {
        *lock(&self.state) = State::Done(done);
        self.changed.notify_one();
    }

    /// Turns an entry that waits into something else.
    fn turn(&self, into: impl FnOnce(NewEntry<'static>) -> State) {
        let mut state = lock(&self.state);
        *state = match std::mem::replace(&mut *state, State::Taken) {
            State::Waiting(new) => into(new),
            other => other,
        };
        self.changed.notify_one();
    }
}

/// The end of the segments, and the index. Whoever has both may change the store.
pub(super) struct Writing {
    pub(super) index: Connection,
    pub(super) appender: Appender,
    pub(super) next_sequence: i64,
    pub(super) segments: Arc<Segments>,
    pub(super) contexts: Arc<Contexts>,
}

impl Writing {
    /// Does something to the index, and appends records to the segments: all of it or, if something fails, nothing. When this returns the
    /// records are on disk.
    pub(super) fn append<T>(
        &mut self,
        work: impl FnOnce(&mut Addition<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Self {
            index,
            appender,
            next_sequence,
            segments,
            contexts,
        } = self;
        let transaction = index.transaction()?;
        let batch = appender.begin(segments, *next_sequence)?;
        let (_, start) = batch.end();
        let mut addition = Addition {
            index: &transaction,
            batch,
            next_sequence: *next_sequence,
            contexts,
            now: now(),
        };
        let appended = (|| {
            index::applied(&transaction, &addition.batch.head(), start)?;
            let done = work(&mut addition)?;
            let (_, end) = addition.batch.end();
            if end > start {
                index::applied(&transaction, &addition.batch.head(), end)?;
                appender.write(segments, &addition.batch)?;
            }
            Ok(done)
        })();
        let Addition {
            batch,
            next_sequence: next,
            ..
        } = addition;
        let committed = appended.and_then(|done| match transaction.commit() {
            Ok(()) => Ok(done),
            Err(error) => {
                appender.undo(&batch);
                Err(error.into())
            }
        });
        match committed {
            Ok(_) => *next_sequence = next,
            Err(_) => contexts.clear(),
        }
        committed
    }
}

/// What is added in one commit.
pub(super) struct Addition<'a> {
    pub(super) index: &'a Transaction<'a>,
    pub(super) batch: Batch,
    pub(super) next_sequence: i64,
    pub(super) contexts: &'a Contexts,
    pub(super) now: i64,
}

impl Addition<'_> {
    /// Adds an upload, unless it is there.
    pub(super) fn insert(&mut self, new: &NewEntry<'_>) -> Result<Committed, StoreError> {
        let is_new_frame = match &new.frame {
            Some((frame, _)) => pads::record(self.index, frame, &new.id)?,
            None => false,
        };
        if let Some(kept) = &new.definitions {
            definitions::keep(self.index, &new.uploader, kept)?;
        }
        let found = index::find(self.index, &new.id)?;
        let Some(found) = found else {
            let context = self
                .contexts
                .of(self.index, &new.context(), || new.form.model())?;
            let entry = self.write(new, &context, None)?;
            return Ok((entry.readings(&context), Stored::New));
        };
        let mut context = self.contexts.get(self.index, found.context)?;
        if let Some((frame, _)) = new.frame.as_ref().filter(|_| is_new_frame) {
            let of_frame = self
                .contexts
                .of(self.index, &new.context(), || new.form.model())?;
            self.batch.context(of_frame.number, || of_frame.numbered());
            self.batch.record(&Record::Frame(UsedFrame {
                context: of_frame.number,
                mark: frame.mark(),
                readings: *new.id.as_bytes(),
            }));
        }
        if new.repairs {
            // It keeps its uploader and its time.
            let of_form = Context {
                definitions: new.context().definitions,
                ..context.context.clone()
            };
            context = self
                .contexts
                .of(self.index, &of_form, || new.form.model())?;
            self.write(new, &context, Some(&found))?;
        }
        Ok((found.readings(&context), Stored::AlreadyStored))
    }

    /// Adds an upload of which nothing is left but its entry.
    pub(super) fn insert_lost(&mut self, new: &NewEntry<'_>) -> Result<(), StoreError> {
        let context = self
            .contexts
            .of(self.index, &new.context(), Model::default)?;
        let entry = self.entry(new, context.number);
        self.insert_entry(new, &entry)?;
        Ok(context.stretch(self.index, entry.span)?)
    }

    fn entry(&self, new: &NewEntry<'_>, context: u32) -> Entry {
        let summary = &new.summary;
        let product = summary.rows.checked_mul(summary.columns.len() as u64);
        Entry {
            sequence: new.sequence.unwrap_or(self.next_sequence),
            id: new.id,
            place: None,
            len: 0,
            bytes: new.bytes,
            created_at: new.created_at.unwrap_or(self.now),
            context,
            rows: summary.rows,
            elements: (product != Some(summary.elements)).then_some(summary.elements),
            span: new.span(),
        }
    }

    fn insert_entry(&mut self, new: &NewEntry<'_>, entry: &Entry) -> Result<(), StoreError> {
        entry.insert(self.index)?;
        if new.is_undescribed {
            index::set_undescribed(self.index, entry.sequence)?;
        }
        self.next_sequence = self.next_sequence.max(entry.sequence.saturating_add(1));
        Ok(())
    }

    /// Writes the record of an upload, and its entry.
    fn write(
        &mut self,
        new: &NewEntry<'_>,
        known: &Arc<Known>,
        replaced: Option<&Entry>,
    ) -> Result<Entry, StoreError> {
        let mut entry = match replaced {
            Some(entry) => entry.clone(),
            None => self.entry(new, known.number),
        };
        let upload = Upload {
            context: known.number,
            sequence: entry.sequence,
            created_at: entry.created_at,
            rows: entry.rows,
            elements: entry.elements,
            span: entry.span,
            frame: new.frame.as_ref().map(|(frame, _)| frame.mark()),
            is_undescribed: new.is_undescribed,
            is_short: new.form.is_short(),
            payload: new.form.payload(known),
        };
        self.batch.context(known.number, || known.numbered());
        let (place, len) = self.batch.upload(&upload);
        let live = Change {
            live: as_i64(len),
            dead: 0,
        };
        index::count(self.index, place.segment, live, self.now)?;
        (entry.place, entry.len, entry.context) = (Some(place), len, known.number);
        match replaced {
            Some(replaced) => {
                index::died(self.index, replaced, self.now)?;
                index::set_place(self.index, &entry)?;
            }
            None => self.insert_entry(new, &entry)?,
        }
        known.stretch(self.index, entry.span)?;
        Ok(entry)
    }
}

impl ArrivingFrame {
    pub(super) fn mark(&self) -> FrameMark {
        FrameMark {
            counter: self.counter,
            tag: self.tag,
        }
    }
}

/// The queue of entries that wait for a commit.
#[derive(Default)]
pub(super) struct Commits(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Arc<Slot>>,
    /// True while one of them commits, or has been told to.
    is_led: bool,
}

impl Commits {
    /// Stores an upload, together with others that wait. When this returns it is on disk.
    pub(super) fn commit(
        &self,
        writing: &Mutex<Writing>,
        new: NewEntry<'_>,
    ) -> Result<Committed, StoreError> {
        if new.is_large() {
            return lock(writing).append(|addition| addition.insert(&new));
        }
        let (id, new) = (new.id, new.into_owned());
        let state = {
            let mut queue = lock(&self.0);
            if queue.is_led {
                let slot = Arc::new(Slot {
                    state: Mutex::new(State::Waiting(new)),
                    changed: Condvar::new(),
                });
                queue.waiting.push_back(Arc::clone(&slot));
                drop(queue);
                slot.wait()
            } else {
                queue.is_led = true;
                State::Leading(new)
            }
        };
        match state {
            State::Done(done) => done,
            State::Leading(new) => self.lead(writing, &new),
            State::Alone(new) => lock(writing).append(|addition| addition.insert(&new)),
            State::Waiting(_) | State::Taken => Err(StoreError::NotFound { id }),
        }
    }

    /// Commits an entry and those that wait, and has the next one lead.
    fn lead(&self, writing: &Mutex<Writing>, own: &NewEntry<'_>) -> Result<Committed, StoreError> {
        let mut lead = Lead {
            commits: self,
            others: Vec::new(),
        };
        let mut writing = lock(writing);
        {
            let mut queue = lock(&self.0);
            let count = queue.waiting.len().min(MAXIMUM - 1);
            lead.others.extend(queue.waiting.drain(..count));
        }
        match together(&mut writing, own, &lead.others) {
            Ok((own, others)) => {
                for (slot, done) in lead.others.drain(..).zip(others) {
                    slot.finish(done);
                }
                own
            }
            Err(error) if lead.others.is_empty() => Err(error),
            Err(error) => {
                tracing::warn!(%error, uploads = lead.others.len() + 1, "a commit of several uploads failed; each is tried by itself");
                writing.append(|addition| addition.insert(own))
            }
        }
    }
}

/// The turn of one that commits the queue. When it is dropped, those of its commit that are not done try by themselves, and the next
/// one leads.
struct Lead<'a> {
    commits: &'a Commits,
    others: Vec<Arc<Slot>>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        for slot in &self.others {
            slot.turn(State::Alone);
        }
        let mut queue = lock(&self.commits.0);
        match queue.waiting.pop_front() {
            Some(next) => next.turn(State::Leading),
            None => queue.is_led = false,
        }
    }
}

type Each = Result<Committed, StoreError>;

/// Commits all entries or none. An entry that is refused by itself does not keep the others from it.
fn together(
    writing: &mut Writing,
    own: &NewEntry<'_>,
    others: &[Arc<Slot>],
) -> Result<(Each, Vec<Each>), StoreError> {
    writing.append(|addition| {
        let mut insert = |new: &NewEntry<'_>| match addition.insert(new) {
            // Nothing was changed.
            Err(error @ StoreError::PadUsedTwice { .. }) => Ok(Err(error)),
            done => Ok(Ok(done?)),
        };
        let own = insert(own)?;
        let others = others.iter().map(|slot| match &*lock(&slot.state) {
            State::Waiting(new) => insert(new),
            _ => Ok(Err(StoreError::NoSegment)),
        });
        Ok((own, others.collect::<Result<_, StoreError>>()?))
    })
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each use leaves what it guards whole; a transaction that panics is rolled back.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
