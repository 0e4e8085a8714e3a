//! The plans of extremes of groups: computed on exact phases, and with as few lookups as documented.

use tfhe_sbc_core::encoding::chunks::ExtremePlan;
use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::parameter_sets::{MESSAGE_1_CARRY_1, MESSAGE_2_CARRY_2, MESSAGE_3_CARRY_3};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_oracle::compact::{
    CompactNoise, Extreme, Profile, digit_plan, extreme_failures, extreme_plan,
};
use tfhe_sbc_oracle::upload::UploadKind;

const HEADROOM: u32 = 14;

/// The noise of a column with error feedback whose bodies have `more` bits below the codes.
fn noise(parameters: &Parameters, bits: u32, headroom: u32, more: u32) -> CompactNoise {
    let body_bits = bits + headroom + more;
    let encoding =
        CompactEncoding::new(bits, headroom, body_bits, BodyRounding::ErrorFeedback).unwrap();
    CompactNoise::upload(parameters, UploadKind::Symmetric, &encoding)
}

fn set() -> Parameters {
    MESSAGE_2_CARRY_2.validate().unwrap()
}

fn plan(bits: u32, extreme: Extreme, rows_log2: u32) -> Option<ExtremePlan> {
    let noise = noise(&set(), bits, HEADROOM, 8);
    let plan = extreme_plan(&set(), (bits, HEADROOM), noise, (extreme, rows_log2))?;
    let failures = extreme_failures(&set(), &plan, noise);
    assert!(failures.iter().all(|failure| failure.meets(-128.0)));
    Some(plan)
}

/// The number that a plan takes to digits, with exact phases, each moved by `noise` of its room: -1, 0 or 1.
fn looked_up(plan: &ExtremePlan, codes: &[u64], noise: i64) -> u64 {
    let encoding = set().block_encoding();
    let unit_log2 = HEADROOM + plan.digits().bits();
    let mut results: Vec<Vec<u64>> = Vec::new();
    for lookup in plan.lookups() {
        let values = lookup.values.iter().zip(codes);
        let values =
            values.map(|(factor, code)| (code << (64 - unit_log2)).wrapping_mul(*factor as u64));
        let phase = values.fold(lookup.half_width, u64::wrapping_add);
        let phase = lookup.results.iter().fold(phase, |phase, result| {
            let of = results[result.lookup][result.function];
            phase.wrapping_add(of.wrapping_mul(result.factor as u64))
        });
        let moved = noise.wrapping_mul(lookup.half_width as i64 - 1) as u64;
        results.push(lookup.results_of(phase.wrapping_add(moved)).collect());
    }
    let mut digits = vec![0u64; plan.digits().digit_count()];
    let of_digits = &results[plan.first_of_digits()..];
    for (lookup, results) in plan.digits().lookups().iter().zip(of_digits) {
        for (output, result) in lookup.outputs.iter().zip(results) {
            digits[output.digit] = digits[output.digit].wrapping_add(*result);
        }
    }
    let message_bits = encoding.message_bits();
    let digits = digits.iter().zip(0..).map(|(&digit, at)| {
        let decoded = encoding.decode(digit);
        assert_eq!(encoding.encode::<u64>(decoded as i64), digit);
        decoded << (at * message_bits)
    });
    digits.sum()
}

fn expected(extreme: Extreme, codes: &[u64]) -> u64 {
    let found = match extreme {
        Extreme::Largest => codes.iter().max(),
        Extreme::Smallest => codes.iter().min(),
    };
    *found.unwrap()
}

fn check(plan: &ExtremePlan, extreme: Extreme, codes: &[u64]) {
    for noise in [-1, 0, 1] {
        let found = looked_up(plan, codes, noise);
        assert_eq!(found, expected(extreme, codes), "{codes:?} {noise}");
    }
}

#[test]
fn all_pairs_of_short_numbers_are_right() {
    for bits in 1..=6 {
        for extreme in [Extreme::Largest, Extreme::Smallest] {
            let plan = plan(bits, extreme, 1).unwrap();
            for a in 0..1 << bits {
                for b in 0..1 << bits {
                    check(&plan, extreme, &[a, b]);
                }
            }
        }
    }
}

