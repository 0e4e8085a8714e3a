//! Homomorphic integers in radix blocks.
//!
//! An [`Integer`] is a list of [`Block`]s, least significant first, each an LWE
//! ciphertext under the big key of a value below the message modulus. The operators
//! are methods of [`Integers`], over slices: the bootstraps of a whole batch advance
//! together.
//!
//! Every block knows the largest value that it can hold (its *degree*) and its *noise
//! level*, the sum of absolute weights over bootstrap outputs and uploads in it. An operator
//! refreshes what would leave the parameter set's budget, and every lookup checks that
//! its input is within it, so no sequence of these operators overflows a block.

mod arithmetic;
mod comparison;
mod logic;
mod selection;
mod sum;

use std::borrow::Cow;
use std::marker::PhantomData;

pub use comparison::Comparison;
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::PlaintextKind;
use thiserror::Error;

use crate::bootstrap::{Evaluator, Job};
use crate::lookup_table::LookupTable;

/// What integer operators refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IntegerError {
    /// The parameter set does not carry these operators.
    #[error(
        "the parameter set does not carry radix integers: they need a radix set with at least as \
         many carry bits as message bits, at least 2 message bits, and a noise level of at least \
         5 and of the largest digit"
    )]
    Parameters,
    /// Operands of different widths.
    #[error("the operands have {0} and {1} blocks: cast one to the width of the other")]
    Widths(usize, usize),
    /// Nothing to work on.
    #[error("an integer or a list has no elements")]
    Empty,
    /// A ciphertext of another dimension.
    #[error(
        "a ciphertext has dimension {found}, the key's is {expected}: it belongs to another key"
    )]
    Dimension {
        /// The key's big LWE dimension.
        expected: usize,
        /// The ciphertext's.
        found: usize,
    },
}

/// One digit of an integer.
#[derive(Clone, Debug)]
pub struct Block<T> {
    lwe: LweCiphertext<T>,
    degree: u64,
    noise_level: u32,
}

impl<T: MaskTorus> Block<T> {
    /// The ciphertext, under the big key.
    pub fn ciphertext(&self) -> &LweCiphertext<T> {
        &self.lwe
    }

    /// The largest value that it can hold.
    pub fn degree(&self) -> u64 {
        self.degree
    }

    /// The sum of absolute weights over bootstrap outputs and uploads in it.
    pub fn noise_level(&self) -> u32 {
        self.noise_level
    }

    fn add_assign(&mut self, other: &Self) {
        self.lwe.add_assign(&other.lwe);
        self.degree += other.degree;
        self.noise_level += other.noise_level;
    }

    /// Its ciphertext as the start of a linear combination.
    fn combination(&self) -> Combination<T> {
        Combination {
            lwe: self.lwe.clone(),
            noise_level: self.noise_level,
        }
    }
}

/// A linear combination of blocks on its way to a lookup: any number below the block
/// modulus in absolute value, with the noise level that its terms add up to.
#[derive(Clone)]
struct Combination<T> {
    lwe: LweCiphertext<T>,
    noise_level: u32,
}

impl<T: MaskTorus> Combination<T> {
    fn add_assign(&mut self, other: &Self) {
        self.lwe.add_assign(&other.lwe);
        self.noise_level += other.noise_level;
    }

    fn sub_assign(&mut self, other: &Self) {
        self.lwe.sub_assign(&other.lwe);
        self.noise_level += other.noise_level;
    }

    fn add_plaintext(&mut self, plaintext: T) {
        self.lwe.add_plaintext(plaintext);
    }
}

mod sealed {
    pub trait Sealed {}
}

/// Whether an integer's blocks are a plain number or its two's complement.
pub trait Signedness: sealed::Sealed + Clone + Send + Sync {
    /// Two's complement.
    const SIGNED: bool;
}

/// Numbers from 0.
#[derive(Clone, Debug)]
pub struct Unsigned;

/// Two's complement numbers.
#[derive(Clone, Debug)]
pub struct Signed;

impl sealed::Sealed for Unsigned {}
impl sealed::Sealed for Signed {}

