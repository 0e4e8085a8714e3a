//! Definitions of columns, as people write them, and the form that follows from the use of a column.
//!
//! A definition says what a column is for ([`Use`]), the form of its codes in numbers, or neither. The
//! oracle knows the compact form that a use needs under a parameter set, so a definition becomes a
//! [`Column`] only [under](Under) a key.

use serde::Deserialize;
use serde::de::IgnoredAny;
use tfhe_sbc_core::parameter_sets;
use tfhe_sbc_core::parameters::{ParameterName, Parameters, PlaintextKind};
pub use tfhe_sbc_oracle::compact::Profile;
pub use tfhe_sbc_oracle::upload::UploadKind;
use thiserror::Error;

use crate::declaration::{Declaration, DeclarationError, Missing};
use crate::derived::Derived;
use crate::readings::{Column, Compact};

/// The main use of the readings of a column, which decides their form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Use {
    /// Sorts, products, look-ups, and everything else that takes the digits of each row.
    Radix,
    /// The uses of compact codes.
    Compact(Profile),
}

/// A word that names no [`Use`]. The message does not repeat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the use of a column is one of means, alarms, fleet and radix")]
pub struct UnknownUse;

impl Use {
    /// The name of the use of radix blocks.
    const RADIX: &str = "radix";

    /// The name: `radix`, `alarms`, `means` or `fleet`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Radix => Self::RADIX,
            Self::Compact(profile) => profile.name(),
        }
    }
}

impl std::str::FromStr for Use {
    type Err = UnknownUse;

    fn from_str(name: &str) -> Result<Self, UnknownUse> {
        match name {
            Self::RADIX => Ok(Self::Radix),
            name => name.parse().map(Self::Compact).map_err(|_| UnknownUse),
        }
    }
}

impl TryFrom<String> for Use {
    type Error = UnknownUse;

    fn try_from(name: String) -> Result<Self, UnknownUse> {
        name.parse()
    }
}

/// The definition of a column: its name, its fixed-point encoding and its use.
///
/// It is read from a table of TOML or the like, whose keys are those of [`Column`], `use`, and those of what is
/// derived: `square`, `bins`, `above`, `below` and `optional` ([`Declaration`]). Keys that say where an agent's readings come from are let through, so that one file serves agents and
/// programs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Written")]
pub struct Definition {
    /// The name: letters, digits and underscores.
    pub name: String,
    /// The unit, shown to people.
    pub unit: String,
    /// The value of code 0, the lowest that can be encoded, in the column's unit; 0 where the
    /// definition has none.
    pub offset: f64,
    /// The step between the values of two successive codes, in the column's unit; 1 where
    /// the definition has none.
    pub scale: f64,
    /// The width of a code in bits.
    pub bits: u32,
    /// The use. Without it and without numbers the column is made for means where that is possible.
    pub usage: Option<Use>,
    /// The compact form in numbers, in place of a use.
    pub compact: Option<Compact>,
    /// The columns that the board derives from the column.
    pub derived: Declaration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    offset: f64,
    #[serde(default = "one")]
    scale: f64,
    bits: u32,
    #[serde(rename = "use")]
    usage: Option<Use>,
    compact: Option<Compact>,
    #[serde(default)]
    square: bool,
    #[serde(default)]
    bins: Vec<f64>,
    #[serde(default)]
    above: Vec<f64>,
    #[serde(default)]
    below: Vec<f64>,
    #[serde(default)]
    optional: Missing,
    #[serde(default, rename = "factor")]
    _factor: IgnoredAny,
    #[serde(default, rename = "add")]
    _add: IgnoredAny,
    #[serde(default, rename = "out_of_range")]
    _out_of_range: IgnoredAny,
    #[serde(default, rename = "source")]
    _source: IgnoredAny,
}

/// The step of a column whose definition has none.
fn one() -> f64 {
    1.0
}

impl From<Written> for Definition {
    fn from(written: Written) -> Self {
        Self {
            name: written.name,
            unit: written.unit,
            offset: written.offset,
            scale: written.scale,
            bits: written.bits,
            usage: written.usage,
            compact: written.compact,
            derived: Declaration {
                square: written.square,
                bins: written.bins,
                closed: false,
                above: written.above,
                below: written.below,
                optional: written.optional,
            },
        }
    }
}

/// The parameters and the kind of key that columns are encrypted under.
#[derive(Clone, Copy, Debug)]
pub struct Under<'p> {
    /// The parameters.
    pub parameters: &'p Parameters,
    /// The kind of encryption.
    pub kind: UploadKind,
}

/// A use that a column cannot have, or something that cannot be derived from it.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DefinitionError {
    /// A use beside the compact form in numbers.
    #[error("the column '{0}' has both a use and a compact form")]
    Both(String),
    /// A use that the oracle cannot meet.
    #[error(
        "the column '{name}' of {bits} bits cannot be compact for {profile} under the parameter set \
         '{set}'"
    )]
    NotMet {
        /// The name of the column.
        name: String,
        /// The width of its codes.
        bits: u32,
        /// The use.
        profile: Profile,
        /// The name of the parameter set.
        set: ParameterName,
    },
    /// An error in what is to be derived from the column.
    #[error("the column '{name}': {error}")]
    Derived {
        /// The name of the column.
        name: String,
        /// The reason.
        error: DeclarationError,
    },
}

