//! The device library with its buffers on the heap, as a gateway or a key owner uses it.

use std::path::Path;

use tfhe_sbc_adapter::metadata;
use tfhe_sbc_adapter::readings::{Column, ReadingsMetadata};
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_core::wire::key::KeyBytes;
use tfhe_sbc_core::workspace::HeapWorkspace;
use tfhe_sbc_device::{
    DeviceError, Encryptor, KeyMode, MemoryPlan, encode_readings, reading_block_count,
    workspace_bytes,
};
use zeroize::Zeroizing;

use crate::failure::{Explain, Outcome, failure};
use crate::keys::{fresh_seeds, read_file, require_integers};
use crate::table::Table;

const PLAN: MemoryPlan = MemoryPlan::recommended();

/// A device key and room for an encryptor.
pub(crate) struct DeviceSession {
    bytes: Zeroizing<Vec<u8>>,
    parameters: Parameters,
    key: KeyFingerprint,
    name: String,
    workspace: HeapWorkspace,
}

impl DeviceSession {
    /// Reads a device key file.
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        let bytes = read_file(path)?;
        let name = path.display().to_string();
        let (parameters, key) = {
            let key = KeyBytes::parse_device_key(&bytes).explain(&name)?;
            (key.parameters, key.key)
        };
        require_integers(path, &parameters)?;
        Ok(Self {
            workspace: HeapWorkspace::new(workspace_bytes(&parameters, PLAN, KeyMode::Symmetric)),
            bytes,
            parameters,
            key,
            name,
        })
    }

    /// The parameters of the key.
    pub(crate) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The key set.
    pub(crate) fn fingerprint(&self) -> KeyFingerprint {
        self.key
    }

    /// An encryptor with a fresh seed.
    pub(crate) fn encryptor(&mut self, expander: ExpanderKind) -> Outcome<Encryptor<'_, u64>> {
        Encryptor::new(
            &self.bytes,
            PLAN,
            expander,
            fresh_seeds()?,
            self.workspace.as_mut_slice(),
        )
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
        let mut encryptor = self.encryptor(expander)?;
        let mut list = vec![0; encryptor.message_len(blocks.len())];
        encryptor.encrypt_blocks(&blocks, &mut list).advise(
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
