//! The server: it takes connections, limits them, and stops without dropping work.
//!
//! Every request comes over mutual TLS, health checks included. Under load the server refuses early
//! and says when to come back: the connections, the bodies in memory, the queries and the time that
//! each may take are all bounded by [`Limits`].

mod application;
mod body;
mod connection;
mod counted;
mod error;
mod evaluation;
mod files_limit;
mod frames;
mod history;
mod jobs;
mod page;
mod peers;
mod questions;
mod replies;
mod retention;
mod routes;
mod short_uploads;
mod standing;
mod status_listener;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::timeout;

use crate::backend::Backend;
use crate::client_verifier::ClientVerifier;
use crate::frames::{Frames, FramesConfig, broker, udp};
use crate::ingest::{self, IngestConfig, IngestLimits};
use crate::metrics::Metrics;
pub use crate::results::Keeping;
use crate::store::{Completed, Retention, Store, StoreError};
use crate::tls::{self, TlsError};
use application::Application;
use connection::ConnectionHandler;
use peers::Peers;
use questions::Kept;
use standing::StandingQueries;
pub use standing::{Clock, StandingConfig};
use tfhe_sbc_transport::files::FileError;
use tfhe_sbc_transport::identity::Identity;

/// The threads for work that waits for the disk. Further uploads wait for a thread; evaluations are
/// few.
const BLOCKING_THREADS: usize = 128;

/// The time between two looks at the list of revoked certificates for silent connections (others
/// are checked at every request), and between two samples for the status page.
const TICK: Duration = Duration::from_secs(1);

/// The server's settings.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The server's certificate and the authority of its clients.
    pub identity: Identity,
    /// The file with the list of revoked certificates, which need not exist. A change of the file
    /// takes effect within a second.
    pub revoked: Option<PathBuf>,
    /// The address at which browsers without a certificate see the status page: one of loopback.
    pub status: Option<SocketAddr>,
    /// The broker that devices may upload over.
    pub broker: Option<IngestConfig>,
    /// The networks beside HTTPS that frames come over.
    pub frames: FramesConfig,
    /// The bounds of what it keeps.
    pub retention: Retention,
    /// The bounds of the results that it keeps.
    pub keeping: Keeping,
    /// The bounds of the standing queries that it keeps.
    pub standing: StandingConfig,
    /// The bounds of what it takes on.
    pub limits: Limits,
}

impl ServerConfig {
    /// Returns limits that fit together, and with what is kept.
    fn checked(&self) -> Result<Limits, ServeError> {
        match self.retention.bytes {
            Some(retained) if retained < self.limits.upload_bytes as u64 => {
                Err(ServeError::NoRoomToRetain {
                    upload: self.limits.upload_bytes,
                    retained,
                })
            }
            _ => self.limits.checked(),
        }
    }
}

/// The bounds of what the server takes on.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The largest upload, in bytes.
    pub upload_bytes: usize,
    /// The largest query, in bytes; less if the memory for bodies has no room for it.
    pub query_bytes: usize,
    /// The most bytes of the uploads that one query is about.
    pub selected_bytes: usize,
    /// The memory for all bodies that are being received or worked on, in bytes. A quarter of it is
    /// for bodies of up to 256 KiB; an upload must fit in the rest.
    pub buffered_bytes: usize,
    /// The most connections at a time; further ones wait to be accepted. Once three quarters are
    /// taken, each is closed after its next answer, so that all get their turn.
    pub connections: usize,
    /// The most connections under one certificate; further ones are told to come back.
    pub connections_per_client: usize,
    /// The most evaluations at a time. One uses all cores already.
    pub evaluations: usize,
    /// The most queries that wait for their turn; further ones are refused.
    pub waiting_queries: usize,
    /// The time for the handshake.
    pub handshake_timeout: Duration,
    /// The time for the head of a request to arrive, and between two requests.
    pub header_timeout: Duration,
    /// The time for the next piece of a body to arrive.
    pub body_idle_timeout: Duration,
    /// The time for a body to arrive whole.
    pub body_timeout: Duration,
    /// The time for a client to take the next piece of an answer.
    pub answer_idle_timeout: Duration,
    /// The time that work under way has to finish once the server is told to stop.
    pub drain_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            upload_bytes: 64 << 20,
            query_bytes: 16 << 20,
            selected_bytes: 1 << 30,
            buffered_bytes: 512 << 20,
            connections: 4096,
            connections_per_client: 16,
            evaluations: 1,
            waiting_queries: 8,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(30),
            body_idle_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(300),
            answer_idle_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(600),
        }
    }
}

