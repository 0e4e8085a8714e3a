//! The queue before the backend. Evaluations take minutes and all cores, so few run at a time, some
//! wait, and the rest are told to come back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Limits;
use super::body::Received;
use super::error::Refusal;
use crate::backend::{Backend, Evaluation};
use crate::metrics::Metrics;
use crate::store::{Store, StoredReadings};
use tfhe_sbc_query::evaluate::StoredUpload;
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_transport::protocol::{RunningQuery, Status};

const RETRY_AFTER_SECONDS: u32 = 10;
/// The time between two looks whether a query of nobody who waits can have a turn.
const BEHIND_PAUSE: Duration = Duration::from_millis(50);
/// The tag of such a query.
const BEHIND_TAG: &str = "standing";

/// The queue: it lets queries in and runs them in turn.
pub(super) struct EvaluationQueue {
    store: Arc<Store>,
    backend: Arc<dyn Backend>,
    metrics: Arc<Metrics>,
    /// One permit for each query that runs or waits.
    places: Arc<Semaphore>,
    /// One permit for each query that runs.
    turns: Arc<Semaphore>,
    running: Arc<Mutex<Vec<Arc<Running>>>>,
    /// The evaluation that gives way to queries, if there is one.
    behind: Mutex<Option<Arc<Progress>>>,
}

/// A query that runs.
struct Running {
    tag: String,
    progress: Arc<Progress>,
    started: Instant,
}

/// A query's place among those that run, free again when dropped.
struct Listed {
    list: Arc<Mutex<Vec<Arc<Running>>>>,
    query: Arc<Running>,
}

impl Listed {
    fn new(list: &Arc<Mutex<Vec<Arc<Running>>>>, tag: String, progress: &Arc<Progress>) -> Self {
        let query = Arc::new(Running {
            tag,
            progress: Arc::clone(progress),
            started: Instant::now(),
        });
        lock(list).push(Arc::clone(&query));
        Self {
            list: Arc::clone(list),
            query,
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        lock(&self.list).retain(|query| !Arc::ptr_eq(query, &self.query));
    }
}

fn lock(list: &Mutex<Vec<Arc<Running>>>) -> MutexGuard<'_, Vec<Arc<Running>>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A query's place in the queue, free again when dropped.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
}

/// An evaluation and the time it took, waiting excluded.
pub(super) struct Evaluated {
    pub(super) evaluation: Evaluation,
    pub(super) took: Duration,
}

impl EvaluationQueue {
    pub(super) fn new(
        limits: &Limits,
        store: Arc<Store>,
        backend: Arc<dyn Backend>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let running = limits.evaluations.clamp(1, Semaphore::MAX_PERMITS / 2);
        let waiting = limits.waiting_queries.min(Semaphore::MAX_PERMITS / 2);
        let places = Arc::new(Semaphore::new(running + waiting));
        Self {
            store,
            backend,
            metrics,
            places,
            turns: Arc::new(Semaphore::new(running)),
            running: Arc::default(),
            behind: Mutex::default(),
        }
    }

    /// Returns a place, unless the queue is full.
    pub(super) fn enter(&self) -> Result<Place, Refusal> {
        Arc::clone(&self.places)
            .try_acquire_owned()
            .map(|permit| Place { _permit: permit })
            .map_err(|_| {
                Refusal::busy(
                    "the server is busy with other queries and its queue is full",
                    RETRY_AFTER_SECONDS,
                )
            })
    }

    /// Returns the queries that run, and the number of those that wait.
    pub(super) fn status(&self) -> Status {
        let running = lock(&self.running);
        let running = running.iter().map(|query| RunningQuery {
            tag: query.tag.clone(),
            bootstraps: query.progress.bootstraps(),
            expected: query.progress.expected_bootstraps(),
            seconds: query.started.elapsed().as_secs_f64(),
        });
        Status {
            running: running.collect(),
            waiting: self.metrics.evaluations_waiting.get(),
        }
    }

