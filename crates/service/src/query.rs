//! Questions about encrypted readings, and their answers.
//!
//! The path of a question: [`parse`] makes a [`Question`] of its text on the key
//! owner's side, [`request`] carries questions and encrypted thresholds to the server,
//! [`evaluate`] computes on ciphertexts there, [`results`] carries encrypted answers
//! back and, with the secret key, reads them.

pub mod evaluate;
pub mod parse;
pub mod request;
pub mod results;

use std::fmt;

use serde::{Deserialize, Serialize};
use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_engine::integer::Comparison;

/// A question about the columns of an upload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// The smallest reading of a column.
    Min(String),
    /// The largest.
    Max(String),
    /// The sum.
    Sum(String),
    /// The mean.
    Mean(String),
    /// How many rows meet all of the conditions.
    Count(Vec<Condition>),
    /// Which rows do.
    Rows(Vec<Condition>),
}

/// A column compared with a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The column.
    pub column: String,
    /// How.
    pub relation: Relation,
    /// With what.
    pub threshold: Threshold,
}

/// The right side of a condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Threshold {
    /// A reading that the server may see.
    Clear(f64),
    /// A reading to be encrypted before the question leaves the key owner; it has no
    /// form on the wire.
    #[serde(skip)]
    ToEncrypt(f64),
    /// An encrypted code in the request's ciphertext list.
    Encrypted {
        /// Its first block.
        first_block: u32,
        /// The encoding that it was made with, which must be the column's.
        offset: f64,
        /// Likewise.
        scale: f64,
        /// Likewise.
        bits: u32,
    },
}

/// A comparison as questions write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// `<`
    #[serde(rename = "<")]
    Lt,
    /// `<=`
    #[serde(rename = "<=")]
    Le,
    /// `>`
    #[serde(rename = ">")]
    Gt,
    /// `>=`
    #[serde(rename = ">=")]
    Ge,
    /// `==`
    #[serde(rename = "==")]
    Eq,
    /// `!=`
    #[serde(rename = "!=")]
    Ne,
}

impl Relation {
    /// Every relation and how it is written, longest first, as a parser wants them.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Le, "<="),
        (Self::Ge, ">="),
        (Self::Eq, "=="),
        (Self::Ne, "!="),
        (Self::Lt, "<"),
        (Self::Gt, ">"),
    ];

    /// The engine's comparison.
    pub fn comparison(self) -> Comparison {
        match self {
            Self::Lt => Comparison::Lt,
            Self::Le => Comparison::Le,
            Self::Gt => Comparison::Gt,
            Self::Ge => Comparison::Ge,
            Self::Eq => Comparison::Eq,
            Self::Ne => Comparison::Ne,
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Self::ALL.iter().find(|(relation, _)| relation == self);
        f.write_str(text.map_or("?", |(_, text)| text))
    }
}

/// What stands for an encrypted threshold where its value must not show.
const HIDDEN_THRESHOLD: &str = "encrypted(…)";

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clear(value) => write!(f, "{value}"),
            Self::ToEncrypt(value) => write!(f, "encrypted({value})"),
            Self::Encrypted { .. } => f.write_str(HIDDEN_THRESHOLD),
        }
    }
}

impl Question {
    /// Its text as the server may see it: without the thresholds that are to be
    /// encrypted.
    pub fn public_text(&self) -> String {
        self.text(|threshold| match threshold {
            Threshold::ToEncrypt(_) => HIDDEN_THRESHOLD.to_owned(),
            shown => shown.to_string(),
        })
    }

    fn text(&self, threshold: impl Fn(&Threshold) -> String) -> String {
        let (function, conditions) = match self {
            Self::Min(column) => return format!("min({column})"),
            Self::Max(column) => return format!("max({column})"),
            Self::Sum(column) => return format!("sum({column})"),
            Self::Mean(column) => return format!("mean({column})"),
            Self::Count(conditions) => ("count", conditions),
            Self::Rows(conditions) => ("rows", conditions),
        };
        let conditions: Vec<_> = conditions
            .iter()
            .map(|c| format!("{} {} {}", c.column, c.relation, threshold(&c.threshold)))
            .collect();
        format!("{function}({})", conditions.join(" and "))
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Threshold::to_string))
    }
}

/// What a comparison of readings with a clear threshold is for codes: a relation and a
/// code, or an answer that does not depend on the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeCondition {
    Compare(Relation, u64),
    Always(bool),
}

/// A threshold in steps of an encoding: the largest whole number not above it, and
/// whether that is the threshold itself.
fn whole_steps(encoding: &FixedPoint, threshold: f64) -> (f64, bool) {
    /// Thresholds within this part of a step of a code mean the code.
    const SLACK: f64 = 1e-6;
    let steps = (threshold - encoding.minimum()) / encoding.scale();
    let nearest = steps.round();
    if (steps - nearest).abs() < SLACK {
        (nearest, true)
    } else {
        (steps.floor(), false)
    }
}

