//! The stand-in for the client if TFHE-rs is not built in.

use super::client::Client;
use crate::error::BenchError;

/// Says how to build TFHE-rs in, and returns `None`.
pub(super) fn client() -> Result<Option<Box<dyn Client>>, BenchError> {
    eprintln!(
        "TFHE-rs is not built in: for its client's figures beside ours, run with \
         --features tfhe-rs (some minutes to build)"
    );
    Ok(None)
}
