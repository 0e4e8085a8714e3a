//! Every kernel on every instruction set of this processor against a scalar
//! reference that is too simple to be wrong.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::torus::exp2_neg;

/// Odd on purpose: whole vectors and a remainder on every instruction set.
const ODD_LEN: usize = 77;
const SIZE: usize = 256;

/// `X^degree * poly`, one coefficient at a time.
fn rotated<T: Torus>(poly: &[T], degree: usize) -> Vec<T> {
    let n = poly.len();
    let mut out = vec![T::ZERO; n];
    for (i, &x) in poly.iter().enumerate() {
        let position = (i + degree) % (2 * n);
        out[position % n] = if position < n { x } else { x.neg() };
    }
    out
}

fn exact_rounding(x: f64) -> i128 {
    // Doubles this large are multiples of 2^64.
    if x.abs() >= 2f64.powi(120) {
        return 0;
    }
    x.round_ties_even() as i128
}

fn check_rotation<T: Torus>(poly: &[T], degree: usize) {
    for isa in Isa::available() {
        let mut out = vec![T::ZERO; poly.len()];
        rotate_into(isa, &mut out, poly, degree);
        assert_eq!(out, rotated(poly, degree), "{} {degree}", isa.name());
    }
}

/// Every digit, from the least significant up, of the closest multiple.
#[inline(always)]
fn check_digits<S: Simd>(simd: S, isa: Isa, wide: &[u64], base_log: u32, levels: [usize; 2]) {
    let narrow: Vec<u32> = wide.iter().map(|&x| (x >> 32) as u32).collect();
    let half = 1i128 << (base_log - 1);
    let take = |rest: &mut Vec<i128>| -> Vec<f64> {
        let digits = rest.iter_mut().map(|rest| {
            let digit = (*rest + half).rem_euclid(2 * half) - half;
            *rest = (*rest - digit) >> base_log;
            digit as f64
        });
        digits.collect()
    };
    let rounded = |bits: u32, x: u64| i128::from(x.round_to_bits(bits));
    let mut chunk = S::Chunk::default();
    let [wide_levels, narrow_levels] = levels;
    let kept = base_log * wide_levels as u32;
    let mut rest = wide.iter().map(|&x| rounded(kept, x)).collect();
    for level in 0..wide_levels {
        let place = DigitPlace::new(64, base_log, wide_levels, level);
        let expected = take(&mut rest);
        for (x, expected) in wide.chunks_exact(S::LANES).zip(expected.chunks(S::LANES)) {
            simd.store(&mut chunk, simd.load_digit_u64(x, place));
            assert_eq!(chunk.as_ref(), expected, "{} {place:?}", isa.name());
        }
    }
    let kept = base_log * narrow_levels as u32;
    let mut rest = narrow
        .iter()
        .map(|x| i128::from(x.round_to_bits(kept)))
        .collect();
    for level in 0..narrow_levels {
        let place = DigitPlace::new(32, base_log, narrow_levels, level);
        let expected = take(&mut rest);
        for (x, expected) in narrow.chunks_exact(S::LANES).zip(expected.chunks(S::LANES)) {
            simd.store(&mut chunk, simd.load_digit_u32(x, place));
            assert_eq!(chunk.as_ref(), expected, "{} {place:?}", isa.name());
        }
    }
}

fn check_conversions<T: Torus>(input: &[T]) {
    for isa in Isa::available() {
        let mut out = vec![0.0; input.len()];
        torus_to_f64(isa, &mut out, input);
        for (&x, &y) in input.iter().zip(&out) {
            assert_eq!(x.to_i64() as f64, y, "{}", isa.name());
        }
    }
}

fn check_all_turns(acc: &[u64], doubles: &[f64]) {
    for isa in Isa::available() {
        dispatch!(isa, |simd| check_turns(simd, isa, acc, doubles));
    }
}

