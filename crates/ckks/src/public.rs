//! Encryption under a public key `(p0, p1)`.
//!
//! A ciphertext is `c_i = p_i·u + e_i` with a ternary `u`, and the plaintext is added to `c0`.
//!
//! With a key that has a special prime `P`, this is computed modulo `P` and the data primes,
//! divided by `P` and rounded before the plaintext is added, as SEAL does. The division reduces the
//! product of `u` and the key's error to far below the rounding error. Modulo one data prime, with
//! `r_i = [p_i·u + e_i]_P` nearest to zero, it is `c_i = (p_i/P)·u + (e_i - r_i)/P`, so that the
//! small polynomial `e_i - r_i` is all that is kept of the special prime. Keys without one, those
//! of SEAL-Embedded, give that library's larger noise.

use tfhe_sbc_core::random::{
    EntropySource, ExpanderKind, NoSource, NoiseDistribution, NoiseSeed, SeedSequence, add_noise,
};
use tfhe_sbc_core::simd::{Isa, vectorize};

use crate::encoding::Slots;
use crate::error::{CkksError, KeyError, SinkError};
use crate::mask::CHUNK;
use crate::modulus::Modulus;
use crate::ntt::Ntt;
use crate::numbers::numbers;
use crate::output::{Format, Output};
use crate::parameters::Parameters;
use crate::plan::{KeyMode, MemoryPlan};
use crate::public_key::{Polynomial, PublicKey};
use crate::seal;
use crate::state::{NOISE_ETA, Special, State};
use crate::ternary;
use crate::wide::WideRing;

/// A session that encrypts under a public key, in a borrowed workspace. Drop wipes what it holds.
///
/// Constant-time in values, `u` and noise, where the processor's arithmetic is, including that in
/// doubles. An attacker who captures session, workspace and seeds cannot decrypt the messages that
/// were sent before.
pub struct PublicEncryptor<'w, S = NoSource> {
    state: State<'w>,
    key: PublicKey<'w>,
    plan: MemoryPlan,
    seeds: SeedSequence<S>,
}

impl<'w, S: EntropySource> PublicEncryptor<'w, S> {
    /// Starts a session.
    ///
    /// `workspace` has at least [`workspace_bytes`](crate::workspace_bytes) for
    /// [`KeyMode::Public`], aligned to 8 bytes or, for speed, to 64; its content is overwritten.
    /// `key` was read for `parameters`. `seeds` must be fresh.
    ///
    /// # Errors
    /// If the key is of other parameters, or the workspace too small or misaligned.
    pub fn new(
        parameters: &Parameters,
        key: PublicKey<'w>,
        plan: MemoryPlan,
        seeds: SeedSequence<S>,
        workspace: &'w mut [u8],
    ) -> Result<Self, CkksError> {
        Self::on(Isa::detect(), parameters, key, plan, seeds, workspace)
    }

