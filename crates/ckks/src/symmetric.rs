//! Encryption under a secret key: `c0 = m - (a·s + e)` and `c1 = a`, modulo every data prime, in the
//! order of the transform.

use tfhe_sbc_core::random::{
    EntropySource, ExpanderKind, NoSource, NoiseDistribution, SealGenerator, SeedSequence,
    add_noise,
};
use tfhe_sbc_core::simd::{Isa, vectorize};

use crate::encoding::Slots;
use crate::error::{CkksError, SinkError};
use crate::mask::{CHUNK, Mask, seal_seed};
use crate::modulus::Modulus;
use crate::numbers::numbers;
use crate::output::{Format, Output};
use crate::parameters::Parameters;
use crate::plan::{KeyMode, MemoryPlan};
use crate::seal;
use crate::state::{NOISE_ETA, State};
use crate::ternary::SecretKey;

/// A session that encrypts under a secret key, in a borrowed workspace. Drop wipes what it holds.
///
/// Constant-time in values, key and noise, where the processor's arithmetic is, including that in
/// doubles; the mask and its seed are public.
pub struct Encryptor<'w, S = NoSource> {
    state: State<'w>,
    key: SecretKey<'w>,
    plan: MemoryPlan,
    generator: SealGenerator,
    seeds: SeedSequence<S>,
}

impl<'w, S: EntropySource> Encryptor<'w, S> {
    /// Starts a session.
    ///
    /// `workspace` has at least [`workspace_bytes`](crate::workspace_bytes) for
    /// [`KeyMode::Symmetric`], aligned to 8 bytes or, for speed, to 64; its content is overwritten.
    /// `generator` is the one with which SEAL expands the masks of seeded ciphertexts. `seeds` must be
    /// fresh, because they alone make this session's ciphertexts differ from those of any other.
    ///
    /// # Errors
    /// If the key is of another size, or the workspace too small or misaligned.
    pub fn new(
        parameters: &Parameters,
        key: SecretKey<'w>,
        plan: MemoryPlan,
        generator: SealGenerator,
        seeds: SeedSequence<S>,
        workspace: &'w mut [u8],
    ) -> Result<Self, CkksError> {
        Self::on(
            Isa::detect(),
            parameters,
            key,
            plan,
            generator,
            seeds,
            workspace,
        )
    }