#[inline(always)]
fn check_turns<S: Simd>(simd: S, isa: Isa, acc: &[u64], doubles: &[f64]) {
    let chunks = S::chunks(doubles).iter().zip(acc.chunks_exact(S::LANES));
    for (chunk, acc) in chunks {
        let x = simd.load(chunk);
        let mut wide = acc.to_vec();
        simd.add_turns_u64(&mut wide, simd.mul(x, simd.splat(exp2_neg(64))));
        let mut narrow: Vec<u32> = acc.iter().map(|&x| x as u32).collect();
        simd.add_turns_u32(&mut narrow, simd.mul(x, simd.splat(exp2_neg(32))));
        for (i, &x) in chunk.as_ref().iter().enumerate() {
            let sum = acc[i].wrapping_add(exact_rounding(x) as u64);
            if x.abs() < 2f64.powi(64 + 51) {
                let error = wide[i].wrapping_sub(sum) as i64;
                assert!(error.abs() <= 1 << 12, "{} {x:e}: {error}", isa.name());
            }
            if x.abs() < 2f64.powi(32 + 51) {
                assert_eq!(narrow[i], sum as u32, "{} {x:e}", isa.name());
            }
        }
    }
}

/// The signed parts of scalars, vector by vector.
#[inline(always)]
fn check_parts<S: Simd>(simd: S, isa: Isa, wide: &[u64], narrow: &[u32]) {
    let (mut low, mut high) = (S::Chunk::default(), S::Chunk::default());
    for wide in wide.chunks_exact(S::LANES) {
        simd.store(&mut low, simd.load_low_half(wide));
        simd.store(&mut high, simd.load_high_half(wide));
        for (&x, (&low, &high)) in wide.iter().zip(low.as_ref().iter().zip(high.as_ref())) {
            assert_eq!(low, f64::from(x as i32), "{}", isa.name());
            let range = -(2f64.powi(31))..2f64.powi(31);
            assert!(range.contains(&high), "{}", isa.name());
            let sum = (low as i64).wrapping_add((high as i64) << 32);
            assert_eq!(sum as u64, x, "{}", isa.name());
        }
    }
    for narrow in narrow.chunks_exact(S::LANES) {
        simd.store(&mut low, simd.load_signed(narrow));
        for (&x, &y) in narrow.iter().zip(low.as_ref()) {
            assert_eq!(f64::from(x as i32), y, "{}", isa.name());
        }
    }
}

#[inline(always)]
fn check_small_sums<S: Simd>(simd: S, isa: Isa, acc: &[u64], doubles: &[f64]) {
    let chunks = S::chunks(doubles).iter().zip(acc.chunks_exact(S::LANES));
    for (chunk, acc) in chunks {
        let x = simd.load(chunk);
        let mut wide = acc.to_vec();
        simd.add_small_u64(&mut wide, x);
        let mut high = acc.to_vec();
        simd.add_small_high(&mut high, x);
        let mut narrow: Vec<u32> = acc.iter().map(|&x| x as u32).collect();
        simd.add_small_u32(&mut narrow, x);
        for (i, &x) in chunk.as_ref().iter().enumerate() {
            let sum = acc[i].wrapping_add(exact_rounding(x) as u64);
            assert_eq!(wide[i], sum, "{} {x}", isa.name());
            assert_eq!(narrow[i], sum as u32, "{} {x}", isa.name());
            let sum = acc[i].wrapping_add((exact_rounding(x) as u64) << 32);
            assert_eq!(high[i], sum, "{} {x}", isa.name());
        }
    }
}

/// Finite doubles of every magnitude below 2^120, and halves.
fn doubles() -> impl Strategy<Value = f64> {
    prop_oneof![
        (any::<i64>(), -70i32..56).prop_map(|(m, e)| m as f64 * 2f64.powi(e)),
        any::<i32>().prop_map(|x| f64::from(x) + 0.5),
        any::<i64>().prop_map(|x| x as f64),
    ]
}