impl Signedness for Unsigned {
    const SIGNED: bool = false;
}

impl Signedness for Signed {
    const SIGNED: bool = true;
}

/// An encrypted integer: blocks below the message modulus, least significant first.
#[derive(Clone, Debug)]
pub struct Integer<S, T> {
    blocks: Vec<Block<T>>,
    signedness: PhantomData<S>,
}

/// An unsigned encrypted integer over a 64-bit torus.
pub type FheUint = Integer<Unsigned, u64>;
/// A signed encrypted integer over a 64-bit torus.
pub type FheInt = Integer<Signed, u64>;

impl<S: Signedness, T: MaskTorus> Integer<S, T> {
    fn new(blocks: Vec<Block<T>>) -> Self {
        Self {
            blocks,
            signedness: PhantomData,
        }
    }

    /// The blocks, least significant first.
    pub fn blocks(&self) -> &[Block<T>] {
        &self.blocks
    }
}

/// Two operands of one width.
pub type Pair<'a, S, T> = (&'a Integer<S, T>, &'a Integer<S, T>);
/// A comparison and its operands.
pub type Compared<'a, S, T> = (Comparison, &'a Integer<S, T>, &'a Integer<S, T>);
/// A condition, what it chooses if it holds, and what if it does not.
pub type Choice<'a, S, T> = (&'a EncryptedBool<T>, &'a Integer<S, T>, &'a Integer<S, T>);
/// A minimum and a maximum.
pub type Extremes<S, T> = (Integer<S, T>, Integer<S, T>);

/// An encrypted truth value: a block that holds 0 or 1.
#[derive(Clone, Debug)]
pub struct EncryptedBool<T> {
    block: Block<T>,
}

impl<T: MaskTorus> EncryptedBool<T> {
    /// The block.
    pub fn block(&self) -> &Block<T> {
        &self.block
    }
}

/// The integer operators of an evaluator.
pub struct Integers<'e, 'k, T> {
    evaluator: &'e Evaluator<'k, T>,
    encoding: BlockEncoding,
    max_noise_level: u32,
    identity: LookupTable<T>,
}

impl<'e, 'k, T: MaskTorus> Integers<'e, 'k, T> {
    /// Operators over an evaluator whose parameter set carries them.
    pub fn new(evaluator: &'e Evaluator<'k, T>) -> Result<Self, IntegerError> {
        let parameters = evaluator.parameters();
        let encoding = parameters.block_encoding();
        // What the operators of this module add up before a bootstrap.
        let carried = parameters.plaintext == PlaintextKind::Radix
            && parameters.message_bits.0 >= 2
            && parameters.carry_bits.0 >= parameters.message_bits.0
            && parameters.max_noise_level >= 5
            && u64::from(parameters.max_noise_level) >= encoding.message_modulus() - 1;
        if !carried {
            return Err(IntegerError::Parameters);
        }
        Ok(Self {
            evaluator,
            encoding,
            max_noise_level: parameters.max_noise_level,
            identity: LookupTable::from_fn(parameters, |x| x as i64),
        })
    }

    /// The encoding of blocks.
    pub fn encoding(&self) -> BlockEncoding {
        self.encoding
    }

    /// An integer of ciphertexts that a device has encrypted, least significant block
    /// first, each holding a value below the message modulus. They must be fresh: what
    /// is given here counts as noise level 1, for which the set's `body_bits` are chosen.
    pub fn from_fresh<S: Signedness>(
        &self,
        ciphertexts: Vec<LweCiphertext<T>>,
    ) -> Result<Integer<S, T>, IntegerError> {
        let expected = self.evaluator.parameters().big_lwe_dimension().0;
        if ciphertexts.is_empty() {
            return Err(IntegerError::Empty);
        }
        if let Some(wrong) = ciphertexts.iter().find(|c| c.dimension().0 != expected) {
            return Err(IntegerError::Dimension {
                expected,
                found: wrong.dimension().0,
            });
        }
        let degree = self.encoding.message_modulus() - 1;
        Ok(Integer::new(
            ciphertexts
                .into_iter()
                .map(|lwe| Block {
                    lwe,
                    degree,
                    noise_level: 1,
                })
                .collect(),
        ))
    }

