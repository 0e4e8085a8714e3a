//! What the agent counts, for Prometheus: in a file, or over HTTP to this machine.

mod listener;

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tfhe_sbc_transport::files::{self, FileError};

pub(crate) use listener::listen;

/// What became of a reading that its column cannot hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Skipped {
    OutOfRange,
    NotANumber,
    Unreadable,
    Clamped,
}

/// Why a batch was dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Dropped {
    Oldest,
    Newest,
    Refused,
    Damaged,
}

/// Everything that is counted since the start.
#[derive(Debug, Default)]
pub struct Metrics {
    rows: AtomicU64,
    skipped: [AtomicU64; 4],
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

    /// The text that Prometheus reads, format version 0.0.4.
    pub fn render(&self) -> String {
        let mut text = String::with_capacity(2048);
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut show = |name: &str, kind: &str, help: &str, values: &[(&str, u64)]| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# HELP tfhe_sbc_agent_{name} {help}");
            let _ = writeln!(text, "# TYPE tfhe_sbc_agent_{name} {kind}");
            for (label, value) in values {
                let label = match label.is_empty() {
                    true => String::new(),
                    false => format!("{{reason=\"{label}\"}}"),
                };
                let _ = writeln!(text, "tfhe_sbc_agent_{name}{label} {value}");
            }
        };
        let one = |counter| [("", read(counter))];
        show(
            "rows_total",
            "counter",
            "Rows that went into batches.",
            &one(&self.rows),
        );
        let reasons = ["out_of_range", "not_a_number", "unreadable", "clamped"];
        let skipped: Vec<_> = reasons
            .into_iter()
            .zip(self.skipped.iter().map(read))
            .collect();
        show(
            "bad_readings_total",
            "counter",
            "Readings that their column cannot hold; clamped ones were kept.",
            &skipped,
        );
        let help = "Places of a CSV file where lines may be missing.";
        show("csv_gaps_total", "counter", help, &one(&self.csv_gaps));
        show(
            "batches_total",
            "counter",
            "Batches encrypted.",
            &one(&self.batches),
        );
        show(
            "batch_bytes_total",
            "counter",
            "Their bytes.",
            &one(&self.batch_bytes),
        );
        show(
            "sent_total",
            "counter",
            "Batches acknowledged.",
            &one(&self.sent),
        );
        show(
            "sent_bytes_total",
            "counter",
            "Their bytes.",
            &one(&self.sent_bytes),
        );
        show(
            "refused_total",
            "counter",
            "Batches refused for good.",
            &one(&self.refused),
        );
        show(
            "send_failures_total",
            "counter",
            "Tries that failed.",
            &one(&self.failures),
        );
        let help = "1 if the server does not accept this board's certificate.";
        show("unwelcome", "gauge", help, &one(&self.unwelcome));
        let reasons = ["oldest", "newest", "refused", "damaged"];
        let dropped: Vec<_> = reasons
            .into_iter()
            .zip(self.dropped.iter().map(read))
            .collect();
        show(
            "dropped_total",
            "counter",
            "Batches that are lost.",
            &dropped,
        );
        show(
            "spool_batches",
            "gauge",
            "Batches that wait.",
            &one(&self.depth),
        );
        show(
            "spool_bytes",
            "gauge",
            "Their bytes.",
            &one(&self.depth_bytes),
        );
        let help = "When a batch was acknowledged last, in seconds since 1970.";
        show(
            "last_success_seconds",
            "gauge",
            help,
            &one(&self.last_success),
        );
        text
    }

    /// Replaces the file whole, readable for everyone.
    pub(crate) fn write(&self, path: &Path) -> Result<(), FileError> {
        files::write_atomic(path, self.render().as_bytes())
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
