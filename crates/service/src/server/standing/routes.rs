//! The requests about standing queries.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use tfhe_sbc_transport::protocol::{BOOTSTRAPS_HEADER, SECONDS_HEADER};
use tfhe_sbc_transport::role::{Action, Subject};
use tfhe_sbc_transport::standing::{
    NoStandingName, PeriodFilter, PeriodList, STANDING_PATH, Standing, StandingList, StandingName,
    Terms,
};
use tfhe_sbc_upload::moments::{Moment, NoMoment};

use super::StandingQueries;
use crate::server::application::{Application, Shared};
use crate::server::error::Refusal;
use crate::server::routes::authorize;

/// The paths of standing queries and their handlers.
pub(in crate::server) fn routes() -> Router<Arc<Application>> {
    let one = format!("{STANDING_PATH}/{{name}}");
    Router::new()
        .route(STANDING_PATH, get(list))
        .route(&one, post(leave).get(show).delete(remove))
        .route(&format!("{one}/pause"), post(pause))
        .route(&format!("{one}/resume"), post(resume))
        .route(&format!("{one}/periods"), get(periods))
        .route(&format!("{one}/periods/{{from}}"), get(result))
}

fn name(text: &str) -> Result<StandingName, Refusal> {
    text.parse()
        .map_err(|error: NoStandingName| Refusal::bad_terms(error))
}

fn name_of(path: Result<Path<String>, PathRejection>) -> Result<StandingName, Refusal> {
    let Path(text) = path.map_err(Refusal::bad_terms)?;
    name(&text)
}

/// Does something with the standing queries of an owner.
async fn with<T: Send + 'static>(
    application: &Arc<Application>,
    peer: &Subject,
    work: impl FnOnce(&StandingQueries, &Application, &str) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    authorize(peer, Action::Query)?;
    let owner = Arc::clone(&peer.name);
    application
        .blocking(move |this| {
            let standing = this.standing().ok_or_else(Refusal::no_standing_here)?;
            work(standing, this, &owner)
        })
        .await
}

/// Takes a standing query.
async fn leave(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    path: Result<Path<String>, PathRejection>,
    RawQuery(url_query): RawQuery,
    request: Request,
) -> Result<Response, Refusal> {
    let gates = || {
        authorize(&peer, Action::Query)?;
        application
            .standing()
            .ok_or_else(Refusal::no_standing_here)?;
        let terms = Terms::from_query(url_query.as_deref().unwrap_or_default());
        Ok((name_of(path)?, terms.map_err(Refusal::bad_terms)?))
    };
    let (name, terms) = match gates() {
        Ok(passed) => passed,
        Err(refusal) => return Err(application.bodies().refuse(request, refusal).await),
    };
    let most = application.limits().query_bytes;
    let body = application.bodies().read(request, most).await?;
    let left = with(&application, &peer, move |standing, this, owner| {
        standing.leave(
            owner,
            name,
            &terms,
            &body.bytes,
            this.store(),
            this.backend(),
        )
    });
    let (standing, is_new) = left.await?;
    let status = match is_new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok((status, Json(standing)).into_response())
}

async fn list(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
) -> Result<Json<StandingList>, Refusal> {
    let list = with(&application, &peer, |standing, _, owner| {
        Ok(StandingList {
            standing: standing.of(owner),
        })
    });
    list.await.map(Json)
}

async fn show(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Json<Standing>, Refusal> {
    let shown = with(&application, &peer, |standing, _, owner| {
        standing.find(owner, &name_of(path)?)
    });
    shown.await.map(Json)
}

async fn pause(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Json<Standing>, Refusal> {
    let paused = with(&application, &peer, |standing, this, owner| {
        let name = name_of(path)?;
        let is_computing = standing.is_computing(owner, &name);
        let paused = standing.set_paused(owner, &name, true)?;
        this.call_off(is_computing);
        Ok(paused)
    });
    paused.await.map(Json)
}

async fn resume(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Json<Standing>, Refusal> {
    let resumed = with(&application, &peer, |standing, _, owner| {
        standing.set_paused(owner, &name_of(path)?, false)
    });
    resumed.await.map(Json)
}

async fn remove(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Json<Standing>, Refusal> {
    let removed = with(&application, &peer, |standing, this, owner| {
        let name = name_of(path)?;
        let is_computing = standing.is_computing(owner, &name);
        let removed = standing.remove(owner, &name)?;
        this.call_off(is_computing);
        Ok(removed)
    });
    let removed = removed.await?;
    tracing::info!(peer = ?peer.name, name = %removed.name, results = removed.results, "removed a standing query");
    Ok(Json(removed))
}

/// Lists the periods of a standing query.
async fn periods(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    path: Result<Path<String>, PathRejection>,
    RawQuery(url_query): RawQuery,
) -> Result<Json<PeriodList>, Refusal> {
    let list = with(&application, &peer, move |standing, _, owner| {
        let filter = PeriodFilter::from_query(url_query.as_deref().unwrap_or_default());
        let filter = filter.map_err(|error| Refusal::bad_period_filter(&error))?;
        standing.periods(owner, &name_of(path)?, &filter)
    });
    list.await.map(Json)
}

/// Returns the result of a period.
async fn result(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Response, Refusal> {
    let found = with(&application, &peer, move |standing, _, owner| {
        let Path((text, from)) = path.map_err(Refusal::bad_terms)?;
        let from: Result<Moment, NoMoment> = from.parse();
        let from = from.map_err(Refusal::bad_terms)?;
        standing.result(owner, &name(&text)?, from)
    });
    let (about, bytes, age) = found.await?;
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::ETAG, format!("\"{}\"", about.id)),
        (header::AGE, age.as_secs().to_string()),
        (
            HeaderName::from_static(BOOTSTRAPS_HEADER),
            about.bootstraps.to_string(),
        ),
        (
            HeaderName::from_static(SECONDS_HEADER),
            format!("{:.3}", about.seconds),
        ),
    ];
    Ok((headers, Body::from(bytes)).into_response())
}
