//! Decrypted answers as text.

use tfhe_sbc_query::results::AnswerValue;

use crate::histogram;
use crate::report::{number, plain};

/// Returns a decrypted answer as text, of one line or several.
pub(crate) fn text(value: &AnswerValue) -> String {
    match value {
        AnswerValue::Number { value, unit } => with_unit(*value, unit),
        AnswerValue::Row { row, value, unit } => {
            format!("{}: {}", plain(row), with_unit(*value, unit))
        }
        AnswerValue::Rows(labels) if labels.is_empty() => "none".to_owned(),
        // Labels with spaces, such as those that name a device, stand on lines of their own.
        AnswerValue::Rows(labels) if labels.iter().any(|label| label.contains(' ')) => {
            let labels: Vec<String> = labels.iter().map(|label| plain(label)).collect();
            labels.join("\n")
        }
        AnswerValue::Rows(labels) => lines(labels),
        AnswerValue::Histogram {
            bins,
            outside,
            unit,
        } => histogram::text(bins, *outside, unit),
        AnswerValue::Values { values, unit } => {
            let values: Vec<_> = values.iter().map(|value| with_unit(*value, unit)).collect();
            lines(&values)
        }
        AnswerValue::Scores { rows, unit } => {
            let rows = rows.iter();
            let rows =
                rows.map(|row| format!("{}: {}", plain(&row.row), with_unit(row.value, unit)));
            rows.collect::<Vec<_>>().join("\n")
        }
        AnswerValue::Leaves { rows } => {
            let rows = rows.iter();
            let rows = rows.map(|row| format!("{}: {}", plain(&row.row), plain(&row.value)));
            rows.collect::<Vec<_>>().join("\n")
        }
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => number(value),
        unit => format!("{} {}", number(value), plain(unit)),
    }
}

/// Returns labels of rows as text, four per line.
pub(crate) fn lines<L: AsRef<str>>(labels: &[L]) -> String {
    let line = |labels: &[L]| -> String {
        let labels: Vec<_> = labels.iter().map(|label| plain(label.as_ref())).collect();
        labels.join(" ")
    };
    labels.chunks(4).map(line).collect::<Vec<_>>().join("\n")
}
