//! The part that both Python packages have: exceptions ([`errors`]), device keys and encryption
//! ([`device`]), and key files ([`files`]).
//!
//! The classes of these crates are not what users see: the packages wrap them in Python, where
//! arrays are checked and where the documentation is.
#![forbid(unsafe_code)]

pub mod device;
pub mod errors;
pub mod files;

use pyo3::prelude::*;

/// Puts into an extension module what both packages have.
///
/// # Errors
/// Those of Python.
pub fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<device::DeviceKey>()?;
    module.add_class::<device::Session>()?;
    module.add_function(wrap_pyfunction!(files::write_new, module)?)?;
    module.add("TfheSbcError", py.get_type::<errors::TfheSbcError>())?;
    module.add("KeyMismatch", py.get_type::<errors::KeyMismatch>())?;
    module.add("FormatError", py.get_type::<errors::FormatError>())?;
    module.add("RangeError", py.get_type::<errors::RangeError>())?;
    Ok(())
}
