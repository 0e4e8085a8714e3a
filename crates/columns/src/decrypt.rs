//! Decryption of whole uploads, which only the key owner can do.
//!
//! The readings of a device with a key of its own are brought under the key set's key first, with the device's switch key, as a
//! server does before it computes: the owner need not keep the keys of devices.

use std::path::Path;

use tfhe_sbc_core::encoding::{BlockEncoding, CompactError, Derivation};
use tfhe_sbc_core::glwe::PreparedGlweSecretKey;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_engine::glwe_key_switch::DeviceSwitchKey;
use tfhe_sbc_upload::readings::{Column, ReadingsError, ReadingsMetadata, Upload};

use crate::decimal::Decoder;
use crate::device_keys::{DeviceKeyError, DeviceKeys};
use crate::error::Error;
use crate::uploads::{device_key_of, expand, first_header};

/// The decryption of uploads with a secret key.
pub struct UploadDecryption {
    parameters: Parameters,
    key: PreparedGlweSecretKey,
    devices: DeviceKeys,
    /// The key that was used last and its switch: uploads of one device mostly follow one another.
    switch: Option<(KeyFingerprint, Option<DeviceSwitchKey<u64>>)>,
}

/// A decrypted upload.
pub struct DecryptedUpload {
    /// The columns and the labels of the rows.
    pub metadata: ReadingsMetadata,
    /// The readings of each column, in the order of the columns, one for each row.
    pub readings: Vec<Vec<Reading>>,
}

/// The content of a row of a decrypted column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// A reading.
    Value(f64),
    /// Nothing: the reading is missing.
    Missing,
    /// A code that is out of its column's range, or of which it is not told whether it is there. Only a forged or damaged
    /// upload has such.
    Unreadable,
}

impl Reading {
    /// The reading, if there is one.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value),
            Self::Missing | Self::Unreadable => None,
        }
    }
}

impl UploadDecryption {
    /// Returns the decryption of uploads under the key set of `secret`, and under the keys of devices whose switch keys are in the
    /// directory `device_keys`.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn new(secret: &SecretKey, device_keys: Option<&Path>) -> Result<Self, DeviceKeyError> {
        Ok(Self {
            parameters: *secret.parameters(),
            key: secret.glwe().prepare(),
            devices: DeviceKeys::of_key_set(
                secret.parameters(),
                secret.fingerprint(),
                device_keys,
            )?,
            switch: None,
        })
    }

    /// Decrypts an upload. What is derived from its columns is left out, but that readings are missing.
    ///
    /// # Errors
    /// Bytes that are no upload, and keys that are neither the key set's nor those of a device whose switch key is there.
    pub fn decrypt(&mut self, upload: &[u8]) -> Result<DecryptedUpload, Error> {
        let header = first_header(upload).map_err(ReadingsError::from)?;
        if self
            .switch
            .as_ref()
            .is_none_or(|(key, _)| *key != header.key)
        {
            let switch = self.devices.switch_key(&header);
            self.switch = Some((header.key, switch.map_err(device_key_of("readings"))?));
        }
        let switch = self.switch.as_ref().and_then(|(_, switch)| switch.as_ref());
        let Upload { metadata, list, .. } = Upload::parse(upload, &self.parameters, header.key)?;
        let list = expand(&list, &self.parameters, switch);
        let ciphertexts = list.ciphertexts().iter();
        let phases: Vec<u64> = ciphertexts
            .flat_map(|ciphertext| self.key.phase(ciphertext))
            .collect();
        let encoding = self.parameters.block_encoding();
        let rows = metadata.rows.len();
        let columns = metadata.columns.iter().enumerate();
        let readings = columns.map(|(place, column)| {
            let elements = metadata.blocks_of_column(encoding, place, rows);
            // The upload was checked, so that there are as many elements as it describes.
            let phases_of = |elements| phases.get(elements).unwrap_or_default();
            let valid = metadata.elements_of_derived(encoding, place, Derivation::Valid, rows);
            let mut readings = decoded(column, encoding, phases_of(elements))?;
            if let Some((elements, form)) = valid {
                let form = form.encoding(1).map_err(form_of(column))?;
                let valid = phases_of(elements).iter().map(|&phase| form.decode(phase));
                for (reading, valid) in readings.iter_mut().zip(valid) {
                    *reading = match valid {
                        0 => Reading::Missing,
                        1 => *reading,
                        _ => Reading::Unreadable,
                    };
                }
            }
            // The upload was checked, so that all gaps are in its rows.
            for row in metadata.gaps.rows(&column.name) {
                if let Some(reading) = readings.get_mut(row) {
                    *reading = Reading::Missing;
                }
            }
            Ok(readings)
        });
        let readings = readings.collect::<Result<_, ReadingsError>>()?;
        Ok(DecryptedUpload { metadata, readings })
    }
}

/// Returns the readings of a column whose elements have these phases, row by row.
fn decoded(
    column: &Column,
    encoding: BlockEncoding,
    phases: &[u64],
) -> Result<Vec<Reading>, ReadingsError> {
    let decoder = Decoder::new(column.offset, column.scale);
    let compact = column.compact.map(|form| form.encoding(column.bits));
    let compact = compact.transpose().map_err(form_of(column))?;
    let most = (1 << column.bits) - 1;
    let rows = phases.chunks(column.elements_each(encoding).max(1));
    let code = |phases: &[u64]| match (compact, phases) {
        (Some(compact), &[phase]) => compact.decode(phase),
        _ => encoding.join(phases.iter().map(|&phase| encoding.decode(phase))),
    };
    let reading = |phases| {
        let code = code(phases);
        match code <= most {
            true => Reading::Value(decoder.value(code.into())),
            false => Reading::Unreadable,
        }
    };
    Ok(rows.map(reading).collect())
}

/// Returns a function that makes an error of the form of a column.
fn form_of(column: &Column) -> impl Fn(CompactError) -> ReadingsError + use<'_> {
    |error| ReadingsError::Compact {
        name: column.name.clone(),
        error,
    }
}
