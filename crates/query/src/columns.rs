//! The columns that questions name.

use tfhe_sbc_columns::nearest::did_you_mean;
use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::error::RequestError;

/// Returns the encoding of a column.
pub(crate) fn encoding_of(column: &Column) -> Result<FixedPoint, RequestError> {
    column.fixed_point().map_err(|error| RequestError::Column {
        name: column.name.clone(),
        error,
    })
}

/// Returns the place and the description of the column `name`.
///
/// # Errors
/// Returns [`RequestError::UnknownColumn`], which lists the columns that there are.
pub(crate) fn known_column<'m>(
    readings: &'m ReadingsMetadata,
    name: &str,
) -> Result<(usize, &'m Column), RequestError> {
    readings.column(name).ok_or_else(|| {
        let names: Vec<_> = readings.columns.iter().map(|c| c.name.as_str()).collect();
        RequestError::UnknownColumn {
            name: name.to_owned(),
            known: names.join(", "),
            hint: did_you_mean(name, names),
        }
    })
}
