//! The device library with its buffers on the heap, as a gateway or a key owner uses it.

use std::path::Path;

use tfhe_sbc_adapter::metadata;
use tfhe_sbc_adapter::readings::{Column, ReadingsMetadata};
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters, PlaintextKind};
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_core::wire::key::KeyBytes;
use tfhe_sbc_core::wire::public_key::PublicKeyBytes;
use tfhe_sbc_core::wire::{Kind, Message};
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    DeviceError, Encryptor, KeyMode, MemoryPlan, PublicEncryptor, Session, SessionKey,
    encode_readings, reading_block_count, workspace_bytes,
};
use zeroize::Zeroizing;

use crate::failure::{Explain, Outcome, failure};
use crate::keys::{fresh_seeds, read_file, require_integers};
use crate::table::Table;

/// A device key or device public key, and room for an encryptor.
pub(crate) struct DeviceSession {
    bytes: Zeroizing<Vec<u8>>,
    mode: KeyMode,
    plan: MemoryPlan,
    parameters: Parameters,
    key: KeyFingerprint,
    name: String,
    workspace: HeapWorkspace,
}

impl DeviceSession {
    /// Reads a key file, of a device key or a device public key.
    pub(crate) fn open(path: &Path, plan: MemoryPlan) -> Outcome<Self> {
        let bytes = read_file(path)?;
        let name = path.display().to_string();
        let kind = Message::parse(&bytes).explain(&name)?.0.header.kind;
        let (mode, parameters, key) = if kind == Kind::DevicePublicKey {
            let key = PublicKeyBytes::parse(&bytes).explain(&name)?;
            (KeyMode::Public, key.parameters, key.key)
        } else {
            let key = KeyBytes::parse_device_key(&bytes).explain(&name)?;
            (KeyMode::Symmetric, key.parameters, key.key)
        };
        // Bits over 2^32 are for servers with other libraries.
        if (parameters.plaintext, parameters.torus_bits) != (PlaintextKind::Boolean, 32) {
            require_integers(path, &parameters)?;
        }
        Ok(Self {
            workspace: HeapWorkspace::new(workspace_bytes(&parameters, plan, mode)),
            bytes,
            mode,
            plan,
            parameters,
            key,
            name,
        })
    }

    /// The parameters of the key.
    pub(crate) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The key that messages are made under.
    pub(crate) fn fingerprint(&self) -> KeyFingerprint {
        self.key
    }

    /// An encryptor with a fresh seed.
    pub(crate) fn encryptor(&mut self, expander: ExpanderKind) -> Outcome<AnyEncryptor<'_>> {
        let (key, plan, seeds) = (&self.bytes, self.plan, fresh_seeds()?);
        let workspace = self.workspace.as_mut_slice();
        match (self.mode, self.parameters.plaintext) {
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
        .explain(&self.name)
    }

    /// The bytes of an upload: metadata and ciphertexts of a table.
    pub(crate) fn encrypt_table(
        &mut self,
        expander: ExpanderKind,
        columns: &[Column],
        table: &Table,
    ) -> Outcome<Vec<u8>> {
        let metadata = ReadingsMetadata {
            columns: columns.to_vec(),
            rows: table.labels.clone(),
        };
        metadata.check().advise(
            "the readings cannot be sent",
            "shorten names, units and timestamps",
        )?;
        let blocks = self.encode(columns, table)?;
        let mut upload = metadata::write(self.parameters.fingerprint(), self.key, &metadata)
            .advise(
                "the readings cannot be sent",
                "encrypt fewer rows at a time",
            )?;
        let list = self.encryptor(expander)?.encrypt_blocks(&blocks).advise(
            "the readings were not encrypted",
            "encrypt fewer rows at a time",
        )?;
        upload.extend_from_slice(&list);
        Ok(upload)
    }

    fn encode(&self, columns: &[Column], table: &Table) -> Outcome<Zeroizing<Vec<u8>>> {
        let encoding = self.parameters.block_encoding();
        let mut blocks = Zeroizing::new(Vec::new());
        for (column, readings) in columns.iter().zip(&table.readings) {
            let fixed_point = column.fixed_point().explain(&column.name)?;
            let start = blocks.len();
            blocks.resize(
                start + reading_block_count(encoding, &fixed_point, readings.len()),
                0,
            );
            match encode_readings(encoding, &fixed_point, readings, &mut blocks[start..]) {
                Ok(()) => {}
                Err(DeviceError::Reading { index, error }) => {
                    return Err(failure(
                        format_args!(
                            "row {} ({}), column '{}': {error}",
                            index + 1,
                            table.labels[index],
                            column.name
                        ),
                        "correct the reading, or widen the column's range with --columns",
                    ));
                }
                Err(error) => return Err(error).explain(&column.name),
            }
        }
        Ok(blocks)
    }
}

/// An encryptor of either kind of key, for integers or for bits.
pub(crate) enum AnyEncryptor<'w> {
    /// With a device key.
    Symmetric(Encryptor<'w, u64>),
    /// With a device public key.
    Public(PublicEncryptor<'w, u64>),
    /// Of bits, with a device key.
    SymmetricBits(Encryptor<'w, u32>),
    /// Of bits, with a device public key.
    PublicBits(PublicEncryptor<'w, u32>),
}

impl AnyEncryptor<'_> {
    /// The message of these blocks; of bits, if the key is for those.
    pub(crate) fn encrypt_blocks(&mut self, blocks: &[u8]) -> Result<Vec<u8>, DeviceError> {
        match self {
            Self::Symmetric(session) => message(session, blocks),
            Self::Public(session) => message(session, blocks),
            Self::SymmetricBits(session) => message(session, blocks),
            Self::PublicBits(session) => message(session, blocks),
        }
    }
}

fn message<T: MaskTorus, K: SessionKey<T>>(
    session: &mut Session<'_, T, K>,
    blocks: &[u8],
) -> Result<Vec<u8>, DeviceError> {
    let mut message = vec![0; session.message_len(blocks.len())];
    match session.parameters().plaintext {
        PlaintextKind::Radix => session.encrypt_blocks(blocks, &mut message)?,
        PlaintextKind::Boolean => session.encrypt_bits(blocks, &mut message)?,
    };
    Ok(message)
}
