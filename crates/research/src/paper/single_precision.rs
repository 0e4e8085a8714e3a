//! The negacyclic product by a folded complex Fourier transform in single or double precision, for
//! comparison of accuracy only: a textbook radix-2 transform, generic over the float type.

use core::f64::consts::PI;
use core::ops::{Add, Mul, Sub};

/// A float type, `f32` or `f64`.
pub trait Float: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// Rounds a double to this type.
    fn from_f64(value: f64) -> Self;
    /// Returns the value as a double, which is exact.
    fn to_f64(self) -> f64;
}

impl Float for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Float for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}

#[derive(Clone, Copy)]
struct Complex<F> {
    re: F,
    im: F,
}

impl<F: Float> Complex<F> {
    fn turn(turns: f64) -> Self {
        let (im, re) = (2.0 * PI * turns).sin_cos();
        Self {
            re: F::from_f64(re),
            im: F::from_f64(im),
        }
    }
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
    fn add(self, other: Self) -> Self {
        Self {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
    fn sub(self, other: Self) -> Self {
        Self {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
}

/// Returns `a · b mod X^N + 1` for two real polynomials of the same power-of-two length, computed in
/// the arithmetic of `F` throughout.
pub fn negacyclic_product<F: Float>(a: &[f64], b: &[f64]) -> Vec<f64> {
    let half = a.len() / 2;
    let (mut x, y) = (folded::<F>(a), folded::<F>(b));
    for (x, y) in x.iter_mut().zip(y) {
        *x = x.mul(y);
    }
    transform(&mut x, 1.0);
    let mut out = vec![0.0; a.len()];
    for (j, x) in x.iter().enumerate() {
        let value = x.mul(Complex::turn(-(j as f64) / (4 * half) as f64));
        out[j] = value.re.to_f64() / half as f64;
        out[j + half] = value.im.to_f64() / half as f64;
    }
    out
}

/// Returns the Fourier transform of the polynomial, folded to N/2 complex numbers and twisted.
fn folded<F: Float>(polynomial: &[f64]) -> Vec<Complex<F>> {
    let half = polynomial.len() / 2;
    let mut values: Vec<_> = (0..half)
        .map(|j| {
            let value = Complex {
                re: F::from_f64(polynomial[j]),
                im: F::from_f64(polynomial[j + half]),
            };
            value.mul(Complex::turn(j as f64 / (4 * half) as f64))
        })
        .collect();
    transform(&mut values, -1.0);
    values
}

/// The radix-2 transform of Cooley and Tukey (1965), in place and without normalisation. `sign` is the
/// sign of the exponent.
fn transform<F: Float>(values: &mut [Complex<F>], sign: f64) {
    let len = values.len();
    let bits = len.ilog2();
    for i in 0..len {
        let j = i.reverse_bits() >> (usize::BITS - bits);
        if i < j {
            values.swap(i, j);
        }
    }
    for log in 0..bits {
        let half = 1 << log;
        let twiddles: Vec<Complex<F>> = (0..half)
            .map(|j| Complex::turn(sign * j as f64 / (2 * half) as f64))
            .collect();
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for ((low, high), &twiddle) in low.iter_mut().zip(high).zip(&twiddles) {
                let term = high.mul(twiddle);
                (*low, *high) = (low.add(term), low.sub(term));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::polynomial::reference_multiply_add;

    use super::*;

    #[test]
    fn small_products_are_those_of_the_definition() {
        let a: Vec<i64> = (0..64).map(|i| (i * i * 7 + 3) % 101 - 50).collect();
        let b: Vec<i64> = (0..64).map(|i| (i * 5 + i / 3) % 2).collect();
        let mut exact = vec![0u64; 64];
        let torus: Vec<u64> = a.iter().map(|&x| x as u64).collect();
        reference_multiply_add(&mut exact, &torus, &b);
        let floats = |x: &[i64]| x.iter().map(|&x| x as f64).collect::<Vec<_>>();
        let (a, b) = (floats(&a), floats(&b));
        let rounded = |product: Vec<f64>| -> Vec<u64> {
            product.iter().map(|x| x.round() as i64 as u64).collect()
        };
        assert_eq!(rounded(negacyclic_product::<f64>(&a, &b)), exact);
        assert_eq!(rounded(negacyclic_product::<f32>(&a, &b)), exact);
    }
}
