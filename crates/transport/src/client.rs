//! The client's side: uploads and queries. Calls block, for programs and threads that do one thing
//! at a time. A [`Client`] may be shared between threads, for example to watch [`Client::running`]
//! while another thread waits in [`Client::query`].

mod connection;
mod error;
mod frames;
mod jobs;
mod standing;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{AGE, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderMap, RETRY_AFTER};
use hyper::{Method, Request, Response};
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::BlobId;
use crate::catalogue::Filter;
use crate::identity::Identity;
use crate::protocol::{
    BOOTSTRAPS_HEADER, BOOTSTRAPS_METRIC, COLUMNS_PATH, ColumnList, ErrorBody, HEALTH_PATH,
    METRICS_PATH, NO_CACHE, QUERY_PATH, READINGS_PATH, ReadingsEntry, ReadingsList, RunningQuery,
    SECONDS_HEADER, STATUS_PATH, Selection, Status, TAG_HEADER, UploadReceipt,
};
use connection::{Connection, Endpoint, SendError};
pub use error::ClientError;

/// The times that a client waits.
#[derive(Debug, Clone)]
pub struct Timeouts {
    /// The time for a connection to be made.
    pub connect: Duration,
    /// The time for small answers: health, metrics and lists.
    pub small: Duration,
    /// The time for an upload to be acknowledged.
    pub upload: Duration,
    /// The time for the answer to a query, including the time in the server's queue.
    pub query: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            small: Duration::from_secs(30),
            upload: Duration::from_secs(300),
            query: Duration::from_secs(3600),
        }
    }
}

/// The most bytes of answers, by what was asked for. A server that sends more is not read to its end, so that it
/// cannot fill a board's memory in place of a receipt.
mod most {
    /// A word or two.
    pub(super) const HEALTH: u64 = 1 << 12;
    /// A receipt, which repeats the names of the columns.
    pub(super) const RECEIPT: u64 = 1 << 16;
    /// The list of a thousand uploads, with the names of their columns.
    pub(super) const LIST: u64 = 16 << 20;
    /// The columns of an upload, with their encodings and what is derived from them.
    pub(super) const COLUMNS: u64 = 4 << 20;
    /// The queries that the server evaluates.
    pub(super) const STATUS: u64 = 1 << 20;
    /// The pads of a hundred thousand boards.
    pub(super) const PADS: u64 = 64 << 20;
    /// The metrics, with a few lines for each uploader.
    pub(super) const METRICS: u64 = 16 << 20;
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryReply {
    /// The encrypted result, for the owner to decrypt.
    pub result: Vec<u8>,
    /// The number of bootstraps that the query took.
    pub bootstraps: u64,
    /// The seconds that the query took, waiting in the queue excluded.
    pub seconds: f64,
    /// The time for which the server has kept the result, if an earlier question of the same bytes got it.
    pub kept_for: Option<Duration>,
}

/// The answers to a query that a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// One that the server has kept, too.
    Kept,
    /// Only one that is computed for this query.
    Fresh,
}

/// A way to call one query off from another thread than the one that waits for its answer.
#[derive(Debug, Clone, Default)]
pub struct CallOff(Arc<Notify>);

impl CallOff {
    /// Calls the query off, also if it has not begun yet.
    pub fn call_off(&self) {
        self.0.notify_one();
    }
}

/// The client of one server. It must not be used or dropped inside an asynchronous runtime, for its
/// calls block.
pub struct Client {
    runtime: Runtime,
    endpoint: Endpoint,
    timeouts: Timeouts,
    idle: Mutex<Option<Connection>>,
    /// The name that the client gives its queries.
    tag: String,
}

impl Client {
    /// Connects to `https://HOST[:PORT]` and checks that each side accepts the
    /// other.
    pub fn connect(url: &str, identity: &Identity) -> Result<Self, ClientError> {
        Self::connect_with(url, identity, Timeouts::default())
    }

    /// Does the same as [`Client::connect`] with other timeouts.
    pub fn connect_with(
        url: &str,
        identity: &Identity,
        timeouts: Timeouts,
    ) -> Result<Self, ClientError> {
        let endpoint = Endpoint::new(url, identity)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(ClientError::Runtime)?;
        let client = Self {
            runtime,
            endpoint,
            timeouts,
            idle: Mutex::new(None),
            // RandomState has random keys, so no other client has this tag.
            tag: format!("{:016x}", RandomState::new().hash_one(0)),
        };
        client.health()?;
        Ok(client)
    }

