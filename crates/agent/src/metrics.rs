//! The agent's metrics for Prometheus: in a file, or over HTTP to this machine.

mod listener;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tfhe_sbc_transport::exposition::{Exposition, Kind};
use tfhe_sbc_transport::files::{self, FileError};

pub(crate) use listener::listen;

/// The reason why a reading was left out or changed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Skipped {
    OutOfRange,
    NotANumber,
    Unreadable,
    Clamped,
}

/// The reason why a batch was dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Dropped {
    Oldest,
    Newest,
    Refused,
    Damaged,
}

/// The counts since the start.
#[derive(Debug, Default)]
pub struct Metrics {
    rows: AtomicU64,
    skipped: [AtomicU64; 4],
    /// The gaps of each optional column that has any.
    missing: Mutex<BTreeMap<String, u64>>,
    csv_gaps: AtomicU64,
    batches: AtomicU64,
    batch_bytes: AtomicU64,
    sent: AtomicU64,
    sent_bytes: AtomicU64,
    refused: AtomicU64,
    failures: AtomicU64,
    unwelcome: AtomicU64,
    dropped: [AtomicU64; 4],
    depth: AtomicU64,
    depth_bytes: AtomicU64,
    last_success: AtomicU64,
}

impl Metrics {
    pub(crate) fn skipped(&self, why: Skipped) {
        add(&self.skipped[why as usize], 1);
    }

    pub(crate) fn missing(&self, column: &str) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        *missing.entry(column.to_owned()).or_default() += 1;
    }

    pub(crate) fn csv_gap(&self) {
        add(&self.csv_gaps, 1);
    }

    pub(crate) fn row(&self) {
        add(&self.rows, 1);
    }

    pub(crate) fn batch(&self, bytes: u64) {
        add(&self.batches, 1);
        add(&self.batch_bytes, bytes);
    }

    pub(crate) fn sent(&self, bytes: u64) {
        add(&self.sent, 1);
        self.unwelcome.store(0, Ordering::Relaxed);
        add(&self.sent_bytes, bytes);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.last_success
            .store(now.map_or(0, |now| now.as_secs()), Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) {
        add(&self.refused, 1);
    }

    pub(crate) fn failure(&self, unwelcome: bool) {
        add(&self.failures, 1);
        self.unwelcome.store(unwelcome.into(), Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self, why: Dropped) {
        add(&self.dropped[why as usize], 1);
    }

    pub(crate) fn depth(&self, batches: u64, bytes: u64) {
        self.depth.store(batches, Ordering::Relaxed);
        self.depth_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns the text that Prometheus reads, format version 0.0.4.
    pub fn render(&self) -> String {
        use Kind::{Counter, Gauge};
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut page = Exposition::default();
        page.add(
            "tfhe_sbc_agent_rows_total",
            Counter,
            "Rows that went into batches.",
            read(&self.rows),
        );
        page.add_labelled(
            "tfhe_sbc_agent_bad_readings_total",
            Counter,
            "Readings that their column cannot hold; clamped ones were kept.",
            "reason",
            ["out_of_range", "not_a_number", "unreadable", "clamped"]
                .into_iter()
                .zip(self.skipped.iter().map(read)),
        );
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        page.add_labelled(
            "tfhe_sbc_agent_missing_readings_total",
            Counter,
            "Readings of optional columns that are missing in rows that went into batches.",
            "column",
            missing.iter(),
        );
        drop(missing);
        for (name, kind, help, value) in [
            (
                "tfhe_sbc_agent_csv_gaps_total",
                Counter,
                "Places of a CSV file where lines may be missing.",
                &self.csv_gaps,
            ),
            (
                "tfhe_sbc_agent_batches_total",
                Counter,
                "Batches encrypted.",
                &self.batches,
            ),
            (
                "tfhe_sbc_agent_batch_bytes_total",
                Counter,
                "Their bytes.",
                &self.batch_bytes,
            ),
            (
                "tfhe_sbc_agent_sent_total",
                Counter,
                "Batches acknowledged.",
                &self.sent,
            ),
            (
                "tfhe_sbc_agent_sent_bytes_total",
                Counter,
                "Their bytes.",
                &self.sent_bytes,
            ),
            (
                "tfhe_sbc_agent_refused_total",
                Counter,
                "Batches refused for good.",
                &self.refused,
            ),
            (
                "tfhe_sbc_agent_send_failures_total",
                Counter,
                "Tries that failed.",
                &self.failures,
            ),
            (
                "tfhe_sbc_agent_unwelcome",
                Gauge,
                "1 if the server does not accept this board's certificate.",
                &self.unwelcome,
            ),
        ] {
            page.add(name, kind, help, read(value));
        }
        page.add_labelled(
            "tfhe_sbc_agent_dropped_total",
            Counter,
            "Batches that are lost.",
            "reason",
            ["oldest", "newest", "refused", "damaged"]
                .into_iter()
                .zip(self.dropped.iter().map(read)),
        );
        for (name, help, value) in [
            (
                "tfhe_sbc_agent_spool_batches",
                "Batches that wait.",
                &self.depth,
            ),
            (
                "tfhe_sbc_agent_spool_bytes",
                "Their bytes.",
                &self.depth_bytes,
            ),
            (
                "tfhe_sbc_agent_last_success_seconds",
                "When a batch was acknowledged last, in seconds since 1970.",
                &self.last_success,
            ),
        ] {
            page.add(name, Gauge, help, read(value));
        }
        page.into_text()
    }

    /// Replaces the file at `path` in one step. Everyone may read the file.
    pub(crate) fn write(&self, path: &Path) -> Result<(), FileError> {
        files::write_atomic(path, self.render().as_bytes())
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
