//! The server's counters, shown to Prometheus as text. No value in them tells one reading from
//! another.

mod standing;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::frames::FrameReason;
use crate::store::Expired;
use tfhe_sbc_transport::error_chain;
use tfhe_sbc_transport::exposition::{Exposition, Kind};
use tfhe_sbc_transport::jobs::JobState;
use tfhe_sbc_transport::protocol::BOOTSTRAPS_METRIC;

pub(crate) use standing::{PeriodEnd, StandingMetrics, StandingSize};

/// The reason why a request was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejection {
    Forbidden,
    Revoked,
    TooLarge,
    TooSlow,
    Invalid,
    WrongKey,
    WrongName,
    Signature,
    UnknownDefinitions,
    NotFound,
    Busy,
    Cancelled,
    DiskFull,
    Internal,
}

impl Rejection {
    const ALL: [Self; 14] = [
        Self::Forbidden,
        Self::Revoked,
        Self::TooLarge,
        Self::TooSlow,
        Self::Invalid,
        Self::WrongKey,
        Self::WrongName,
        Self::Signature,
        Self::UnknownDefinitions,
        Self::NotFound,
        Self::Busy,
        Self::Cancelled,
        Self::DiskFull,
        Self::Internal,
    ];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Revoked => "revoked",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::Invalid => "invalid",
            Self::WrongKey => "wrong_key",
            Self::WrongName => "wrong_name",
            Self::Signature => "signature",
            Self::UnknownDefinitions => "unknown_definitions",
            Self::NotFound => "not_found",
            Self::Busy => "busy",
            Self::Cancelled => "cancelled",
            Self::DiskFull => "disk_full",
            Self::Internal => "internal",
        }
    }
}

/// The reason why a connection failed before its first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandshakeFailure {
    UnknownAuthority,
    Expired,
    NotYetValid,
    Revoked,
    NoCertificate,
    OtherCertificate,
    TlsVersion,
    NotTls,
    TooSlow,
    BrokenOff,
    Other,
}

impl HandshakeFailure {
    const ALL: [Self; 11] = [
        Self::UnknownAuthority,
        Self::Expired,
        Self::NotYetValid,
        Self::Revoked,
        Self::NoCertificate,
        Self::OtherCertificate,
        Self::TlsVersion,
        Self::NotTls,
        Self::TooSlow,
        Self::BrokenOff,
        Self::Other,
    ];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::UnknownAuthority => "unknown_authority",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::Revoked => "revoked",
            Self::NoCertificate => "no_certificate",
            Self::OtherCertificate => "other_certificate",
            Self::TlsVersion => "tls_version",
            Self::NotTls => "not_tls",
            Self::TooSlow => "too_slow",
            Self::BrokenOff => "broken_off",
            Self::Other => "other",
        }
    }

    /// Returns the reason behind an error of the TLS library or of the connection below it.
    pub(crate) fn of(error: &io::Error) -> Self {
        use rustls::CertificateError as Certificate;
        let Some(error) = error_chain::find::<rustls::Error>(error) else {
            return Self::BrokenOff;
        };
        match error {
            rustls::Error::InvalidCertificate(certificate) => match certificate {
                Certificate::UnknownIssuer | Certificate::BadSignature => Self::UnknownAuthority,
                Certificate::Expired | Certificate::ExpiredContext { .. } => Self::Expired,
                Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
                    Self::NotYetValid
                }
                Certificate::Revoked => Self::Revoked,
                _ => Self::OtherCertificate,
            },
            rustls::Error::NoCertificatesPresented => Self::NoCertificate,
            rustls::Error::PeerIncompatible(_) => Self::TlsVersion,
            rustls::Error::InvalidMessage(_) => Self::NotTls,
            _ => Self::Other,
        }
    }
}

/// The ways in which jobs end, and their names.
const JOB_ENDS: [(JobState, &str); 4] = [
    (JobState::Answered, "answered"),
    (JobState::Failed, "failed"),
    (JobState::Cancelled, "cancelled"),
    (JobState::Interrupted, "interrupted"),
];

