//! New keys in SEAL's form: a secret key that [`SecretKey::generate`] drew, and a public key for it.

use tfhe_sbc_core::random::{
    AnyExpander, EntropySource, ExpanderKind, MaskSeed, NoiseDistribution, SeedSequence, add_noise,
    fill_uniform,
};
use tfhe_sbc_core::workspace::{Carver, wipe};

use super::header::{HEADER_BYTES, header};
use super::layout::{ARRAY_PREFIX, CIPHERTEXT_PREFIX, Level, parms_id};
use crate::error::{CkksError, SinkError};
use crate::parameters::{Parameters, ParametersError};
use crate::state::NOISE_ETA;
use crate::ternary::SecretKey;
use crate::wide::WideRing;

/// The number of bytes before the words of a secret key.
const SECRET_PREFIX: usize = HEADER_BYTES + 32 + 8 + 8 + ARRAY_PREFIX;

/// The number of words that a sink is given at a time.
const CHUNK: usize = 128;

type Sink<'s> = &'s mut dyn FnMut(&[u8]) -> Result<(), SinkError>;

/// Returns the number of bytes that [`write_secret_key`] writes.
pub const fn secret_key_bytes(parameters: &Parameters) -> usize {
    SECRET_PREFIX + 8 * parameters.key_prime_count() * parameters.polynomial_size()
}

/// Returns the number of bytes that [`write_public_key`] writes.
pub const fn public_key_bytes(parameters: &Parameters) -> usize {
    CIPHERTEXT_PREFIX + 16 * parameters.key_prime_count() * parameters.polynomial_size()
}

/// Returns the number of bytes of scratch that the two functions need.
pub const fn key_scratch_bytes(parameters: &Parameters) -> usize {
    16 * parameters.polynomial_size()
}

/// Writes SEAL's `SecretKey` to `sink`, and returns the number of bytes. The bytes that the sink
/// gets are secret.
///
/// `scratch` has [`key_scratch_bytes`], aligned to 8, and is wiped. Constant-time in the key.
///
/// # Errors
/// If the key is of another size, or the scratch too small or misaligned; those of the sink.
pub fn write_secret_key(
    parameters: &Parameters,
    key: SecretKey<'_>,
    scratch: &mut [u8],
    sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
) -> Result<usize, CkksError> {
    let key = SecretKey::from_packed(parameters, key.packed())?;
    let n = parameters.polynomial_size();
    let mut carver = Carver::new(scratch, key_scratch_bytes(parameters))?;
    let values: &mut [u64] = carver.take(n)?;
    let words = parameters.key_prime_count() * n;
    let mut write = || {
        send(sink, &header(secret_key_bytes(parameters)))?;
        send(sink, &parms_id(parameters, Level::Key))?;
        send(sink, &(words as u64).to_le_bytes())?;
        // The scale; a key has none.
        send(sink, &1f64.to_le_bytes())?;
        send(sink, &header(ARRAY_PREFIX + 8 * words))?;
        send(sink, &(words as u64).to_le_bytes())?;
        for prime in parameters.key_primes() {
            ring(parameters, prime)?.transform_ternary(key.packed(), values);
            send_words(sink, values)?;
        }
        Ok(secret_key_bytes(parameters))
    };
    let result = write();
    wipe(values);
    result
}

