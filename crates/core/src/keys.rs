//! The keys of a key owner: a [`SecretKey`] decrypts everything; with a [`DeviceKey`] a
//! device encrypts. The latter is a part of the secret key, or drawn for one device.

use alloc::vec::Vec;

use zeroize::{Zeroize, Zeroizing};

use crate::device_issue::DeviceIssue;
use crate::glwe::GlweSecretKey;
use crate::lwe::{LweCiphertext, LweKeyError, LweSecretKey};
use crate::memcheck::{disclose, disclosed};
use crate::parameters::{GlweSecret, KeyFingerprint, Parameters};
use crate::random::{EntropyError, Expander, ExpanderKind, NoiseSeed, SeedSequence};
use crate::wire::bits::unpack_secret;
use crate::wire::key::{Binding, KeyBytes, write};
use crate::wire::{Kind, WireError};

/// The context of the hash of an imported key (BLAKE3, section 2.3: `derive_key`).
const IMPORTED_KEY_CONTEXT: &str = "tfhe-sbc 2026-11-22 fingerprint of an imported GLWE key";

/// Both secret keys of a key set. They stay with the key owner.
#[derive(Debug)]
pub struct SecretKey {
    parameters: Parameters,
    fingerprint: KeyFingerprint,
    glwe: GlweSecretKey,
    lwe: LweSecretKey,
}

