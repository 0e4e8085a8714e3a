//! The counter of a board's frames, which survives a loss of power.
//!
//! Before counters are used, the store says so: it holds a limit, and only counters below the limit are ever
//! used. When the board starts, it goes on from the limit. A loss of power therefore skips up to `leap`
//! counters, and never repeats one.

use thiserror::Error;

use crate::format::Format;

/// A place for one number that survives a loss of power, such as two pages of flash: [`Journal`](crate::Journal).
pub trait CounterStore {
    /// The reason why the store cannot be read or written.
    type Error;

    /// Reads the number of the last write. `None` if the store has never been written, or holds nothing valid.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn read(&mut self) -> Result<Option<u32>, Self::Error>;

    /// Writes a number, which is larger than the one before. Once this returns `Ok`, the number survives a
    /// loss of power. If power fails before, a later read returns this number or the one before.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn write(&mut self, limit: u32) -> Result<(), Self::Error>;
}

/// The counter of a board's frames.
#[derive(Debug)]
pub struct Counter<S> {
    store: S,
    next: u32,
    /// The number in the store: counters below it may be used.
    limit: u32,
    leap: u32,
    frames: u32,
}

/// The reason why there is no counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CounterError<E> {
    /// The store failed.
    #[error("the counter cannot be stored, so it is not used")]
    Store(E),
    /// The store is empty: it was erased, or never provisioned.
    #[error("the board has lost its counter, or has never had one: it needs new pads")]
    Lost,
    /// The store is not empty: a second start from 0 would use pads twice.
    #[error("the board has a counter already: erase it only together with the board's key")]
    Provisioned,
    /// All pads are used.
    #[error("all pads are used: the board needs new ones")]
    Exhausted,
}

impl<S: CounterStore> Counter<S> {
    /// Writes the first limit into an empty store. This is done once, when the board gets its key.
    ///
    /// # Errors
    /// If the store is not empty, or fails.
    pub fn provision(store: &mut S) -> Result<(), CounterError<S::Error>> {
        match store.read().map_err(CounterError::Store)? {
            Some(_) => Err(CounterError::Provisioned),
            None => store.write(0).map_err(CounterError::Store),
        }
    }

    /// Opens the counter when the board starts. The store is written once for `leap` frames and a start skips
    /// up to as many counters, so `leap` weighs the wear of the flash against pads. A `leap` of 0 is one of 1.
    ///
    /// # Errors
    /// If the store is empty, or fails.
    pub fn open(mut store: S, leap: u32, format: &Format) -> Result<Self, CounterError<S::Error>> {
        let limit = store.read().map_err(CounterError::Store)?;
        let limit = limit.ok_or(CounterError::Lost)?;
        Ok(Self {
            store,
            next: limit,
            limit,
            leap: leap.max(1),
            frames: format.frames(),
        })
    }

    /// The number of counters that are left.
    pub const fn left(&self) -> u32 {
        self.frames.saturating_sub(self.next)
    }

    /// Takes the next counter. After an error none is used.
    ///
    /// # Errors
    /// If there are no more pads, or a new limit cannot be stored.
    pub fn take(&mut self) -> Result<u32, CounterError<S::Error>> {
        if self.next >= self.frames {
            return Err(CounterError::Exhausted);
        }
        if self.next >= self.limit {
            let limit = self.next.saturating_add(self.leap).min(self.frames);
            self.store.write(limit).map_err(CounterError::Store)?;
            // A page that is worn out may take a write and not keep it.
            if self.store.read().map_err(CounterError::Store)? != Some(limit) {
                return Err(CounterError::Lost);
            }
            self.limit = limit;
        }
        let counter = self.next;
        self.next += 1;
        Ok(counter)
    }
}
