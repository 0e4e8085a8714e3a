//! Plaintexts, checked before any randomness is drawn and anything is sent.

use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::memcheck::disclosed;
use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};
use tfhe_sbc_core::simd::{Isa, place_on_line};
use tfhe_sbc_core::torus::Torus;
use tfhe_sbc_core::wire::glwe::MAX_ELEMENTS;

use crate::columns::ColumnPolynomial;
use crate::error::DeviceError;

/// Checked plaintexts. The torus element of a value is `low + 2^step_log2 · value`, computed without
/// a branch on the value.
#[derive(Clone, Copy)]
pub struct Plaintexts<'v, T> {
    values: &'v [u8],
    low: T,
    step_log2: u32,
}

impl<'v, T: Torus> Plaintexts<'v, T> {
    /// Checks radix blocks, each below the message modulus.
    pub(crate) fn blocks(parameters: &Parameters, blocks: &'v [u8]) -> Result<Self, DeviceError> {
        let encoding = parameters.block_encoding();
        check(
            parameters,
            PlaintextKind::Radix,
            blocks,
            encoding.message_modulus(),
        )?;
        Ok(Self {
            values: blocks,
            low: T::ZERO,
            step_log2: T::BITS - encoding.plaintext_bits(),
        })
    }

    /// Checks bits, each 0 or 1.
    pub(crate) fn bits(parameters: &Parameters, bits: &'v [u8]) -> Result<Self, DeviceError> {
        check(parameters, PlaintextKind::Boolean, bits, 2)?;
        Ok(Self {
            values: bits,
            low: boolean::encode(false),
            // A quarter of the torus, from -1/8 to 1/8.
            step_log2: T::BITS - 2,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Splits the plaintexts by polynomial: `size` each, and the rest in the last.
    pub(crate) fn polynomials(self, size: usize) -> impl Iterator<Item = Self> {
        self.values
            .chunks(size)
            .map(move |values| Self { values, ..self })
    }

    /// Overwrites `body` with the torus elements, and with zeros behind them.
    pub(crate) fn encode_into(&self, body: &mut [T]) {
        let (used, rest) = body.split_at_mut(self.values.len());
        place_on_line(Isa::detect(), used, self.values, self.low, self.step_log2);
        rest.fill(T::ZERO);
    }
}

/// The plaintexts of one polynomial of either form of message.
#[derive(Clone, Copy)]
pub enum PolynomialPlaintexts<'v, T> {
    /// Blocks or bits.
    Blocks(Plaintexts<'v, T>),
    /// Parts of columns.
    Columns(&'v ColumnPolynomial<'v>),
}

impl<T: Torus> PolynomialPlaintexts<'_, T> {
    /// The number of used coefficients.
    pub(crate) fn used(&self) -> usize {
        match self {
            Self::Blocks(plaintexts) => plaintexts.len(),
            Self::Columns(plaintexts) => plaintexts.used(),
        }
    }

    /// Overwrites `body` with the torus elements, and with zeros behind them.
    pub(crate) fn encode_into(&self, body: &mut [T]) {
        match self {
            Self::Blocks(plaintexts) => plaintexts.encode_into(body),
            Self::Columns(plaintexts) => plaintexts.encode_into(body),
        }
    }
}

fn check(
    parameters: &Parameters,
    kind: PlaintextKind,
    values: &[u8],
    modulus: u64,
) -> Result<(), DeviceError> {
    if parameters.plaintext() != kind {
        return Err(DeviceError::PlaintextKind);
    }
    if values.is_empty() || values.len() > MAX_ELEMENTS {
        return Err(DeviceError::ElementCount(values.len()));
    }
    // The maximum is found with vector instructions; its index is needed only if it is too large.
    let largest = values.iter().fold(0, |largest, &value| value.max(largest));
    if disclosed(u64::from(largest) < modulus) {
        return Ok(());
    }
    match values.iter().position(|&value| u64::from(value) >= modulus) {
        None => Ok(()),
        Some(index) => Err(DeviceError::BlockOutOfRange { index, modulus }),
    }
}