impl SecretKey {
    /// Draws a key set.
    ///
    /// # Errors
    /// Those of the source of entropy.
    pub fn generate(
        parameters: Parameters,
        seeds: &mut SeedSequence,
    ) -> Result<Self, EntropyError> {
        let (fingerprint, secret) = draw_fingerprint(seeds)?;
        let draw = |stream| ExpanderKind::ChaCha20.noise_stream(&secret, stream);
        Ok(Self {
            parameters,
            fingerprint,
            glwe: GlweSecretKey::generate(
                parameters.glwe_secret(),
                parameters.glwe_dimension(),
                parameters.polynomial_size(),
                &mut draw(0),
            ),
            lwe: LweSecretKey::generate(
                parameters.lwe_dimension(),
                parameters.lwe_block_size(),
                &mut draw(1),
            ),
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

    /// Decrypts a ciphertext under the small LWE key to its block value, including the padding bit.
    ///
    /// # Panics
    /// If the ciphertext has another dimension than the key.
    pub fn decrypt_block(&self, ciphertext: &LweCiphertext<u32>) -> u64 {
        self.parameters
            .block_encoding()
            .decode(self.lwe.phase(ciphertext))
    }

    /// Returns the key that all devices of the key set can share: the GLWE key itself, so that
    /// a server needs nothing more to compute on their uploads.
    pub fn device_key(&self) -> DeviceKey {
        DeviceKey {
            parameters: self.parameters,
            fingerprint: self.fingerprint,
            binding: Binding {
                key_set: self.fingerprint,
                issue: None,
            },
            glwe: self.glwe.clone(),
        }
    }

    /// Draws a key for one device alone. A server computes on its uploads once it has the device
    /// switch key, which is made from this key and the secret key. The owner need not keep this key.
    pub fn issue_device_key(
        &self,
        issue: DeviceIssue,
        seeds: &mut SeedSequence,
    ) -> Result<DeviceKey, EntropyError> {
        let (fingerprint, secret) = draw_fingerprint(seeds)?;
        Ok(DeviceKey {
            parameters: self.parameters,
            fingerprint,
            binding: Binding {
                key_set: self.fingerprint,
                issue: Some(issue),
            },
            glwe: GlweSecretKey::generate(
                self.parameters.glwe_secret(),
                self.parameters.glwe_dimension(),
                self.parameters.polynomial_size(),
                &mut ExpanderKind::ChaCha20.noise_stream(&secret, 0),
            ),
        })
    }

    /// Returns the bytes of a secret key file.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, WireError> {
        write(
            Kind::SecretKey,
            &self.parameters,
            self.fingerprint,
            None,
            &[
                (self.parameters.glwe_secret(), self.glwe.coefficients()),
                (GlweSecret::Binary, self.lwe.coefficients()),
            ],
        )
    }

    /// Reads the bytes of a secret key file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let read = KeyBytes::parse_secret_key(bytes)?;
        let parameters = read.parameters;
        let small = unpack(GlweSecret::Binary, read.lwe, parameters.lwe_dimension().0);
        let lwe = LweSecretKey::from_coefficients(small, parameters.lwe_block_size())
            .map_err(|error| WireError::Field(field_of(error)))?;
        Ok(Self {
            parameters,
            fingerprint: read.key,
            glwe: glwe_key(&read)?,
            lwe,
        })
    }
}

/// Draws the fingerprint of a key, and the seed for drawing the key. The fingerprint is made from a
/// mask seed and the key from the noise seed of the same pair, so publishing it reveals nothing.
fn draw_fingerprint(seeds: &mut SeedSequence) -> Result<(KeyFingerprint, NoiseSeed), EntropyError> {
    let (public, secret) = seeds.next_pair()?;
    let mut fingerprint = KeyFingerprint::default();
    ExpanderKind::ChaCha20
        .mask_stream(&public, 0)
        .fill(&mut fingerprint.0);
    Ok((fingerprint, secret))
}

/// The key with which a device encrypts: parameters and a GLWE key, which is the key set's or the
/// device's own.
#[derive(Debug)]
pub struct DeviceKey {
    parameters: Parameters,
    fingerprint: KeyFingerprint,
    binding: Binding,
    glwe: GlweSecretKey,
}

impl DeviceKey {
    /// Imports a GLWE key that another library made, so that a server with that library can compute on
    /// the ciphertexts. The fingerprint is a hash of parameters and key: importing the same key again
    /// gives the same one. It reveals no more about the key than any hash of as many unknown bits.
    ///
    /// Returns `None` if the key does not have the shape and kind that the parameters state.
    pub fn import(parameters: Parameters, glwe: GlweSecretKey) -> Option<Self> {
        let size = parameters.polynomial_size();
        let coefficients = glwe.coefficients();
        let is_such_key = coefficients
            .iter()
            .fold(true, |all, &s| all & parameters.glwe_secret().holds(s));
        if glwe.polynomial_size() != size
            || coefficients.len() != parameters.big_lwe_dimension().0
            || !disclosed(is_such_key)
        {
            return None;
        }
        let mut hasher = blake3::Hasher::new_derive_key(IMPORTED_KEY_CONTEXT);
        hasher.update(&parameters.to_bytes());
        for &s in glwe.coefficients() {
            hasher.update(&[s as u8]);
        }
        let mut fingerprint = KeyFingerprint::default();
        fingerprint
            .0
            .copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        disclose(&mut fingerprint.0);
        hasher.zeroize();
        Some(Self {
            parameters,
            fingerprint,
            binding: Binding {
                key_set: fingerprint,
                issue: None,
            },
            glwe,
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The fingerprint in the headers of its ciphertexts.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// The key set that the key belongs to, and the device that it was issued to.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// The GLWE key.
    pub fn glwe(&self) -> &GlweSecretKey {
        &self.glwe
    }

    /// Returns the bytes of a device key file.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, WireError> {
        write(
            Kind::DeviceKey,
            &self.parameters,
            self.fingerprint,
            Some(&self.binding),
            &[(self.parameters.glwe_secret(), self.glwe.coefficients())],
        )
    }

    /// Reads the bytes of a device key file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let read = KeyBytes::parse_device_key(bytes)?;
        Ok(Self {
            parameters: read.parameters,
            fingerprint: read.key,
            binding: read.binding,
            glwe: glwe_key(&read)?,
        })
    }
}

/// Returns the name of the wire field that an error in a small LWE key belongs to.
fn field_of(error: LweKeyError) -> &'static str {
    match error {
        LweKeyError::Dimension => "dimension",
        LweKeyError::Coefficient => "small key coefficient",
        LweKeyError::Block => "small key blocks",
        LweKeyError::Weight => "small key weight",
    }
}

/// Reads the GLWE key of a key file.
fn glwe_key(read: &KeyBytes<'_>) -> Result<GlweSecretKey, WireError> {
    let secret = read.parameters.glwe_secret();
    let coefficients = unpack(secret, read.glwe, read.parameters.big_lwe_dimension().0);
    GlweSecretKey::from_coefficients(secret, coefficients, read.parameters.polynomial_size())
        .ok_or(WireError::Field("GLWE key coefficient"))
}

fn unpack(secret: GlweSecret, packed: &[u8], count: usize) -> Zeroizing<Vec<i8>> {
    let mut coefficients = Zeroizing::new(alloc::vec![0; count]);
    unpack_secret(secret, packed, &mut coefficients, |s| s);
    coefficients
}
