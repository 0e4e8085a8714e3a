//! Errors of the gateway, with PostgreSQL's codes.

use std::fmt::Display;

use datafusion::error::DataFusionError;
use tfhe_sbc_transport::client::ClientError;

/// PostgreSQL's codes of errors (SQLSTATE).
pub(crate) mod code {
    pub(crate) const CANCELED: &str = "57014";
    pub(crate) const CONFIGURATION: &str = "F0000";
    pub(crate) const CONNECTION: &str = "08006";
    pub(crate) const DATA: &str = "22000";
    pub(crate) const DENIED: &str = "42501";
    pub(crate) const INTERNAL: &str = "XX000";
    pub(crate) const INVALID_PARAMETER: &str = "22023";
    pub(crate) const LIMIT: &str = "54000";
    pub(crate) const NOT_CONNECTED: &str = "08001";
    pub(crate) const NOT_READ_ONLY: &str = "25006";
    pub(crate) const REJECTED: &str = "08004";
    pub(crate) const UNSUPPORTED: &str = "0A000";
}

/// An error with its code and advice.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct GatewayError {
    code: &'static str,
    message: String,
    hint: Option<String>,
}

pub(crate) type Outcome<T> = Result<T, GatewayError>;

impl GatewayError {
    /// An error whose message says by itself what to do.
    pub(crate) fn new(code: &'static str, message: impl Display) -> Self {
        Self {
            code,
            message: message.to_string(),
            hint: None,
        }
    }

    /// The same with advice.
    #[must_use]
    pub(crate) fn advise(self, hint: impl Display) -> Self {
        Self {
            hint: Some(hint.to_string()),
            ..self
        }
    }

    /// PostgreSQL's code of the error.
    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// The advice, if there is any.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the error of another library.
    pub(crate) fn internal(error: impl Display) -> Self {
        Self::new(code::INTERNAL, error)
    }

    /// Returns it as DataFusion's error.
    pub(crate) fn external(self) -> DataFusionError {
        DataFusionError::External(Box::new(self))
    }
}

impl From<GatewayError> for DataFusionError {
    fn from(error: GatewayError) -> Self {
        error.external()
    }
}

impl From<ClientError> for GatewayError {
    fn from(error: ClientError) -> Self {
        let code = match &error {
            ClientError::CalledOff => code::CANCELED,
            ClientError::Unreachable { .. } => code::NOT_CONNECTED,
            ClientError::ServerNotTrusted { .. }
            | ClientError::ServerNameMismatch { .. }
            | ClientError::NoClientCertificate { .. }
            | ClientError::ClientCertificateRefused { .. }
            | ClientError::Refused { status: 403, .. } => code::REJECTED,
            ClientError::Refused { status: 422, .. } => code::DATA,
            _ => code::CONNECTION,
        };
        match error {
            ClientError::CalledOff => {
                Self::new(code, "canceling statement because nobody waits for it")
            }
            ClientError::Refused { message, hint, .. } => {
                Self::new(code, format_args!("the server refused: {message}")).advise(hint)
            }
            other => Self::new(code, other),
        }
    }
}
