//! The encryption of a full batch, which becomes an upload or a frame.

use tfhe_sbc_core::description::MAX_TEXT;
use tfhe_sbc_upload::readings::Column;
use tfhe_sbc_upload::{DeviceSession, UploadError};

use super::frames::FrameEncoder;
use crate::config::{Config, Transport};
use crate::error::AgentError;
use crate::spool::Spool;

/// The encryptor of batches, with the columns that it encrypts.
pub(super) enum Encryptor {
    /// Batches become uploads.
    Uploads(UploadEncryptor),
    /// Batches become frames.
    Frames(FrameEncoder),
}

/// The session that encrypts uploads.
pub(super) struct UploadEncryptor {
    session: DeviceSession,
    columns: Vec<Column>,
}

impl Encryptor {
    pub(super) fn new(config: &Config) -> Result<Self, AgentError> {
        match config.server.transport {
            Transport::Frames => FrameEncoder::new(config).map(Self::Frames),
            Transport::Uploads => UploadEncryptor::new(config).map(Self::Uploads),
        }
    }

    /// Returns the columns in the forms in which they are sent.
    pub(super) fn columns(&self) -> &[Column] {
        match self {
            Self::Uploads(uploads) => &uploads.columns,
            Self::Frames(frames) => frames.columns(),
        }
    }

    /// Returns the number of rows of a full batch. A frame has that many and no less.
    pub(super) fn batch_rows(&self, config: &Config) -> usize {
        match self {
            Self::Uploads(_) => config.batch.rows,
            Self::Frames(frames) => frames.rows(),
        }
    }

    /// Returns whether only full batches can be encrypted.
    pub(super) fn takes_full_batches_only(&self) -> bool {
        matches!(self, Self::Frames(_))
    }

    /// Takes hold of what has to be on the disk before anything is encrypted.
    pub(super) fn open(&mut self, config: &Config, spool: &Spool) -> Result<(), AgentError> {
        match self {
            Self::Uploads(_) => Ok(()),
            Self::Frames(frames) => frames.open(config, spool),
        }
    }

    /// Encrypts a batch.
    pub(super) fn encrypt(
        &mut self,
        config: &Config,
        labels: &[String],
        readings: &[impl AsRef<[f64]>],
    ) -> Result<Vec<u8>, AgentError> {
        match self {
            Self::Uploads(uploads) => {
                let upload = uploads.encrypt(config, labels, readings);
                upload.map_err(|error| {
                    let advice = error
                        .advice()
                        .unwrap_or("report this as an error of the agent");
                    AgentError::new(format_args!("a batch was not encrypted: {error}"), advice)
                })
            }
            Self::Frames(frames) => frames.encrypt(readings),
        }
    }

    /// Returns the most bytes that a batch of `rows` rows has when it is sent.
    pub(super) fn trial(&mut self, config: &Config, rows: usize) -> Result<usize, AgentError> {
        match self {
            Self::Uploads(uploads) => uploads.trial(config, rows),
            Self::Frames(frames) => Ok(frames.frame_bytes()),
        }
    }
}

impl UploadEncryptor {
    fn new(config: &Config) -> Result<Self, AgentError> {
        let bytes = config.key_bytes()?;
        let session = DeviceSession::new(bytes, config.plan()).map_err(|error| {
            let advice =
                "give the device's key, as `tfhe-sbc device-key` or `tfhe-sbc provision` made it";
            AgentError::setting("device.key", &error, error.advice().unwrap_or(advice))
        })?;
        let columns = config.columns_under(session.under())?;
        Ok(Self { session, columns })
    }

    fn encrypt(
        &mut self,
        config: &Config,
        labels: &[String],
        readings: &[impl AsRef<[f64]>],
    ) -> Result<Vec<u8>, UploadError> {
        let (session, columns) = (&mut self.session, &self.columns);
        session.encrypt_table(config.expander(), columns, labels, readings)
    }

    /// Returns the size in bytes of an upload of `rows` rows with the longest labels.
    fn trial(&mut self, config: &Config, rows: usize) -> Result<usize, AgentError> {
        let labels = vec!["x".repeat(MAX_TEXT); rows];
        let columns = self.columns.iter();
        let readings: Vec<_> = columns.map(|c| vec![c.offset; rows]).collect();
        let upload = self.encrypt(config, &labels, &readings).map_err(|error| {
            let advice = error.advice().unwrap_or("encrypt fewer rows at a time");
            AgentError::setting("batch.rows", &error, advice)
        })?;
        Ok(upload.len())
    }
}