impl Limits {
    /// Returns limits that fit together: a query or an upload of the largest size has room in
    /// memory.
    fn checked(&self) -> Result<Self, ServeError> {
        let (_, room) = body::parts(self.buffered_bytes);
        if self.upload_bytes > room {
            return Err(ServeError::NoRoomForUploads {
                upload: self.upload_bytes,
                buffered: self.buffered_bytes,
                room,
            });
        }
        Ok(Self {
            query_bytes: self.query_bytes.min(room),
            ..self.clone()
        })
    }
}

/// The reason why the server did not start, or stopped before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; is another server using the port?")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The status page would be visible to other machines.
    #[error(
        "the status page needs no certificate, so it is for this machine alone: {address} is no \
         address of loopback; take 127.0.0.1, or open GET / of the server with the owner's certificate"
    )]
    StatusNotLocal {
        /// The address.
        address: SocketAddr,
    },
    /// An upload of the largest allowed size would never get memory.
    #[error(
        "an upload may have {upload} bytes, but of the {buffered} bytes of memory for bodies only \
         {room} are for large ones: raise --max-buffered-bytes to twice --max-upload-bytes, or \
         lower that"
    )]
    NoRoomForUploads {
        /// The limit of an upload.
        upload: usize,
        /// The memory for all bodies.
        buffered: usize,
        /// The part of it that large bodies may take.
        room: usize,
    },
    /// An upload of the largest allowed size would be removed at once.
    #[error(
        "an upload may have {upload} bytes, but all uploads together only {retained}: raise --retain-bytes, or lower \
         --max-upload-bytes"
    )]
    NoRoomToRetain {
        /// The limit of an upload.
        upload: usize,
        /// The limit of all uploads.
        retained: u64,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The results and jobs that it keeps cannot be read.
    #[error("the results that the server keeps: {0}")]
    Keeping(#[source] FileError),
    /// The standing queries cannot be read.
    #[error("the standing queries: {0}")]
    Standing(#[source] FileError),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The operating system refused threads or signals.
    #[error("cannot start the server: {0}")]
    Runtime(#[source] io::Error),
    /// Work was still under way when the time for finishing it was over.
    #[error(
        "stopped with {connections} connections still at work after waiting {waited:?} for them"
    )]
    DrainTimeout {
        /// The number of connections that were cut off.
        connections: usize,
        /// The time that the server waited.
        waited: Duration,
    },
    /// The server was told to stop twice.
    #[error("stopped at once, as asked to a second time; unfinished requests were dropped")]
    Interrupted,
}

/// Serves on a runtime of its own until SIGTERM or ctrl-c, then finishes the work under way; a
/// second signal stops at once. Calls `on_listening` with the address as soon as clients can
/// connect.
pub fn run(
    config: &ServerConfig,
    address: SocketAddr,
    store: Arc<Store>,
    backend: Arc<dyn Backend>,
    on_listening: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    config.checked()?;
    complete_catalogue(&store, &*backend)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_name("tfhe-sbc-network")
        .max_blocking_threads(
            BLOCKING_THREADS + config.limits.evaluations + config.limits.waiting_queries,
        )
        .enable_all()
        .build()
        .map_err(ServeError::Runtime)?;
    let served = runtime.block_on(async {
        let mut termination = Termination::install().map_err(ServeError::Runtime)?;
        let failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        on_listening(listener.local_addr().map_err(failed)?);

        let (stop, stopped) = oneshot::channel();
        let signals = async {
            termination.next().await;
            let _ = stop.send(());
            termination.next().await;
        };
        tokio::select! {
            served = serve(config, listener, store, backend, async { let _ = stopped.await; }) => served,
            () = signals => Err(ServeError::Interrupted),
        }
    });
    // An evaluation that was cut off ends when it notices; the server does not wait for it.
    runtime.shutdown_background();
    served
}

/// Adds to the store's index what it does not know of the uploads: those of older versions of the program, and all of
/// them if the index is lost. Says in the log what it did.
///
/// # Errors
/// A store that fails.
pub fn complete_catalogue(store: &Store, backend: &dyn Backend) -> Result<Completed, StoreError> {
    let describe = |bytes: &[u8]| backend.describe(bytes).ok();
    let progress = |done| {
        if done % 10_000 < 256 {
            tracing::info!(done, "describing stored uploads");
        }
    };
    let completed = store.complete(describe, progress)?;
    let Completed {
        described,
        adopted,
        left,
    } = completed;
    if adopted > 0 {
        tracing::warn!(
            adopted,
            "the index was made anew: files of uploads are listed again, and packed into segments"
        );
    }
    if described > 0 {
        tracing::info!(described, "the index has time and key of all uploads now");
    }
    if left > 0 {
        tracing::warn!(
            left,
            "uploads could not be read, or are under keys that are not known: filters by time leave them out"
        );
    }
    Ok(completed)
}

/// Serves until `shutdown` completes, then accepts no more connections and finishes the work under
/// way.
pub async fn serve(
    config: &ServerConfig,
    listener: TcpListener,
    store: Arc<Store>,
    backend: Arc<dyn Backend>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let limits = &files_limit::fit(&config.checked()?);
    let metrics = Arc::new(Metrics::default());
    let clients = Arc::new(ClientVerifier::new(
        &config.identity,
        config.revoked.as_deref(),
        Arc::clone(&metrics),
    )?);
    let frames = Frames::new(
        Arc::clone(&store),
        Arc::clone(&backend),
        Arc::clone(&metrics),
    )?;
    let frames = Arc::new(frames);
    let keeper = retention::Keeper {
        retention: config.retention,
        store: Arc::clone(&store),
        metrics: Arc::clone(&metrics),
    };
    let application = Application::new(
        limits.clone(),
        store,
        backend,
        Arc::clone(&frames),
        Arc::clone(&metrics),
        Arc::clone(&clients),
        (
            Kept::open(&config.keeping, &metrics).map_err(ServeError::Keeping)?,
            StandingQueries::open(&config.standing, &metrics).map_err(ServeError::Standing)?,
        ),
    );
    let application = Arc::new(application);
    let (stop, stopping) = watch::channel(false);
    let handler = ConnectionHandler {
        limits: limits.clone(),
        acceptor: tls::server_config(&config.identity, clients.clone())?.into(),
        clients: Arc::clone(&clients),
        router: routes::router(Arc::clone(&application)),
        refusing: routes::refusing_router(Arc::clone(&application)),
        peers: Peers::new(limits.connections_per_client),
        metrics,
        stopping: stopping.clone(),
    };
    let mut connections = JoinSet::new();
    let mut ingest = None;
    if let Some(broker) = config.broker.clone() {
        let limits = IngestLimits {
            upload_bytes: limits.upload_bytes,
            buffered_bytes: limits.buffered_bytes / 4,
            idle: limits.body_idle_timeout,
        };
        let application = Arc::clone(&application);
        let take_in = move |device, id, upload| Arc::clone(&application).answer(device, id, upload);
        let task = connections.spawn(ingest::run(broker, limits, take_in, stopping.clone()));
        ingest = Some(task.id());
    }
    if let Some(address) = config.frames.udp {
        let failed = |source| ServeError::Listen { address, source };
        let socket = UdpSocket::bind(address).await.map_err(failed)?;
        if let Ok(address) = socket.local_addr() {
            tracing::info!("frames over UDP at {address}");
        }
        connections.spawn(udp::run(socket, Arc::clone(&frames), stopping.clone()));
    }
    for broker in config.frames.brokers.iter().cloned() {
        connections.spawn(broker::run(broker, Arc::clone(&frames), stopping.clone()));
    }

    connections.spawn(keeper.run(stopping.clone()));
    connections.spawn(standing::run(Arc::clone(&application), stopping.clone()));

    let status_page = match config.status {
        Some(address) => Some(status_listener::bind(address).await?),
        None => None,
    };
    let local = routes::local_router(Arc::clone(&application));
    let status_page = async {
        match status_page {
            Some(listener) => status_listener::serve(listener, local).await,
            None => std::future::pending().await,
        }
    };
    let mut status_page = std::pin::pin!(status_page);
    let slots = Arc::new(Semaphore::new(
        limits.connections.clamp(1, Semaphore::MAX_PERMITS),
    ));
    let mut shutdown = std::pin::pin!(shutdown);
    let mut second = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            _ = second.tick() => application.tick(),
            () = &mut status_page => {}
            () = &mut shutdown => break,
            Some(ended) = connections.join_next() => note_panic(ended, ingest),
            (stream, from, slot) = accept(&listener, &slots) => {
                let handler = handler.clone();
                connections.spawn(async move {
                    handler.handle(stream, from).await;
                    drop(slot);
                });
            }
        }
    }
    drop(listener);
    let _ = stop.send(true);
    drain(connections, ingest, limits.drain_timeout).await
}

