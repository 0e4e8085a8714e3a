//! JSON with figures as people write them.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};

/// Returns the JSON of a report on several lines, its fractions with six significant digits and its integers whole.
pub(crate) fn pretty(report: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = Vec::new();
    report.serialize(&mut Serializer::with_formatter(
        &mut text,
        Rounding(PrettyFormatter::new()),
    ))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The layout of [`PrettyFormatter`], with rounded fractions.
struct Rounding<'i>(PrettyFormatter<'i>);

/// Defines methods that the inner formatter has.
macro_rules! as_inner {
    ($($name:ident($($argument:ident: $type:ty)?);)*) => {
        $(fn $name<W: Write + ?Sized>(&mut self, writer: &mut W $(, $argument: $type)?) -> io::Result<()> {
            self.0.$name(writer $(, $argument)?)
        })*
    };
}

impl Formatter for Rounding<'_> {
    fn write_f64<W: Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        self.0.write_f64(writer, rounded(value))
    }

    as_inner! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }
}

/// Rounds a fraction to six significant digits. An integer stays what it is.
fn rounded(value: f64) -> f64 {
    match value.fract() == 0.0 {
        true => value,
        false => format!("{value:.5e}").parse().unwrap_or(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Figures {
        fractions: Vec<f64>,
        count: u64,
    }

    #[test]
    fn fractions_have_six_digits_and_integers_all() {
        let figures = Figures {
            fractions: vec![
                1.992_999_999_999_999_9,
                0.003_906_123_45,
                529_525_350.0,
                -12.5,
            ],
            count: 18_446_744_073_709_551_615,
        };
        assert_eq!(
            pretty(&figures).unwrap(),
            "{\n  \"fractions\": [\n    1.993,\n    0.00390612,\n    529525350.0,\n    -12.5\n  ],\n  \"count\": 18446744073709551615\n}"
        );
    }
}