    /// Does the same as [`new`](Self::new), on a given instruction set.
    pub(crate) fn on(
        isa: Isa,
        parameters: &Parameters,
        key: SecretKey<'w>,
        plan: MemoryPlan,
        generator: SealGenerator,
        seeds: SeedSequence<S>,
        workspace: &'w mut [u8],
    ) -> Result<Self, CkksError> {
        // A key that was made for other parameters has another length.
        let key = SecretKey::from_packed(parameters, key.packed())?;
        let mut state = State::new(parameters, plan, KeyMode::Symmetric, isa, workspace)?;
        if plan == MemoryPlan::Fast {
            for prime in 0..parameters.data_prime_count() {
                let ntt = state.data_ntt(prime);
                let mut parts = state.parts(&ntt)?;
                parts.transform_ternary(&ntt, key.packed(), prime, ntt.modulus().one());
            }
        }
        Ok(Self {
            state,
            key,
            plan,
            generator,
            seeds,
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.state.parameters
    }

    /// Encrypts `slots`, multiplied by `scale` and rounded, and returns the number of bytes.
    ///
    /// `sink` gets the ciphertext in order, at most [`MAX_PIECE_BYTES`](crate::MAX_PIECE_BYTES)
    /// at a time, while it is made. Slots without a value are zero.
    ///
    /// # Errors
    /// Before the first piece: if there are too many values, one is not finite, or they are too large
    /// for the moduli at this scale; those of the source of entropy. Later: only those of the sink.
    pub fn encrypt(
        &mut self,
        slots: Slots<'_>,
        scale: f64,
        format: Format,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), SinkError>,
    ) -> Result<usize, CkksError> {
        let result = self.encrypt_to(slots, scale, &mut Output::new(sink, format));
        self.state.forget_message();
        result.map(|()| format.ciphertext_bytes(&self.state.parameters))
    }

    fn encrypt_to(
        &mut self,
        slots: Slots<'_>,
        scale: f64,
        out: &mut Output<'_>,
    ) -> Result<(), CkksError> {
        self.state.encode(slots, scale)?;
        let (mask_seed, noise_seed) = self.seeds.next_pair()?;
        let mut noise = ExpanderKind::ChaCha20.noise_stream(&noise_seed, 0);
        let distribution = NoiseDistribution::CenteredBinomial { eta: NOISE_ETA };
        // The distribution of the error is symmetric, so adding it is the same as subtracting it.
        add_noise::<u64>(distribution, &mut noise, numbers(self.state.message)?);

        let seed = seal_seed(&mask_seed);
        seal::write_ciphertext_header(&self.state.parameters, scale, out)?;
        let mut mask = self.mask(&seed);
        for prime in 0..self.state.parameters.data_prime_count() {
            self.send_prime(prime, &mut mask, out)?;
        }
        match out.format() {
            Format::Raw => Ok(()),
            Format::SealSeeded => seal::write_seed(self.generator, &seed, out),
            Format::Seal => {
                let mut mask = self.mask(&seed);
                let mut chunk = [0; CHUNK];
                for &prime in self.state.parameters.data_primes() {
                    for _ in 0..self.state.parameters.polynomial_size() / CHUNK {
                        mask.next(Modulus::new(prime), &mut chunk);
                        out.residues(&chunk)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn mask(&self, seed: &[u8; 64]) -> Mask {
        Mask::new(self.generator, seed, &self.state.parameters, self.state.isa)
    }

    /// Makes and sends the first polynomial modulo one prime and, in the raw form, the second.
    fn send_prime(
        &mut self,
        prime: usize,
        mask: &mut Mask,
        out: &mut Output<'_>,
    ) -> Result<(), CkksError> {
        let ntt = self.state.data_ntt(prime);
        let modulus = ntt.modulus();
        let mut parts = self.state.parts(&ntt)?;
        let place = match self.plan {
            MemoryPlan::Fast => prime,
            MemoryPlan::Small | MemoryPlan::Balanced => {
                parts.transform_ternary(&ntt, self.key.packed(), 0, modulus.one());
                0
            }
        };
        parts.transform_message(&ntt);
        let key = &parts.key[place * parts.work.len()..];
        let keys = key.as_chunks::<CHUNK>().0;
        for (work, key) in parts.work.as_chunks_mut::<CHUNK>().0.iter_mut().zip(keys) {
            let mut a = [0; CHUNK];
            mask.next(modulus, &mut a);
            vectorize(
                parts.isa,
                #[inline(always)]
                || {
                    for ((work, &key), &a) in work.iter_mut().zip(key).zip(&a) {
                        *work = modulus.sub(*work, modulus.mul(a, key));
                    }
                },
            );
            out.residues(work)?;
            // The polynomial that has been sent makes room for the one that may be sent next.
            *work = a;
        }
        if out.format() == Format::Raw {
            for a in parts.work.chunks(CHUNK) {
                out.residues(a)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    use tfhe_sbc_core::random::Seed;
    use tfhe_sbc_core::workspace::HeapWorkspace;

    use super::*;

    /// Every loop on vectors against the portable ones, at every plan.
    #[test]
    fn every_instruction_set_gives_the_same_bytes() {
        let parameters = Parameters::N2048;
        let packed = vec![0b00_10_01_10; 512];
        let values: Vec<f64> = (0..1024).map(|i| f64::from(i % 37) - 18.5).collect();
        let encrypt = |isa, plan| {
            let bytes = crate::workspace_bytes(&parameters, plan, KeyMode::Symmetric);
            let mut workspace = HeapWorkspace::new(bytes);
            let mut encryptor = Encryptor::on(
                isa,
                &parameters,
                SecretKey::from_packed(&parameters, &packed).unwrap(),
                plan,
                SealGenerator::Blake2xb,
                SeedSequence::new(Seed::from_bytes([8; 32])),
                workspace.as_mut_slice(),
            )
            .unwrap();
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
