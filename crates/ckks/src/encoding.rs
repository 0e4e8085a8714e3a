//! The encoding: from slots to the integer coefficients of a plaintext.
//!
//! The plaintext is the real polynomial `m` with `m(ζ^(3^i)) = scale · slot[i]`, `ζ = exp(πi/n)`,
//! as in SEAL (Cheon, Kim, Kim and Song, "Homomorphic encryption for arithmetic of approximate
//! numbers", 2017, section 3.2, with 3 in place of 5). The numbers `c_k = m_k + i·m_(k + n/2)` are
//! the coefficients of a complex polynomial mod `X^(n/2) - i` that has the same values as `m` at its
//! roots, the `ζ^e` with `e = 1 mod 4`. These are `ζ^(3^i)` for even `i` and its conjugate for odd
//! `i`. The transform goes up the tree that splits `X^2m - z²` into `X^m - z` and `X^m + z`, from
//! the roots to `c`. In memory all real parts come before all imaginary parts, so that the result is
//! `m` in order.
//!
//! Roots come from the polynomials of `core`, not from libm, and no multiplication is fused with an
//! addition: every target gives the same bytes.
//!
//! The encoding is constant-time in the values where the processor's arithmetic in doubles is,
//! except that values may be refused.

use tfhe_sbc_core::fft::root_of_unity;
use tfhe_sbc_core::memcheck::{disclosed, scalar};
use tfhe_sbc_core::simd::{Isa, vectorize};

use crate::error::CkksError;
use crate::numbers::numbers;

/// The values of a ciphertext, in the order of the slots. Slots without a value are zero.
#[derive(Clone, Copy)]
pub enum Slots<'a> {
    /// Real numbers.
    Real(&'a [f64]),
    /// Real numbers in single precision.
    RealF32(&'a [f32]),
    /// Complex numbers: real and imaginary parts.
    Complex(&'a [[f64; 2]]),
}

/// Shows the number of values only, because values are plaintexts.
impl core::fmt::Debug for Slots<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Slots({} values)", self.len())
    }
}

impl Slots<'_> {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Real(values) => values.len(),
            Self::RealF32(values) => values.len(),
            Self::Complex(values) => values.len(),
        }
    }

    /// Returns whether the slice has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline(always)]
    fn get(&self, place: usize) -> [f64; 2] {
        match self {
            Self::Real(values) => [values[place], 0.0],
            Self::RealF32(values) => [f64::from(values[place]), 0.0],
            Self::Complex(values) => values[place],
        }
    }

    /// Checks that there are at most `slot_count` values, and that all are finite.
    fn check(&self, slot_count: usize) -> Result<(), CkksError> {
        if self.len() > slot_count {
            return Err(CkksError::TooManyValues {
                found: self.len(),
                slots: slot_count,
            });
        }
        let finite = |place: usize| {
            let [re, im] = self.get(place);
            re.is_finite() & im.is_finite()
        };
        // The place is looked for only if the values are refused.
        if disclosed((0..self.len()).fold(true, |all, place| all & finite(place))) {
            return Ok(());
        }
        match (0..self.len()).find(|&place| !finite(place)) {
            Some(index) => Err(CkksError::NotFinite { index }),
            None => Ok(()),
        }
    }
}

/// The roots of the transform: a table of [`table_len`] doubles, or `None` to compute them on the
/// fly.
pub(crate) type Table<'a> = Option<&'a [f64]>;

/// Returns the number of doubles of a table: two for each pair of siblings in the tree, and two for
/// its root.
pub(crate) const fn table_len(polynomial_size: usize) -> usize {
    polynomial_size / 2
}

/// Overwrites `table` with the roots of all nodes of the tree.
pub(crate) fn fill_table(table: &mut [f64]) {
    for (index, entry) in table.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let (cos, sin) = computed_root(index);
        *entry = [cos, sin];
    }
}

