//! Certificates that are no longer good: the list of them.
//!
//! The list is a standard one (X.509 CRL, RFC 5280 section 5, in PEM), signed by the authority.
//! [`certificates`](crate::certificates) writes it; this module reads it, and `client_verifier`
//! refuses the certificates on it.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use tfhe_sbc_transport::role::CertificateId;
use x509_parser::num_bigint::BigUint;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::revocation_list::CertificateRevocationList;

/// The longest list that is read, in bytes: some hundred thousand certificates.
const MAXIMUM_BYTES: u64 = 16 << 20;

/// The reason why a list of revoked certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RevocationError {
    /// The file cannot be read.
    #[error("cannot read the list of revoked certificates {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file holds something else, or is damaged.
    #[error(
        "{} is no list of revoked certificates that can be used: {reason}. Restore it from a \
         copy, or make it again with `tfhe-sbc certs revoke`",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason why it cannot be used.
        reason: String,
    },
}

/// A list that an authority signed.
pub(crate) struct RevocationList {
    pub(crate) der: CertificateRevocationListDer<'static>,
    pub(crate) revoked: HashSet<CertificateId>,
    pub(crate) succession: Succession,
}

/// The place of a list among its authority's lists: each has a higher number than the one before
/// (RFC 5280, section 5.2.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Succession {
    issuer: Vec<u8>,
    number: Option<BigUint>,
}

impl Succession {
    /// Returns why this list must not take the place of `before`, if it must not: certificates that
    /// `before` revoked would be good again.
    pub(crate) fn refuses(&self, before: &Self) -> Option<String> {
        if self.issuer != before.issuer {
            return Some("it is of another authority than the list in force".to_owned());
        }
        (self.number < before.number).then(|| {
            let word = |number: &Option<BigUint>| {
                number
                    .as_ref()
                    .map_or("none".to_owned(), BigUint::to_string)
            };
            format!(
                "its number is {}, and that of the list in force {}: it is an older one",
                word(&self.number),
                word(&before.number)
            )
        })
    }
}

impl RevocationList {
    /// Reads the list in a file and checks who signed it; `None` if there is no file.
    pub(crate) fn read(
        path: &Path,
        authorities: &[CertificateDer<'_>],
    ) -> Result<Option<Self>, RevocationError> {
        let read = |source| RevocationError::Read {
            path: path.to_owned(),
            source,
        };
        let bytes = match fs::metadata(path) {
            Ok(metadata) if metadata.len() > MAXIMUM_BYTES => {
                return Err(read(io::ErrorKind::FileTooLarge.into()));
            }
            Ok(_) => fs::read(path).map_err(read)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(read(error)),
        };
        Self::parse(&bytes, authorities)
            .map(Some)
            .map_err(|reason| RevocationError::Damaged {
                path: path.to_owned(),
                reason,
            })
    }

    fn parse(pem: &[u8], authorities: &[CertificateDer<'_>]) -> Result<Self, String> {
        let mut lists = CertificateRevocationListDer::pem_slice_iter(pem);
        let der = lists
            .next()
            .and_then(Result::ok)
            .ok_or_else(|| "it is no PEM of an X509 CRL".to_owned())?;
        if lists.next().is_some() {
            return Err("it has more than one list, and only one can be in force".to_owned());
        }
        let (rest, list) =
            CertificateRevocationList::from_der(&der).map_err(|error| error.to_string())?;
        if !rest.is_empty() {
            return Err("something follows the list".to_owned());
        }
        // Handshakes check the signature too, but all of them would fail on a wrong one.
        let signed = authorities.iter().any(|authority| {
            X509Certificate::from_der(authority).is_ok_and(|(_, authority)| {
                authority.subject().as_raw() == list.issuer().as_raw()
                    && list.verify_signature(authority.public_key()).is_ok()
            })
        });
        if !signed {
            return Err("it is not signed by the authority in ca.pem".to_owned());
        }
        let issuer = list.issuer().as_raw();
        let revoked = list
            .iter_revoked_certificates()
            .map(|entry| CertificateId::new(issuer, entry.raw_serial()))
            .collect();
        let succession = Succession {
            issuer: issuer.to_vec(),
            number: list.crl_number().cloned(),
        };
        drop(list);
        Ok(Self {
            der,
            revoked,
            succession,
        })
    }
}
