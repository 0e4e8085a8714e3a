//! The server's TLS settings: TLS 1.3 and nothing older, a certificate demanded from every client,
//! and the key exchanges of [`tfhe_sbc_transport::provider`].

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::SingleCertAndKey;
use rustls::version::TLS13;
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::provider::provider;
use tfhe_sbc_transport::tls::HTTP_1_1;

use crate::revocation::RevocationError;

/// The reason why no TLS settings could be made.
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

/// Returns the settings of a server that shows the certificate of `identity` and demands one from
/// every client, which `clients` verifies.
///
/// # Errors
/// If `identity` has no certificate, or the TLS library refuses the settings.
pub(crate) fn server_config(
    identity: &Identity,
    clients: Arc<dyn ClientCertVerifier>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let own = identity.own().ok_or(TlsError::NoCertificate)?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(own))));
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    // Every connection proves its certificate anew; connections are long enough.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(config))
}