/// Encodes `slots` into `message`, as coefficients of type `i64`.
///
/// `message` has 8 bytes for each of `n` coefficients. No coefficient exceeds `largest` in
/// magnitude, or the values are refused.
pub(crate) fn encode(
    isa: Isa,
    slots: Slots<'_>,
    scale: f64,
    largest: f64,
    table: Table<'_>,
    message: &mut [u8],
) -> Result<(), CkksError> {
    /// A coefficient above 2^62 and its noise might not fit `i64`.
    const LARGEST: f64 = (1u64 << 62) as f64;
    let coefficients: &mut [f64] = numbers(message)?;
    let slot_count = coefficients.len() / 2;
    slots.check(slot_count)?;
    if !(scale.is_finite() && scale > 0.0) {
        return Err(CkksError::Scale);
    }
    place(slots, scale / slot_count as f64, coefficients);
    let largest = largest.min(LARGEST);
    let fits = vectorize(
        isa,
        #[inline(always)]
        || {
            let (re, im) = coefficients.split_at_mut(slot_count);
            up(re, im, table);
            // If values have overflowed, there is a NaN, with which a comparison is false.
            let each = coefficients.iter();
            each.fold(true, |fits, coefficient| {
                fits & (coefficient.abs() <= largest)
            })
        },
    );
    if !disclosed(fits) {
        return Err(CkksError::TooLarge);
    }
    vectorize(
        isa,
        #[inline(always)]
        || round(message),
    );
    Ok(())
}

/// Puts every value, times `factor`, at the leaf of its root, and zeros at all other leaves.
fn place(slots: Slots<'_>, factor: f64, coefficients: &mut [f64]) {
    coefficients.fill(0.0);
    let slot_count = coefficients.len() / 2;
    let (re, im) = coefficients.split_at_mut(slot_count);
    let order = 4 * slot_count;
    let shift = usize::BITS - slot_count.ilog2();
    let mut exponent = 1;
    for index in 0..slots.len() {
        let [value_re, value_im] = slots.get(index);
        // Leaf j belongs to ζ^(4·bitrev(j) + 1).
        let (leaf_exponent, sign) = match exponent % 4 {
            1 => (exponent, 1.0),
            _ => (order - exponent, -1.0),
        };
        let leaf = (leaf_exponent / 4).reverse_bits() >> shift;
        re[leaf] = value_re * factor;
        im[leaf] = value_im * factor * sign;
        exponent = exponent * 3 % order;
    }
}

/// Goes from the leaves to the root of the tree: `(a, b) -> (a + b, (a - b) / z)`.
#[inline(always)]
fn up(re: &mut [f64], im: &mut [f64], table: Table<'_>) {
    let points = re.len();
    let mut half = 1;
    while half < points / 2 {
        // The roots of siblings differ by the factor i, so siblings are processed together.
        let pairs = points / (4 * half);
        let re_pairs = re.chunks_exact_mut(4 * half);
        let im_pairs = im.chunks_exact_mut(4 * half);
        match table {
            Some(table) => {
                let roots = table.as_chunks::<2>().0[pairs..2 * pairs].iter();
                for ((re, im), &[cos, sin]) in re_pairs.zip(im_pairs).zip(roots) {
                    up_pair(re, im, cos, sin);
                }
            }
            None => {
                for (index, (re, im)) in (pairs..).zip(re_pairs.zip(im_pairs)) {
                    let (cos, sin) = computed_root(index);
                    up_pair(re, im, cos, sin);
                }
            }
        }
        half *= 2;
    }
    let (cos, sin) = computed_root(0);
    let (re_low, re_high) = re.split_at_mut(half);
    let (im_low, im_high) = im.split_at_mut(half);
    let each = re_low
        .iter_mut()
        .zip(re_high)
        .zip(im_low.iter_mut().zip(im_high));
    for ((re_low, re_high), (im_low, im_high)) in each {
        let [low, high] = up_one([*re_low, *im_low], [*re_high, *im_high], cos, sin);
        [*re_low, *im_low] = low;
        [*re_high, *im_high] = high;
    }
}

/// Processes two siblings; the root of the second is i times the root of the first.
#[inline(always)]
fn up_pair(re: &mut [f64], im: &mut [f64], cos: f64, sin: f64) {
    let quarter = re.len() / 4;
    let [re_a, re_b, re_c, re_d] = quarters(re, quarter);
    let [im_a, im_b, im_c, im_d] = quarters(im, quarter);
    for j in 0..quarter {
        [[re_a[j], im_a[j]], [re_b[j], im_b[j]]] =
            up_one([re_a[j], im_a[j]], [re_b[j], im_b[j]], cos, sin);
        let [low, [high_re, high_im]] = up_one([re_c[j], im_c[j]], [re_d[j], im_d[j]], cos, sin);
        [re_c[j], im_c[j]] = low;
        [re_d[j], im_d[j]] = [high_im, -high_re];
    }
}

/// Returns `(a + b, (a - b) / z)` for `z = cos + i·sin`.
#[inline(always)]
fn up_one(a: [f64; 2], b: [f64; 2], cos: f64, sin: f64) -> [[f64; 2]; 2] {
    let difference = [a[0] - b[0], a[1] - b[1]];
    let quotient = [
        difference[0] * cos + difference[1] * sin,
        difference[1] * cos - difference[0] * sin,
    ];
    [[a[0] + b[0], a[1] + b[1]], quotient]
}