/// Writes SEAL's `PublicKey` `(-(a·s + e), a)` for a secret key to `sink`, and returns the number of
/// bytes. `a` is uniform and `e` has the distribution of the errors of ciphertexts; the next pair of
/// `seeds` draws both.
///
/// `scratch` has [`key_scratch_bytes`], aligned to 8, and is wiped. Constant-time in the key and
/// the error.
///
/// # Errors
/// If the key is of another size, or the scratch too small or misaligned; those of the source of
/// entropy and of the sink.
pub fn write_public_key<S: EntropySource>(
    parameters: &Parameters,
    key: SecretKey<'_>,
    seeds: &mut SeedSequence<S>,
    scratch: &mut [u8],
    sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
) -> Result<usize, CkksError> {
    let key = SecretKey::from_packed(parameters, key.packed())?;
    let (n, primes) = (parameters.polynomial_size(), parameters.key_prime_count());
    let mut carver = Carver::new(scratch, key_scratch_bytes(parameters))?;
    let (secret, values): (&mut [u64], &mut [u64]) = (carver.take(n)?, carver.take(n)?);
    let (mask_seed, noise_seed) = seeds.next_pair()?;
    let words = 2 * primes * n;
    let mut write = || {
        send(sink, &header(public_key_bytes(parameters)))?;
        send(sink, &parms_id(parameters, Level::Key))?;
        // The polynomials, two of them, are in the transformed domain (`is_ntt_form`).
        send(sink, &[1])?;
        for number in [2, n, primes] {
            send(sink, &(number as u64).to_le_bytes())?;
        }
        send(sink, &1f64.to_le_bytes())?;
        send(sink, &header(ARRAY_PREFIX + 8 * words))?;
        send(sink, &(words as u64).to_le_bytes())?;
        for (index, prime) in parameters.key_primes().enumerate() {
            let ring = ring(parameters, prime)?;
            ring.transform_ternary(key.packed(), secret);
            values.fill(0);
            // The error is the same modulo every prime.
            let mut noise = ExpanderKind::ChaCha20.noise_stream(&noise_seed, 0);
            let distribution = NoiseDistribution::CenteredBinomial { eta: NOISE_ETA };
            add_noise::<u64>(distribution, &mut noise, values);
            for value in values.iter_mut() {
                *value = ring.reduce_small(*value as i32);
            }
            ring.forward(values);
            let mut mask = Uniform::new(&mask_seed, index, prime);
            for (value, secret) in values.iter_mut().zip(&*secret) {
                let sum = ring.add(*value, ring.product(mask.next(), *secret));
                *value = ring.negate(sum);
            }
            send_words(sink, values)?;
        }
        for (index, prime) in parameters.key_primes().enumerate() {
            let mut mask = Uniform::new(&mask_seed, index, prime);
            values.fill_with(|| mask.next());
            send_words(sink, values)?;
        }
        Ok(public_key_bytes(parameters))
    };
    let result = write();
    wipe(secret);
    wipe(values);
    result
}

fn ring(parameters: &Parameters, prime: u64) -> Result<WideRing, CkksError> {
    let ring = WideRing::new(prime, parameters.log_n());
    Ok(ring.ok_or(ParametersError::NoTransform(prime))?)
}

fn send(sink: Sink<'_>, bytes: &[u8]) -> Result<(), CkksError> {
    sink(bytes).map_err(CkksError::Sink)
}

fn send_words(sink: Sink<'_>, words: &[u64]) -> Result<(), CkksError> {
    let mut piece = [[0; 8]; CHUNK];
    let mut result = Ok(());
    for words in words.chunks(CHUNK) {
        for (bytes, word) in piece.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        result = send(sink, piece[..words.len()].as_flattened());
        if result.is_err() {
            break;
        }
    }
    wipe(piece.as_flattened_mut());
    result
}

/// The stream of public uniform residues of one prime.
struct Uniform {
    stream: AnyExpander,
    prime: u64,
    /// The last multiple of the prime below 2^64; words from it on are drawn again.
    limit: u64,
}

impl Uniform {
    fn new(seed: &MaskSeed, index: usize, prime: u64) -> Self {
        Self {
            stream: ExpanderKind::ChaCha20.mask_stream(seed, index as u32),
            prime,
            limit: u64::MAX - u64::MAX % prime,
        }
    }

    fn next(&mut self) -> u64 {
        let mut word = [self.limit];
        while word[0] >= self.limit {
            fill_uniform::<u64>(&mut self.stream, &mut word);
        }
        word[0] % self.prime
    }
}
