//! Declarations of what a board derives from a column, in the column's unit, and the derived columns that they make.

use serde::Deserialize;
use tfhe_sbc_core::encoding::{Derivation, FixedPoint};
#[cfg(feature = "session")]
use tfhe_sbc_core::{parameters::Parameters, wire::columns::ElementEncoding};
#[cfg(feature = "session")]
use tfhe_sbc_oracle::{
    compact::{derived_encoding, widest_with},
    upload::UploadKind,
};
use thiserror::Error;

use crate::cuts::{first_code_above, first_code_from};
use crate::derived::{ClearWord, Derived, Flags, Validity};
#[cfg(feature = "session")]
use crate::readings::Column;
use crate::readings::Compact;

/// The part of a column definition that states what is to be derived, in the column's unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declaration {
    /// Whether squares are derived.
    pub square: bool,
    /// The edges of the bins of histograms. A bin is from its edge up to but without the next one.
    pub bins: Vec<f64>,
    /// Whether the last bin may have its upper edge too, as numpy's has: there is a cut above that edge, as if it
    /// were in `above`, unless no reading is above it.
    pub closed: bool,
    /// Thresholds `t` of the conditions `x > t` and `x <= t`.
    pub above: Vec<f64>,
    /// Thresholds `t` of the conditions `x < t` and `x >= t`.
    pub below: Vec<f64>,
    /// Whether readings may be missing, and who learns which.
    pub optional: Missing,
}

/// A statement of whether readings of a column may be missing, and of who learns which: `false`, `true` or `"clear"` in a
/// definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenMissing")]
pub enum Missing {
    /// Every row has a reading.
    #[default]
    Never,
    /// Readings may be missing, and only the key owner learns which.
    Encrypted,
    /// Readings may be missing, and the server learns which.
    Clear,
}

impl Missing {
    /// Returns whether readings may be missing.
    pub fn is_allowed(self) -> bool {
        self != Self::Never
    }
}

/// A truth value, or the word `clear`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "optional is one of true, false and \"clear\"")]
enum WrittenMissing {
    Optional(bool),
    Word(ClearWord),
}

impl From<WrittenMissing> for Missing {
    fn from(written: WrittenMissing) -> Self {
        match written {
            WrittenMissing::Optional(false) => Self::Never,
            WrittenMissing::Optional(true) => Self::Encrypted,
            WrittenMissing::Word(ClearWord::Clear) => Self::Clear,
        }
    }
}

/// The reason why a declaration cannot be met.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DeclarationError {
    /// An edge or a threshold that is not a finite number.
    #[error("a bin or a threshold is not a finite number")]
    NotFinite,
    /// Edges that do not increase.
    #[error("the edges of its bins do not increase: write them from the lowest to the highest")]
    Order,
    /// A threshold that all readings are on one side of.
    #[error(
        "all readings that it can have are on one side of {0}: the condition needs no flag, or the \
         column another range"
    )]
    OutOfRange(f64),
    /// Bins whose edges are all outside the range.
    #[error(
        "no edge of its bins is within its range: give it another range, or leave the bins out"
    )]
    NoEdge,
    /// Squares or flags of a column of radix blocks.
    #[error(
        "squares, bins and flags are derived from compact columns only: give it a use other than radix \
         blocks, or leave them out"
    )]
    NotCompact,
    /// Readings that may be missing in a column of radix blocks.
    #[error(
        "readings may be missing (optional) in compact columns only, and it has radix blocks: give it the \
         use means, fleet or alarms, and as few bits as that permits"
    )]
    OptionalRadix,
    /// Squares or flags whose sums would not be exact.
    #[error(
        "it has {bits} bits, and sums of its {what} would not be exact with {headroom} bits of headroom{}",
        advice(.what, *.widest)
    )]
    NoForm {
        /// The kind of the derived columns: squares, flags or validity.
        what: &'static str,
        /// The width of the column.
        bits: u32,
        /// The headroom.
        headroom: u32,
        /// The largest width of a column with which they would be, if there is one.
        widest: Option<u32>,
    },
}

/// The advice for a column of which nothing can be derived.
fn advice(what: &str, widest: Option<u32>) -> String {
    let fewer = widest.map(|bits| format!("give it at most {bits} bits, "));
    let fewer = fewer.unwrap_or_default();
    format!(": {fewer}declare another use or less headroom, or leave the {what} out")
}

impl Declaration {
    /// Returns whether nothing is declared.
    pub fn is_empty(&self) -> bool {
        let thresholds = [&self.bins, &self.above, &self.below];
        !self.square && !self.optional.is_allowed() && thresholds.iter().all(|list| list.is_empty())
    }

