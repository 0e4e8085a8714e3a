//! External products of numbers of so few bits that they are exact, against the definition.

use proptest::prelude::*;

use super::*;
use crate::parameters::PackedWidth;
use crate::torus::{Torus, exp2_neg};

const N: usize = 256;
/// The largest block, and the largest numbers of rows and outputs.
const MOST: [usize; 3] = if cfg!(miri) { [2, 2, 2] } else { [4, 5, 6] };

/// `acc += X^degree · polynomial`.
fn add_turned(acc: &mut [i128], polynomial: &[i128], degree: u32, sign: i128) {
    for (i, &x) in polynomial.iter().enumerate() {
        let to = (i + degree as usize) % (2 * N);
        acc[to % N] += if to < N { sign * x } else { -sign * x };
    }
}

fn schoolbook(a: &[i128], b: &[i128]) -> Vec<i128> {
    let mut out = vec![0; N];
    for (i, &a) in a.iter().enumerate().filter(|&(_, &a)| a != 0) {
        add_turned(
            &mut out,
            &b.iter().map(|b| a * b).collect::<Vec<_>>(),
            i as u32,
            1,
        );
    }
    out
}

/// The balanced digit of the closest representative, found from the least significant
/// level up.
fn digit<T: Torus>(x: T, base_log: u32, levels: usize, level: usize) -> i128 {
    let base = 1i128 << base_log;
    let mut rest = i128::from(x.round_to_bits(base_log * levels as u32));
    for _ in 0..level {
        let low = (rest + base / 2).rem_euclid(base) - base / 2;
        rest = (rest - low) / base;
    }
    (rest + base / 2).rem_euclid(base) - base / 2
}

/// A multiple of the unit to which products are rounded.
fn unit<T: Torus>() -> i128 {
    if T::BITS == 64 { 1 << 16 } else { 1 }
}

fn words(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (state >> 41)
    }
}

fn check<T: Torus>(isa: Isa, shape: ProductShape, turn: bool, base_log: u32, seed: u64) {
    let mut words = words(seed);
    let plan = ExternalProductPlan::new(
        PolynomialSize::new(N).expect("a polynomial size"),
        shape,
        isa,
    );
    let ProductShape {
        block_size,
        rows,
        outputs,
    } = shape;
    let exponents: Vec<u32> = (0..block_size)
        .map(|_| words() as u32 % (2 * N as u32))
        .collect();
    let acc: Vec<Vec<T>> = (0..outputs)
        .map(|_| (0..N).map(|_| T::from_i64(words() as i64)).collect())
        .collect();

    let mut digits = vec![0.0; rows * N];
    let mut exact_digits = Vec::new();
    for (row, out) in digits.chunks_exact_mut(N).enumerate() {
        let component = &acc[row % outputs];
        let (levels, level) = (2, row % 2);
        let place = DigitPlace::new(T::BITS, base_log, levels, level);
        plan.forward_digit(out, component, place, &[]);
        exact_digits.push(
            component
                .iter()
                .map(|&x| digit(x, base_log, levels, level))
                .collect::<Vec<_>>(),
        );
    }

    let mut key = vec![0.0; plan.key_len()];
    let mut expected = vec![vec![0; N]; outputs];
    for (bit, &exponent) in exponents.iter().enumerate() {
        for (row, digits) in exact_digits.iter().enumerate() {
            for (output, expected) in expected.iter_mut().enumerate() {
                let mut exact: Vec<i128> = (0..N)
                    .map(|_| i128::from(words() as i16) * unit::<T>())
                    .collect();
                if cfg!(miri) {
                    // The schoolbook is slow there: one coefficient in 16 stays.
                    let zeroed = exact.iter_mut().enumerate().filter(|(i, _)| i % 16 != 3);
                    zeroed.for_each(|(_, x)| *x = 0);
                }
                let mut polynomial: Vec<f64> = exact
                    .iter()
                    .map(|&x| x as f64 * plan.key_scale::<T>())
                    .collect();
                plan.place_key_polynomial(&mut key, (bit, row, output), &mut polynomial);
                let product = schoolbook(&exact, digits);
                if turn {
                    add_turned(expected, &product, exponent, 1);
                    add_turned(expected, &product, 0, -1);
                } else {
                    add_turned(expected, &product, 0, 1);
                }
            }
        }
    }

    let digits: Vec<&[f64]> = digits.chunks_exact(N).collect();
    let exponents = turn.then_some(&exponents[..]);
    let mut sums = vec![f64::NAN; outputs * N];
    // In two parts, as two threads would.
    let (first, rest) = sums.split_at_mut(outputs / 2 * N);
    let doubles = StepKey::Doubles(&key);
    let factors = exponents.map(|exponents| [exponents]);
    plan.multiply([rest], outputs / 2, [&digits], doubles, factors, &[]);
    plan.multiply([first], 0, [&digits], doubles, factors, &[]);
    check_sums(&plan, &acc, sums, &expected);
    let Some(exponents) = exponents else {
        return;
    };
    check_beside_another(&plan, &digits, doubles, exponents);
    for width in PackedWidth::ALL {
        if !plan.reads_packed_keys(width) {
            continue;
        }
        // The errors are far below one half.
        let end = plan.packed_key_len(width);
        let mut bytes = vec![0xa5; end + PackedKey::BEHIND];
        let mut units = vec![0.0; plan.shape().block_size];
        plan.pack_key(width, &key, &mut bytes[..end], &mut units);
        let packed = StepKey::Packed(PackedKey {
            width,
            bytes: &bytes,
            units: &units,
        });
        let mut sums = vec![f64::NAN; outputs * N];
        plan.multiply(
            [&mut sums[..]],
            0,
            [&digits],
            packed,
            Some([exponents]),
            &[],
        );
        check_sums(&plan, &acc, sums, &expected);
        check_beside_another(&plan, &digits, packed, exponents);
    }
}

