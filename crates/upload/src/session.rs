//! Device sessions, which make uploads out of tables.

use crate::definition::{Definition, DefinitionError, Under};
use crate::gaps::Gaps;
use crate::metadata;
use crate::readings::{Column, ReadingsMetadata};
use tfhe_sbc_core::encoding::{CompactEncoding, Derivation, FixedPoint};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters, PlaintextKind};
use tfhe_sbc_core::random::{EntropyError, ExpanderKind, SeedSequence};
use tfhe_sbc_core::wire::columns::ElementEncoding;
use tfhe_sbc_core::wire::key::KeyBytes;
use tfhe_sbc_core::wire::public_key::PublicKeyBytes;
use tfhe_sbc_core::wire::{Kind, Message};
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    ColumnValues, DeviceError, Encryptor, KeyMode, MemoryPlan, PublicEncryptor, Session,
    SessionMode, encode_readings, reading_block_count, workspace_bytes,
};
use tfhe_sbc_oracle::upload::UploadKind;
use zeroize::Zeroizing;

use crate::error::UploadError;

/// Returns a sequence of seeds drawn from the operating system's randomness.
///
/// # Errors
/// Returns an error if the operating system gives no randomness.
pub fn fresh_seeds() -> Result<SeedSequence, EntropyError> {
    SeedSequence::from_entropy(|bytes| {
        getrandom::fill(bytes).map_err(|_| EntropyError::Source("the operating system"))
    })
}

/// A device key or device public key, and the workspace of an encryptor. Both are wiped on drop.
pub struct DeviceSession {
    bytes: Zeroizing<Vec<u8>>,
    mode: KeyMode,
    plan: MemoryPlan,
    parameters: Parameters,
    key: KeyFingerprint,
    workspace: HeapWorkspace,
}

impl DeviceSession {
    /// Makes a session of the bytes of a key file, which holds a device key or a device public key.
    ///
    /// # Errors
    /// Returns an error if the bytes are neither, or if the key is for bits over a 64-bit torus, of
    /// which there are no uploads.
    pub fn new(bytes: Zeroizing<Vec<u8>>, plan: MemoryPlan) -> Result<Self, UploadError> {
        let kind = Message::parse(&bytes)?.0.header.kind;
        let (mode, parameters, key) = if kind == Kind::DevicePublicKey {
            let key = PublicKeyBytes::parse(&bytes)?;
            (KeyMode::Public, key.parameters, key.key)
        } else {
            let key = KeyBytes::parse_device_key(&bytes)?;
            (KeyMode::Symmetric, key.parameters, key.key)
        };
        // Bits over a 32-bit torus are for servers that run other libraries.
        match (parameters.plaintext(), parameters.torus_bits()) {
            (PlaintextKind::Radix, _) | (PlaintextKind::Boolean, 32) => {}
            (PlaintextKind::Boolean, _) => {
                return Err(UploadError::Gates {
                    set: parameters.name().to_string(),
                });
            }
        }
        Ok(Self {
            workspace: HeapWorkspace::new(workspace_bytes(parameters.as_set(), plan, mode)),
            bytes,
            mode,
            plan,
            parameters,
            key,
        })
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The parameters and the kind of the key, which forms of columns depend on.
    pub fn under(&self) -> Under<'_> {
        Under {
            parameters: &self.parameters,
            kind: match self.mode {
                KeyMode::Public => UploadKind::PublicKey,
                KeyMode::Symmetric => UploadKind::Symmetric,
            },
        }
    }

    /// Returns the columns of these definitions under the session's key.
    ///
    /// # Errors
    /// Returns an error if the use of a column cannot be met.
    pub fn columns(&self, definitions: &[Definition]) -> Result<Vec<Column>, DefinitionError> {
        let columns = definitions.iter();
        columns
            .map(|definition| definition.column(self.under()))
            .collect()
    }

