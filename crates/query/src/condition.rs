//! Conditions on the rows of a table.

use std::fmt;

use serde::{Deserialize, Serialize};
pub use tfhe_sbc_columns::Relation;

use crate::expression::Expression;

/// A condition on a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Condition {
    /// A value compared with a threshold.
    Compare {
        /// The value.
        of: Expression,
        /// The relation.
        #[serde(with = "RelationForm")]
        relation: Relation,
        /// The threshold that the value is compared with.
        threshold: Threshold,
    },
    /// A value from one threshold to another, both included.
    Between {
        /// The value.
        of: Expression,
        /// The lowest.
        low: Threshold,
        /// The highest.
        high: Threshold,
    },
    /// A value that is one of several.
    In {
        /// The value.
        of: Expression,
        /// The values.
        values: Vec<Threshold>,
    },
    /// All conditions of a list.
    All(Vec<Condition>),
    /// At least one condition of a list.
    Any(Vec<Condition>),
    /// The opposite of a condition.
    Not(Box<Condition>),
}

impl Condition {
    /// Returns the comparisons in the condition from left to right: the value, the relation and the
    /// threshold.
    pub fn comparisons(&self) -> Vec<(&Expression, Relation, &Threshold)> {
        let mut found = Vec::new();
        self.visit(&mut |of, relation, threshold| found.push((of, relation, threshold)));
        found
    }

    fn visit<'c>(&'c self, seen: &mut impl FnMut(&'c Expression, Relation, &'c Threshold)) {
        match self {
            Self::Compare {
                of,
                relation,
                threshold,
            } => seen(of, *relation, threshold),
            Self::Between { of, low, high } => {
                seen(of, Relation::Ge, low);
                seen(of, Relation::Le, high);
            }
            Self::In { of, values } => values.iter().for_each(|v| seen(of, Relation::Eq, v)),
            Self::All(list) | Self::Any(list) => list.iter().for_each(|c| c.visit(seen)),
            Self::Not(condition) => condition.visit(seen),
        }
    }

    /// Calls `change` with every threshold, the value that is compared with it, and the way in which.
    ///
    /// # Errors
    /// Returns the first error of `change`.
    pub(crate) fn thresholds_mut<E>(
        &mut self,
        change: &mut impl FnMut(&Expression, Comparing, &mut Threshold) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Compare {
                of,
                relation,
                threshold,
            } => change(of, Comparing::With(*relation), threshold),
            Self::Between { of, low, high } => {
                change(of, Comparing::With(Relation::Ge), low)?;
                change(of, Comparing::With(Relation::Le), high)
            }
            Self::In { of, values } => values
                .iter_mut()
                .try_for_each(|value| change(of, Comparing::Among, value)),
            Self::All(list) | Self::Any(list) => {
                list.iter_mut().try_for_each(|c| c.thresholds_mut(change))
            }
            Self::Not(condition) => condition.thresholds_mut(change),
        }
    }

    /// Returns whether it is not true in all rows in which one of its values is missing: whether it is a comparison, the opposite of
    /// one, or several of them that must all be true.
    pub(crate) fn needs_all_values(&self) -> bool {
        match self {
            Self::Compare { .. } | Self::Between { .. } | Self::In { .. } => true,
            Self::All(list) => list.iter().all(Self::needs_all_values),
            Self::Any(_) => false,
            Self::Not(of) => match &**of {
                Self::Not(of) => of.needs_all_values(),
                Self::All(_) | Self::Any(_) => false,
                Self::Compare { .. } | Self::Between { .. } | Self::In { .. } => true,
            },
        }
    }

    /// Returns the depth of nesting: 1 for a comparison.
    pub(crate) fn depth(&self) -> usize {
        1 + match self {
            Self::All(list) | Self::Any(list) => list.iter().map(Self::depth).max().unwrap_or(0),
            Self::Not(condition) => condition.depth(),
            _ => 0,
        }
    }

    /// Returns whether the condition contains an empty list.
    pub(crate) fn has_empty_list(&self) -> bool {
        match self {
            Self::All(list) | Self::Any(list) => {
                list.is_empty() || list.iter().any(Self::has_empty_list)
            }
            Self::Not(condition) => condition.has_empty_list(),
            Self::In { values, .. } => values.is_empty(),
            _ => false,
        }
    }

    /// Returns the text of the condition, with thresholds as `shown` writes them.
    pub(crate) fn text(&self, shown: &impl Fn(&Threshold) -> String) -> String {
        match self {
            Self::Compare {
                of,
                relation,
                threshold,
            } => format!("{of} {relation} {}", shown(threshold)),
            Self::Between { of, low, high } => {
                format!("{of} between {} and {}", shown(low), shown(high))
            }
            Self::In { of, values } => {
                let values: Vec<_> = values.iter().map(shown).collect();
                format!("{of} in ({})", values.join(", "))
            }
            Self::All(list) => joined(list, " and ", shown, |c| matches!(c, Self::Any(_))),
            Self::Any(list) => joined(list, " or ", shown, |_| false),
            Self::Not(condition) => match **condition {
                Self::All(_) | Self::Any(_) => format!("not ({})", condition.text(shown)),
                _ => format!("not {}", condition.text(shown)),
            },
        }
    }
}

