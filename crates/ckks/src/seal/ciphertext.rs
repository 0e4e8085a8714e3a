//! SEAL's ciphertexts, fresh or computed: read without a copy, and written in full.

use tfhe_sbc_core::random::SealGenerator;
use tfhe_sbc_core::simd::Isa;

use super::error::SealError;
use super::header::header;
use super::layout::{ARRAY_PREFIX, CIPHERTEXT_PREFIX, SEED_INFO_BYTES, parms_id_of};
use super::read::Reader;
use crate::error::SinkError;
use crate::mask::{CHUNK, Mask, SEED_BYTES};
use crate::modulus::Modulus;
use crate::output::MAX_PIECE_BYTES;
use crate::parameters::Parameters;

/// The largest number of polynomials of a ciphertext, SEAL's bound.
const MAX_POLYNOMIALS: u64 = 16;

/// A ciphertext in the bytes that it was read from. All its residues have been checked.
#[derive(Clone, Copy, Debug)]
pub struct Ciphertext<'c> {
    parameters: Parameters,
    primes: usize,
    polynomials: usize,
    scale: f64,
    words: Words<'c>,
}

/// The residues of a ciphertext, in the order of their source.
#[derive(Clone, Copy, Debug)]
enum Words<'c> {
    /// 64-bit words, polynomial after polynomial.
    Seal(&'c [[u8; 8]]),
    /// The words of the first polynomial, and the seed of the second.
    Seeded(&'c [[u8; 8]], SealGenerator, [u8; SEED_BYTES]),
    /// 32-bit words of two polynomials, for one prime after the other.
    Raw(&'c [[u8; 4]]),
}

/// Reads SEAL's `Ciphertext` of these parameters, at any level of its modulus switching chain,
/// and checks every number in it.
///
/// # Errors
/// If the bytes are not an uncompressed and complete CKKS ciphertext of these parameters.
pub fn ciphertext<'c>(
    parameters: &Parameters,
    object: &'c [u8],
) -> Result<Ciphertext<'c>, SealError> {
    let (mut object, major) = Reader::open(object)?;
    let id = object.take::<32>()?;
    let primes = (1..=parameters.data_prime_count())
        .find(|&primes| parms_id_of(parameters, primes) == id)
        .ok_or(SealError::OtherParameters)?;
    if object.take::<1>()? != [1] {
        return Err(SealError::Member("transform"));
    }
    let polynomials = object.word()?;
    if !(2..=MAX_POLYNOMIALS).contains(&polynomials) {
        return Err(SealError::Member("size"));
    }
    let polynomials = polynomials as usize;
    let n = parameters.polynomial_size();
    for (expected, name) in [(n, "polynomial size"), (primes, "number of primes")] {
        if object.word()? != expected as u64 {
            return Err(SealError::Member(name));
        }
    }
    let scale = f64::from_bits(object.word()?);
    if !(scale.is_finite() && scale > 0.0) {
        return Err(SealError::Member("scale"));
    }
    if major == 4 {
        // The correction factor, which only BGV uses.
        object.word()?;
    }
    let words = object.array()?.as_chunks().0;
    let each = n * primes;
    let words = if words.len() == each * polynomials {
        Words::Seal(words)
    } else if polynomials == 2 && words.len() == each {
        let (generator, seed) = object.seed()?;
        Words::Seeded(words, generator, seed)
    } else {
        return Err(SealError::Member("number of words"));
    };
    object.end()?;
    let ciphertext = Ciphertext {
        parameters: *parameters,
        primes,
        polynomials,
        scale,
        words,
    };
    ciphertext.check()
}

/// Reads one ciphertext of SEAL-Embedded's stream, [`Format::Raw`](crate::Format::Raw), and checks
/// every number in it. The stream does not state the scale, so the caller gives it.
///
/// # Errors
/// If the length is wrong, a number is not below its prime, or the scale is not a positive number.
pub fn raw_ciphertext<'c>(
    parameters: &Parameters,
    scale: f64,
    stream: &'c [u8],
) -> Result<Ciphertext<'c>, SealError> {
    let (needed, found) = (
        crate::Format::Raw.ciphertext_bytes(parameters),
        stream.len(),
    );
    if found != needed {
        return Err(SealError::Length {
            needed: needed as u64,
            found,
        });
    }
    if !(scale.is_finite() && scale > 0.0) {
        return Err(SealError::Member("scale"));
    }
    let ciphertext = Ciphertext {
        parameters: *parameters,
        primes: parameters.data_prime_count(),
        polynomials: 2,
        scale,
        words: Words::Raw(stream.as_chunks().0),
    };
    ciphertext.check()
}

