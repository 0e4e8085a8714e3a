//! The identity of one end of a connection: the authority that it trusts and the certificate that
//! it shows, read from PEM files and checked to belong together.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

use crate::provider::provider;
use crate::role::Subject;

/// The reason why an identity could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file could not be read.
    #[error("cannot read the {what} {}: {source}", path.display())]
    Read {
        /// The content that the file should have.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("{} holds no {what} in PEM (-----BEGIN {label}-----); were two files swapped?", path.display())]
    NotPem {
        /// The content that the file should have.
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

/// The files of a certificate and of its private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, readable by everyone.
    pub certificate: PathBuf,
    /// The private key, mode 0600.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// Returns the paths `NAME.pem` and `NAME.key` in a directory.
    pub fn named(directory: &Path, name: &str) -> Self {
        Self {
            certificate: directory.join(format!("{name}.pem")),
            key: directory.join(format!("{name}.key")),
        }
    }
}

/// The authority that this end trusts, and the certificate, with its key, that it shows. Cheap to
/// clone.
#[derive(Clone)]
pub struct Identity {
    roots: Arc<RootCertStore>,
    /// The certificates that `roots` was made of.
    authorities: Arc<[CertificateDer<'static>]>,
    own: Option<Arc<CertifiedKey>>,
}

impl Identity {
    /// Reads the authority's certificate and this end's own certificate and key.
    pub fn load(authority: &Path, own: &CertificateFiles) -> Result<Self, IdentityError> {
        let ca = read("authority's certificate", authority)?;
        let certificate = read("certificate", &own.certificate)?;
        let key = Zeroizing::new(read("private key", &own.key)?);
        warn_if_exposed(&own.key);
        let pem = (authority, ca.as_slice());
        Self::from_pem(pem, (&own.certificate, &certificate), (&own.key, &key))
    }

    /// Reads `ca.pem` and this end's `NAME.pem` and `NAME.key` of a directory.
    pub fn in_directory(directory: &Path, name: &str) -> Result<Self, IdentityError> {
        let authority = CertificateFiles::named(directory, "ca").certificate;
        Self::load(&authority, &CertificateFiles::named(directory, name))
    }

    /// Does what [`Identity::load`] does with PEM in memory. Each text comes with a name for
    /// errors.
    pub fn from_pem(
        authority: (&Path, &[u8]),
        certificate: (&Path, &[u8]),
        key: (&Path, &[u8]),
    ) -> Result<Self, IdentityError> {
        let (roots, authorities) = parse_roots(authority)?;
        let chain = parse_certificates("certificate", certificate)?;
        let private = PrivateKeyDer::from_pem_slice(key.1)
            .map_err(|_| not_pem("private key", "PRIVATE KEY", key.0))?;
        let files = || (certificate.0.to_owned(), key.0.to_owned());
        let certified =
            CertifiedKey::from_der(chain, private, &provider()).map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => {
                    let (certificate, key) = files();
                    IdentityError::KeyMismatch { certificate, key }
                }
                source => {
                    let (certificate, key) = files();
                    IdentityError::Unusable {
                        certificate,
                        key,
                        source,
                    }
                }
            })?;
        Ok(Self {
            roots,
            authorities,
            own: Some(Arc::new(certified)),
        })
    }

    /// Reads the authority's certificate and shows no certificate. The servers of this project
    /// refuse such a client.
    pub fn without_certificate(authority: &Path) -> Result<Self, IdentityError> {
        let ca = read("authority's certificate", authority)?;
        let (roots, authorities) = parse_roots((authority, &ca))?;
        Ok(Self {
            roots,
            authorities,
            own: None,
        })
    }

    /// Returns the trusted authority, for verifying certificates.
    pub fn roots(&self) -> &Arc<RootCertStore> {
        &self.roots
    }

    /// Returns the certificates of the trusted authority.
    pub fn authorities(&self) -> &[CertificateDer<'static>] {
        &self.authorities
    }

    /// Returns this end's own certificate and its private key; `None` if it shows none.
    pub fn own(&self) -> Option<&Arc<CertifiedKey>> {
        self.own.as_ref()
    }

    /// Returns name and role in this end's own certificate; `None` without a certificate.
    pub fn subject(&self) -> Option<Subject> {
        Subject::from_certificate(self.own.as_ref()?.end_entity_cert().ok()?)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("own", &self.subject())
            .finish_non_exhaustive()
    }
}

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, IdentityError> {
    std::fs::read(path).map_err(|source| IdentityError::Read {
        what,
        path: path.to_owned(),
        source,
    })
}

type Roots = (Arc<RootCertStore>, Arc<[CertificateDer<'static>]>);

fn parse_roots(pem: (&Path, &[u8])) -> Result<Roots, IdentityError> {
    let mut roots = RootCertStore::empty();
    let authorities = parse_certificates("authority's certificate", pem)?;
    for certificate in &authorities {
        roots
            .add(certificate.clone())
            .map_err(|source| IdentityError::Authority {
                path: pem.0.to_owned(),
                source,
            })?;
    }
    Ok((Arc::new(roots), authorities.into()))
}

fn parse_certificates(
    what: &'static str,
    (name, pem): (&Path, &[u8]),
) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let not_pem = || not_pem(what, "CERTIFICATE", name);
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|_| not_pem())?;
    if certificates.is_empty() {
        Err(not_pem())
    } else {
        Ok(certificates)
    }
}

/// PEM's own errors quote the text, which may be a key, so they are not repeated.
fn not_pem(what: &'static str, label: &'static str, path: &Path) -> IdentityError {
    let path = path.to_owned();
    IdentityError::NotPem { what, path, label }
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
