//! The extension module of `tfhe_sbc`. What users see is written in Python on top of it.
//!
//! The path of a computation: [`server`] loads uploads as [`number`]s, whose operators and
//! those of [`mask`]s make a graph of [`node`]s; [`compute`] has [`record`] write what is asked for
//! into a circuit, and evaluates that, as [`watch`] shows; [`results`] seals what came out, and
//! [`keys`] decrypts it.
#![forbid(unsafe_code)]

mod compute;
mod keys;
mod mask;
mod node;
mod number;
mod params;
mod record;
mod results;
mod server;
mod watch;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tfhe_sbc_python_shared::fill(module)?;
    module.add_class::<keys::SecretKey>()?;
    module.add_class::<keys::ServerKey>()?;
    module.add_class::<mask::Mask>()?;
    module.add_class::<number::Number>()?;
    module.add_class::<params::Parameters>()?;
    module.add_class::<server::Server>()?;
    module.add_function(wrap_pyfunction!(compute::compute, module)?)?;
    module.add_function(wrap_pyfunction!(compute::cost, module)?)?;
    module.add_function(wrap_pyfunction!(keys::rehearsed_codes, module)?)?;
    module.add_function(wrap_pyfunction!(keys::rehearsed_truths, module)?)?;
    module.add_function(wrap_pyfunction!(params::find_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(results::load_result, module)?)?;
    module.add_function(wrap_pyfunction!(results::open_result, module)?)?;
    module.add_function(wrap_pyfunction!(results::seal, module)?)?;
    Ok(())
}
