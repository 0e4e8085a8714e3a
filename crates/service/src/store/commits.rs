//! Commits of several uploads at once.
//!
//! A commit waits for the disk, whatever its size. So an upload that comes while a commit is under
//! way leaves its entry in a queue, and the first of them to get the index next commits the whole
//! queue in one transaction: the more uploads come, the more of them share a wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, params};

use super::pads::{self, ArrivingFrame};
use super::{StoreError, Stored, StoredReadings, as_i64, definitions, entry, now, to_json};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::short::Definitions;

/// The most entries of one transaction.
const MAXIMUM: usize = 256;

/// The entry for an upload whose file is on disk.
pub(super) struct NewEntry {
    pub(super) id: BlobId,
    pub(super) bytes: u64,
    pub(super) uploader: String,
    pub(super) summary: UploadSummary,
    /// The definitions to keep for the uploader.
    pub(super) definitions: Option<Definitions>,
    /// The time at which it was stored, in seconds since 1970; now if there is none.
    pub(super) created_at: Option<i64>,
    /// The frame that the upload was made of.
    pub(super) frame: Option<ArrivingFrame>,
}

type Committed = (StoredReadings, Stored);

/// The state of an entry.
enum State {
    Waiting(NewEntry),
    /// Its transaction failed, perhaps because of another entry: it is tried by itself.
    Alone(NewEntry),
    Done(Result<Committed, StoreError>),
    Taken,
}

/// The queue of entries that wait for a commit.
#[derive(Default)]
pub(super) struct Commits {
    queue: Mutex<Vec<Arc<Mutex<State>>>>,
}

impl Commits {
    /// Adds an entry to the index, together with others that wait. When this returns the entry is
    /// on disk. `prepare` is called before each transaction.
    pub(super) fn commit(
        &self,
        index: &Mutex<Connection>,
        new: NewEntry,
        prepare: impl Fn() -> Result<(), StoreError>,
    ) -> Result<Committed, StoreError> {
        let id = new.id;
        let own = Arc::new(Mutex::new(State::Waiting(new)));
        lock(&self.queue).push(Arc::clone(&own));
        let mut index = lock(index);
        let waiting = matches!(*lock(&own), State::Waiting(_));
        if waiting {
            let batch = self.next(&own);
            if let Err(error) = together(&mut index, &batch, &prepare) {
                if batch.len() == 1 {
                    return Err(error);
                }
                tracing::warn!(%error, uploads = batch.len(), "a commit of several uploads failed; each is tried by itself");
            }
        }
        let state = std::mem::replace(&mut *lock(&own), State::Taken);
        match state {
            State::Done(done) => done,
            State::Waiting(new) | State::Alone(new) => {
                prepare()?;
                let transaction = index.transaction()?;
                let committed = insert(&transaction, &new)?;
                transaction.commit()?;
                Ok(committed)
            }
            State::Taken => Err(StoreError::NotFound { id }),
        }
    }

    /// Returns the entry itself, and those that wait longest.
    fn next(&self, own: &Arc<Mutex<State>>) -> Vec<Arc<Mutex<State>>> {
        let mut queue = lock(&self.queue);
        queue.retain(|entry| !Arc::ptr_eq(entry, own));
        let count = queue.len().min(MAXIMUM - 1);
        let mut batch: Vec<_> = queue.drain(..count).collect();
        batch.push(Arc::clone(own));
        batch
    }
}

/// Commits all entries, or none of them and marks them.
fn together(
    index: &mut Connection,
    batch: &[Arc<Mutex<State>>],
    prepare: impl Fn() -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut inserted = Vec::with_capacity(batch.len());
    let committed = (|| {
        prepare()?;
        let transaction = index.transaction()?;
        for entry in batch {
            if let State::Waiting(new) = &*lock(entry) {
                inserted.push((Arc::clone(entry), insert(&transaction, new)?));
            }
        }
        transaction.commit()?;
        Ok(())
    })();
    match &committed {
        Ok(()) => {
            for (entry, done) in inserted {
                *lock(&entry) = State::Done(Ok(done));
            }
        }
        Err(_) => {
            for entry in batch {
                let mut state = lock(entry);
                *state = match std::mem::replace(&mut *state, State::Taken) {
                    State::Waiting(new) => State::Alone(new),
                    other => other,
                };
            }
        }
    }
    committed
}

pub(super) fn insert(index: &Connection, new: &NewEntry) -> Result<Committed, StoreError> {
    if let Some(frame) = &new.frame {
        pads::record(index, frame, &new.id)?;
    }
    let mut statement = index.prepare_cached(
        "INSERT INTO readings (id, bytes, created_at, uploader, summary, first_ms, last_ms, described)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1)
         ON CONFLICT (id) DO NOTHING",
    )?;
    let span = new.summary.span;
    let added = statement.execute(params![
        new.id.to_string(),
        as_i64(new.bytes),
        new.created_at.unwrap_or_else(now),
        new.uploader,
        to_json(&new.summary)?,
        span.map(|span| span.first.unix_ms()),
        span.map(|span| span.last.unix_ms()),
    ])?;
    if let Some(kept) = &new.definitions {
        definitions::keep(index, &new.uploader, kept)?;
    }
    let readings = entry(index, &new.id)?.ok_or(StoreError::NotFound { id: new.id })?;
    let stored = if added == 0 {
        Stored::AlreadyStored
    } else {
        Stored::New
    };
    Ok((readings, stored))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each use leaves what it guards whole; a transaction that panics is rolled back.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
