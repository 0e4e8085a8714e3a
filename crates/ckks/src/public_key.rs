//! Public keys, read without a copy: SEAL's words, or SEAL-Embedded's files.

use crate::error::KeyError;
use crate::mask::CHUNK;
use crate::parameters::Parameters;

/// A public key in memory that it borrows: a board's flash, or a file that has been read.
#[derive(Clone, Copy, Debug)]
pub struct PublicKey<'k> {
    source: Source<'k>,
    /// The number of primes that the key has polynomials for.
    primes: usize,
}

/// The residues of a key, in the order of their source.
#[derive(Clone, Copy, Debug)]
enum Source<'k> {
    /// 64-bit words: all primes of `p0`, then those of `p1`.
    Seal(&'k [u8]),
    /// 32-bit words: a pair of `p0` and `p1` for each prime.
    Parts(&'k [[&'k [u8]; 2]]),
    /// The words of [`Parts`](Self::Parts), one after the other.
    Joined(&'k [u8]),
}

impl<'k> PublicKey<'k> {
    /// Takes a key in the form of SEAL-Embedded's files: for each data prime the contents of
    /// `pk0_ntt_N_PRIME.dat` and `pk1_ntt_N_PRIME.dat`, `n` little-endian 32-bit words each.
    /// One more pair may follow, for a special prime below 2^31.
    ///
    /// # Errors
    /// If the number of pairs or a length is wrong, or a number is not below its prime.
    pub fn from_parts(
        parameters: &Parameters,
        parts: &'k [[&'k [u8]; 2]],
    ) -> Result<Self, KeyError> {
        let needed = 4 * parameters.polynomial_size();
        for part in parts.as_flattened() {
            let found = part.len();
            if found != needed {
                return Err(KeyError::Length { needed, found });
            }
        }
        Self::new(parameters, Source::Parts(parts), parts.len())
    }

    /// Does the same as [`from_parts`](Self::from_parts) with the contents of all files in a row: for
    /// each prime that of `pk0_ntt_…`, then that of `pk1_ntt_…`.
    ///
    /// # Errors
    /// Those of [`from_parts`](Self::from_parts).
    pub fn from_joined_parts(parameters: &Parameters, joined: &'k [u8]) -> Result<Self, KeyError> {
        let pair = 8 * parameters.polynomial_size();
        let found = joined.len();
        if !found.is_multiple_of(pair) {
            let needed = pair * parameters.data_prime_count();
            return Err(KeyError::Length { needed, found });
        }
        Self::new(parameters, Source::Joined(joined), found / pair)
    }

    /// Takes the words of a SEAL key, of all primes of keys.
    pub(crate) fn from_words(parameters: &Parameters, words: &'k [u8]) -> Result<Self, KeyError> {
        let primes = parameters.key_prime_count();
        let (needed, found) = (16 * primes * parameters.polynomial_size(), words.len());
        if found != needed {
            return Err(KeyError::Length { needed, found });
        }
        Self::new(parameters, Source::Seal(words), primes)
    }

    fn new(parameters: &Parameters, source: Source<'k>, found: usize) -> Result<Self, KeyError> {
        let needed = parameters.data_prime_count();
        // Residues of a wide prime do not fit 32-bit words.
        let special = match source {
            Source::Seal(_) => true,
            Source::Parts(_) | Source::Joined(_) => !parameters.special_is_wide(),
        };
        if found != needed && !(special && found == parameters.key_prime_count()) {
            return Err(KeyError::PrimeCount { needed, found });
        }
        let key = Self {
            source,
            primes: found,
        };
        let n = parameters.polynomial_size();
        let reduced = |(index, prime): (usize, u64)| {
            (0..2).all(|polynomial| match key.polynomial(polynomial, index, n) {
                Polynomial::Wide(words) => words.iter().all(|w| u64::from_le_bytes(*w) < prime),
                Polynomial::Narrow(words) => words
                    .iter()
                    .all(|w| u64::from(u32::from_le_bytes(*w)) < prime),
            })
        };
        match parameters.key_primes().take(found).enumerate().all(reduced) {
            true => Ok(key),
            false => Err(KeyError::NotReduced),
        }
    }

    /// Returns the key if it belongs to these parameters.
    pub(crate) fn checked(&self, parameters: &Parameters) -> Result<Self, KeyError> {
        match self.source {
            Source::Seal(words) => Self::from_words(parameters, words),
            Source::Parts(parts) => Self::from_parts(parameters, parts),
            Source::Joined(joined) => Self::from_joined_parts(parameters, joined),
        }
    }

    /// Returns the special prime, if the key has polynomials for it.
    pub(crate) fn special_prime(&self, parameters: &Parameters) -> Option<u64> {
        match self.primes == parameters.key_prime_count() {
            true => parameters.special_prime(),
            false => None,
        }
    }

    pub(crate) fn polynomial(&self, polynomial: usize, prime: usize, n: usize) -> Polynomial<'k> {
        match self.source {
            Source::Seal(words) => {
                let words = words.as_chunks().0;
                Polynomial::Wide(&words[(polynomial * self.primes + prime) * n..][..n])
            }
            Source::Parts(parts) => Polynomial::Narrow(parts[prime][polynomial].as_chunks().0),
            Source::Joined(joined) => {
                let words = joined.as_chunks().0;
                Polynomial::Narrow(&words[(2 * prime + polynomial) * n..][..n])
            }
        }
    }
}

/// One polynomial of the key modulo one prime.
#[derive(Clone, Copy)]
pub(crate) enum Polynomial<'k> {
    Wide(&'k [[u8; 8]]),
    Narrow(&'k [[u8; 4]]),
}

impl Polynomial<'_> {
    /// Returns chunk `index` of residues of a prime below 2^32.
    #[inline(always)]
    pub(crate) fn chunk(&self, index: usize) -> [u32; CHUNK] {
        let mut out = [0; CHUNK];
        match self {
            Self::Wide(words) => {
                for (out, word) in out.iter_mut().zip(&words[index * CHUNK..]) {
                    *out = u64::from_le_bytes(*word) as u32;
                }
            }
            Self::Narrow(words) => {
                for (out, word) in out.iter_mut().zip(&words[index * CHUNK..]) {
                    *out = u32::from_le_bytes(*word);
                }
            }
        }
        out
    }
}
