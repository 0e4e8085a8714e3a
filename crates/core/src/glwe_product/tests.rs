use super::*;
use crate::fft::{OwnedFftPlan, Part};
use crate::polynomial::reference_multiply_add;
use crate::simd::{Isa, Simd};
use crate::test_words::Words;

const SIZES: [usize; 6] = [256, 512, 1024, 2048, 4096, 8192];

/// Keys and masks at the ends of their ranges, and random ones.
fn cases<T: Torus>(n: usize) -> Vec<(Vec<T>, Vec<i64>)> {
    let mut words = Words(n as u64);
    let mut cases = vec![
        (words.torus(n), words.binary(n)),
        (words.torus(n), vec![1; n]),
        (words.torus(n), words.ternary(n)),
    ];
    for extreme in [
        0x8000_0000,
        0x7fff_ffff,
        0x8000_0000_8000_0000u64,
        !0,
        1 << 63,
    ] {
        let mask = vec![T::from_i64(extreme as i64); n];
        cases.push((mask.clone(), vec![1; n]));
        // As large as -1 and 1 make it: all terms of the last coefficient alike.
        cases.push((mask.clone(), vec![-1; n]));
        let alternating = |i: usize| {
            if i.is_multiple_of(2) {
                mask[0]
            } else {
                mask[0].neg()
            }
        };
        cases.push(((0..n).map(alternating).collect(), words.binary(n)));
    }
    cases
}

fn prepared(plan: FftPlan<'_>, key: &[i64]) -> Vec<f64> {
    let mut out: Vec<f64> = key.iter().map(|&bit| bit as f64).collect();
    prepare_key_polynomial(plan, &mut out);
    out
}

fn check<T: ProductTorus>() {
    for n in SIZES {
        let size = PolynomialSize::new(n).expect("a polynomial size");
        let cases = cases::<T>(n);
        let start: Vec<T> = Words(7).torus(n);
        let expected = |terms: &[(Vec<T>, Vec<i64>)]| {
            let mut out = start.clone();
            for (mask, key) in terms {
                reference_multiply_add(&mut out, mask, key);
            }
            out
        };
        let alone: Vec<_> = cases
            .iter()
            .map(|c| expected(core::slice::from_ref(c)))
            .collect();
        // Extremes that add up to the largest sum.
        let together = [cases[2].clone(), cases[2].clone(), cases[0].clone()];
        let sum = expected(&together);
        for isa in Isa::available() {
            let owned = OwnedFftPlan::new_with_isa(size, isa);
            let plan = owned.plan();
            let context = format!("{} {n}", isa.name());
            for ((mask, key), expected) in cases.iter().zip(&alone) {
                // The earlier content of the scratch does not matter.
                let len = mask_product_scratch_len::<T>(size, GlweDimension(1));
                let mut scratch = vec![f64::NAN; len];
                let mut out = start.clone();
                MaskProduct::new(plan, &mut scratch).finish_into(
                    mask,
                    &prepared(plan, key),
                    &mut out,
                );
                assert!(out == *expected, "{context} {:?}", mask[0]);
            }
            let len = mask_product_scratch_len::<T>(size, GlweDimension(3));
            let mut scratch = vec![f64::NAN; len];
            let mut product = MaskProduct::new(plan, &mut scratch);
            for (mask, key) in &together[..2] {
                product.add(mask, &prepared(plan, key));
            }
            let mut out = start.clone();
            let (mask, key) = &together[2];
            product.finish_into(mask, &prepared(plan, key), &mut out);
            assert!(out == sum, "{context}, three terms");
        }
    }
}

#[test]
fn products_of_32_bits_are_the_schoolbook_ones() {
    check::<u32>();
}

#[test]
fn products_of_64_bits_are_the_schoolbook_ones() {
    check::<u64>();
}

/// Signed low halves, whose products come out in units of `1 / STEPS`.
struct Magnified;

const STEPS: i64 = 64;

impl Part for Magnified {
    type Scalar = u64;

    fn load<S: Simd>(simd: S, input: &[u64]) -> S::F64 {
        simd.load_low_half(input)
    }
    fn add<S: Simd>(simd: S, out: &mut [u64], product: S::F64) {
        simd.add_small_u64(out, simd.mul(product, simd.splat(STEPS as f64)));
    }
}

/// The transform's error, which rounding takes away while it is below 1/2: at most 1/32
/// for the worst mask and key, and 1/64 for random masks.
#[test]
fn the_error_before_rounding_is_far_below_a_half() {
    for n in SIZES {
        for (case, (mask, key)) in cases::<u32>(n).iter().enumerate() {
            let mask: Vec<u64> = mask.iter().map(|&x| x.into()).collect();
            let signed: Vec<u64> = mask.iter().map(|&x| x as u32 as i32 as u64).collect();
            let mut exact = vec![0u64; n];
            reference_multiply_add(&mut exact, &signed, key);
            for isa in Isa::available() {
                let owned = OwnedFftPlan::new_with_isa(PolynomialSize::new(n).unwrap(), isa);
                let mut out = vec![0u64; n];
                owned.plan().multiply::<Magnified>(
                    &mask,
                    &prepared(owned.plan(), key),
                    &mut vec![0.0; n],
                    Sink::Only(&mut out),
                );
                let errors = out
                    .iter()
                    .zip(&exact)
                    .map(|(&x, &exact)| (x as i64 - STEPS * exact as i64).unsigned_abs());
                let largest = errors.max().unwrap();
                let allowed = if case < 2 { 1 } else { 2 };
                assert!(largest <= allowed, "{} {n} {case}: {largest}", isa.name());
            }
        }
    }
}