/// Logs a task that panicked.
fn note_panic(ended: Result<(), JoinError>, ingest: Option<Id>) {
    let Err(error) = ended else { return };
    if !error.is_panic() {
        return;
    }
    if Some(error.id()) == ingest {
        tracing::error!(%error, "uploads over the broker are not taken any more: restart the server");
    } else {
        tracing::error!(%error, "a connection's task panicked");
    }
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed.
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, from)) => return (stream, from, slot),
            Err(error) => {
                // The reason may be a lack of file descriptors: other connections must close first.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn drain(
    mut connections: JoinSet<()>,
    ingest: Option<Id>,
    waiting: Duration,
) -> Result<(), ServeError> {
    tracing::info!(
        connections = connections.len(),
        "stopping: finishing what is under way"
    );
    let drained = timeout(waiting, async {
        while let Some(ended) = connections.join_next().await {
            note_panic(ended, ingest);
        }
    })
    .await;
    let left = connections.len();
    if drained.is_err() && left > 0 {
        connections.shutdown().await;
        return Err(ServeError::DrainTimeout {
            connections: left,
            waited: waiting,
        });
    }
    tracing::info!("stopped");
    Ok(())
}

/// The signals that ask a process to end.
struct Termination {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Termination {
    #[cfg(unix)]
    fn install() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    fn install() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_that_is_allowed_has_room() {
        let with = |upload_bytes, buffered_bytes| {
            let limits = Limits {
                upload_bytes,
                buffered_bytes,
                ..Limits::default()
            };
            limits.checked()
        };
        const MIB: usize = 1 << 20;
        assert_eq!(with(64 * MIB, 512 * MIB).unwrap().query_bytes, 16 * MIB);
        assert_eq!(with(6 * MIB, 8 * MIB).unwrap().query_bytes, 6 * MIB);
        for (upload, buffered) in [(6 * MIB + 1, 8 * MIB), (64 * MIB, MIB), (1, 0)] {
            let refused = with(upload, buffered).unwrap_err().to_string();
            assert!(refused.contains("--max-buffered-bytes"), "{refused}");
        }
        // The server takes the limits that the advice names.
        with(64 * MIB, 128 * MIB).unwrap();
        with(MIB, 2 * MIB).unwrap();
    }
}
