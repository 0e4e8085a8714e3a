//! What clients ask a server about itself.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use datafusion::scalar::ScalarValue;

/// The version of PostgreSQL whose protocol and catalogue clients find.
const VERSION: &str = "15.0";

/// `version()`, which clients read the number of.
pub(super) fn version() -> ScalarUDF {
    let text = format!(
        "PostgreSQL {VERSION} (tfhe-sbc-gateway {})",
        env!("CARGO_PKG_VERSION")
    );
    create_udf(
        "version",
        Vec::new(),
        DataType::Utf8,
        Volatility::Stable,
        Arc::new(move |_| Ok(ColumnarValue::Scalar(ScalarValue::from(text.as_str())))),
    )
}

/// `to_regtype(name)`: no type, which is what clients that look for further types expect of a server without these.
pub(super) fn to_regtype() -> ScalarUDF {
    create_udf(
        "to_regtype",
        vec![DataType::Utf8],
        DataType::Int32,
        Volatility::Stable,
        Arc::new(|_| Ok(ColumnarValue::Scalar(ScalarValue::Int32(None)))),
    )
}

/// `current_setting(name)`: the settings that clients look at.
pub(super) fn current_setting() -> ScalarUDF {
    create_udf(
        "current_setting",
        vec![DataType::Utf8],
        DataType::Utf8,
        Volatility::Stable,
        Arc::new(|arguments| {
            let names = ColumnarValue::values_to_arrays(arguments)?;
            let values: StringArray = match names.first() {
                Some(names) => {
                    let names = cast(names, &DataType::Utf8)?;
                    let names = names.as_string::<i32>();
                    names.iter().map(|name| name.map(setting)).collect()
                }
                None => StringArray::from(vec![Some("")]),
            };
            let values: ArrayRef = Arc::new(values);
            Ok(ColumnarValue::Array(values))
        }),
    )
}

fn setting(name: &str) -> &'static str {
    match name.to_lowercase().as_str() {
        "server_version" => VERSION,
        "server_version_num" => "150000",
        "timezone" => "UTC",
        "server_encoding" | "client_encoding" => "UTF8",
        "standard_conforming_strings" | "integer_datetimes" => "on",
        "max_identifier_length" => "63",
        _ => "",
    }
}
