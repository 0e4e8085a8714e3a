//! Rotation by a monomial and balanced gadget decomposition, the integer side of
//! the external product.
//!
//! Balanced digits come out of a state that holds the kept bits at its low end,
//! least significant level first: adding B/2 before the bits are cut off makes
//! both the digit's offset and the carry.

use crate::torus::Torus;

/// `out = X^degree * poly`.
#[inline(always)]
pub(super) fn rotate_into<T: Torus>(out: &mut [T], poly: &[T], degree: usize) {
    let rotation = Rotation::new(poly, degree);
    let (wrapped, straight) = out.split_at_mut(rotation.wrapped.len());
    copy(wrapped, rotation.wrapped, !rotation.flip);
    copy(straight, rotation.straight, rotation.flip);
}

#[inline(always)]
fn copy<T: Torus>(out: &mut [T], input: &[T], negate: bool) {
    for (out, &x) in out.iter_mut().zip(input) {
        *out = if negate { x.neg() } else { x };
    }
}

/// `state = (X^degree * poly - poly) >> dropped`, rounded.
#[inline(always)]
pub(super) fn rotate_sub_round<T: Torus>(state: &mut [T], poly: &[T], degree: usize, dropped: u32) {
    let rotation = Rotation::new(poly, degree);
    let split = rotation.wrapped.len();
    let (wrapped, straight) = state.split_at_mut(split);
    sub_round(
        wrapped,
        rotation.wrapped,
        &poly[..split],
        !rotation.flip,
        dropped,
    );
    sub_round(
        straight,
        rotation.straight,
        &poly[split..],
        rotation.flip,
        dropped,
    );
}

#[inline(always)]
fn sub_round<T: Torus>(state: &mut [T], rotated: &[T], poly: &[T], negate: bool, dropped: u32) {
    let half = match dropped {
        0 => T::ZERO,
        _ => T::ONE << (dropped - 1),
    };
    for ((state, &rotated), &x) in state.iter_mut().zip(rotated).zip(poly) {
        let rotated = if negate { rotated.neg() } else { rotated };
        *state = rotated.sub(x).add(half) >> dropped;
    }
}

/// The coefficients of `X^degree * poly`, in order and without their signs.
struct Rotation<'a, T> {
    /// The coefficients that passed X^N once more than the others.
    wrapped: &'a [T],
    straight: &'a [T],
    /// Whether `straight` is the part with the minus sign.
    flip: bool,
}

impl<'a, T> Rotation<'a, T> {
    #[inline(always)]
    fn new(poly: &'a [T], degree: usize) -> Self {
        let size = poly.len();
        let flip = degree >= size;
        let shift = if flip { degree - size } else { degree };
        let (straight, wrapped) = poly.split_at(size - shift);
        Self {
            wrapped,
            straight,
            flip,
        }
    }
}

/// Takes one balanced digit out of every element.
#[inline(always)]
pub(super) fn next_digit<T: Torus>(state: &mut [T], out: &mut [f64], base_log: u32) {
    let half = T::ONE << (base_log - 1);
    // B itself does not fit the type when base_log = BITS: B - 1 = 2 (B/2 - 1) + 1.
    let mask = (half.sub(T::ONE) << 1) | T::ONE;
    // A digit converts fastest as an i32; as a 64-bit integer it would need an
    // instruction that few processors have in vectors, so it is put where 2^52 leaves
    // its low bits, with B/2 added, and the sum is taken off again.
    const TWO_52_BITS: u64 = (1023 + 52) << 52;
    let offset = f64::from_bits(TWO_52_BITS) + half.to_u64() as f64;
    for (state, out) in state.iter_mut().zip(out) {
        let shifted = state.add(half);
        let digit = shifted & mask;
        *out = if T::BITS == 32 {
            f64::from(digit.sub(half).to_i64() as i32)
        } else if base_log <= 52 {
            f64::from_bits(digit.to_u64() | TWO_52_BITS) - offset
        } else {
            digit.sub(half).to_i64() as f64
        };
        *state = (shifted >> (base_log - 1)) >> 1;
    }
}
