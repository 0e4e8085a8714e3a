//! The key owner's side of public-key uploads: [`DevicePublicKey`], with which a device
//! encrypts but cannot decrypt.
//!
//! The key is k GLWE encryptions of zero, `(A_j, B_j)`. A ciphertext is
//! `Σ_j r_j · (A_j, B_j) + e + (0, m)` with small polynomials `r_j`, distributed as the secret key,
//! and fresh noise `e` in every component (Lyubashevsky, Peikert and Regev, "On Ideal Lattices and
//! Learning with Errors over Rings", 2010, section 1.1; k rows for GLWE).

use alloc::vec::Vec;

use crate::glwe::GlweSecretKey;
use crate::glwe_product::ProductTorus;
use crate::keys::{DeviceKey, SecretKey};
use crate::memcheck::disclose;
use crate::parameters::{KeyFingerprint, PARAMETERS_BYTES, Parameters};
use crate::random::{EntropyError, ExpanderKind, MaskSeed, NoiseSeed, SeedSequence, fill_uniform};
use crate::wire::public_key::{PublicKeyBytes, public_key_header};
use crate::wire::{HEADER_BYTES, WireError};

/// A device public key. Not secret.
#[derive(Clone, Debug)]
pub struct DevicePublicKey {
    parameters: Parameters,
    fingerprint: KeyFingerprint,
    expander: ExpanderKind,
    mask_seed: MaskSeed,
    bodies: Vec<u8>,
}

impl SecretKey {
    /// Draws a public key for devices of this key set. Each call draws a different one.
    ///
    /// # Errors
    /// Those of the source of entropy.
    pub fn device_public_key(
        &self,
        seeds: &mut SeedSequence,
    ) -> Result<DevicePublicKey, EntropyError> {
        DevicePublicKey::generate(self.parameters(), self.fingerprint(), self.glwe(), seeds)
    }
}

impl DeviceKey {
    /// Draws a public key for this device key: messages under it decrypt with the device key. Each call
    /// draws a different one.
    ///
    /// # Errors
    /// Those of the source of entropy.
    pub fn public_key(&self, seeds: &mut SeedSequence) -> Result<DevicePublicKey, EntropyError> {
        DevicePublicKey::generate(self.parameters(), self.fingerprint(), self.glwe(), seeds)
    }
}

/// Returns the bodies of k encryptions of zero, as bytes.
fn zero_bodies<T: ProductTorus>(
    parameters: &Parameters,
    key: &GlweSecretKey,
    expander: ExpanderKind,
    mask_seed: &MaskSeed,
    noise_seed: &NoiseSeed,
) -> Vec<u8> {
    let key = key.prepare();
    let mut mask = alloc::vec![T::ZERO; parameters.big_lwe_dimension().0];
    let mut scratch = zeroize::Zeroizing::new(alloc::vec![0.0; key.scratch_len::<T>()]);
    let mut bytes = Vec::new();
    for row in 0..parameters.glwe_dimension().0 as u32 {
        let mut body = alloc::vec![T::ZERO; parameters.polynomial_size().get()];
        fill_uniform(&mut expander.mask_stream(mask_seed, row), &mut mask);
        let mut noise_stream = expander.noise_stream(noise_seed, row);
        let noise = parameters.glwe_noise();
        key.encrypt_body_into(&mut body, &mask, noise, &mut noise_stream, &mut scratch);
        disclose(&mut body);
        for scalar in body {
            let width = T::BITS as usize / 8;
            bytes.extend_from_slice(&scalar.to_u64().to_le_bytes()[..width]);
        }
    }
    bytes
}

impl DevicePublicKey {
    fn generate(
        parameters: &Parameters,
        fingerprint: KeyFingerprint,
        key: &GlweSecretKey,
        seeds: &mut SeedSequence,
    ) -> Result<Self, EntropyError> {
        let (mask_seed, noise_seed) = seeds.next_pair()?;
        let expander = ExpanderKind::ChaCha20;
        let bodies = match parameters.torus_bits() {
            32 => zero_bodies::<u32>(parameters, key, expander, &mask_seed, &noise_seed),
            _ => zero_bodies::<u64>(parameters, key, expander, &mask_seed, &noise_seed),
        };
        Ok(Self {
            parameters: *parameters,
            fingerprint,
            expander,
            mask_seed,
            bodies,
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The fingerprint of the key set.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// The expander of the masks.
    pub(crate) fn expander(&self) -> ExpanderKind {
        self.expander
    }

    /// The seed of the masks. The masks of row `j` are its stream `j`.
    pub(crate) fn mask_seed(&self) -> &MaskSeed {
        &self.mask_seed
    }

    /// The bodies, row after row, as little-endian torus scalars.
    pub(crate) fn bodies(&self) -> &[u8] {
        &self.bodies
    }

    /// Returns the bytes of a device public key file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WireError> {
        let mut out = Vec::with_capacity(HEADER_BYTES + PARAMETERS_BYTES + self.bodies.len() + 4);
        out.resize(HEADER_BYTES, 0);
        out.extend_from_slice(&self.parameters.to_bytes());
        out.extend_from_slice(&self.bodies);
        let (expander, seed) = (self.expander, self.mask_seed);
        public_key_header(&self.parameters, self.fingerprint, expander, seed).seal_vec(&mut out)?;
        Ok(out)
    }

    /// Reads the bytes of a device public key file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let read = PublicKeyBytes::parse(bytes)?;
        Ok(Self {
            parameters: read.parameters,
            fingerprint: read.key,
            expander: read.expander,
            mask_seed: read.mask_seed,
            bodies: read.bodies.to_vec(),
        })
    }
}
