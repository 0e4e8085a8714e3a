//! The text form of questions:
//!
//! ```text
//! question   = ("min" | "max" | "sum" | "mean") "(" column ")"
//!            | ("count" | "rows") "(" condition { "and" condition } ")"
//! condition  = column ("<" | "<=" | ">" | ">=" | "==" | "!=") threshold
//! threshold  = number | "encrypted(" number ")"
//! ```

use std::str::FromStr;

use tfhe_sbc_adapter::readings::is_column_name;
use thiserror::Error;

use super::{Condition, Question, Relation, Threshold};

/// A text that is not a question.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "'{text}' is not a question: {reason}. Questions look like min(column), mean(column), \
     count(column > 20), rows(a > 20 and b <= encrypted(40))"
)]
pub struct ParseError {
    text: String,
    reason: String,
}

impl FromStr for Question {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse(text).map_err(|reason| ParseError {
            text: text.to_owned(),
            reason,
        })
    }
}

fn parse(text: &str) -> Result<Question, String> {
    let (function, argument) = text
        .trim()
        .split_once('(')
        .and_then(|(name, rest)| Some((name.trim(), rest.strip_suffix(')')?.trim())))
        .ok_or("it has no function and parentheses")?;
    let column = || column_name(argument);
    let conditions = || -> Result<Vec<_>, _> { argument.split(" and ").map(condition).collect() };
    Ok(match function {
        "min" => Question::Min(column()?),
        "max" => Question::Max(column()?),
        "sum" => Question::Sum(column()?),
        "mean" => Question::Mean(column()?),
        "count" => Question::Count(conditions()?),
        "rows" => Question::Rows(conditions()?),
        other => return Err(format!("there is no function '{other}'")),
    })
}

fn column_name(text: &str) -> Result<String, String> {
    if is_column_name(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("'{text}' is not a column name"))
    }
}

fn condition(text: &str) -> Result<Condition, String> {
    // The operator is the first of the text, and the longest that starts there.
    let (at, relation, operator) = Relation::ALL
        .into_iter()
        .filter_map(|(relation, operator)| Some((text.find(operator)?, relation, operator)))
        .min_by_key(|&(at, _, operator)| (at, usize::MAX - operator.len()))
        .ok_or_else(|| format!("'{}' has no comparison", text.trim()))?;
    let threshold = text[at + operator.len()..].trim();
    Ok(Condition {
        column: column_name(text[..at].trim())?,
        relation,
        threshold: match threshold.strip_prefix("encrypted(") {
            Some(rest) => Threshold::ToEncrypt(number(
                rest.strip_suffix(')').ok_or("'encrypted(' is not closed")?,
            )?),
            None => Threshold::Clear(number(threshold)?),
        },
    })
}

fn number(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("'{}' is not a number", text.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_survive_their_text() {
        for text in [
            "min(temperature_c)",
            "mean(a)",
            "count(a >= -1.5)",
            "count(illuminance_lx > encrypted(20000))",
            "rows(a < 5 and b != 7 and c == 0.5)",
        ] {
            let question: Question = text.parse().unwrap();
            assert_eq!(question.to_string(), text);
        }
        let spaced: Question = " count( a<=5 and b>encrypted( 3 ) ) ".parse().unwrap();
        assert_eq!(spaced.to_string(), "count(a <= 5 and b > encrypted(3))");
    }

    #[test]
    fn what_is_not_a_question_says_why() {
        for (text, reason) in [
            ("temperature", "no function"),
            ("min(temperature", "no function"),
            ("average(a)", "no function 'average'"),
            ("min(a b)", "not a column name"),
            ("count(a)", "no comparison"),
            ("count(a > x)", "not a number"),
            ("count(a > NaN)", "not a number"),
            ("count(a > encrypted(5)", "not closed"),
            ("count(> 5)", "not a column name"),
            ("count(a > 5 and )", "'5 and' is not a number"),
        ] {
            let error = text.parse::<Question>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
