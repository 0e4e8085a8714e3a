//! Recordings that can be cancelled.
//!
//! Operators record lookups without a way to fail when nobody waits for the result any more. A
//! recording is therefore ended by unwinding to [`Circuit::record_watched`], as the query engines
//! of compilers end theirs.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use super::{Circuit, CircuitEvaluateError};

/// The number of lookups after which the recording checks whether it is cancelled.
const INTERVAL: u32 = 1 << 10;

/// The state that a recording shares with the thread that waits for it.
#[derive(Debug, Default)]
pub struct Watch {
    lookups: AtomicU64,
    cancelled: AtomicBool,
}

impl Watch {
    /// The number of lookups recorded so far.
    pub fn lookups(&self) -> u64 {
        self.lookups.load(Ordering::Relaxed)
    }

    /// Cancels the recording.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether the recording is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// The payload of the unwinding of a cancelled recording.
struct CalledOff;

/// A watch, and the number of lookups since the last check of it.
#[derive(Default)]
pub(super) struct Watched {
    watch: Option<Arc<Watch>>,
    asked: u32,
}

impl Watched {
    /// Counts a lookup of a graph of `lookups` lookups.
    pub(super) fn tick(&mut self, lookups: usize) {
        let Some(watch) = &self.watch else {
            return;
        };
        self.asked += 1;
        if self.asked < INTERVAL {
            return;
        }
        self.asked = 0;
        watch.lookups.store(lookups as u64, Ordering::Relaxed);
        if watch.is_cancelled() {
            resume_unwind(Box::new(CalledOff));
        }
    }
}

impl Circuit {
    /// Records what `operators` does. `watch` shows the progress and can cancel the recording; a
    /// circuit whose recording was cancelled must not be used any more.
    ///
    /// # Errors
    /// [`CircuitEvaluateError::Cancelled`] if the recording was cancelled.
    pub fn record_watched<R>(
        &self,
        watch: &Arc<Watch>,
        operators: impl FnOnce(&Self) -> R,
    ) -> Result<R, CircuitEvaluateError> {
        self.set_watch(Some(Arc::clone(watch)));
        let recorded = catch_unwind(AssertUnwindSafe(|| operators(self)));
        self.set_watch(None);
        match recorded {
            Ok(recorded) if !watch.is_cancelled() => Ok(recorded),
            Ok(_) => Err(CircuitEvaluateError::Cancelled),
            Err(payload) if payload.is::<CalledOff>() => Err(CircuitEvaluateError::Cancelled),
            Err(payload) => resume_unwind(payload),
        }
    }

    fn set_watch(&self, watch: Option<Arc<Watch>>) {
        let mut graph = self.graph.write().unwrap_or_else(PoisonError::into_inner);
        graph.watched = Watched { watch, asked: 0 };
    }
}
