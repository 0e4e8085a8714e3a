//! The stand-in for the peer if TFHE-rs is not built in.

use crate::engine::contestant::Peer;
use crate::error::BenchError;

/// Says how to build TFHE-rs in, and returns `None`.
pub(super) fn nands() -> Result<Peer, BenchError> {
    eprintln!(
        "TFHE-rs is not built in: for its figures beside ours, run with --features tfhe-rs \
         (some minutes to build)"
    );
    Ok(None)
}

/// Returns `None`.
pub(super) fn lookups_2_2() -> Result<Peer, BenchError> {
    Ok(None)
}

/// Returns `None`.
pub(super) fn multi_bit_lookups_2_2(_threads: usize) -> Result<Peer, BenchError> {
    Ok(None)
}

/// Returns `None`.
pub(super) fn lookups_2_2_p_fail_2m40() -> Result<Peer, BenchError> {
    Ok(None)
}

/// Returns `None`.
pub(super) fn lookups_1_1_p_fail_2m40() -> Result<Peer, BenchError> {
    Ok(None)
}
