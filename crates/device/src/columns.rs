//! Plaintexts of columns that have encodings of their own, checked before any randomness is drawn.

use tfhe_sbc_core::encoding::{
    BodyRounding, CompactEncoding, Derivation, ErrorFeedback, FixedPoint,
};
use tfhe_sbc_core::memcheck::disclosed;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::simd::{Isa, place_on_line};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::columns::{
    ElementEncoding, MAX_SEGMENTS, Run, Segment, has_column_lists, runs_of_polynomial,
};
use tfhe_sbc_core::wire::glwe::MAX_ELEMENTS;

use crate::error::DeviceError;
use crate::output::Output;

/// The values of one column of an upload, row after row. They are borrowed, and encoded polynomial by
/// polynomial, so that a long column needs no memory besides its values.
#[derive(Clone, Copy)]
pub enum ColumnValues<'v> {
    /// Radix blocks, each below the message modulus, as [`encode_readings`](crate::encode_readings)
    /// makes them.
    Blocks(&'v [u8]),
    /// Codes, each below `2^bits` of the encoding.
    Codes(CompactEncoding, &'v [u64]),
    /// Readings, which become the codes of the fixed-point encoding. Its width is that of the compact
    /// encoding.
    Readings(CompactEncoding, FixedPoint, &'v [f64]),
    /// The codes that are derived from the codes of readings. Their width is that of the compact encoding.
    Derived(CompactEncoding, Derivation, FixedPoint, &'v [f64]),
    /// The codes that are derived from codes of this number of bits. Their width is that of the compact encoding.
    DerivedCodes(CompactEncoding, Derivation, u32, &'v [u64]),
}

/// The columns of a message, in their order, wherever their values come from.
pub trait ColumnSource {
    /// The number of columns.
    fn column_count(&self) -> usize;

    /// Returns column `index`, counted from 0 and below the number of columns. Every call of one index
    /// returns the same values.
    fn column(&self, index: usize) -> ColumnValues<'_>;
}

impl ColumnSource for &[ColumnValues<'_>] {
    fn column_count(&self) -> usize {
        self.len()
    }

    fn column(&self, index: usize) -> ColumnValues<'_> {
        self.get(index)
            .copied()
            .unwrap_or(ColumnValues::Blocks(&[]))
    }
}

impl ColumnValues<'_> {
    /// The number of elements.
    #[expect(
        clippy::len_without_is_empty,
        reason = "no column of an upload is empty"
    )]
    pub const fn len(&self) -> usize {
        match self {
            Self::Blocks(blocks) => blocks.len(),
            Self::Codes(_, codes) | Self::DerivedCodes(_, _, _, codes) => codes.len(),
            Self::Readings(_, _, readings) | Self::Derived(_, _, _, readings) => readings.len(),
        }
    }

    /// The encoding of the elements.
    pub const fn encoding(&self) -> ElementEncoding {
        match self {
            Self::Blocks(_) => ElementEncoding::Radix,
            Self::Codes(encoding, _)
            | Self::Readings(encoding, ..)
            | Self::Derived(encoding, ..)
            | Self::DerivedCodes(encoding, ..) => ElementEncoding::Compact(*encoding),
        }
    }

    fn segment(&self) -> Segment {
        Segment {
            encoding: self.encoding(),
            count: u32::try_from(self.len()).unwrap_or(u32::MAX),
        }
    }

    fn check(&self, parameters: &Parameters) -> Result<(), DeviceError> {
        match self {
            Self::Blocks(blocks) => {
                let modulus = parameters.block_encoding().message_modulus();
                let largest = blocks.iter().fold(0, |largest, &block| block.max(largest));
                below(u64::from(largest), modulus, || {
                    blocks.iter().position(|&block| u64::from(block) >= modulus)
                })
            }
            Self::Codes(encoding, codes) => check_codes(encoding.bits(), codes),
            Self::Readings(encoding, fixed_point, readings) => {
                check_readings(encoding, fixed_point.bits(), fixed_point, readings)
            }
            Self::Derived(encoding, derivation, fixed_point, readings) => {
                let bits = derivation.bits(fixed_point.bits());
                check_readings(encoding, bits, fixed_point, readings)
            }
            Self::DerivedCodes(encoding, derivation, bits, codes) => {
                // Codes of a column with derived ones have a compact encoding, too.
                let bits = (*bits).min(CompactEncoding::MAX_BITS);
                check_width(encoding, derivation.bits(bits))?;
                check_codes(bits, codes)
            }
        }
    }

    /// Overwrites `out` with the torus elements from number `first` on.
    fn encode_into<T: Torus>(&self, parameters: &Parameters, first: usize, out: &mut [T]) {
        let range = first..first + out.len();
        match self {
            Self::Blocks(blocks) => {
                let step_log2 = T::BITS - parameters.block_encoding().plaintext_bits();
                place_on_line(Isa::detect(), out, &blocks[range], T::ZERO, step_log2);
            }
            Self::Codes(encoding, codes) => {
                for (out, &code) in out.iter_mut().zip(&codes[range]) {
                    *out = encoding.encode(code);
                }
            }
            Self::Readings(encoding, fixed_point, readings) => {
                for (out, &reading) in out.iter_mut().zip(&readings[range]) {
                    // `check` has refused readings without a code.
                    *out = encoding.encode(fixed_point.encode(reading).unwrap_or(0));
                }
            }
            Self::Derived(encoding, derivation, fixed_point, readings) => {
                for (out, &reading) in out.iter_mut().zip(&readings[range]) {
                    let code = fixed_point.encode(reading).unwrap_or(0);
                    *out = encoding.encode(derivation.of(code));
                }
            }
            Self::DerivedCodes(encoding, derivation, _, codes) => {
                for (out, &code) in out.iter_mut().zip(&codes[range]) {
                    *out = encoding.encode(derivation.of(code));
                }
            }
        }
    }
}

