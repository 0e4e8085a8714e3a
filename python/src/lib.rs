//! The extension module of `tfhe_sbc`: bindings of the crate `tfhe-sbc-columns` and of keys. The
//! classes that users see are written in Python on top of it.
//!
//! [`server`] loads uploads as [`number`]s, or as [`optional`] ones, whose operators and those of [`mask`]s make new ones;
//! [`compute`] computes them, watched by [`watch`]; [`results`] seals what was computed, and
//! [`keys`] decrypts it. [`uploads`] gives the key owner the readings themselves. [`sealing`] makes requests of questions in words, which a [`server`] answers, or one that runs
//! elsewhere and that a [`client`] talks to.
#![forbid(unsafe_code)]

mod client;
mod compute;
mod errors;
mod keys;
mod mask;
mod number;
mod optional;
mod params;
mod results;
mod sealing;
mod server;
mod uploads;
mod watch;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tfhe_sbc_python_shared::fill(module)?;
    module.add("TooLarge", module.py().get_type::<errors::TooLarge>())?;
    module.add_class::<client::Client>()?;
    module.add_class::<client::Standing>()?;
    module.add_class::<keys::SecretKey>()?;
    module.add_class::<keys::ServerKey>()?;
    module.add_class::<mask::Mask>()?;
    module.add_class::<number::Number>()?;
    module.add_class::<optional::Optional>()?;
    module.add_class::<params::Parameters>()?;
    module.add_class::<server::Server>()?;
    module.add_function(wrap_pyfunction!(compute::compute, module)?)?;
    module.add_function(wrap_pyfunction!(compute::cost, module)?)?;
    module.add_function(wrap_pyfunction!(keys::rehearsed_codes, module)?)?;
    module.add_function(wrap_pyfunction!(keys::rehearsed_truths, module)?)?;
    module.add_function(wrap_pyfunction!(mask::decide, module)?)?;
    module.add_function(wrap_pyfunction!(params::find_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(params::forms_of, module)?)?;
    module.add_function(wrap_pyfunction!(results::load_result, module)?)?;
    module.add_function(wrap_pyfunction!(results::open_result, module)?)?;
    module.add_function(wrap_pyfunction!(results::seal, module)?)?;
    module.add_function(wrap_pyfunction!(uploads::kind_of, module)?)?;
    module.add_function(wrap_pyfunction!(uploads::open_upload, module)?)?;
    Ok(())
}
