//! Readings whose values follow from their labels, encrypted as boards encrypt them, and read
//! back with the secret key.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tfhe_sbc_core::glwe::PreparedGlweSecretKey;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::readings::{Column, Upload};
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
pub(crate) struct Owner {
    secret: SecretKey,
    key: PreparedGlweSecretKey,
}

impl Owner {
    pub(crate) fn new(key: &Path) -> Result<Self, Failure> {
        let bytes = Zeroizing::new(std::fs::read(key)?);
        Ok(Self::of_key(SecretKey::from_bytes(&bytes)?))
    }

    pub(crate) fn of_key(secret: SecretKey) -> Self {
        let key = secret.glwe().prepare();
        Self { secret, key }
    }

    /// Returns the rows of an upload: label and reading of each column.
    pub(crate) fn decrypt(&self, upload: &[u8]) -> Result<Vec<(String, Vec<f64>)>, Failure> {
        let parameters = self.secret.parameters();
        let encoding = parameters.block_encoding();
        let upload = Upload::parse(upload, parameters, self.secret.fingerprint())?;
        let list = ExpandedGlweList::<u64>::expand(&upload.list, parameters);
        let phases: Vec<u64> = list
            .ciphertexts()
            .iter()
            .flat_map(|ciphertext| self.key.phase(ciphertext))
            .collect();
        let metadata = &upload.metadata;
        let mut rows = Vec::with_capacity(metadata.rows.len());
        for (row, label) in metadata.rows.iter().enumerate() {
            let mut readings = Vec::with_capacity(metadata.columns.len());
            for (column, described) in metadata.columns.iter().enumerate() {
                let blocks = metadata.blocks_of(encoding, column, row);
                let phases = phases.get(blocks).ok_or("an upload has too few blocks")?;
                let code = match (described.compact, phases) {
                    (Some(compact), &[phase]) => compact.encoding(described.bits)?.decode(phase),
                    _ => phases.iter().rev().fold(0, |code, &phase| {
                        (code << encoding.message_bits()) | encoding.decode(phase)
                    }),
                };
                readings.push(described.fixed_point()?.decode(code as f64));
            }
            rows.push((label.clone(), readings));
        }
        Ok(rows)
    }
}
