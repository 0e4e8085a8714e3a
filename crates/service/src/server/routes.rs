//! The server's answers. Each handler reads as the list of checks that its request passes.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde_json::json;

use super::application::{Application, Shared, Standing};
use super::body;
use super::counted::Heard;
use super::error::Refusal;
use super::frames;
use super::page::{self, Page, STYLE_PATH};
use super::questions;
use super::replies;
use super::standing;
use crate::metrics::Rejection;
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::exposition;
use tfhe_sbc_transport::jobs::JOBS_PATH;
use tfhe_sbc_transport::protocol::{
    COLUMNS_PATH, ColumnList, HEALTH_PATH, METRICS_PATH, PAGE_PATH, QUERY_PATH, READINGS_PATH,
    READY_PATH, ReadingsEntry, ReadingsList, STATUS_PATH, Selection, SelectionError, Status,
};
use tfhe_sbc_transport::role::{Action, Role, Subject};
use tfhe_sbc_transport::{BlobId, BlobIdError};
use tfhe_sbc_upload::moments::Span;

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
        let refusal = Refusal::too_many_connections(application.limits().connections_per_client);
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
    let bodies = application.bodies();
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
        .blocking(move |this| Ok(this.store().list(&filter)?))
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
        .blocking(move |this| Ok(this.store().get(&id)?))
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
            let columns = this.backend().columns(&this.store().get(&first.id)?)?;
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
    Ok(Json(application.queue().status()))
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
    let checked = application.blocking(|this| Ok(this.store().check()?)).await;
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
    Ok((format, application.metrics().render()).into_response())
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
    let mut response = if application.clients().look().is_revoked(&peer.id) {
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
        application.metrics().count_rejection(reason);
        let reason = reason.label();
        tracing::warn!(peer = ?peer.name, %method, path, status, reason, milliseconds, "refused a request");
    } else if SEEN_OFTEN.contains(&path.as_str()) {
        tracing::debug!(peer = ?peer.name, %method, path, status, milliseconds, "request");
    } else {
        tracing::info!(peer = ?peer.name, %method, path, status, milliseconds, "request");
    }
    response
}
