//! Device keys, and what they encrypt.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::random::ExpanderKind;
use tfhe_sbc_core::wire::key::KeyBytes;
use tfhe_sbc_core::wire::public_key::PublicKeyBytes;
use tfhe_sbc_core::wire::{Kind, Message};
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_upload::declaration::{Declaration, Missing};
use tfhe_sbc_upload::definition::{Definition, Under, UnknownUse};
use tfhe_sbc_upload::readings::{Column, Compact};
use tfhe_sbc_upload::{AnyEncryptor, DeviceSession};
use zeroize::Zeroizing;

use crate::{errors, files};

/// A device key, or a device public key, in its bytes.
#[pyclass(frozen)]
pub struct DeviceKey {
    bytes: Zeroizing<Vec<u8>>,
    is_public: bool,
    parameters: Parameters,
    fingerprint: KeyFingerprint,
}

#[pymethods]
impl DeviceKey {
    /// Makes a key of the bytes of a key file.
    #[new]
    pub fn new(bytes: &[u8]) -> PyResult<Self> {
        let kind = Message::parse(bytes).map_err(errors::wire)?.0.header.kind;
        let is_public = kind == Kind::DevicePublicKey;
        let (parameters, fingerprint) = if is_public {
            let key = PublicKeyBytes::parse(bytes).map_err(errors::wire)?;
            (key.parameters, key.key)
        } else {
            let key = KeyBytes::parse_device_key(bytes).map_err(errors::wire)?;
            (key.parameters, key.key)
        };
        Ok(Self {
            bytes: Zeroizing::new(bytes.to_vec()),
            is_public,
            parameters,
            fingerprint,
        })
    }

    /// Reads a key file.
    #[staticmethod]
    pub fn load(path: PathBuf) -> PyResult<Self> {
        Self::new(&files::read_secret(&path)?)
    }

    /// Writes a new file; of a secret, one that only its owner can read.
    pub fn save(&self, path: PathBuf) -> PyResult<()> {
        files::write(&path, &self.bytes, !self.is_public)
    }

    /// The bytes of its file.
    pub fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    /// Returns whether the key only encrypts.
    #[getter]
    pub fn is_public(&self) -> bool {
        self.is_public
    }

    /// Returns the fingerprint that the key's messages carry.
    #[getter]
    pub fn fingerprint(&self) -> String {
        self.fingerprint.to_string()
    }

    /// Returns the name of the key's parameter set.
    #[getter]
    pub fn parameter_set(&self) -> String {
        self.parameters.name().to_string()
    }

    /// Number of bytes of its file.
    #[getter]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// A compact form as Python gives it: headroom, body bits, feedback.
type CompactTuple = (u32, u32, bool);
/// What is derived as Python gives it: squares, the edges or thresholds of bins, `above` and `below`, and who learns which readings
/// are missing: `never`, if none may be, `encrypted` or `clear`.
type DeclaredTuple = (bool, Vec<f64>, Vec<f64>, Vec<f64>, String);
/// A column as Python gives it: name, unit, offset, scale, bits, use, compact form, what is derived.
pub type ColumnTuple = (
    String,
    String,
    f64,
    f64,
    u32,
    Option<String>,
    Option<CompactTuple>,
    DeclaredTuple,
);

/// An encryptor.
#[pyclass(frozen)]
pub struct Session {
    session: Mutex<DeviceSession>,
    expander: ExpanderKind,
}

#[pymethods]
impl Session {
    /// Makes a session of a key, and of the names of a memory plan and of an expander.
    #[new]
    pub fn new(key: &DeviceKey, plan: Option<&str>, expander: Option<&str>) -> PyResult<Self> {
        let plan = match plan {
            None => MemoryPlan::recommended(),
            Some(name) => named("memory plan", &MemoryPlan::ALL, MemoryPlan::name, name)?,
        };
        let expander = match expander {
            None => ExpanderKind::ChaCha20,
            Some(name) => named("expander", &ExpanderKind::ALL, ExpanderKind::name, name)?,
        };
        let session = DeviceSession::new(key.bytes.clone(), plan).map_err(errors::upload)?;
        Ok(Self {
            session: Mutex::new(session),
            expander,
        })
    }

    /// The bytes of an upload of columns of as many readings as there are labels.
    pub fn encrypt_table<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<ColumnTuple>,
        labels: Vec<String>,
        readings: Vec<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let columns = under(columns, self.lock().under())?;
        let readings = readings
            .iter()
            .map(|readings| Zeroizing::new(readings.as_array().to_vec()));
        let readings: Vec<Zeroizing<Vec<f64>>> = readings.collect();
        let views: Vec<&[f64]> = readings.iter().map(|readings| &readings[..]).collect();
        let upload = py.detach(|| {
            self.lock()
                .encrypt_table(self.expander, &columns, &labels, &views)
        });
        Ok(PyBytes::new(py, &upload.map_err(errors::upload)?))
    }
}

impl Session {
    /// The key that messages are made under.
    pub fn key(&self) -> KeyFingerprint {
        self.lock().fingerprint()
    }

    /// The key's parameters.
    pub fn parameters(&self) -> Parameters {
        *self.lock().parameters()
    }

    /// Calls `work` with an encryptor for one message.
    ///
    /// # Errors
    /// Returns an error without randomness.
    pub fn with_encryptor<R>(&self, work: impl FnOnce(&mut AnyEncryptor<'_>) -> R) -> PyResult<R> {
        let mut session = self.lock();
        let mut encryptor = session.encryptor(self.expander).map_err(errors::upload)?;
        Ok(work(&mut encryptor))
    }

    fn lock(&self) -> MutexGuard<'_, DeviceSession> {
        // A session starts anew for every upload: what a panic left does not matter.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Columns of their parts under a key, in the forms that their uses need.
///
/// # Errors
/// If a use is none, or cannot be met, and if something that is declared cannot be derived.
pub fn under(columns: Vec<ColumnTuple>, key: Under<'_>) -> PyResult<Vec<Column>> {
    let columns = columns.into_iter().map(|column| {
        definition(column)?
            .column(key)
            .map_err(|error| errors::refused(&error, error.advice()))
    });
    columns.collect()
}

fn definition(
    (name, unit, offset, scale, bits, usage, compact, declared): ColumnTuple,
) -> PyResult<Definition> {
    let usage = usage.map(|usage| usage.parse()).transpose();
    let usage = usage
        .map_err(|error: UnknownUse| PyValueError::new_err(format!("column '{name}': {error}")))?;
    let (square, bins, above, below, optional) = declared;
    Ok(Definition {
        name,
        unit,
        offset,
        scale,
        bits,
        usage,
        compact: compact.map(|(headroom, body_bits, feedback)| Compact {
            headroom,
            body_bits,
            feedback,
        }),
        derived: Declaration {
            square,
            bins,
            // Histograms in Python are numpy's.
            closed: true,
            above,
            below,
            optional: match optional.as_str() {
                "encrypted" => Missing::Encrypted,
                "clear" => Missing::Clear,
                _ => Missing::Never,
            },
        },
    })
}

fn named<T: Copy>(
    what: &str,
    all: &[T],
    name_of: impl Fn(T) -> &'static str,
    name: &str,
) -> PyResult<T> {
    let found = all.iter().copied().find(|&one| name_of(one) == name);
    found.ok_or_else(|| {
        let names: Vec<_> = all.iter().copied().map(name_of).collect();
        PyValueError::new_err(format!(
            "there is no {what} '{name}': give one of {}",
            names.join(", ")
        ))
    })
}
