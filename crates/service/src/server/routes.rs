//! The server's answers. Each handler reads as the list of checks that its request passes.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde_json::json;

use super::Limits;
use super::body::{self, BodyReader, Received};
use super::counted::Heard;
use super::error::Refusal;
use super::evaluation::EvaluationQueue;
use super::frames;
use super::history::History;
use super::page::{self, Page, STYLE_PATH};
use super::questions::{self, Kept};
use super::replies;
use super::short_uploads;
use super::standing::{self, StandingQueries};
use crate::backend::{Backend, Uploader};
use crate::client_verifier::ClientVerifier;
use crate::frames::Frames;
use crate::metrics::{Metrics, Rejection};
use crate::store::{Store, StoreError, Stored, StoredReadings};
use tfhe_sbc_transport::catalogue::{Filter, Names};
use tfhe_sbc_transport::exposition;
use tfhe_sbc_transport::jobs::JOBS_PATH;
use tfhe_sbc_transport::mqtt::answer::Answer;
use tfhe_sbc_transport::protocol::{
    COLUMNS_PATH, ColumnList, HEALTH_PATH, METRICS_PATH, PAGE_PATH, QUERY_PATH, READINGS_PATH,
    READY_PATH, ReadingsEntry, ReadingsList, STATUS_PATH, Selection, SelectionError, Status,
    UploadReceipt,
};
use tfhe_sbc_transport::role::{Action, Role, Subject};
use tfhe_sbc_transport::{BlobId, BlobIdError};
use tfhe_sbc_upload::moments::Span;
use tfhe_sbc_upload::short::Definitions;

/// The most uploads on the status page.
const SHOWN_AT_MOST: u32 = 25;

/// The values that all requests share.
pub(super) struct Application {
    limits: Limits,
    store: Arc<Store>,
    backend: Arc<dyn Backend>,
    frames: Arc<Frames>,
    metrics: Arc<Metrics>,
    bodies: BodyReader,
    queue: EvaluationQueue,
    clients: Arc<ClientVerifier>,
    history: Arc<History>,
    kept: Option<Kept>,
    standing: Option<StandingQueries>,
    started: Instant,
}

/// The source of an uploader's name, and so what may be uploaded in it.
#[derive(Debug, Clone, Copy)]
enum Standing {
    Device,
    Topic,
    Owner,
}

pub(super) type Shared = State<Arc<Application>>;

impl Application {
    pub(super) fn new(
        limits: Limits,
        store: Arc<Store>,
        backend: Arc<dyn Backend>,
        frames: Arc<Frames>,
        metrics: Arc<Metrics>,
        clients: Arc<ClientVerifier>,
        (kept, standing): (Option<Kept>, Option<StandingQueries>),
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
            frames,
            metrics,
            bodies,
            queue,
            clients,
            history: Arc::default(),
            kept,
            standing,
            started: Instant::now(),
        }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn frames(&self) -> &Frames {
        &self.frames
    }

    pub(super) fn bodies(&self) -> &BodyReader {
        &self.bodies
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(super) fn queue(&self) -> &EvaluationQueue {
        &self.queue
    }

    pub(super) fn history(&self) -> &Arc<History> {
        &self.history
    }

    /// The results and jobs, if the server keeps any.
    pub(super) fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    /// The standing queries, if the server takes any.
    pub(super) fn standing(&self) -> Option<&StandingQueries> {
        self.standing.as_ref()
    }

    pub(super) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Reads a body that may be as large as an upload.
    pub(super) async fn read_upload(&self, request: Request) -> Result<Received, Refusal> {
        self.bodies.read(request, self.limits.upload_bytes).await
    }

    /// Returns whether so many connections are open that each should be closed after its answer.
    fn is_crowded(&self) -> bool {
        self.metrics.connections.get()
            > (self.limits.connections - self.limits.connections / 4) as u64
    }

    /// Does the work of every second: reads the list of revoked certificates, removes results and jobs that are too old, and
    /// samples the metrics.
    pub(super) fn tick(&self) {
        drop(self.clients.look());
        if let Some(kept) = &self.kept {
            kept.expire(SystemTime::now());
        }
        self.history.sample(&self.metrics);
    }

    /// Returns the status page.
    async fn page(self: &Arc<Self>) -> Result<Page, Refusal> {
        let (latest, uploaders) = self
            .blocking(|this| {
                let newest = Filter {
                    limit: Some(SHOWN_AT_MOST),
                    ..Filter::default()
                };
                Ok((this.store.list(&newest)?.readings, this.store.uploaders()))
            })
            .await?;
        Ok(Page {
            now: SystemTime::now(),
            up: self.started.elapsed(),
            uploaders,
            latest,
            status: self.queue.status(),
            standing: self.metrics.standing.get(),
            bootstraps: self.metrics.bootstrap_count(),
            connections: self.metrics.connections.get(),
            revoked: self.metrics.revoked_count(),
            rates: self.history.rates(),
            queries: self.history.queries(),
            rejections: self.metrics.rejections(),
            handshake_failures: self.metrics.handshake_failures(),
        })
    }

    /// Checks and stores an upload, which may be signed and in the short form.
    async fn take_in<B: AsRef<[u8]> + Send + 'static>(
        self: &Arc<Self>,
        uploader: Arc<str>,
        standing: Standing,
        upload: B,
    ) -> Result<UploadReceipt, Refusal> {
        let receipt = self
            .blocking(move |this| {
                let name = match standing {
                    Standing::Device => Uploader::Device(&uploader),
                    Standing::Topic => Uploader::Topic(&uploader),
                    Standing::Owner => Uploader::Owner,
                };
                let sent = this.backend.open(upload.as_ref(), name)?;
                let limit = this.limits.upload_bytes;
                let upload = &*short_uploads::restored(&this.store, &uploader, sent, limit)?;
                let summary = this.backend.check_upload(upload, name)?;
                let definitions = Definitions::of(upload);
                let (readings, stored) =
                    this.store
                        .put(upload, &uploader, &summary, definitions.as_ref())?;
                let kept = short_uploads::is_kept(&this.store, &uploader, definitions.as_ref());
                Ok(replies::receipt(readings, stored == Stored::New, kept))
            })
            .await?;
        self.metrics.count_upload(receipt.created, receipt.bytes);
        Ok(receipt)
    }

