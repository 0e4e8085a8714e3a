//! Homomorphic integers in radix blocks.
//!
//! An [`Integer`] is a list of [`Block`]s of a [`Circuit`], the least significant first. The
//! operators are methods of [`Circuit`]. They record lookups, which are evaluated together with
//! those of all other operators when a result is asked for.
//!
//! Sums, differences, products and weighted sums are lazy: their results are blocks that hold more
//! than a digit. The carries are moved ([`Circuit::propagate`]) when a nonlinear operator needs
//! digits, or when the next sum would no longer fit. Clear operands are integers made by
//! [`Circuit::clear`]; computations on clear values alone take no bootstrap.

// Each of these files adds operators to `Circuit`, which are built on the type and the checks below and
// on the operators of each other.
mod arithmetic;
mod bitwise;
mod boolean;
mod carry;
mod cast;
mod clear;
mod comparison;
mod division;
mod multiplication;
mod overflow;
mod selection;
mod shift;
mod sign;
pub(crate) mod sum;

use std::borrow::Cow;
use std::marker::PhantomData;

pub use bitwise::BitOp;
pub use boolean::FheBool;
pub use carry::CarryForm;
pub use clear::Clear;
pub use comparison::Comparison;
pub use division::Division;
pub use shift::Shift;
pub use sum::carry_bits;
use tfhe_sbc_core::lwe::LweCiphertext;
use thiserror::Error;

use crate::circuit::{Block, Circuit, CircuitError};

/// The reason for which an integer operator refuses its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IntegerError {
    /// The circuit refuses an input.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// The width is not between 1 and 256 bits.
    #[error("an integer has 1 to 256 bits, not {0}")]
    Width(u32),
    /// The operands have different widths, in bits.
    #[error("the operands have {0} and {1} bits: cast one to the width of the other")]
    Widths(u32, u32),
    /// The number of blocks is not the one that the width needs.
    #[error("an integer of {bits} bits has {expected} blocks at these parameters, not {found}")]
    Blocks {
        /// The width in bits.
        bits: u32,
        /// The number of blocks that the width needs.
        expected: usize,
        /// The number of blocks given.
        found: usize,
    },
    /// The operands belong to different circuits.
    #[error("an operand belongs to another circuit")]
    OtherCircuit,
    /// The numbers of integers and of weights differ.
    #[error("{0} integers have {1} weights")]
    Lengths(usize, usize),
    /// The function does not fit one lookup.
    #[error(
        "a lookup takes blocks of at most block_modulus values, or pairs of them, within the \
         noise level, to values of at most that modulus"
    )]
    Lookup,
    /// A block can have values that a digit at its place cannot have.
    #[error("a block has values that no digit at its place has")]
    Digits,
    /// The list of operands is empty.
    #[error("a list has no elements")]
    Empty,
}

mod sealed {
    pub trait Sealed {}
}

/// The kind of an integer: an unsigned number, or a signed one in two's complement.
pub trait Signedness: sealed::Sealed + Clone + std::fmt::Debug + Send + Sync {
    /// Whether the integer is in two's complement.
    const SIGNED: bool;
}

/// Unsigned numbers.
#[derive(Clone, Copy, Debug)]
pub struct Unsigned;

/// Signed numbers in two's complement.
#[derive(Clone, Copy, Debug)]
pub struct Signed;

impl sealed::Sealed for Unsigned {}
impl sealed::Sealed for Signed {}

impl Signedness for Unsigned {
    const SIGNED: bool = false;
}

impl Signedness for Signed {
    const SIGNED: bool = true;
}

/// The number of bits of an integer, from 1 to 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width(u32);

impl Width {
    /// The largest width.
    pub const MAX: Self = Self(256);

    /// Returns the width of `bits` bits.
    ///
    /// # Errors
    /// [`IntegerError::Width`] if `bits` is not between 1 and 256.
    pub const fn new(bits: u32) -> Result<Self, IntegerError> {
        if bits == 0 || bits > Self::MAX.0 {
            return Err(IntegerError::Width(bits));
        }
        Ok(Self(bits))
    }

    /// The number of bits.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// An encrypted integer of a circuit, mod 2^width. Its value is the sum of its blocks weighted by
/// powers of the message modulus, the least significant block first.
#[derive(Clone, Debug)]
pub struct Integer<S> {
    blocks: Vec<Block>,
    width: Width,
    signedness: PhantomData<S>,
}

/// An unsigned encrypted integer.
pub type FheUint = Integer<Unsigned>;
/// A signed encrypted integer.
pub type FheInt = Integer<Signed>;

impl<S: Signedness> Integer<S> {
    pub(crate) fn new(blocks: Vec<Block>, width: Width) -> Self {
        Self {
            blocks,
            width,
            signedness: PhantomData,
        }
    }

    /// The blocks, least significant first.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The blocks, least significant first.
    pub fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    /// The width.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Returns the same bits as an integer of kind `R`.
    pub fn reinterpret<R: Signedness>(self) -> Integer<R> {
        Integer::new(self.blocks, self.width)
    }
}

impl Circuit {
    /// Makes an integer of fresh ciphertexts from a device, one for each digit, the least
    /// significant first.
    ///
    /// # Errors
    /// If the number of ciphertexts is not the one that the width needs, or the circuit refuses a
    /// ciphertext.
    pub fn encrypted<S: Signedness>(
        &self,
        ciphertexts: Vec<LweCiphertext<u64>>,
        width: Width,
    ) -> Result<Integer<S>, IntegerError> {
        let (expected, found) = (self.block_count(width), ciphertexts.len());
        if found != expected {
            return Err(IntegerError::Blocks {
                bits: width.0,
                expected,
                found,
            });
        }
        let blocks = ciphertexts.into_iter().enumerate().map(|(i, lwe)| {
            let degree = self.digit_modulus(width, i) as u64 - 1;
            Ok(self.input(lwe, degree)?)
        });
        Ok(Integer::new(
            blocks.collect::<Result<_, IntegerError>>()?,
            width,
        ))
    }