/// The server's counters and gauges.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    uploads_new: AtomicU64,
    uploads_repeated: AtomicU64,
    upload_bytes: AtomicU64,
    frames_new: AtomicU64,
    frames_repeated: AtomicU64,
    refused_frames: [AtomicU64; FrameReason::ALL.len()],
    rejections: [AtomicU64; Rejection::ALL.len()],
    handshake_failures: [AtomicU64; HandshakeFailure::ALL.len()],
    revoked: AtomicU64,
    unusable_revocation_lists: AtomicU64,
    revoked_connections: AtomicU64,
    removed_by_age: AtomicU64,
    removed_by_bytes: AtomicU64,
    removed_bytes: AtomicU64,
    retention_errors: AtomicU64,
    queries: AtomicU64,
    kept_answers: AtomicU64,
    kept_results: AtomicU64,
    kept_result_bytes: AtomicU64,
    jobs: [AtomicU64; JOB_ENDS.len()],
    bootstraps: Arc<AtomicU64>,
    evaluation_microseconds: AtomicU64,
    pub(crate) standing: StandingMetrics,
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

    pub(crate) fn count_frame(&self, new: bool) {
        let frames = match new {
            true => &self.frames_new,
            false => &self.frames_repeated,
        };
        frames.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_refused_frame(&self, reason: FrameReason) {
        self.refused_frames[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_rejection(&self, reason: Rejection) {
        self.rejections[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_handshake_failure(&self, reason: HandshakeFailure) {
        self.handshake_failures[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the number of certificates on the list of revoked ones.
    pub(crate) fn set_revoked(&self, certificates: usize) {
        self.revoked.store(certificates as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_unusable_revocation_list(&self) {
        self.unusable_revocation_lists
            .fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_revoked_connection(&self) {
        self.revoked_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts uploads that retention has removed.
    pub(crate) fn count_expired(&self, expired: &Expired) {
        let Expired {
            by_age, by_bytes, ..
        } = expired;
        for (counter, number) in [
            (&self.removed_by_age, by_age.uploads),
            (&self.removed_by_bytes, by_bytes.uploads),
            (&self.removed_bytes, by_age.bytes + by_bytes.bytes),
        ] {
            counter.fetch_add(number, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_retention_error(&self) {
        self.retention_errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a query or a job that was answered with a kept result.
    pub(crate) fn count_kept_answer(&self) {
        self.kept_answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the number of kept results, and their bytes.
    pub(crate) fn set_kept(&self, results: u64, bytes: u64) {
        self.kept_results.store(results, Ordering::Relaxed);
        self.kept_result_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Counts a job that has ended.
    pub(crate) fn count_job(&self, end: JobState) {
        let place = JOB_ENDS.iter().position(|(state, _)| *state == end);
        if let Some(count) = place.and_then(|place| self.jobs.get(place)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_query(&self, took: Duration) {
        self.queries.fetch_add(1, Ordering::Relaxed);
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.evaluation_microseconds
            .fetch_add(microseconds, Ordering::Relaxed);
    }

    /// Returns the number of uploads acknowledged.
    pub(crate) fn upload_count(&self) -> u64 {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        read(&self.uploads_new) + read(&self.uploads_repeated)
    }

    pub(crate) fn bootstrap_count(&self) -> u64 {
        self.bootstraps.load(Ordering::Relaxed)
    }

    /// Returns the number of certificates on the list of revoked ones.
    pub(crate) fn revoked_count(&self) -> u64 {
        self.revoked.load(Ordering::Relaxed)
    }

    pub(crate) fn bootstraps(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bootstraps)
    }

    /// Returns the number of requests turned away, by reason.
    pub(crate) fn rejections(&self) -> Vec<(&'static str, u64)> {
        Rejection::ALL
            .iter()
            .map(|reason| reason.label())
            .zip(self.rejections.iter().map(|n| n.load(Ordering::Relaxed)))
            .collect()
    }

    /// Returns the number of frames refused, by reason.
    pub(crate) fn refused_frames(&self) -> Vec<(&'static str, u64)> {
        FrameReason::ALL
            .iter()
            .map(|reason| reason.label())
            .zip(
                self.refused_frames
                    .iter()
                    .map(|n| n.load(Ordering::Relaxed)),
            )
            .collect()
    }

    /// Returns the number of connections that failed to prove themselves, by reason.
    pub(crate) fn handshake_failures(&self) -> Vec<(&'static str, u64)> {
        let counts = self.handshake_failures.iter();
        HandshakeFailure::ALL
            .iter()
            .map(|reason| reason.label())
            .zip(counts.map(|n| n.load(Ordering::Relaxed)))
            .collect()
    }

    /// Returns the text that Prometheus reads, format version 0.0.4.
    pub(crate) fn render(&self) -> String {
        use Kind::{Counter, Gauge};
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut page = Exposition::default();
        page.add_labelled(
            "tfhe_sbc_uploads_total",
            Counter,
            "Uploads acknowledged.",
            "stored",
            [
                ("new", read(&self.uploads_new)),
                ("repeated", read(&self.uploads_repeated)),
            ],
        );
        page.add(
            "tfhe_sbc_upload_bytes_total",
            Counter,
            "Bytes of uploads acknowledged.",
            read(&self.upload_bytes),
        );
        page.add_labelled(
            "tfhe_sbc_frames_total",
            Counter,
            "Frames acknowledged.",
            "stored",
            [
                ("new", read(&self.frames_new)),
                ("repeated", read(&self.frames_repeated)),
            ],
        );
        for (name, help, reasons) in [
            (
                "tfhe_sbc_frames_refused_total",
                "Frames refused, by reason.",
                self.refused_frames(),
            ),
            (
                "tfhe_sbc_rejected_total",
                "Requests turned away, by reason.",
                self.rejections(),
            ),
            (
                "tfhe_sbc_handshake_failures_total",
                "Connections that failed to prove themselves, by reason.",
                self.handshake_failures(),
            ),
        ] {
            page.add_labelled(name, Counter, help, "reason", reasons);
        }
        page.add_labelled(
            "tfhe_sbc_retention_removed_total",
            Counter,
            "Uploads removed by retention, by reason.",
            "reason",
            [
                ("age", read(&self.removed_by_age)),
                ("bytes", read(&self.removed_by_bytes)),
            ],
        );
        self.standing.render(&mut page);
        let ends = JOB_ENDS.iter().map(|(_, name)| *name);
        page.add_labelled(
            "tfhe_sbc_jobs_total",
            Counter,
            "Jobs ended, by their end.",
            "end",
            ends.zip(self.jobs.iter().map(read)),
        );
        for (name, kind, help, value) in [
            (
                "tfhe_sbc_kept_answers_total",
                Counter,
                "Questions answered with a kept result.",
                read(&self.kept_answers),
            ),
            (
                "tfhe_sbc_kept_results",
                Gauge,
                "Results kept.",
                read(&self.kept_results),
            ),
            (
                "tfhe_sbc_kept_result_bytes",
                Gauge,
                "Bytes of results kept.",
                read(&self.kept_result_bytes),
            ),
            (
                "tfhe_sbc_retention_removed_bytes_total",
                Counter,
                "Bytes of uploads removed by retention.",
                read(&self.removed_bytes),
            ),
            (
                "tfhe_sbc_retention_errors_total",
                Counter,
                "Times that retention failed.",
                read(&self.retention_errors),
            ),
            (
                "tfhe_sbc_revoked_certificates",
                Gauge,
                "Certificates on the list of revoked ones.",
                read(&self.revoked),
            ),
            (
                "tfhe_sbc_revocation_list_errors_total",
                Counter,
                "Changes of the list of revoked certificates that could not be taken.",
                read(&self.unusable_revocation_lists),
            ),
            (
                "tfhe_sbc_revoked_connections_total",
                Counter,
                "Open connections closed because their certificate was revoked.",
                read(&self.revoked_connections),
            ),
            (
                "tfhe_sbc_queries_total",
                Counter,
                "Queries answered.",
                read(&self.queries),
            ),
            (
                BOOTSTRAPS_METRIC,
                Counter,
                "Bootstraps done, running evaluations included.",
                read(&self.bootstraps),
            ),
            (
                "tfhe_sbc_connections",
                Gauge,
                "Connections open.",
                self.connections.get(),
            ),
            (
                "tfhe_sbc_evaluations_running",
                Gauge,
                "Evaluations running.",
                self.evaluations_running.get(),
            ),
            (
                "tfhe_sbc_evaluations_waiting",
                Gauge,
                "Queries waiting their turn.",
                self.evaluations_waiting.get(),
            ),
        ] {
            page.add(name, kind, help, value);
        }
        if let Some(bytes) = resident_bytes() {
            page.add(
                "process_resident_memory_bytes",
                Gauge,
                "Memory of the process that is not on disk.",
                bytes,
            );
        }
        let seconds = Duration::from_micros(read(&self.evaluation_microseconds)).as_secs_f64();
        page.add(
            "tfhe_sbc_evaluation_seconds_total",
            Counter,
            "Time spent on queries answered.",
            seconds,
        );
        page.into_text()
    }
}

/// The bytes of memory that the process has now; `None` where the system does not say.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The number of things of a kind that there are now.
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
