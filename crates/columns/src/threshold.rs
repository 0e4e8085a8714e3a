//! Thresholds as codes: a comparison of values in the clear becomes one of codes.

use std::fmt;

use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_engine::integer::Comparison;
use tfhe_sbc_upload::cuts::{largest_code, whole_steps};

/// A comparison as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
}

impl Relation {
    /// Every relation and how it is written.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Le, "<="),
        (Self::Ge, ">="),
        (Self::Eq, "=="),
        (Self::Ne, "!="),
        (Self::Lt, "<"),
        (Self::Gt, ">"),
    ];

    /// The one that a sign of a question's text stands for.
    pub fn of_sign(sign: &str) -> Option<Self> {
        match sign {
            "=" => Some(Self::Eq),
            "<>" => Some(Self::Ne),
            _ => {
                let mut all = Self::ALL.into_iter();
                all.find(|(_, text)| *text == sign)
                    .map(|(relation, _)| relation)
            }
        }
    }

    /// The same one with its sides exchanged.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            Self::Eq | Self::Ne => self,
        }
    }

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

/// A comparison of readings with a clear threshold, as one of codes: a relation and a code, or an
/// answer that does not depend on the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeCondition {
    /// The code compared with this one.
    Compare(Relation, u64),
    /// The same for all readings.
    Always(bool),
}

/// Translates `reading <relation> threshold` to codes. A threshold between two codes,
/// or outside their range, needs no rounding: every code is on one side of it.
pub fn code_condition(encoding: &FixedPoint, relation: Relation, threshold: f64) -> CodeCondition {
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
pub fn threshold_code(encoding: &FixedPoint, relation: Relation, threshold: f64) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn thresholds_that_are_large_beside_a_step_still_mean_their_code() {
        let tenths = FixedPoint::new(0.0, 0.1, 34).unwrap();
        for code in [12_345_678_901u64, 12_345_678_902, 17_179_869_183] {
            let threshold = format!("{}.{}", code / 10, code % 10).parse().unwrap();
            assert_eq!(
                code_condition(&tenths, Relation::Eq, threshold),
                CodeCondition::Compare(Relation::Eq, code)
            );
            assert_eq!(
                code_condition(&tenths, Relation::Eq, threshold + 0.04),
                CodeCondition::Always(false)
            );
        }
        let stamps = FixedPoint::new(1.7e9, 0.001, 40).unwrap();
        assert_eq!(
            code_condition(&stamps, Relation::Ge, 1_700_000_000.123),
            CodeCondition::Compare(Relation::Ge, 123)
        );
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