    /// Fails unless the server answers.
    pub fn health(&self) -> Result<(), ClientError> {
        let asked = Ask {
            action: "answer",
            most: most::HEALTH,
            timeout: self.timeouts.small,
            fresh_connection: false,
        };
        self.ask(asked, Method::GET, HEALTH_PATH.to_owned(), Bytes::new())
            .map(drop)
    }

    /// Uploads encrypted readings. When this returns they are on the server's disk. Uploading the
    /// same readings twice does no harm.
    pub fn upload(&self, readings: &[u8]) -> Result<UploadReceipt, ClientError> {
        let asked = Ask {
            action: "acknowledge the upload",
            most: most::RECEIPT,
            timeout: self.timeouts.upload,
            fresh_connection: false,
        };
        let body = Bytes::copy_from_slice(readings);
        let reply = self.ask(asked, Method::POST, READINGS_PATH.to_owned(), body)?;
        self.parse(reply.body())
    }

    /// Returns a page of what the server has stored, those that were stored last first.
    pub fn list(&self, filter: &Filter) -> Result<ReadingsList, ClientError> {
        let asked = Ask {
            action: "list its readings",
            most: most::LIST,
            timeout: self.timeouts.small,
            fresh_connection: false,
        };
        let path = format!("{READINGS_PATH}{}", filter.to_query());
        let reply = self.ask(asked, Method::GET, path, Bytes::new())?;
        self.parse(reply.body())
    }

    /// Returns the bytes of a stored upload.
    ///
    /// # Errors
    /// Among others [`ClientError::TooLong`], if it has more than `most` bytes.
    pub fn upload_of(&self, id: &BlobId, most: u64) -> Result<Vec<u8>, ClientError> {
        let asked = Ask {
            action: "send the upload",
            most,
            timeout: self.timeouts.upload,
            fresh_connection: false,
        };
        let path = format!("{READINGS_PATH}/{id}");
        let reply = self.ask(asked, Method::GET, path, Bytes::new())?;
        let bytes: Vec<u8> = reply.into_body().into();
        match BlobId::of(&bytes) == *id {
            true => Ok(bytes),
            false => Err(self.bad_reply(format!("it sent other bytes than those of {id}"))),
        }
    }

    /// Removes a stored upload and returns what it was.
    pub fn remove(&self, id: &BlobId) -> Result<ReadingsEntry, ClientError> {
        let asked = Ask {
            action: "remove the upload",
            most: most::RECEIPT,
            timeout: self.timeouts.small,
            fresh_connection: false,
        };
        let path = format!("{READINGS_PATH}/{id}");
        let reply = self.ask(asked, Method::DELETE, path, Bytes::new())?;
        self.parse(reply.body())
    }

    /// Returns the columns of stored readings, and the number of their rows.
    pub fn columns(&self, readings: &Selection) -> Result<ColumnList, ClientError> {
        let asked = Ask {
            action: "tell the columns of its readings",
            most: most::COLUMNS,
            timeout: self.timeouts.small,
            fresh_connection: false,
        };
        let path = format!("{COLUMNS_PATH}{readings}");
        let reply = self.ask(asked, Method::GET, path, Bytes::new())?;
        self.parse(reply.body())
    }

    /// Has an encrypted query evaluated on stored readings and waits for the answer. If this client
    /// goes away, the server stops before the next kind of question.
    ///
    /// # Errors
    /// Among others [`ClientError::TooLong`], if the result has more than `most` bytes.
    pub fn query(
        &self,
        readings: &Selection,
        query: &[u8],
        most: u64,
    ) -> Result<QueryReply, ClientError> {
        self.query_for(Freshness::Kept, readings, query, most)
    }

    /// Does the same as [`Client::query`] for an answer of that freshness.
    ///
    /// # Errors
    /// Those of [`Client::query`].
    pub fn query_for(
        &self,
        freshness: Freshness,
        readings: &Selection,
        query: &[u8],
        most: u64,
    ) -> Result<QueryReply, ClientError> {
        self.query_unless(&CallOff::default(), freshness, readings, query, most)
    }