/// Checks that readings have codes, and that the codes that are sent have the width of `encoding`.
fn check_readings(
    encoding: &CompactEncoding,
    bits: u32,
    fixed_point: &FixedPoint,
    readings: &[f64],
) -> Result<(), DeviceError> {
    check_width(encoding, bits)?;
    for (index, &reading) in readings.iter().enumerate() {
        fixed_point
            .encode(reading)
            .map_err(|error| DeviceError::Reading { index, error })?;
    }
    Ok(())
}

/// Checks that the codes that are sent have the width of `encoding`.
fn check_width(encoding: &CompactEncoding, bits: u32) -> Result<(), DeviceError> {
    match encoding.bits() == bits {
        true => Ok(()),
        false => Err(DeviceError::CodeWidth {
            compact: encoding.bits(),
            fixed_point: bits,
        }),
    }
}

/// Checks that codes have at most `bits` bits, which are fewer than 64.
fn check_codes(bits: u32, codes: &[u64]) -> Result<(), DeviceError> {
    let modulus = 1 << bits;
    // Codes are below the modulus if and only if their union of bits is.
    let union = codes.iter().fold(0, |union, code| union | code);
    below(union, modulus, || {
        codes.iter().position(|&code| code >= modulus)
    })
}

/// Checks that all values are below `modulus`, if `largest` is not below it only where one is not.
fn below(
    largest: u64,
    modulus: u64,
    find: impl FnOnce() -> Option<usize>,
) -> Result<(), DeviceError> {
    if disclosed(largest < modulus) {
        return Ok(());
    }
    match find() {
        None => Ok(()),
        Some(index) => Err(DeviceError::BlockOutOfRange { index, modulus }),
    }
}

/// Checked columns of a message.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'c> {
    parameters: Parameters,
    columns: &'c dyn ColumnSource,
    element_count: usize,
}

