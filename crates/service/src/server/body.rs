//! Request bodies, read into memory under limits of size, of time and of the memory of all requests
//! together.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Bytes};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::Limits;
use super::connection::{LINGER, LINGER_BYTES};
use super::error::Refusal;

/// The memory budget is handed out in units of this many bytes.
const BUDGET_UNIT: usize = 1024;
/// The largest body that counts as small. Small bodies have a part of the budget to themselves, so
/// that large bodies, and bodies that only announce to be large, do not keep them out.
const SMALL: usize = 256 * 1024;
/// The divisor of the budget that gives the part for small bodies.
const SMALL_PART: usize = 4;

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
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl BodyReader {
    pub(super) fn new(limits: Limits) -> Self {
        let (small, large) = parts(limits.buffered_bytes);
        let budget = |bytes| {
            let units = units(bytes).min(Semaphore::MAX_PERMITS as u32);
            Arc::new(Semaphore::new(units as usize))
        };
        Self {
            small: budget(small),
            large: budget(large),
            limits,
        }
    }

    /// Returns the whole body, if it is no larger than `limit` and arrives in time.
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
        // The memory is taken all at once: requests that hold a part and wait for the rest could
        // wait for each other forever.
        let wanted = expected.unwrap_or(limit);
        let budget = if wanted <= SMALL {
            &self.small
        } else {
            &self.large
        };
        let share = Arc::clone(budget).acquire_many_owned(units(wanted));
        let Ok(Ok(share)) = timeout_at(deadline, share).await else {
            return Err(self.refuse(request, Refusal::no_memory()).await);
        };

        let mut body = request.into_body();
        let mut bytes = Vec::with_capacity(expected.unwrap_or(0));
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
                    bytes.extend_from_slice(data);
                }
            }
        }
    }

    /// Returns the refusal after reading what the caller is still sending: a caller whose
    /// connection is closed while it sends does not get to read the answer.
    pub(super) async fn refuse(&self, request: Request<Body>, refusal: Refusal) -> Refusal {
        // A caller that asks before it sends (`Expect: 100-continue`) gets the answer instead of
        // the go-ahead.
        if !request.headers().contains_key(header::EXPECT) {
            self.discard(request.into_body()).await;
        }
        refusal
    }

    /// Reads and drops what the caller is still sending, within bounds.
    async fn discard(&self, body: Body) {
        discard(
            body,
            self.limits.upload_bytes,
            self.limits.body_idle_timeout,
        )
        .await;
    }
}

/// Does what [`BodyReader::refuse`] does, for a caller that gets neither bandwidth nor time: if it
/// sends more than a little, its connection may be closed before it reads the answer.
pub(super) async fn refuse_briefly(request: Request<Body>, refusal: Refusal) -> Refusal {
    if !request.headers().contains_key(header::EXPECT) {
        discard(request.into_body(), LINGER_BYTES, LINGER).await;
    }
    refusal
}

async fn discard(mut body: Body, mut left: usize, time: Duration) {
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                break;
            }
        }
    };
    let _ = timeout(time, reading).await;
}

/// Divides the memory for bodies into that for small ones and that for large ones, each of which
/// must fit in the second part.
pub(super) fn parts(buffered_bytes: usize) -> (usize, usize) {
    let small = (buffered_bytes / SMALL_PART).max(SMALL);
    (small, buffered_bytes.saturating_sub(small))
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BUDGET_UNIT)).unwrap_or(u32::MAX)
}
