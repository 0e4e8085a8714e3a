//! LWE ciphertexts `(a_0, …, a_{n-1}, b)` with phase `b - ⟨a, s⟩`, and their secret keys.

use alloc::vec::Vec;

use thiserror::Error;
use zeroize::Zeroizing;

use crate::dimensions::LweDimension;
use crate::memcheck::disclosed;
use crate::random::{self, Expander, NoiseDistribution};
use crate::torus::Torus;

/// An LWE ciphertext: the mask, then the body, in one vector of `n + 1` scalars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LweCiphertext<T> {
    data: Vec<T>,
}

impl<T: Torus> LweCiphertext<T> {
    /// Makes the ciphertext with zero mask, which everyone can read: a plaintext that takes
    /// part in computations.
    pub fn trivial(dimension: LweDimension, plaintext: T) -> Self {
        let mut data = alloc::vec![T::ZERO; dimension.0 + 1];
        data[dimension.0] = plaintext;
        Self { data }
    }

    /// Makes a ciphertext from mask and body in one vector. Returns `None` if it is empty.
    pub fn from_vec(data: Vec<T>) -> Option<Self> {
        (!data.is_empty()).then_some(Self { data })
    }

    /// The number of mask scalars.
    pub fn dimension(&self) -> LweDimension {
        LweDimension(self.data.len() - 1)
    }

    /// The mask and the body.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// The mask and the body.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The mask.
    pub fn mask(&self) -> &[T] {
        &self.data[..self.data.len() - 1]
    }

    /// The body.
    pub fn body(&self) -> T {
        self.data[self.data.len() - 1]
    }

    /// Adds a plaintext.
    pub fn add_plaintext(&mut self, plaintext: T) {
        if let Some(body) = self.data.last_mut() {
            *body = body.add(plaintext);
        }
    }

    /// Adds another ciphertext under the same key.
    ///
    /// # Panics
    /// If the dimensions differ.
    pub fn add_assign(&mut self, other: &Self) {
        self.zip(other, T::add);
    }

    /// Subtracts another ciphertext under the same key.
    ///
    /// # Panics
    /// If the dimensions differ.
    pub fn sub_assign(&mut self, other: &Self) {
        self.zip(other, T::sub);
    }

    /// Negates the ciphertext.
    pub fn neg_assign(&mut self) {
        self.data.iter_mut().for_each(|x| *x = x.neg());
    }

    /// Multiplies the ciphertext by a signed integer.
    pub fn mul_assign(&mut self, factor: i64) {
        let factor = T::from_i64(factor);
        self.data.iter_mut().for_each(|x| *x = x.mul(factor));
    }

    /// Adds `factor · other`, where `other` is under the same key.
    ///
    /// # Panics
    /// If the dimensions differ.
    pub fn add_scaled(&mut self, other: &Self, factor: i64) {
        let factor = T::from_i64(factor);
        self.zip(other, |x, y| x.add(y.mul(factor)));
    }

    fn zip(&mut self, other: &Self, op: impl Fn(T, T) -> T) {
        assert_eq!(
            self.data.len(),
            other.data.len(),
            "LWE ciphertexts of different dimensions"
        );
        for (x, &y) in self.data.iter_mut().zip(&other.data) {
            *x = op(*x, y);
        }
    }
}

/// The reason why coefficients are not a small LWE key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LweKeyError {
    /// The number of coefficients is not a multiple of the block size.
    #[error("the dimension of an LWE key is not a multiple of its block size")]
    Dimension,
    /// A coefficient is neither 0 nor 1.
    #[error("an LWE key has a coefficient that is neither 0 nor 1")]
    Coefficient,
    /// A block has two ones or more.
    #[error("an LWE key has a block with more than a single 1")]
    Block,
    /// There are more ones than the mean `n/(ℓ+1)`, for blocks of size ℓ above 1. For such blocks the
    /// noise of a mean-compensated modulus switch grows with the number of ones, so that a key above
    /// the mean would fail more often than its parameter set states.
    #[error("an LWE key of blocks has more ones than are in a key on average")]
    Weight,
}

fn is_made_of_blocks(dimension: usize, block_size: u32) -> bool {
    block_size > 0 && dimension.is_multiple_of(block_size as usize)
}

/// Returns whether a key of zeros and ones has more ones than the mean, and discloses it. Constant-time,
/// except for the outcome.
fn is_heavy(coefficients: &[i8], block_size: u32) -> bool {
    let weight: usize = coefficients.iter().map(|&bit| usize::from(bit as u8)).sum();
    disclosed(weight * (block_size as usize + 1) > coefficients.len())
}