impl Ciphertext<'_> {
    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The number of primes that the ciphertext has residues of; they are the first ones of the
    /// parameters. Computation on the server removes the last ones.
    pub fn prime_count(&self) -> usize {
        self.primes
    }

    /// The number of polynomials: 2, or more after a multiplication.
    pub fn polynomial_count(&self) -> usize {
        self.polynomials
    }

    /// The scale of the plaintext.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The generator of the seed, if the ciphertext has a seed in place of the second polynomial.
    pub fn seed_generator(&self) -> Option<SealGenerator> {
        match self.words {
            Words::Seeded(_, generator, _) => Some(generator),
            Words::Seal(_) | Words::Raw(_) => None,
        }
    }

    /// Returns the number of bytes that [`write_expanded`](Self::write_expanded) writes.
    pub fn expanded_bytes(&self) -> usize {
        CIPHERTEXT_PREFIX + 8 * self.word_count()
    }

    /// Writes the ciphertext in SEAL's form with all its polynomials to `sink`, at most
    /// [`MAX_PIECE_BYTES`] at a time, and returns the number of bytes.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_expanded(
        &self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, SinkError> {
        sink(&prefix(
            &self.parameters,
            self.primes,
            self.polynomials,
            self.polynomials,
            self.scale,
        ))?;
        self.residues(|_, _, chunk| {
            let mut piece = [0; MAX_PIECE_BYTES];
            let words = piece.as_chunks_mut().0.iter_mut().zip(chunk);
            words.for_each(|(bytes, &residue)| *bytes = u64::from(residue).to_le_bytes());
            sink(&piece)
        })?;
        Ok(self.expanded_bytes())
    }

    /// Passes all residues to `visit`, polynomial after polynomial and prime after prime in each, with
    /// the index of the polynomial and of the prime.
    pub(crate) fn residues<E>(
        &self,
        mut visit: impl FnMut(usize, usize, &[u32; CHUNK]) -> Result<(), E>,
    ) -> Result<(), E> {
        let n = self.parameters.polynomial_size();
        let data_primes = self.parameters.data_primes();
        let mut chunk = [0; CHUNK];
        for polynomial in 0..self.polynomials {
            let mut mask = match &self.words {
                Words::Seeded(_, generator, seed) if polynomial == 1 => {
                    let isa = Isa::detect();
                    Some(Mask::at_level(
                        *generator,
                        seed,
                        &self.parameters,
                        self.primes,
                        isa,
                    ))
                }
                _ => None,
            };
            for (prime, &modulus) in data_primes.iter().enumerate().take(self.primes) {
                for start in (0..n).step_by(CHUNK) {
                    match (&mut mask, self.words) {
                        (Some(mask), _) => mask.next(Modulus::new(modulus), &mut chunk),
                        (None, Words::Seal(words) | Words::Seeded(words, ..)) => {
                            let at = (polynomial * self.primes + prime) * n + start;
                            for (out, word) in chunk.iter_mut().zip(&words[at..]) {
                                *out = u64::from_le_bytes(*word) as u32;
                            }
                        }
                        (None, Words::Raw(words)) => {
                            let at = (2 * prime + polynomial) * n + start;
                            for (out, word) in chunk.iter_mut().zip(&words[at..]) {
                                *out = u32::from_le_bytes(*word);
                            }
                        }
                    }
                    visit(polynomial, prime, &chunk)?;
                }
            }
        }
        Ok(())
    }

    fn word_count(&self) -> usize {
        self.polynomials * self.primes * self.parameters.polynomial_size()
    }

    /// Checks that all words are residues.
    fn check(self) -> Result<Self, SealError> {
        let n = self.parameters.polynomial_size();
        let primes = &self.parameters.data_primes()[..self.primes];
        let reduced = match self.words {
            Words::Seal(words) | Words::Seeded(words, ..) => {
                let polynomials = words.chunks(n).zip(primes.iter().cycle());
                { polynomials }.all(|(words, &prime)| {
                    let mut words = words.iter();
                    words.all(|word| u64::from_le_bytes(*word) < u64::from(prime))
                })
            }
            Words::Raw(words) => {
                let polynomials = words.chunks(2 * n).zip(primes);
                { polynomials }.all(|(words, &prime)| {
                    let mut words = words.iter();
                    words.all(|word| u32::from_le_bytes(*word) < prime)
                })
            }
        };
        match reduced {
            true => Ok(self),
            false => Err(SealError::NotReduced),
        }
    }
}

/// Writes what is before the words of a ciphertext of which `stored` polynomials are stored. If it
/// is one, the seed of the second follows its words.
pub(crate) fn prefix(
    parameters: &Parameters,
    primes: usize,
    polynomials: usize,
    stored: usize,
    scale: f64,
) -> [u8; CIPHERTEXT_PREFIX] {
    let words = stored * primes * parameters.polynomial_size();
    let seed = match stored == polynomials {
        true => 0,
        false => SEED_INFO_BYTES,
    };
    let numbers = [polynomials, parameters.polynomial_size(), primes];
    let mut out = [0; CIPHERTEXT_PREFIX];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(&header(CIPHERTEXT_PREFIX + 8 * words + seed));
    put(&parms_id_of(parameters, primes));
    // The polynomials are in the transformed domain (`is_ntt_form`).
    put(&[1]);
    for number in numbers {
        put(&(number as u64).to_le_bytes());
    }
    put(&scale.to_le_bytes());
    put(&header(ARRAY_PREFIX + 8 * words));
    put(&(words as u64).to_le_bytes());
    out
}
