//! Lookup tables: the polynomials that blind rotation turns.

use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::torus::Torus;

/// The polynomial `v` of a programmable bootstrap: a phase `φ`, as a multiple of
/// `1/2N`, comes out as coefficient `φ` of `v`, negated for `φ` in the upper half of
/// the torus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupTable<T> {
    polynomial: Vec<T>,
}

impl<T: Torus> LookupTable<T> {
    /// The table of a function of block values: `f(x)` for `x` in
    /// `[0, block_modulus)`, each over a box of phases with `x` in its middle. A
    /// value with the padding bit set, `x + block_modulus`, gives `-f(x)`.
    pub fn from_fn(encoding: BlockEncoding, size: PolynomialSize, f: impl Fn(u64) -> i64) -> Self {
        Self::build(encoding, size, |x| encoding.encode(f(x)))
    }

    /// The same with torus elements as values.
    fn build(encoding: BlockEncoding, size: PolynomialSize, f: impl Fn(u64) -> T) -> Self {
        let size = size.get();
        let box_len = size / encoding.block_modulus() as usize;
        let mut polynomial: Vec<T> = (0..size).map(|j| f((j / box_len) as u64)).collect();
        // Half a box to the left puts every value in the middle of its box; what falls
        // off comes back on the right negated, as the ring has it.
        polynomial.rotate_left(box_len / 2);
        for coefficient in &mut polynomial[size - box_len / 2..] {
            *coefficient = coefficient.neg();
        }
        Self { polynomial }
    }

    /// The sign: `value` for phases in `[0, 1/2)`, `-value` for the others.
    pub fn sign(size: PolynomialSize, value: T) -> Self {
        Self {
            polynomial: vec![value; size.get()],
        }
    }

    /// The coefficients.
    pub fn as_slice(&self) -> &[T] {
        &self.polynomial
    }
}
