//! Rotation by a monomial and balanced gadget decomposition, the integer side of blind
//! rotation.

use crate::torus::Torus;

/// Computes `out = X^degree * poly`.
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

/// The coefficients of `X^degree * poly`, in order and without their signs.
struct Rotation<'a, T> {
    /// The coefficients that passed X^N once more often than the others.
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

/// The place of one balanced digit in a scalar, and the constant for the carries from the digits
/// below it.
///
/// The constant adds `B/2` at every lower level, and half of the last kept bit below that. After
/// that carries are done, and the digit is the signed number in its own bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigitPlace {
    /// log2 of the modulus of the scalars.
    pub(crate) torus_bits: u32,
    /// The number to be added before the shifts.
    pub(super) offset: u64,
    /// The number of bits by which the digit is shifted to the left, to the top.
    pub(super) up: u32,
    /// The number of bits by which it is then shifted to the right, with its sign.
    pub(super) down: u32,
}

impl DigitPlace {
    /// Makes the place of the digit of level `level`, counted from the least significant one, of
    /// `level_count` levels of scalars of `torus_bits` bits.
    ///
    /// # Panics
    /// If there is no such level, the number of bits of a digit is not in 1 to 32, the levels
    /// have more bits than a scalar, or `torus_bits` is neither 32 nor 64.
    pub fn new(torus_bits: u32, base_log: u32, level_count: usize, level: usize) -> Self {
        assert!(
            level < level_count
                && level_count <= 64
                && (1..=32).contains(&base_log)
                && matches!(torus_bits, 32 | 64)
                && base_log * level_count as u32 <= torus_bits,
            "no such digit"
        );
        let kept = base_log * level_count as u32;
        let dropped = torus_bits - kept;
        let rounding = if dropped == 0 { 0 } else { 1 << (dropped - 1) };
        let carries: u64 = (1..=level as u32)
            .map(|level| 1 << (dropped + base_log * level - 1))
            .sum();
        Self {
            torus_bits,
            offset: rounding + carries,
            up: base_log * (level_count - 1 - level) as u32,
            down: torus_bits - base_log,
        }
    }

    /// Returns the numbers of bits of a fraction of the torus that the digits above this one have together, and with this one.
    #[cfg_attr(not(feature = "alloc"), allow(dead_code))]
    pub(crate) fn fraction_bits(self) -> (u32, u32) {
        (self.up, self.up + self.torus_bits - self.down)
    }

    /// Returns the digit of a 32-bit scalar.
    #[inline(always)]
    pub(super) fn of_u32(self, x: u32) -> f64 {
        f64::from((x.wrapping_add(self.offset as u32) << self.up) as i32 >> self.down)
    }

    /// Returns the digit of a 64-bit scalar. It has at most 32 bits, so it is in the high half after
    /// the shift to the left.
    #[inline(always)]
    pub(super) fn of_u64(self, x: u64) -> f64 {
        let high = (x.wrapping_add(self.offset) << self.up) >> 32;
        f64::from(high as i32 >> (self.down - 32))
    }
}
