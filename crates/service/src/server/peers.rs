//! The number of connections that each certificate has open, so that one device cannot take all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tfhe_sbc_transport::role::CertificateId;

type Open = HashMap<CertificateId, usize>;

/// Counts connections by certificate.
#[derive(Debug, Clone)]
pub(super) struct Peers {
    open: Arc<Mutex<Open>>,
    most: usize,
}

/// A connection's place among those of its certificate, free again when dropped.
#[derive(Debug)]
pub(super) struct PeerPlace {
    open: Arc<Mutex<Open>>,
    id: CertificateId,
}

impl Peers {
    pub(super) fn new(most: usize) -> Self {
        Self {
            open: Arc::default(),
            most: most.max(1),
        }
    }

    /// Returns a place, unless this certificate has as many connections as it may.
    pub(super) fn enter(&self, id: &CertificateId) -> Option<PeerPlace> {
        let mut open = lock(&self.open);
        let count = open.entry(id.clone()).or_default();
        (*count < self.most).then(|| {
            *count += 1;
            PeerPlace {
                open: Arc::clone(&self.open),
                id: id.clone(),
            }
        })
    }
}

impl Drop for PeerPlace {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        if let Some(count) = open.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.id);
            }
        }
    }
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}