impl DefinitionError {
    /// Advice on what to do.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Both(_) => "leave one of them out: the form follows from the use",
            Self::NotMet { .. } => {
                "give it fewer bits or another use; use = \"radix\" is for radix blocks, which are always possible"
            }
            Self::Derived {
                error: DeclarationError::OptionalRadix,
                ..
            } => "change use, bits or optional of the column",
            Self::Derived { .. } => {
                "change square, bins, above and below of the column, or leave them out"
            }
        }
    }
}

impl Definition {
    /// Returns the column under a key. A column that states neither a use nor a form is compact for
    /// means under the shipped parameter sets as far as the oracle can meet that; under other sets, which
    /// may be those of other libraries, and where it cannot, the column has radix blocks.
    ///
    /// # Errors
    /// Returns an error if a use that is stated cannot be met, or stands beside a form, and if something that is
    /// declared cannot be derived.
    pub fn column(&self, under: Under<'_>) -> Result<Column, DefinitionError> {
        let compact = match (self.usage, self.compact) {
            (Some(_), Some(_)) => return Err(DefinitionError::Both(self.name.clone())),
            (None, Some(compact)) => Some(compact),
            (Some(Use::Radix), None) => None,
            (Some(Use::Compact(profile)), None) => {
                let form = form(profile, self.bits, under);
                Some(form.ok_or_else(|| DefinitionError::NotMet {
                    name: self.name.clone(),
                    bits: self.bits,
                    profile,
                    set: under.parameters.name(),
                })?)
            }
            (None, None) if is_shipped(under.parameters) => form(Profile::Means, self.bits, under),
            (None, None) => None,
        };
        let column = Column {
            compact,
            ..self.without_use()
        };
        let derived = self.derived.of(&column, under.parameters, under.kind);
        let derived = derived.map_err(|error| DefinitionError::Derived {
            name: self.name.clone(),
            error,
        })?;
        Ok(Column { derived, ..column })
    }

    /// Returns the column with the form that it states in numbers, or with radix blocks, and nothing derived: for questions
    /// that do not depend on the form, and where there is no key.
    pub fn without_use(&self) -> Column {
        Column {
            name: self.name.clone(),
            unit: self.unit.clone(),
            offset: self.offset,
            scale: self.scale,
            bits: self.bits,
            compact: self.compact,
            derived: Derived::default(),
        }
    }

    /// Returns whether a column has the name, unit and fixed-point encoding of this definition, and the form
    /// if it is stated in numbers. The form that follows from a use depends on the key and is not compared,
    /// and neither is what is derived.
    pub fn describes(&self, column: &Column) -> bool {
        let stated = self.without_use();
        let form = match stated.compact {
            Some(form) => Some(form),
            None => column.compact,
        };
        let derived = column.derived.clone();
        *column
            == Column {
                compact: form,
                derived,
                ..stated
            }
    }
}

/// Returns the compact form for a use, `None` if it cannot be met.
pub fn form(profile: Profile, bits: u32, under: Under<'_>) -> Option<Compact> {
    if under.parameters.plaintext() != PlaintextKind::Radix {
        return None;
    }
    let encoding = profile.encoding(under.parameters, bits, under.kind);
    encoding.map(Compact::from)
}

