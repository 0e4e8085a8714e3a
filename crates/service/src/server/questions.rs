//! Questions: answered with a kept result or by an evaluation, while the asker waits or as [jobs](super::jobs).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use tfhe_sbc_transport::files::FileError;
use tfhe_sbc_transport::jobs::{Job, JobId, JobList, NoJobId};
use tfhe_sbc_transport::protocol::{
    BOOTSTRAPS_HEADER, MAX_TAG, NO_CACHE, SECONDS_HEADER, TAG_HEADER,
};
use tfhe_sbc_transport::role::{Action, Subject};

use super::application::{Application, Shared};
use super::body::Received;
use super::error::Refusal;
use super::evaluation::Place;
use super::jobs::{Answered, Jobs, NewJob};
use super::routes::{authorize, selection};
use crate::backend::Evaluation;
use crate::metrics::Metrics;
use crate::results::{Computed, Keeping, KeptResult, KeptResults, ResultKey};
use crate::store::{StoreError, StoredReadings};

/// The results and the jobs that a server keeps.
pub(super) struct Kept {
    results: Arc<KeptResults>,
    jobs: Jobs,
    metrics: Arc<Metrics>,
}

impl Kept {
    /// Opens the directory of results and jobs; `None` if the server is to keep none.
    pub(super) fn open(
        keeping: &Keeping,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>, FileError> {
        let Some(directory) = &keeping.directory else {
            return Ok(None);
        };
        let results = KeptResults::open(&directory.join("results"), keeping)?;
        let results = Arc::new(results);
        let list = directory.join("jobs");
        let jobs = Jobs::open(
            &list,
            keeping.age,
            Arc::clone(&results),
            Arc::clone(metrics),
        )?;
        let metrics = Arc::clone(metrics);
        let kept = Self {
            results,
            jobs,
            metrics,
        };
        kept.expire(SystemTime::now());
        Ok(Some(kept))
    }

    /// Removes what is too old.
    pub(super) fn expire(&self, now: SystemTime) {
        self.jobs.expire(now);
        self.results.expire(now);
        self.measure();
    }

    /// Keeps a result.
    fn keep(&self, key: ResultKey, evaluation: &Evaluation, took: Duration) -> Result<(), Refusal> {
        let kept = self.results.keep(key, evaluation, took);
        self.measure();
        match kept {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::too_long_to_keep(evaluation.result.len() as u64)),
            Err(error) => Err(StoreError::from(error).into()),
        }
    }

    /// Sets the metrics to what is kept now.
    fn measure(&self) {
        let (results, bytes) = self.results.count();
        self.metrics.set_kept(results, bytes);
    }
}

/// A question that has passed the checks of its request.
struct Question {
    selected: Vec<StoredReadings>,
    place: Place,
    body: Received,
    /// The name of its result.
    key: ResultKey,
    /// Whether only an evaluation will do.
    is_fresh: bool,
    /// The client's tag.
    tag: String,
}

/// An answer to a question.
struct Answer {
    result: Vec<u8>,
    computed: Computed,
    /// The time for which the result has been kept, if it was not computed for this question.
    kept_for: Option<Duration>,
    /// Whether the result is kept for later.
    kept: Result<(), Refusal>,
}

