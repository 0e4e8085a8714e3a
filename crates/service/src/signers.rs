//! The public keys of boards that sign their uploads: `NAME-EPOCH.sign.pem` beside the switch keys of devices.

use std::io;
use std::path::PathBuf;

use tfhe_sbc_core::device_issue::{DeviceId, Epoch};
use tfhe_sbc_query::device_keys::{DeviceKeyError, DeviceKeys};
use tfhe_sbc_transport::signature::{SignatureError, SignedUpload, VerifyingKey, is_signed};

use crate::backend::{BackendError, BackendErrorKind, Uploader};

/// The reason why an upload is not accepted as that of the board in whose name it came.
#[derive(Debug, thiserror::Error)]
enum SignerError {
    #[error(
        "the upload of '{0}' is not signed, and the server has the key of that board's signatures"
    )]
    Unsigned(String),
    #[error(
        "the upload of '{0}' came over a broker without a signature, and this server takes none without"
    )]
    UnsignedOverBroker(String),
    #[error(
        "the upload of '{0}' is signed, and the server has no key to check that board's signatures with"
    )]
    NoKey(String),
    #[error("the upload of '{name}': {source}")]
    Signature {
        name: String,
        source: SignatureError,
    },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Key {
        path: PathBuf,
        source: SignatureError,
    },
    #[error(transparent)]
    Directory(#[from] DeviceKeyError),
}

impl From<SignerError> for BackendError {
    fn from(error: SignerError) -> Self {
        let (kind, hint) = match &error {
            SignerError::Unsigned(_) => (
                BackendErrorKind::BadSignature,
                "send it signed, as the settings that `tfhe-sbc provision --sign` made have the agent do",
            ),
            SignerError::UnsignedOverBroker(_) => (
                BackendErrorKind::BadSignature,
                "give the board a key for signatures with `tfhe-sbc provision --sign`, or run the server without --mqtt-signed",
            ),
            SignerError::NoKey(_) => (
                BackendErrorKind::BadSignature,
                "copy the file NAME-EPOCH.sign.pem that was made with the board's key into the directory that the server's --device-keys names",
            ),
            SignerError::Signature { .. } => (
                BackendErrorKind::BadSignature,
                "check that the board has the key whose public half the server has, and that its name is that of its certificate",
            ),
            SignerError::File { .. } | SignerError::Key { .. } | SignerError::Directory(_) => {
                // Paths on the server's disk are for its log and not for callers.
                tracing::error!(%error, "no key to check a signature with");
                return Self {
                    message: "the server cannot read the key of the board's signatures".to_owned(),
                    hint: "this is the server's fault: its log says more".to_owned(),
                    kind: BackendErrorKind::Internal,
                };
            }
        };
        Self {
            message: error.to_string(),
            hint: hint.to_owned(),
            kind,
        }
    }
}

/// Returns the upload in what was sent. A board whose key for signatures is in the directory of `devices` has to sign;
/// over a broker every board has to if `always_over_brokers`.
///
/// # Errors
/// If a signature is missing, wrong, or cannot be checked.
pub(crate) fn open<'a>(
    devices: Option<&DeviceKeys>,
    always_over_brokers: bool,
    sent: &'a [u8],
    uploader: Uploader<'_>,
) -> Result<&'a [u8], BackendError> {
    let name = match uploader {
        Uploader::Device(name) | Uploader::Topic(name) => name,
        Uploader::Owner => return Ok(sent),
    };
    let key = match devices {
        Some(devices) => key_of(devices, name)?,
        None => None,
    };
    let named = || name.to_owned();
    match (is_signed(sent), key) {
        (true, Some(key)) => {
            let opened = SignedUpload::parse(sent).and_then(|signed| signed.verify(name, &key));
            Ok(opened.map_err(|source| SignerError::Signature {
                name: named(),
                source,
            })?)
        }
        (true, None) => Err(SignerError::NoKey(named()).into()),
        (false, Some(_)) => Err(SignerError::Unsigned(named()).into()),
        (false, None) if always_over_brokers && matches!(uploader, Uploader::Topic(_)) => {
            Err(SignerError::UnsignedOverBroker(named()).into())
        }
        (false, None) => Ok(sent),
    }
}

/// Returns the key of the signatures of the device `name`: the one of its current epoch, or of epoch 1 if it has no key
/// of its own. It is read from the disk each time, so it is replaced and taken away at once.
fn key_of(devices: &DeviceKeys, name: &str) -> Result<Option<VerifyingKey>, SignerError> {
    let (Some(directory), Some(device)) = (devices.directory(), DeviceId::from_text(name)) else {
        return Ok(None);
    };
    // No file is looked for outside the directory.
    if name.starts_with('.') || name.contains(['/', '\\']) {
        return Ok(None);
    }
    let epoch = devices.current_epoch(&device)?.unwrap_or(Epoch::FIRST);
    let path = directory.join(signer_file(name, epoch));
    match std::fs::read(&path) {
        Ok(text) => match VerifyingKey::from_pem(&text) {
            Ok(key) => Ok(Some(key)),
            Err(source) => Err(SignerError::Key { path, source }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SignerError::File { path, source }),
    }
}

/// Returns the name of the file with the public key of a board's signatures, in the directory of device keys.
pub fn signer_file(name: &str, epoch: Epoch) -> String {
    format!("{name}-{epoch}.sign.pem")
}
