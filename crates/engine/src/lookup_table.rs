//! Lookup tables: the polynomials that blind rotation turns.

use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::torus::Torus;

/// The polynomial `v` of a programmable bootstrap: a phase `φ`, as a multiple of
/// `1/2N`, comes out as coefficient `φ` of `v`, negated for `φ` in the upper half of
/// the torus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupTable<T> {
    polynomial: Vec<T>,
    block_modulus: Option<u64>,
}

impl<T: Torus> LookupTable<T> {
    /// The table of a function of the block values of a parameter set: `f(x)` for `x` in
    /// `[0, block_modulus)`, each over a box of phases with `x` in its middle. A
    /// value with the padding bit set, `x + block_modulus`, gives `-f(x)`.
    pub fn from_fn(parameters: &Parameters, f: impl Fn(u64) -> i64) -> Self {
        let encoding = parameters.block_encoding();
        let size = parameters.polynomial_size().get();
        let modulus = encoding.block_modulus();
        // Not 0: a validated set has fewer values than coefficients.
        let box_len = size / modulus as usize;
        let mut polynomial: Vec<T> = (0..size)
            .map(|j| encoding.encode(f((j / box_len) as u64)))
            .collect();
        // Half a box to the left puts every value in the middle of its box; what falls
        // off comes back on the right negated, as the ring has it.
        polynomial.rotate_left(box_len / 2);
        for coefficient in &mut polynomial[size - box_len / 2..] {
            *coefficient = coefficient.neg();
        }
        Self {
            polynomial,
            block_modulus: Some(modulus),
        }
    }

    /// The sign: `value` for phases in `[0, 1/2)`, `-value` for the others.
    pub fn sign(size: PolynomialSize, value: T) -> Self {
        Self {
            polynomial: vec![value; size.get()],
            block_modulus: None,
        }
    }

    /// How many values the blocks have that it is for; `None` if it only tells signs.
    pub fn block_modulus(&self) -> Option<u64> {
        self.block_modulus
    }

    /// The coefficients.
    pub fn as_slice(&self) -> &[T] {
        &self.polynomial
    }
}
