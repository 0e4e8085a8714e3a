//! The counters of standing queries.

use std::sync::atomic::{AtomicU64, Ordering};

use tfhe_sbc_transport::exposition::{Exposition, Kind};

/// The size of all standing queries together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StandingSize {
    /// Their number.
    pub(crate) queries: u64,
    /// The number of periods that are to be computed.
    pub(crate) waiting: u64,
    /// The number of periods that failed, and wait for a change.
    pub(crate) failed: u64,
    /// The number of results.
    pub(crate) results: u64,
    /// The bytes of their files.
    pub(crate) bytes: u64,
}

/// The way in which the computation of a period ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeriodEnd {
    Computed,
    Failed,
    /// It was called off, because a query wanted its turn.
    GaveWay,
}

/// The counters and gauges of standing queries.
#[derive(Debug, Default)]
pub(crate) struct StandingMetrics {
    queries: AtomicU64,
    waiting: AtomicU64,
    failing: AtomicU64,
    results: AtomicU64,
    bytes: AtomicU64,
    computed: AtomicU64,
    failed: AtomicU64,
    gave_way: AtomicU64,
}

fn read(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}

impl StandingMetrics {
    /// Sets what the standing queries are now.
    pub(crate) fn set(&self, size: StandingSize) {
        for (gauge, number) in [
            (&self.queries, size.queries),
            (&self.waiting, size.waiting),
            (&self.failing, size.failed),
            (&self.results, size.results),
            (&self.bytes, size.bytes),
        ] {
            gauge.store(number, Ordering::Relaxed);
        }
    }

    /// Returns what the standing queries are now.
    pub(crate) fn get(&self) -> StandingSize {
        StandingSize {
            queries: read(&self.queries),
            waiting: read(&self.waiting),
            failed: read(&self.failing),
            results: read(&self.results),
            bytes: read(&self.bytes),
        }
    }

    /// Counts a period whose computation has ended.
    pub(crate) fn count(&self, end: PeriodEnd) {
        let counter = match end {
            PeriodEnd::Computed => &self.computed,
            PeriodEnd::Failed => &self.failed,
            PeriodEnd::GaveWay => &self.gave_way,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the counters to a page.
    pub(super) fn render(&self, page: &mut Exposition) {
        page.add_labelled(
            "tfhe_sbc_standing_periods_total",
            Kind::Counter,
            "Periods of standing queries, by the end of their computation.",
            "end",
            [
                ("computed", read(&self.computed)),
                ("failed", read(&self.failed)),
                ("gave_way", read(&self.gave_way)),
            ],
        );
        for (name, help, value) in [
            (
                "tfhe_sbc_standing_queries",
                "Standing queries.",
                &self.queries,
            ),
            (
                "tfhe_sbc_standing_waiting_periods",
                "Periods of standing queries that are to be computed.",
                &self.waiting,
            ),
            (
                "tfhe_sbc_standing_failed_periods",
                "Periods of standing queries that failed, and wait for a change.",
                &self.failing,
            ),
            (
                "tfhe_sbc_standing_results",
                "Results of standing queries kept.",
                &self.results,
            ),
            (
                "tfhe_sbc_standing_result_bytes",
                "Bytes of results of standing queries kept.",
                &self.bytes,
            ),
        ] {
            page.add(name, Kind::Gauge, help, read(value));
        }
    }
}
