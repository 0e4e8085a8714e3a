use proptest::prelude::*;

use super::prime::{P, power, to_montgomery};
use super::twiddles::twiddle;
use super::*;
use crate::polynomial::reference_multiply_add;
use crate::test_words::Words;

const SIZES: [usize; 9] = [256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];

fn size(n: usize) -> PolynomialSize {
    PolynomialSize::new(n).unwrap()
}

fn product<T: Torus>(uniform: &[T], binary: &[i32], body: &[T]) -> Vec<T> {
    let size = size(uniform.len());
    let mut prepared = binary.to_vec();
    prepare_small(size, &mut prepared);
    let (mut work, mut body) = (vec![i32::MAX; size.get()], body.to_vec());
    add_product(size, uniform, &prepared, &mut work, &mut body);
    body
}

fn reference<T: Torus>(uniform: &[T], binary: &[i32], body: &[T]) -> Vec<T> {
    let mut body = body.to_vec();
    let binary: Vec<i64> = binary.iter().map(|&bit| i64::from(bit)).collect();
    reference_multiply_add(&mut body, uniform, &binary);
    body
}

/// `value` as an element of `[0, P)`.
fn residue(value: i32) -> i64 {
    i64::from(value).rem_euclid(P.into())
}

/// A twiddle without its factor 2^32.
fn plain_twiddle(node: usize) -> i64 {
    residue(montgomery_mul(twiddle(node), 1))
}

fn evaluate(polynomial: &[i32], at: i64) -> i64 {
    polynomial.iter().rev().fold(0, |sum, &coefficient| {
        (sum * at + i64::from(coefficient)).rem_euclid(P.into())
    })
}

#[test]
fn the_modulus_is_prime_and_the_root_primitive() {
    let p = i64::from(P);
    assert!((2..17_000).all(|d| p % d != 0), "composite");
    // Node 2^15 is the first of the deepest level of the longest transform.
    let deepest = plain_twiddle(1 << 15);
    assert_eq!(power(deepest, 1 << 16), p - 1);
    assert_eq!(plain_twiddle(1) * plain_twiddle(1) % p, p - 1);
}

#[test]
fn every_node_splits_into_its_children() {
    let p = i64::from(P);
    for node in 1..1 << 15 {
        let z = plain_twiddle(node);
        let (z0, z1) = (plain_twiddle(2 * node), plain_twiddle(2 * node + 1));
        assert_eq!(z0 * z0 % p, z, "left child of {node}");
        assert_eq!(z1 * z1 % p, p - z, "right child of {node}");
        let mirror = 3 * (1 << node.ilog2()) - 1 - node;
        assert_eq!(z * plain_twiddle(mirror) % p, p - 1, "mirror of {node}");
    }
}

#[test]
fn reductions_are_right_at_the_ends() {
    let p = i64::from(P);
    let mut words = Words(1);
    let random = (0..100_000)
        .map(|_| words.next() as i32)
        .collect::<Vec<_>>();
    let edges = [i32::MIN, i32::MIN + 1, -P, -1, 0, 1, P / 2, P, i32::MAX];
    for a in edges.into_iter().chain(random) {
        for b in [P, -P, P / 2, words.next() as i32 % P] {
            let c = montgomery_mul(a, b);
            assert_eq!(
                (i128::from(c) << 32).rem_euclid(p.into()),
                (i128::from(a) * i128::from(b)).rem_euclid(p.into())
            );
            let product = (i64::from(a) * i64::from(b)).unsigned_abs();
            assert!(u64::from(c.unsigned_abs()) <= (product >> 32) + p as u64 / 2 + 1);
        }
        if i64::from(a).abs() * 10 <= 74 * p {
            let reduced = reduce(a);
            assert_eq!(residue(reduced), residue(a));
            assert!(i64::from(reduced).abs() * 100 <= 53 * p, "{a} to {reduced}");
        }
    }
    // A product of polynomials relies on these values.
    for value in [0, 1, -1, (1 << 27) - 1, 1 - (1 << 27), 1 << 27, -(1 << 27)] {
        for multiple in -6..=6 {
            assert_eq!(centre(value + multiple * P), value, "+ {multiple} P");
        }
    }
    assert_eq!(residue(to_montgomery(1)), (1i64 << 32) % p);
}

#[test]
fn the_transform_evaluates_at_the_leaves() {
    for n in SIZES {
        let mut words = Words(n as u64);
        let polynomial: Vec<i32> = (0..n).map(|_| i32::from(words.next() as i16)).collect();
        let mut values = polynomial.clone();
        forward(&mut values);
        let leaves: Vec<usize> = if n <= 512 {
            (0..n / 2).collect()
        } else {
            (0..24).map(|_| words.next() as usize % (n / 2)).collect()
        };
        for leaf in leaves {
            let z = plain_twiddle(n / 2 + leaf);
            assert_eq!(residue(values[2 * leaf]), evaluate(&polynomial, z));
            let minus_z = i64::from(P) - z;
            assert_eq!(
                residue(values[2 * leaf + 1]),
                evaluate(&polynomial, minus_z)
            );
        }
    }
}

