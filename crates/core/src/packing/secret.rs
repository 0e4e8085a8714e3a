//! The key under which answers are packed.

use alloc::vec::Vec;

use zeroize::{Zeroize, Zeroizing};

use super::PackingParameters;
use crate::dimensions::{GlweDimension, PolynomialSize};
use crate::glwe::{GlweCiphertext, GlweSecretKey, PreparedGlweSecretKey};
use crate::keys::SecretKey;
use crate::parameters::{GlweSecret, Parameters};
use crate::random::{ExpanderKind, NoiseSeed};
use crate::torus::Torus;
use crate::wire::packed::PackedList;

/// The context of the derivation (BLAKE3, section 2.3: `derive_key`).
const CONTEXT: &str = "tfhe-sbc 2026-11-23 packing secret of a secret key";

/// The binary GLWE key under which answers are packed: the key owner decrypts them with it. Zeroized on
/// drop; `Debug` shows the dimensions only.
///
/// It is derived from the secret key, so that secret key files of all versions have one, there is no
/// further secret to store, and a packing key can be made again for a server. The derivation is BLAKE3 in
/// its mode for that, with a context of its own, over the dimensions and all coefficients of the secret
/// key; its output seeds ChaCha20, which draws the coefficients. If that is a pseudorandom function of the
/// secret key's thousands of uniform bits, nobody can distinguish the result from a key that was drawn
/// independently. The packing key encrypts the small key under it, which is safe for independent keys.
/// Each pair of dimensions has a secret of its own.
pub struct PackingSecret {
    parameters: Parameters,
    glwe: GlweSecretKey,
    prepared: PreparedGlweSecretKey,
}

impl PackingSecret {
    /// Derives the secret for packed ciphertexts of these parameters. Constant-time.
    pub fn derive(secret: &SecretKey, packing: &PackingParameters) -> Self {
        Self::of_dimensions(secret, packing.glwe_dimension, packing.polynomial_size)
    }

    /// Derives the secret that a list of packed answers is under. Constant-time.
    pub fn of_list(secret: &SecretKey, list: &PackedList) -> Self {
        Self::of_dimensions(secret, list.glwe_dimension(), list.polynomial_size())
    }

    fn of_dimensions(secret: &SecretKey, dimension: GlweDimension, size: PolynomialSize) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        for number in [dimension.0, size.get()] {
            hasher.update(&(number as u32).to_le_bytes());
        }
        for key in [secret.glwe().coefficients(), secret.lwe().coefficients()] {
            hasher.update(&(key.len() as u32).to_le_bytes());
            for &s in key {
                hasher.update(&[s as u8]);
            }
        }
        let mut seed = Zeroizing::new([0; 32]);
        hasher.finalize_xof().fill(&mut *seed);
        hasher.zeroize();
        let seed = NoiseSeed::from_bytes(*seed);
        let glwe = GlweSecretKey::generate(
            GlweSecret::Binary,
            dimension,
            size,
            &mut ExpanderKind::ChaCha20.noise_stream(&seed, 0),
        );
        Self {
            parameters: *secret.parameters(),
            prepared: glwe.prepare(),
            glwe,
        }
    }

    /// The GLWE key.
    pub fn glwe(&self) -> &GlweSecretKey {
        &self.glwe
    }

    /// Decrypts the first `count` slots of a ciphertext to their values. Constant-time.
    ///
    /// # Panics
    /// If the ciphertext has other dimensions than the secret.
    pub fn decrypt_slots(&self, ciphertext: &GlweCiphertext<u32>, count: usize) -> Vec<u8> {
        let bits = self.parameters.message_bits().0;
        let phases = Zeroizing::new(self.prepared.phase(ciphertext));
        let values = phases.iter().take(count);
        let modulus = (1u64 << bits) - 1;
        values
            .map(|phase| (phase.round_to_bits(bits) & modulus) as u8)
            .collect()
    }

    /// Decrypts all slots of a list to their values. Constant-time in the values.
    ///
    /// # Panics
    /// If the list has other dimensions than the secret.
    pub fn decrypt(&self, list: &PackedList) -> Vec<u8> {
        let slots = self.prepared.polynomial_size().get();
        let mut values = Vec::with_capacity(list.len());
        for ciphertext in list.ciphertexts() {
            let count = slots.min(list.len() - values.len());
            values.extend(self.decrypt_slots(ciphertext, count));
        }
        values
    }
}

impl core::fmt::Debug for PackingSecret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("PackingSecret").field(&self.glwe).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_sets::{MESSAGE_2_CARRY_2, packing_of, superseded};
    use crate::parameters::ParameterSet;
    use crate::random::{Seed, SeedSequence};

    fn secret(seed: u8) -> SecretKey {
        secret_of(MESSAGE_2_CARRY_2, seed)
    }

    fn secret_of(set: ParameterSet, seed: u8) -> SecretKey {
        let mut seeds = SeedSequence::new(Seed::from_bytes([seed; 32]));
        SecretKey::generate(set.validate().unwrap(), &mut seeds).unwrap()
    }

    fn packing() -> PackingParameters {
        packing_of(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap()
    }

    /// Whoever has the secret key file of an older version must get the same secret for ever.
    #[test]
    fn the_derivation_never_changes() {
        let secret = secret_of(superseded::release_0_1::MESSAGE_2_CARRY_2, 1);
        let packing = packing();
        let derived = PackingSecret::derive(&secret, &packing);
        let read = SecretKey::from_bytes(&secret.to_bytes().unwrap()).unwrap();
        let again = PackingSecret::derive(&read, &packing);
        assert_eq!(derived.glwe().coefficients(), again.glwe().coefficients());
        let first = &derived.glwe().coefficients()[..64];
        let word = first.iter().rev().fold(0u64, |w, &s| w << 1 | s as u64);
        assert_eq!(word, 0x6f82_f0e0_d985_9a9f, "{word:#018x}");
    }

    #[test]
    fn keys_and_dimensions_have_secrets_of_their_own() {
        let secret_key = secret(1);
        let packing = packing();
        let mut wider = packing;
        wider.glwe_dimension.0 *= 2;
        let mut others = [
            PackingSecret::derive(&secret(2), &packing),
            PackingSecret::derive(&secret_key, &wider),
        ]
        .into_iter();
        let one = PackingSecret::derive(&secret_key, &packing);
        let ones = one
            .glwe()
            .coefficients()
            .iter()
            .map(|&s| s as u32)
            .sum::<u32>();
        assert!((430..595).contains(&ones), "{ones}");
        assert!(others.all(|other| {
            let pairs = other
                .glwe()
                .coefficients()
                .iter()
                .zip(one.glwe().coefficients());
            let equal = pairs.filter(|(a, b)| a == b).count();
            (430..595).contains(&equal)
        }));
        assert_eq!(
            alloc::format!("{one:?}"),
            "PackingSecret(GlweSecretKey(k = 4, N = 256, redacted))"
        );
    }
}
