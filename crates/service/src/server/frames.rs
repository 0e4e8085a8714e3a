//! The paths of pads and frames.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, post};
use axum::{Extension, Json, Router};

use super::application::{Application, Shared};
use super::error::Refusal;
use super::replies::rfc3339;
use super::routes::authorize;
use crate::frames::MAX_FRAME_BYTES;
use crate::store::{Store, StoreError, Stored, StoredPads};
use tfhe_sbc_transport::frames::{FRAMES_PATH, PADS_PATH, PadsEntry, PadsList};
use tfhe_sbc_transport::protocol::DeviceId;
use tfhe_sbc_transport::role::{Action, Subject};

/// Returns the paths of pads and frames.
pub(super) fn routes() -> Router<Arc<Application>> {
    Router::new()
        .route(PADS_PATH, post(put_pads).get(list))
        .route(&format!("{PADS_PATH}/{{board}}"), delete(end_pads))
        .route(FRAMES_PATH, post(named_frame))
        .route(&format!("{FRAMES_PATH}/{{board}}"), post(frame_of_board))
}

async fn put_pads(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    request: Request,
) -> Result<Response, Refusal> {
    if let Err(refusal) = authorize(&peer, Action::ManagePads) {
        return Err(application.bodies().refuse(request, refusal).await);
    }
    let file = application.read_upload(request).await?;
    let (entry, stored) = application
        .blocking(move |this| {
            let (pads, stored) = this.frames().put_pads(&file.bytes)?;
            Ok((entry(this.store(), pads)?, stored))
        })
        .await?;
    let status = match stored {
        Stored::New => StatusCode::CREATED,
        Stored::AlreadyStored => StatusCode::OK,
    };
    Ok((status, Json(entry)).into_response())
}

async fn list(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
) -> Result<Json<PadsList>, Refusal> {
    authorize(&peer, Action::ManagePads)?;
    let listed = application.blocking(|this| {
        let mut pads = this.store().pads()?;
        pads.sort_by_key(|pads| (pads.head.plan.device, std::cmp::Reverse(pads.number)));
        Ok(entries(this.store(), pads)?)
    });
    Ok(Json(listed.await?))
}

async fn end_pads(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    board: Result<Path<String>, PathRejection>,
) -> Result<Json<PadsList>, Refusal> {
    authorize(&peer, Action::ManagePads)?;
    let board = board_of(board)?;
    let ended = application.blocking(move |this| {
        let pads = this.frames().end_pads(board)?;
        Ok(entries(this.store(), pads.into_iter().rev())?)
    });
    Ok(Json(ended.await?))
}

async fn named_frame(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    request: Request,
) -> Result<Response, Refusal> {
    take(&application, &peer, None, request).await
}

async fn frame_of_board(
    State(application): Shared,
    Extension(peer): Extension<Subject>,
    board: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response, Refusal> {
    let board = match board_of(board) {
        Ok(board) => board,
        Err(refusal) => return Err(application.bodies().refuse(request, refusal).await),
    };
    take(&application, &peer, Some(board), request).await
}

async fn take(
    application: &Arc<Application>,
    peer: &Subject,
    board: Option<DeviceId>,
    request: Request,
) -> Result<Response, Refusal> {
    let bodies = application.bodies();
    if let Err(refusal) = authorize(peer, Action::Upload) {
        return Err(bodies.refuse(request, refusal).await);
    }
    let frame = bodies.read(request, MAX_FRAME_BYTES).await?;
    let receipt = application.blocking(move |this| {
        let taken = this.frames().take(board, &frame.bytes);
        taken.map_err(|refusal| {
            // The log has a line for each request.
            this.frames().count_refused(refusal.reason());
            refusal.into()
        })
    });
    let receipt = receipt.await?;
    let status = match receipt.created {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok((status, Json(receipt)).into_response())
}

fn board_of(path: Result<Path<String>, PathRejection>) -> Result<DeviceId, Refusal> {
    let Path(board) = path.map_err(Refusal::bad_board)?;
    board.parse().map_err(Refusal::bad_board)
}

fn entries(
    store: &Store,
    pads: impl IntoIterator<Item = StoredPads>,
) -> Result<PadsList, StoreError> {
    let entries = pads.into_iter().map(|pads| entry(store, pads));
    Ok(PadsList {
        pads: entries.collect::<Result<_, _>>()?,
    })
}

/// Returns the line of the list for pads.
fn entry(store: &Store, pads: StoredPads) -> Result<PadsEntry, StoreError> {
    let arrived = store.arrived(pads.number)?;
    let plan = pads.head.plan;
    let frame_bytes = plan.format().map_or(0, |format| format.frame_bytes());
    Ok(PadsEntry {
        board: DeviceId(plan.device).to_string(),
        id: pads.id,
        created_at: rfc3339(pads.created_at),
        rows: plan.rows,
        frame_bytes: frame_bytes as u64,
        named: plan.named,
        frames: plan.frames,
        arrived: arrived.count,
        missing: arrived.missing(),
        left: plan.frames.saturating_sub(arrived.next()),
        ended_at: pads.ended_at.map(rfc3339),
        columns: plan.columns.into_iter().map(|column| column.name).collect(),
    })
}
