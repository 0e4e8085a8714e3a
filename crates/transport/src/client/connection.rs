//! One HTTP connection over TLS, as a client.

use std::io::{self, ErrorKind};
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::ClientError;
use crate::error_chain;
use crate::identity::Identity;
use crate::scheme::Scheme;
use crate::tls;

/// The most bytes of the answer of a server that refuses: a sentence and advice.
const MAXIMUM_REFUSAL: u64 = 1 << 16;
/// The server closes connections that are idle for long; younger ones are used again.
const REUSED_WITHIN: Duration = Duration::from_secs(10);
/// The time that a broken connection has to give its reason.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A server's address and TLS settings.
pub(super) struct Endpoint {
    host: String,
    port: u16,
    /// `host:port`, for people and for the header `Host`.
    pub(super) address: String,
    server_name: ServerName<'static>,
    connector: TlsConnector,
}

impl Endpoint {
    /// Parses `https://HOST[:PORT]`.
    pub(super) fn new(url: &str, identity: &Identity) -> Result<Self, ClientError> {
        let refused = |reason| ClientError::Url {
            url: url.to_owned(),
            reason,
        };
        let uri: Uri = url.parse().map_err(|_| refused("it cannot be parsed"))?;
        if uri.scheme_str() != Some(Scheme::Https.name()) {
            return Err(refused("it must start with https://"));
        }
        if uri.path() != "/" || uri.query().is_some() {
            return Err(refused("there must be nothing after the port"));
        }
        let host = uri
            .host()
            .filter(|host| !host.is_empty())
            .ok_or_else(|| refused("it names no host"))?;
        let port = uri.port_u16().unwrap_or(Scheme::Https.default_port());
        let address = format!("{host}:{port}");
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let server_name = ServerName::try_from(host.clone())
            .map_err(|_| refused("its host is no name or address"))?;
        let connector = TlsConnector::from(tls::client_config(identity)?);
        Ok(Self {
            host,
            port,
            address,
            server_name,
            connector,
        })
    }

    /// Opens a connection. With TLS 1.3 the server's opinion of the client's
    /// certificate arrives only with its first answer.
    pub(super) async fn connect(&self) -> Result<Connection, ClientError> {
        let unreachable = |source| ClientError::Unreachable {
            address: self.address.clone(),
            source,
        };
        let stream = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(unreachable)?;
        let _ = stream.set_nodelay(true);
        let broken = |error| ClientError::on_connection(&self.address, error);
        let stream = self
            .connector
            .connect(self.server_name.clone(), stream)
            .await
            .map_err(|error| broken(error.into()))?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken(error.into()))?;
        Ok(Connection {
            sender,
            driver: tokio::spawn(driver),
            last_used: Instant::now(),
        })
    }
}

/// An open connection.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<hyper::Result<()>>,
    last_used: Instant,
}

/// The reason why a request got no answer.
pub(super) enum SendError {
    /// The server had closed the connection before it saw the request, or
    /// closed it instead of answering.
    Closed(ClientError),
    /// Another failure.
    Other(ClientError),
}

impl SendError {
    pub(super) fn into_inner(self) -> ClientError {
        match self {
            Self::Closed(error) | Self::Other(error) => error,
        }
    }
}

impl Connection {
    /// Returns whether the server probably still listens to this connection.
    pub(super) fn is_fresh(&self) -> bool {
        !self.sender.is_closed() && self.last_used.elapsed() < REUSED_WITHIN
    }

    /// Sends a request and reads the whole answer, which may have `most` bytes, or 64 KiB if the server refuses.
    /// A longer one is not read to its end. The connection comes back if it can be used again.
    pub(super) async fn send(
        mut self,
        address: &str,
        request: Request<Full<Bytes>>,
        most: u64,
    ) -> Result<(Response<Bytes>, Option<Self>), SendError> {
        let response = match self.sender.send_request(request).await {
            Ok(response) => response,
            Err(error) => return Err(self.explain(address, error).await),
        };
        let (head, body) = response.into_parts();
        let most = match head.status.is_success() {
            true => most,
            false => MAXIMUM_REFUSAL,
        };
        let too_long = || {
            let address = address.to_owned();
            SendError::Other(ClientError::TooLong { address, most })
        };
        if body.size_hint().lower() > most {
            return Err(too_long());
        }
        let limit = usize::try_from(most).unwrap_or(usize::MAX);
        let body = Limited::new(body, limit).collect().await;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => too_long(),
            false => SendError::Other(ClientError::on_connection(address, error)),
        })?;
        self.last_used = Instant::now();
        let reusable = self.sender.ready().await.is_ok();
        Ok((
            Response::from_parts(head, body.to_bytes()),
            reusable.then_some(self),
        ))
    }

    /// Returns the reason, which either the request or the task that drives the connection knows.
    async fn explain(self, address: &str, error: hyper::Error) -> SendError {
        let closed = is_closed(&error);
        let of_request = ClientError::on_connection(address, error.into());
        if !matches!(of_request, ClientError::BrokenOff { .. }) {
            return SendError::Other(of_request);
        }
        if let Ok(Ok(Err(error))) = timeout(LAST_WORDS, self.driver).await {
            let of_connection = ClientError::on_connection(address, error.into());
            if !matches!(of_connection, ClientError::BrokenOff { .. }) {
                return SendError::Other(of_connection);
            }
        }
        if closed {
            SendError::Closed(of_request)
        } else {
            SendError::Other(of_request)
        }
    }
}

fn is_closed(error: &hyper::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let of_stream = error_chain::find::<io::Error>(error).map(io::Error::kind);
    error.is_canceled()
        || error.is_incomplete_message()
        || error.is_closed()
        || matches!(
            of_stream,
            Some(BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        )
}
