//! Column definitions: the CSV columns that are readings, and their encodings.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::failure::{Explain, Outcome};

/// The definitions of the bundled weather data, which are the default.
pub(crate) const WEATHER: &str = include_str!("../data/weather.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definitions {
    column: Vec<Definition>,
}

/// A column, perhaps with keys that only `tfhe-sbc agent` uses.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    name: String,
    #[serde(default)]
    unit: String,
    offset: f64,
    scale: f64,
    bits: u32,
    #[serde(default, rename = "factor")]
    _factor: IgnoredAny,
    #[serde(default, rename = "add")]
    _add: IgnoredAny,
    #[serde(default, rename = "out_of_range")]
    _out_of_range: IgnoredAny,
    #[serde(default, rename = "source")]
    _source: IgnoredAny,
}

impl From<Definition> for Column {
    fn from(definition: Definition) -> Self {
        Self {
            name: definition.name,
            unit: definition.unit,
            offset: definition.offset,
            scale: definition.scale,
            bits: definition.bits,
            compact: None,
        }
    }
}

/// Returns the definitions in a TOML file, or those of the bundled data.
pub(crate) fn load(path: Option<&Path>) -> Outcome<Vec<Column>> {
    let (name, text) = match path {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .advise(format_args!("cannot read {}", path.display()), HELP)?;
            (path.display().to_string(), text)
        }
        None => ("the built-in definitions".to_owned(), WEATHER.to_owned()),
    };
    let definitions: Definitions =
        toml::from_str(&text).advise(format_args!("{name} does not define columns"), HELP)?;
    // These are the checks of a server, made before anything is encrypted.
    let checked = ReadingsMetadata {
        columns: definitions.column.into_iter().map(Column::from).collect(),
        rows: vec![String::new()],
    };
    checked.check().advise(&name, HELP)?;
    Ok(checked.columns)
}

const HELP: &str = "column definitions are TOML: [[column]] with name, unit, offset, scale and bits; \
                    `tfhe-sbc sample --columns` prints an example";
