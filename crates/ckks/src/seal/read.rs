//! Readers of keys and parameters in SEAL's objects, and the reader that all objects share. They
//! check everything that they use, and allocate nothing.
#![warn(clippy::indexing_slicing)]

use tfhe_sbc_core::random::SealGenerator;
use tfhe_sbc_core::simd::{Isa, vectorize};

use super::error::SealError;
use super::header::{HEADER_BYTES, Header};
use super::layout::{ARRAY_PREFIX, CKKS, Level, MODULUS_BYTES, SEED_INFO_BYTES, parms_id};
use crate::error::KeyError;
use crate::mask::SEED_BYTES;
use crate::modulus::Modulus;
use crate::ntt::{Ntt, Roots, least_primitive_root};
use crate::parameters::{MAX_DATA_PRIMES, Parameters, ParametersError};
use crate::public_key::PublicKey;
use crate::ternary::{SecretKey, packed_bytes};

/// Reads SEAL's `EncryptionParameters`. If there are several primes, the last is the special one.
///
/// # Errors
/// If the bytes are not an uncompressed and complete object of CKKS, with parameters that
/// [`Parameters::new`] accepts.
pub fn encryption_parameters(object: &[u8]) -> Result<Parameters, SealError> {
    let (mut object, _) = Reader::open(object)?;
    if object.take::<1>()? != [CKKS] {
        return Err(SealError::Scheme);
    }
    let polynomial_size = object.word()?;
    let count = object.word()?;
    let mut primes = [0; MAX_DATA_PRIMES + 1];
    let primes = usize::try_from(count)
        .ok()
        .and_then(|count| primes.get_mut(..count))
        .ok_or(SealError::Member("number of primes"))?;
    for prime in primes.iter_mut() {
        *prime = object.modulus()?;
    }
    if object.modulus()? != 0 {
        return Err(SealError::Member("plain modulus"));
    }
    object.end()?;

    let (special, data) = match primes {
        [data @ .., special] if !data.is_empty() => (Some(*special), data),
        data => (None, data),
    };
    let mut narrow = [0; MAX_DATA_PRIMES];
    for (narrow, &mut prime) in narrow.iter_mut().zip(&mut *data) {
        *narrow = u32::try_from(prime).map_err(|_| ParametersError::TooLarge(prime))?;
    }
    let polynomial_size = usize::try_from(polynomial_size).unwrap_or(usize::MAX);
    let data = narrow.get(..data.len()).unwrap_or(&[]);
    Ok(Parameters::new(polynomial_size, data, special)?)
}

/// Reads SEAL's `PublicKey`, and checks every number in it.
///
/// # Errors
/// If the bytes are not an uncompressed, complete and unseeded public key of these parameters.
pub fn public_key<'k>(
    parameters: &Parameters,
    object: &'k [u8],
) -> Result<PublicKey<'k>, SealError> {
    let (mut object, major) = Reader::open(object)?;
    if object.take::<32>()? != parms_id(parameters, Level::Key) {
        return Err(SealError::OtherParameters);
    }
    if object.take::<1>()? != [1] {
        return Err(SealError::Member("transform"));
    }
    let (n, primes) = (parameters.polynomial_size(), parameters.key_prime_count());
    for (expected, name) in [
        (2, "size"),
        (n, "polynomial size"),
        (primes, "number of primes"),
    ] {
        if object.word()? != expected as u64 {
            return Err(SealError::Member(name));
        }
    }
    // The scale, which a key does not have, and the correction factor, which only BGV uses.
    object.word()?;
    if major == 4 {
        object.word()?;
    }
    let words = object.array()?;
    if words.len() == 8 * n * primes {
        return Err(SealError::Seeded);
    }
    object.end()?;
    Ok(PublicKey::from_words(parameters, words)?)
}

/// Reads SEAL's `SecretKey` into `packed`, of [`packed_bytes`], in the form that
/// [`SecretKey::from_packed`] takes. `scratch` has `n` places and is wiped.
///
/// The transforms modulo all other data primes are compared with that modulo the first.
/// Constant-time in the key, except that it may be refused.
///
/// # Errors
/// If the bytes are not an uncompressed and complete secret key of these parameters, if it is not
/// ternary, or if a buffer has the wrong size.
pub fn secret_key<'k>(
    parameters: &Parameters,
    object: &[u8],
    packed: &'k mut [u8],
    scratch: &mut [u32],
) -> Result<SecretKey<'k>, SealError> {
    let n = parameters.polynomial_size();
    for (needed, found) in [(packed_bytes(n), packed.len()), (n, scratch.len())] {
        if found != needed {
            return Err(SealError::Buffer { needed, found });
        }
    }
    let (mut object, _) = Reader::open(object)?;
    if object.take::<32>()? != parms_id(parameters, Level::Key) {
        return Err(SealError::OtherParameters);
    }
    let needed = n * parameters.key_prime_count();
    if object.word()? != needed as u64 {
        return Err(SealError::Member("number of coefficients"));
    }
    object.word()?;
    let words = object.array()?;
    object.end()?;
    let words: &[[u8; 8]] = words.as_chunks().0;
    if words.len() != needed {
        return Err(SealError::Member("number of words"));
    }
    let result = pack(parameters, words, packed, scratch);
    tfhe_sbc_core::workspace::wipe(scratch);
    if result.is_err() {
        tfhe_sbc_core::workspace::wipe(packed);
    }
    result?;
    Ok(SecretKey::from_packed(parameters, packed)?)
}

