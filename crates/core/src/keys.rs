//! The key owner's keys: [`SecretKey`] decrypts everything, [`DeviceKey`] is the part
//! of it that a device needs to encrypt.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use crate::glwe::GlweSecretKey;
use crate::lwe::{LweCiphertext, LweSecretKey};
use crate::parameters::{KeyFingerprint, Parameters};
use crate::random::{EntropyError, Expander, ExpanderKind, SeedSequence};
use crate::wire::bits::binary_at;
use crate::wire::key::{KeyBytes, device_key_len, secret_key_len, write};
use crate::wire::{Kind, WireError};

/// Both secret keys of a key set. Stays with the key owner.
#[derive(Debug)]
pub struct SecretKey {
    parameters: Parameters,
    fingerprint: KeyFingerprint,
    glwe: GlweSecretKey,
    lwe: LweSecretKey,
}

impl SecretKey {
    /// Draws a key set.
    pub fn generate(
        parameters: Parameters,
        seeds: &mut SeedSequence,
    ) -> Result<Self, EntropyError> {
        // Everything drawn here is either secret or independent of what is: the
        // fingerprint comes from a mask seed, the keys from the noise seed beside it.
        let (public, secret) = seeds.next_pair()?;
        let mut fingerprint = KeyFingerprint::default();
        ExpanderKind::ChaCha20
            .mask_stream(&public, 0)
            .fill(&mut fingerprint.0);
        let draw = |stream| ExpanderKind::ChaCha20.noise_stream(&secret, stream);
        Ok(Self {
            parameters,
            fingerprint,
            glwe: GlweSecretKey::generate(
                parameters.glwe_dimension,
                parameters.polynomial_size(),
                &mut draw(0),
            ),
            lwe: LweSecretKey::generate(parameters.lwe_dimension, &mut draw(1)),
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

    /// The GLWE key.
    pub fn glwe(&self) -> &GlweSecretKey {
        &self.glwe
    }

    /// The small LWE key.
    pub fn lwe(&self) -> &LweSecretKey {
        &self.lwe
    }

    /// The block value of a ciphertext under the small LWE key, padding bit included.
    ///
    /// # Panics
    /// If the ciphertext has another dimension than the key.
    pub fn decrypt_block(&self, ciphertext: &LweCiphertext<u32>) -> u64 {
        self.parameters
            .block_encoding()
            .decode(self.lwe.phase(ciphertext))
    }

    /// The part that a device needs.
    pub fn device_key(&self) -> DeviceKey {
        DeviceKey {
            parameters: self.parameters,
            fingerprint: self.fingerprint,
            bits: Zeroizing::new(self.glwe.bits().to_vec()),
        }
    }

    /// The bytes of a secret key file.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, WireError> {
        let mut out = Zeroizing::new(alloc::vec![0; secret_key_len(&self.parameters)]);
        write(
            Kind::SecretKey,
            &self.parameters,
            self.fingerprint,
            [self.glwe.bits(), self.lwe.bits()],
            &mut out,
        )?;
        Ok(out)
    }

    /// Reads the bytes of a secret key file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let read = KeyBytes::parse_secret_key(bytes)?;
        let parameters = read.parameters;
        let glwe = GlweSecretKey::from_bits(
            unpack(read.glwe, parameters.big_lwe_dimension().0),
            parameters.polynomial_size(),
        );
        let lwe = LweSecretKey::from_bits(unpack(read.lwe, parameters.lwe_dimension.0));
        match (glwe, lwe) {
            (Some(glwe), Some(lwe)) => Ok(Self {
                parameters,
                fingerprint: read.key,
                glwe,
                lwe,
            }),
            _ => Err(WireError::Field("dimension")),
        }
    }
}

/// What a device needs to encrypt: parameters and the GLWE key.
pub struct DeviceKey {
    parameters: Parameters,
    fingerprint: KeyFingerprint,
    bits: Zeroizing<Vec<u8>>,
}

impl DeviceKey {
    /// The bytes of a device key file.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, WireError> {
        let mut out = Zeroizing::new(alloc::vec![0; device_key_len(&self.parameters)]);
        write(
            Kind::DeviceKey,
            &self.parameters,
            self.fingerprint,
            [&self.bits, &[]],
            &mut out,
        )?;
        Ok(out)
    }
}

fn unpack(packed: &[u8], count: usize) -> Zeroizing<Vec<u8>> {
    Zeroizing::new((0..count).map(|i| binary_at(packed, i)).collect())
}
