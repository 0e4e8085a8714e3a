//! Decrypted answers as text.

use tfhe_sbc_query::results::{Answer, AnswerValue};

use crate::histogram;
use crate::report::{count, number, plain};

/// The word for a value that is not there.
const MISSING: &str = "missing";

/// The answer that has no rows.
const NONE: &str = "none";

/// Returns a decrypted answer as text, of one line or several, and how many rows have no value.
pub(crate) fn with_gaps(answer: &Answer) -> String {
    let text = text(&answer.value);
    match answer.missing {
        None | Some(0) => text,
        // What is missing is said already.
        Some(_) if matches!(answer.value, AnswerValue::Missing { row: Some(_), .. }) => text,
        Some(missing) => format!("{text} ({} missing)", count(missing)),
    }
}

/// Returns a decrypted answer as text, of one line or several.
pub(crate) fn text(value: &AnswerValue) -> String {
    match value {
        AnswerValue::Number { value, unit } => with_unit(*value, unit),
        AnswerValue::Row { row, value, unit } => {
            format!("{}: {}", plain(row), with_unit(*value, unit))
        }
        AnswerValue::Missing { row: None, .. } => MISSING.to_owned(),
        AnswerValue::Missing { row: Some(row), .. } => format!("{}: {MISSING}", plain(row)),
        AnswerValue::Rows(labels) if labels.is_empty() => NONE.to_owned(),
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
        AnswerValue::Values { values, .. } if values.is_empty() => NONE.to_owned(),
        AnswerValue::Ranked { rows, .. } if rows.is_empty() => NONE.to_owned(),
        AnswerValue::Values { values, unit } => {
            let values: Vec<_> = values.iter().map(|value| with_unit(*value, unit)).collect();
            lines(&values)
        }
        AnswerValue::Scores { rows, unit } => {
            let rows = rows.iter();
            let value = |value: Option<f64>| match value {
                Some(value) => with_unit(value, unit),
                None => MISSING.to_owned(),
            };
            let rows = rows.map(|row| format!("{}: {}", plain(&row.row), value(row.value)));
            rows.collect::<Vec<_>>().join("\n")
        }
        AnswerValue::Ranked { rows, unit } => {
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