/// Translates `reading <relation> threshold` to codes. A threshold between two codes,
/// or outside their range, needs no rounding: every code is on one side of it.
pub(crate) fn code_condition(
    encoding: &FixedPoint,
    relation: Relation,
    threshold: f64,
) -> CodeCondition {
    let largest = largest_code(encoding);
    // The codes at or below the threshold are those up to `floor`.
    let (floor, exact) = whole_steps(encoding, threshold);
    if exact && (0.0..=largest).contains(&floor) {
        return CodeCondition::Compare(relation, floor as u64);
    }
    match relation {
        Relation::Eq => CodeCondition::Always(false),
        Relation::Ne => CodeCondition::Always(true),
        Relation::Lt | Relation::Le => match floor {
            floor if floor < 0.0 => CodeCondition::Always(false),
            floor if floor >= largest => CodeCondition::Always(true),
            floor => CodeCondition::Compare(Relation::Le, floor as u64),
        },
        Relation::Gt | Relation::Ge => match floor {
            floor if floor < 0.0 => CodeCondition::Always(true),
            floor if floor >= largest => CodeCondition::Always(false),
            floor => CodeCondition::Compare(Relation::Gt, floor as u64),
        },
    }
}

/// The code that stands for a threshold in a comparison whose relation must stay as it
/// is, because the server sees the relation and must not see more: the one that has
/// every code on the side that its reading is on. `None` if there is none, because the
/// threshold is outside the range or, for equality, between two codes.
pub(crate) fn threshold_code(
    encoding: &FixedPoint,
    relation: Relation,
    threshold: f64,
) -> Option<u64> {
    let (floor, exact) = whole_steps(encoding, threshold);
    let code = match relation {
        _ if exact => floor,
        Relation::Le | Relation::Gt => floor,
        Relation::Lt | Relation::Ge => floor + 1.0,
        Relation::Eq | Relation::Ne => return None,
    };
    (0.0..=largest_code(encoding))
        .contains(&code)
        .then_some(code as u64)
}

/// The largest code of an encoding, exact because a code has at most 52 bits.
fn largest_code(encoding: &FixedPoint) -> f64 {
    ((1u64 << encoding.bits()) - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_text_keeps_encrypted_thresholds_to_itself() {
        let question: Question = "rows(a < 5 and b >= encrypted(31.25))".parse().unwrap();
        assert_eq!(question.public_text(), "rows(a < 5 and b >= encrypted(…))");
        let question: Question = "max(a)".parse().unwrap();
        assert_eq!(question.public_text(), "max(a)");
    }

    #[test]
    fn thresholds_become_codes() {
        let celsius = FixedPoint::new(-50.0, 0.1, 10).unwrap();
        let of = |relation, threshold| code_condition(&celsius, relation, threshold);
        assert_eq!(
            of(Relation::Gt, 25.1),
            CodeCondition::Compare(Relation::Gt, 751)
        );
        assert_eq!(
            of(Relation::Lt, -10.6),
            CodeCondition::Compare(Relation::Lt, 394)
        );
        // Between two codes.
        assert_eq!(
            of(Relation::Lt, 0.05),
            CodeCondition::Compare(Relation::Le, 500)
        );
        assert_eq!(
            of(Relation::Ge, 0.05),
            CodeCondition::Compare(Relation::Gt, 500)
        );
        assert_eq!(of(Relation::Eq, 0.05), CodeCondition::Always(false));
        assert_eq!(of(Relation::Ne, 0.05), CodeCondition::Always(true));
        // Outside the range.
        assert_eq!(of(Relation::Lt, 1000.0), CodeCondition::Always(true));
        assert_eq!(of(Relation::Gt, 1000.0), CodeCondition::Always(false));
        assert_eq!(of(Relation::Le, -1000.0), CodeCondition::Always(false));
        assert_eq!(of(Relation::Ge, -1000.0), CodeCondition::Always(true));
    }

    #[test]
    fn a_threshold_to_encrypt_has_a_code_if_it_is_in_range() {
        let celsius = FixedPoint::new(-50.0, 0.1, 10).unwrap();
        let of = |relation, threshold| threshold_code(&celsius, relation, threshold);
        assert_eq!(of(Relation::Lt, 0.04), Some(501));
        assert_eq!(of(Relation::Ge, 0.04), Some(501));
        assert_eq!(of(Relation::Le, 0.07), Some(500));
        assert_eq!(of(Relation::Gt, 0.07), Some(500));
        assert_eq!(of(Relation::Eq, 0.1), Some(501));
        assert_eq!(of(Relation::Eq, 0.04), None);
        assert_eq!(of(Relation::Gt, 1000.0), None);
        assert_eq!(of(Relation::Gt, -50.05), None);
    }

    #[test]
    fn every_code_is_on_the_side_that_its_reading_is_on() {
        let encoding = FixedPoint::new(-1.0, 0.25, 4).unwrap();
        for (relation, _) in Relation::ALL {
            for quarter_steps in -8..80 {
                let threshold = -1.0 + f64::from(quarter_steps) / 16.0;
                for code in 0u64..16 {
                    let reading = encoding.decode(code as f64);
                    let by_code = match code_condition(&encoding, relation, threshold) {
                        CodeCondition::Always(answer) => answer,
                        CodeCondition::Compare(relation, limit) => {
                            relation.comparison().apply(code, limit)
                        }
                    };
                    let by_reading = relation.comparison().apply(reading, threshold);
                    assert_eq!(by_code, by_reading, "{reading} {relation} {threshold}");
                    if let Some(limit) = threshold_code(&encoding, relation, threshold) {
                        let by_limit = relation.comparison().apply(code, limit);
                        assert_eq!(by_limit, by_reading, "{reading} {relation} {threshold}");
                    }
                }
            }
        }
    }
}
