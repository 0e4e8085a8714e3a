//! A session of the device library under a key in a file.

use std::fmt::Display;
use std::path::Path;

use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_upload::{DeviceSession, UploadError};

use crate::failure::{Failure, Outcome, failure};
use crate::keys::read_file;

/// Reads a key file, of a device key or a device public key.
pub(crate) fn open(path: &Path, plan: MemoryPlan) -> Outcome<DeviceSession> {
    let opened = DeviceSession::new(read_file(path)?, plan);
    opened.map_err(|error| explained(format_args!("{}: {error}", path.display()), &error))
}

impl From<UploadError> for Box<Failure> {
    fn from(error: UploadError) -> Self {
        explained(&error, &error)
    }
}

/// Returns the message, with the advice that the error has.
fn explained(message: impl Display, error: &UploadError) -> Box<Failure> {
    match error.advice() {
        Some(advice) => failure(message, advice),
        None => Box::new(Failure::plain(message)),
    }
}
