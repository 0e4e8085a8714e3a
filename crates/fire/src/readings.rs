//! Readings whose values follow from their labels, encrypted as boards encrypt them, and read
//! back with the secret key.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tfhe_sbc_columns::decrypt::{DecryptedUpload, UploadDecryption};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::readings::Column;
use zeroize::Zeroizing;

use crate::Failure;

/// The rows of an upload: a minute, one a second.
pub(crate) const ROWS: usize = 60;

/// The columns of every board.
pub(crate) fn columns() -> Vec<Column> {
    let column = |name: &str, offset, scale| Column {
        name: name.to_owned(),
        unit: String::new(),
        offset,
        scale,
        bits: 12,
        compact: None,
        derived: Default::default(),
    };
    vec![
        column("temperature", -40.0, 0.1),
        column("humidity", 0.0, 0.05),
    ]
}

/// Returns the codes of a label's readings: no two labels are likely to share them.
pub(crate) fn codes_of(label: &str) -> [u64; 2] {
    // FNV-1a, mixed.
    let hash = label.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    [(hash >> 20) & 0xfff, (hash >> 40) & 0xfff]
}

/// Returns the readings of a label.
pub(crate) fn readings_of(label: &str) -> Vec<f64> {
    columns()
        .iter()
        .zip(codes_of(label))
        .map(|(column, code)| column.offset + column.scale * code as f64)
        .collect()
}

/// The encryption of a board's uploads.
pub(crate) struct Uploads(Mutex<DeviceSession>);

impl Uploads {
    /// Reads the device key from a file.
    pub(crate) fn new(key: &Path) -> Result<Self, Failure> {
        Self::of_bytes(std::fs::read(key)?.into())
    }

    /// Uses a device key.
    pub(crate) fn of_bytes(key: Zeroizing<Vec<u8>>) -> Result<Self, Failure> {
        let session = DeviceSession::new(key, MemoryPlan::Fast)?;
        Ok(Self(Mutex::new(session)))
    }

    /// Returns the upload `number` of a board: [`ROWS`] rows that no other upload has.
    pub(crate) fn make(&self, board: &str, number: u64) -> Result<Vec<u8>, Failure> {
        let labels: Vec<String> = (0..ROWS)
            .map(|row| format!("{board}/{number}/{row}"))
            .collect();
        self.encrypt(&columns(), &labels)
    }

    /// Returns an upload of the rows of these labels, in the forms of the given columns.
    pub(crate) fn encrypt(
        &self,
        columns: &[Column],
        labels: &[String],
    ) -> Result<Vec<u8>, Failure> {
        let rows: Vec<Vec<f64>> = labels.iter().map(|label| readings_of(label)).collect();
        let by_column: Vec<Vec<f64>> = (0..columns.len())
            .map(|column| rows.iter().map(|row| row[column]).collect())
            .collect();
        let mut session = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(session.encrypt_table(ExpanderKind::ChaCha20, columns, labels, &by_column)?)
    }
}

/// The decryption of uploads, which only the key owner can do.
pub(crate) struct Owner(Mutex<UploadDecryption>);

impl Owner {
    pub(crate) fn new(key: &Path) -> Result<Self, Failure> {
        let bytes = Zeroizing::new(std::fs::read(key)?);
        Self::of_key(&SecretKey::from_bytes(&bytes)?)
    }

    pub(crate) fn of_key(secret: &SecretKey) -> Result<Self, Failure> {
        Ok(Self(Mutex::new(UploadDecryption::new(secret, None)?)))
    }

    /// Returns the rows of an upload: label and reading of each column.
    pub(crate) fn decrypt(&self, upload: &[u8]) -> Result<Vec<(String, Vec<f64>)>, Failure> {
        let mut decryption = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let DecryptedUpload { metadata, readings } = decryption.decrypt(upload)?;
        let rows = metadata.rows.into_iter().enumerate().map(|(row, label)| {
            let of_row = readings
                .iter()
                .map(|column| column.get(row).and_then(|reading| reading.value()));
            let of_row: Option<Vec<f64>> = of_row.collect();
            Ok((
                label,
                of_row.ok_or("an upload has a reading that its column cannot have")?,
            ))
        });
        rows.collect()
    }
}