    /// The fingerprint of the key that messages are encrypted under.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.key
    }

    /// Returns an encryptor with a fresh seed, whose masks `expander` expands.
    ///
    /// # Errors
    /// Returns an error without randomness, and if the encryptor refuses key or expander.
    pub fn encryptor(&mut self, expander: ExpanderKind) -> Result<AnyEncryptor<'_>, UploadError> {
        let (key, plan, seeds) = (&self.bytes, self.plan, fresh_seeds()?);
        let workspace = self.workspace.as_mut_slice();
        match (self.mode, self.parameters.plaintext()) {
            (KeyMode::Symmetric, PlaintextKind::Radix) => {
                Encryptor::new(key, plan, expander, seeds, workspace).map(AnyEncryptor::Symmetric)
            }
            (KeyMode::Public, PlaintextKind::Radix) => {
                PublicEncryptor::new(key, plan, expander, seeds, workspace)
                    .map(AnyEncryptor::Public)
            }
            (KeyMode::Symmetric, PlaintextKind::Boolean) => {
                Encryptor::new(key, plan, expander, seeds, workspace)
                    .map(AnyEncryptor::SymmetricBits)
            }
            (KeyMode::Public, PlaintextKind::Boolean) => {
                PublicEncryptor::new(key, plan, expander, seeds, workspace)
                    .map(AnyEncryptor::PublicBits)
            }
        }
        .map_err(UploadError::Start)
    }

    /// Returns the bytes of an upload: metadata and ciphertexts of a table, which is given by one label
    /// for each row and one list of readings for each column. A reading of a column that is optional may
    /// be missing, which NaN stands for.
    ///
    /// # Errors
    /// Returns an error if a reading is out of its column's range, if lengths differ, or if the table
    /// is larger than one upload may be.
    pub fn encrypt_table(
        &mut self,
        expander: ExpanderKind,
        columns: &[Column],
        labels: &[String],
        readings: &[impl AsRef<[f64]>],
    ) -> Result<Vec<u8>, UploadError> {
        let metadata = ReadingsMetadata {
            columns: columns.to_vec(),
            rows: labels.to_vec(),
            gaps: Gaps::of(columns, readings),
        };
        // Gaps behind the last row are an error of the lengths.
        self.check_lengths(columns, labels, readings)?;
        metadata.check()?;
        let mut upload = metadata::write(self.parameters.fingerprint(), self.key, &metadata)?;
        let list = match metadata.has_compact() {
            true => self.encrypt_columns(expander, columns, labels, readings)?,
            false => {
                // A vector that grows leaves its old place as it was, so room for all is made first.
                let count = metadata.block_count(self.parameters.block_encoding()) as usize;
                let mut blocks = Zeroizing::new(Vec::with_capacity(count));
                for (column, readings) in columns.iter().zip(readings) {
                    self.encode(column, labels, readings.as_ref(), &mut blocks)?;
                }
                self.encryptor(expander)?
                    .encrypt_blocks(&blocks)
                    .map_err(UploadError::Encrypt)?
            }
        };
        upload.extend_from_slice(&list);
        Ok(upload)
    }

    fn check_lengths(
        &self,
        columns: &[Column],
        labels: &[String],
        readings: &[impl AsRef<[f64]>],
    ) -> Result<(), UploadError> {
        if columns.len() != readings.len() {
            return Err(UploadError::Columns {
                columns: columns.len(),
                found: readings.len(),
            });
        }
        for (column, readings) in columns.iter().zip(readings) {
            let found = readings.as_ref().len();
            if found != labels.len() {
                return Err(UploadError::Length {
                    column: column.name.clone(),
                    found,
                    rows: labels.len(),
                });
            }
        }
        Ok(())
    }

    /// Returns the list of columns some of which are compact.
    fn encrypt_columns(
        &mut self,
        expander: ExpanderKind,
        columns: &[Column],
        labels: &[String],
        readings: &[impl AsRef<[f64]>],
    ) -> Result<Vec<u8>, UploadError> {
        let mut blocks = Vec::with_capacity(columns.len());
        let mut coded = Vec::with_capacity(columns.len());
        // The column that each segment is of: its own, or one that is derived from it.
        let mut owners = Vec::new();
        for (column, readings) in columns.iter().zip(readings) {
            owners.extend(std::iter::repeat_n(column, 1 + column.derived.count()));
            let mut own = Zeroizing::new(Vec::new());
            if column.compact.is_none() {
                let each = column.elements_each(self.parameters.block_encoding());
                own.reserve_exact(each.saturating_mul(readings.as_ref().len()));
                self.encode(column, labels, readings.as_ref(), &mut own)?;
            }
            blocks.push(own);
            coded.push(match column.derived.valid {
                Some(_) => Some(Optional::of(column, labels, readings.as_ref())?),
                None => None,
            });
        }
        let mut values = Vec::with_capacity(owners.len());
        let own = blocks.iter().zip(&coded);
        for ((column, readings), (blocks, coded)) in columns.iter().zip(readings).zip(own) {
            let (fixed_point, readings) = (fixed_point(column)?, readings.as_ref());
            let refused = |error| UploadError::Compact {
                column: column.name.clone(),
                error,
            };
            values.push(match column.element_encoding().map_err(refused)? {
                ElementEncoding::Radix => ColumnValues::Blocks(blocks),
                ElementEncoding::Compact(encoding) => match coded {
                    Some(optional) => ColumnValues::Codes(encoding, &optional.codes),
                    None => ColumnValues::Readings(encoding, fixed_point, readings),
                },
            });
            for (derivation, compact) in column.derived.columns() {
                let encoding = compact.encoding(derivation.bits(column.bits));
                let encoding = encoding.map_err(refused)?;
                values.push(match coded {
                    Some(optional) => optional.derived(encoding, derivation, column.bits),
                    None => ColumnValues::Derived(encoding, derivation, fixed_point, readings),
                });
            }
        }
        let encrypted = self.encryptor(expander)?.encrypt_columns(&values);
        encrypted.map_err(|error| match error {
            DeviceError::ColumnReading {
                column,
                index: row,
                error,
            } => UploadError::Reading {
                row,
                label: labels.get(row).cloned().unwrap_or_default(),
                column: owners
                    .get(column)
                    .map(|c| c.name.clone())
                    .unwrap_or_default(),
                error,
            },
            error => UploadError::Encrypt(error),
        })
    }

    /// Appends the radix blocks of a column's readings.
    fn encode(
        &self,
        column: &Column,
        labels: &[String],
        readings: &[f64],
        blocks: &mut Vec<u8>,
    ) -> Result<(), UploadError> {
        let (encoding, fixed_point) = (self.parameters.block_encoding(), fixed_point(column)?);
        let start = blocks.len();
        let count = reading_block_count(encoding, &fixed_point, readings.len());
        blocks.resize(start + count, 0);
        encode_readings(encoding, &fixed_point, readings, &mut blocks[start..]).map_err(|error| {
            match error {
                DeviceError::Reading { index: row, error } => UploadError::Reading {
                    row,
                    label: labels.get(row).cloned().unwrap_or_default(),
                    column: column.name.clone(),
                    error,
                },
                error => UploadError::Encrypt(error),
            }
        })
    }
}

