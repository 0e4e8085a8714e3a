//! The status page for a browser on the server's own machine, which has no certificate: plain
//! HTTP, loopback only, and nothing but the page.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::ServeError;

/// The most browsers at a time.
const CONNECTIONS: usize = 16;
/// The time for a request to arrive, and for the whole connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// Listens at the address, if it is one of this machine alone.
pub(super) async fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    if !address.ip().is_loopback() {
        return Err(ServeError::StatusNotLocal { address });
    }
    let failed = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    if let Ok(address) = listener.local_addr() {
        tracing::info!("the status page is at http://{address}");
    }
    Ok(listener)
}

/// Serves the page until dropped.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            let _ = timeout(PATIENCE, connection).await;
            drop(slot);
        });
    }
}