    /// Does the same as [`new`](Self::new), on a given instruction set.
    pub(crate) fn on(
        isa: Isa,
        parameters: &Parameters,
        key: PublicKey<'w>,
        plan: MemoryPlan,
        seeds: SeedSequence<S>,
        workspace: &'w mut [u8],
    ) -> Result<Self, CkksError> {
        let key = key.checked(parameters)?;
        let mut state = State::new(parameters, plan, KeyMode::Public, isa, workspace)?;
        if let Some(special) = key.special_prime(parameters) {
            state.set_special(special)?;
        }
        Ok(Self {
            state,
            key,
            plan,
            seeds,
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.state.parameters
    }

    /// Returns whether the key has a special prime, so that ciphertexts have the smaller noise: at
    /// n = 4096 about 5 times that of a secret key's ciphertexts, without a special prime about 70 times.
    pub fn divides_noise(&self) -> bool {
        self.state.special().is_some()
    }

    /// Encrypts `slots`, multiplied by `scale` and rounded, and returns the number of bytes, as
    /// [`Encryptor::encrypt`](crate::Encryptor::encrypt) does.
    ///
    /// With the small and balanced plans and a special prime, [`Format::Raw`] takes about
    /// twice as long as [`Format::Seal`], because its order alternates between the polynomials.
    ///
    /// # Errors
    /// Those of [`Encryptor::encrypt`](crate::Encryptor::encrypt), and [`CkksError::NotSeedable`] for
    /// [`Format::SealSeeded`].
    pub fn encrypt(
        &mut self,
        slots: Slots<'_>,
        scale: f64,
        format: Format,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, CkksError> {
        if format == Format::SealSeeded {
            return Err(CkksError::NotSeedable);
        }
        let result = self.encrypt_to(slots, scale, &mut Output::new(sink, format));
        self.state.forget_message();
        tfhe_sbc_core::workspace::wipe(self.state.key);
        result.map(|()| format.ciphertext_bytes(&self.state.parameters))
    }

    fn encrypt_to(
        &mut self,
        slots: Slots<'_>,
        scale: f64,
        out: &mut Output<'_>,
    ) -> Result<(), CkksError> {
        self.state.encode(slots, scale)?;
        let (_, noise) = self.seeds.next_pair()?;
        self.seeds.forget_past();
        ternary::draw(&noise, U_STREAM, self.state.packed);
        let special = self.state.special();
        if special.is_none() {
            add_errors(&noise, 0, numbers::<u64>(self.state.message)?);
        }
        seal::write_ciphertext_header(&self.state.parameters, scale, out)?;

        let primes = self.state.parameters.data_prime_count();
        let mut message = Message {
            state: &mut self.state,
            key: self.key,
            plan: self.plan,
            noise,
            special,
            errors_of: [None; 2],
            transformed: None,
        };
        match out.format() {
            Format::Raw => {
                for prime in 0..primes {
                    for polynomial in 0..2 {
                        message.send(polynomial, prime, out)?;
                    }
                }
            }
            Format::Seal | Format::SealSeeded => {
                for polynomial in 0..2 {
                    for prime in 0..primes {
                        message.send(polynomial, prime, out)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The number of the stream that draws `u`; stream `1 + i` draws the errors of polynomial `i`.
const U_STREAM: u32 = 0;

fn add_errors<T: tfhe_sbc_core::torus::Torus>(noise: &NoiseSeed, polynomial: usize, out: &mut [T]) {
    let mut stream = ExpanderKind::ChaCha20.noise_stream(noise, 1 + polynomial as u32);
    let distribution = NoiseDistribution::CenteredBinomial { eta: NOISE_ETA };
    add_noise(distribution, &mut stream, out);
}

/// A message while it is made.
struct Message<'m, 'w> {
    state: &'m mut State<'w>,
    key: PublicKey<'w>,
    plan: MemoryPlan,
    noise: NoiseSeed,
    special: Option<Special>,
    /// The polynomial whose errors are at each place of the workspace.
    errors_of: [Option<usize>; 2],
    /// The prime modulo which the workspace holds the transform of `u`.
    transformed: Option<usize>,
}

impl Message<'_, '_> {
    /// Makes and sends one polynomial modulo one prime.
    fn send(
        &mut self,
        polynomial: usize,
        prime: usize,
        out: &mut Output<'_>,
    ) -> Result<(), CkksError> {
        let place = match self.plan {
            MemoryPlan::Fast => polynomial,
            MemoryPlan::Small | MemoryPlan::Balanced => 0,
        };
        // Without a special prime the errors of the first polynomial have been added to the plaintext.
        let in_message = self.special.is_none() && polynomial == 0;
        if !in_message && self.errors_of[place] != Some(polynomial) {
            match self.special {
                Some(Special::Narrow(ntt)) => self.divided_errors(&ntt, polynomial)?,
                Some(Special::Wide(ring)) => self.wide_errors(&ring, polynomial, place)?,
                None => {
                    let bytes = 4 * self.state.parameters.polynomial_size();
                    let errors = &mut self.state.errors[place * bytes..][..bytes];
                    add_errors::<u32>(&self.noise, polynomial, cleared(numbers(errors)?));
                    self.errors_of[place] = Some(polynomial);
                }
            }
        }

        let ntt = self.state.data_ntt(prime);
        let modulus = ntt.modulus();
        let factor = match self.special {
            Some(special) => special.inverse(modulus),
            None => modulus.one(),
        };
        let mut parts = self.state.parts(&ntt)?;
        if self.transformed != Some(prime) {
            parts.transform_ternary(&ntt, parts.packed, 0, factor);
            self.transformed = Some(prime);
        }
        if in_message {
            parts.transform_message(&ntt);
        } else {
            let with_message = polynomial == 0;
            match self.special {
                Some(Special::Wide(_)) => {
                    parts.transform_errors::<true>(&ntt, place, factor, with_message);
                }
                _ => parts.transform_errors::<false>(&ntt, place, factor, with_message),
            }
        }
        let public = self.key.polynomial(polynomial, prime, parts.work.len());
        let works = parts.work.as_chunks_mut::<CHUNK>().0;
        let keys = parts.key.as_chunks::<CHUNK>().0;
        for (index, (work, key)) in works.iter_mut().zip(keys).enumerate() {
            multiply_add(parts.isa, modulus, public.chunk(index), key, work);
            out.residues(work)?;
        }
        Ok(())
    }

    /// Makes `e_i - r_i` for polynomial `wanted`, or for both polynomials if there is a place for each.
    fn divided_errors(&mut self, ntt: &Ntt, wanted: usize) -> Result<(), CkksError> {
        let parameters = self.state.parameters;
        let n = parameters.polynomial_size();
        let modulus = ntt.modulus();
        let mut parts = self.state.parts(ntt)?;
        parts.transform_ternary(ntt, parts.packed, 0, modulus.one());
        self.transformed = None;
        let polynomials = match self.plan {
            MemoryPlan::Fast => 0..2,
            MemoryPlan::Small | MemoryPlan::Balanced => wanted..wanted + 1,
        };
        let places = numbers::<u32>(parts.errors)?.chunks_exact_mut(n);
        for ((values, place_of), polynomial) in places.zip(&mut self.errors_of).zip(polynomials) {
            let public = self
                .key
                .polynomial(polynomial, parameters.data_prime_count(), n);
            values.fill(0);
            let keys = parts.key.as_chunks::<CHUNK>().0;
            let chunks = values.as_chunks_mut::<CHUNK>().0.iter_mut();
            for (index, (values, key)) in chunks.zip(keys).enumerate() {
                multiply_add(parts.isa, modulus, public.chunk(index), key, values);
            }
            ntt.inverse(parts.roots, values);
            let noise = cleared(parts.work);
            add_errors(&self.noise, polynomial, noise);
            vectorize(
                parts.isa,
                #[inline(always)]
                || {
                    for (value, &error) in values.iter_mut().zip(&*noise) {
                        let residue = modulus.add(*value, reduce_error(modulus, error));
                        *value = error.wrapping_sub(modulus.centre(residue) as u32);
                    }
                },
            );
            *place_of = Some(polynomial);
        }
        Ok(())
    }

    /// Makes `e_i - r_i` modulo a wide special prime, in the place of errors.
    fn wide_errors(
        &mut self,
        ring: &WideRing,
        polynomial: usize,
        place: usize,
    ) -> Result<(), CkksError> {
        let n = self.state.parameters.polynomial_size();
        let special = self.state.parameters.data_prime_count();
        let Polynomial::Wide(public) = self.key.polynomial(polynomial, special, n) else {
            // A key with narrow words was refused when it was read.
            return Err(KeyError::NotReduced.into());
        };
        let values: &mut [u64] = numbers(&mut self.state.errors[place * 8 * n..][..8 * n])?;
        ring.ternary_product(self.state.packed, public, values);
        let noise = cleared(self.state.work);
        add_errors(&self.noise, polynomial, noise);
        for (value, &error) in values.iter_mut().zip(&*noise) {
            let error = error as i32;
            let residue = ring.add(*value, ring.reduce_small(error));
            *value = (i64::from(error) - ring.centre(residue)) as u64;
        }
        self.errors_of[place] = Some(polynomial);
        Ok(())
    }
}

/// Returns the residue of an error, a signed number that is smaller than any prime.
#[inline(always)]
fn reduce_error(modulus: Modulus, error: u32) -> u32 {
    error.min(error.wrapping_add(modulus.value()))
}

/// Adds `public · key` to `out`, in the order of the transform; `key` is in Montgomery form.
#[inline(always)]
fn multiply_add(
    isa: Isa,
    modulus: Modulus,
    public: [u32; CHUNK],
    key: &[u32; CHUNK],
    out: &mut [u32; CHUNK],
) {
    vectorize(
        isa,
        #[inline(always)]
        || {
            for ((out, &key), public) in out.iter_mut().zip(key).zip(public) {
                *out = modulus.add(*out, modulus.mul(public, key));
            }
        },
    );
}

fn cleared(values: &mut [u32]) -> &mut [u32] {
    values.fill(0);
    values
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use tfhe_sbc_core::random::Seed;
    use tfhe_sbc_core::workspace::HeapWorkspace;

    use super::*;

    /// Every loop on vectors against the portable ones, at every plan, with a special prime and
    /// without. The content of the key does not matter.
    #[test]
    fn every_instruction_set_gives_the_same_bytes() {
        let parameters = Parameters::N2048;
        let words = |prime: u64, factor: u64| -> Vec<u8> {
            let residues = (0..2048u64).map(|i| (i * i * factor + 12345) % prime);
            residues
                .flat_map(|residue| (residue as u32).to_le_bytes())
                .collect()
        };
        let parts: Vec<[Vec<u8>; 2]> = parameters
            .key_primes()
            .map(|prime| [words(prime, 104729), words(prime, 1299709)])
            .collect();
        let parts: Vec<[&[u8]; 2]> = parts.iter().map(|[p0, p1]| [&p0[..], &p1[..]]).collect();
        let values: Vec<f64> = (0..1024).map(|i| f64::from(i % 37) - 18.5).collect();
        for parts in [&parts[..], &parts[..1]] {
            let key = PublicKey::from_parts(&parameters, parts).unwrap();
            let encrypt = |isa, plan| {
                let bytes = crate::workspace_bytes(&parameters, plan, KeyMode::Public);
                let mut workspace = HeapWorkspace::new(bytes);
                let seeds = SeedSequence::new(Seed::from_bytes([8; 32]));
                let workspace = workspace.as_mut_slice();
                let mut encryptor =
                    PublicEncryptor::on(isa, &parameters, key, plan, seeds, workspace).unwrap();
                assert_eq!(encryptor.divides_noise(), parts.len() == 2);
                let mut out = Vec::new();
                let sink = &mut |piece: &[u8]| {
                    out.extend_from_slice(piece);
                    Ok(())
                };
                encryptor
                    .encrypt(Slots::Real(&values), 1e6, Format::Raw, sink)
                    .unwrap();
                out
            };
            let expected = encrypt(Isa::Portable, MemoryPlan::Small);
            for isa in Isa::available() {
                for plan in MemoryPlan::ALL {
                    assert!(encrypt(isa, plan) == expected, "{} {plan}", isa.name());
                }
            }
        }
    }
}
