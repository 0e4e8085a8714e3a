//! The life of one connection: handshake, caller, requests.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::Instrument as _;

use super::Limits;
use super::counted::{Counted, Heard};
use super::peers::Peers;
use crate::client_verifier::ClientVerifier;
use crate::metrics::{HandshakeFailure, Metrics, Rejection};
use tfhe_sbc_transport::error_chain;
use tfhe_sbc_transport::role::Subject;

/// The bytes that a refused client may still send before it is cut off.
pub(super) const LINGER_BYTES: usize = 64 * 1024;
pub(super) const LINGER: Duration = Duration::from_secs(1);
/// The time that a connection lives if its certificate has too many connections.
const REFUSING: Duration = Duration::from_secs(2);

/// The most bytes that a connection may have read in advance; heads of requests must fit.
pub(super) const MAXIMUM_BUFFER: usize = 16 * 1024;

/// The values that all connections share.
#[derive(Clone)]
pub(super) struct ConnectionHandler {
    pub(super) limits: Limits,
    pub(super) acceptor: TlsAcceptor,
    pub(super) router: Router,
    /// The answers for clients that have too many connections already.
    pub(super) refusing: Router,
    pub(super) peers: Peers,
    pub(super) clients: Arc<ClientVerifier>,
    pub(super) metrics: Arc<Metrics>,
    /// Turns true when the server is to stop.
    pub(super) stopping: watch::Receiver<bool>,
}

impl ConnectionHandler {
    /// Serves one client until it leaves, falls silent or the server stops.
    pub(super) async fn handle(self, stream: TcpStream, from: SocketAddr) {
        let _open = self.metrics.connections.enter();
        let shaken = tokio::select! {
            shaken = self.handshake(stream).instrument(tracing::warn_span!("connection", %from)) => shaken,
            () = self.stop() => return,
        };
        if let Some((stream, peer)) = shaken {
            self.serve(stream, peer).await;
        }
    }

    async fn handshake(&self, stream: TcpStream) -> Option<(TlsStream<TcpStream>, Subject)> {
        // Answers are small and clients wait for them. Without the option they only come some
        // milliseconds later.
        let _ = stream.set_nodelay(true);
        let failed = |reason: HandshakeFailure, error: &dyn std::fmt::Display| {
            self.metrics.count_handshake_failure(reason);
            tracing::warn!(reason = reason.label(), %error, "refused a connection");
        };
        let stream = match timeout(
            self.limits.handshake_timeout,
            self.acceptor.accept(stream).into_fallible(),
        )
        .await
        {
            Ok(Ok(stream)) => stream,
            Ok(Err((error, stream))) => {
                failed(HandshakeFailure::of(&error), &error);
                linger(stream).await;
                return None;
            }
            Err(_) => {
                failed(HandshakeFailure::TooSlow, &"no TLS handshake in time");
                return None;
            }
        };
        let (_, session) = stream.get_ref();
        let peer = session
            .peer_certificates()
            .and_then(|chain| Subject::from_certificate(chain.first()?));
        let Some(peer) = peer else {
            failed(
                HandshakeFailure::OtherCertificate,
                &"the client's certificate cannot be read",
            );
            return None;
        };
        let key_exchange = session
            .negotiated_key_exchange_group()
            .map(rustls::crypto::SupportedKxGroup::name);
        tracing::debug!(peer = ?peer.name, role = ?peer.role, ?key_exchange, "connected");
        Some((stream, peer))
    }

    /// Completes when the server is to stop.
    async fn stop(&self) {
        // The wait fails once the server is gone, which is a reason to stop as well.
        let _ = self.stopping.clone().wait_for(|stopping| *stopping).await;
    }

    /// Completes when this client's certificate is revoked.
    async fn revoked(&self, peer: &Subject) {
        let mut current = self.clients.subscribe();
        let gone = current
            .wait_for(|list| list.is_revoked(&peer.id))
            .await
            .is_err();
        if gone {
            // The list does not change any more.
            std::future::pending::<()>().await;
        }
    }

    async fn serve(&self, stream: TlsStream<TcpStream>, peer: Subject) {
        let heard = Heard::default();
        let place = self.peers.enter(&peer.id);
        let (router, header_timeout) = match place {
            Some(_) => (&self.router, self.limits.header_timeout),
            // The connection lives long enough to read the answer.
            None => (&self.refusing, self.limits.header_timeout.min(LINGER)),
        };
        let router = router.clone();
        let router = router
            .layer(Extension(heard.clone()))
            .layer(Extension(peer.clone()));
        // A client that takes nothing of its answer would hold its place for ever.
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.answer_idle_timeout));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(header_timeout)
            .max_buf_size(MAXIMUM_BUFFER)
            .keep_alive(place.is_some())
            .serve_connection(
                TokioIo::new(Counted::new(Box::pin(stream), heard.clone())),
                TowerToHyperService::new(router),
            );
        let overstayed = async {
            match place {
                Some(_) => std::future::pending().await,
                None => sleep(REFUSING).await,
            }
        };
        let mut connection = std::pin::pin!(connection);
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = self.stop() => {
                // The request that is under way, if there is one, is finished.
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            () = overstayed => {
                tracing::debug!(peer = ?peer.name, "cut off a connection that was refused");
                return;
            }
            () = self.revoked(&peer) => {
                self.metrics.count_revoked_connection();
                tracing::warn!(peer = ?peer.name, "closing a connection: its certificate was revoked");
                connection.as_mut().graceful_shutdown();
                // A request that came before is answered, within a bound of time.
                timeout(LINGER, connection).await.unwrap_or(Ok(()))
            }
        };
        let Err(error) = served else { return };
        let of_stream = error_chain::find::<io::Error>(&error).map(io::Error::kind);
        if of_stream == Some(ErrorKind::TimedOut) {
            self.metrics.count_rejection(Rejection::TooSlow);
            tracing::warn!(peer = ?peer.name, "closed a connection whose client does not take its answer");
            return;
        }
        let reason = if error.is_timeout() && heard.is_in_request() {
            Rejection::TooSlow
        } else if error.is_parse() {
            Rejection::Invalid
        } else {
            tracing::debug!(peer = ?peer.name, %error, "a connection ended early");
            return;
        };
        self.metrics.count_rejection(reason);
        tracing::warn!(peer = ?peer.name, reason = reason.label(), %error, "closed a connection before its request was whole");
    }
}

/// Lets a refused client read the alert: closing while it still sends would
/// reset the connection and throw the alert away.
async fn linger(mut stream: TcpStream) {
    let _ = timeout(LINGER, async {
        stream.shutdown().await?;
        tokio::io::copy(
            &mut stream.take(LINGER_BYTES as u64),
            &mut tokio::io::sink(),
        )
        .await
    })
    .await;
}