    /// Does the same as [`Client::query_for`] until it is called off. The server then stops, as for a client that went away.
    ///
    /// # Errors
    /// Those of [`Client::query`], and [`ClientError::CalledOff`].
    pub fn query_unless(
        &self,
        call_off: &CallOff,
        freshness: Freshness,
        readings: &Selection,
        query: &[u8],
        most: u64,
    ) -> Result<QueryReply, ClientError> {
        // The query gets a connection of its own, so that it is never sent twice.
        let asked = Ask {
            action: "answer the query",
            most,
            timeout: self.timeouts.query,
            fresh_connection: true,
        };
        let body = Bytes::copy_from_slice(query);
        let path = format!("{QUERY_PATH}{readings}");
        let reply = self.ask_unless(call_off, freshness, asked, Method::POST, path, body)?;
        self.query_reply(reply)
    }

    fn query_reply(&self, reply: Response<Bytes>) -> Result<QueryReply, ClientError> {
        let bootstraps = self.header(reply.headers(), BOOTSTRAPS_HEADER)?;
        let seconds = self.header(reply.headers(), SECONDS_HEADER)?;
        let kept_for = match reply.headers().contains_key(AGE) {
            true => Some(Duration::from_secs(
                self.header(reply.headers(), AGE.as_str())?,
            )),
            false => None,
        };
        Ok(QueryReply {
            result: reply.into_body().into(),
            bootstraps,
            seconds,
            kept_for,
        })
    }

    /// Returns how far the server is with a query of this client. `None` if the server evaluates
    /// none, because the query still waits for its turn or has been answered.
    pub fn running(&self) -> Result<Option<RunningQuery>, ClientError> {
        let mut running = self.status()?.running.into_iter();
        Ok(running.find(|query| query.tag == self.tag))
    }

    /// Returns the queries that the server evaluates.
    pub fn status(&self) -> Result<Status, ClientError> {
        let asked = Ask {
            action: "tell its status",
            most: most::STATUS,
            timeout: self.timeouts.small,
            fresh_connection: false,
        };
        let reply = self.ask(asked, Method::GET, STATUS_PATH.to_owned(), Bytes::new())?;
        self.parse(reply.body())
    }

    /// Returns the number of bootstraps that the server has done since it started, those of running
    /// queries included.
    pub fn metrics_bootstraps(&self) -> Result<u64, ClientError> {
        let text = self.metrics()?;
        find_counter(&text, BOOTSTRAPS_METRIC)
            .ok_or_else(|| self.bad_reply(format!("its metrics have no {BOOTSTRAPS_METRIC}")))
    }

    /// Returns the seconds that the server has taken for a bootstrap, on average; `None` if it has done too few to tell.
    ///
    /// # Errors
    /// Those of the request for metrics.
    pub fn seconds_per_bootstrap(&self) -> Result<Option<f64>, ClientError> {
        const FEW: u64 = 1000;
        let text = self.metrics()?;
        let bootstraps = find_counter(&text, BOOTSTRAPS_METRIC).unwrap_or(0);
        let seconds = text.lines().find_map(|line| {
            let value = line.strip_prefix("tfhe_sbc_evaluation_seconds_total ")?;
            value.trim().parse::<f64>().ok()
        });
        Ok(seconds
            .filter(|seconds| bootstraps >= FEW && seconds.is_finite() && *seconds > 0.0)
            .map(|seconds| seconds / bootstraps as f64))
    }

    /// Returns the server's metrics, as Prometheus reads them.
    pub fn metrics(&self) -> Result<String, ClientError> {
        let asked = Ask {
            action: "show its metrics",
            most: most::METRICS,
            timeout: self.timeouts.small,
            fresh_connection: false,
        };
        let reply = self.ask(asked, Method::GET, METRICS_PATH.to_owned(), Bytes::new())?;
        String::from_utf8(reply.into_body().into())
            .map_err(|_| self.bad_reply("its metrics are no text".to_owned()))
    }

    fn ask(
        &self,
        asked: Ask,
        method: Method,
        path: String,
        body: Bytes,
    ) -> Result<Response<Bytes>, ClientError> {
        let call_off = CallOff::default();
        self.ask_unless(&call_off, Freshness::Kept, asked, method, path, body)
    }