impl Answer {
    fn of_kept(kept: KeptResult) -> Self {
        Self {
            result: kept.result,
            computed: kept.computed,
            kept_for: Some(kept.age),
            kept: Ok(()),
        }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let Computed {
            bootstraps,
            seconds,
        } = self.computed;
        let headers = [
            (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
            (
                HeaderName::from_static(BOOTSTRAPS_HEADER),
                bootstraps.to_string(),
            ),
            (
                HeaderName::from_static(SECONDS_HEADER),
                format!("{seconds:.3}"),
            ),
        ];
        let age = self
            .kept_for
            .map(|age| [(header::AGE, age.as_secs().to_string())]);
        match age {
            Some(age) => (headers, age, Body::from(self.result)).into_response(),
            None => (headers, Body::from(self.result)).into_response(),
        }
    }
}

impl Application {
    /// Checks the request of a question and takes it in.
    async fn take_question(
        self: &Arc<Self>,
        peer: &Subject,
        path: Result<Path<String>, PathRejection>,
        url_query: RawQuery,
        request: Request,
    ) -> Result<Question, Refusal> {
        let gates = async {
            authorize(peer, Action::Query)?;
            let selected = self.select(selection(path, url_query)?).await?;
            Ok((selected, self.queue().enter()?))
        };
        let (selected, place) = match gates.await {
            Ok(passed) => passed,
            Err(refusal) => return Err(self.bodies().refuse(request, refusal).await),
        };
        let tag = tag(&request);
        let control = request.headers().get(header::CACHE_CONTROL);
        let is_fresh = control.is_some_and(|value| value == NO_CACHE);
        let body = self
            .bodies()
            .read(request, self.limits().query_bytes)
            .await?;
        let ids = selected.iter().map(|readings| readings.id);
        Ok(Question {
            key: ResultKey::of(&peer.name, &body.bytes, ids),
            selected,
            place,
            body,
            is_fresh,
            tag,
        })
    }

    /// Answers a question with a kept result, or evaluates it and keeps the result.
    async fn answer_question(
        self: &Arc<Self>,
        asker: Arc<str>,
        question: Question,
    ) -> Result<Answer, Refusal> {
        let remembered = self.history().begin(asker, question.selected.len());
        let Question { key, is_fresh, .. } = question;
        if !is_fresh && let Some(kept) = self.kept_result(key).await? {
            self.metrics().count_kept_answer();
            remembered.end("answered", 0);
            return Ok(Answer::of_kept(kept));
        }
        let Question {
            selected,
            place,
            body,
            tag,
            ..
        } = question;
        let evaluated = self.queue().evaluate(place, selected, body, tag).await;
        let evaluated = match evaluated {
            Ok(evaluated) => evaluated,
            Err(refusal) => {
                remembered.end(refusal.reason_label(), 0);
                return Err(refusal);
            }
        };
        remembered.end("answered", evaluated.evaluation.bootstraps);
        self.blocking(move |this| {
            let (evaluation, took) = (evaluated.evaluation, evaluated.took);
            let kept = match this.kept() {
                None => Ok(()),
                Some(kept) => kept.keep(key, &evaluation, took),
            };
            Ok(Answer {
                computed: Computed {
                    bootstraps: evaluation.bootstraps,
                    seconds: took.as_secs_f64(),
                },
                result: evaluation.result,
                kept_for: None,
                kept,
            })
        })
        .await
    }

    async fn kept_result(self: &Arc<Self>, key: ResultKey) -> Result<Option<KeptResult>, Refusal> {
        self.blocking(move |this| Ok(this.kept().and_then(|kept| kept.results.get(key))))
            .await
    }