#[inline(always)]
fn quarters(all: &mut [f64], len: usize) -> [&mut [f64]; 4] {
    let (low, high) = all.split_at_mut(2 * len);
    let (a, b) = low.split_at_mut(len);
    let (c, d) = high.split_at_mut(len);
    [a, &mut b[..len], &mut c[..len], &mut d[..len]]
}

/// Returns the root of the first of two siblings, which are nodes `2·index` and `2·index + 1`
/// in the numbering of a heap; index 0 stands for the root of the tree, which has no sibling.
#[inline(always)]
pub(crate) fn computed_root(index: usize) -> (f64, f64) {
    let Some(depth) = (index as u32).checked_ilog2() else {
        return root_of_unity(1, 3);
    };
    // For depth 0 this shifts by 32, which must give zero, so the shift is of 64 bits.
    let reversed = u64::from((index as u32 - (1 << depth)).reverse_bits()) >> (32 - depth);
    root_of_unity(1 + 4 * reversed as u32, depth + 4)
}

/// Rounds doubles to the nearest integers, halves away from zero, in place.
#[inline(always)]
fn round(message: &mut [u8]) {
    for bytes in message.as_chunks_mut::<8>().0 {
        *bytes = nearest(scalar(u64::from_ne_bytes(*bytes))).to_ne_bytes();
    }
}

