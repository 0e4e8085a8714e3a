//! The extension module of `tfhe_sbc_device`: keys and encryption, without the engine.
#![forbid(unsafe_code)]

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tfhe_sbc_python_shared::fill(module)
}