/// Returns whether the set is one of this project's. Keys of a published set may be another library's, which reads radix
/// blocks only.
fn is_shipped(parameters: &Parameters) -> bool {
    let known = parameter_sets::by_fingerprint(parameters.fingerprint());
    known.is_some_and(|set| !parameter_sets::PUBLISHED.contains(set.as_set()))
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::{
        BOOLEAN_1024, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3, NIST_SUBMISSION_2_2,
    };
    use tfhe_sbc_core::parameters::ParameterSet;

    use super::*;

    fn definition(bits: u32, usage: Option<Use>) -> Definition {
        Definition {
            name: "level".to_owned(),
            unit: "m".to_owned(),
            offset: -2.0,
            scale: 0.5,
            bits,
            usage,
            compact: None,
            derived: Declaration::default(),
        }
    }

    fn column(
        set: ParameterSet,
        kind: UploadKind,
        definition: &Definition,
    ) -> Result<Column, DefinitionError> {
        let parameters = set.validate().unwrap();
        definition.column(Under {
            parameters: &parameters,
            kind,
        })
    }

    #[test]
    fn without_a_use_a_column_is_for_means_where_that_is_possible() {
        let of_kind = |set, kind, bits| {
            let column = column(set, kind, &definition(bits, None)).unwrap();
            assert_eq!(column.bits, bits);
            column
                .compact
                .map(|compact| (compact.headroom, compact.feedback))
        };
        let default = |set, bits| {
            let forms = UploadKind::ALL.map(|kind| of_kind(set, kind, bits));
            assert_eq!(forms[0], forms[1]);
            forms[0]
        };
        // Public-key uploads are noisier.
        let widest = UploadKind::ALL.map(|kind| {
            let is_compact = |bits: &u32| of_kind(MESSAGE_2_CARRY_2, kind, *bits).is_some();
            let compact: Vec<u32> = (1..=52).filter(is_compact).collect();
            assert_eq!(compact.len(), *compact.last().unwrap() as usize);
            compact.len()
        });
        assert_eq!(widest, [24, 13]);
        assert_eq!(default(MESSAGE_2_CARRY_2, 12), Some((14, true)));
        assert_eq!(default(MESSAGE_3_CARRY_3, 12), Some((14, true)));
        // Too many bits, no bits, bits that are not integers, and the set of another library.
        for bits in [0, 41, 52, 80, u32::MAX] {
            assert_eq!(default(MESSAGE_2_CARRY_2, bits), None, "{bits}");
        }
        assert_eq!(default(BOOLEAN_1024, 8), None);
        let foreign = ParameterSet {
            name: ParameterName::new("another"),
            ..MESSAGE_2_CARRY_2
        };
        assert_eq!(default(foreign, 12), None);
        assert_eq!(default(NIST_SUBMISSION_2_2, 12), None);
        let means = definition(12, Some(Use::Compact(Profile::Means)));
        let stated = column(foreign, UploadKind::Symmetric, &means).unwrap();
        assert!(stated.compact.is_some());
    }

    #[test]
    fn a_use_decides_the_form_or_is_refused() {
        let form = |name: &str| {
            let usage = Some(name.parse().unwrap());
            assert_eq!(usage.map(Use::name), Some(name));
            let column = column(
                MESSAGE_2_CARRY_2,
                UploadKind::Symmetric,
                &definition(12, usage),
            );
            column
                .unwrap()
                .compact
                .map(|form| (form.headroom, form.body_bits, form.feedback))
        };
        assert_eq!(form("radix"), None);
        assert_eq!(form("alarms"), Some((1, 17, false)));
        assert_eq!(form("means"), Some((14, 32, true)));
        assert_eq!(form("fleet"), Some((10, 30, false)));
        assert_eq!("mean".parse::<Use>(), Err(UnknownUse));

        let refused = |set, definition: &Definition| {
            let error = column(set, UploadKind::Symmetric, definition).unwrap_err();
            format!("{error}; {}", error.advice())
        };
        let means = Some(Use::Compact(Profile::Means));
        let words = refused(MESSAGE_2_CARRY_2, &definition(41, means));
        assert!(
            words.contains("'level' of 41 bits cannot be compact for means under")
                && words.contains("use = \"radix\""),
            "{words}"
        );
        let words = refused(BOOLEAN_1024, &definition(8, means));
        assert!(words.contains("'boolean_1024'"), "{words}");
        let both = Definition {
            compact: Some(Compact {
                headroom: 1,
                body_bits: 18,
                feedback: false,
            }),
            ..definition(12, Some(Use::Radix))
        };
        let words = refused(MESSAGE_2_CARRY_2, &both);
        assert!(words.contains("both a use and a compact form"), "{words}");
    }

    #[test]
    fn what_is_declared_is_derived_or_refused() {
        let with = |bits, usage, declaration: &Declaration| {
            let definition = Definition {
                derived: declaration.clone(),
                ..definition(bits, usage)
            };
            column(MESSAGE_2_CARRY_2, UploadKind::Symmetric, &definition)
        };
        let everything = Declaration {
            square: true,
            bins: vec![0.0, 10.0],
            closed: false,
            above: vec![1.0],
            below: Vec::new(),
            optional: Missing::Never,
        };
        let derived = with(8, None, &everything).unwrap().derived;
        assert!(derived.square.is_some());
        assert_eq!(derived.flags.unwrap().from, [4, 7, 24]);
        for (bits, usage, words) in [
            (8, Some(Use::Radix), "compact columns only"),
            (17, None, "at most 12 bits"),
            // Without a use such a column has radix blocks.
            (41, None, "compact columns only"),
        ] {
            let error = with(bits, usage, &everything).unwrap_err();
            let text = format!("{error}; {}", error.advice());
            let named = text.starts_with("the column 'level': ");
            assert!(named && text.contains(words), "{text}");
        }
    }

    #[test]
    fn a_definition_describes_a_column_of_any_form_unless_it_states_one() {
        let mut described = definition(12, None);
        let form = |headroom| Compact {
            headroom,
            body_bits: 30,
            feedback: false,
        };
        let column = Column {
            compact: Some(form(10)),
            ..described.without_use()
        };
        assert!(described.describes(&column) && described.describes(&described.without_use()));
        for other in [
            Column {
                bits: 11,
                ..column.clone()
            },
            Column {
                scale: 0.25,
                ..column.clone()
            },
            Column {
                unit: "ft".to_owned(),
                ..column.clone()
            },
        ] {
            assert!(!described.describes(&other), "{other:?}");
        }
        described.compact = Some(form(10));
        assert!(described.describes(&column));
        described.compact = Some(form(9));
        assert!(!described.describes(&column));
    }
}
