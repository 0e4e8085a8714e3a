//! A client's connection: mutual TLS and HTTP/1.1, kept open between requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONNECTION, HOST, RETRY_AFTER};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::Failure;

/// The time that a request may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The answer of a server.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: Bytes,
}

/// A client of one server under one certificate.
pub(crate) struct Link {
    address: SocketAddr,
    config: Arc<ClientConfig>,
    open: Option<SendRequest<Full<Bytes>>>,
    /// The number of connections that it has opened.
    pub(crate) connections: u64,
}

impl Link {
    pub(crate) fn new(address: SocketAddr, config: Arc<ClientConfig>) -> Self {
        Self {
            address,
            config,
            open: None,
            connections: 0,
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Reply, Failure> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: Bytes) -> Result<Reply, Failure> {
        self.ask(Method::POST, path, body).await
    }

    /// Sends a request on the open connection, or on a new one if the server has closed that.
    async fn ask(&mut self, method: Method, path: &str, body: Bytes) -> Result<Reply, Failure> {
        if let Some(open) = self.open.take()
            && !open.is_closed()
            && let Ok(reply) = self.ask_on(open, &method, path, &body).await
        {
            return Ok(reply);
        }
        let open = timeout(PATIENCE, self.connect())
            .await
            .map_err(|_| "no connection in time")??;
        self.ask_on(open, &method, path, &body).await
    }

    async fn ask_on(
        &mut self,
        mut open: SendRequest<Full<Bytes>>,
        method: &Method,
        path: &str,
        body: &Bytes,
    ) -> Result<Reply, Failure> {
        let request = Request::builder()
            .method(method.clone())
            .uri(path)
            .header(HOST, "localhost")
            .body(Full::new(body.clone()))?;
        let exchange = async {
            let reply = open.send_request(request).await?;
            let (head, body) = reply.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok::<_, Failure>((head, body))
        };
        let (head, body) = timeout(PATIENCE, exchange)
            .await
            .map_err(|_| "no answer in time")??;
        let retry_after = head.headers.get(RETRY_AFTER);
        let closes = head.headers.get(CONNECTION).is_some_and(|v| v == "close");
        if !closes {
            self.open = Some(open);
        }
        Ok(Reply {
            status: head.status.as_u16(),
            retry_after: retry_after.and_then(|value| value.to_str().ok()?.parse().ok()),
            body,
        })
    }

    async fn connect(&mut self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        self.connections += 1;
        let stream = tls_stream(self.address, &self.config).await?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        Ok(sender)
    }
}

/// Opens a TLS connection; its handshake is done as far as the client can tell.
pub(crate) async fn tls_stream(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
) -> Result<TlsStream<TcpStream>, Failure> {
    let stream = TcpStream::connect(address).await?;
    let _ = stream.set_nodelay(true);
    let name = ServerName::try_from("localhost")?;
    let connector = TlsConnector::from(Arc::clone(config));
    Ok(connector.connect(name, stream).await?)
}