/// The sums are those of the definition.
fn check_sums<T: Torus>(
    plan: &ExternalProductPlan,
    acc: &[Vec<T>],
    mut sums: Vec<f64>,
    expected: &[Vec<i128>],
) {
    for ((acc, sum), expected) in acc.iter().zip(sums.chunks_exact_mut(N)).zip(expected) {
        let expected: Vec<T> = acc
            .iter()
            .zip(expected)
            .map(|(x, &y)| x.add(T::from_i64(y as i64)))
            .collect();
        let mut acc = acc.clone();
        plan.inverse_add(&mut acc, sum, &[]);
        assert_eq!(
            acc,
            expected,
            "{} {:?}",
            plan.fft().isa().name(),
            plan.shape()
        );
    }
}

/// Two ciphertexts together have the sums that each has alone, bit for bit.
fn check_beside_another(
    plan: &ExternalProductPlan,
    digits: &[&[f64]],
    key: StepKey<'_>,
    exponents: &[u32],
) {
    if plan.ciphertexts_at_once() < 2 {
        return;
    }
    let others: Vec<&[f64]> = digits.iter().rev().copied().collect();
    let other_exponents: Vec<u32> = exponents
        .iter()
        .map(|a| (a + 77) % (2 * N as u32))
        .collect();
    let alone = [(digits, exponents), (&others, &other_exponents)].map(|(digits, exponents)| {
        let mut sums = vec![f64::NAN; plan.shape().outputs * N];
        plan.multiply([&mut sums[..]], 0, [digits], key, Some([exponents]), &[]);
        sums
    });
    let mut together = alone.each_ref().map(|sums| vec![f64::NAN; sums.len()]);
    plan.multiply(
        together.each_mut().map(Vec::as_mut_slice),
        0,
        [digits, &others],
        key,
        Some([exponents, &other_exponents]),
        &[],
    );
    let bits = |sums: &[Vec<f64>; 2]| {
        sums.each_ref()
            .map(|sums| sums.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
    };
    assert_eq!(bits(&together), bits(&alone), "{:?}", plan.shape());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 12 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn products_are_the_definition_s(
        block_size in 1..=MOST[0],
        rows in 1..=MOST[1],
        outputs in 1..=MOST[2],
        turn in any::<bool>(),
        base_log in 1u32..=8,
        seed in any::<u64>(),
    ) {
        let block_size = if turn { block_size } else { 1 };
        let shape = ProductShape { block_size, rows, outputs };
        for isa in Isa::available() {
            check::<u32>(isa, shape, turn, base_log, seed);
            check::<u64>(isa, shape, turn, base_log, seed);
        }
    }
}

/// The shapes of the shipped sets, of which the first has bundles, and a block that is too small for them.
#[test]
fn products_of_shipped_shapes_are_the_definition_s() {
    for (block_size, rows) in [(5, 2), (5, 4), (3, 2), (2, 2)] {
        let block_size = if cfg!(miri) { 3 } else { block_size };
        let shape = ProductShape {
            block_size,
            rows,
            outputs: rows,
        };
        assert_eq!(shape.bundles(), rows == 2 && block_size > 2);
        for isa in Isa::available() {
            check::<u32>(isa, shape, true, 5, 1);
            check::<u64>(isa, shape, true, 5, 2);
        }
    }
}

/// The factor `X^a - 1` at every size, where nodes are few and many.
#[test]
fn monomials_turn_at_every_size() {
    for isa in Isa::available() {
        for log_size in 8..=if cfg!(miri) { 8 } else { 14 } {
            let n = 1usize << log_size;
            let shape = ProductShape {
                block_size: 1,
                rows: 1,
                outputs: 1,
            };
            let plan = ExternalProductPlan::new(PolynomialSize::new(n).unwrap(), shape, isa);
            for exponent in [0, 1, n / 2 + 3, n, n + 77, 2 * n - 1] {
                let mut one = vec![0.0; n];
                one[0] = plan.key_scale::<u64>() * unit::<u64>() as f64;
                let mut key = vec![0.0; n];
                plan.place_key_polynomial(&mut key, (0, 0, 0), &mut one);
                let before: Vec<u64> = (0..n as u64).map(|i| (i + 1) << 48).collect();
                let mut digit = vec![0.0; n];
                plan.forward_digit(&mut digit, &before, DigitPlace::new(64, 16, 1, 0), &[]);
                let mut sum = vec![0.0; n];
                let (key, exponents) = (StepKey::Doubles(&key), [exponent as u32]);
                let exponents = Some([&exponents[..]]);
                plan.multiply([&mut sum[..]], 0, [&[&digit]], key, exponents, &[]);
                let mut acc = vec![0u64; n];
                plan.inverse_add(&mut acc, &mut sum, &[]);
                for (i, &x) in before.iter().enumerate() {
                    let digit = (x as i64) >> 48;
                    let to = (i + exponent) % (2 * n);
                    let digit = digit * unit::<u64>() as i64;
                    let turned = if to < n { digit } else { -digit };
                    acc[to % n] = acc[to % n].wrapping_sub(turned as u64);
                    acc[i] = acc[i].wrapping_add(digit as u64);
                }
                assert!(acc.iter().all(|&x| x == 0), "{} {n} {exponent}", isa.name());
            }
        }
    }
}

/// Numbers of turns: uniform ones, the ends of their range, and numbers halfway between two that digits of these bits represent.
fn turns(bits: u32, seed: u64) -> Vec<f64> {
    let mut words = words(seed);
    (0..N)
        .map(|i| match i {
            0 => 0.5,
            1 => -0.5,
            2..16 => {
                ((words() as i64 >> 32) as f64 + 0.5).rem_euclid(exp2(bits)) / exp2(bits) - 0.5
            }
            _ => words() as i64 as f64 / exp2(64),
        })
        .collect()
}

fn exp2(bits: u32) -> f64 {
    1.0 / exp2_neg(bits)
}

fn distance_mod_1(x: f64, y: f64) -> f64 {
    let difference = x - y;
    (difference - difference.round()).abs()
}

fn plan_of_one(isa: Isa) -> ExternalProductPlan {
    let shape = ProductShape {
        block_size: 1,
        rows: 1,
        outputs: 1,
    };
    ExternalProductPlan::new(
        PolynomialSize::new(N).expect("a polynomial size"),
        shape,
        isa,
    )
}

/// Digits of numbers of turns are balanced integers, and add up to the nearest number that they can represent, whether a key is
/// requested meanwhile or not.
#[test]
fn digits_of_turns_add_up_to_them() {
    for isa in Isa::available() {
        let plan = plan_of_one(isa);
        for (base_log, levels) in [
            (1, 1),
            (8, 1),
            (23, 1),
            (32, 1),
            (1, 12),
            (7, 3),
            (15, 2),
            (13, 4),
        ] {
            let kept = base_log * levels as u32;
            let input = turns(kept, u64::from(base_log));
            let mut represented = vec![0.0; N];
            for level in 0..levels {
                let place = DigitPlace::new(64, base_log, levels, level);
                let mut digits = vec![0.0; N];
                plan.forward_digit(&mut digits, &input, place, &[]);
                let mut again = vec![0.0; N];
                plan.forward_digit(&mut again, &input, place, &[0; 1000]);
                assert_eq!(digits, again);
                plan.fft().inverse(&mut digits);
                for (digit, sum) in digits.iter().zip(&mut represented) {
                    let digit = digit / (N / 2) as f64;
                    assert!((digit - digit.round()).abs() < 1e-4, "{digit}");
                    assert!(digit.round().abs() <= exp2(base_log - 1), "{digit}");
                    *sum += digit.round() * exp2(base_log * level as u32) / exp2(kept);
                }
            }
            for (x, sum) in input.iter().zip(&represented) {
                let error = distance_mod_1(*x, *sum);
                let half = 0.5 / exp2(kept);
                assert!(
                    error <= half + 1e-16,
                    "{} {base_log} {levels} {x} {sum}",
                    isa.name()
                );
            }
        }
    }
}

/// Sums are added to numbers of turns mod 1, whether a key is requested meanwhile or not.
#[test]
fn sums_are_added_to_turns() {
    for isa in Isa::available() {
        let plan = plan_of_one(isa);
        let before = turns(20, 3);
        // Thousands of turns with 30 bits below.
        let mut words = words(5);
        let added: Vec<f64> = (0..N)
            .map(|_| (words() as i64 >> 21) as f64 / exp2(30))
            .collect();
        let mut sum: Vec<f64> = added.iter().map(|x| x / (N / 2) as f64).collect();
        plan.fft().forward(&mut sum);
        let mut again = (before.clone(), sum.clone());
        let mut after = before.clone();
        plan.inverse_add(&mut after, &mut sum, &[]);
        plan.inverse_add(&mut again.0, &mut again.1, &[0; 1000]);
        assert_eq!(after, again.0);
        for ((x, y), after) in before.iter().zip(&added).zip(after) {
            assert!(after.abs() <= 0.5 + 1e-9, "{after}");
            let error = distance_mod_1(x + y, after);
            assert!(error < 1e-9, "{} {x} {y} {after}", isa.name());
        }
    }
}