    /// A stand-in for an encrypted integer of this value, for counting and rehearsing a circuit.
    pub fn stand_in_integer<S: Signedness>(
        &self,
        value: impl Into<Clear>,
        width: Width,
    ) -> Integer<S> {
        let digits = self.digits_of(value.into(), width);
        let blocks = digits.enumerate().map(|(i, digit)| {
            let degree = self.digit_modulus(width, i) - 1;
            Circuit::stand_in(self, digit as u64, degree as u64)
        });
        Integer::new(blocks.collect(), width)
    }

    /// Makes an integer of digits of this circuit, the least significant first.
    ///
    /// # Errors
    /// If the number of digits is not the one that the width needs, a block can have values that a
    /// digit at its place cannot have, or a block belongs to another circuit.
    pub fn integer_of_digits<S: Signedness>(
        &self,
        digits: Vec<Block>,
        width: Width,
    ) -> Result<Integer<S>, IntegerError> {
        let (expected, found) = (self.block_count(width), digits.len());
        if found != expected {
            return Err(IntegerError::Blocks {
                bits: width.0,
                expected,
                found,
            });
        }
        self.check_own(&digits)?;
        let is_digit = |(i, digit): (usize, &Block)| {
            digit.low() >= 0 && digit.high() < self.digit_modulus(width, i)
        };
        match digits.iter().enumerate().all(is_digit) {
            true => Ok(Integer::new(digits, width)),
            false => Err(IntegerError::Digits),
        }
    }

    /// A clear integer mod 2^width, for use as an operand.
    pub fn clear<S: Signedness>(&self, value: impl Into<Clear>, width: Width) -> Integer<S> {
        let digits = self.digits_of(value.into(), width);
        Integer::new(digits.map(Block::clear).collect(), width)
    }

    fn digits_of(&self, value: Clear, width: Width) -> impl Iterator<Item = i64> {
        let bits = self.encoding().message_bits();
        (0..self.block_count(width)).map(move |i| {
            let modulus = self.digit_modulus(width, i) as u64;
            (value.bits_from(i as u32 * bits) & (modulus - 1)) as i64
        })
    }

    /// The number of blocks of an integer of this width.
    pub fn block_count(&self, width: Width) -> usize {
        self.encoding().block_count(width.0)
    }

    /// The modulus of digit `i`: the message modulus, or less for the most significant digit.
    pub(crate) fn digit_modulus(&self, width: Width, i: usize) -> i64 {
        let bits = self.encoding().message_bits();
        1 << bits.min(width.0 - bits * i as u32)
    }

    /// Checks that the operands belong to this circuit and have the same width.
    pub(crate) fn check<S: Signedness>(
        &self,
        operands: &[&Integer<S>],
    ) -> Result<(), IntegerError> {
        for pair in operands.windows(2) {
            if pair[0].width != pair[1].width {
                return Err(IntegerError::Widths(pair[0].width.0, pair[1].width.0));
            }
        }
        self.check_own(operands.iter().flat_map(|operand| &operand.blocks))
    }

    pub(crate) fn check_own<'b>(
        &self,
        blocks: impl IntoIterator<Item = &'b Block>,
    ) -> Result<(), IntegerError> {
        match blocks.into_iter().all(|block| block.is_of(self.id())) {
            true => Ok(()),
            false => Err(IntegerError::OtherCircuit),
        }
    }

    /// Returns whether each block has room for the carry of the block before it within a lookup. No
    /// carry comes into the first block.
    fn have_room(&self, blocks: &[Block]) -> bool {
        blocks.iter().enumerate().all(|(i, block)| {
            let carry = if i == 0 { 0 } else { self.largest_carry() };
            block.low() >= 0
                && block.high() < self.block_modulus() - carry
                && block.norm_squared() < self.max_norm_squared()
        })
    }

    /// The largest carry out of a block.
    fn largest_carry(&self) -> i64 {
        (self.block_modulus() - 1) / self.message_modulus()
    }

    /// Returns the digits, with noise so small that a lookup can take the sum of `count` of them,
    /// however correlated, and a bootstrap output besides.
    pub(crate) fn digits<S: Signedness>(&self, integer: &Integer<S>, count: u64) -> Integer<S> {
        self.as_digits(integer, count).into_owned()
    }

    /// Does the same as [`digits`](Self::digits), without a copy of an integer that has such
    /// digits.
    fn as_digits<'i, S: Signedness>(
        &self,
        integer: &'i Integer<S>,
        count: u64,
    ) -> Cow<'i, Integer<S>> {
        let mut digits = match self.are_digits(integer) {
            true => Cow::Borrowed(integer),
            false => Cow::Owned(self.propagate_unchecked(integer)),
        };
        let limit = ((self.max_norm_squared() - 1) / count.pow(2)).max(1);
        for at in 0..integer.blocks.len() {
            if digits.blocks[at].norm_squared() > limit {
                let refreshed = self.refresh(&digits.blocks[at]);
                digits.to_mut().blocks[at] = refreshed;
            }
        }
        digits
    }

    /// Returns whether each block has the values of a digit at its place.
    fn are_digits<S: Signedness>(&self, integer: &Integer<S>) -> bool {
        let mut blocks = integer.blocks.iter().enumerate();
        blocks.all(|(i, block)| self.is_digit(block, self.digit_modulus(integer.width, i)))
    }
}