/// Returns the integer nearest to a double of at most 2^62 in magnitude, given its bits; halves are rounded away from
/// zero. It uses integers alone: a conversion checks its range, with a branch where code is optimised for size.
#[inline(always)]
fn nearest(bits: u64) -> i64 {
    /// The biased exponent of a number whose lowest bit of the mantissa is a half.
    const OF_HALVES: u32 = 1074;
    const MANTISSA_BITS: u32 = 52;
    let exponent = (bits >> MANTISSA_BITS) as u32 & 0x7ff;
    let mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) | (1 << MANTISSA_BITS);
    // The number of halves: shifted to the left for large numbers, to the right for others, out of sight for
    // those near zero.
    let left = exponent.saturating_sub(OF_HALVES);
    let right = OF_HALVES.saturating_sub(exponent).min(63);
    let halves = mantissa.wrapping_shl(left) >> right;
    let magnitude = (halves.wrapping_add(1) >> 1) as i64;
    let sign = bits as i64 >> 63;
    (magnitude ^ sign).wrapping_sub(sign)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::f64::consts::PI;
    use std::vec;
    use std::vec::Vec;

    use proptest::prelude::*;
    use tfhe_sbc_core::workspace::HeapWorkspace;

    use super::*;

    const SCALE: f64 = (1u64 << 40) as f64;

    fn encoded(n: usize, slots: Slots<'_>, scale: f64, isa: Isa, table: bool) -> Vec<i64> {
        let mut roots = vec![0.0; table_len(n)];
        fill_table(&mut roots);
        let table = table.then_some(&roots[..]);
        let mut message = HeapWorkspace::new(8 * n);
        message.as_mut_slice().fill(0x5a);
        encode(isa, slots, scale, 1e30, table, message.as_mut_slice()).unwrap();
        let bytes = message.as_mut_slice().as_chunks().0.iter();
        bytes.map(|bytes| i64::from_ne_bytes(*bytes)).collect()
    }

    /// The polynomial at `ζ^(3^i)`, by the definition.
    fn slow_slot(coefficients: &[i64], i: usize) -> [f64; 2] {
        let order = 2 * coefficients.len();
        let exponent = (0..i).fold(1, |e, _| e * 3 % order);
        let terms = coefficients.iter().enumerate().map(|(k, &c)| {
            let (sin, cos) = (PI * (exponent * k % order) as f64 / (order / 2) as f64).sin_cos();
            [c as f64 * cos, c as f64 * sin]
        });
        terms.fold([0.0; 2], |sum, term| [sum[0] + term[0], sum[1] + term[1]])
    }

    fn values(count: usize) -> Vec<[f64; 2]> {
        let value = |i: usize| {
            let i = i as f64;
            [(0.7 * i).sin() + 0.001 * i, (1.3 * i).cos() * 2.0 - 0.3]
        };
        (0..count).map(value).collect()
    }

    #[test]
    fn slots_are_values_at_powers_of_three() {
        for n in [1024, 2048, 4096, 8192, 16384] {
            let values = values(n / 2);
            for isa in Isa::available() {
                let coefficients = encoded(n, Slots::Complex(&values), SCALE, isa, true);
                let otf = encoded(n, Slots::Complex(&values), SCALE, isa, false);
                assert!(coefficients == otf, "{n} {}", isa.name());
                for i in [0, 1, 2, 3, 100, n / 4, n / 2 - 2, n / 2 - 1] {
                    let slot = slow_slot(&coefficients, i);
                    for part in 0..2 {
                        let error = slot[part] / SCALE - values[i][part];
                        assert!(error.abs() < 1e-9, "{n} {i} {} {error}", isa.name());
                    }
                }
            }
        }
    }

    /// The same coefficients on every instruction set, and as recorded.
    #[test]
    fn every_target_gives_the_same_coefficients() {
        // Exact in binary, for libm is not the same everywhere.
        let part = |i: usize| (i * 37 % 1001) as f64 / 256.0 - 2.0;
        let values: Vec<[f64; 2]> = (0..2048).map(|i| [part(i), part(i + 500)]).collect();
        let expected = encoded(4096, Slots::Complex(&values), SCALE, Isa::Portable, true);
        for isa in Isa::available() {
            assert!(encoded(4096, Slots::Complex(&values), SCALE, isa, true) == expected);
        }
        let bytes: Vec<u8> = expected.iter().flat_map(|c| c.to_le_bytes()).collect();
        let digest = tfhe_sbc_core::random::blake2b_256(&bytes);
        let first = u64::from_be_bytes(*digest.first_chunk().unwrap());
        assert_eq!(first, 0x39ff_cdd5_ef26_b08c, "{first:#x}");
    }

    #[test]
    fn a_real_vector_is_a_complex_one_without_imaginary_parts() {
        let complex: Vec<[f64; 2]> = values(512)
            .iter()
            .map(|v| [f64::from(v[0] as f32), 0.0])
            .collect();
        let real: Vec<f64> = complex.iter().map(|v| v[0]).collect();
        let single: Vec<f32> = real.iter().map(|&v| v as f32).collect();
        let isa = Isa::detect();
        let expected = encoded(1024, Slots::Complex(&complex), SCALE, isa, true);
        assert_eq!(
            encoded(1024, Slots::Real(&real), SCALE, isa, true),
            expected
        );
        assert_eq!(
            encoded(1024, Slots::RealF32(&single), SCALE, isa, true),
            expected
        );
    }

    #[test]
    fn what_has_no_code_is_refused() {
        let encode = |slots: Slots<'_>, scale| {
            let mut message = HeapWorkspace::new(8 * 1024);
            encode(
                Isa::detect(),
                slots,
                scale,
                1e6,
                None,
                message.as_mut_slice(),
            )
        };
        let nan = [1.0, f64::NAN];
        assert_eq!(
            encode(Slots::Real(&nan), 1.0),
            Err(CkksError::NotFinite { index: 1 })
        );
        let infinite = [[0.0, f64::INFINITY]];
        let not_finite = Err(CkksError::NotFinite { index: 0 });
        assert_eq!(encode(Slots::Complex(&infinite), 1.0), not_finite);
        assert_eq!(
            encode(Slots::RealF32(&[f32::NEG_INFINITY]), 1.0),
            not_finite
        );
        let many = CkksError::TooManyValues {
            found: 513,
            slots: 512,
        };
        assert_eq!(encode(Slots::Real(&[0.0; 513]), 1.0), Err(many));
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(encode(Slots::Real(&[1.0]), scale), Err(CkksError::Scale));
        }
        // A constant is a constant coefficient.
        assert_eq!(encode(Slots::Real(&[1.0; 512]), 1e6), Ok(()));
        assert_eq!(
            encode(Slots::Real(&[1.0; 512]), 1.1e6),
            Err(CkksError::TooLarge)
        );
        assert_eq!(
            encode(Slots::Real(&[f64::MAX; 512]), 1e300),
            Err(CkksError::TooLarge)
        );
        assert_eq!(encode(Slots::Real(&[]), 1.0), Ok(()));
    }

    proptest! {
        #[test]
        fn rounding_is_to_the_nearest(value in -1e15f64..1e15, small in -100.0f64..100.0) {
            for value in [value, small, small.trunc() + 0.5, small.trunc() - 0.5] {
                let mut bytes = value.to_ne_bytes();
                round(&mut bytes);
                prop_assert_eq!(i64::from_ne_bytes(bytes), value.round() as i64);
            }
        }
    }
}