    /// Checks and stores an upload that came over a broker.
    pub(super) async fn answer(
        self: Arc<Self>,
        device: Arc<str>,
        id: BlobId,
        upload: Vec<u8>,
    ) -> Answer {
        let name = Arc::clone(&device);
        let answer = match self.take_in(device, Standing::Topic, upload).await {
            Ok(receipt) => {
                let status = match receipt.created {
                    true => StatusCode::CREATED,
                    false => StatusCode::OK,
                };
                Answer {
                    stored: (receipt.id != id).then_some(receipt.id),
                    definitions_kept: receipt.definitions_kept,
                    ..Answer::new(id, status.as_u16())
                }
            }
            Err(refusal) => {
                self.metrics.count_rejection(refusal.reason());
                refusal.into_answer(id)
            }
        };
        tracing::info!(peer = ?name, %id, status = answer.status, "upload over the broker");
        answer
    }

    /// Runs work on the disk or on large inputs away from the network threads.
    pub(super) async fn blocking<T: Send + 'static>(
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

    /// Returns the stored readings that a query is about.
    pub(super) async fn select(
        self: &Arc<Self>,
        selection: Selection,
    ) -> Result<Vec<StoredReadings>, Refusal> {
        self.blocking(move |this| {
            let most = this.limits.selected_bytes as u64;
            let selected = match selection {
                Selection::Latest => {
                    let uploaders = this.store.uploaders();
                    if uploaders.len() > 1 {
                        return Err(Refusal::whose_latest(&uploaders));
                    }
                    let latest = this.store.latest()?;
                    return Ok(vec![latest.ok_or_else(Refusal::nothing_stored)?]);
                }
                Selection::LatestOf(name) => {
                    let latest = this.store.latest_of(name.as_str())?;
                    let none = || Refusal::nothing_of(&name, &this.store.uploaders());
                    return Ok(vec![latest.ok_or_else(none)?]);
                }
                Selection::Ids(ids) => this.find_all(ids)?,
                Selection::Board(board, span) => {
                    let ids = this.store.readings_of_board(board, span)?;
                    match ids.is_empty() {
                        true => return Err(Refusal::no_frames(board)),
                        false => this.find_all(ids)?,
                    }
                }
                Selection::Stored(filter) => {
                    this.check_names(&filter.names)?;
                    let selected = this.store.select(&filter, most)?;
                    match selected.is_empty() {
                        true => return Err(this.nothing_selected(&filter)?),
                        false => selected,
                    }
                }
            };
            let bytes: u64 = selected.iter().map(|readings| readings.bytes).sum();
            match selected.len() > 1 && bytes > most {
                true => Err(Refusal::too_much(bytes, most)),
                false => Ok(selected),
            }
        })
        .await
    }

    fn find_all(&self, ids: Vec<BlobId>) -> Result<Vec<StoredReadings>, Refusal> {
        let found = ids.into_iter().map(|id| {
            let found = self.store.find(&id)?;
            Ok(found.ok_or(StoreError::NotFound { id })?)
        });
        found.collect()
    }