#[test]
fn groups_have_their_largest_and_smallest() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for bits in 2..=16 {
        for (extreme, rows_log2) in [
            (Extreme::Largest, 1),
            (Extreme::Smallest, 1),
            (Extreme::Largest, 2),
            (Extreme::Smallest, 2),
            (Extreme::Largest, 3),
            (Extreme::Smallest, 3),
        ] {
            let Some(plan) = plan(bits, extreme, rows_log2) else {
                assert!(rows_log2 > 1, "no plan for pairs of {bits} bits");
                continue;
            };
            let mask = (1 << bits) - 1;
            for _ in 0..300 {
                let near = random() & mask;
                let mut code = || match random() % 8 {
                    0 => 0,
                    1 => mask,
                    2 => mask >> 1,
                    3 => (mask >> 1) + 1,
                    4 => near,
                    5 => (near + 1) & mask,
                    _ => random() & mask,
                };
                let codes: Vec<u64> = (0..1 << rows_log2).map(|_| code()).collect();
                check(&plan, extreme, &codes);
            }
        }
    }
}

/// The lookups of groups of 2, 4 and 8 rows of this many bits, and of the digits of a row.
#[test]
fn plans_have_few_lookups() {
    for (set, bits, headroom, digits, expected) in [
        (MESSAGE_2_CARRY_2, 4, 14, 2, [Some(3), Some(5), Some(9)]),
        (MESSAGE_2_CARRY_2, 8, 14, 5, [Some(10), Some(23), Some(47)]),
        (MESSAGE_2_CARRY_2, 10, 14, 6, [Some(13), Some(27), Some(55)]),
        (MESSAGE_2_CARRY_2, 10, 2, 6, [Some(13), Some(27), None]),
        (MESSAGE_2_CARRY_2, 10, 1, 6, [Some(13), None, None]),
        (MESSAGE_2_CARRY_2, 12, 14, 7, [Some(15), Some(31), Some(64)]),
        (
            MESSAGE_2_CARRY_2,
            16,
            14,
            10,
            [Some(24), Some(55), Some(117)],
        ),
        (MESSAGE_2_CARRY_2, 20, 14, 13, [None, None, None]),
        (MESSAGE_3_CARRY_3, 10, 14, 4, [Some(9), Some(19), Some(39)]),
        (MESSAGE_3_CARRY_3, 16, 14, 7, [Some(14), Some(31), Some(63)]),
        (MESSAGE_1_CARRY_1, 10, 14, 10, [None, None, None]),
    ] {
        let parameters = set.validate().unwrap();
        let noise = noise(&parameters, bits, headroom, 8);
        let found = digit_plan(&parameters, bits, headroom, noise).unwrap();
        assert_eq!(found.lookups().len(), digits);
        let found = [1, 2, 3].map(|rows_log2| {
            let widths = (bits, headroom);
            let plan = extreme_plan(&parameters, widths, noise, (Extreme::Largest, rows_log2));
            plan.map(|plan| plan.lookups().len())
        });
        assert_eq!(found, expected, "{bits} + {headroom}");
    }
}

/// Columns that are made for means have as many bits as those need, and not more.
#[test]
fn columns_for_means_are_compared_in_eights() {
    for (bits, expected) in [(8, 47), (10, 55), (12, 64)] {
        let kind = UploadKind::Symmetric;
        let encoding = Profile::Means.encoding(&set(), bits, kind).unwrap();
        let noise = CompactNoise::upload(&set(), kind, &encoding);
        let found = [1, 2, 3].map(|rows_log2| {
            let widths = (bits, encoding.headroom());
            let plan = extreme_plan(&set(), widths, noise, (Extreme::Largest, rows_log2));
            plan.map(|plan| plan.lookups().len())
        });
        assert_eq!(found[2], Some(expected), "{bits}");
    }
}
