//! What the server answers. Each handler reads as the list of gates that its
//! request passes.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde_json::json;

use super::Limits;
use super::body::{BodyReader, Received};
use super::counted::Heard;
use super::error::Refusal;
use super::evaluation::EvaluationQueue;
use crate::backend::Backend;
use crate::metrics::{Metrics, Rejection};
use crate::protocol::{
    BOOTSTRAPS_HEADER, HEALTH_PATH, MAX_TAG, METRICS_PATH, QUERY_PATH, READINGS_PATH, READY_PATH,
    ReadingsList, SECONDS_HEADER, STATUS_PATH, Selection, Status, TAG_HEADER, UploadReceipt,
};
use crate::revocation::ClientVerifier;
use crate::role::{Action, Peer};
use crate::store::{BlobId, Store, StoreError, Stored};

const LISTED_AT_MOST: usize = 1000;

/// What all requests share.
pub(super) struct Application {
    limits: Limits,
    store: Arc<Store>,
    backend: Arc<dyn Backend>,
    metrics: Arc<Metrics>,
    bodies: BodyReader,
    queue: EvaluationQueue,
    clients: Arc<ClientVerifier>,
}

type Shared = State<Arc<Application>>;

impl Application {
    pub(super) fn new(
        limits: Limits,
        store: Arc<Store>,
        backend: Arc<dyn Backend>,
        metrics: Arc<Metrics>,
        clients: Arc<ClientVerifier>,
    ) -> Self {
        let bodies = BodyReader::new(limits.clone());
        let queue = EvaluationQueue::new(
            &limits,
            Arc::clone(&store),
            Arc::clone(&backend),
            Arc::clone(&metrics),
        );
        Self {
            limits,
            store,
            backend,
            metrics,
            bodies,
            queue,
            clients,
        }
    }

    /// Whether so many connections are open that none should stay so without need.
    fn is_crowded(&self) -> bool {
        self.metrics.connections.get()
            > (self.limits.connections - self.limits.connections / 4) as u64
    }

    /// Work on the disk or on large inputs, away from the network threads.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let this = Arc::clone(self);
        tokio::task::spawn_blocking(move || work(&this))
            .await
            .unwrap_or_else(|panic| {
                tracing::error!(%panic, "a request panicked");
                Err(Refusal::internal("the request failed"))
            })
    }

    /// The stored readings that a query is about. Together they may be as large as one
    /// upload, which is what the server is prepared to hold.
    async fn select(self: &Arc<Self>, selection: String) -> Result<Vec<BlobId>, Refusal> {
        let selection: Selection = selection.parse().map_err(Refusal::bad_id)?;
        self.blocking(move |this| {
            let ids = match selection {
                Selection::Latest => {
                    return match this.store.latest()? {
                        Some(latest) => Ok(vec![latest.id]),
                        None => Err(Refusal::nothing_stored()),
                    };
                }
                Selection::Ids(ids) => ids,
            };
            let mut bytes = 0;
            for &id in &ids {
                let found = this.store.find(&id)?;
                bytes += found.ok_or(StoreError::NotFound { id })?.bytes;
            }
            if ids.len() > 1 && bytes > this.limits.upload_bytes as u64 {
                return Err(Refusal::too_much(bytes, this.limits.upload_bytes));
            }
            Ok(ids)
        })
        .await
    }
}

/// The paths and who answers them. The caller of the result adds a [`Peer`] as
/// extension.
pub(super) fn router(application: Arc<Application>) -> Router {
    Router::new()
        .route(READINGS_PATH, post(upload).get(list))
        .route(&format!("{QUERY_PATH}{{selection}}"), post(query))
        .route(STATUS_PATH, get(status))
        .route(HEALTH_PATH, get(health))
        .route(READY_PATH, get(ready))
        .route(METRICS_PATH, get(metrics))
        .fallback(async || Refusal::no_such_path())
        .method_not_allowed_fallback(async || Refusal::wrong_method())
        .layer(middleware::from_fn_with_state(
            Arc::clone(&application),
            observe,
        ))
        .with_state(application)
}

/// What a client gets that has too many connections open.
pub(super) fn refusing_router(application: Arc<Application>) -> Router {
    let refuse = async |State(application): Shared, request: Request| {
        let refusal = Refusal::too_many_connections(application.limits.connections_per_client);
        Err::<Response, _>(application.bodies.refuse(request, refusal).await)
    };
    Router::new()
        .fallback(refuse)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&application),
            observe,
        ))
        .with_state(application)
}