/// Draws a uniform number below `bound`, 1 to 256: reads bytes of the stream until one is below the
/// largest multiple of `bound`. Constant-time in the result; the bytes that are passed over are not
/// part of it.
fn draw_below(bound: u32, expander: &mut impl Expander) -> u32 {
    let mut byte = Zeroizing::new([0]);
    loop {
        expander.fill(&mut *byte);
        let drawn = u32::from(byte[0]);
        if disclosed(drawn < 256 - 256 % bound) {
            return remainder(drawn, bound);
        }
    }
}

/// Returns `value % bound` for a value below 256 and a bound of 1 to 256, without dividing the value:
/// the multiplication by ⌊2^16/bound⌋ + 1 is off by less than 1/bound. Constant-time in the value.
fn remainder(value: u32, bound: u32) -> u32 {
    let reciprocal = (1 << 16) / bound + 1;
    value - ((value * reciprocal) >> 16) * bound
}

/// Overwrites a block with zeros and a 1 at `place`; with zeros only if the block ends before it.
/// Constant-time in the place.
fn fill_block(block: &mut [i8], place: u32) {
    for (i, coefficient) in (0u32..).zip(block) {
        // The top bit of 0 - 1, and of no other difference.
        *coefficient = ((i ^ place).wrapping_sub(1) >> 31) as i8;
    }
}

/// An LWE secret key: a binary small key, or the coefficients of a GLWE key, which are binary or
/// ternary. Zeroized on drop; `Debug` shows the dimension only.
pub struct LweSecretKey {
    pub(crate) coefficients: Zeroizing<Vec<i8>>,
}

impl LweSecretKey {
    /// Draws a key of blocks of `block_size` coefficients, each uniform over the zero block
    /// and those with a single 1 (ePrint 2023/958, section 3). Blocks of 1 make a uniform
    /// binary key.
    ///
    /// Keys of larger blocks are drawn until they are not too heavy ([`LweKeyError::Weight`]), twice on
    /// average, which costs about one bit of entropy.
    ///
    /// Constant-time in the key. Keys that are too heavy are drawn again, and for block sizes other
    /// than 1 and 3 bytes of the stream are passed over, which takes time but depends on nothing
    /// that is in the key.
    ///
    /// # Panics
    /// If the dimension is not a multiple of `block_size`.
    pub fn generate(
        dimension: LweDimension,
        block_size: u32,
        expander: &mut impl Expander,
    ) -> Self {
        assert!(
            is_made_of_blocks(dimension.0, block_size),
            "blocks of {block_size} in dimension {}",
            dimension.0
        );
        let mut coefficients = Zeroizing::new(alloc::vec![0; dimension.0]);
        if block_size == 1 {
            random::fill_binary(expander, &mut coefficients);
            return Self { coefficients };
        }
        loop {
            for block in coefficients.chunks_exact_mut(block_size as usize) {
                fill_block(block, draw_below(block_size + 1, expander));
            }
            if !is_heavy(&coefficients, block_size) {
                return Self { coefficients };
            }
        }
    }

    /// Makes a key from coefficients in `{0, 1}`, in blocks of `block_size`.
    ///
    /// Constant-time, except that the key may be refused.
    ///
    /// # Errors
    /// A [`LweKeyError`] that says what is wrong with the coefficients.
    pub fn from_coefficients(
        coefficients: Zeroizing<Vec<i8>>,
        block_size: u32,
    ) -> Result<Self, LweKeyError> {
        if !is_made_of_blocks(coefficients.len(), block_size) {
            return Err(LweKeyError::Dimension);
        }
        // All bits but the lowest of all coefficients, and of the numbers of ones of all blocks.
        let other_bits = |all: i8, value: i8| all | (value & !1);
        if disclosed(coefficients.iter().copied().fold(0, other_bits) != 0) {
            return Err(LweKeyError::Coefficient);
        }
        let in_one_block = coefficients
            .chunks_exact(block_size as usize)
            .map(|block| block.iter().map(|&bit| u32::from(bit as u8)).sum::<u32>())
            .fold(0, |all, ones| all | (ones >> 1));
        if disclosed(in_one_block != 0) {
            return Err(LweKeyError::Block);
        }
        if block_size > 1 && is_heavy(&coefficients, block_size) {
            return Err(LweKeyError::Weight);
        }
        Ok(Self { coefficients })
    }