    /// Returns what is derived from a column with this fixed-point encoding. `form` is given a derivation and
    /// returns the compact form for it, or the reason why there is none.
    ///
    /// # Errors
    /// Bins and thresholds that make no cut between two codes, and the reasons of `form`.
    pub fn derived(
        &self,
        encoding: &FixedPoint,
        form: impl Fn(Derivation) -> Result<Compact, DeclarationError>,
    ) -> Result<Derived, DeclarationError> {
        let mut numbers = self.bins.iter().chain(&self.above).chain(&self.below);
        if !numbers.all(|number| number.is_finite()) {
            return Err(DeclarationError::NotFinite);
        }
        if self.bins.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(DeclarationError::Order);
        }
        let last = 1u64 << encoding.bits();
        let cuts = 1..last;
        // Edges that all readings are on one side of need no flag.
        let edges = self
            .bins
            .iter()
            .map(|&edge| first_code_from(encoding, edge));
        let last_edge = self.bins.last().filter(|_| self.closed);
        let closing = last_edge.map(|&edge| first_code_above(encoding, edge));
        let edges = edges.chain(closing);
        let mut from: Vec<u64> = edges.filter(|cut| cuts.contains(cut)).collect();
        if from.is_empty() && !self.bins.is_empty() {
            return Err(DeclarationError::NoEdge);
        }
        let above = self
            .above
            .iter()
            .map(|t| (t, first_code_above(encoding, *t)));
        let below = self
            .below
            .iter()
            .map(|t| (t, first_code_from(encoding, *t)));
        for (threshold, cut) in above.chain(below) {
            if !cuts.contains(&cut) {
                return Err(DeclarationError::OutOfRange(*threshold));
            }
            from.push(cut);
        }
        from.sort_unstable();
        from.dedup();
        let flags = match from.first() {
            None => None,
            Some(&first) => Some(Flags {
                compact: form(Derivation::From(first))?,
                from,
            }),
        };
        let square = self.square.then(|| form(Derivation::Square));
        Ok(Derived {
            square: square.transpose()?,
            flags,
            valid: match self.optional {
                Missing::Encrypted => Some(Validity::Encrypted(form(Derivation::Valid)?)),
                Missing::Clear => Some(Validity::Clear),
                Missing::Never => None,
            },
        })
    }
}

