//! Certificates that are no longer good: the list of them, and its check.
//!
//! The list is a standard one (X.509 CRL, RFC 5280 section 5, in PEM), signed by the authority.
//! [`certificates`](crate::certificates) writes it; here it is read. `ClientVerifier` holds
//! the server's view of it: it looks at the file's stamp at every handshake and request, takes
//! a changed one without a restart, and tells connections that are open already. A file that
//! cannot be used, or an older list, leaves the last good one in force: nothing that happens to a
//! file brings a revoked certificate back while the server runs.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use tokio::sync::watch;
use x509_parser::num_bigint::BigUint;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::revocation_list::CertificateRevocationList;

use crate::identity::{Identity, provider};
use crate::metrics::Metrics;
use crate::role::{CertificateId, Peer};
use crate::tls::TlsError;

/// What is longer is no list that this crate reads: some hundred thousand certificates.
const MAXIMUM_BYTES: u64 = 16 << 20;

/// Why a list of revoked certificates cannot be used.
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
        /// What is wrong with it.
        reason: String,
    },
}

/// A list whose signature is that of an authority.
pub(crate) struct RevocationList {
    pub(crate) der: CertificateRevocationListDer<'static>,
    pub(crate) revoked: HashSet<CertificateId>,
    succession: Succession,
}

/// Which list of an authority's it is: each has a higher number than the one before (RFC 5280,
/// section 5.2.3).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Succession {
    issuer: Vec<u8>,
    number: Option<BigUint>,
}

impl Succession {
    /// Why this list must not take the place of that one: what it revoked would be good again.
    fn refuses(&self, before: &Self) -> Option<String> {
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
        // Handshakes check the signature too, but would all fail on a wrong one.
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

/// When a file was changed, how long it is, and which of its replacements it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: SystemTime,
    inode: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Some(Self {
            bytes: metadata.len(),
            modified: metadata.modified().ok()?,
            inode,
        })
    }
}

/// Decides which clients the server believes: those whose certificate the authority signed,
/// that is valid today and not revoked.
#[derive(Debug)]
pub(crate) struct ClientVerifier {
    identity: Identity,
    hints: Vec<DistinguishedName>,
    /// The file with the list, and its stamp when it was last looked at.
    file: Option<(PathBuf, Mutex<Option<Stamp>>)>,
    current: watch::Sender<Arc<Current>>,
    metrics: Arc<Metrics>,
}

/// The list in force.
#[derive(Debug)]
pub(crate) struct Current {
    verifier: Arc<dyn ClientCertVerifier>,
    revoked: HashSet<CertificateId>,
    /// None if there was no list.
    succession: Option<Succession>,
}

impl Current {
    fn new(identity: &Identity, list: Option<RevocationList>) -> Result<Self, TlsError> {
        let builder =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&identity.roots), provider());
        let (builder, revoked, succession) = match list {
            Some(list) => (
                builder.with_crls([list.der]),
                list.revoked,
                Some(list.succession),
            ),
            None => (builder, HashSet::new(), None),
        };
        let verifier = builder
            .only_check_end_entity_revocation()
            // Of several authorities not each need have a list.
            .allow_unknown_revocation_status()
            .build()?;
        Ok(Self {
            verifier,
            revoked,
            succession,
        })
    }

    /// Whether this certificate is on the list.
    pub(crate) fn is_revoked(&self, id: &CertificateId) -> bool {
        self.revoked.contains(id)
    }
}

impl ClientVerifier {
    /// Fails if there is a list and it cannot be used: a server that does not know whom to
    /// refuse does not start.
    pub(crate) fn new(
        identity: &Identity,
        revoked: Option<&Path>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, TlsError> {
        let (mut stamp, mut list) = (None, None);
        if let Some(path) = revoked {
            // Before reading: should it change in between, it is read again.
            stamp = Stamp::of(path);
            list = RevocationList::read(path, &identity.authorities)?;
        }
        let current = Current::new(identity, list)?;
        metrics.set_revoked(current.revoked.len());
        Ok(Self {
            identity: identity.clone(),
            hints: identity.roots.subjects(),
            file: revoked.map(|path| (path.to_owned(), Mutex::new(stamp))),
            current: watch::Sender::new(Arc::new(current)),
            metrics,
        })
    }

    /// The list in force, after a look at the file.
    pub(crate) fn look(&self) -> Arc<Current> {
        if let Some((path, looked)) = &self.file {
            let mut looked = looked.lock().unwrap_or_else(PoisonError::into_inner);
            let stamp = Stamp::of(path);
            if *looked != stamp {
                *looked = stamp;
                self.take(path);
            }
        }
        Arc::clone(&self.current.borrow())
    }

    /// For connections that are to hear of every change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Current>> {
        self.current.subscribe()
    }

    fn take(&self, path: &Path) {
        let read = RevocationList::read(path, &self.identity.authorities)
            .map_err(|error| error.to_string())
            .and_then(|list| list.ok_or_else(|| format!("{} is gone", path.display())))
            .and_then(|list| match &self.current.borrow().succession {
                Some(before) => match list.succession.refuses(before) {
                    Some(reason) => Err(format!("{}: {reason}", path.display())),
                    None => Ok(list),
                },
                None => Ok(list),
            })
            .and_then(|list| {
                Current::new(&self.identity, Some(list)).map_err(|error| error.to_string())
            });
        match read {
            Ok(current) => {
                tracing::info!(file = %path.display(), certificates = current.revoked.len(), "took a list of revoked certificates");
                self.metrics.set_revoked(current.revoked.len());
                self.current.send_replace(Arc::new(current));
            }
            Err(error) => {
                self.metrics.count_unusable_revocation_list();
                tracing::error!(%error, "the last good list of revoked certificates stays in force");
            }
        }
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let current = self.look();
        let verified = current
            .verifier
            .verify_client_cert(end_entity, intermediates, now);
        if let Err(error) = &verified {
            // The name is the client's word, for nobody signed it that is trusted.
            let peer = Peer::from_certificate(end_entity);
            let name = peer.as_ref().map_or("(unreadable)", |peer| &peer.name);
            tracing::warn!(peer = ?name, %error, "refused a certificate");
        }
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let verifier = Arc::clone(&self.current.borrow().verifier);
        verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let verifier = Arc::clone(&self.current.borrow().verifier);
        verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.current.borrow().verifier.supported_verify_schemes()
    }
}