    /// A clear integer of `block_count` blocks, to take part in computations: `value`
    /// mod `message_modulus^block_count`. A negative value is its two's complement.
    pub fn trivial<S: Signedness>(&self, value: i64, block_count: usize) -> Integer<S, T> {
        let bits = self.encoding.message_bits();
        let digit = |i: usize| {
            let shift = (i as u32 * bits).min(63);
            (value >> shift) as u64 & (self.encoding.message_modulus() - 1)
        };
        Integer::new(
            (0..block_count)
                .map(|i| self.trivial_block(digit(i)))
                .collect(),
        )
    }

    fn trivial_block(&self, value: u64) -> Block<T> {
        let dimension = self.evaluator.parameters().big_lwe_dimension();
        Block {
            lwe: LweCiphertext::trivial(dimension, self.encoding.encode(value as i64)),
            degree: value,
            noise_level: 0,
        }
    }

    /// The ciphertexts of blocks under the small key: what goes back to the key owner.
    pub fn export<'a>(
        &self,
        blocks: impl IntoIterator<Item = &'a Block<T>>,
    ) -> Vec<LweCiphertext<u32>> {
        let ciphertexts: Vec<_> = blocks.into_iter().map(|block| block.lwe.clone()).collect();
        self.evaluator.switch_all(&ciphertexts)
    }

    fn table(&self, f: impl Fn(u64) -> i64) -> LookupTable<T> {
        LookupTable::from_fn(self.evaluator.parameters(), f)
    }

    /// Looks combinations up in tables, each with the largest value that its table gives.
    ///
    /// # Panics
    /// If an operator has let a noise level grow past the parameter set's: a defect of
    /// this module, and better seen than decrypted.
    fn look_up(&self, jobs: Vec<(Combination<T>, &LookupTable<T>, u64)>) -> Vec<Block<T>> {
        let degrees: Vec<u64> = jobs.iter().map(|job| job.2).collect();
        let jobs: Vec<Job<'_, T, T>> = jobs
            .into_iter()
            .map(|(input, table, _)| {
                assert!(
                    input.noise_level <= self.max_noise_level,
                    "noise level over budget"
                );
                Job {
                    input: input.lwe,
                    table,
                }
            })
            .collect();
        self.evaluator
            .bootstrap_all(&jobs)
            .into_iter()
            .zip(degrees)
            .map(|(lwe, degree)| Block {
                lwe,
                degree,
                noise_level: 1,
            })
            .collect()
    }

    /// The integers with every block's noise level at most `limit` (at least 1):
    /// those above it are bootstrapped, all in one batch.
    fn with_noise_at_most<'a, S: Signedness + 'a>(
        &self,
        integers: impl IntoIterator<Item = &'a Integer<S, T>>,
        limit: u32,
    ) -> Vec<Cow<'a, Integer<S, T>>> {
        let mut integers: Vec<_> = integers.into_iter().map(Cow::Borrowed).collect();
        let mut places = Vec::new();
        let mut jobs = Vec::new();
        for (i, integer) in integers.iter().enumerate() {
            for (j, block) in integer.blocks.iter().enumerate() {
                if block.noise_level > limit {
                    places.push((i, j));
                    jobs.push((block.combination(), &self.identity, block.degree));
                }
            }
        }
        for ((i, j), block) in places.into_iter().zip(self.look_up(jobs)) {
            integers[i].to_mut().blocks[j] = block;
        }
        integers
    }
}

/// Checks that both operands of every pair have blocks, and the same number of them.
fn check_widths<S, T>(pairs: &[Pair<'_, S, T>]) -> Result<(), IntegerError> {
    for (a, b) in pairs {
        if a.blocks.len() != b.blocks.len() {
            return Err(IntegerError::Widths(a.blocks.len(), b.blocks.len()));
        }
        if a.blocks.is_empty() {
            return Err(IntegerError::Empty);
        }
    }
    Ok(())
}