#[test]
fn the_inverse_inverts_up_to_n() {
    for n in SIZES {
        let mut words = Words(n as u64);
        let polynomial: Vec<i32> = (0..n).map(|_| i32::from(words.next() as i16)).collect();
        let mut values = polynomial.clone();
        forward(&mut values);
        for value in &mut values {
            *value = reduce(*value);
        }
        inverse(&mut values);
        for (&value, &coefficient) in values.iter().zip(&polynomial) {
            assert_eq!(
                residue(value),
                (i64::from(coefficient) * n as i64).rem_euclid(P.into())
            );
        }
    }
}

fn agrees_with_schoolbook<T: Torus>(n: usize) {
    let mut words = Words(n as u64);
    let (uniform, body) = (words.torus::<T>(n), words.torus::<T>(n));
    for small in [words.binary(n), words.ternary(n)] {
        assert_eq!(
            product(&uniform, &small, &body),
            reference(&uniform, &small, &body),
            "N = {n}, {} bits",
            T::BITS
        );
    }
}

#[test]
fn products_agree_with_schoolbook() {
    for n in &SIZES[..6] {
        agrees_with_schoolbook::<u32>(*n);
        agrees_with_schoolbook::<u64>(*n);
    }
}

/// The coefficients whose limbs are extreme, alone and mixed, by a key of ones and one of minus
/// ones, which make the largest products there are.
fn extremes_agree<T: Torus>(n: usize) {
    let (ones, minus_ones) = (vec![1; n], vec![-1; n]);
    let zero = vec![T::ZERO; n];
    let width = limb_bits(size(n));
    let mut low = T::ZERO;
    for place in (0..T::BITS).step_by(width as usize) {
        low = low | (T::ONE << place << (width - 1));
    }
    let half = T::ONE << (T::BITS - 1);
    let minus_one = T::ZERO.sub(T::ONE);
    for x in [low, low.sub(T::ONE), half, half.sub(T::ONE), minus_one] {
        for negated_from in [n, n / 2, 1] {
            let uniform: Vec<T> = (0..n)
                .map(|j| if j < negated_from { x } else { x.neg() })
                .collect();
            // Coefficient i of the product with ones is prefix(i) - rest(i).
            let total = uniform.iter().fold(T::ZERO, |sum, &x| sum.add(x));
            let mut prefix = T::ZERO;
            let expected: Vec<T> = uniform
                .iter()
                .map(|&x| {
                    prefix = prefix.add(x);
                    prefix.sub(total.sub(prefix))
                })
                .collect();
            assert_eq!(product(&uniform, &ones, &zero), expected, "N = {n}, {x:?}");
            let expected: Vec<T> = expected.iter().map(|&x| x.neg()).collect();
            let found = product(&uniform, &minus_ones, &zero);
            assert_eq!(found, expected, "N = {n}, {x:?}");
        }
    }
}

#[test]
fn extreme_polynomials_are_exact() {
    for n in SIZES {
        extremes_agree::<u32>(n);
        extremes_agree::<u64>(n);
    }
}

#[cfg(feature = "std")]
fn agrees_with_fft<T: crate::glwe_product::ProductTorus>(n: usize) {
    use crate::dimensions::GlweDimension;
    use crate::fft::OwnedFftPlan;
    use crate::glwe_product::{MaskProduct, mask_product_scratch_len, prepare_key_polynomial};

    let mut words = Words(!n as u64);
    let (uniform, body) = (words.torus::<T>(n), words.torus::<T>(n));
    for small in [words.binary(n), words.ternary(n)] {
        let plan = OwnedFftPlan::new(size(n));
        let mut prepared: Vec<f64> = small.iter().map(|&s| f64::from(s)).collect();
        prepare_key_polynomial(plan.plan(), &mut prepared);
        let mut scratch = vec![0.0; mask_product_scratch_len::<T>(size(n), GlweDimension(1))];
        let mut expected = body.clone();
        MaskProduct::new(plan.plan(), &mut scratch).finish_into(&uniform, &prepared, &mut expected);

        assert!(
            product(&uniform, &small, &body) == expected,
            "N = {n}, {} bits",
            T::BITS
        );
    }
}

#[cfg(feature = "std")]
#[test]
fn products_agree_with_the_fft() {
    for n in SIZES {
        agrees_with_fft::<u32>(n);
        agrees_with_fft::<u64>(n);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sparse_products_are_shifts(
        n in proptest::sample::select(&SIZES[..]),
        seed: u64,
        places in proptest::collection::btree_set(0usize..256, 0..4),
        stride in 1usize..256,
    ) {
        let mut words = Words(seed);
        let (uniform, body) = (words.torus::<u64>(n), words.torus::<u64>(n));
        let mut binary = vec![0; n];
        let mut expected = body.clone();
        let shifts: std::collections::BTreeSet<usize> =
            places.iter().map(|place| place * stride % n).collect();
        for &shift in &shifts {
            binary[shift] = 1;
            for (j, &x) in uniform.iter().enumerate() {
                let (at, sign) = ((j + shift) % n, if j + shift < n { 1 } else { -1 });
                expected[at] = expected[at].add(x.mul(u64::from_i64(sign)));
            }
        }
        prop_assert!(product(&uniform, &binary, &body) == expected);
    }
}