    /// Does something with the jobs of an owner.
    async fn with_jobs<T: Send + 'static>(
        self: &Arc<Self>,
        peer: &Subject,
        work: impl FnOnce(&Kept, &Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        authorize(peer, Action::Query)?;
        self.blocking(move |this| work(this.kept().ok_or_else(Refusal::no_jobs_here)?, this))
            .await
    }
}

/// Returns the client's tag for its query; empty if the tag is not allowed.
fn tag(request: &Request) -> String {
    let given = request.headers().get(TAG_HEADER);
    let given = given.and_then(|value| value.to_str().ok());
    let allowed =
        |tag: &&str| tag.len() <= MAX_TAG && tag.bytes().all(|byte| byte.is_ascii_alphanumeric());
    given.filter(allowed).unwrap_or_default().to_owned()
}

/// Reads the id of a job.
fn job_id(id: Result<Path<String>, PathRejection>) -> Result<JobId, Refusal> {
    let Path(id) = id.map_err(Refusal::bad_job_id)?;
    id.parse()
        .map_err(|error: NoJobId| Refusal::bad_job_id(error))
}

/// Answers a question while the asker waits.
pub(super) async fn query(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    path: Result<Path<String>, PathRejection>,
    url_query: RawQuery,
    request: Request,
) -> Result<Response, Refusal> {
    let question = (application.take_question(&peer, path, url_query, request)).await?;
    let answer = application.answer_question(peer.name, question).await?;
    Ok(answer.into_response())
}

/// Takes a question as a job, and answers it when its turn comes.
pub(super) async fn ask(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    path: Result<Path<String>, PathRejection>,
    url_query: RawQuery,
    request: Request,
) -> Result<Response, Refusal> {
    if application.kept().is_none() {
        let refusal = Refusal::no_jobs_here();
        return Err(application.bodies().refuse(request, refusal).await);
    }
    let selection = match (&path, &url_query) {
        (Ok(Path(path)), RawQuery(Some(query))) => format!("{path}?{query}"),
        (Ok(Path(path)), RawQuery(None)) => path.clone(),
        (Err(_), _) => String::new(),
    };
    let question = (application.take_question(&peer, path, url_query, request)).await?;
    let new = NewJob {
        owner: peer.name.as_ref().to_owned(),
        selection,
        uploads: question.selected.len() as u64,
        key: question.key,
    };
    let begun = application
        .with_jobs(&peer, |kept, _| {
            Ok(kept.jobs.begin(new).map_err(StoreError::from)?)
        })
        .await?;
    let (id, owner) = (begun.id, peer.name);
    let question = Question {
        tag: id.to_string(),
        ..question
    };
    let answering = Arc::clone(&application);
    let task = tokio::spawn(async move {
        let answer = answering.answer_question(owner, question).await;
        let answer = answer.and_then(|answer| {
            answer.kept?;
            Ok(Answered {
                computed: answer.computed,
                was_kept: answer.kept_for.is_some(),
            })
        });
        if let Err(refusal) = &answer {
            answering.metrics().count_rejection(refusal.reason());
        }
        let ended = answering.blocking(move |this| {
            if let Some(kept) = this.kept() {
                kept.jobs.end(id, answer);
            }
            Ok(())
        });
        // The work itself does not fail.
        let _ = ended.await;
    });
    if let Some(kept) = application.kept() {
        kept.jobs.attach(id, task.abort_handle());
    }
    Ok((StatusCode::ACCEPTED, Json(begun)).into_response())
}

/// Lists the jobs of the asker.
pub(super) async fn list(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
) -> Result<Json<JobList>, Refusal> {
    let owner = Arc::clone(&peer.name);
    let list = application.with_jobs(&peer, move |kept, this| {
        Ok(JobList {
            jobs: kept.jobs.of(&owner, &this.queue().status()),
        })
    });
    list.await.map(Json)
}

/// Shows a job of the asker.
pub(super) async fn show(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Job>, Refusal> {
    let owner = Arc::clone(&peer.name);
    let job = application.with_jobs(&peer, move |kept, this| {
        kept.jobs.find(&owner, job_id(id)?, &this.queue().status())
    });
    job.await.map(Json)
}

/// Returns the result of a job of the asker.
pub(super) async fn result(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    let owner = Arc::clone(&peer.name);
    let result = application.with_jobs(&peer, move |kept, _| {
        let id = job_id(id)?;
        let key = kept.jobs.result_of(&owner, id)?;
        let result = kept.results.get(key);
        result.ok_or_else(|| Refusal::result_is_gone(id))
    });
    Ok(Answer::of_kept(result.await?).into_response())
}

/// Calls a job of the asker off, or removes it if it has ended.
pub(super) async fn cancel(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Job>, Refusal> {
    let owner = Arc::clone(&peer.name);
    let job = application.with_jobs(&peer, move |kept, this| {
        kept.jobs
            .cancel(&owner, job_id(id)?, &this.queue().status())
    });
    job.await.map(Json)
}
