//! The provider of TLS's cryptography.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// Returns AWS-LC with the key exchanges in the order of rustls's feature `prefer-post-quantum`:
/// the hybrid X25519MLKEM768 first.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
