//! The demo's questions answered in the clear, straight from the readings.

use tfhe_sbc_query::condition::{Condition, Threshold};
use tfhe_sbc_query::results::AnswerValue;
use tfhe_sbc_query::{Aggregate, Question};
use tfhe_sbc_upload::readings::Column;

use crate::table::Table;

/// Returns the answer to a question about a table whose columns are `columns`. `None` if a column
/// is missing, or if no demo asks such a question.
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
        Question::Aggregate(aggregate, of) => {
            let name = of.column()?;
            match aggregate {
                Aggregate::Min => number(name, |v| v.iter().copied().fold(f64::INFINITY, f64::min)),
                Aggregate::Max => number(name, |v| {
                    v.iter().copied().fold(f64::NEG_INFINITY, f64::max)
                }),
                Aggregate::Sum => number(name, sum),
                Aggregate::Mean => number(name, |v| v.iter().sum::<f64>() / v.len() as f64),
                _ => None,
            }
        }
        Question::Count(condition) => Some(AnswerValue::Number {
            value: rows(condition, &readings, table)?.len() as f64,
            unit: String::new(),
        }),
        Question::Rows(condition) => {
            let rows = rows(condition, &readings, table)?;
            Some(AnswerValue::Rows(
                rows.into_iter()
                    .map(|row| table.labels[row].clone())
                    .collect(),
            ))
        }
        _ => None,
    }
}

/// Returns the rows that meet a comparison, or all of several.
fn rows<'t>(
    condition: &Condition,
    readings: &impl Fn(&str) -> Option<&'t [f64]>,
    table: &Table,
) -> Option<Vec<usize>> {
    let mut rows: Vec<usize> = (0..table.labels.len()).collect();
    let conditions = match condition {
        Condition::All(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    for condition in conditions {
        let Condition::Compare {
            of,
            relation,
            threshold: Threshold::Clear(threshold) | Threshold::ToEncrypt(threshold),
        } = condition
        else {
            return None;
        };
        let column = readings(of.column()?)?;
        rows.retain(|&row| relation.comparison().apply(column[row], *threshold));
    }
    Some(rows)
}

/// Returns whether a decrypted answer is the plain one: numbers to a millionth of a step of their
/// column, rows exactly.
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
