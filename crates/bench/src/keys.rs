//! A key set of this project, and encryptions under it with known bootstraps.

use std::time::{Duration, Instant};

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::{LweCiphertext, LweSecretKey};
use tfhe_sbc_core::parameters::{ParameterSet, Parameters, PlaintextKind};
use tfhe_sbc_core::random::{ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKey};

use crate::error::BenchError;

/// The costs of making, sending and holding a server key.
#[derive(Clone, Copy)]
pub(crate) struct KeyCosts {
    /// Time to make it, seeded or compressed first and then ready to compute.
    pub(crate) generation: Duration,
    /// The bytes in memory, ready for use.
    pub(crate) memory: usize,
    /// The bytes of the seeded or compressed form.
    pub(crate) wire: usize,
}

/// A key set over the torus `T`.
pub(crate) struct Keys<T> {
    /// The key owner's keys.
    pub(crate) secret: SecretKey,
    /// The server's key.
    pub(crate) server: ServerKey<T>,
    /// The costs of the keys.
    pub(crate) costs: KeyCosts,
    big: LweSecretKey,
    seeds: SeedSequence,
}

/// The seeds of every key set, which keep nothing secret.
fn seeds_of_keys() -> SeedSequence {
    SeedSequence::new(Seed::from_bytes(*b"tfhe-sbc-bench: not for secrets!"))
}

/// The secret key of a set and a server key for it, as it travels.
pub(crate) fn seeded_server_key<T: ProductTorus>(
    set: ParameterSet,
) -> Result<(SecretKey, SeededServerKey<T>), BenchError> {
    let mut seeds = seeds_of_keys();
    let secret = SecretKey::generate(set.validate()?, &mut seeds)?;
    let server = SeededServerKey::generate(&secret, &mut seeds, &|_| ())?;
    Ok((secret, server))
}

impl<T: ProductTorus> Keys<T> {
    /// Makes a key set. From a fixed seed: nothing is kept secret with it.
    pub(crate) fn generate(set: ParameterSet) -> Result<Self, BenchError> {
        let start = Instant::now();
        let (secret, seeded) = seeded_server_key(set)?;
        Ok(Self::new(secret, &seeded, start))
    }

    /// The key set of a server key that [`seeded_server_key`] made.
    pub(crate) fn of(seeded: &SeededServerKey<T>) -> Result<Self, BenchError> {
        let secret = SecretKey::generate(*seeded.parameters(), &mut seeds_of_keys())?;
        Ok(Self::new(secret, seeded, Instant::now()))
    }

    fn new(secret: SecretKey, seeded: &SeededServerKey<T>, start: Instant) -> Self {
        let server = seeded.prepare(&|_| ());
        let costs = KeyCosts {
            generation: start.elapsed(),
            memory: server.bootstrap_key_bytes() + server.key_switch_key_bytes(),
            wire: seeded.to_bytes().len(),
        };
        Self {
            big: secret.glwe().to_lwe_secret_key(),
            secret,
            server,
            costs,
            seeds: SeedSequence::new(Seed::from_bytes(*b"tfhe-sbc-bench: for ciphertexts!")),
        }
    }

    /// The parameters.
    pub(crate) fn parameters(&self) -> &Parameters {
        self.secret.parameters()
    }

    /// A fresh encryption under the big key.
    pub(crate) fn encrypt(&mut self, plaintext: T) -> Result<LweCiphertext<T>, BenchError> {
        let (mask, noise) = self.seeds.next_pair()?;
        Ok(self.big.encrypt(
            plaintext,
            self.parameters().glwe_noise(),
            &mut ExpanderKind::ChaCha20.mask_stream(&mask, 0),
            &mut ExpanderKind::ChaCha20.noise_stream(&noise, 0),
        ))
    }

    /// Fresh encryptions of the digits of a number below 2^`bits`, least significant first.
    pub(crate) fn encrypt_digits(
        &mut self,
        value: u64,
        bits: u32,
    ) -> Result<Vec<LweCiphertext<T>>, BenchError> {
        let encoding = self.parameters().block_encoding();
        let mut digits = vec![0; encoding.block_count(bits)];
        encoding.split(value, &mut digits)?;
        let digits = digits.iter().map(|&digit| i64::from(digit));
        digits
            .map(|digit| self.encrypt(encoding.encode(digit)))
            .collect()
    }

    /// Returns whether a ciphertext under the big key decrypts to this plaintext.
    pub(crate) fn holds(&self, ciphertext: &LweCiphertext<T>, plaintext: T) -> bool {
        self.is_noise(self.big.phase(ciphertext).sub(plaintext))
    }

    /// Returns whether a ciphertext under the small key decrypts to this plaintext.
    pub(crate) fn small_holds(&self, ciphertext: &LweCiphertext<u32>, plaintext: T) -> bool {
        let plaintext = plaintext.round_to_bits(u32::BITS) as u32;
        let noise = self.secret.lwe().phase(ciphertext).wrapping_sub(plaintext);
        self.is_noise(noise)
    }

    /// Returns whether a difference of phases is below half the distance of two plaintexts.
    fn is_noise<U: ProductTorus>(&self, difference: U) -> bool {
        let distance = match self.parameters().plaintext() {
            PlaintextKind::Boolean => 0.25,
            PlaintextKind::Radix => {
                0.5f64.powi(self.parameters().block_encoding().plaintext_bits() as i32)
            }
        };
        difference.to_signed_fraction().abs() < distance / 2.0
    }
}

/// A parameter set in one line.
pub(crate) fn describe(parameters: &Parameters) -> String {
    format!(
        "{}: q 2^{}, n {}, k {}, N {}, PBS 2^{} x {}, KS 2^{} x {}, p_fail 2^{:.0}",
        parameters.name().as_str(),
        parameters.torus_bits(),
        parameters.lwe_dimension().0,
        parameters.glwe_dimension().0,
        parameters.polynomial_size().get(),
        parameters.pbs().base_log.0,
        parameters.pbs().level_count.0,
        parameters.key_switch().base_log.0,
        parameters.key_switch().level_count.0,
        parameters.log2_p_fail(),
    )
}
