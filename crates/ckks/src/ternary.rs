//! Packed ternary polynomials: secret keys, and the ephemeral `u` of public-key encryption.
//!
//! Coefficient `i` is in bits `6 - 2·(i mod 4)` and up of byte `i / 4`, as its value plus 1, the
//! form of SEAL-Embedded's secret key files.

use core::fmt;

use tfhe_sbc_core::memcheck::disclosed;
use tfhe_sbc_core::random::{EntropySource, ExpanderKind, NoiseSeed, SeedSequence, fill_ternary};
use tfhe_sbc_core::workspace::wipe;

use crate::error::KeyError;
use crate::modulus::Modulus;
use crate::parameters::Parameters;

/// The number of coefficients that are drawn at a time.
const CHUNK: usize = 128;

/// Returns the number of bytes of a packed ternary polynomial, and so of a secret key.
pub const fn packed_bytes(polynomial_size: usize) -> usize {
    polynomial_size / 4
}

/// A ternary secret key in memory that it borrows and whose owner wipes it: a board's flash, or a
/// buffer that [`generate`](SecretKey::generate) or a reader of [`seal`](crate::seal) filled.
#[derive(Clone, Copy)]
pub struct SecretKey<'k> {
    packed: &'k [u8],
}

impl<'k> SecretKey<'k> {
    /// Takes a packed key, the form of SEAL-Embedded's `sk_N.dat`: 2 bits a coefficient, the
    /// first in the highest bits of its byte, each as its value plus 1. Constant-time, except that the
    /// key may be refused.
    ///
    /// # Errors
    /// If the length is wrong, or a coefficient is not ternary.
    pub fn from_packed(parameters: &Parameters, packed: &'k [u8]) -> Result<Self, KeyError> {
        let (needed, found) = (packed_bytes(parameters.polynomial_size()), packed.len());
        if found != needed {
            return Err(KeyError::Length { needed, found });
        }
        // The code 3 is the only one with both bits.
        let wrong = packed
            .iter()
            .fold(0, |wrong, &byte| wrong | (byte & byte >> 1 & 0x55));
        if disclosed(wrong != 0) {
            return Err(KeyError::NotTernary);
        }
        Ok(Self { packed })
    }

    /// Draws a uniform key into `packed`, of [`packed_bytes`], from the noise seed of the
    /// next pair. Constant-time.
    ///
    /// # Errors
    /// Those of [`SeedSequence::next_pair`] and of [`from_packed`](Self::from_packed).
    pub fn generate<S: EntropySource>(
        parameters: &Parameters,
        seeds: &mut SeedSequence<S>,
        packed: &'k mut [u8],
    ) -> Result<Self, crate::CkksError> {
        let (_, noise) = seeds.next_pair()?;
        draw(&noise, 0, packed);
        Ok(Self::from_packed(parameters, packed)?)
    }

    pub(crate) fn packed(&self) -> &'k [u8] {
        self.packed
    }
}

impl fmt::Debug for SecretKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// Overwrites `packed` with uniform coefficients, drawn from 64 bits of a stream each, so that the
/// probabilities are 1/3 to within 2^-64. Constant-time.
pub(crate) fn draw(seed: &NoiseSeed, stream: u32, packed: &mut [u8]) {
    let mut expander = ExpanderKind::ChaCha20.noise_stream(seed, stream);
    let mut coefficients = [0; CHUNK];
    for packed in packed.chunks_mut(CHUNK / 4) {
        let coefficients = &mut coefficients[..4 * packed.len()];
        fill_ternary(&mut expander, coefficients);
        for (byte, four) in packed.iter_mut().zip(coefficients.as_chunks::<4>().0) {
            *byte = four.iter().fold(0, |byte, &s| byte << 2 | (s + 1) as u8);
        }
    }
    wipe(&mut coefficients);
}

/// Overwrites `out` with the residues of the coefficients. Constant-time; `inline(always)` so that
/// it is compiled for the caller's instruction set.
#[inline(always)]
pub(crate) fn unpack(modulus: Modulus, packed: &[u8], out: &mut [u32]) {
    for (out, &byte) in out.as_chunks_mut::<4>().0.iter_mut().zip(packed) {
        *out = [6, 4, 2, 0].map(|shift| modulus.sub(u32::from(byte >> shift & 3), 1));
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;

    use tfhe_sbc_core::random::Seed;

    use super::*;

    /// A third of the coefficients is -1, 0 and 1 each, at every place of a byte.
    #[test]
    fn coefficients_are_uniform() {
        let mut seeds = SeedSequence::new(Seed::from_bytes([3; 32]));
        let mut packed = vec![0; packed_bytes(16384)];
        let mut counts = [[0u32; 4]; 4];
        for _ in 0..16 {
            SecretKey::generate(&Parameters::N16384, &mut seeds, &mut packed).unwrap();
            for byte in &packed {
                for (place, counts) in counts.iter_mut().enumerate() {
                    counts[usize::from(byte >> (6 - 2 * place) & 3)] += 1;
                }
            }
        }
        // 2^16 at each place; the standard deviation is 121.
        for counts in counts {
            assert_eq!(counts[3], 0);
            for &count in &counts[..3] {
                assert!(count.abs_diff((1 << 16) / 3) < 600, "{counts:?}");
            }
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let parameters = Parameters::N1024;
        let key = |packed: &[u8]| SecretKey::from_packed(&parameters, packed).map(drop);
        assert_eq!(key(&[0b00_01_10_00; 256]), Ok(()));
        let length = |found| Err(KeyError::Length { needed: 256, found });
        assert_eq!(key(&[0; 255]), length(255));
        assert_eq!(key(&[]), length(0));
        for place in 0..4 {
            let mut packed = [0b10_01_10_00; 256];
            packed[200] |= 3 << (2 * place);
            assert_eq!(key(&packed), Err(KeyError::NotTernary));
        }
    }

    #[test]
    fn codes_are_residues() {
        let modulus = Modulus::new(12289);
        let mut out = [7; 8];
        unpack(modulus, &[0b10_00_01_10, 0b00_00_10_10], &mut out);
        let minus_one = 12288;
        assert_eq!(out, [1, minus_one, 0, 1, minus_one, minus_one, 1, 1]);
    }
}