    /// Waits for the query's turn and evaluates it. If the caller goes away meanwhile, this future
    /// is dropped and the evaluation is told to stop.
    pub(super) async fn evaluate(
        &self,
        place: Place,
        selected: Vec<StoredReadings>,
        query: Received,
        tag: String,
    ) -> Result<Evaluated, Refusal> {
        let waiting = self.metrics.evaluations_waiting.enter();
        let turn = match Arc::clone(&self.turns).try_acquire_owned() {
            Ok(turn) => turn,
            Err(_) => {
                self.call_off_behind();
                let turn = Arc::clone(&self.turns).acquire_owned().await;
                turn.map_err(|_| Refusal::internal("the server is stopping"))?
            }
        };
        drop(waiting);
        let progress = Arc::new(Progress::counting_into(self.metrics.bootstraps()));
        let _cancel = CancelOnDrop(Arc::clone(&progress));
        let evaluated = self.work((place, turn), selected, query, tag, progress);
        let evaluated = evaluated.await?;
        self.metrics.count_query(evaluated.took);
        Ok(evaluated)
    }

    /// Waits until no query wants a turn, and evaluates one of nobody who waits. It takes no place from those who do. If it
    /// `gives_way`, it is called off as soon as another query wants its turn.
    pub(super) async fn evaluate_behind(
        &self,
        selected: Vec<StoredReadings>,
        query: Vec<u8>,
        gives_way: bool,
    ) -> Result<Evaluated, Refusal> {
        let progress = Arc::new(Progress::counting_into(self.metrics.bootstraps()));
        let _cancel = CancelOnDrop(Arc::clone(&progress));
        let turn = loop {
            if self.metrics.evaluations_waiting.get() == 0 {
                // A query that comes between the two calls off what has not begun yet.
                *self.behind() = gives_way.then(|| Arc::clone(&progress));
                if let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() {
                    break turn;
                }
                *self.behind() = None;
            }
            tokio::time::sleep(BEHIND_PAUSE).await;
        };
        let evaluated = self.work(turn, selected, query, BEHIND_TAG.to_owned(), progress);
        let evaluated = evaluated.await;
        *self.behind() = None;
        evaluated
    }

    /// Calls off what is evaluated behind the queries, unless it has given way often enough.
    pub(super) fn call_off_behind(&self) {
        if let Some(progress) = &*self.behind() {
            progress.cancel();
        }
    }

    fn behind(&self) -> MutexGuard<'_, Option<Arc<Progress>>> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Evaluates a query that has a turn. `held` is held until the work has ended, even if no caller waits for it.
    async fn work(
        &self,
        held: impl Send + 'static,
        selected: Vec<StoredReadings>,
        query: impl AsRef<[u8]> + Send + 'static,
        tag: String,
        progress: Arc<Progress>,
    ) -> Result<Evaluated, Refusal> {
        let running = self.metrics.evaluations_running.enter();
        let listed = Listed::new(&self.running, tag, &progress);
        let (store, backend) = (Arc::clone(&self.store), Arc::clone(&self.backend));
        let work = tokio::task::spawn_blocking(move || {
            let _held = (held, running, listed);
            let started = Instant::now();
            let evaluated = (|| {
                let bytes = selected.iter().map(|readings| store.get(&readings.id));
                let bytes = bytes.collect::<Result<Vec<_>, _>>()?;
                let readings = selected.iter().zip(&bytes);
                let readings = readings.map(|(readings, bytes)| StoredUpload {
                    device: Some(&readings.uploader),
                    bytes,
                });
                let readings: Vec<StoredUpload<'_>> = readings.collect();
                Ok::<_, Refusal>(backend.evaluate(&readings, query.as_ref(), &progress)?)
            })();
            // An evaluation may have held gigabytes, which the allocator would keep.
            tfhe_sbc_core::memory::give_back();
            let evaluation = evaluated?;
            // The bootstraps that the backend has not reported on its way are added here.
            progress.add_bootstraps(evaluation.bootstraps.saturating_sub(progress.bootstraps()));
            Ok(Evaluated {
                evaluation,
                took: started.elapsed(),
            })
        });
        work.await.unwrap_or_else(|panic| {
            tracing::error!(%panic, "the backend panicked");
            Err(Refusal::internal("the evaluation failed"))
        })
    }
}

struct CancelOnDrop(Arc<Progress>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
