//! The TLS settings of both ends: TLS 1.3 and nothing older, certificates on
//! both sides, the hybrid post-quantum key exchange X25519MLKEM768 preferred.
//! Recorded traffic stays closed even to who breaks elliptic curves later; the
//! readings inside are encrypted besides.

use std::sync::Arc;

use rustls::server::NoServerSessionStorage;
use rustls::sign::SingleCertAndKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ServerConfig};

use crate::identity::{Identity, provider};
use crate::revocation::{ClientVerifier, RevocationError};

const HTTP_1_1: &[u8] = b"http/1.1";

/// Why no TLS settings could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A server must have a certificate.
    #[error("a server needs a certificate and its private key")]
    NoCertificate,
    /// The trusted authority cannot be used to verify clients.
    #[error("clients cannot be verified with this authority: {0}")]
    Authority(#[from] rustls::server::VerifierBuilderError),
    /// It is not known which clients to refuse.
    #[error(transparent)]
    Revocation(#[from] RevocationError),
    /// The TLS library refused.
    #[error("TLS cannot be set up: {0}")]
    Library(#[from] rustls::Error),
}

/// The server's settings: shows its certificate and demands one from every client, which
/// `clients` judges.
pub(crate) fn server_config(
    identity: &Identity,
    clients: Arc<ClientVerifier>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = provider();
    let own = identity.own.clone().ok_or(TlsError::NoCertificate)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(own)));
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    // Every connection proves its certificate anew; connections are long enough.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}

/// A client's settings: trusts the authority in `identity` and no other.
pub fn client_config(identity: &Identity) -> Result<Arc<ClientConfig>, TlsError> {
    let mut config = any_client_config(identity)?;
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    Ok(Arc::new(config))
}

/// The same for a client of a broker.
pub(crate) fn broker_client_config(identity: &Identity) -> Result<Arc<ClientConfig>, TlsError> {
    any_client_config(identity).map(Arc::new)
}

fn any_client_config(identity: &Identity) -> Result<ClientConfig, TlsError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(Arc::clone(&identity.roots));
    Ok(match identity.own.clone() {
        Some(own) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(own))),
        None => builder.with_no_client_auth(),
    })
}