/// The codes of readings some of which may be missing, and whether they are there. They are wiped on drop.
struct Optional {
    /// The codes; 0 where a reading is missing.
    codes: Zeroizing<Vec<u64>>,
    /// 1 where there is a reading, 0 where it is missing.
    valid: Zeroizing<Vec<u64>>,
}

impl Optional {
    /// Encodes the readings of a column, of which NaN stands for one that is missing.
    ///
    /// # Errors
    /// A reading out of the column's range.
    fn of(column: &Column, labels: &[String], readings: &[f64]) -> Result<Self, UploadError> {
        let fixed_point = fixed_point(column)?;
        // A vector that grows leaves its old place as it was, so room for all is made first.
        let mut codes = Zeroizing::new(Vec::with_capacity(readings.len()));
        let mut valid = Zeroizing::new(Vec::with_capacity(readings.len()));
        for (row, &reading) in readings.iter().enumerate() {
            let code = match reading.is_nan() {
                true => 0,
                false => {
                    let code = fixed_point.encode(reading);
                    code.map_err(|error| UploadError::Reading {
                        row,
                        label: labels.get(row).cloned().unwrap_or_default(),
                        column: column.name.clone(),
                        error,
                    })?
                }
            };
            codes.push(code);
            valid.push(u64::from(!reading.is_nan()));
        }
        Ok(Self { codes, valid })
    }

