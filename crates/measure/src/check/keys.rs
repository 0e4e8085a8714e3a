//! Throw-away keys from a known seed.

use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweSecretKey;
use tfhe_sbc_core::packing::PackingParameters;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{AnyExpander, EntropyError, ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_engine::packing_key::SeededPackingKey;
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKey};

use super::steps::{CheckError, Progress};

/// A key set that is reproducible and therefore for measurements only.
pub(super) struct Keys {
    pub(super) secret: SecretKey,
    /// The GLWE key as the key of extracted ciphertexts.
    pub(super) big: LweSecretKey,
    seeds: SeedSequence,
}

impl Keys {
    /// Generates the key set of this number under a seed.
    pub(super) fn generate(
        parameters: &Parameters,
        (seed, number): (u64, u64),
    ) -> Result<Self, EntropyError> {
        let mut root = [0; 32];
        root[..8].copy_from_slice(&seed.to_le_bytes());
        root[8..16].copy_from_slice(&number.to_le_bytes());
        root[16..].copy_from_slice(b"for measurements");
        let mut seeds = SeedSequence::new(Seed::from_bytes(root));
        let secret = SecretKey::generate(*parameters, &mut seeds)?;
        Ok(Self {
            big: secret.glwe().to_lwe_secret_key(),
            secret,
            seeds,
        })
    }

    /// The server key.
    pub(super) fn server<T: ProductTorus>(
        &mut self,
        progress: Progress<'_>,
    ) -> Result<ServerKey<T>, CheckError> {
        let seeded = SeededServerKey::generate(&self.secret, &mut self.seeds, &|n| progress(n))?;
        Ok(seeded.prepare(&|n| progress(n)))
    }

    /// A packing key.
    pub(super) fn packing_key(
        &mut self,
        packing: &PackingParameters,
    ) -> Result<SeededPackingKey, EntropyError> {
        SeededPackingKey::generate(&self.secret, packing, &mut self.seeds)
    }

    /// A stream of masks and one of noise.
    pub(super) fn streams(&mut self) -> Result<(AnyExpander, AnyExpander), EntropyError> {
        let (mask, noise) = self.seeds.next_pair()?;
        let kind = ExpanderKind::ChaCha20;
        Ok((kind.mask_stream(&mask, 0), kind.noise_stream(&noise, 0)))
    }

    pub(super) fn parameters(&self) -> &Parameters {
        self.secret.parameters()
    }
}
