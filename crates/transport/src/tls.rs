//! The TLS settings of a client: TLS 1.3 and nothing older, certificates on both sides, and the
//! hybrid post-quantum key exchange X25519MLKEM768 preferred, so that recorded traffic stays
//! closed even to an attacker who later breaks elliptic curves. The readings inside are encrypted
//! besides.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::sign::SingleCertAndKey;
use rustls::version::TLS13;

use crate::identity::Identity;
use crate::provider::provider;

/// The application protocol (ALPN) of a server of this project and of its clients.
pub const HTTP_1_1: &[u8] = b"http/1.1";

/// The TLS library refuses the settings.
#[derive(Debug, thiserror::Error)]
#[error("TLS cannot be set up: {0}")]
pub struct TlsError(#[from] rustls::Error);

/// Returns the settings of a client that speaks HTTP/1.1. The client trusts the authority in
/// `identity` and no other.
///
/// # Errors
/// If the TLS library refuses the settings.
pub fn client_config(identity: &Identity) -> Result<Arc<ClientConfig>, TlsError> {
    let mut config = any_client_config(identity)?;
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    Ok(Arc::new(config))
}

/// Returns the same settings for a client of a broker, which negotiates no application protocol.
pub(crate) fn broker_client_config(identity: &Identity) -> Result<Arc<ClientConfig>, TlsError> {
    any_client_config(identity).map(Arc::new)
}

fn any_client_config(identity: &Identity) -> Result<ClientConfig, TlsError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(Arc::clone(identity.roots()));
    Ok(match identity.own() {
        Some(own) => {
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(own))))
        }
        None => builder.with_no_client_auth(),
    })
}
