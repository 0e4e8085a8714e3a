//! Who one end of a connection is: the authority it trusts and the certificate
//! it shows, read from PEM files and checked to belong together.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::certificates::CertificateFiles;
use crate::role::Peer;

/// Why an identity could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file could not be read.
    #[error("cannot read the {what} {}: {source}", path.display())]
    Read {
        /// What the file should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("{} holds no {what} in PEM (-----BEGIN {label}-----); were two files swapped?", path.display())]
    NotPem {
        /// What the file should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The PEM label that was looked for.
        label: &'static str,
    },
    /// The authority's certificate cannot be used as one.
    #[error("{} is no certificate of an authority that can be used: {source}", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: rustls::Error,
    },
    /// The key is not the certificate's.
    #[error("the private key {} is not the key of the certificate {}; give the pair that was issued together", key.display(), certificate.display())]
    KeyMismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// The certificate or key is of a kind that cannot be used.
    #[error("the certificate {} and the key {} cannot be used: {source}", certificate.display(), key.display())]
    Unusable {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The reason.
        source: rustls::Error,
    },
}

/// The authority that one trusts and the certificate, with its key, that one
/// shows. Cheap to clone.
#[derive(Clone)]
pub struct Identity {
    pub(crate) roots: Arc<RootCertStore>,
    /// The certificates that `roots` was made of.
    pub(crate) authorities: Arc<[CertificateDer<'static>]>,
    pub(crate) own: Option<Arc<CertifiedKey>>,
}

impl Identity {
    /// Reads the authority's certificate and one's own certificate and key.
    pub fn load(authority: &Path, own: &CertificateFiles) -> Result<Self, IdentityError> {
        let (roots, authorities) = load_roots(authority)?;
        let chain = load_certificates("certificate", &own.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&own.key)
            .map_err(|error| not_pem("private key", "PRIVATE KEY", &own.key, error))?;
        warn_if_exposed(&own.key);
        let certificate = || own.certificate.clone();
        let certified =
            CertifiedKey::from_der(chain, key, &provider()).map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => IdentityError::KeyMismatch {
                    certificate: certificate(),
                    key: own.key.clone(),
                },
                source => IdentityError::Unusable {
                    certificate: certificate(),
                    key: own.key.clone(),
                    source,
                },
            })?;
        Ok(Self {
            roots,
            authorities,
            own: Some(Arc::new(certified)),
        })
    }

    /// Trusts an authority but shows no certificate. Servers of this crate
    /// refuse such a client.
    pub fn without_certificate(authority: &Path) -> Result<Self, IdentityError> {
        let (roots, authorities) = load_roots(authority)?;
        Ok(Self {
            roots,
            authorities,
            own: None,
        })
    }

    /// Name and role in one's own certificate.
    pub fn peer(&self) -> Option<Peer> {
        Peer::from_certificate(self.own.as_ref()?.end_entity_cert().ok()?)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("own", &self.peer())
            .finish_non_exhaustive()
    }
}

type Roots = (Arc<RootCertStore>, Arc<[CertificateDer<'static>]>);

fn load_roots(path: &Path) -> Result<Roots, IdentityError> {
    let mut roots = RootCertStore::empty();
    let authorities = load_certificates("authority's certificate", path)?;
    for certificate in &authorities {
        roots
            .add(certificate.clone())
            .map_err(|source| IdentityError::Authority {
                path: path.to_owned(),
                source,
            })?;
    }
    Ok((Arc::new(roots), authorities.into()))
}

fn load_certificates(
    what: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let not_pem = |error| not_pem(what, "CERTIFICATE", path, error);
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(not_pem)?;
    if certificates.is_empty() {
        Err(not_pem(PemError::NoItemsFound))
    } else {
        Ok(certificates)
    }
}

fn not_pem(what: &'static str, label: &'static str, path: &Path, error: PemError) -> IdentityError {
    let path = path.to_owned();
    match error {
        PemError::Io(source) => IdentityError::Read { what, path, source },
        // The other errors quote the file, which may be a key: not repeated.
        _ => IdentityError::NotPem { what, path, label },
    }
}

#[cfg(unix)]
fn warn_if_exposed(key: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if let Ok(metadata) = key.metadata()
        && metadata.permissions().mode() & 0o077 != 0
    {
        tracing::warn!(key = %key.display(), "other users can read this private key; chmod 600 it");
    }
}

#[cfg(not(unix))]
fn warn_if_exposed(_key: &Path) {}

/// AWS-LC, its feature `prefer-post-quantum` on.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
