//! The key owner's secret key and the server's key.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tfhe_sbc_columns::{Computed, Exported, Progress, joined};
use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::keys::SecretKey as Secret;
use tfhe_sbc_core::parameters::{Parameters as Set, PlaintextKind};
use tfhe_sbc_core::wire::key::parameters_of;
use tfhe_sbc_core::wire::{Kind, Message, WireError};
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;
use tfhe_sbc_engine::packing_key::SeededPackingKey;
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_oracle::parameter_file::weakness;
use tfhe_sbc_python_shared::device::DeviceKey;
use tfhe_sbc_python_shared::errors::{self, TfheSbcError, refused};
use tfhe_sbc_python_shared::files;
use tfhe_sbc_upload::fresh_seeds;

use crate::errors::refused as error;
use crate::mask::Mask;
use crate::number::Number;
use crate::params::Parameters;
use crate::watch::watched;

/// The key owner's secret key.
#[pyclass(frozen)]
pub(crate) struct SecretKey {
    pub(crate) secret: Arc<Secret>,
}

fn plain(error: impl std::fmt::Display) -> PyErr {
    TfheSbcError::new_err(error.to_string())
}

/// Refuses sets that no readings can be encrypted under.
fn require_integers(set: &Set) -> PyResult<()> {
    match (set.plaintext(), set.torus_bits()) {
        (PlaintextKind::Radix, 64) => Ok(()),
        _ => Err(refused(
            format_args!("the set '{}' is for gates, not for integers", set.name()),
            "use one that `params.find` gives, or the default",
        )),
    }
}

#[pymethods]
impl SecretKey {
    /// Draws one.
    #[staticmethod]
    fn generate(parameters: &Parameters, insecure_for_tests: bool) -> PyResult<Self> {
        let set = parameters.set;
        require_integers(&set)?;
        if let Some(weakness) = weakness(&set)
            && !insecure_for_tests
        {
            return Err(refused(
                format_args!("no keys for {}: {weakness}", set.name()),
                "ask params.find for another set; for tests, not for readings that matter, give \
                 insecure_for_tests=True",
            ));
        }
        let secret = fresh_seeds().and_then(|mut seeds| Secret::generate(set, &mut seeds));
        Ok(Self {
            secret: Arc::new(secret.map_err(plain)?),
        })
    }

    /// Reads the bytes of a key file.
    #[new]
    fn new(bytes: &[u8]) -> PyResult<Self> {
        let secret = Secret::from_bytes(bytes).map_err(errors::wire)?;
        require_integers(secret.parameters())?;
        Ok(Self {
            secret: Arc::new(secret),
        })
    }

    /// Reads a key file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Self::new(&files::read_secret(&path)?)
    }

    /// Writes a new file that only its owner can read.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let bytes = self.secret.to_bytes().map_err(errors::wire)?;
        files::write(&path, &bytes, true)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.secret.to_bytes().map_err(errors::wire)?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.secret.fingerprint().to_string()
    }

    #[getter]
    fn parameters(&self) -> Parameters {
        Parameters {
            set: *self.secret.parameters(),
        }
    }

    /// The key that all devices can share.
    fn device_key(&self) -> PyResult<DeviceKey> {
        let bytes = self.secret.device_key().to_bytes();
        DeviceKey::new(&bytes.map_err(errors::wire)?)
    }

    /// A key that encrypts only.
    fn device_public_key(&self) -> PyResult<DeviceKey> {
        let key = fresh_seeds().and_then(|mut seeds| self.secret.device_public_key(&mut seeds));
        DeviceKey::new(&key.map_err(plain)?.to_bytes().map_err(errors::wire)?)
    }

    /// A device's own key and the bytes of its switch key.
    fn issue_device_key<'py>(
        &self,
        py: Python<'py>,
        device: &str,
        epoch: u32,
    ) -> PyResult<(DeviceKey, Bound<'py, PyBytes>)> {
        let device = DeviceId::from_text(device).ok_or_else(|| {
            refused(
                format_args!("'{device}' is no device name"),
                "give 1 to 16 characters of printable ASCII",
            )
        })?;
        let epoch = Epoch::new(epoch)
            .ok_or_else(|| refused("an epoch is at least 1", "count a device's keys from 1"))?;
        let mut seeds = fresh_seeds().map_err(plain)?;
        let issue = DeviceIssue { device, epoch };
        let key = self.secret.issue_device_key(issue, &mut seeds);
        let key = key.map_err(plain)?;
        let switch = watched(py, None, |_| {
            let switch = SeededDeviceSwitchKey::<u64>::generate(&self.secret, &key, &mut seeds);
            switch.map(|switch| switch.to_bytes())
        })?;
        let switch = PyBytes::new(py, &switch.map_err(plain)?);
        let key = DeviceKey::new(&key.to_bytes().map_err(errors::wire)?)?;
        Ok((key, switch))
    }

    /// Makes the server key.
    fn server_key(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<ServerKey> {
        let secret = Arc::clone(&self.secret);
        let mut seeds = fresh_seeds().map_err(plain)?;
        let steps = SeededServerKey::<u64>::step_count(secret.parameters());
        let bytes = watched(py, progress, |progress| {
            progress.expect_bootstraps(steps);
            let key = SeededServerKey::<u64>::generate(&secret, &mut seeds, &|done| {
                progress.add_bootstraps(done);
            });
            key.map(|key| key.to_bytes())
        })?;
        ServerKey::of(bytes.map_err(plain)?)
    }

    /// The codes of a computed number.
    fn codes(&self, py: Python<'_>, number: &Number) -> PyResult<Vec<u128>> {
        let encoding = self.secret.parameters().block_encoding();
        let each = encoding.block_count(number.0.bits());
        let blocks = match self.opened(py, &Computed::Number(number.0.clone()))? {
            Opened::Codes(codes) => return Ok(codes),
            Opened::Blocks(blocks) => blocks,
        };
        if blocks
            .iter()
            .any(|&block| block >= encoding.message_modulus())
        {
            return Err(implausible());
        }
        let code = |digits: &[u64]| joined(digits.iter().copied().map(u128::from), encoding);
        Ok(blocks.chunks(each).map(code).collect())
    }

    /// The truth values of a computed mask.
    fn truths(&self, py: Python<'_>, mask: &Mask) -> PyResult<Vec<bool>> {
        let bits = match self.opened(py, &Computed::Mask(mask.0.clone()))? {
            Opened::Codes(bits) => bits,
            Opened::Blocks(blocks) => blocks.into_iter().map(u128::from).collect(),
        };
        if bits.iter().any(|&bit| bit > 1) {
            return Err(implausible());
        }
        Ok(bits.into_iter().map(|bit| bit == 1).collect())
    }
}

