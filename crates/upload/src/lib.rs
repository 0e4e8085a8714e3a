//! The device library where there is a heap and an operating system: on a gateway, for the
//! key owner, in Python.
//!
//! A [`DeviceSession`] holds a device key, or a device public key, and room for an encryptor.
//! It makes the bytes of an upload of a table's columns: metadata first, then the ciphertexts
//! of all columns' blocks. [`UploadError`] says what of them cannot be sent.
#![forbid(unsafe_code)]

mod error;
mod session;

pub use error::UploadError;
pub use session::{AnyEncryptor, DeviceSession, fresh_seeds};
