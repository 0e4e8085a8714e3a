//! Parameter sets: shipped, searched for, and read from files.

use pyo3::prelude::*;
use tfhe_sbc_core::parameter_sets;
use tfhe_sbc_core::parameters::{ParameterName, ParameterSet, Parameters as Set, PlaintextKind};
use tfhe_sbc_oracle::cost::CostModel;
use tfhe_sbc_oracle::parameter_file::{from_toml, name_suffix, to_toml};
use tfhe_sbc_oracle::search::{Pricing, Request, find as search};
use tfhe_sbc_python_shared::device::{ColumnTuple, under};
use tfhe_sbc_python_shared::errors::{TfheSbcError, refused};
use tfhe_sbc_upload::definition::{Under, UploadKind};
use tfhe_sbc_upload::readings::Column;

/// A parameter set.
#[pyclass(frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct Parameters {
    pub(crate) set: Set,
}

#[pymethods]
impl Parameters {
    /// A shipped one by its name.
    #[staticmethod]
    fn shipped(name: &str) -> PyResult<Self> {
        match parameter_sets::by_name(name) {
            Some(Ok(set)) => Ok(Self { set }),
            _ => Err(refused(
                format_args!("there is no parameter set '{name}'"),
                "use 'message_2_carry_2', or params.find for one of your own",
            )),
        }
    }

    /// Reads the text of a parameter file.
    #[staticmethod]
    fn from_toml(text: &str) -> PyResult<Self> {
        let set = from_toml(text).map_err(|error| TfheSbcError::new_err(error.to_string()))?;
        Ok(Self { set })
    }

    fn to_toml(&self) -> PyResult<String> {
        to_toml(&self.set, "tfhe_sbc.params.find")
            .map_err(|error| TfheSbcError::new_err(error.to_string()))
    }

    #[getter]
    fn name(&self) -> String {
        self.set.name().to_string()
    }

    #[getter]
    fn message_bits(&self) -> u32 {
        self.set.message_bits().0
    }

    #[getter]
    fn carry_bits(&self) -> u32 {
        self.set.carry_bits().0
    }

    #[getter]
    fn lwe_dimension(&self) -> usize {
        self.set.lwe_dimension().0
    }

    #[getter]
    fn glwe_dimension(&self) -> usize {
        self.set.glwe_dimension().0
    }

    #[getter]
    fn polynomial_size(&self) -> usize {
        self.set.polynomial_size().get()
    }

    #[getter]
    fn security_bits(&self) -> f64 {
        self.set.security_bits()
    }

    #[getter]
    fn log2_p_fail(&self) -> f64 {
        self.set.log2_p_fail()
    }
}

/// Searches for a set.
#[pyfunction]
pub(crate) fn find_parameters(
    py: Python<'_>,
    message_bits: u32,
    carry_bits: u32,
    log2_p_fail: f64,
    security_bits: f64,
    threads: usize,
) -> PyResult<Parameters> {
    let mut request = Request::new(PlaintextKind::Radix, message_bits, carry_bits);
    request.log2_p_fail = log2_p_fail;
    request.lambda = security_bits;
    let model = CostModel::built_in();
    let pricing = Pricing {
        model: &model,
        batch: 64,
        threads: threads.max(1),
    };
    let found = py.detach(|| search(&request, &pricing));
    let found = found.map_err(|error| {
        refused(
            error,
            "ask for fewer bits, a larger p_fail or less security",
        )
    })?;
    let suffix = name_suffix(
        found.best.levels.bits().min(request.lambda),
        request.log2_p_fail,
    );
    let name = ParameterName::from_text(&format!("own_{message_bits}_{carry_bits}{suffix}"));
    let (Some(name), Some(set)) = (name, found.best.set) else {
        return Err(TfheSbcError::new_err("the set that was found has no name"));
    };
    let set = ParameterSet {
        name,
        ..*set.as_set()
    }
    .validate();
    let set = set.map_err(|error| TfheSbcError::new_err(error.to_string()))?;
    // Refuses sets that carry no integers.
    tfhe_sbc_columns::Server::rehearsal(&set).map_err(crate::errors::refused)?;
    Ok(Parameters { set })
}

/// The compact form of a column, as headroom, body bits and feedback, and the bits of a row.
type FormOfColumn = (Option<(u32, u32, bool)>, u64);

/// The form of each column under these parameters, as headroom, body bits and feedback, which radix blocks have none of, and the
/// number of bits that a row takes in an upload.
///
/// # Errors
/// Uses that cannot be met, and what cannot be derived.
#[pyfunction]
pub(crate) fn forms_of(
    columns: Vec<ColumnTuple>,
    parameters: &Parameters,
) -> PyResult<Vec<FormOfColumn>> {
    let key = Under {
        parameters: &parameters.set,
        kind: UploadKind::Symmetric,
    };
    let columns = under(columns, key)?;
    let form = |column: &Column| {
        let form = column.compact;
        let form = form.map(|form| (form.headroom, form.body_bits, form.feedback));
        (form, column.bits_of_a_row(key.parameters))
    };
    Ok(columns.iter().map(form).collect())
}
