//! Standing queries: questions that the server keeps, and answers for each period of time once it is over.
//!
//! A look, every second, finds the periods that are over and those for which uploads have come since; its work is about what has changed.
//! Then the periods are computed one by one, behind the queries of those who wait: a period takes no place in their queue, begins
//! when none wants a turn, and is called off when one does. After some such times it is computed to its end.
//!
//! A result remembers the uploads that it was computed from. If some of these are gone, and it was not the owner who removed them,
//! retention did: the result then stays as it is, because what is left of the readings would give a worse one.

mod definition;
mod ledger;
mod queries;
mod query;
mod refusals;
mod routes;
mod schedule;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use super::application::Application;
use super::error::Refusal;
use crate::metrics::Rejection;
use crate::store::StoreError;
pub(super) use queries::StandingQueries;
pub(super) use routes::routes;
use schedule::{Next, Outcome, Work};

/// The time between two looks for uploads that have come and for periods that are over.
const LOOK: Duration = Duration::from_secs(1);
/// The time after a failure of the store in which nothing is tried.
const PAUSE: Duration = Duration::from_secs(30);

/// The bounds of the standing queries that a server keeps, and where it keeps them.
#[derive(Debug, Clone)]
pub struct StandingConfig {
    /// The directory; `None` for a server that takes no standing queries.
    pub directory: Option<PathBuf>,
    /// The most bytes of all results together. If they have no room, no further ones are computed: none are removed.
    pub bytes: u64,
    /// The clock by which periods are over.
    pub clock: Clock,
}

impl Default for StandingConfig {
    fn default() -> Self {
        Self {
            directory: None,
            bytes: 4 << 30,
            clock: Clock::default(),
        }
    }
}

/// A clock: that of the system, or one that stands where a test has put it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// Returns the clock that tells what a function returns.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the time.
    pub fn now(&self) -> SystemTime {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

/// Computes the periods of standing queries until the server stops.
pub(super) async fn run(application: Arc<Application>, mut stopping: watch::Receiver<bool>) {
    let Some(standing) = application.standing() else {
        return;
    };
    loop {
        let pause = tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => return,
            // What is dropped here is called off, and computed at the next start.
            pause = go_on(&application) => pause,
        };
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = tokio::time::sleep(pause) => {}
            () = standing.wake.notified() => {}
        }
    }
}

/// Looks once, and computes until there is nothing more to compute. Returns the time until the next look.
async fn go_on(application: &Arc<Application>) -> Duration {
    loop {
        let next = application.blocking(|this| {
            let Some(standing) = this.standing() else {
                return Ok(Next::Nothing);
            };
            standing.look(this.store(), this.backend())?;
            let most = this.limits().selected_bytes as u64;
            Ok(standing.next(this.store(), this.backend(), most)?)
        });
        let done = match next.await {
            Ok(Next::Nothing) => return LOOK,
            Ok(Next::Again) => Ok(()),
            Ok(Next::Compute(work)) => compute(application, *work).await,
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = done {
            let error = refusal.into_body().error;
            tracing::error!(
                error,
                "standing queries wait for {} seconds",
                PAUSE.as_secs()
            );
            return PAUSE;
        }
    }
}

/// Computes a period.
///
/// # Errors
/// A disk that is full or fails.
async fn compute(application: &Arc<Application>, mut work: Work) -> Result<(), Refusal> {
    let (owner, name) = (work.owner().to_owned(), work.name().clone());
    let (from, uploads) = (work.from, work.uploads.len());
    let request = std::mem::take(&mut work.request);
    let evaluated =
        application
            .queue()
            .evaluate_behind(work.uploads.clone(), request, work.gives_way);
    let outcome = match evaluated.await {
        Ok(evaluated) => {
            let seconds = evaluated.took.as_secs_f64();
            let bootstraps = evaluated.evaluation.bootstraps;
            tracing::info!(?owner, %name, %from, uploads, bootstraps, seconds, "computed a period of a standing query");
            Outcome::Computed(evaluated)
        }
        Err(refusal) if refusal.is_about_no_rows() => Outcome::NoRows,
        Err(refusal) if refusal.reason() == Rejection::Cancelled => {
            tracing::debug!(?owner, %name, %from, "a period of a standing query gave way to a query");
            Outcome::GaveWay
        }
        // One of the uploads was removed since they were selected: what is left is another selection.
        Err(refusal) if refusal.reason() == Rejection::NotFound => return Ok(()),
        Err(refusal) => {
            tracing::warn!(?owner, %name, %from, uploads, error = refusal.message(), "a period of a standing query failed");
            Outcome::Failed(refusal)
        }
    };
    application
        .blocking(move |this| match this.standing() {
            Some(standing) => Ok(standing.finish(work, outcome)?),
            None => Ok(()),
        })
        .await
}

impl Application {
    /// Calls off the period that is being computed, if it `is_computing` for nothing from now on.
    fn call_off(&self, is_computing: bool) {
        if is_computing {
            self.queue().call_off_behind();
        }
    }

    /// Removes an upload for its owner.
    pub(super) fn remove_upload(
        &self,
        id: &tfhe_sbc_transport::BlobId,
    ) -> Result<crate::store::StoredReadings, StoreError> {
        let remove = || self.store().remove(id);
        match self.standing() {
            Some(standing) => standing.removing(self.store(), self.backend(), id, remove),
            None => remove(),
        }
    }
}
