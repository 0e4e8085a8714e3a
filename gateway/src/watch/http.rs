//! Requests to InfluxDB and to webhooks.

use std::sync::OnceLock;
use std::time::Duration;

use tfhe_sbc_transport::provider::provider;
use ureq::tls::{RootCerts, TlsConfig};
use zeroize::Zeroizing;

use crate::error::{GatewayError, Outcome, code};

/// The time that a request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of a refusal that are read.
const MOST_WORDS: u64 = 4096;

/// A request.
pub(super) struct Post {
    pub(super) url: String,
    pub(super) kind: &'static str,
    /// The value of the header `Authorization`.
    pub(super) authorization: Option<Zeroizing<String>>,
    pub(super) body: Vec<u8>,
}

/// Returns the client of all requests, which trusts the authorities that the system trusts.
fn agent() -> &'static ureq::Agent {
    static AGENT: OnceLock<ureq::Agent> = OnceLock::new();
    AGENT.get_or_init(|| {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(provider())
            .build();
        let config = ureq::Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent("tfhe-sbc-gateway")
            .build();
        config.new_agent()
    })
}

/// Posts a request; `None` is nothing to send.
///
/// # Errors
/// If nobody answers, or the answer is no success; with [`code::DATA`] if it is that the request itself cannot be taken.
pub(super) async fn post(request: Option<Post>) -> Outcome<()> {
    let Some(request) = request else {
        return Ok(());
    };
    let sent = tokio::task::spawn_blocking(move || send(&request)).await;
    sent.map_err(GatewayError::internal)?
}

fn send(request: &Post) -> Outcome<()> {
    let away = |error: ureq::Error| GatewayError::new(code::CONNECTION, error);
    let mut post = agent().post(&request.url).content_type(request.kind);
    if let Some(value) = &request.authorization {
        post = post.header("Authorization", value.as_str());
    }
    let mut response = post.send(&request.body).map_err(away)?;
    let status = response.status();
    let limited = response.body_mut().with_config().limit(MOST_WORDS);
    // What was sent is taken, whatever the answer's words are.
    let words = limited.read_to_string().unwrap_or_default();
    match status.is_success() {
        true => Ok(()),
        false => {
            let words = words.lines().next().unwrap_or_default();
            let code = match status.as_u16() {
                400 | 413 | 422 => code::DATA,
                _ => code::REJECTED,
            };
            let message = format_args!("it answered {status} {words}");
            Err(GatewayError::new(code, message))
        }
    }
}
