//! The noise of compact values and the plans of lookups on them, against the table of the design.

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::Decomposition;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_oracle::compact::{
    CompactNoise, CompactUse, SumRows, digit_failures, digit_plan, exact_sum_log2_p_fail,
    least_body_bits, sign_chunks, sign_failures,
};
use tfhe_sbc_oracle::noise_budget::{NoiseBudget, PbsParameters};
use tfhe_sbc_oracle::upload::UploadKind;

fn set() -> Parameters {
    MESSAGE_2_CARRY_2.validate().unwrap()
}

fn encoding(bits: u32, headroom: u32, body_bits: u32) -> CompactEncoding {
    CompactEncoding::new(bits, headroom, body_bits, BodyRounding::Nearest).unwrap()
}

/// The noise of `x - t` for a clear `t`, where it is looked up.
fn difference(bits: u32, headroom: u32, body_bits: u32) -> CompactNoise {
    let encoding = encoding(bits, headroom, body_bits);
    CompactNoise::upload(&set(), UploadKind::Symmetric, &encoding)
        .times(f64::exp2(f64::from(headroom) - 1.0))
}

#[test]
fn comparisons_take_the_bootstraps_of_the_table() {
    for (bits, more, chunks) in [
        (8, 5, &[5, 4][..]),
        (10, 5, &[5, 4, 2]),
        (12, 5, &[5, 4, 4]),
        (14, 5, &[5, 4, 4, 2]),
        (16, 5, &[5, 4, 4, 4]),
        (32, 5, &[5, 4, 4, 4, 4, 4, 4, 4]),
        // A coarse rounding leaves room for a first chunk of 4 only.
        (8, 1, &[4, 4, 1]),
        (10, 1, &[4, 4, 3]),
        (12, 1, &[4, 4, 4, 1]),
        (14, 1, &[4, 4, 4, 3]),
        (16, 1, &[4, 4, 4, 4, 1]),
    ] {
        for headroom in [1, 4, 10] {
            let noise = difference(bits, headroom, bits + headroom + more);
            let found = sign_chunks(&set(), bits + 1, noise);
            assert_eq!(
                found.as_deref(),
                Some(chunks),
                "{bits} + {headroom} + {more}"
            );
            let failures = sign_failures(&set(), chunks, noise).unwrap();
            assert!(failures.iter().all(|failure| failure.meets(-128.0)));
            // A longer first chunk fails.
            let mut longer = chunks.to_vec();
            longer[0] += 1;
            longer[1] -= 1;
            let failures = sign_failures(&set(), &longer, noise).unwrap();
            assert!(!failures[0].meets(-128.0));
        }
    }
    // Fewer bits of the body than that leave shorter first chunks.
    let found = sign_chunks(&set(), 13, difference(12, 1, 16)).unwrap();
    assert_eq!(found[0], 4);
}

/// The failure probabilities of the table of the longest chunks.
#[test]
fn lookups_fail_as_in_the_table() {
    let worst = |bits, headroom, body, chunks: &[u32], at: usize| {
        let noise = difference(bits, headroom, body);
        let failure = sign_failures(&set(), chunks, noise).unwrap()[at];
        failure.log2_p_fail.max(failure.log2_p_fail_lopsided)
    };
    let near = |found: f64, stated: f64| {
        assert!((found - stated).abs() < 1.0, "2^{found} is not 2^{stated}");
    };
    near(worst(12, 1, 18, &[5, 4, 4], 0), -140.1);
    near(worst(12, 10, 30, &[5, 4, 4], 2), -145.6);
}

fn upload(bits: u32, headroom: u32, body_bits: u32) -> CompactNoise {
    let encoding = encoding(bits, headroom, body_bits);
    CompactNoise::upload(&set(), UploadKind::Symmetric, &encoding)
}

#[test]
fn digits_take_the_bootstraps_of_the_table() {
    for (bits, bootstraps, chunks) in [
        (8, 5, &[4, 3, 1][..]),
        (10, 6, &[4, 3, 3]),
        (12, 7, &[4, 3, 3, 2]),
        (14, 9, &[4, 3, 3, 3, 1]),
        (16, 10, &[4, 3, 3, 3, 3]),
        (32, 21, &[4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1]),
    ] {
        for headroom in [1, 4, 10] {
            let noise = upload(bits, headroom, bits + headroom + 3);
            let plan = digit_plan(&set(), bits, headroom, noise).unwrap();
            assert_eq!(plan.lookups().len(), bootstraps, "{bits} + {headroom}");
            assert_eq!(plan.chunks(), chunks);
            let failures = digit_failures(&set(), &plan, noise);
            assert!(failures.iter().all(|failure| failure.meets(-128.0)));
            // The bits that are subtracted from the rest of a chunk, with factors of 8 and 16, are a
            // small part of the noise.
            let pbs = NoiseBudget::new(&PbsParameters::from(&set())).pbs;
            let (rest, failure) = (&plan.lookups()[1], failures[1]);
            assert_eq!(rest.norm_squared(), 64.0);
            assert!(pbs.0 * rest.norm_squared() < 0.03 * failure.total.0);
        }
        // Two bits less of the body, and the first chunk must be shorter.
        let noise = upload(bits, 1, bits + 2);
        assert!(digit_plan(&set(), bits, 1, noise).unwrap().chunks()[0] < 4);
    }
    // No headroom: the last two bits take two lookups.
    let plan = digit_plan(&set(), 12, 0, upload(12, 0, 15)).unwrap();
    assert_eq!(plan.lookups().len(), 8);
}

