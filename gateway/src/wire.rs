//! PostgreSQL's protocol: connections, and who may have one.

mod descriptions;
pub(crate) mod errors;
mod handlers;
mod hooks;
mod service;

use std::sync::Arc;
use std::time::Duration;

use datafusion::prelude::SessionContext;
use datafusion_postgres::pgwire::api::ConnectionManager;
use datafusion_postgres::pgwire::tokio::process_socket;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tfhe_sbc_transport::provider::provider;
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

use crate::error::{GatewayError, Outcome, code};
use crate::options::Listening;
use crate::session;
use handlers::{Guard, Handlers};

/// How clients come in: by password or certificate and TLS, or freely.
pub(crate) struct Door {
    password: Option<Arc<Zeroizing<String>>>,
    acceptor: Option<TlsAcceptor>,
    /// The certificates in PEM, to which passwords are bound.
    certificate: Option<Vec<u8>>,
    /// Whether clients show a certificate.
    asks_for_certificates: bool,
}

impl Door {
    /// Reads the password and the certificate.
    pub(crate) fn open(listening: &Listening) -> Outcome<Self> {
        let file = |path: &std::path::Path| {
            std::fs::read(path).map(Zeroizing::new).map_err(|error| {
                GatewayError::new(
                    code::CONFIGURATION,
                    format_args!("cannot read {}: {error}", path.display()),
                )
            })
        };
        let mut password = None;
        if let Some(path) = &listening.password_file {
            let bytes = file(path)?;
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            let text = text.trim_end_matches(['\r', '\n']);
            if text.is_empty() {
                let error = GatewayError::new(
                    code::CONFIGURATION,
                    format_args!("{} has no password", path.display()),
                );
                return Err(error.advise("write one line of text into it"));
            }
            password = Some(Arc::new(Zeroizing::new(text.to_owned())));
        }
        let (mut acceptor, mut certificate) = (None, None);
        if let (Some(chain), Some(key)) = (&listening.certificate, &listening.private_key) {
            let (chain, key) = (file(chain)?, file(key)?);
            let authority = listening.client_ca.as_deref().map(file).transpose()?;
            let authority = authority.as_ref().map(|bytes| bytes.as_slice());
            let config = tls(&chain, &key, authority)?;
            acceptor = Some(TlsAcceptor::from(Arc::new(config)));
            certificate = Some(chain.to_vec());
        }
        Ok(Self {
            password,
            acceptor,
            certificate,
            asks_for_certificates: listening.client_ca.is_some(),
        })
    }

    /// The password that clients have to know, if there is one.
    pub(crate) fn password(&self) -> Option<Arc<Zeroizing<String>>> {
        self.password.clone()
    }
}

/// Returns the settings of TLS with this certificate. Clients have to show one of `authority`, if it is given.
fn tls(chain: &[u8], key: &[u8], authority: Option<&[u8]>) -> Outcome<ServerConfig> {
    let refused = |error: &dyn std::fmt::Display| {
        GatewayError::new(code::CONFIGURATION, format_args!("TLS: {error}"))
            .advise("give a certificate and its private key in PEM")
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<_, _>>()
        .map_err(|error| refused(&error))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| refused(&error))?;
    let verifier = match authority {
        None => WebPkiClientVerifier::no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(authority) {
                let added = roots.add(certificate.map_err(|error| refused(&error))?);
                added.map_err(|error| refused(&error))?;
            }
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
                .build()
                .map_err(|error| refused(&error))?
        }
    };
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            let builder = builder.with_client_cert_verifier(verifier);
            builder.with_single_cert(chain, key)
        });
    let mut config = config.map_err(|error| refused(&error))?;
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(config)
}

/// Serves clients until the program ends.
pub(crate) async fn serve(
    listener: TcpListener,
    door: Door,
    context: SessionContext,
    allows_clear_constants: bool,
) -> Outcome<()> {
    let manager = Arc::new(ConnectionManager::new());
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                tracing::warn!("no connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let _ = socket.set_nodelay(true);
        let handlers = Handlers::new(
            session::of_client(&context),
            Arc::clone(&manager),
            door.password.clone(),
            door.certificate.as_deref(),
            Guard {
                tls: door.acceptor.is_some(),
                certificate: door.asks_for_certificates,
            },
            allows_clear_constants,
        );
        let handlers = match handlers {
            Ok(handlers) => Arc::new(handlers),
            Err(error) => {
                tracing::warn!("no connection: {error}");
                continue;
            }
        };
        let acceptor = door.acceptor.clone();
        tokio::spawn(async move {
            let (socket, watched) = match twice(socket) {
                Ok(sockets) => sockets,
                Err(error) => return tracing::warn!("no connection: {error}"),
            };
            // What a statement has begun ends when its future is dropped.
            tokio::select! {
                served = process_socket(socket, acceptor, handlers) => {
                    if let Err(error) = served {
                        tracing::debug!("a connection ended: {error}");
                    }
                }
                () = gone(&watched) => {}
            }
        });
    }
}

/// Returns a socket twice.
fn twice(socket: TcpStream) -> std::io::Result<(TcpStream, TcpStream)> {
    let socket = socket.into_std()?;
    let other = TcpStream::from_std(socket.try_clone()?)?;
    Ok((TcpStream::from_std(socket)?, other))
}

/// Waits until the client has closed its side. The protocol reads nothing while a statement runs, so that it would notice late.
async fn gone(socket: &TcpStream) {
    const AGAIN: Duration = Duration::from_millis(100);
    loop {
        match socket.ready(Interest::READABLE).await {
            Ok(ready) if !ready.is_read_closed() => tokio::time::sleep(AGAIN).await,
            _ => break,
        }
    }
    // Whoever said goodbye before is served to the end.
    tokio::time::sleep(AGAIN).await;
}