impl SecretKey {
    pub(crate) fn blocks(
        &self,
        ciphertexts: &[tfhe_sbc_core::lwe::LweCiphertext<u32>],
    ) -> Vec<u64> {
        let blocks = ciphertexts.iter();
        blocks.map(|lwe| self.secret.decrypt_block(lwe)).collect()
    }

    fn opened(&self, py: Python<'_>, value: &Computed) -> PyResult<Opened> {
        if let Some(found) = value.fingerprint()
            && found != self.secret.fingerprint()
        {
            let expected = self.secret.fingerprint();
            return Err(errors::wire(WireError::WrongKey { expected, found }));
        }
        let opened = watched(py, None, |progress| {
            if let Some(blocks) = value.decrypt_blocks(&self.secret) {
                return Ok(Opened::Blocks(blocks));
            }
            Ok(match value.export(progress)? {
                Exported::Clear(values) => Opened::Codes(values),
                Exported::Compact(values) => {
                    let codes = values.decrypt(&self.secret);
                    let codes = codes.ok_or(tfhe_sbc_columns::Error::Implausible)?;
                    Opened::Codes(codes.into_iter().map(u128::from).collect())
                }
                Exported::Sealed(ciphertexts) => Opened::Blocks(self.blocks(&ciphertexts)),
            })
        })?;
        opened.map_err(error)
    }
}

/// The content of a computed value in the clear.
enum Opened {
    /// Codes, or bits of a rehearsal.
    Codes(Vec<u128>),
    /// The values that its blocks decrypt to.
    Blocks(Vec<u64>),
}

fn implausible() -> PyErr {
    error(tfhe_sbc_columns::Error::Implausible)
}

/// The codes of what a rehearsal computed.
#[pyfunction]
pub(crate) fn rehearsed_codes(number: &Number) -> PyResult<Vec<u128>> {
    rehearsed(&Computed::Number(number.0.clone()))
}

/// The truth values of what a rehearsal computed.
#[pyfunction]
pub(crate) fn rehearsed_truths(mask: &Mask) -> PyResult<Vec<bool>> {
    let bits = rehearsed(&Computed::Mask(mask.0.clone()))?;
    Ok(bits.into_iter().map(|bit| bit == 1).collect())
}

fn rehearsed(value: &Computed) -> PyResult<Vec<u128>> {
    if value.is_computed() && value.fingerprint().is_some() {
        return Err(error(tfhe_sbc_columns::Error::Encrypted));
    }
    match value.export(&Progress::default()).map_err(error)? {
        Exported::Clear(values) => Ok(values),
        Exported::Sealed(_) | Exported::Compact(_) => {
            Err(error(tfhe_sbc_columns::Error::Encrypted))
        }
    }
}

/// The key that a server needs to compute, in the form in which it travels.
#[pyclass(frozen)]
pub(crate) struct ServerKey {
    pub(crate) bytes: Arc<Vec<u8>>,
    set: Set,
    fingerprint: String,
}

impl ServerKey {
    fn of(bytes: Vec<u8>) -> PyResult<Self> {
        let (message, behind) = Message::parse(&bytes).map_err(errors::wire)?;
        message.expect(Kind::ServerKey).map_err(errors::wire)?;
        let (set, _) = parameters_of(&message).map_err(errors::wire)?;
        require_integers(&set)?;
        let found = bytes.len() - behind.len();
        if found != SeededServerKey::<u64>::message_len(&set) {
            return Err(errors::FormatError::new_err(format!(
                "the server key has {found} bytes instead of {}: the file is damaged",
                SeededServerKey::<u64>::message_len(&set)
            )));
        }
        if !behind.is_empty() {
            SeededPackingKey::from_bytes(behind).map_err(errors::wire)?;
        }
        let fingerprint = message.header.key.to_string();
        Ok(Self {
            bytes: Arc::new(bytes),
            set,
            fingerprint,
        })
    }
}

#[pymethods]
impl ServerKey {
    /// Reads the bytes of a key file.
    #[new]
    fn new(bytes: &[u8]) -> PyResult<Self> {
        Self::of(bytes.to_vec())
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    #[getter]
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    #[getter]
    fn parameters(&self) -> Parameters {
        Parameters { set: self.set }
    }

    #[getter]
    fn size(&self) -> usize {
        self.bytes.len()
    }
}