impl<'c> Columns<'c> {
    pub(crate) fn check(
        parameters: &Parameters,
        columns: &'c dyn ColumnSource,
    ) -> Result<Self, DeviceError> {
        if !has_column_lists(parameters) {
            return Err(DeviceError::PlaintextKind);
        }
        let count = columns.column_count();
        if count == 0 || count > MAX_SEGMENTS {
            return Err(DeviceError::ColumnCount(count));
        }
        let lens = (0..count).map(|index| columns.column(index).len());
        let element_count = lens.clone().fold(0, usize::saturating_add);
        if lens.clone().any(|len| len == 0) || element_count > MAX_ELEMENTS {
            return Err(DeviceError::ElementCount(element_count));
        }
        for column in 0..count {
            columns
                .column(column)
                .check(parameters)
                .map_err(|error| match error {
                    DeviceError::Reading { index, error } => DeviceError::ColumnReading {
                        column,
                        index,
                        error,
                    },
                    error => error,
                })?;
        }
        Ok(Self {
            parameters: *parameters,
            columns,
            element_count,
        })
    }

    pub(crate) fn element_count(&self) -> usize {
        self.element_count
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment> + Clone + use<'c> {
        segments_of(self.columns)
    }

    /// Returns the plaintexts of each polynomial.
    pub(crate) fn polynomials(&self) -> impl Iterator<Item = ColumnPolynomial<'c>> + use<'c> {
        let columns = *self;
        let size = self.parameters.polynomial_size().get();
        (0..self.element_count.div_ceil(size)).map(move |index| ColumnPolynomial { columns, index })
    }
}

/// Returns the segments of columns, in their order.
pub(crate) fn segments_of<'c>(
    columns: &'c dyn ColumnSource,
) -> impl Iterator<Item = Segment> + Clone + use<'c> {
    (0..columns.column_count()).map(|index| columns.column(index).segment())
}

/// The plaintexts of one polynomial of a message.
#[derive(Clone, Copy)]
pub struct ColumnPolynomial<'c> {
    columns: Columns<'c>,
    index: usize,
}

impl ColumnPolynomial<'_> {
    fn runs(&self) -> impl Iterator<Item = (Run, ColumnValues<'_>)> {
        let runs = runs_of_polynomial(
            &self.columns.parameters,
            self.columns.segments(),
            self.index,
        );
        runs.map(|run| (run, self.columns.columns.column(run.segment)))
    }

    /// The number of used coefficients.
    pub(crate) fn used(&self) -> usize {
        self.runs().map(|(run, _)| run.count).sum()
    }

    /// Overwrites `body` with the torus elements, and with zeros behind them.
    pub(crate) fn encode_into<T: Torus>(&self, body: &mut [T]) {
        let mut end = 0;
        for (run, values) in self.runs() {
            end = run.start + run.count;
            let body = &mut body[run.start..end];
            values.encode_into(&self.columns.parameters, run.first, body);
        }
        body[end..].fill(T::ZERO);
    }

    /// Rounds the bodies of a finished ciphertext as their columns say, and writes them.
    pub(crate) fn write<T: Torus>(
        &self,
        feedback: &mut ColumnFeedback<T>,
        body: &mut [T],
        out: &mut dyn Output<T>,
    ) -> Result<(), DeviceError> {
        for (run, values) in self.runs() {
            let body = &mut body[run.start..][..run.count];
            if let ElementEncoding::Compact(encoding) = values.encoding()
                && encoding.rounding() == BodyRounding::ErrorFeedback
            {
                feedback.of(run.segment).round(body, run.body_bits);
            }
            out.packed(body, run.body_bits)?;
        }
        Ok(())
    }
}

/// The state of error feedback from polynomial to polynomial. Columns follow one another, so there is
/// one at a time.
pub(crate) struct ColumnFeedback<T> {
    segment: usize,
    state: ErrorFeedback<T>,
}

impl<T: Torus> ColumnFeedback<T> {
    pub(crate) const fn new() -> Self {
        Self {
            segment: 0,
            state: ErrorFeedback::new(),
        }
    }

    /// The state of a segment, which begins anew if it was that of another one.
    fn of(&mut self, segment: usize) -> &mut ErrorFeedback<T> {
        if self.segment != segment {
            *self = Self {
                segment,
                state: ErrorFeedback::new(),
            };
        }
        &mut self.state
    }
}