fn joined(
    list: &[Condition],
    word: &str,
    shown: &impl Fn(&Threshold) -> String,
    in_parentheses: impl Fn(&Condition) -> bool,
) -> String {
    let texts = list.iter().map(|condition| {
        let text = condition.text(shown);
        match in_parentheses(condition) {
            true => format!("({text})"),
            false => text,
        }
    });
    texts.collect::<Vec<_>>().join(word)
}

/// The way in which a value is compared with a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparing {
    /// The relation of the value to the threshold.
    With(Relation),
    /// A test that the value is one of a list, of which the threshold is a member.
    Among,
}

impl Comparing {
    /// The relation of a value that meets the condition.
    pub(crate) fn relation(self) -> Relation {
        match self {
            Self::With(relation) => relation,
            Self::Among => Relation::Eq,
        }
    }
}

/// The right side of a condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Threshold {
    /// A value that the server may see.
    Clear(f64),
    /// A value that is encrypted before the question leaves the key owner. It has no form on the
    /// wire.
    #[serde(skip)]
    ToEncrypt(f64),
    /// An encrypted code in the request's ciphertext list.
    Encrypted {
        /// The place of its first block.
        first_block: u32,
        /// The value of code 0 in the encoding that it was made with, which must be the column's.
        offset: f64,
        /// The step of that encoding.
        scale: f64,
        /// The width of a code in that encoding, in bits.
        bits: u32,
    },
    /// An encrypted code in the request's ciphertext list that is one element, for comparisons with
    /// compact columns.
    EncryptedCode {
        /// The place of the code among those of the list that have the same width.
        index: u32,
        /// The value of code 0 in the encoding that it was made with, which must be the column's.
        offset: f64,
        /// The step of that encoding.
        scale: f64,
        /// The width of a code in that encoding, in bits.
        bits: u32,
    },
}

/// The text that replaces an encrypted threshold where its value must not be shown.
pub(crate) const HIDDEN_THRESHOLD: &str = "encrypted(…)";

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clear(value) => write!(f, "{value}"),
            Self::ToEncrypt(value) => write!(f, "encrypted({value})"),
            Self::Encrypted { .. } | Self::EncryptedCode { .. } => f.write_str(HIDDEN_THRESHOLD),
        }
    }
}

/// The form of a [`Relation`] in requests: its sign.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Relation")]
enum RelationForm {
    #[serde(rename = "<")]
    Lt,
    #[serde(rename = "<=")]
    Le,
    #[serde(rename = ">")]
    Gt,
    #[serde(rename = ">=")]
    Ge,
    #[serde(rename = "==")]
    Eq,
    #[serde(rename = "!=")]
    Ne,
}