    /// The dimension.
    pub fn dimension(&self) -> LweDimension {
        LweDimension(self.coefficients.len())
    }

    /// The coefficients: each 0 or 1, or, of a ternary GLWE key, -1, 0 or 1.
    pub fn coefficients(&self) -> &[i8] {
        &self.coefficients
    }

    /// Returns `⟨mask, s⟩`. Constant-time.
    ///
    /// # Panics
    /// If the mask's length is not the key's dimension.
    pub fn mask_product<T: Torus>(&self, mask: &[T]) -> T {
        assert_eq!(
            mask.len(),
            self.coefficients.len(),
            "LWE mask and key differ in dimension"
        );
        mask.iter()
            .zip(self.coefficients.iter())
            .fold(T::ZERO, |sum, (&a, &s)| {
                sum.add(a.mul(T::from_i64(i64::from(s))))
            })
    }

    /// Encrypts a plaintext with a mask from one stream and noise from another.
    pub fn encrypt<T: Torus>(
        &self,
        plaintext: T,
        noise: NoiseDistribution,
        mask_stream: &mut impl Expander,
        noise_stream: &mut impl Expander,
    ) -> LweCiphertext<T> {
        let mut data = alloc::vec![T::ZERO; self.coefficients.len() + 1];
        let (mask, body) = data.split_at_mut(self.coefficients.len());
        random::fill_uniform(mask_stream, mask);
        body[0] = plaintext.add(self.mask_product(mask));
        random::add_noise(noise, noise_stream, body);
        LweCiphertext { data }
    }

    /// Returns the phase `b - ⟨a, s⟩`: plaintext plus noise. Constant-time.
    ///
    /// # Panics
    /// If the dimensions differ.
    pub fn phase<T: Torus>(&self, ciphertext: &LweCiphertext<T>) -> T {
        ciphertext.body().sub(self.mask_product(ciphertext.mask()))
    }
}

