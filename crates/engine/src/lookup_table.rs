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
    /// Distance of the coefficients that the functions are extracted from.
    stride: usize,
    function_count: usize,
}

impl<T: Torus> LookupTable<T> {
    /// The table of a function of the block values of a parameter set: `f(x)` for `x` in
    /// `[0, block_modulus)`, each over a box of phases with `x` in its middle. A
    /// value with the padding bit set, `x + block_modulus`, gives `-f(x)`.
    pub fn from_fn(parameters: &Parameters, f: impl Fn(u64) -> i64) -> Self {
        let encoding = parameters.block_encoding();
        let one = (encoding.block_modulus() as usize, 1);
        Self::from_boxes(parameters, |x| encoding.encode(f(x)), one)
    }

    /// The table of `function_count` functions of values in `[0, value_count)`, all of which
    /// come out of one blind rotation: function `j` lies `j · value_count` boxes to the right,
    /// so that its values stand where coefficient `j · value_count · box` is extracted
    /// (the many-LUT bootstrap of ePrint 2021/729, section 4, for few values instead of a
    /// coarser phase). Every output has the noise of a single one. Box `i` of the whole
    /// table gives the torus element `value(i)`.
    ///
    /// `None` if there are no functions, or the boxes are too few for all of them.
    pub fn several(
        parameters: &Parameters,
        value_count: u64,
        function_count: usize,
        value: impl Fn(u64) -> T,
    ) -> Option<Self> {
        let boxes = value_count.checked_mul(function_count as u64)?;
        let fits = (1..=parameters.block_encoding().block_modulus()).contains(&boxes);
        fits.then(|| Self::from_boxes(parameters, value, (value_count as usize, function_count)))
    }

    /// Of what each box is to give, and how many boxes each of how many functions has.
    fn from_boxes(
        parameters: &Parameters,
        value: impl Fn(u64) -> T,
        (value_count, function_count): (usize, usize),
    ) -> Self {
        let size = parameters.polynomial_size().get();
        let modulus = parameters.block_encoding().block_modulus();
        // Not 0: a validated set has fewer values than coefficients.
        let box_len = size / modulus as usize;
        let mut polynomial: Vec<T> = (0..size).map(|j| value((j / box_len) as u64)).collect();
        // Half a box to the left puts every value in the middle of its box; what falls
        // off comes back on the right negated, as the ring has it.
        polynomial.rotate_left(box_len / 2);
        for coefficient in &mut polynomial[size - box_len / 2..] {
            *coefficient = coefficient.neg();
        }
        Self {
            polynomial,
            block_modulus: Some(modulus),
            stride: value_count * box_len,
            function_count,
        }
    }

    /// The sign: `value` for phases in `[0, 1/2)`, `-value` for the others.
    pub fn sign(size: PolynomialSize, value: T) -> Self {
        Self {
            polynomial: vec![value; size.get()],
            block_modulus: None,
            stride: size.get(),
            function_count: 1,
        }
    }

    /// Number of functions: of outputs of a bootstrap.
    pub fn function_count(&self) -> usize {
        self.function_count
    }

    /// The coefficients that the outputs are extracted from, in the order of the functions.
    pub(crate) fn extracted(&self) -> impl Iterator<Item = usize> {
        (0..self.function_count).map(|j| j * self.stride)
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