#[cfg(feature = "session")]
impl Declaration {
    /// Returns what is derived from a column, whose own form is known, for uploads of `kind` under `parameters`. The
    /// oracle chooses the forms ([`derived_encoding`]).
    ///
    /// # Errors
    /// Bins and thresholds that make no cut between two codes, a column that is not compact, and squares and flags
    /// whose sums would not be exact.
    pub fn of(
        &self,
        column: &Column,
        parameters: &Parameters,
        kind: UploadKind,
    ) -> Result<Derived, DeclarationError> {
        let own = column.element_encoding();
        let (Ok(encoding), Ok(own)) = (column.fixed_point(), own) else {
            // A column that cannot be is refused for that.
            return Ok(Derived::default());
        };
        let own = match own {
            _ if self.is_empty() => return Ok(Derived::default()),
            ElementEncoding::Compact(own) => own,
            ElementEncoding::Radix if self.optional.is_allowed() => {
                return Err(DeclarationError::OptionalRadix);
            }
            ElementEncoding::Radix => return Err(DeclarationError::NotCompact),
        };
        self.derived(&encoding, |derivation| {
            let form = derived_encoding(parameters, &own, derivation, kind);
            form.map(Compact::from)
                .ok_or_else(|| DeclarationError::NoForm {
                    what: match derivation {
                        Derivation::Square => "squares",
                        Derivation::From(_) => "flags",
                        Derivation::Valid => "validity",
                    },
                    bits: own.bits(),
                    headroom: own.headroom(),
                    widest: widest_with(parameters, &own, derivation, kind),
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Compact = Compact {
        headroom: 14,
        body_bits: 40,
        feedback: true,
    };

    fn declared(declaration: &Declaration) -> Result<Derived, DeclarationError> {
        // Codes 0 to 63 for readings from -10 to 21.5.
        let encoding = FixedPoint::new(-10.0, 0.5, 6).unwrap();
        declaration.derived(&encoding, |_| Ok(FORM))
    }

    #[test]
    fn thresholds_and_edges_become_cuts() {
        let derived = declared(&Declaration {
            square: true,
            // -20 and 30 are outside the range: bins with these edges need no flag there.
            bins: vec![-20.0, -10.0, 0.0, 0.2, 30.0],
            closed: true,
            above: vec![0.0, 5.2],
            below: vec![0.0, 21.5],
            optional: Missing::Encrypted,
        })
        .unwrap();
        let from: Vec<u64> = derived
            .columns()
            .filter_map(|(derivation, _)| match derivation {
                Derivation::From(first) => Some(first),
                Derivation::Square | Derivation::Valid => None,
            })
            .collect();
        // `x >= 0`, `x > 0` (as `x >= 0.2`), `x > 5.2`, `x >= 21.5`.
        assert_eq!(from, [20, 21, 31, 63]);
        assert_eq!(derived.count(), 6);
        assert_eq!(derived.find(Derivation::Valid), Some((5, FORM)));
        assert_eq!(derived.find(Derivation::Square), Some((0, FORM)));
        assert_eq!(derived.find(Derivation::From(31)), Some((3, FORM)));
        assert_eq!(derived.find(Derivation::From(32)), None);
        assert!(derived.check(6, Some(FORM)).is_ok());
        assert!(declared(&Declaration::default()).unwrap().is_empty());
    }

    #[test]
    fn a_closed_bin_has_a_cut_above_its_edge_where_there_are_readings() {
        let from = |bins: &[f64], closed| {
            let declaration = Declaration {
                bins: bins.to_vec(),
                closed,
                ..Declaration::default()
            };
            assert_eq!(declaration.is_empty(), bins.is_empty());
            declared(&declaration).map(|derived| derived.flags.map(|flags| flags.from))
        };
        assert_eq!(from(&[0.0, 5.0], false), Ok(Some(vec![20, 30])));
        assert_eq!(from(&[0.0, 5.0], true), Ok(Some(vec![20, 30, 31])));
        // Between two codes there is one cut, at the lowest reading one above it, and at the highest none.
        assert_eq!(from(&[0.0, 5.2], true), Ok(Some(vec![20, 31])));
        assert_eq!(from(&[-12.0, -10.0], true), Ok(Some(vec![1])));
        assert_eq!(from(&[0.0, 21.5], true), Ok(Some(vec![20, 63])));
        assert_eq!(from(&[-12.0, -11.0], true), Err(DeclarationError::NoEdge));
        assert_eq!(from(&[], true), Ok(None));
    }

    #[test]
    fn declarations_that_mean_nothing_are_refused() {
        let none = Declaration::default;
        for (declaration, expected) in [
            (
                Declaration {
                    bins: vec![0.0, f64::NAN],
                    ..none()
                },
                DeclarationError::NotFinite,
            ),
            (
                Declaration {
                    bins: vec![1.0, 1.0],
                    ..none()
                },
                DeclarationError::Order,
            ),
            (
                Declaration {
                    bins: vec![-10.0, 22.0],
                    ..none()
                },
                DeclarationError::NoEdge,
            ),
            (
                Declaration {
                    above: vec![21.5],
                    ..none()
                },
                DeclarationError::OutOfRange(21.5),
            ),
            (
                Declaration {
                    below: vec![-10.0],
                    ..none()
                },
                DeclarationError::OutOfRange(-10.0),
            ),
        ] {
            assert_eq!(declared(&declaration), Err(expected));
        }
    }

    #[cfg(feature = "session")]
    #[test]
    fn the_oracle_chooses_the_form_or_says_what_would_do() {
        use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
        use tfhe_sbc_oracle::compact::Profile;

        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let everything = Declaration {
            square: true,
            bins: vec![0.0, 10.0],
            closed: false,
            above: vec![30.0],
            below: vec![30.0],
            optional: Missing::Encrypted,
        };
        let derived = |bits, profile: Option<Profile>, declaration: &Declaration| {
            let kind = UploadKind::Symmetric;
            let form = profile.map(|profile| profile.encoding(&parameters, bits, kind).unwrap());
            let column = Column {
                name: "x".to_owned(),
                unit: String::new(),
                offset: -10.0,
                scale: 0.5,
                bits,
                compact: form.map(Compact::from),
                derived: Derived::default(),
            };
            let derived = declaration.of(&column, &parameters, kind);
            if let Ok(derived) = &derived {
                derived.check(bits, column.compact).unwrap();
            }
            derived
        };
        let found = derived(10, Some(Profile::Means), &everything).unwrap();
        assert_eq!(found.square.unwrap().headroom, 14);
        // Counts of readings have the form of counts of conditions.
        let flag_form = found.flags.as_ref().map(|flags| flags.compact);
        assert!(found.valid == flag_form.map(Validity::Encrypted));
        assert_eq!(found.flags.unwrap().from, [20, 40, 80, 81]);
        let refused = derived(17, Some(Profile::Means), &everything).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "it has 17 bits, and sums of its squares would not be exact with 14 bits of headroom: give \
             it at most 12 bits, declare another use or less headroom, or leave the squares out"
        );
        let flags = Declaration {
            square: false,
            ..everything
        };
        assert!(derived(17, Some(Profile::Means), &flags).is_ok());
        let refused = derived(10, None, &flags);
        assert_eq!(refused, Err(DeclarationError::OptionalRadix));
        let flags = Declaration {
            optional: Missing::Never,
            ..flags
        };
        let refused = derived(10, None, &flags);
        assert_eq!(refused, Err(DeclarationError::NotCompact));
        let nothing = derived(10, None, &Declaration::default());
        assert_eq!(nothing, Ok(Derived::default()));
    }
}