impl core::fmt::Debug for LweSecretKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "LweSecretKey(dimension {}, redacted)",
            self.coefficients.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{ExpanderKind, MaskSeed};

    fn key(dimension: usize, block_size: u32, stream: u32) -> LweSecretKey {
        let mut stream = ExpanderKind::ChaCha20.mask_stream(&MaskSeed([5; 32]), stream);
        LweSecretKey::generate(LweDimension(dimension), block_size, &mut stream)
    }

    fn from(bits: &[i8], block_size: u32) -> Result<LweSecretKey, LweKeyError> {
        LweSecretKey::from_coefficients(Zeroizing::new(bits.to_vec()), block_size)
    }

    /// The mean number of zero blocks of keys up to the mean weight: of a binomial
    /// distribution, cut off below its mean.
    fn mean_zero_blocks(blocks: u32, block_size: u32) -> f64 {
        let p = 1.0 / f64::from(block_size + 1);
        let mut probability = (1.0 - p).powi(blocks as i32);
        let (mut all, mut sum) = (0.0, 0.0);
        for zeros in 0..=blocks {
            if zeros * (block_size + 1) >= blocks {
                all += probability;
                sum += probability * f64::from(zeros);
            }
            let odds = p / (1.0 - p);
            probability *= odds * f64::from(blocks - zeros) / f64::from(zeros + 1);
        }
        sum / all
    }

    #[test]
    fn every_block_is_as_frequent_and_no_key_is_heavy() {
        for block_size in 2..=5u32 {
            let dimension = 60 * block_size as usize;
            // The numbers of blocks with their 1 at each place, or with none, among keys of all
            // weights up to the mean.
            let mut seen = alloc::vec![0u32; block_size as usize + 1];
            let keys = 400u32;
            for stream in 0..keys {
                let key = key(dimension, block_size, stream);
                assert!(from(key.coefficients(), block_size).is_ok());
                for block in key.coefficients().chunks_exact(block_size as usize) {
                    let place = block.iter().position(|&bit| bit == 1);
                    seen[place.unwrap_or(block_size as usize)] += 1;
                }
            }
            let (none, places) = seen.split_last().unwrap();
            let expected = f64::from(keys) * mean_zero_blocks(60, block_size);
            let off = (f64::from(*none) - expected) / expected.sqrt();
            assert!(off.abs() < 3.0, "{block_size}: {none} of {expected}");
            let blocks = f64::from(60 * keys);
            let each = (blocks - f64::from(*none)) / f64::from(block_size);
            for &place in places {
                // Five standard deviations.
                assert!(
                    (f64::from(place) - each).abs() < 5.0 * each.sqrt(),
                    "{seen:?}"
                );
            }
        }
    }

    #[test]
    fn weights_up_to_the_mean_are_kept_and_all_of_uniform_keys() {
        let weight = |key: &LweSecretKey| key.coefficients().iter().map(|&b| b as u32).sum::<u32>();
        // The mean of 30 blocks of 2 is 20, with probability 0.15; of those up to it 0.26.
        let mean = (0..400).filter(|&i| weight(&key(60, 2, i)) == 20).count();
        assert!((70..140).contains(&mean), "{mean}");
        let heavy = (0..400).filter(|&i| weight(&key(60, 1, i)) > 30).count();
        assert!((130..230).contains(&heavy), "{heavy}");
    }

    /// The forms with branches, which these were before.
    #[test]
    fn forms_without_branches_agree_with_those_with_branches() {
        for bound in 1..=256 {
            for value in 0..256 {
                assert_eq!(remainder(value, bound), value % bound, "{value} % {bound}");
            }
        }
        for size in 1..=5usize {
            for place in 0..=size {
                let mut block = alloc::vec![7i8; size];
                fill_block(&mut block, place as u32);
                let mut expected = alloc::vec![0; size];
                if let Some(bit) = expected.get_mut(place) {
                    *bit = 1;
                }
                assert_eq!(block, expected);
            }
        }
    }

    /// Every key of four coefficients with values from -2 to 2, judged with branches.
    #[test]
    fn keys_are_refused_as_they_were_with_branches() {
        fn judge(bits: &[i8], block_size: u32) -> Result<(), LweKeyError> {
            let ones = |part: &[i8]| part.iter().filter(|&&bit| bit == 1).count();
            if bits.iter().any(|bit| !(0..=1).contains(bit)) {
                return Err(LweKeyError::Coefficient);
            }
            if bits
                .chunks(block_size as usize)
                .any(|block| ones(block) > 1)
            {
                return Err(LweKeyError::Block);
            }
            if block_size > 1 && ones(bits) * (block_size as usize + 1) > bits.len() {
                return Err(LweKeyError::Weight);
            }
            Ok(())
        }
        for block_size in [1, 2, 4] {
            for number in 0..5u32.pow(4) {
                let bits = [0, 1, 2, 3].map(|at| (number / 5u32.pow(at) % 5) as i8 - 2);
                let found = from(&bits, block_size).map(|_| ());
                assert_eq!(found, judge(&bits, block_size), "{bits:?}");
            }
        }
    }

    #[test]
    fn coefficients_that_are_no_key_are_told_apart() {
        assert!(from(&[1, 1, 1, 1], 1).is_ok());
        assert!(from(&[0, 1, 0, 0, 0, 0], 2).is_ok());
        for (bits, block_size, error) in [
            (&[0, 1, 0][..], 2, LweKeyError::Dimension),
            (&[0, 1], 0, LweKeyError::Dimension),
            (&[0, 2], 2, LweKeyError::Coefficient),
            (&[0, -1], 1, LweKeyError::Coefficient),
            (&[0, 1, 1, 1, 0, 0], 2, LweKeyError::Block),
            (&[0, 1, 1, 0, 0, 1], 2, LweKeyError::Weight),
        ] {
            assert_eq!(from(bits, block_size).map(|_| ()), Err(error), "{bits:?}");
        }
    }

    #[test]
    fn draws_below_a_bound_are_those_of_unbiased_bytes() {
        struct Bytes(u8);
        impl Expander for Bytes {
            fn fill(&mut self, out: &mut [u8]) {
                for byte in out {
                    *byte = self.0;
                    self.0 = self.0.wrapping_add(1);
                }
            }
        }
        for bound in [2, 3, 4, 5, 6] {
            let mut seen = [0; 6];
            let mut bytes = Bytes(0);
            for _ in 0..256 / bound * bound {
                seen[draw_below(bound, &mut bytes) as usize] += 1;
            }
            assert!(
                seen[..bound as usize]
                    .iter()
                    .all(|&count| count == 256 / bound)
            );
            // The byte values that no number belongs to are passed over.
            draw_below(bound, &mut bytes);
            assert_eq!(bytes.0, 1);
        }
    }
}
