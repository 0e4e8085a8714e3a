//! The polynomial product of encryption for processors without double precision: a
//! negacyclic number-theoretic transform modulo one prime just above 2^28, in 32-bit
//! integers. It is exact, and so gives the same bits as [`glwe_product`](crate::glwe_product).
//!
//! ```text
//! small polynomial ─prepare_small─▶ prepared ┐
//! uniform polynomial ─limbs─▶ forward ────────┴▶ pointwise ─▶ inverse ─▶ body += · 2^(w·limb)
//! ```
//!
//! The uniform polynomial, modulo q = 2^32 or 2^64, is split into signed limbs of
//! [`limb_bits`] bits, w below. The product of a limb and a binary or ternary polynomial has
//! coefficients of at most `2^(w-1)·N`, below half the prime, so its residues determine it. Up to
//! N = 4096 a limb has 16 bits, which makes 2 or 4 of them.
//!
//! Symmetric encryption prepares the key and multiplies masks by it. Public-key
//! encryption prepares the ephemeral polynomial `r` and multiplies every
//! polynomial of the public key by it. Nothing is allocated. The caller provides a working
//! polynomial of N words, and wipes it: like a prepared polynomial it holds secrets.
//!
//! The transform is a tree of remainders like that of [`fft`](crate::fft), here of
//! `X^N + 1` itself, with two layers in one pass (Lyubashevsky and Seiler, "NTTRU", 2019;
//! signed Montgomery arithmetic: Seiler 2018). Constant-time, on processors whose
//! multiplication is: every Cortex-A, Cortex-M4, M7 and M33, not Cortex-M3.
#![forbid(unsafe_code)]

mod modular;
mod prime;
mod transform;
mod twiddles;

#[cfg(test)]
mod tests;

use modular::{centre, reduce};
use prime::{HALF, SQUARE, montgomery_mul};
use transform::{forward, inverse};

use crate::dimensions::PolynomialSize;
use crate::torus::Torus;

/// The largest number of bits of a limb. More would save no limb of a scalar until `N` is below 64.
const MAX_LIMB_BITS: u32 = 16;

/// Returns the number of bits `w` of a limb: the largest, up to 16, for which `2^(w-1)·N <= 2^27`.
pub const fn limb_bits(size: PolynomialSize) -> u32 {
    let bits = 28 - size.log2();
    if bits < MAX_LIMB_BITS {
        bits
    } else {
        MAX_LIMB_BITS
    }
}

/// Returns the number of limbs of a uniform polynomial. Each costs a forward and an inverse
/// transform.
pub const fn limb_count<T: Torus>(size: PolynomialSize) -> u32 {
    T::BITS.div_ceil(limb_bits(size))
}

/// Transforms the coefficients in `out`, which are -1, 0 or 1, in place into the form by which
/// [`add_product`] multiplies.
///
/// # Panics
/// If `out` does not have `N` places.
pub fn prepare_small(size: PolynomialSize, out: &mut [i32]) {
    assert_eq!(out.len(), size.get(), "a polynomial of another size");
    forward(out);
    // The inverse leaves a factor N. The products with this scale and then with a transformed limb
    // each leave a factor 2^-32.
    let scale = (0..size.log2()).fold(SQUARE, |scale, _| montgomery_mul(scale, HALF));
    for value in out {
        *value = reduce(montgomery_mul(*value, scale));
    }
}

/// Adds `uniform · small mod X^N + 1` to `body`, exactly, where `prepared` is the small
/// polynomial after [`prepare_small`]. `work` is overwritten, and secret afterwards.
///
/// # Panics
/// If a slice does not have `N` elements.
pub fn add_product<T: Torus>(
    size: PolynomialSize,
    uniform: &[T],
    prepared: &[i32],
    work: &mut [i32],
    body: &mut [T],
) {
    for limb in 0..limb_count::<T>(size) {
        load_limb(size, limb, uniform, work);
        add_limb_product(size, limb, prepared, work, body);
    }
}

/// Overwrites `out` with limb `limb` of uniform scalars, of a whole polynomial or a piece of
/// one. It is for callers that make the uniform polynomial again for each limb instead of
/// keeping it.
///
/// # Panics
/// If the lengths differ.
pub fn load_limb<T: Torus>(size: PolynomialSize, limb: u32, uniform: &[T], out: &mut [i32]) {
    assert_eq!(uniform.len(), out.len(), "a limb of another length");
    let bits = limb_bits(size);
    limb_into(uniform, limb * bits, bits, out);
}

/// Adds `limb · small · 2^(w·limb) mod X^N + 1` to `body`, exactly, where `work` is the limb
/// as [`load_limb`] gives it. `work` is overwritten, and secret afterwards.
///
/// # Panics
/// If a slice does not have `N` elements.
pub fn add_limb_product<T: Torus>(
    size: PolynomialSize,
    limb: u32,
    prepared: &[i32],
    work: &mut [i32],
    body: &mut [T],
) {
    for len in [prepared.len(), work.len(), body.len()] {
        assert_eq!(len, size.get(), "a polynomial of another size");
    }
    forward(work);
    for (value, &factor) in work.iter_mut().zip(prepared) {
        *value = montgomery_mul(*value, factor);
    }
    inverse(work);
    let shift = limb * limb_bits(size);
    for (body, &product) in body.iter_mut().zip(work.iter()) {
        *body = body.add(T::from_i64(i64::from(centre(product))) << shift);
    }
}

/// Overwrites `out` with the limb of `bits` bits from bit `shift` on. With `β = 2^bits`, it is a
/// digit of `x + Σ β^j·β/2` minus `β/2`: such digits are in `[-β/2, β/2)`, and their sum
/// `Σ digit_j β^j` is `x` mod q.
fn limb_into<T: Torus>(uniform: &[T], shift: u32, bits: u32, out: &mut [i32]) {
    let half = 1 << (bits - 1);
    let bias = T::from_i64(BIASES[bits as usize]);
    for (out, &x) in out.iter_mut().zip(uniform) {
        let digit = (x.add(bias) >> shift).to_u64() as i32 & ((1 << bits) - 1);
        *out = digit - half;
    }
}

/// The sum `Σ β^j·β/2` mod 2^64 for every number of bits of a limb.
static BIASES: [i64; MAX_LIMB_BITS as usize + 1] = {
    let mut biases = [0; MAX_LIMB_BITS as usize + 1];
    let mut bits = 1;
    while bits <= MAX_LIMB_BITS {
        let mut place = bits - 1;
        while place < 64 {
            biases[bits as usize] |= 1i64.wrapping_shl(place);
            place += bits;
        }
        bits += 1;
    }
    biases
};
