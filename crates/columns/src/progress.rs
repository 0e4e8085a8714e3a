//! The progress of an evaluation, and its cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tfhe_sbc_engine::circuit::Watch;

/// Shared between a running evaluation, which counts, and whoever waits for it, who shows the count
/// and may call the evaluation off.
#[derive(Debug, Default)]
pub struct Progress {
    bootstraps: AtomicU64,
    expected: AtomicU64,
    watch: Arc<Watch>,
    server_total: Option<Arc<AtomicU64>>,
}

impl Progress {
    /// A progress that also adds its bootstraps to a total that outlives the evaluation.
    pub fn counting_into(server_total: Arc<AtomicU64>) -> Self {
        Self {
            server_total: Some(server_total),
            ..Self::default()
        }
    }

    /// Reports `count` bootstraps done since the last report.
    pub fn add_bootstraps(&self, count: u64) {
        self.bootstraps.fetch_add(count, Ordering::Relaxed);
        if let Some(total) = &self.server_total {
            total.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// The number of bootstraps reported so far.
    pub fn bootstraps(&self) -> u64 {
        self.bootstraps.load(Ordering::Relaxed)
    }

    /// Reports the number of bootstraps that there will be in all. The largest number that was reported counts, so that
    /// an evaluation in parts can report that of all parts first.
    pub fn expect_bootstraps(&self, total: u64) {
        self.expected.fetch_max(total, Ordering::Relaxed);
    }

    /// The number of bootstraps that there will be in all; 0 if it is not known yet.
    pub fn expected_bootstraps(&self) -> u64 {
        self.expected.load(Ordering::Relaxed)
    }

    /// The number of lookups recorded so far: it grows before the number of bootstraps is known.
    pub fn recorded_lookups(&self) -> u64 {
        self.watch.lookups()
    }

    /// The same, as the engine reports it.
    pub(crate) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// Asks the evaluation to stop.
    pub fn cancel(&self) {
        self.watch.cancel();
    }

    /// Returns whether the evaluation is asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.watch.is_cancelled()
    }
}