fn close(a: &[f64], b: &[f64], isa: Isa) {
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-12, "{}: {a} {b}", isa.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 48 }))]

    #[test]
    fn rotations(
        wide in vec(any::<u64>(), SIZE),
        narrow in vec(any::<u32>(), SIZE),
        degree in 0..2 * SIZE,
    ) {
        check_rotation(&wide, degree);
        check_rotation(&narrow, degree);
    }

    #[test]
    fn digits(
        wide in vec(any::<u64>(), SIZE),
        base_log in 1u32..=32,
        level_seed in any::<usize>(),
    ) {
        let levels = [64, 32].map(|bits| 1 + level_seed % (bits / base_log) as usize);
        for isa in Isa::available() {
            let wide = &wide;
            dispatch!(isa, |simd| check_digits(simd, isa, wide, base_log, levels));
        }
    }

    #[test]
    fn conversions(
        wide in vec(any::<u64>(), ODD_LEN),
        narrow in vec(any::<u32>(), ODD_LEN),
        doubles in vec(doubles(), ODD_LEN),
    ) {
        check_conversions(&wide);
        check_conversions(&narrow);
        check_all_turns(&wide, &doubles);
    }

    #[test]
    fn parts_recompose(
        wide in vec(any::<u64>(), ODD_LEN),
        narrow in vec(any::<u32>(), ODD_LEN),
    ) {
        for isa in Isa::available() {
            let (wide, narrow) = (&wide, &narrow);
            dispatch!(isa, |simd| check_parts(simd, isa, wide, narrow));
        }
    }

    #[test]
    fn small_numbers_are_rounded_to_nearest_even(
        acc in vec(any::<u64>(), ODD_LEN),
        small in vec(-(1i64 << 50)..1 << 50, ODD_LEN),
        quarters in vec(-2i8..=2, ODD_LEN),
    ) {
        let doubles: Vec<f64> = small
            .iter()
            .zip(&quarters)
            .map(|(&x, &quarters)| x as f64 + 0.25 * f64::from(quarters))
            .collect();
        for isa in Isa::available() {
            let (acc, doubles) = (&acc, &doubles);
            dispatch!(isa, |simd| check_small_sums(simd, isa, acc, doubles));
        }
    }

    #[test]
    fn pointwise_products(
        a in vec(-1.0..1.0, 2 * LENGTH_MULTIPLE),
        b in vec(-1.0..1.0, 2 * LENGTH_MULTIPLE),
    ) {
        let half = a.len() / 2;
        let product: Vec<f64> = (0..a.len())
            .map(|i| match i.checked_sub(half) {
                None => a[i] * b[i] - a[i + half] * b[i + half],
                Some(i) => a[i] * b[i + half] + a[i + half] * b[i],
            })
            .collect();
        for isa in Isa::available() {
            let mut out = vec![0.0; a.len()];
            fourier_mul(isa, &mut out, &a, &b);
            close(&out, &product, isa);
            scale_f64(isa, &mut out[1..], -2.0);
            let scaled: Vec<f64> = product[1..].iter().map(|x| -2.0 * x).collect();
            close(&out[1..], &scaled, isa);
        }
    }

    #[test]
    fn key_switch_tiles(
        rows in 0usize..40,
        ciphertexts in 0usize..=KEY_SWITCH_TILE_CIPHERTEXTS,
        words in vec(any::<u32>(), 5 * 64),
    ) {
        let word = |i: usize| words[i % words.len()].wrapping_mul(i as u32 | 1);
        let key: Vec<[u32; 64]> = (0..rows)
            .map(|r| core::array::from_fn(|j| word(64 * r + j)))
            .collect();
        let digits: Vec<Vec<i32>> = (0..ciphertexts)
            .map(|c| (0..rows).map(|r| word(1000 * c + r) as i32).collect())
            .collect();
        let start: Vec<[u32; 64]> = (0..ciphertexts)
            .map(|c| core::array::from_fn(|j| word(7000 + 64 * c + j)))
            .collect();
        let mut expected = start.clone();
        for (acc, digits) in expected.iter_mut().zip(&digits) {
            for (row, &digit) in key.iter().zip(digits) {
                for (acc, &k) in acc.iter_mut().zip(row) {
                    *acc = acc.wrapping_sub(k.wrapping_mul(digit as u32));
                }
            }
        }
        let digits: Vec<&[i32]> = digits.iter().map(Vec::as_slice).collect();
        for isa in Isa::available() {
            let mut acc = start.clone();
            key_switch_tile(isa, &mut acc, &key, &digits);
            prop_assert_eq!(&acc, &expected, "{}", isa.name());
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_matrix_is_transposed_on_its_way_to_memory() {
    let matrix: [[f64; 8]; 8] =
        core::array::from_fn(|row| core::array::from_fn(|column| (8 * row + column) as f64));
    for isa in Isa::available() {
        let mut out = [[f64::NAN; 8]; 8];
        match isa {
            Isa::Portable => continue,
            Isa::Avx2(simd) => simd.vectorize(
                #[inline(always)]
                || transpose_blocks(simd, &matrix, &mut out),
            ),
            Isa::Avx512(simd) => match simd.adders() {
                Some(simd) => simd.vectorize(
                    #[inline(always)]
                    || transpose_blocks(simd, &matrix, &mut out),
                ),
                None => simd.vectorize(
                    #[inline(always)]
                    || transpose_blocks(simd, &matrix, &mut out),
                ),
            },
        }
        for (row, line) in out.iter().enumerate() {
            for (column, &x) in line.iter().enumerate() {
                assert_eq!(x, matrix[column][row], "{}", isa.name());
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transpose_blocks<S: Cube>(simd: S, matrix: &[[f64; 8]; 8], out: &mut [[f64; 8]; 8]) {
    for part in 0..8 / S::LANES {
        for group in 0..8 / S::LANES {
            let mut rows = [simd.splat(0.0); 8];
            for (row, line) in rows.iter_mut().zip(&matrix[part * S::LANES..]) {
                *row = simd.load(&S::chunks(line)[group]);
            }
            simd.store_transposed(out, group, part, &rows[..S::LANES]);
        }
    }
}

#[test]
fn rotations_at_the_edges() {
    let wide: Vec<u64> = (1..=SIZE as u64).collect();
    let narrow: Vec<u32> = (1..=SIZE as u32).collect();
    for degree in [0, 1, SIZE - 1, SIZE, SIZE + 1, 2 * SIZE - 1] {
        check_rotation(&wide, degree);
        check_rotation(&narrow, degree);
    }
}

#[test]
fn decompositions_at_the_edges() {
    let extremes = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 31, 1 << 62];
    let wide: Vec<u64> = (0..SIZE)
        .map(|i| extremes[i % extremes.len()].rotate_left(i as u32 / 7))
        .collect();
    let (wide, bases) = (
        &wide,
        [
            (1, [64, 32]),
            (8, [8, 4]),
            (10, [6, 2]),
            (23, [1, 1]),
            (32, [2, 1]),
        ],
    );
    for isa in Isa::available() {
        // Every level is slow on Miri.
        for (base_log, levels) in bases.into_iter().skip(if cfg!(miri) { 3 } else { 0 }) {
            dispatch!(isa, |simd| check_digits(simd, isa, wide, base_log, levels));
        }
    }
}

#[test]
fn conversions_at_the_edges() {
    let two = |e| 2f64.powi(e);
    let mut doubles = vec![0.0, 0.5, 1.5, 2.5, 0.49999999999999994, 1e-300, f64::MAX];
    for e in [
        31, 32, 51, 52, 53, 63, 64, 65, 95, 110, 115, 116, 117, 118, 119,
    ] {
        let next = f64::from_bits(two(e).to_bits() + 1);
        let previous = f64::from_bits(two(e).to_bits() - 1);
        doubles.extend([two(e), next, previous, 1.5 * two(e), 1.25 * next]);
    }
    doubles.extend(doubles.clone().iter().map(|x| -x));
    let extremes = [
        0,
        1,
        u64::MAX,
        1 << 63,
        (1 << 63) - 1,
        (1 << 54) + 1,
        0x8000_0000,
    ];
    let wide: Vec<u64> = (0..doubles.len())
        .map(|i| extremes[i % extremes.len()].rotate_left(i as u32 / 7))
        .collect();
    let narrow: Vec<u32> = wide.iter().map(|&x| x as u32).collect();
    check_conversions(&wide);
    check_conversions(&narrow);
    check_all_turns(&wide, &doubles);
}

#[test]
fn the_detected_instruction_set_is_the_last_available() {
    assert_eq!(Isa::available().last(), Some(Isa::detect()));
    assert_eq!(Isa::available().next(), Some(Isa::Portable));
}
