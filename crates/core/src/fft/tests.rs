use crate::dimensions::PolynomialSize;
use crate::fft::{FftPlan, OwnedFftPlan, TwiddleStorageError, twiddle_len};
use crate::simd::{self, Isa};
use crate::test_words::Words;

/// All sizes; on Miri the small ones, with an odd and an even number of passes.
const SIZES: &[usize] = if cfg!(miri) {
    &[256, 512]
} else {
    &[256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]
};

fn size(n: usize) -> PolynomialSize {
    PolynomialSize::new(n).expect("a polynomial size")
}

/// Every size on every instruction set.
fn plans() -> impl Iterator<Item = OwnedFftPlan> {
    Isa::available().flat_map(|isa| {
        SIZES
            .iter()
            .map(move |&n| OwnedFftPlan::new_with_isa(size(n), isa))
    })
}

fn to_f64(p: &[i64]) -> Vec<f64> {
    p.iter().map(|&x| x as f64).collect()
}

/// The reference: `a * b mod X^N + 1`, schoolbook.
fn schoolbook(a: &[i64], b: &[i64]) -> Vec<i64> {
    let n = a.len();
    let mut out = vec![0; n];
    for (i, &b) in b.iter().enumerate().filter(|&(_, &b)| b != 0) {
        for (j, &a) in a.iter().enumerate() {
            match i + j {
                k if k < n => out[k] += a * b,
                k => out[k - n] -= a * b,
            }
        }
    }
    out
}

fn fft_product(plan: FftPlan<'_>, a: &[i64], b: &[i64]) -> Vec<f64> {
    let (mut a, mut b) = (to_f64(a), to_f64(b));
    plan.forward(&mut a);
    plan.forward(&mut b);
    simd::scale_f64(plan.isa(), &mut b, 2.0 / a.len() as f64);
    let mut out = vec![0.0; a.len()];
    simd::fourier_mul(plan.isa(), &mut out, &a, &b);
    plan.inverse(&mut out);
    out
}

fn largest_error(measured: &[f64], exact: &[i64]) -> f64 {
    measured
        .iter()
        .zip(exact)
        .map(|(&m, &e)| (m - e as f64).abs())
        .fold(0.0, f64::max)
}

#[test]
fn products_of_32_bits_by_binary_keys_are_exact() {
    for n in [256, 512, 1024, 2048] {
        let mut words = Words(n as u64);
        for _ in 0..8 {
            let (a, key) = (words.signed_32(n), words.binary(n));
            let exact = schoolbook(&a, &key);
            for isa in Isa::available() {
                let plan = OwnedFftPlan::new_with_isa(size(n), isa);
                let error = largest_error(&fft_product(plan.plan(), &a, &key), &exact);
                // Exact with a margin of 2^10 below the 1/2 at which rounding fails.
                assert!(error < 0.5 / 1024.0, "{} {n}: {error}", isa.name());
            }
        }
    }
}

#[test]
fn extreme_products_are_exact() {
    for n in [1024, 2048] {
        let a = vec![i64::from(i32::MIN); n];
        let key = vec![1; n];
        let exact = schoolbook(&a, &key);
        for isa in Isa::available() {
            let plan = OwnedFftPlan::new_with_isa(size(n), isa);
            let error = largest_error(&fft_product(plan.plan(), &a, &key), &exact);
            assert!(error < 0.5 / 64.0, "{} {n}: {error}", isa.name());
        }
    }
}

#[test]
fn products_agree_with_schoolbook_at_every_size() {
    for plan in plans() {
        let n = plan.polynomial_size().get();
        let mut words = Words(1);
        let a: Vec<i64> = words.signed_32(n).iter().map(|x| x >> 16).collect();
        let mut b = vec![0; n];
        for _ in 0..16 {
            b[words.next() as usize % n] += i64::from(words.next() as i16 >> 4);
        }
        let error = largest_error(&fft_product(plan.plan(), &a, &b), &schoolbook(&a, &b));
        assert!(error < 1e-3, "{} {n}: {error}", plan.isa().name());
    }
}

/// X^j is evaluated at the roots of X^N + 1 and nowhere else, whatever the order.
#[test]
fn monomials_wrap_with_a_sign() {
    for plan in plans() {
        let n = plan.polynomial_size().get();
        for (i, j) in [(0, 0), (1, n - 1), (n / 2, n / 2), (n - 1, n - 1), (3, 5)] {
            let (mut a, mut b) = (vec![0; n], vec![0; n]);
            a[i] = 1;
            b[j] = 1;
            let error = largest_error(&fft_product(plan.plan(), &a, &b), &schoolbook(&a, &b));
            assert!(error < 1e-13, "{} {n} {i} {j}: {error}", plan.isa().name());
        }
    }
}

#[test]
fn inverse_of_forward_is_half_the_size() {
    for plan in plans() {
        let n = plan.polynomial_size().get();
        let p = Words(2).signed_32(n);
        let mut data = to_f64(&p);
        plan.plan().forward(&mut data);
        plan.plan().inverse(&mut data);
        simd::scale_f64(plan.isa(), &mut data, 2.0 / n as f64);
        let error = largest_error(&data, &p);
        assert!(error < 1e-4, "{} {n}: {error}", plan.isa().name());
    }
}

#[test]
fn transforms_are_linear() {
    for plan in plans() {
        let n = plan.polynomial_size().get();
        let mut words = Words(3);
        let (a, b) = (to_f64(&words.signed_32(n)), to_f64(&words.signed_32(n)));
        let mut sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + 3.0 * b).collect();
        let (mut a, mut b) = (a, b);
        plan.plan().forward(&mut a);
        plan.plan().forward(&mut b);
        plan.plan().forward(&mut sum);
        for ((sum, a), b) in sum.iter().zip(&a).zip(&b) {
            assert!((sum - (a + 3.0 * b)).abs() < 1e-1 * (n as f64).sqrt() / 32.0);
        }
    }
}

/// Alignment is a matter of speed only.
#[test]
fn unaligned_data_and_twiddles_give_the_same() {
    for isa in Isa::available() {
        let size = size(512);
        let mut storage = vec![0.0; twiddle_len(size) + 3];
        let plan = FftPlan::new(size, isa, &mut storage[3..]).unwrap();
        let owned = OwnedFftPlan::new_with_isa(size, isa);
        let mut expected = to_f64(&Words(4).signed_32(512));
        let mut shifted = vec![0.0; 513];
        shifted[1..].copy_from_slice(&expected);
        owned.plan().forward(&mut expected);
        plan.forward(&mut shifted[1..]);
        assert_eq!(expected, &shifted[1..]);
    }
}

#[test]
fn short_storage_is_refused() {
    let mut storage = [0.0; 255];
    assert_eq!(
        FftPlan::new(size(256), Isa::Portable, &mut storage).unwrap_err(),
        TwiddleStorageError {
            needed: 256,
            given: 255
        }
    );
}