async fn upload(
    State(application): Shared,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, Refusal> {
    let bodies = &application.bodies;
    if let Err(refusal) = authorize(&peer, Action::Upload) {
        return Err(bodies.refuse(request, refusal).await);
    }
    let body = bodies
        .read(request, application.limits.upload_bytes)
        .await?;
    let receipt = application
        .blocking(move |this| {
            let body: Received = body;
            let summary = this.backend.check_upload(&body.bytes)?;
            let (readings, stored) = this.store.put(&body.bytes, &peer.name, &summary)?;
            Ok(UploadReceipt::new(readings, stored == Stored::New))
        })
        .await?;
    application
        .metrics
        .count_upload(receipt.created, receipt.bytes);
    let status = if receipt.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(receipt)).into_response())
}

async fn list(
    State(application): Shared,
    Extension(peer): Extension<Peer>,
) -> Result<Json<ReadingsList>, Refusal> {
    authorize(&peer, Action::List)?;
    let readings = application
        .blocking(|this| Ok(this.store.list(LISTED_AT_MOST)?))
        .await?;
    Ok(Json(ReadingsList {
        readings: readings.into_iter().map(Into::into).collect(),
    }))
}

async fn query(
    State(application): Shared,
    Extension(peer): Extension<Peer>,
    selection: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response, Refusal> {
    let gates = async {
        authorize(&peer, Action::Query)?;
        let Path(selection) = selection.map_err(Refusal::bad_id)?;
        Ok((
            application.select(selection).await?,
            application.queue.enter()?,
        ))
    };
    let (ids, place) = match gates.await {
        Ok(passed) => passed,
        Err(refusal) => return Err(application.bodies.refuse(request, refusal).await),
    };
    let tag = tag(&request);
    let body = application
        .bodies
        .read(request, application.limits.query_bytes)
        .await?;
    let evaluated = application.queue.evaluate(place, ids, body, tag).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (
            HeaderName::from_static(BOOTSTRAPS_HEADER),
            evaluated.evaluation.bootstraps.to_string(),
        ),
        (
            HeaderName::from_static(SECONDS_HEADER),
            format!("{:.3}", evaluated.took.as_secs_f64()),
        ),
    ];
    Ok((headers, Body::from(evaluated.evaluation.result)).into_response())
}

/// What the client calls its query; nothing, if it calls it what it may not.
fn tag(request: &Request) -> String {
    let given = request.headers().get(TAG_HEADER);
    let given = given.and_then(|value| value.to_str().ok());
    let allowed =
        |tag: &&str| tag.len() <= MAX_TAG && tag.bytes().all(|byte| byte.is_ascii_alphanumeric());
    given.filter(allowed).unwrap_or_default().to_owned()
}

async fn status(
    State(application): Shared,
    Extension(peer): Extension<Peer>,
) -> Result<Json<Status>, Refusal> {
    authorize(&peer, Action::Query)?;
    Ok(Json(application.queue.status()))
}

async fn health(Extension(peer): Extension<Peer>) -> Result<Response, Refusal> {
    authorize(&peer, Action::Observe)?;
    Ok(Json(json!({ "status": "ok" })).into_response())
}

async fn ready(
    State(application): Shared,
    Extension(peer): Extension<Peer>,
) -> Result<Response, Refusal> {
    authorize(&peer, Action::Observe)?;
    let checked = application.blocking(|this| Ok(this.store.check()?)).await;
    match checked {
        Ok(()) => Ok(Json(json!({ "status": "ok" })).into_response()),
        Err(_) => Err(Refusal::busy("the server's store cannot be used", 10)),
    }
}

async fn metrics(
    State(application): Shared,
    Extension(peer): Extension<Peer>,
) -> Result<Response, Refusal> {
    authorize(&peer, Action::Observe)?;
    let format = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok((format, application.metrics.render()).into_response())
}

fn authorize(peer: &Peer, action: Action) -> Result<(), Refusal> {
    if peer.may(action) {
        Ok(())
    } else {
        Err(Refusal::forbidden(peer, action))
    }
}

/// Logs and counts every request, by what it was and not by what it held.
async fn observe(
    State(application): Shared,
    Extension(peer): Extension<Peer>,
    Extension(heard): Extension<Heard>,
    request: Request,
    next: Next,
) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let started = Instant::now();
    let mut response = if application.clients.look().is_revoked(&peer.id) {
        Refusal::revoked(&peer).into_response()
    } else {
        next.run(request).await
    };
    if let Some(reason) = response.extensions().get::<Rejection>() {
        application.metrics.count_rejection(*reason);
    }
    heard.answered();
    if application.is_crowded() {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    let status = response.status().as_u16();
    let milliseconds = started.elapsed().as_millis();
    if [HEALTH_PATH, READY_PATH, METRICS_PATH, STATUS_PATH].contains(&path.as_str()) {
        tracing::debug!(peer = ?peer.name, %method, path, status, milliseconds, "request");
    } else {
        tracing::info!(peer = ?peer.name, %method, path, status, milliseconds, "request");
    }
    response
}