    fn ask_unless(
        &self,
        call_off: &CallOff,
        freshness: Freshness,
        asked: Ask,
        method: Method,
        path: String,
        body: Bytes,
    ) -> Result<Response<Bytes>, ClientError> {
        let reply = self.runtime.block_on(async {
            let kept = if asked.fresh_connection {
                None
            } else {
                self.take_idle()
            };
            let exchange = self.exchange(kept, freshness, method, path, body, asked.most);
            let reply = tokio::select! {
                reply = timeout(asked.timeout, exchange) => Some(reply),
                () = call_off.0.notified() => None,
            };
            let Some(reply) = reply else {
                // The task of the connection sees that nobody waits, and closes it.
                tokio::time::sleep(Duration::from_millis(20)).await;
                return Err(ClientError::CalledOff);
            };
            reply.map_err(|_| ClientError::Timeout {
                address: self.endpoint.address.clone(),
                action: asked.action,
                after: asked.timeout,
            })?
        })?;
        if reply.status().is_success() {
            Ok(reply)
        } else {
            Err(self.refused(&reply))
        }
    }

    async fn exchange(
        &self,
        kept: Option<Connection>,
        freshness: Freshness,
        method: Method,
        path: String,
        body: Bytes,
        most: u64,
    ) -> Result<Response<Bytes>, ClientError> {
        let address = &self.endpoint.address;
        let request = || {
            let mut request = Request::builder()
                .method(method.clone())
                .uri(&path)
                .header(HOST, address)
                .header(CONTENT_TYPE, "application/octet-stream")
                .header(TAG_HEADER, &self.tag);
            if freshness == Freshness::Fresh {
                request = request.header(CACHE_CONTROL, NO_CACHE);
            }
            request
                .body(Full::new(body.clone()))
                .map_err(|error| self.bad_reply(error.to_string()))
        };
        let mut sent = None;
        if let Some(kept) = kept {
            match kept.send(address, request()?, most).await {
                // The server closed the kept connection in the meantime.
                Err(SendError::Closed(_)) => {}
                other => sent = Some(other),
            }
        }
        let sent = match sent {
            Some(sent) => sent,
            None => self.open().await?.send(address, request()?, most).await,
        };
        let (reply, connection) = sent.map_err(SendError::into_inner)?;
        *self.idle() = connection;
        Ok(reply)
    }

    async fn open(&self) -> Result<Connection, ClientError> {
        let after = self.timeouts.connect;
        timeout(after, self.endpoint.connect())
            .await
            .unwrap_or_else(|_| {
                Err(ClientError::Timeout {
                    address: self.endpoint.address.clone(),
                    action: "accept a connection",
                    after,
                })
            })
    }

    fn take_idle(&self) -> Option<Connection> {
        self.idle().take().filter(Connection::is_fresh)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self, reply: &Response<Bytes>) -> ClientError {
        let status = reply.status();
        let Ok(ErrorBody {
            error: message,
            hint,
        }) = serde_json::from_slice(reply.body())
        else {
            return self.bad_reply(format!("it answered {status} without saying why"));
        };
        let retry_after = reply
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        match retry_after {
            // A full disk too is a matter for the server's operators; the client can only wait.
            Some(seconds) if status.is_server_error() => ClientError::Busy {
                message,
                retry_after: Duration::from_secs(seconds),
            },
            _ => ClientError::Refused {
                status: status.as_u16(),
                message,
                hint,
            },
        }
    }

    fn parse<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, ClientError> {
        serde_json::from_slice(body).map_err(|error| self.bad_reply(error.to_string()))
    }

    fn header<T: std::str::FromStr>(
        &self,
        headers: &HeaderMap,
        name: &str,
    ) -> Result<T, ClientError> {
        let value = headers
            .get(name)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        value.ok_or_else(|| self.bad_reply(format!("its header {name} is missing or no number")))
    }

    fn bad_reply(&self, reason: String) -> ClientError {
        ClientError::BadReply {
            address: self.endpoint.address.clone(),
            reason,
        }
    }
}

/// The way in which a request is sent.
struct Ask {
    action: &'static str,
    /// The most bytes of the answer.
    most: u64,
    timeout: Duration,
    fresh_connection: bool,
}

/// Returns the value of a counter without labels in Prometheus's text.
fn find_counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        line.strip_prefix(name)?
            .strip_prefix(' ')?
            .trim()
            .parse()
            .ok()
    })
}
