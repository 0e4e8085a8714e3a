//! The noise of compact values and the plans of lookups on them, against the table of the design.

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_oracle::compact::{CompactNoise, sign_chunks, sign_failures};
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
        // A rounding that leaves room for a first chunk of 4 takes a sixteenth of the room of the
        // second.
        (8, 1, &[4, 3, 2]),
        (10, 1, &[4, 3, 4]),
        (12, 1, &[4, 3, 4, 2]),
        (14, 1, &[4, 3, 4, 4]),
        (16, 1, &[4, 3, 4, 4, 2]),
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
    let found = sign_chunks(&set(), 13, difference(12, 1, 17)).unwrap();
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
    near(worst(12, 1, 18, &[5, 4, 4], 0), -130.5);
    near(worst(12, 10, 30, &[5, 4, 4], 2), -136.0);
}
