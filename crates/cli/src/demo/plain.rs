//! The demo's questions answered in the clear, straight from the readings.

use tfhe_sbc_adapter::readings::Column;
use tfhe_sbc_service::query::results::AnswerValue;
use tfhe_sbc_service::query::{Condition, Question, Threshold};

use crate::table::Table;

/// The answer to a question about a table whose columns are `columns`. `None` if a
/// column is not there.
pub(super) fn answer(
    question: &Question,
    columns: &[Column],
    table: &Table,
) -> Option<AnswerValue> {
    let column = |name: &str| columns.iter().position(|column| column.name == name);
    let readings = |name: &str| column(name).map(|i| table.readings[i].as_slice());
    let number = |name: &str, f: fn(&[f64]) -> f64| {
        Some(AnswerValue::Number {
            value: f(readings(name)?),
            unit: columns[column(name)?].unit.clone(),
        })
    };
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    match question {
        Question::Min(name) => number(name, |v| v.iter().copied().fold(f64::INFINITY, f64::min)),
        Question::Max(name) => number(name, |v| {
            v.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        }),
        Question::Sum(name) => number(name, sum),
        Question::Mean(name) => number(name, |v| v.iter().sum::<f64>() / v.len() as f64),
        Question::Count(conditions) => Some(AnswerValue::Number {
            value: rows(conditions, &readings, table)?.len() as f64,
            unit: String::new(),
        }),
        Question::Rows(conditions) => {
            let rows = rows(conditions, &readings, table)?;
            Some(AnswerValue::Rows(
                rows.into_iter()
                    .map(|row| table.labels[row].clone())
                    .collect(),
            ))
        }
    }
}

/// The rows that meet all conditions.
fn rows<'t>(
    conditions: &[Condition],
    readings: &impl Fn(&str) -> Option<&'t [f64]>,
    table: &Table,
) -> Option<Vec<usize>> {
    let mut rows: Vec<usize> = (0..table.labels.len()).collect();
    for condition in conditions {
        let column = readings(&condition.column)?;
        let threshold = match condition.threshold {
            Threshold::Clear(value) | Threshold::ToEncrypt(value) => value,
            Threshold::Encrypted { .. } => return None,
        };
        rows.retain(|&row| {
            condition
                .relation
                .comparison()
                .apply(column[row], threshold)
        });
    }
    Some(rows)
}

/// Whether a decrypted answer is the plain one: numbers to a millionth of a step of
/// their column, rows exactly.
pub(super) fn agrees(decrypted: &AnswerValue, plain: &AnswerValue, step: f64) -> bool {
    match (decrypted, plain) {
        (AnswerValue::Number { value: a, unit: u }, AnswerValue::Number { value: b, unit: v }) => {
            u == v && (a - b).abs() <= 1e-6 * step
        }
        (AnswerValue::Rows(a), AnswerValue::Rows(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64) -> AnswerValue {
        AnswerValue::Number {
            value,
            unit: "°C".to_owned(),
        }
    }

    #[test]
    fn a_wrong_answer_does_not_agree() {
        assert!(agrees(&number(-10.600_000_001), &number(-10.6), 0.1));
        assert!(!agrees(&number(-10.5), &number(-10.6), 0.1));
        assert!(!agrees(&number(3.0), &AnswerValue::Rows(Vec::new()), 1.0));
        let rows =
            |labels: &[&str]| AnswerValue::Rows(labels.iter().map(ToString::to_string).collect());
        assert!(!agrees(&rows(&["a"]), &rows(&["a", "b"]), 1.0));
    }
}
