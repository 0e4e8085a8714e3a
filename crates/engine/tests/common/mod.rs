//! Keys and conversions that the engine's tests share.
#![allow(dead_code)]

use tfhe_sbc_core::glwe_product::MaskTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::{LweCiphertext, LweSecretKey};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::random::{ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKey};

/// A key set of known seed, and a stream of fresh encryptions under its big key.
pub(crate) struct Keys {
    pub(crate) secret: SecretKey,
    pub(crate) big: LweSecretKey,
    seeds: SeedSequence,
}

impl Keys {
    pub(crate) fn generate<T: MaskTorus>(set: ParameterSet, seed: u8) -> (Self, ServerKey<T>) {
        let parameters = set.validate().unwrap();
        let mut seeds = SeedSequence::new(Seed::from_bytes([seed; 32]));
        let secret = SecretKey::generate(parameters, &mut seeds).unwrap();
        let server = SeededServerKey::generate(&secret, &mut seeds, &|_| ())
            .unwrap()
            .prepare(&|_| ());
        let keys = Self {
            big: secret.glwe().to_lwe_secret_key(),
            secret,
            seeds,
        };
        (keys, server)
    }

    /// A fresh encryption under the big key.
    pub(crate) fn encrypt<T: MaskTorus>(&mut self, plaintext: T) -> LweCiphertext<T> {
        let (mask, noise) = self.seeds.next_pair().unwrap();
        self.big.encrypt(
            plaintext,
            self.secret.parameters().glwe_noise,
            &mut ExpanderKind::ChaCha20.mask_stream(&mask, 0),
            &mut ExpanderKind::ChaCha20.noise_stream(&noise, 0),
        )
    }

    /// A fresh encryption under the small key.
    pub(crate) fn encrypt_small(&mut self, plaintext: u32) -> LweCiphertext<u32> {
        let (mask, noise) = self.seeds.next_pair().unwrap();
        self.secret.lwe().encrypt(
            plaintext,
            self.secret.parameters().lwe_noise,
            &mut ExpanderKind::ChaCha20.mask_stream(&mask, 0),
            &mut ExpanderKind::ChaCha20.noise_stream(&noise, 0),
        )
    }
}
