//! The errors between a client and its server, each with advice.

use std::error::Error;
use std::io;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError};

use crate::error_chain;
use crate::human::Bytes;
use crate::tls::TlsError;

/// The reason why a client did not get what it asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server's address cannot be used.
    #[error("{url:?} is no address of a server: {reason}; write https://HOST:PORT")]
    Url {
        /// The address given.
        url: String,
        /// The reason why it cannot be used.
        reason: &'static str,
    },
    /// Nobody answers there.
    #[error(
        "cannot reach a server at {address}: {source}. Is it running, and is the address right?"
    )]
    Unreachable {
        /// Host and port.
        address: String,
        /// The reason.
        source: io::Error,
    },
    /// The server's certificate is not signed by the trusted authority, or no
    /// longer valid.
    #[error(
        "the server at {address} is not trusted: {source}. Give the ca.pem that its certificate was issued under, and check both clocks"
    )]
    ServerNotTrusted {
        /// Host and port.
        address: String,
        /// The reason why the certificate is not trusted.
        source: rustls::Error,
    },
    /// The server's certificate is for other names.
    #[error(
        "the certificate of the server at {address} is for other names ({source}). Connect under one of those, or issue it a certificate that names this one too"
    )]
    ServerNameMismatch {
        /// Host and port.
        address: String,
        /// The error that lists the names of the certificate.
        source: rustls::Error,
    },
    /// The server demands a certificate and got none.
    #[error(
        "the server at {address} demands a certificate and this client showed none. Give it the certificate and key that were issued for it"
    )]
    NoClientCertificate {
        /// Host and port.
        address: String,
    },
    /// The server does not accept this client's certificate.
    #[error(
        "the server at {address} refused this client's certificate ({alert:?}). Use one issued by the server's own authority and still valid"
    )]
    ClientCertificateRefused {
        /// Host and port.
        address: String,
        /// The reason that the server gave.
        alert: AlertDescription,
    },
    /// TLS failed in another way.
    #[error(
        "no TLS connection to {address}: {source}. Does a tfhe-sbc server listen there, with TLS 1.3?"
    )]
    Tls {
        /// Host and port.
        address: String,
        /// The reason.
        source: rustls::Error,
    },
    /// The connection broke.
    #[error(
        "the connection to {address} broke off: {source}. Trying again does no harm; if it happens again the server's log says more"
    )]
    BrokenOff {
        /// Host and port.
        address: String,
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server took too long.
    #[error(
        "{address} did not {action} within {after:?}. Is the server overloaded, or the connection slow? A longer timeout may help"
    )]
    Timeout {
        /// Host and port.
        address: String,
        /// The work that the server did not finish, as a verb with its object.
        action: &'static str,
        /// The time that the client waited.
        after: Duration,
    },
    /// The server has too much to do at the moment.
    #[error("the server is busy: {message}. Try again in {} seconds", retry_after.as_secs())]
    Busy {
        /// The server's words.
        message: String,
        /// The time after which to try again.
        retry_after: Duration,
    },
    /// The server refused.
    #[error("the server refused ({status}): {message}. {hint}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
        /// The server's advice.
        hint: String,
    },
    /// The server's answer cannot be understood.
    #[error(
        "the answer of {address} cannot be understood: {reason}. Is it a tfhe-sbc server of a matching version?"
    )]
    BadReply {
        /// Host and port.
        address: String,
        /// The reason why it cannot be used.
        reason: String,
    },
    /// The server's answer is longer than any answer to what it was asked can be. It was not read to its end.
    #[error(
        "the answer of {address} is longer than {}, which is more than any answer to this request has. Is it a tfhe-sbc server of a matching version, and one to be trusted?", Bytes(*most)
    )]
    TooLong {
        /// Host and port.
        address: String,
        /// The most bytes that such an answer has.
        most: u64,
    },
    /// The query was called off from here.
    #[error("the query was called off")]
    CalledOff,
    /// The client could not be set up.
    #[error("cannot start the client: {0}")]
    Runtime(#[source] io::Error),
    /// TLS could not be set up.
    #[error(transparent)]
    TlsSetup(#[from] TlsError),
}

impl ClientError {
    /// Returns the error for a failure on a connection that TCP had opened.
    pub(super) fn on_connection(address: &str, error: Box<dyn Error + Send + Sync>) -> Self {
        let address = address.to_owned();
        match error_chain::find::<rustls::Error>(error.as_ref()) {
            Some(tls) => Self::from_tls(address, tls.clone()),
            None => Self::BrokenOff {
                address,
                source: error,
            },
        }
    }

    fn from_tls(address: String, source: rustls::Error) -> Self {
        use AlertDescription as Alert;
        use CertificateError as Certificate;
        match source {
            rustls::Error::InvalidCertificate(
                Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
            ) => Self::ServerNameMismatch { address, source },
            rustls::Error::InvalidCertificate(_) => Self::ServerNotTrusted { address, source },
            rustls::Error::AlertReceived(Alert::CertificateRequired) => {
                Self::NoClientCertificate { address }
            }
            rustls::Error::AlertReceived(
                alert @ (Alert::UnknownCA
                | Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::DecryptError
                | Alert::AccessDenied),
            ) => Self::ClientCertificateRefused { address, alert },
            source => Self::Tls { address, source },
        }
    }
}
