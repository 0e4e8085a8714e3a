//! No peer is built in.

use crate::error::BenchError;
use crate::integers::contestant::Peer;

/// Says how to get one.
pub(super) fn generate() -> Result<Option<Box<dyn Peer>>, BenchError> {
    eprintln!(
        "TFHE-rs is not built in: for its figures beside ours, run with --features tfhe-rs \
         (some minutes to build)"
    );
    Ok(None)
}
