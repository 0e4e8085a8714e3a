//! TFHE-rs's own GLWE encryption, `core_crypto`, beside the rows of Table 1.

use tfhe::core_crypto::prelude::*;

use tfhe_sbc_core::encoding::boolean;

use crate::error::BenchError;

use super::method::Method;
use tfhe_sbc_research::paper::configuration::{SIZE, STANDARD_DEVIATION};
use tfhe_sbc_research::paper::figures::{Encryption, TFHE_SBC};

/// Returns its two forms: whole and seeded.
pub(super) fn methods(count: usize) -> Vec<Box<dyn Method>> {
    [false, true]
        .map(|seeded| Box::new(CoreCrypto::new(count, seeded)) as Box<dyn Method>)
        .into()
}

struct CoreCrypto {
    seeder: Box<dyn Seeder>,
    generator: EncryptionRandomGenerator<DefaultRandomGenerator>,
    key: GlweSecretKeyOwned<u32>,
    whole: Vec<GlweCiphertextOwned<u32>>,
    seeded: Vec<SeededGlweCiphertextOwned<u32>>,
    count: usize,
}

impl CoreCrypto {
    fn new(count: usize, seeded: bool) -> Self {
        let mut seeder = new_seeder();
        let generator = EncryptionRandomGenerator::new(seeder.seed(), seeder.as_mut());
        let mut secret = SecretRandomGenerator::<DefaultRandomGenerator>::new(seeder.seed());
        let (dimension, size) = (GlweDimension(1), PolynomialSize(SIZE));
        let key = allocate_and_generate_new_binary_glwe_secret_key(dimension, size, &mut secret);
        let (glwe_size, native) = (dimension.to_glwe_size(), CiphertextModulus::new_native());
        let ciphertexts = count.div_ceil(SIZE);
        Self {
            whole: (0..ciphertexts * usize::from(!seeded))
                .map(|_| GlweCiphertext::new(0, glwe_size, size, native))
                .collect(),
            seeded: (0..ciphertexts * usize::from(seeded))
                .map(|_| {
                    SeededGlweCiphertext::new(0, glwe_size, size, seeder.seed().into(), native)
                })
                .collect(),
            seeder,
            generator,
            key,
            count,
        }
    }

    fn is_seeded(&self) -> bool {
        !self.seeded.is_empty()
    }

    fn sent(&self) -> usize {
        let whole: usize = self.whole.iter().map(|c| c.as_ref().len()).sum();
        let bodies: usize = self.seeded.iter().map(|c| c.as_ref().len()).sum();
        (whole + bodies) * size_of::<u32>() + self.seeded.len() * size_of::<u128>()
    }
}

impl Method for CoreCrypto {
    fn name(&self) -> String {
        let form = if self.is_seeded() { ", seeded" } else { "" };
        format!("TFHE-rs core_crypto{form}")
    }
    fn key(&self) -> String {
        let form = if self.is_seeded() { "_seeded" } else { "" };
        format!("tfhe_rs{form}")
    }
    fn note(&self) -> String {
        format!(
            "{}, Gaussian, one thread",
            if self.is_seeded() {
                "encrypt_seeded_glwe_ciphertext"
            } else {
                "encrypt_glwe_ciphertext"
            }
        )
    }
    fn paper(&self) -> (Option<&'static Encryption>, f64) {
        (None, TFHE_SBC.watts)
    }
    fn encrypt(&mut self, bits: &[u8]) -> Result<usize, BenchError> {
        let noise = Gaussian::from_dispersion_parameter(StandardDev(STANDARD_DEVIATION), 0.0);
        for (place, bits) in bits.chunks(SIZE).enumerate() {
            let mut plaintexts = vec![0; SIZE];
            for (plaintext, &bit) in plaintexts.iter_mut().zip(bits) {
                *plaintext = boolean::encode(bit == 1);
            }
            let plaintexts = PlaintextList::from_container(plaintexts);
            if let Some(whole) = self.whole.get_mut(place) {
                let generator = &mut self.generator;
                encrypt_glwe_ciphertext(&self.key, whole, &plaintexts, noise, generator);
            }
            if let Some(seeded) = self.seeded.get_mut(place) {
                let seeder = self.seeder.as_mut();
                encrypt_seeded_glwe_ciphertext(&self.key, seeded, &plaintexts, noise, seeder);
            }
        }
        Ok(self.sent())
    }
    fn decrypt(&self) -> Result<Vec<u8>, BenchError> {
        let decompressed = self
            .seeded
            .iter()
            .map(|seeded| seeded.clone().decompress_into_glwe_ciphertext());
        let mut bits = Vec::new();
        for ciphertext in self.whole.iter().cloned().chain(decompressed) {
            let mut plaintexts = PlaintextList::new(0, PlaintextCount(SIZE));
            decrypt_glwe_ciphertext(&self.key, &ciphertext, &mut plaintexts);
            bits.extend(
                plaintexts
                    .as_ref()
                    .iter()
                    .map(|&phase| u8::from(boolean::decode(phase))),
            );
        }
        bits.truncate(self.count);
        Ok(bits)
    }
    fn memory(&self) -> usize {
        self.sent() + SIZE * size_of::<u32>()
    }
}
