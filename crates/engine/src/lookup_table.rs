//! Lookup tables: the polynomials that a blind rotation rotates.

use tfhe_sbc_core::dimensions::PolynomialSize;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::torus::Torus;

/// The polynomial `v` of a programmable bootstrap. A phase `φ`, as a multiple of `1/2N`, gives
/// coefficient `φ` of `v` if `φ < N`, and the negative of coefficient `φ - N` otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupTable<T> {
    polynomial: Vec<T>,
    block_modulus: Option<u64>,
    /// The distance between the coefficients from which the outputs of neighbouring functions are
    /// extracted.
    stride: usize,
    function_count: usize,
    /// log2 of the number of steps to a multiple of which the modulus switch rounds.
    coarseness_log2: u32,
}

impl<T: Torus> LookupTable<T> {
    /// Returns the table of a function of the block values of a parameter set. `f(x)`, for `x` in
    /// `[0, block_modulus)`, fills a box of phases with `x` in its middle. A value with the
    /// padding bit set, `x + block_modulus`, gives `-f(x)`.
    pub fn from_fn(parameters: &Parameters, f: impl Fn(u64) -> i64) -> Self {
        let encoding = parameters.block_encoding();
        let one = (encoding.block_modulus() as usize, 1);
        Self::from_boxes(parameters, |x| encoding.encode(f(x)), one)
    }

    /// Returns the table of `function_count` functions of values in `[0, value_count)`, whose
    /// results are all extracted from one blind rotation (the many-LUT bootstrap of ePrint
    /// 2021/729, section 4, for few values instead of a coarser phase). The values of function `j`
    /// lie `j · value_count` boxes to the right, where coefficient `j · value_count · box` is
    /// extracted. Every output has the noise of a single bootstrap. Box `i` of the whole table has
    /// the torus element `value(i)`.
    ///
    /// Returns `None` if there are no functions, or not enough boxes for all of them.
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

    /// Returns a table with `value(i)` in box `i`, for `function_count` functions of `value_count`
    /// values each.
    fn from_boxes(
        parameters: &Parameters,
        value: impl Fn(u64) -> T,
        (value_count, function_count): (usize, usize),
    ) -> Self {
        let size = parameters.polynomial_size().get();
        let modulus = parameters.block_encoding().block_modulus();
        // The length is not 0, because a validated set has fewer values than coefficients.
        let box_len = size / modulus as usize;
        let mut polynomial: Vec<T> = (0..size).map(|j| value((j / box_len) as u64)).collect();
        // A rotation by half a box to the left puts every value in the middle of its box. The
        // coefficients that leave on the left return on the right negated, as in the ring.
        polynomial.rotate_left(box_len / 2);
        for coefficient in &mut polynomial[size - box_len / 2..] {
            *coefficient = coefficient.neg();
        }
        Self {
            polynomial,
            block_modulus: Some(modulus),
            stride: value_count * box_len,
            function_count,
            coarseness_log2: 0,
        }
    }

    /// Returns the table of the sign: `value` for phases in `[0, 1/2)`, `-value` for the others.
    pub fn sign(size: PolynomialSize, value: T) -> Self {
        Self {
            polynomial: vec![value; size.get()],
            block_modulus: None,
            stride: size.get(),
            function_count: 1,
            coarseness_log2: 0,
        }
    }

    /// Returns the table of `function_count` functions whose values take turns, so that all of them have
    /// the whole polynomial: coefficient `j · 2^θ + i` belongs to function `i`, for the least `2^θ`
    /// that is not below `function_count`, and function `i` is extracted from coefficient `i`. The modulus
    /// switch rounds exponents to multiples of `2^θ`, which multiplies its variance by `4^θ` (the
    /// many-LUT bootstrap of ePrint 2021/729, section 4).
    ///
    /// The `2^value_bits` values fill the phases in `[0, 1/2)`. Value `x` has those in
    /// `[x, x + 1) / 2^(value_bits + 1)`, where function `i` is `value(i, x)`.
    ///
    /// Returns `None` if there are no functions, or more functions and values than coefficients.
    pub fn interleaved(
        size: PolynomialSize,
        value_bits: u32,
        function_count: usize,
        value: impl Fn(usize, u64) -> T,
    ) -> Option<Self> {
        let coarseness_log2 = function_count.next_power_of_two().trailing_zeros();
        let box_log2 = size.log2().checked_sub(value_bits)?;
        if function_count == 0 || coarseness_log2 > box_log2 {
            return None;
        }
        let steps = 1 << coarseness_log2;
        let coefficient = |at: usize| match at % steps {
            function if function < function_count => value(function, (at >> box_log2) as u64),
            _ => T::ZERO,
        };
        Some(Self {
            polynomial: (0..size.get()).map(coefficient).collect(),
            block_modulus: None,
            stride: 1,
            function_count,
            coarseness_log2,
        })
    }

    /// The number of functions, which is the number of outputs of a bootstrap.
    pub fn function_count(&self) -> usize {
        self.function_count
    }

    /// The coefficients that the outputs are extracted from, in the order of the functions.
    pub(crate) fn extracted(&self) -> impl Iterator<Item = usize> {
        (0..self.function_count).map(|j| j * self.stride)
    }

    /// log2 of the number of steps of `1/2N` to a multiple of which exponents are rounded.
    pub(crate) fn coarseness_log2(&self) -> u32 {
        self.coarseness_log2
    }

    /// The number of values of the blocks that the table is for; `None` for a table that is for other
    /// phases.
    pub fn block_modulus(&self) -> Option<u64> {
        self.block_modulus
    }

    /// The coefficients of the polynomial.
    pub fn as_slice(&self) -> &[T] {
        &self.polynomial
    }
}
