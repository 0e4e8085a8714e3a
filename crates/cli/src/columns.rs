//! Column definitions in files: which CSV columns are readings, their encodings and their uses.

use std::fmt::Display;
use std::path::Path;

use serde::Deserialize;
use tfhe_sbc_columns::decimal;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_upload::definition::{Definition, Under};
use tfhe_sbc_upload::derived::Validity;
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsMetadata};

use crate::failure::{Explain, Outcome, failure};
use crate::report;

/// The definitions of the bundled weather data, which are the default.
pub(crate) const WEATHER: &str = include_str!("../data/weather.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definitions {
    column: Vec<Definition>,
}

/// Returns the definitions in a TOML file, or those of the bundled data.
pub(crate) fn load(path: Option<&Path>) -> Outcome<Vec<Definition>> {
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
    let definitions = definitions.column;
    // These are the checks of a server, made before anything is encrypted.
    let checked = ReadingsMetadata {
        columns: definitions.iter().map(Definition::without_use).collect(),
        rows: vec![String::new()],
        gaps: Default::default(),
    };
    checked.check().advise(&name, HELP)?;
    Ok(definitions)
}

const HELP: &str = "column definitions are TOML: [[column]] with name, unit, offset, scale, bits, use \
                    and optional; `tfhe-sbc sample --columns` prints an example";

/// Returns the columns of definitions under a key, in the forms that their uses need.
pub(crate) fn under(definitions: &[Definition], under: Under<'_>) -> Outcome<Vec<Column>> {
    let columns = definitions.iter().map(|definition| {
        let column = definition.column(under);
        column.map_err(|error| failure(&error, error.advice()))
    });
    columns.collect()
}

/// Refuses a file whose definitions are not those of `columns`, the columns of readings. Definitions of
/// other columns are let through.
pub(crate) fn check_same(path: &Path, columns: &[Column]) -> Outcome<()> {
    for definition in load(Some(path))? {
        let found = columns.iter().find(|found| found.name == definition.name);
        if let Some(found) = found
            && !definition.describes(found)
        {
            return Err(failure(
                format_args!(
                    "{} defines the column '{}' as {}, but in the readings it is {}",
                    path.display(),
                    found.name,
                    encoding_text(&definition.without_use()),
                    encoding_text(found)
                ),
                "leave --columns out: the readings name their columns",
            ));
        }
    }
    Ok(())
}

/// The encoding of a column, and its form if it is compact, in words.
pub(crate) fn encoding_text(column: &Column) -> String {
    format!(
        "[{}]: {} bits from {} in steps of {}{}{}",
        column.unit,
        column.bits,
        column.offset,
        column.scale,
        column.compact.map(compact_text).unwrap_or_default(),
        derived_text(column)
    )
}

/// Returns in words what is derived from a column of metadata, with the readings from which its
/// flags are 1.
fn derived_text(column: &Column) -> String {
    let derived = &column.derived;
    let mut parts = Vec::new();
    if let Some(square) = derived.square {
        parts.push(format!("squares{}", compact_text(square)));
    }
    if let Some(flags) = &derived.flags {
        let from = flags.from.iter();
        let from: Vec<String> = from
            .map(|&code| decimal::decode(column.offset, column.scale, code.into()).to_string())
            .collect();
        parts.push(format!(
            "flags from {}{}",
            from.join(", "),
            compact_text(flags.compact)
        ));
    }
    let derived_text = match parts.is_empty() {
        true => String::new(),
        false => format!("; derived: {}", parts.join("; ")),
    };
    match derived.valid {
        None => derived_text,
        Some(Validity::Encrypted(form)) => format!(
            "{derived_text}; optional: readings may be missing, told by flags{}",
            compact_text(form)
        ),
        Some(Validity::Clear) => {
            format!("{derived_text}; optional: readings may be missing, told in clear")
        }
    }
}

/// A compact form in words, to follow other words.
pub(crate) fn compact_text(compact: Compact) -> String {
    format!(
        ", compact below {} bits of headroom, {} body bits kept{}",
        compact.headroom,
        compact.body_bits,
        feedback_text(compact.feedback)
    )
}

/// The words for error feedback in a description of a compact column.
pub(crate) fn feedback_text(feedback: bool) -> &'static str {
    match feedback {
        true => ", with error feedback",
        false => "",
    }
}

