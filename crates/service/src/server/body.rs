//! Reading request bodies into memory under limits of size, time and, for all
//! requests together, memory.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::Limits;
use super::error::Refusal;

/// The memory budget is handed out in units of this many bytes.
const BUDGET_UNIT: usize = 1024;
/// What a body gets of it before its first byte has come.
const FIRST_SHARE: usize = 256 * 1024;

/// A body in memory and its share of the budget, which it gives back when
/// dropped.
pub(super) struct Received {
    pub(super) bytes: Vec<u8>,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Received {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads bodies under the limits.
pub(super) struct BodyReader {
    limits: Limits,
    budget: Arc<Semaphore>,
}

impl BodyReader {
    pub(super) fn new(limits: Limits) -> Self {
        // A budget below one body would block forever.
        let bytes = limits
            .buffered_bytes
            .max(limits.upload_bytes)
            .max(limits.query_bytes);
        let units = units(bytes).min(Semaphore::MAX_PERMITS as u32);
        Self {
            limits,
            budget: Arc::new(Semaphore::new(units as usize)),
        }
    }

    /// The whole body, if it is no larger than `limit` and arrives in time.
    pub(super) async fn read(
        &self,
        request: Request<Body>,
        limit: usize,
    ) -> Result<Received, Refusal> {
        let announced = request.body().size_hint();
        if announced.lower() > limit as u64 {
            return Err(self.refuse(request, Refusal::too_large(limit)).await);
        }
        let expected = announced
            .exact()
            .and_then(|bytes| usize::try_from(bytes).ok());
        let deadline = Instant::now() + self.limits.body_timeout;
        // A large share only for what has come: who announces much and sends little holds little.
        let first = expected.unwrap_or(FIRST_SHARE).min(FIRST_SHARE);
        let share = timeout_at(
            deadline,
            Arc::clone(&self.budget).acquire_many_owned(units(first)),
        );
        let Ok(Ok(mut share)) = share.await else {
            return Err(self.refuse(request, Refusal::no_memory()).await);
        };
        let mut shared = first;

        let mut body = request.into_body();
        let mut bytes = Vec::with_capacity(first);
        loop {
            let next = timeout_at(
                deadline,
                timeout(self.limits.body_idle_timeout, body.frame()),
            )
            .await;
            match next {
                Err(_) | Ok(Err(_)) => return Err(Refusal::too_slow()),
                Ok(Ok(Some(Err(_)))) => return Err(Refusal::broken_body()),
                Ok(Ok(None)) => {
                    return Ok(Received {
                        bytes,
                        _share: share,
                    });
                }
                Ok(Ok(Some(Ok(frame)))) => {
                    let Some(data) = frame.data_ref() else {
                        continue;
                    };
                    if data.len() > limit - bytes.len() {
                        self.discard(body).await;
                        return Err(Refusal::too_large(limit));
                    }
                    let needed = bytes.len() + data.len();
                    if needed > shared {
                        let larger = needed
                            .max(2 * shared)
                            .min(expected.unwrap_or(limit).max(needed));
                        let more = timeout(
                            self.limits.body_idle_timeout,
                            Arc::clone(&self.budget).acquire_many_owned(units(larger - shared)),
                        );
                        let Ok(Ok(more)) = timeout_at(deadline, more).await.unwrap_or_else(Err)
                        else {
                            self.discard(body).await;
                            return Err(Refusal::no_memory());
                        };
                        share.merge(more);
                        shared = larger;
                        bytes.reserve_exact(larger - bytes.len());
                    }
                    bytes.extend_from_slice(data);
                }
            }
        }
    }

    /// Passes a refusal on after taking in what the caller is still sending:
    /// one who is cut off while sending does not get to read the answer.
    pub(super) async fn refuse(&self, request: Request<Body>, refusal: Refusal) -> Refusal {
        // Who asks first gets the answer instead of the go-ahead.
        if !request.headers().contains_key(header::EXPECT) {
            self.discard(request.into_body()).await;
        }
        refusal
    }

    /// Within reason, that is.
    async fn discard(&self, mut body: Body) {
        let mut left = self.limits.upload_bytes;
        let reading = async {
            while let Some(Ok(frame)) = body.frame().await {
                left = left.saturating_sub(frame.data_ref().map_or(0, |data| data.len()));
                if left == 0 {
                    break;
                }
            }
        };
        let _ = timeout(self.limits.body_idle_timeout, reading).await;
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BUDGET_UNIT)).unwrap_or(u32::MAX)
}
