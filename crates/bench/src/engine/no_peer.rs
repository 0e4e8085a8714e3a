//! No peer is built in.

use crate::engine::Contestant;
use crate::error::BenchError;

type Peer = Option<Box<dyn Contestant>>;

/// Says how to get one.
pub(super) fn nands() -> Result<Peer, BenchError> {
    eprintln!(
        "TFHE-rs is not built in: for its figures beside ours, run with --features tfhe-rs \
         (some minutes to build)"
    );
    Ok(None)
}

/// None.
pub(super) fn nands_key_switch_first() -> Result<Peer, BenchError> {
    Ok(None)
}

/// None.
pub(super) fn lookups() -> Result<Peer, BenchError> {
    Ok(None)
}
