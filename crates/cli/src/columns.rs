//! Column definitions: the CSV columns that are readings, and their encodings.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tfhe_sbc_core::encoding::BodyRounding;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_oracle::compact::Profile;
use tfhe_sbc_oracle::upload::UploadKind;
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsMetadata};

use crate::failure::{Explain, Outcome, failure};

/// The definitions of the bundled weather data, which are the default.
pub(crate) const WEATHER: &str = include_str!("../data/weather.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definitions {
    column: Vec<Definition>,
}

/// A column, perhaps with keys that only `tfhe-sbc agent` uses.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    name: String,
    #[serde(default)]
    unit: String,
    offset: f64,
    scale: f64,
    bits: u32,
    /// The use that the column is compact for: `alarms`, `means` or `fleet`.
    #[serde(rename = "use")]
    usage: Option<String>,
    /// The compact form in numbers.
    compact: Option<Compact>,
    #[serde(default, rename = "factor")]
    _factor: IgnoredAny,
    #[serde(default, rename = "add")]
    _add: IgnoredAny,
    #[serde(default, rename = "out_of_range")]
    _out_of_range: IgnoredAny,
    #[serde(default, rename = "source")]
    _source: IgnoredAny,
}

/// The key set and the kind of key that columns are encrypted under: the compact form of a column that is
/// defined by its use follows from them.
#[derive(Clone, Copy)]
pub(crate) struct Under<'p> {
    /// The parameters.
    pub(crate) parameters: &'p Parameters,
    /// The kind of encryption.
    pub(crate) kind: UploadKind,
}

impl Definition {
    /// The compact form, `None` of a column of radix blocks.
    fn compact(&self, under: Option<Under<'_>>) -> Outcome<Option<Compact>> {
        let column = || format!("the column '{}'", self.name);
        let usage = match (&self.usage, self.compact) {
            (None, compact) => return Ok(compact),
            (Some(_), Some(_)) => {
                return Err(failure(
                    format_args!("{} has both a use and a compact form", column()),
                    "leave one of them out: the form follows from the use",
                ));
            }
            (Some(usage), None) => usage,
        };
        let profile: Profile = usage
            .parse()
            .advise(column(), "or leave `use` out, for radix blocks")?;
        let Some(Under { parameters, kind }) = under else {
            return Ok(None);
        };
        let Some(encoding) = profile.encoding(parameters, self.bits, kind) else {
            return Err(failure(
                format_args!(
                    "{} of {} bits cannot be compact for {profile} under the parameter set '{}'",
                    column(),
                    self.bits,
                    parameters.name()
                ),
                "give it fewer bits or another use, or leave `use` out, for radix blocks",
            ));
        };
        Ok(Some(Compact {
            headroom: encoding.headroom(),
            body_bits: encoding.body_bits(),
            feedback: encoding.rounding() == BodyRounding::ErrorFeedback,
        }))
    }

    fn column(&self, under: Option<Under<'_>>) -> Outcome<Column> {
        Ok(Column {
            name: self.name.clone(),
            unit: self.unit.clone(),
            offset: self.offset,
            scale: self.scale,
            bits: self.bits,
            compact: self.compact(under)?,
        })
    }
}

/// Returns the definitions in a TOML file, or those of the bundled data. Columns that are defined by their
/// use have the compact form that they need `under` a key; without a key, their encodings alone are
/// of interest, and they have none.
pub(crate) fn load(path: Option<&Path>, under: Option<Under<'_>>) -> Outcome<Vec<Column>> {
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
    let columns = definitions.column.iter();
    let columns = columns.map(|definition| definition.column(under));
    let checked = ReadingsMetadata {
        columns: columns.collect::<Outcome<_>>()?,
        rows: vec![String::new()],
    };
    checked.check().advise(&name, HELP)?;
    Ok(checked.columns)
}

const HELP: &str = "column definitions are TOML: [[column]] with name, unit, offset, scale, bits and, \
                    for compact columns, use; `tfhe-sbc sample --columns` prints an example";
