//! Compact forms of columns that a board derives from a column, which are only added up.

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding, Derivation};
use tfhe_sbc_core::parameters::Parameters;

use super::{CompactUse, Profile, SumRows, least_body_bits};
use crate::upload::UploadKind;

/// Returns the encoding of what is derived from a column of this encoding, with the shortest bodies with
/// which the sums of `2^headroom` rows are exact: of flags and of validity also the
/// differences of two sums, which bins and ranges are.
///
/// Headroom and rounding are those of the column. A column with no more headroom than
/// [`Profile::Alarms`], which is not made to be added up, has derived columns with those of
/// [`Profile::Means`]. With error feedback the rows are taken to be neighbours in up to
/// [`Profile::MEANS_UPLOADS`] uploads, otherwise they may be any rows. As with [`Profile::encoding`], the sums
/// are exact under a device's own key too where that is possible.
///
/// Returns `None` if the parameters do not carry such sums.
pub fn derived_encoding(
    parameters: &Parameters,
    column: &CompactEncoding,
    derivation: Derivation,
    kind: UploadKind,
) -> Option<CompactEncoding> {
    let (headroom, rounding) = match column.headroom() > Profile::Alarms.headroom() {
        true => (column.headroom(), column.rounding()),
        false => (Profile::Means.headroom(), Profile::Means.rounding()),
    };
    let sums = match derivation {
        Derivation::Square => 1,
        Derivation::From(_) | Derivation::Valid => 2,
    };
    // The difference of two independent sums has the noise of one of twice as many rows.
    let rows = 1u64.checked_shl(headroom)?.checked_mul(sums)?;
    let rows = match rounding {
        BodyRounding::Nearest => SumRows::Scattered { rows },
        BodyRounding::ErrorFeedback => SumRows::Neighbours {
            rows,
            uploads: Profile::MEANS_UPLOADS * sums,
        },
    };
    let bits = derivation.bits(column.bits());
    let usage = CompactUse {
        rounding,
        kind,
        ..CompactUse::sums(bits, headroom, rows)
    };
    let body_bits = [Some(parameters.device_switch()), None]
        .into_iter()
        .find_map(|device_switch| {
            let usage = CompactUse {
                device_switch,
                ..usage
            };
            least_body_bits(parameters, &usage)
        })?;
    CompactEncoding::new(bits, headroom, body_bits, rounding).ok()
}

/// Returns the largest width of codes from which this can be derived, with headroom and rounding of
/// `column`; `None` if there is none.
pub fn widest_with(
    parameters: &Parameters,
    column: &CompactEncoding,
    derivation: Derivation,
    kind: UploadKind,
) -> Option<u32> {
    (1..=column.bits()).rev().find(|&bits| {
        let (headroom, body_bits) = (column.headroom(), CompactEncoding::MAX_BODY_BITS);
        CompactEncoding::new(bits, headroom, body_bits, column.rounding())
            .is_ok_and(|narrow| derived_encoding(parameters, &narrow, derivation, kind).is_some())
    })
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

    use super::super::{CompactNoise, exact_sum_log2_p_fail};
    use super::*;
    use crate::upload::TARGET_LOG2_P_FAIL;

    const FLAG: Derivation = Derivation::From(1);

    fn parameters() -> Parameters {
        MESSAGE_2_CARRY_2.validate().unwrap()
    }

    fn derived(profile: Profile, bits: u32, derivation: Derivation) -> Option<CompactEncoding> {
        let column = profile.encoding(&parameters(), bits, UploadKind::Symmetric);
        derived_encoding(
            &parameters(),
            &column.unwrap(),
            derivation,
            UploadKind::Symmetric,
        )
    }

    /// One bit less, and a sum of the use would not meet the target.
    #[test]
    fn bodies_are_as_short_as_sums_permit() {
        for (profile, bits, derivation, runs) in [
            (Profile::Means, 10, Derivation::Square, 16),
            (Profile::Means, 10, FLAG, 32),
            (Profile::Fleet, 10, Derivation::Square, 1024),
            (Profile::Fleet, 10, FLAG, 2048),
            (Profile::Alarms, 10, FLAG, 32),
        ] {
            let encoding = derived(profile, bits, derivation).unwrap();
            let p_fail = |body_bits, is_switched| {
                let (h, rounding) = (encoding.headroom(), encoding.rounding());
                let encoding = CompactEncoding::new(encoding.bits(), h, body_bits, rounding);
                let encoding = encoding.ok()?;
                // Every run of neighbours has the roundings of its ends, and every row alone its own.
                let rows = match rounding {
                    BodyRounding::Nearest => SumRows::Scattered { rows: runs },
                    BodyRounding::ErrorFeedback => SumRows::Neighbours {
                        rows: 1 << 15,
                        uploads: runs,
                    },
                };
                let noise =
                    CompactNoise::sum(&parameters(), UploadKind::Symmetric, &encoding, rows);
                let noise = match is_switched {
                    true => noise.switched(&parameters(), parameters().device_switch()),
                    false => noise,
                };
                Some(exact_sum_log2_p_fail(encoding.plaintext_bits(), noise))
            };
            let name = format!("{profile} {derivation:?}");
            let body_bits = encoding.body_bits();
            // Under a device's own key too, if the longest body makes that possible.
            let longest = p_fail(CompactEncoding::MAX_BODY_BITS, true);
            let is_switched = longest.unwrap() <= TARGET_LOG2_P_FAIL;
            assert_eq!(
                is_switched,
                (profile, derivation) != (Profile::Means, Derivation::Square)
            );
            let p_fail = |body_bits| p_fail(body_bits, is_switched);
            assert!(p_fail(body_bits).unwrap() <= TARGET_LOG2_P_FAIL, "{name}");
            let less = p_fail(body_bits - 1);
            assert!(less.is_none_or(|p| p > TARGET_LOG2_P_FAIL), "{name}");
        }
    }

    #[test]
    fn headroom_is_that_of_the_column_and_alarms_have_that_of_means() {
        let form = |profile, derivation| {
            let encoding = derived(profile, 8, derivation).unwrap();
            (encoding.bits(), encoding.headroom(), encoding.rounding())
        };
        let means = |bits| (bits, 14, BodyRounding::ErrorFeedback);
        let fleet = |bits| (bits, 10, BodyRounding::Nearest);
        for (derivation, bits) in [(Derivation::Square, 16), (FLAG, 1)] {
            assert_eq!(form(Profile::Means, derivation), means(bits));
            assert_eq!(form(Profile::Alarms, derivation), means(bits));
            assert_eq!(form(Profile::Fleet, derivation), fleet(bits));
        }
    }

    #[test]
    fn what_the_noise_of_encryption_forbids_is_refused() {
        assert_eq!(derived(Profile::Means, 17, Derivation::Square), None);
        let column = Profile::Means.encoding(&parameters(), 17, UploadKind::Symmetric);
        let column = column.unwrap();
        let widest = |kind| widest_with(&parameters(), &column, Derivation::Square, kind).unwrap();
        let bits = widest(UploadKind::Symmetric);
        assert!(derived(Profile::Means, bits, Derivation::Square).is_some());
        assert!(derived(Profile::Means, bits + 1, Derivation::Square).is_none());
        // Codes of 12 bits, as many sensors have, are squared under a device key.
        assert_eq!(bits, 12);
        assert!(widest(UploadKind::PublicKey) <= bits);
    }
}
