//! The state that all requests share, such as the store and the evaluation queue, and the steps that several handlers take with it.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::extract::{Request, State};
use axum::http::StatusCode;

use super::Limits;
use super::body::{BodyReader, Received};
use super::error::Refusal;
use super::evaluation::EvaluationQueue;
use super::history::History;
use super::page::Page;
use super::questions::Kept;
use super::replies;
use super::short_uploads;
use super::standing::StandingQueries;
use crate::backend::{Backend, Uploader};
use crate::client_verifier::ClientVerifier;
use crate::frames::Frames;
use crate::metrics::Metrics;
use crate::store::{Store, StoreError, Stored, StoredReadings};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::{Filter, Names};
use tfhe_sbc_transport::mqtt::answer::Answer;
use tfhe_sbc_transport::protocol::{Selection, UploadReceipt};
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
pub(super) enum Standing {
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

    pub(super) fn clients(&self) -> &ClientVerifier {
        &self.clients
    }

    pub(super) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Reads a body that may be as large as an upload.
    pub(super) async fn read_upload(&self, request: Request) -> Result<Received, Refusal> {
        self.bodies.read(request, self.limits.upload_bytes).await
    }

    /// Returns whether so many connections are open that each should be closed after its answer.
    pub(super) fn is_crowded(&self) -> bool {
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
    pub(super) async fn page(self: &Arc<Self>) -> Result<Page, Refusal> {
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
    pub(super) async fn take_in<B: AsRef<[u8]> + Send + 'static>(
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