    /// What is derived from the codes, which have `bits` bits. The code of a missing reading is 0, of which the square
    /// and all flags are 0 too.
    fn derived(
        &self,
        encoding: CompactEncoding,
        derivation: Derivation,
        bits: u32,
    ) -> ColumnValues<'_> {
        match derivation {
            Derivation::Valid => ColumnValues::Codes(encoding, &self.valid),
            Derivation::Square | Derivation::From(_) => {
                ColumnValues::DerivedCodes(encoding, derivation, bits, &self.codes)
            }
        }
    }
}

/// The fixed-point encoding of a column.
fn fixed_point(column: &Column) -> Result<FixedPoint, UploadError> {
    column.fixed_point().map_err(|error| UploadError::Column {
        column: column.name.clone(),
        error,
    })
}

/// An encryptor for either kind of key and either kind of plaintext.
pub enum AnyEncryptor<'w> {
    /// Integers, under a device key.
    Symmetric(Encryptor<'w, u64>),
    /// Integers, under a device public key.
    Public(PublicEncryptor<'w, u64>),
    /// Bits, under a device key.
    SymmetricBits(Encryptor<'w, u32>),
    /// Bits, under a device public key.
    PublicBits(PublicEncryptor<'w, u32>),
}

impl AnyEncryptor<'_> {
    /// Returns the message that holds these blocks, which are bits under a boolean set.
    ///
    /// # Errors
    /// Returns an error if a block is not below the message modulus, or if there are none or too many.
    pub fn encrypt_blocks(&mut self, blocks: &[u8]) -> Result<Vec<u8>, DeviceError> {
        match self {
            Self::Symmetric(session) => message(session, blocks),
            Self::Public(session) => message(session, blocks),
            Self::SymmetricBits(session) => message(session, blocks),
            Self::PublicBits(session) => message(session, blocks),
        }
    }
}

impl AnyEncryptor<'_> {
    /// Returns the message that holds these columns, each with its own encoding.
    ///
    /// # Errors
    /// Returns an error if a value is out of range, if there are no values or too many, or if the set
    /// is for bits.
    pub fn encrypt_columns(
        &mut self,
        columns: &[ColumnValues<'_>],
    ) -> Result<Vec<u8>, DeviceError> {
        match self {
            Self::Symmetric(session) => column_message(session, columns),
            Self::Public(session) => column_message(session, columns),
            Self::SymmetricBits(_) | Self::PublicBits(_) => Err(DeviceError::PlaintextKind),
        }
    }

    /// Returns the message that holds these values: a list of blocks if they are radix blocks alone,
    /// otherwise a list of columns.
    ///
    /// # Errors
    /// Those of [`encrypt_blocks`](Self::encrypt_blocks) and [`encrypt_columns`](Self::encrypt_columns).
    pub fn encrypt_values(&mut self, values: &[ColumnValues<'_>]) -> Result<Vec<u8>, DeviceError> {
        match values {
            [ColumnValues::Blocks(blocks)] => self.encrypt_blocks(blocks),
            _ => self.encrypt_columns(values),
        }
    }
}

fn column_message<T: ProductTorus, K: SessionMode<T>>(
    session: &mut Session<'_, T, K>,
    columns: &[ColumnValues<'_>],
) -> Result<Vec<u8>, DeviceError> {
    let mut message = vec![0; session.columns_message_len(columns)];
    session.encrypt_columns(columns, &mut message)?;
    Ok(message)
}

fn message<T: ProductTorus, K: SessionMode<T>>(
    session: &mut Session<'_, T, K>,
    blocks: &[u8],
) -> Result<Vec<u8>, DeviceError> {
    let mut message = vec![0; session.message_len(blocks.len())];
    match session.parameters().plaintext() {
        PlaintextKind::Radix => session.encrypt_blocks(blocks, &mut message)?,
        PlaintextKind::Boolean => session.encrypt_bits(blocks, &mut message)?,
    };
    Ok(message)
}

#[cfg(test)]
mod tests;
