//! Columns that a board derives from a column and sends beside it, so that more questions are linear:
//! squares for variances, flags for counts and histograms, and whether there is a reading at all.
//!
//! A flag is 1 for the codes from a *cut* on and 0 for those below. The number of rows in a bin is the
//! difference of the sums of two flags, and so is the number of rows that meet any condition whose limits are
//! cuts. Flags at `n` edges therefore say as much as `n + 1` one-hot bins, with the open ends among them, and no
//! upload can have bins with gaps or overlaps.

use serde::{Deserialize, Serialize};
use tfhe_sbc_core::encoding::{CompactError, Derivation, are_cuts};
use thiserror::Error;

use crate::readings::Compact;

/// The columns that are derived from a column: squares, flags, validity, some of them or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    /// The form of the squares of the codes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub square: Option<Compact>,
    /// The flags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags: Option<Flags>,
    /// The way in which missing readings are told, if some may be missing. The code of a missing reading is 0, and so is all
    /// that is derived from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<Validity>,
}

/// The way in which an upload tells which readings of a column are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenValidity", into = "WrittenValidity")]
pub enum Validity {
    /// By encrypted codes of one bit in this form, which are 1 where there is a reading.
    Encrypted(Compact),
    /// By the [gaps](crate::gaps::Gaps) of the metadata, which everybody can read.
    Clear,
}

/// A form, or the word `clear`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenValidity {
    Form(Compact),
    Word(ClearWord),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClearWord {
    Clear,
}

impl From<WrittenValidity> for Validity {
    fn from(written: WrittenValidity) -> Self {
        match written {
            WrittenValidity::Form(compact) => Self::Encrypted(compact),
            WrittenValidity::Word(ClearWord::Clear) => Self::Clear,
        }
    }
}

impl From<Validity> for WrittenValidity {
    fn from(validity: Validity) -> Self {
        match validity {
            Validity::Encrypted(compact) => Self::Form(compact),
            Validity::Clear => Self::Word(ClearWord::Clear),
        }
    }
}

/// Flags of one column, each in a segment of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flags {
    /// The first code of each flag, in increasing order.
    pub from: Vec<u64>,
    /// The form of the flags, which are codes of one bit.
    pub compact: Compact,
}

/// The reason why columns are not derived from a column.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DerivedError {
    /// The column is not compact.
    #[error(
        "squares, flags and validity are derived from compact columns only: give the column a compact form, or \
         leave them out"
    )]
    NotCompact,
    /// The codes are too wide for squares.
    #[error(
        "squares of {0} bits are too wide: a column with squares has at most {max} bits",
        max = Derivation::MAX_SQUARED_BITS
    )]
    SquareBits(u32),
    /// A form that is not possible.
    #[error("the form of its squares, flags or validity: {0}")]
    Form(#[from] CompactError),
    /// Flags without cuts, or cuts that do not increase, or that all codes are on one side of.
    #[error(
        "the cuts of its flags must increase, and lie above its lowest code and at most at its highest"
    )]
    Cuts,
}

impl Derived {
    /// Returns whether nothing is derived.
    pub fn is_empty(&self) -> bool {
        self.square.is_none() && self.flags.is_none() && self.valid.is_none()
    }

    /// Returns whether the metadata of an upload tells which readings are missing.
    pub fn tells_gaps(&self) -> bool {
        self.valid == Some(Validity::Clear)
    }

    /// The form of the encrypted validity, if there is one.
    pub fn encrypted_validity(&self) -> Option<Compact> {
        match self.valid {
            Some(Validity::Encrypted(compact)) => Some(compact),
            Some(Validity::Clear) | None => None,
        }
    }

    /// The derived columns, in the order of their segments: squares, each flag, and validity.
    pub fn columns(&self) -> impl Iterator<Item = (Derivation, Compact)> {
        let square = self.square.map(|compact| (Derivation::Square, compact));
        let flags = self.flags.iter().flat_map(|flags| {
            let from = flags.from.iter();
            from.map(|&first| (Derivation::From(first), flags.compact))
        });
        let valid = self.encrypted_validity();
        let valid = valid.map(|compact| (Derivation::Valid, compact));
        square.into_iter().chain(flags).chain(valid)
    }

    /// The number of derived columns.
    pub fn count(&self) -> usize {
        let flags = self.flags.as_ref().map_or(0, |flags| flags.from.len());
        usize::from(self.square.is_some())
            + flags
            + usize::from(self.encrypted_validity().is_some())
    }

    /// The place of a derived column among all, and its form.
    pub fn find(&self, derivation: Derivation) -> Option<(usize, Compact)> {
        let mut columns = self.columns().enumerate();
        columns
            .find_map(|(place, (found, compact))| (found == derivation).then_some((place, compact)))
    }

    /// Checks what is derived from a column of `bits` bits in this form.
    ///
    /// # Errors
    /// The first defect.
    pub fn check(&self, bits: u32, compact: Option<Compact>) -> Result<(), DerivedError> {
        if self.is_empty() {
            return Ok(());
        }
        if compact.is_none() {
            return Err(DerivedError::NotCompact);
        }
        if self.square.is_some() && bits > Derivation::MAX_SQUARED_BITS {
            return Err(DerivedError::SquareBits(2 * bits));
        }
        if self
            .flags
            .as_ref()
            .is_some_and(|flags| !are_cuts(&flags.from, bits))
        {
            return Err(DerivedError::Cuts);
        }
        for (derivation, compact) in self.columns() {
            compact.encoding(derivation.bits(bits))?;
        }
        Ok(())
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

    #[test]
    fn contradictions_are_refused() {
        let flags = |from: &[u64]| Derived {
            square: None,
            flags: Some(Flags {
                from: from.to_vec(),
                compact: FORM,
            }),
            valid: None,
        };
        let square = Derived {
            square: Some(FORM),
            ..Derived::default()
        };
        for from in [&[][..], &[0], &[5, 5], &[6, 5], &[64], &[u64::MAX]] {
            let refused = flags(from).check(6, Some(FORM));
            assert_eq!(refused, Err(DerivedError::Cuts), "{from:?}");
        }
        assert_eq!(flags(&[1, 63]).check(6, Some(FORM)), Ok(()));
        assert_eq!(flags(&[1]).check(6, None), Err(DerivedError::NotCompact));
        assert_eq!(square.check(6, None), Err(DerivedError::NotCompact));
        assert_eq!(square.check(12, Some(FORM)), Ok(()));
        // 26 bits and 14 of headroom do not fit bodies of 40 bits.
        assert!(matches!(
            square.check(13, Some(FORM)),
            Err(DerivedError::Form(_))
        ));
        assert_eq!(
            square.check(21, Some(FORM)),
            Err(DerivedError::SquareBits(42))
        );
    }
}
