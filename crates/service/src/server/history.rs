//! The past as the status page shows it: queries, and rates of the last minute. It is kept in
//! memory, from the server's start.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::metrics::Metrics;

/// The most queries that are remembered.
const QUERIES: usize = 50;
/// The length of "the last minute".
const WINDOW: Duration = Duration::from_secs(60);

/// A query that has ended.
#[derive(Debug, Clone)]
pub(super) struct PastQuery {
    pub(super) asked_at: SystemTime,
    /// The name in the asker's certificate.
    pub(super) by: Arc<str>,
    /// The number of uploads that it was about.
    pub(super) uploads: usize,
    pub(super) bootstraps: u64,
    /// The time from the question to its end, waiting included.
    pub(super) took: Duration,
    /// "answered", or the reason why it was not.
    pub(super) outcome: &'static str,
}

/// The last queries, and the counters at certain times.
#[derive(Debug, Default)]
pub(super) struct History {
    queries: Mutex<VecDeque<PastQuery>>,
    samples: Mutex<VecDeque<Sample>>,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    bootstraps: u64,
    uploads: u64,
}

/// Rates per second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rates {
    pub(super) bootstraps: f64,
    pub(super) uploads: f64,
}

impl History {
    /// Takes a sample of the counters. It is called about every second.
    pub(super) fn sample(&self, metrics: &Metrics) {
        let now = Sample {
            at: Instant::now(),
            bootstraps: metrics.bootstrap_count(),
            uploads: metrics.upload_count(),
        };
        let mut samples = lock(&self.samples);
        while samples
            .front()
            .is_some_and(|sample| now.at - sample.at > WINDOW)
        {
            samples.pop_front();
        }
        samples.push_back(now);
    }

    /// Returns the rates of the last minute, or since the start if that was later.
    pub(super) fn rates(&self) -> Rates {
        let samples = lock(&self.samples);
        let (Some(first), Some(last)) = (samples.front(), samples.back()) else {
            return Rates::default();
        };
        let seconds = (last.at - first.at).as_secs_f64();
        if seconds <= 0.0 {
            return Rates::default();
        }
        Rates {
            bootstraps: (last.bootstraps - first.bootstraps) as f64 / seconds,
            uploads: (last.uploads - first.uploads) as f64 / seconds,
        }
    }

    /// Returns the queries, the newest first.
    pub(super) fn queries(&self) -> Vec<PastQuery> {
        lock(&self.queries).iter().rev().cloned().collect()
    }

    /// Remembers a query once the guard is dropped: as called off, unless it is told otherwise.
    pub(super) fn begin(self: &Arc<Self>, by: Arc<str>, uploads: usize) -> QueryGuard {
        QueryGuard {
            history: Arc::clone(self),
            started: Instant::now(),
            query: PastQuery {
                asked_at: SystemTime::now(),
                by,
                uploads,
                bootstraps: 0,
                took: Duration::ZERO,
                outcome: "called off",
            },
        }
    }
}

/// A query that has not ended.
pub(super) struct QueryGuard {
    history: Arc<History>,
    started: Instant,
    query: PastQuery,
}

impl QueryGuard {
    pub(super) fn end(mut self, outcome: &'static str, bootstraps: u64) {
        self.query.outcome = outcome;
        self.query.bootstraps = bootstraps;
    }
}

impl Drop for QueryGuard {
    fn drop(&mut self) {
        self.query.took = self.started.elapsed();
        let mut queries = lock(&self.history.queries);
        if queries.len() == QUERIES {
            queries.pop_front();
        }
        queries.push_back(self.query.clone());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
