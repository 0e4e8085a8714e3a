//! Counters of the server, shown to Prometheus as text. They count; no value in
//! them tells one reading from another.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The name of the counter of bootstraps in the text, which moves while a query
/// runs.
pub const BOOTSTRAPS: &str = "tfhe_sbc_bootstraps_total";

/// Why a request was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejection {
    Forbidden,
    TooLarge,
    TooSlow,
    Invalid,
    WrongKey,
    NotFound,
    Busy,
    Cancelled,
    Internal,
}

impl Rejection {
    const ALL: [Self; 9] = [
        Self::Forbidden,
        Self::TooLarge,
        Self::TooSlow,
        Self::Invalid,
        Self::WrongKey,
        Self::NotFound,
        Self::Busy,
        Self::Cancelled,
        Self::Internal,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::Invalid => "invalid",
            Self::WrongKey => "wrong_key",
            Self::NotFound => "not_found",
            Self::Busy => "busy",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }
}

/// Everything the server counts.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    uploads_new: AtomicU64,
    uploads_repeated: AtomicU64,
    upload_bytes: AtomicU64,
    rejections: [AtomicU64; Rejection::ALL.len()],
    handshake_failures: AtomicU64,
    queries: AtomicU64,
    bootstraps: Arc<AtomicU64>,
    evaluation_microseconds: AtomicU64,
    pub(crate) connections: Gauge,
    pub(crate) evaluations_running: Gauge,
    pub(crate) evaluations_waiting: Gauge,
}

impl Metrics {
    pub(crate) fn count_upload(&self, new: bool, bytes: u64) {
        let uploads = if new {
            &self.uploads_new
        } else {
            &self.uploads_repeated
        };
        uploads.fetch_add(1, Ordering::Relaxed);
        self.upload_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn count_rejection(&self, reason: Rejection) {
        self.rejections[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_handshake_failure(&self) {
        self.handshake_failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_query(&self, took: Duration) {
        self.queries.fetch_add(1, Ordering::Relaxed);
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.evaluation_microseconds
            .fetch_add(microseconds, Ordering::Relaxed);
    }

    pub(crate) fn bootstraps(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bootstraps)
    }

    /// The text that Prometheus reads, format version 0.0.4.
    pub(crate) fn render(&self) -> String {
        let mut text = String::with_capacity(2048);
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut counter = |name: &str, kind: &str, help: &str, values: &[(&str, u64)]| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        counter(
            "tfhe_sbc_uploads_total",
            "counter",
            "Uploads acknowledged.",
            &[
                ("{stored=\"new\"}", read(&self.uploads_new)),
                ("{stored=\"repeated\"}", read(&self.uploads_repeated)),
            ],
        );
        counter(
            "tfhe_sbc_upload_bytes_total",
            "counter",
            "Bytes of uploads acknowledged.",
            &[("", read(&self.upload_bytes))],
        );
        let labels = Rejection::ALL.map(|reason| format!("{{reason=\"{}\"}}", reason.label()));
        let rejections: Vec<_> = labels
            .iter()
            .map(String::as_str)
            .zip(self.rejections.iter().map(read))
            .collect();
        counter(
            "tfhe_sbc_rejected_total",
            "counter",
            "Requests turned away, by reason.",
            &rejections,
        );
        for (name, kind, help, value) in [
            (
                "tfhe_sbc_handshake_failures_total",
                "counter",
                "Connections that failed to prove themselves.",
                read(&self.handshake_failures),
            ),
            (
                "tfhe_sbc_queries_total",
                "counter",
                "Queries answered.",
                read(&self.queries),
            ),
            (
                BOOTSTRAPS,
                "counter",
                "Bootstraps done, running evaluations included.",
                read(&self.bootstraps),
            ),
            (
                "tfhe_sbc_connections",
                "gauge",
                "Connections open.",
                self.connections.get(),
            ),
            (
                "tfhe_sbc_evaluations_running",
                "gauge",
                "Evaluations running.",
                self.evaluations_running.get(),
            ),
            (
                "tfhe_sbc_evaluations_waiting",
                "gauge",
                "Queries waiting their turn.",
                self.evaluations_waiting.get(),
            ),
        ] {
            counter(name, kind, help, &[("", value)]);
        }
        let seconds = Duration::from_micros(read(&self.evaluation_microseconds)).as_secs_f64();
        let name = "tfhe_sbc_evaluation_seconds_total";
        let _ = writeln!(
            text,
            "# HELP {name} Time spent on queries answered.\n# TYPE {name} counter\n{name} {seconds}"
        );
        text
    }
}

/// The value of a counter without labels in Prometheus's text.
pub fn find_counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        line.strip_prefix(name)?
            .strip_prefix(' ')?
            .trim()
            .parse()
            .ok()
    })
}

/// How many of something there are now.
#[derive(Debug, Default, Clone)]
pub(crate) struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// Counts one more until the guard is dropped.
    pub(crate) fn enter(&self) -> GaugeGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        GaugeGuard(Arc::clone(&self.0))
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Keeps a [`Gauge`] one higher.
#[derive(Debug)]
pub(crate) struct GaugeGuard(Arc<AtomicU64>);

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
