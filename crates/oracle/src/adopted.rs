//! Parameter sets for the keys of other libraries. An imported key fixes its dimensions, noises
//! and decompositions; the upload bits, the failure probability and the security level follow from
//! them, as for sets of the search.

use tfhe_sbc_core::parameter_sets::published_like;
use tfhe_sbc_core::parameters::{ParameterError, ParameterName, ParameterSet, Parameters};
use thiserror::Error;

use crate::parameter_file::{name_suffix, worst_log2_p_fail};
use crate::prediction::Prediction;
use crate::search::KeyLevels;
use crate::upload::{TARGET_LOG2_P_FAIL, UploadBits};

/// The reason for which a set was not adopted.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NotAdopted {
    /// The security of the keys is not known.
    #[error("the security of keys of this shape is not known: use one of the library's usual sets")]
    UnknownSecurity,
    /// Uploads fail too often even with whole coefficients.
    #[error(
        "uploads under it would fail more often than results of its bootstraps do: use one of the library's usual sets"
    )]
    Uploads,
    /// The completed parameters are not a valid set.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
}

/// Returns the set with the fewest upload bits such that an upload fails at most as often as the
/// library states (or 2^-128, if it states less) or as results of its own bootstraps do by the
/// formulas here, whichever is more. The returned set states the resulting failure probability and
/// security level, and its name ends with its weaknesses. The fields `body_bits`,
/// `public_key_mask_bits` and `security_bits` of `stated` are ignored; `log2_p_fail` is the
/// library's statement. A set that is [published](tfhe_sbc_core::parameter_sets::PUBLISHED) keeps its name, and its figures were
/// found in the same way.
///
/// # Errors
/// If the security is not known, no number of upload bits is enough, or the result is not a valid
/// set.
pub fn adopt(stated: &Parameters) -> Result<Parameters, NotAdopted> {
    match published_like(stated.as_set()) {
        Some(published) => Ok(published.validate()?),
        None => judge(stated),
    }
}

/// Works the figures of [`adopt`] out.
fn judge(stated: &Parameters) -> Result<Parameters, NotAdopted> {
    let security_bits = KeyLevels::of_set(stated)
        .ok_or(NotAdopted::UnknownSecurity)?
        .bits();
    let outputs = Prediction::new(stated);
    let target = outputs
        .log2_p_fail
        .max(outputs.log2_p_fail_lopsided)
        .max(stated.log2_p_fail().ceil())
        .max(TARGET_LOG2_P_FAIL);
    let bits = UploadBits::fewest(stated, target).ok_or(NotAdopted::Uploads)?;
    let with_bits = ParameterSet {
        body_bits: bits.body,
        public_key_mask_bits: bits.public_key_mask,
        security_bits,
        ..*stated.as_set()
    };
    let log2_p_fail = worst_log2_p_fail(&with_bits.validate()?);
    let name = format!(
        "{}{}",
        stated.name(),
        name_suffix(security_bits, log2_p_fail)
    );
    let set = ParameterSet {
        name: ParameterName::from_text(&name).unwrap_or(stated.name()),
        log2_p_fail,
        ..with_bits
    };
    Ok(set.validate()?)
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets;

    use super::*;

    /// The sets of the search are adopted unchanged, whatever they state about themselves.
    #[test]
    fn adopting_a_shipped_set_changes_nothing_that_matters() {
        for shipped in [
            parameter_sets::MESSAGE_2_CARRY_2,
            parameter_sets::MESSAGE_1_CARRY_1,
            parameter_sets::MESSAGE_2_CARRY_2_P_FAIL_2M40,
        ] {
            let stated = ParameterSet {
                name: ParameterName::new("stated"),
                body_bits: 64,
                public_key_mask_bits: 64,
                security_bits: 0.0,
                ..shipped
            };
            let adopted = adopt(&stated.validate().unwrap()).unwrap();
            // The search kept to 2^-40; the adoption keeps to the set's own, rounded statement, which takes more bits.
            let other_body = adopted.body_bits().abs_diff(shipped.body_bits);
            let other_mask = adopted
                .public_key_mask_bits()
                .abs_diff(shipped.public_key_mask_bits);
            let other = other_body.max(other_mask);
            let looser = shipped.log2_p_fail > -100.0;
            assert!(other == 0 || looser, "{}", shipped.name);
            let better = shipped.log2_p_fail - adopted.log2_p_fail();
            assert!(
                (-0.2..if looser { 5.0 } else { 0.2 }).contains(&better),
                "{better}"
            );
            assert!((adopted.security_bits() - shipped.security_bits).abs() < 0.2);
            assert_eq!(adopted.name().as_str().contains("p_fail_2m"), looser);
        }
    }

    /// The figures of a published set are those of any other set, rounded on the safe side.
    #[test]
    fn published_sets_are_judged_like_others() {
        for published in parameter_sets::PUBLISHED {
            let stated = ParameterSet {
                name: ParameterName::new("stated"),
                body_bits: 64,
                public_key_mask_bits: 64,
                log2_p_fail: -128.0,
                security_bits: 0.0,
                ..published
            };
            let stated = stated.validate().unwrap();
            let judged = judge(&stated).unwrap();
            let rounded = ParameterSet {
                name: published.name,
                log2_p_fail: (judged.log2_p_fail() * 10.0).ceil() / 10.0,
                security_bits: (judged.security_bits() * 10.0).floor() / 10.0,
                ..*judged.as_set()
            };
            assert_eq!(rounded, published);
            assert_eq!(adopt(&stated).unwrap().as_set(), &published);
        }
    }
}