    /// Refuses names of which one has uploaded nothing: a question about the others alone would be another one.
    fn check_names(&self, names: &Names) -> Result<(), Refusal> {
        let uploaders = self.store.uploaders();
        let is_known = |name: &str| uploaders.iter().any(|uploader| uploader.name == name);
        let mut plain = names.patterns().iter();
        match plain.find(|name| !name.contains(['*', '?']) && !is_known(name)) {
            Some(unknown) if !uploaders.is_empty() => {
                Err(Refusal::no_such_device(unknown, &uploaders))
            }
            _ => Ok(()),
        }
    }

    /// Tells why no uploads meet a filter.
    fn nothing_selected(&self, filter: &Filter) -> Result<Refusal, Refusal> {
        let uploaders = self.store.uploaders();
        if uploaders.is_empty() {
            return Ok(Refusal::nothing_stored());
        }
        let of_devices = Filter {
            names: filter.names.clone(),
            limit: Some(1),
            ..Filter::ALL
        };
        Ok(match self.store.list(&of_devices)?.readings.first() {
            None => Refusal::no_such_device(&filter.names.to_string(), &uploaders),
            Some(latest) => Refusal::nothing_then(latest),
        })
    }
}

/// Reads the selection of a path, with the query of the URL behind it.
pub(super) fn selection(
    path: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Selection, Refusal> {
    let Path(path) = path.map_err(Refusal::bad_id)?;
    let text = match query {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    text.parse().map_err(|error| match error {
        SelectionError::Filter(error) => Refusal::bad_filter(&error),
        error => Refusal::bad_id(error),
    })
}

/// Returns the paths and their handlers. The caller of the result adds a [`Subject`] as extension.
pub(super) fn router(application: Arc<Application>) -> Router {
    Router::new()
        .route(READINGS_PATH, post(upload).get(list))
        .route(
            &format!("{READINGS_PATH}/{{id}}"),
            get(fetch).delete(remove),
        )
        .route(&format!("{COLUMNS_PATH}{{selection}}"), get(columns))
        .route(
            &format!("{QUERY_PATH}{{selection}}"),
            post(questions::query),
        )
        .route(JOBS_PATH, get(questions::list))
        .route(
            &format!("{JOBS_PATH}/{{id}}"),
            post(questions::ask)
                .get(questions::show)
                .delete(questions::cancel),
        )
        .route(
            &format!("{JOBS_PATH}/{{id}}/result"),
            get(questions::result),
        )
        .route(STATUS_PATH, get(status))
        .route(PAGE_PATH, get(owners_page))
        .route(STYLE_PATH, get(page::style))
        .route(HEALTH_PATH, get(health))
        .route(READY_PATH, get(ready))
        .route(METRICS_PATH, get(metrics))
        .merge(frames::routes())
        .merge(standing::routes())
        .fallback(async || Refusal::no_such_path())
        .method_not_allowed_fallback(async || Refusal::wrong_method())
        .layer(middleware::from_fn_with_state(
            Arc::clone(&application),
            observe,
        ))
        .with_state(application)
}

/// Returns the handler of the status page for browsers on this machine, and of nothing else.
pub(super) fn local_router(application: Arc<Application>) -> Router {
    let page = async |State(application): Shared, request: Request| {
        let host = request.headers().get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok());
        if host.is_some_and(page::is_local) {
            application.page().await
        } else {
            Err(Refusal::not_local())
        }
    };
    Router::new()
        .route(PAGE_PATH, get(page))
        .route(STYLE_PATH, get(page::style))
        .fallback(async || Refusal::no_such_path())
        .with_state(application)
}

/// Returns the answers for a client that has too many connections open.
pub(super) fn refusing_router(application: Arc<Application>) -> Router {
    let refuse = async |State(application): Shared, request: Request| {
        let refusal = Refusal::too_many_connections(application.limits.connections_per_client);
        Err::<Response, _>(body::refuse_briefly(request, refusal).await)
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
    Extension(peer): Extension<Subject>,
    request: Request,
) -> Result<Response, Refusal> {
    let bodies = &application.bodies;
    if let Err(refusal) = authorize(&peer, Action::Upload) {
        return Err(bodies.refuse(request, refusal).await);
    }
    let body = application.read_upload(request).await?;
    let standing = match peer.role {
        Some(Role::Owner) => Standing::Owner,
        Some(Role::Device) | None => Standing::Device,
    };
    let receipt = application.take_in(peer.name, standing, body).await?;
    let status = if receipt.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(receipt)).into_response())
}

async fn list(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    RawQuery(query): RawQuery,
) -> Result<Json<ReadingsList>, Refusal> {
    authorize(&peer, Action::List)?;
    let filter = Filter::from_query(query.as_deref().unwrap_or_default());
    let filter = filter.map_err(|error| Refusal::bad_filter(&error))?;
    let listed = application
        .blocking(move |this| Ok(this.store.list(&filter)?))
        .await?;
    Ok(Json(ReadingsList {
        readings: listed.readings.into_iter().map(replies::entry).collect(),
        next: listed.next,
    }))
}

