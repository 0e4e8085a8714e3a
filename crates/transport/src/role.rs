//! Roles and what they may do. A certificate carries one role in the organizational unit (OU) of
//! its subject; only [`Role::may`] decides what the role may do.

use std::fmt;
use std::sync::Arc;

use x509_parser::prelude::{FromDer, X509Certificate};

/// The role of a certificate's holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Measures, encrypts and uploads.
    Device,
    /// Holds the secret key: uploads, lists and asks.
    Owner,
}

/// The actions that a caller may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Send encrypted readings.
    Upload,
    /// See which readings are stored.
    List,
    /// Get the bytes of stored readings.
    Fetch,
    /// Remove stored readings.
    Remove,
    /// Have a query evaluated on stored readings.
    Query,
    /// Store, list and end the pads of boards that send frames.
    ManagePads,
    /// Ask for health and metrics.
    Observe,
}

impl Role {
    /// Returns whether this role may do this.
    pub fn may(self, action: Action) -> bool {
        match (self, action) {
            (Self::Owner, _) => true,
            (Self::Device, Action::Upload | Action::Observe) => true,
            (
                Self::Device,
                Action::List | Action::Fetch | Action::Remove | Action::Query | Action::ManagePads,
            ) => false,
        }
    }

    /// Returns the organizational unit that stands for this role in a certificate.
    pub fn organizational_unit(self) -> &'static str {
        match self {
            Self::Device => "tfhe-sbc device",
            Self::Owner => "tfhe-sbc owner",
        }
    }

    fn from_organizational_unit(unit: &str) -> Option<Self> {
        [Self::Device, Self::Owner]
            .into_iter()
            .find(|role| role.organizational_unit() == unit)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Owner => "owner",
        })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Upload => "upload readings",
            Self::List => "list the stored readings",
            Self::Fetch => "fetch stored readings",
            Self::Remove => "remove stored readings",
            Self::Query => "query the stored readings",
            Self::ManagePads => "manage the pads of boards",
            Self::Observe => "observe the server",
        })
    }
}

/// The holder of a certificate, as the certificate names it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The common name of the certificate.
    pub name: Arc<str>,
    /// The role; `None` if the certificate names none or several.
    pub role: Option<Role>,
    /// The identity of the certificate.
    pub id: CertificateId,
}

/// The identity of a certificate: its issuer, and its serial number there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CertificateId {
    issuer: Arc<[u8]>,
    serial: Arc<[u8]>,
}

impl CertificateId {
    /// Returns the identity of the certificate with this issuer's name and this serial number, both
    /// as DER encodes them.
    pub fn new(issuer: &[u8], serial: &[u8]) -> Self {
        Self {
            issuer: issuer.into(),
            serial: serial.into(),
        }
    }
}

impl Subject {
    /// Reads name and role from a certificate that TLS has verified already, in DER. `None` if the
    /// certificate cannot be read.
    pub fn from_certificate(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let subject = certificate.subject();
        let name = subject
            .iter_common_name()
            .next()
            .and_then(|name| name.as_str().ok())
            .unwrap_or("(unnamed)");
        let mut units = subject.iter_organizational_unit();
        let role = match (units.next(), units.next()) {
            (Some(unit), None) => unit.as_str().ok().and_then(Role::from_organizational_unit),
            _ => None,
        };
        Some(Self {
            name: name.into(),
            role,
            id: CertificateId::new(certificate.issuer().as_raw(), certificate.raw_serial()),
        })
    }

    /// Returns whether this holder may do this.
    pub fn may(&self, action: Action) -> bool {
        self.role.is_some_and(|role| role.may(action))
    }
}