/// Recovers the polynomial from its transform modulo the first prime, and checks the other
/// transforms.
fn pack(
    parameters: &Parameters,
    words: &[[u8; 8]],
    packed: &mut [u8],
    scratch: &mut [u32],
) -> Result<(), SealError> {
    let isa = Isa::detect();
    let polynomials = words.chunks_exact(scratch.len());
    for (index, (&prime, words)) in parameters.data_primes().iter().zip(polynomials).enumerate() {
        let modulus = Modulus::new(prime);
        let root = least_primitive_root(modulus, parameters.log_n())
            .ok_or(ParametersError::NoTransform(u64::from(prime)))?;
        let ntt = Ntt::new(modulus, parameters.log_n(), root, isa);
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        let mut wrong = words.iter().fold(0, |wrong, bytes| {
            wrong | u64::from(word(bytes) >= u64::from(prime))
        });
        if index == 0 {
            for (residue, bytes) in scratch.iter_mut().zip(words) {
                *residue = modulus.reduce(word(bytes));
            }
            ntt.inverse(Roots::OnTheFly, scratch);
            for (byte, residues) in packed.iter_mut().zip(scratch.as_chunks::<4>().0) {
                let mut codes = residues.map(|residue| modulus.add(residue, 1));
                for code in &mut codes {
                    wrong |= u64::from(*code > 2);
                }
                *byte = codes
                    .iter()
                    .fold(0, |byte, &code| byte << 2 | (code & 3) as u8);
            }
        } else {
            vectorize(
                isa,
                #[inline(always)]
                || crate::ternary::unpack(modulus, packed, scratch),
            );
            ntt.forward(Roots::OnTheFly, scratch);
            for (&residue, bytes) in scratch.iter().zip(words) {
                wrong |= u64::from(residue) ^ word(bytes);
            }
        }
        if wrong != 0 {
            return Err(KeyError::NotTernary.into());
        }
    }
    Ok(())
}

/// Returns the number of bytes of the object at the beginning of `bytes`, which its header states.
/// In a sequence of objects, the next one begins there.
///
/// # Errors
/// If `bytes` does not begin with an uncompressed object of a supported version, or is shorter than
/// the object.
pub fn object_bytes(bytes: &[u8]) -> Result<usize, SealError> {
    let (size, _) = Reader { rest: bytes }.header()?;
    let found = bytes.len();
    usize::try_from(size)
        .ok()
        .filter(|&size| (HEADER_BYTES..=found).contains(&size))
        .ok_or(SealError::Length {
            needed: size,
            found,
        })
}

/// A reader of an object, from its beginning to its end.
pub(super) struct Reader<'o> {
    rest: &'o [u8],
}

impl<'o> Reader<'o> {
    /// Opens the outermost object, which is all of `object`, behind its header. Also returns the major
    /// version that wrote it.
    pub(super) fn open(object: &'o [u8]) -> Result<(Self, u8), SealError> {
        let mut reader = Self { rest: object };
        let (size, major) = reader.header()?;
        let found = object.len();
        match size == found as u64 {
            true => Ok((reader, major)),
            false => Err(SealError::Length {
                needed: size,
                found,
            }),
        }
    }

    /// Reads a header, and returns the size of its object and the major version.
    fn header(&mut self) -> Result<(u64, u8), SealError> {
        let header = Header::read(self.rest)?;
        self.take::<HEADER_BYTES>()?;
        let (major, minor) = header.version;
        if !matches!((major, minor), (3, 4..) | (4, _)) {
            return Err(SealError::Version(major, minor));
        }
        if header.compression != 0 {
            return Err(SealError::Compressed);
        }
        Ok((header.bytes, major))
    }

    pub(super) fn take<const LEN: usize>(&mut self) -> Result<[u8; LEN], SealError> {
        let found = self.rest.len();
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(SealError::Length {
            needed: LEN as u64,
            found,
        })?;
        self.rest = rest;
        Ok(*bytes)
    }

    pub(super) fn word(&mut self) -> Result<u64, SealError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn modulus(&mut self) -> Result<u64, SealError> {
        match self.header()?.0 == MODULUS_BYTES as u64 {
            true => self.word(),
            false => Err(SealError::Member("modulus")),
        }
    }

    /// Reads the words of an array.
    pub(super) fn array(&mut self) -> Result<&'o [u8], SealError> {
        let (size, _) = self.header()?;
        let bytes = self.word()?.checked_mul(8);
        let found = self.rest.len();
        let bytes = bytes.ok_or(SealError::Member("number of words"))?;
        if bytes.checked_add(ARRAY_PREFIX as u64) != Some(size) {
            return Err(SealError::Member("number of words"));
        }
        let too_short = SealError::Length {
            needed: bytes,
            found,
        };
        let len = usize::try_from(bytes).map_err(|_| too_short)?;
        let (words, rest) = self.rest.split_at_checked(len).ok_or(too_short)?;
        self.rest = rest;
        Ok(words)
    }

    /// Reads what follows the words of a seeded ciphertext.
    pub(super) fn seed(&mut self) -> Result<(SealGenerator, [u8; SEED_BYTES]), SealError> {
        if self.header()?.0 != SEED_INFO_BYTES as u64 {
            return Err(SealError::Member("seed"));
        }
        let generator = match self.take::<1>()? {
            [1] => SealGenerator::Blake2xb,
            #[cfg(feature = "shake256")]
            [2] => SealGenerator::Shake256,
            [other] => return Err(SealError::Generator(other)),
        };
        Ok((generator, self.take()?))
    }

    pub(super) fn end(&self) -> Result<(), SealError> {
        match self.rest.len() {
            0 => Ok(()),
            found => Err(SealError::Length { needed: 0, found }),
        }
    }
}