/// Returns the bytes of an upload.
async fn fetch(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    authorize(&peer, Action::Fetch)?;
    let id = upload_id(id)?;
    let bytes = application
        .blocking(move |this| Ok(this.store.get(&id)?))
        .await?;
    let format = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((format, Body::from(bytes)).into_response())
}

/// Removes an upload, and tells what it was.
async fn remove(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<ReadingsEntry>, Refusal> {
    authorize(&peer, Action::Remove)?;
    let id = upload_id(id)?;
    let removed = application
        .blocking(move |this| Ok(this.remove_upload(&id)?))
        .await?;
    tracing::info!(peer = ?peer.name, %id, uploader = removed.uploader, "removed readings");
    Ok(Json(replies::entry(removed)))
}

fn upload_id(id: Result<Path<String>, PathRejection>) -> Result<BlobId, Refusal> {
    let Path(id) = id.map_err(Refusal::bad_id)?;
    id.parse()
        .map_err(|error: BlobIdError| Refusal::bad_id(error))
}

/// Tells the columns of the first of the readings, and the rows of all. Refuses readings of columns of other names. A query also refuses
/// those whose columns are encoded in another way.
async fn columns(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    path: Result<Path<String>, PathRejection>,
    query: RawQuery,
) -> Result<Json<ColumnList>, Refusal> {
    authorize(&peer, Action::Query)?;
    let selection = selection(path, query)?;
    let is_latest = matches!(selection, Selection::Latest | Selection::LatestOf(_));
    let selected = application.select(selection).await?;
    let list = application
        .blocking(move |this| {
            let first = selected.first().ok_or_else(Refusal::nothing_stored)?;
            let columns = &first.summary.columns;
            let other = selected.iter().find(|it| it.summary.columns != *columns);
            if let Some(other) = other {
                return Err(Refusal::other_columns(first, other));
            }
            let columns = this.backend.columns(&this.store.get(&first.id)?)?;
            let devices: HashSet<&str> = selected.iter().map(|it| it.uploader.as_str()).collect();
            let spans: Option<Vec<Span>> = selected.iter().map(|it| it.summary.span).collect();
            let ends = spans
                .iter()
                .flatten()
                .flat_map(|span| [span.first, span.last]);
            Ok(ColumnList {
                columns,
                rows: Some(selected.iter().map(|it| it.summary.rows).sum()),
                uploads: Some(selected.len() as u64),
                devices: Some(devices.len() as u64),
                span: Span::of_moments(ends),
                latest: is_latest.then(|| replies::entry(first.clone())),
            })
        })
        .await?;
    Ok(Json(list))
}

async fn status(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
) -> Result<Json<Status>, Refusal> {
    authorize(&peer, Action::Query)?;
    Ok(Json(application.queue.status()))
}

async fn owners_page(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
) -> Result<Page, Refusal> {
    authorize(&peer, Action::List)?;
    application.page().await
}

async fn health(Extension(peer): Extension<Subject>) -> Result<Response, Refusal> {
    authorize(&peer, Action::Observe)?;
    Ok(Json(json!({ "status": "ok" })).into_response())
}

async fn ready(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
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
    Extension(peer): Extension<Subject>,
) -> Result<Response, Refusal> {
    authorize(&peer, Action::Observe)?;
    let format = [(header::CONTENT_TYPE, exposition::CONTENT_TYPE)];
    Ok((format, application.metrics.render()).into_response())
}

pub(super) fn authorize(peer: &Subject, action: Action) -> Result<(), Refusal> {
    if peer.may(action) {
        Ok(())
    } else {
        Err(Refusal::forbidden(peer, action))
    }
}

/// The paths that are asked for all the time.
const SEEN_OFTEN: [&str; 6] = [
    HEALTH_PATH,
    READY_PATH,
    METRICS_PATH,
    STATUS_PATH,
    PAGE_PATH,
    STYLE_PATH,
];

/// Logs and counts every request by what it was, not by its content.
async fn observe(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
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
    let rejection = response.extensions().get::<Rejection>().copied();
    heard.answered();
    if application.is_crowded() {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    let status = response.status().as_u16();
    let milliseconds = started.elapsed().as_millis();
    if let Some(reason) = rejection {
        application.metrics.count_rejection(reason);
        let reason = reason.label();
        tracing::warn!(peer = ?peer.name, %method, path, status, reason, milliseconds, "refused a request");
    } else if SEEN_OFTEN.contains(&path.as_str()) {
        tracing::debug!(peer = ?peer.name, %method, path, status, milliseconds, "request");
    } else {
        tracing::info!(peer = ?peer.name, %method, path, status, milliseconds, "request");
    }
    response
}
