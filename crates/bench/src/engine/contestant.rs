//! The sides of a comparison.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::BenchError;
use crate::keys::KeyCosts;
use crate::timing::Subject;

/// One side of a comparison: a key, and the bootstraps that are done with it.
pub(super) trait Contestant: Send + Sync {
    /// The parameters, in one line.
    fn description(&self) -> String;
    /// The costs of the key.
    fn key_costs(&self) -> KeyCosts;
    /// The work of `batch` bootstraps on the threads of the current rayon pool.
    fn subject(&self, batch: usize) -> Box<dyn Subject + '_>;
}

/// The peer, if one is built in.
pub(super) type Peer = Option<Box<dyn Contestant>>;

/// The descriptions of both sides, in one line.
pub(super) fn sides(ours: &dyn Contestant, peer: Option<&dyn Contestant>) -> String {
    match peer {
        None => ours.description(),
        Some(peer) => format!("{} / {}", ours.description(), peer.description()),
    }
}

/// Returns a pool of this many threads.
pub(super) fn pool(threads: usize) -> Result<ThreadPool, BenchError> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}
