//! The server's check of its clients' certificates.
//!
//! [`ClientVerifier`] looks at the stamp of the revocation list's file at every handshake and
//! request, takes a changed list without a restart, and tells connections that are open already.
//! A file that cannot be used, or an older list, leaves the last good one in force: nothing that
//! happens to the file makes a revoked certificate good again while the server runs.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::provider::provider;
use tfhe_sbc_transport::role::{CertificateId, Subject};
use tokio::sync::watch;

use crate::metrics::Metrics;
use crate::revocation::{RevocationList, Succession};
use crate::tls::TlsError;

/// The stamp of a file: the time of its last change, its length, and its inode, which tells
/// replacements apart.
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

/// The verifier of clients: it accepts those whose certificate the authority signed, that is valid
/// today and not revoked.
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
    /// `None` if there was no list.
    succession: Option<Succession>,
}

impl Current {
    fn new(identity: &Identity, list: Option<RevocationList>) -> Result<Self, TlsError> {
        let builder =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(identity.roots()), provider());
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
            // If there are several authorities, not each needs a list.
            .allow_unknown_revocation_status()
            .build()?;
        Ok(Self {
            verifier,
            revoked,
            succession,
        })
    }

    /// Returns whether this certificate is on the list.
    pub(crate) fn is_revoked(&self, id: &CertificateId) -> bool {
        self.revoked.contains(id)
    }
}

impl ClientVerifier {
    /// Reads the list in the file `revoked`. Fails if there is a list and it cannot be used: a
    /// server that does not know which clients to refuse does not start.
    pub(crate) fn new(
        identity: &Identity,
        revoked: Option<&Path>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, TlsError> {
        let (mut stamp, mut list) = (None, None);
        if let Some(path) = revoked {
            // The stamp is taken before reading: if the file changes in between, it is read again.
            stamp = Stamp::of(path);
            list = RevocationList::read(path, identity.authorities())?;
        }
        let current = Current::new(identity, list)?;
        metrics.set_revoked(current.revoked.len());
        Ok(Self {
            identity: identity.clone(),
            hints: identity.roots().subjects(),
            file: revoked.map(|path| (path.to_owned(), Mutex::new(stamp))),
            current: watch::Sender::new(Arc::new(current)),
            metrics,
        })
    }

    /// Looks at the file and returns the list in force.
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

    /// Returns a receiver for connections that are told of every change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Current>> {
        self.current.subscribe()
    }

    fn take(&self, path: &Path) {
        let read = RevocationList::read(path, self.identity.authorities())
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
            // The name is only the client's word, for no trusted authority signed it.
            let subject = Subject::from_certificate(end_entity);
            let name = subject
                .as_ref()
                .map_or("(unreadable)", |subject| &subject.name);
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
