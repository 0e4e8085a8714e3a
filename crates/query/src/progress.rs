//! What a running evaluation and whoever waits for it say to each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared between a running evaluation, which counts, and whoever waits for
/// it, who shows the count and may call the evaluation off.
#[derive(Debug, Default)]
pub struct Progress {
    bootstraps: AtomicU64,
    expected: AtomicU64,
    cancelled: AtomicBool,
    server_total: Option<Arc<AtomicU64>>,
}

impl Progress {
    /// Also adds to a total that outlives this evaluation.
    pub fn counting_into(server_total: Arc<AtomicU64>) -> Self {
        Self {
            server_total: Some(server_total),
            ..Self::default()
        }
    }

    /// Reports bootstraps done since the last report.
    pub fn add_bootstraps(&self, count: u64) {
        self.bootstraps.fetch_add(count, Ordering::Relaxed);
        if let Some(total) = &self.server_total {
            total.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// The bootstraps reported so far.
    pub fn bootstraps(&self) -> u64 {
        self.bootstraps.load(Ordering::Relaxed)
    }

    /// Reports how many bootstraps there will be in all.
    pub fn expect_bootstraps(&self, total: u64) {
        self.expected.store(total, Ordering::Relaxed);
    }

    /// How many bootstraps there will be in all; 0 if that is not known yet.
    pub fn expected_bootstraps(&self) -> u64 {
        self.expected.load(Ordering::Relaxed)
    }

    /// Asks the evaluation to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