/// The readings that a column can have, in words.
fn range_text(column: &Column) -> String {
    let largest = (1u128 << column.bits) - 1;
    let [from, to] = [0, largest].map(|code| decimal::decode(column.offset, column.scale, code));
    let space = if column.unit.is_empty() { "" } else { " " };
    let scale = column.scale;
    format!("{from} to {to}{space}{} in steps of {scale}", column.unit)
}

/// Returns lines that say which readings columns can have and in which form they are encrypted, and how many bytes a row takes.
pub(crate) fn forms(
    definitions: &[Definition],
    columns: &[Column],
    parameters: &Parameters,
) -> Vec<String> {
    let bytes = |bits: u64| report::number(bits as f64 / 8.0);
    let pairs = definitions.iter().zip(columns);
    let mut lines: Vec<String> = pairs
        .map(|(definition, column)| {
            let form: Box<dyn Display> = match (column.compact, definition.usage) {
                (Some(compact), _) => Box::new(format!(
                    "compact, sums of up to {} rows without a bootstrap",
                    report::count(1 << compact.headroom.min(63))
                )),
                (None, Some(_)) => Box::new("radix blocks"),
                (None, None) => Box::new(format!(
                    "radix blocks, the form of {} bits under '{}' unless a use is stated",
                    column.bits,
                    parameters.name()
                )),
            };
            let optional = match column.derived.valid {
                Some(Validity::Encrypted(_)) => "; optional, so readings may be missing",
                Some(Validity::Clear) => {
                    "; optional, so readings may be missing, and the server learns which"
                }
                None => "",
            };
            format!(
                "  {}: {}; {form}{optional}; {} bytes a reading",
                column.name,
                range_text(column),
                bytes(column.bits_of_a_row(parameters))
            )
        })
        .collect();
    let row = columns.iter().map(|c| c.bits_of_a_row(parameters)).sum();
    lines.push(format!(
        "  a row takes {} bytes, labels and headers not counted",
        bytes(row)
    ));
    lines
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::{ALL, BOOLEAN_1024, LOOSER, MESSAGE_2_CARRY_2};
    use tfhe_sbc_core::parameters::ParameterName;
    use tfhe_sbc_upload::definition::UploadKind;

    use super::*;

    /// The guides of other libraries encrypt the built-in columns under keys whose sets have no compact form.
    #[test]
    fn the_built_in_columns_can_be_had_under_every_set_and_kind_of_key() {
        let definitions = load(None).unwrap();
        for set in ALL.into_iter().chain(LOOSER) {
            let mut renamed = set;
            renamed.name = ParameterName::new("of_another_library");
            for set in [set, renamed] {
                let parameters = set.validate().unwrap();
                for kind in [UploadKind::Symmetric, UploadKind::PublicKey] {
                    let key = Under {
                        parameters: &parameters,
                        kind,
                    };
                    let columns = under(&definitions, key).unwrap();
                    assert_eq!(columns.len(), definitions.len(), "{}", set.name);
                }
            }
        }
    }

    #[test]
    fn the_form_that_was_chosen_is_told() {
        let text = "name = 'a'\noffset = 0.0\nscale = 1.0\nbits = ";
        let lines = |set: tfhe_sbc_core::parameters::ParameterSet, rest: &str| {
            let definition: Definition = toml::from_str(&format!("{text}{rest}")).unwrap();
            let parameters = set.validate().unwrap();
            let key = Under {
                parameters: &parameters,
                kind: UploadKind::Symmetric,
            };
            let definitions = [definition];
            let columns = under(&definitions, key).unwrap();
            forms(&definitions, &columns, &parameters).join("\n")
        };
        assert_eq!(
            lines(MESSAGE_2_CARRY_2, "12"),
            "  a: 0 to 4095 in steps of 1; compact, sums of up to 16,384 rows without a bootstrap; 4 bytes a \
             reading\n  a row takes 4 bytes, labels and headers not counted"
        );
        let radix = lines(MESSAGE_2_CARRY_2, "12\nuse = 'radix'");
        assert!(
            radix.starts_with("  a: 0 to 4095 in steps of 1; radix blocks; 9 bytes a reading\n"),
            "{radix}"
        );
        let wide = lines(MESSAGE_2_CARRY_2, "50");
        assert!(
            wide.contains(
                "in steps of 1; radix blocks, the form of 50 bits under 'message_2_carry_2'"
            ),
            "{wide}"
        );
        let bits = lines(BOOLEAN_1024, "12");
        assert!(bits.contains("under 'boolean_1024'"), "{bits}");
    }
}
