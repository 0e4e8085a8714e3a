//! The stand-in for the peer if TFHE-rs is not built in.

use crate::error::BenchError;
use crate::integers::contestant::Peer;

/// Says how to build TFHE-rs in, and returns `None`.
pub(super) fn generate() -> Result<Option<Box<dyn Peer>>, BenchError> {
    eprintln!(
        "TFHE-rs is not built in: for its figures beside ours, run with --features tfhe-rs \
         (some minutes to build)"
    );
    Ok(None)
}