#[test]
fn exact_sums_need_the_bits_of_the_table() {
    for (bits, row) in [
        (8, [Some(9), Some(20), Some(26), Some(32), Some(41)]),
        (10, [Some(11), Some(22), Some(28), Some(34), Some(43)]),
        (12, [Some(13), Some(24), Some(30), Some(36), Some(45)]),
        (14, [Some(15), Some(26), Some(32), Some(38), Some(48)]),
        (16, [Some(17), Some(28), Some(34), Some(40), None]),
    ] {
        for (headroom, expected) in [0, 6, 10, 14, 20].into_iter().zip(row) {
            let rows = SumRows::Scattered {
                rows: 1 << headroom,
            };
            let found = least_body_bits(&set(), &CompactUse::sums(bits, headroom, rows));
            assert_eq!(found, expected, "{bits} + {headroom}");
        }
    }
}

#[test]
fn feedback_leaves_two_roundings_in_a_sum_of_neighbours() {
    let needed = |headroom, rows, uploads, rounding| {
        let neighbours = SumRows::Neighbours { rows, uploads };
        let usage = CompactUse {
            rounding,
            ..CompactUse::sums(12, headroom, neighbours)
        };
        least_body_bits(&set(), &usage)
    };
    assert_eq!(needed(13, 8192, 1, BodyRounding::ErrorFeedback), Some(27));
    assert_eq!(needed(14, 8760, 5, BodyRounding::ErrorFeedback), Some(30));
    // Without feedback, or with rows of as many uploads, every row has its own.
    let scattered = CompactUse::sums(12, 13, SumRows::Scattered { rows: 8192 });
    assert_eq!(
        needed(13, 8192, 1, BodyRounding::Nearest),
        least_body_bits(&set(), &scattered)
    );
    let encoding = CompactEncoding::new(12, 1, 18, BodyRounding::ErrorFeedback).unwrap();
    let fed_back = CompactNoise::upload(&set(), UploadKind::Symmetric, &encoding);
    let ratio = fed_back.variance().0 / upload(12, 1, 18).variance().0;
    assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");
}

#[test]
fn profiles_need_the_bits_of_the_design() {
    let alarms = CompactUse {
        comparison_bootstraps: Some(3),
        ..CompactUse::sums(12, 1, SumRows::Scattered { rows: 1 })
    };
    let least = |usage: CompactUse| least_body_bits(&set(), &usage);
    assert_eq!(least(alarms), Some(17));
    let fewer = CompactUse {
        comparison_bootstraps: Some(4),
        ..alarms
    };
    assert_eq!(least(fewer), Some(14));
    // The difference of two fresh roundings.
    let encrypted = CompactUse {
        encrypted_thresholds: true,
        ..alarms
    };
    assert_eq!(least(encrypted), Some(18));
    let digits = CompactUse {
        comparison_bootstraps: None,
        digit_bootstraps: Some(7),
        ..alarms
    };
    assert_eq!(least(digits), Some(15));
    let impossible = CompactUse {
        digit_bootstraps: Some(6),
        ..digits
    };
    assert_eq!(least(impossible), None);
    let boards = CompactUse {
        comparison_bootstraps: Some(3),
        ..CompactUse::sums(12, 10, SumRows::Scattered { rows: 1024 })
    };
    assert_eq!(least(boards), Some(30));
    // No bit for the sign of a difference.
    let no_headroom = CompactUse {
        comparison_bootstraps: Some(40),
        ..CompactUse::sums(12, 0, SumRows::Scattered { rows: 1 })
    };
    assert_eq!(least(no_headroom), None);
}

#[test]
fn device_switches_and_public_keys_add_their_noise() {
    let rows = SumRows::Scattered { rows: 16 };
    let switched = |headroom, decomposition| {
        let usage = CompactUse {
            device_switch: Some(decomposition),
            ..CompactUse::sums(12, headroom, rows)
        };
        least_body_bits(&set(), &usage)
    };
    let two_digits = Decomposition::new(12, 2);
    assert!(switched(4, two_digits).is_some());
    assert_eq!(switched(6, two_digits), None);
    assert!(switched(10, Decomposition::new(12, 3)).is_some());

    let encoding = encoding(12, 10, 34);
    let noise = |rows| {
        CompactNoise::sum(
            &set(),
            UploadKind::PublicKey,
            &encoding,
            SumRows::Scattered { rows },
        )
    };
    let one = CompactNoise::upload(&set(), UploadKind::PublicKey, &encoding);
    assert_eq!(noise(1), one);
    // The mask's rounding to 6 bits more has a quarter of the variance of the body's.
    let ratio = one.gaussian.0 / one.rounding.variance().0;
    assert!((0.25..0.26).contains(&ratio), "{ratio}");
    // The same error times the sum of many coefficients of the key.
    let of_keys = (noise(1000).gaussian.0 / one.gaussian.0) / (1000.0 * 1001.0 / 2.0);
    assert!((of_keys - 1.0).abs() < 1e-6, "{of_keys}");
    let public = exact_sum_log2_p_fail(22, noise(1000));
    let symmetric = CompactNoise::sum(
        &set(),
        UploadKind::Symmetric,
        &encoding,
        SumRows::Scattered { rows: 1000 },
    );
    assert!(public > exact_sum_log2_p_fail(22, symmetric));
}
