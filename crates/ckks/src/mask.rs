//! The mask of a symmetric ciphertext, as SEAL expands it from a seed.
//!
//! The stream of the seed is read as one little-endian word of 64 bits for each coefficient, prime
//! after prime, and reduced modulo the prime. The result is taken as the transform of the mask. A
//! word in the last, incomplete multiple of the prime below 2^64 is replaced by a new one from
//! behind the words of all primes, so that replacements do not move the words of other primes.

use tfhe_sbc_core::random::{Expander, SealGenerator, SealPrng};
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed, fill_uniform};
use tfhe_sbc_core::simd::{Isa, vectorize};

use crate::modulus::Modulus;
use crate::parameters::Parameters;

/// The number of coefficients that are made, and sent, at a time.
pub(crate) const CHUNK: usize = 128;

/// The number of bytes of a seed of SEAL's.
pub(crate) const SEED_BYTES: usize = 64;

/// Expands one of our seeds to a longer one of SEAL's: the first 64 bytes of its ChaCha20
/// stream 0.
pub(crate) fn seal_seed(seed: &MaskSeed) -> [u8; SEED_BYTES] {
    let mut out = [0; SEED_BYTES];
    ExpanderKind::ChaCha20.mask_stream(seed, 0).fill(&mut out);
    out
}

/// A mask while it is expanded. All of it is public.
pub(crate) struct Mask {
    generator: SealGenerator,
    seed: [u8; SEED_BYTES],
    isa: Isa,
    stream: SealPrng,
    /// The place of the next replacement, in words of the stream.
    spare: u64,
}

impl Mask {
    pub(crate) fn new(
        generator: SealGenerator,
        seed: &[u8; SEED_BYTES],
        parameters: &Parameters,
        isa: Isa,
    ) -> Self {
        let primes = parameters.data_prime_count();
        Self::at_level(generator, seed, parameters, primes, isa)
    }

    /// Opens the mask of the first `primes` primes.
    pub(crate) fn at_level(
        generator: SealGenerator,
        seed: &[u8; SEED_BYTES],
        parameters: &Parameters,
        primes: usize,
        isa: Isa,
    ) -> Self {
        Self {
            generator,
            seed: *seed,
            isa,
            stream: SealPrng::new(generator, seed, 0),
            spare: (parameters.polynomial_size() * primes) as u64,
        }
    }

    /// Overwrites `out` with the next coefficients, modulo one prime.
    pub(crate) fn next(&mut self, modulus: Modulus, out: &mut [u32; CHUNK]) {
        let q = u64::from(modulus.value());
        self.next_below(u64::MAX - u64::MAX % q - 1, modulus, out);
    }

    /// Does the same as [`next`](Self::next), with words from `limit` on replaced.
    fn next_below(&mut self, limit: u64, modulus: Modulus, out: &mut [u32; CHUNK]) {
        let mut words = [0; CHUNK];
        fill_uniform::<u64>(&mut self.stream, &mut words);
        if words
            .iter()
            .fold(false, |again, &word| again | (word >= limit))
        {
            for word in &mut words {
                while *word >= limit {
                    *word = self.spare_word();
                }
            }
        }
        vectorize(
            self.isa,
            #[inline(always)]
            || {
                for (out, &word) in out.iter_mut().zip(&words) {
                    *out = modulus.reduce(word);
                }
            },
        );
    }

    /// Draws a replacement; for a 30-bit prime one in 2^34 words needs one.
    #[cold]
    fn spare_word(&mut self) -> u64 {
        const OUTPUT_WORDS: u64 = SealPrng::OUTPUT_BYTES as u64 / 8;
        let mut stream = SealPrng::new(self.generator, &self.seed, self.spare / OUTPUT_WORDS);
        let mut word = [0];
        for _ in 0..=self.spare % OUTPUT_WORDS {
            fill_uniform::<u64>(&mut stream, &mut word);
        }
        self.spare += 1;
        word[0]
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    use super::*;

    /// SEAL's `sample_poly_uniform`, word for word: all at once, then reduced in order.
    fn slow(limit: impl Fn(u64) -> u64, seed: &[u8; 64], parameters: &Parameters) -> Vec<u32> {
        let n = parameters.polynomial_size();
        let mut stream = SealPrng::new(SealGenerator::Blake2xb, seed, 0);
        let mut words = vec![0u64; n * parameters.data_prime_count()];
        fill_uniform(&mut stream, &mut words);
        let primes = parameters.data_primes();
        let mut out = Vec::new();
        for (i, mut word) in words.into_iter().enumerate() {
            let q = u64::from(primes[i / n]);
            while word >= limit(q) {
                let mut bytes = [0; 8];
                stream.fill(&mut bytes);
                word = u64::from_le_bytes(bytes);
            }
            out.push((word % q) as u32);
        }
        out
    }

    fn mask(limit: impl Fn(u64) -> u64, seed: &[u8; 64], parameters: &Parameters) -> Vec<u32> {
        let mut mask = Mask::new(SealGenerator::Blake2xb, seed, parameters, Isa::detect());
        let mut all = Vec::new();
        for &q in parameters.data_primes() {
            for _ in 0..parameters.polynomial_size() / CHUNK {
                let mut out = [0; CHUNK];
                mask.next_below(limit(u64::from(q)), Modulus::new(q), &mut out);
                all.extend(out);
            }
        }
        all
    }

    /// The second polynomial that SEAL 4.4.3 expanded from this seed at n = 4096, by its
    /// BLAKE2b digest.
    #[test]
    fn a_mask_is_seals() {
        let mut seed = [0; 64];
        for (bytes, word) in seed.as_chunks_mut().0.iter_mut().zip([
            0x385b651646efcede9b3d6355e6b2c7ea_u128,
            0xe87987f6e5995daf3ffbf1e369438186,
            0x1c1e918a8ac382356cf69dec59f9d398,
            0x3af2cbed4390a1dcf0a32e1825e5d4cd,
        ]) {
            *bytes = word.to_be_bytes();
        }
        let exact = |q: u64| u64::MAX - u64::MAX % q - 1;
        let words = mask(exact, &seed, &Parameters::N4096);
        let bytes: Vec<u8> = words
            .iter()
            .flat_map(|&w| u64::from(w).to_le_bytes())
            .collect();
        let digest = tfhe_sbc_core::random::blake2b_256(&bytes);
        let first = u128::from_be_bytes(*digest.first_chunk().unwrap());
        assert_eq!(first, 0xffefd2b6e1a1177b7a47256dec418bf4);
    }

    #[test]
    fn words_are_drawn_again_as_seal_does() {
        let seed = core::array::from_fn(|i| i as u8);
        let parameters = Parameters::N4096;
        for limit in [u64::MAX, u64::MAX / 100 * 99, u64::MAX / 4] {
            let expected = slow(|_| limit, &seed, &parameters);
            assert!(mask(|_| limit, &seed, &parameters) == expected, "{limit}");
        }
        // Almost none is drawn again.
        let exact = |q: u64| u64::MAX - u64::MAX % q - 1;
        assert!(mask(exact, &seed, &parameters) == slow(exact, &seed, &parameters));
    }
}
