//! The key owner's keys: [`SecretKey`] decrypts everything; a [`DeviceKey`] is what a
//! device needs to encrypt, either a part of the secret key or drawn for that device.

use alloc::vec::Vec;

use zeroize::{Zeroize, Zeroizing};

use crate::device_issue::DeviceIssue;
use crate::glwe::GlweSecretKey;
use crate::lwe::{LweCiphertext, LweKeyError, LweSecretKey};
use crate::parameters::{GlweSecret, KeyFingerprint, Parameters};
use crate::random::{EntropyError, Expander, ExpanderKind, NoiseSeed, SeedSequence};
use crate::wire::bits::unpack_secret;
use crate::wire::key::{Binding, KeyBytes, write};
use crate::wire::{Kind, WireError};

/// What the hash of an imported key is for (BLAKE3, section 2.3: `derive_key`).
const IMPORTED_KEY_CONTEXT: &str = "tfhe-sbc 2026-11-22 fingerprint of an imported GLWE key";

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
        let (fingerprint, secret) = draw_fingerprint(seeds)?;
        let draw = |stream| ExpanderKind::ChaCha20.noise_stream(&secret, stream);
        Ok(Self {
            parameters,
            fingerprint,
            glwe: GlweSecretKey::generate(
                parameters.glwe_secret,
                parameters.glwe_dimension,
                parameters.polynomial_size(),
                &mut draw(0),
            ),
            lwe: LweSecretKey::generate(
                parameters.lwe_dimension,
                parameters.lwe_block_size,
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

    /// The block value of a ciphertext under the small LWE key, padding bit included.
    ///
    /// # Panics
    /// If the ciphertext has another dimension than the key.
    pub fn decrypt_block(&self, ciphertext: &LweCiphertext<u32>) -> u64 {
        self.parameters
            .block_encoding()
            .decode(self.lwe.phase(ciphertext))
    }

    /// The key that all devices of the key set can share: the GLWE key itself, so that
    /// a server needs nothing more to compute on what they send.
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

    /// Draws a key for one device alone. A server computes on what it encrypts once it
    /// has the device switch key, which is made of both; nobody need keep this one.
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
                self.parameters.glwe_secret,
                self.parameters.glwe_dimension,
                self.parameters.polynomial_size(),
                &mut ExpanderKind::ChaCha20.noise_stream(&secret, 0),
            ),
        })
    }

    /// The bytes of a secret key file.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, WireError> {
        write(
            Kind::SecretKey,
            &self.parameters,
            self.fingerprint,
            None,
            &[
                (self.parameters.glwe_secret, self.glwe.coefficients()),
                (GlweSecret::Binary, self.lwe.coefficients()),
            ],
        )
    }

    /// Reads the bytes of a secret key file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let read = KeyBytes::parse_secret_key(bytes)?;
        let parameters = read.parameters;
        let small = unpack(GlweSecret::Binary, read.lwe, parameters.lwe_dimension.0);
        let lwe = LweSecretKey::from_coefficients(small, parameters.lwe_block_size)
            .map_err(|error| WireError::Field(field_of(error)))?;
        Ok(Self {
            parameters,
            fingerprint: read.key,
            glwe: glwe_key(&read)?,
            lwe,
        })
    }
}

/// The fingerprint of a key, and a seed for drawing it. The fingerprint comes from a
/// mask seed and the key from the noise seed beside it: published, it says nothing.
fn draw_fingerprint(seeds: &mut SeedSequence) -> Result<(KeyFingerprint, NoiseSeed), EntropyError> {
    let (public, secret) = seeds.next_pair()?;
    let mut fingerprint = KeyFingerprint::default();
    ExpanderKind::ChaCha20
        .mask_stream(&public, 0)
        .fill(&mut fingerprint.0);
    Ok((fingerprint, secret))
}

/// What a device needs to encrypt: parameters and a GLWE key, the key set's or one of
/// its own.
#[derive(Debug)]
pub struct DeviceKey {
    parameters: Parameters,
    fingerprint: KeyFingerprint,
    binding: Binding,
    glwe: GlweSecretKey,
}

impl DeviceKey {
    /// A device key of a GLWE key that another library made: its ciphertexts are for a
    /// server that has that library. The fingerprint is a hash of parameters and key, so that
    /// whoever imports a key again gets the same one; what it says of the key is no more than
    /// any hash of so many unknown bits does.
    ///
    /// `None` if the key is not of the shape and kind that the parameters state.
    pub fn import(parameters: Parameters, glwe: GlweSecretKey) -> Option<Self> {
        let size = parameters.polynomial_size();
        let coefficients = glwe.coefficients();
        let is_such_key = coefficients
            .iter()
            .fold(true, |all, &s| all & parameters.glwe_secret.holds(s));
        if glwe.polynomial_size() != size
            || coefficients.len() != parameters.big_lwe_dimension().0
            || !is_such_key
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

    /// The fingerprint that its ciphertexts carry.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// The key set that it belongs to, and whom it was issued to.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// The GLWE key.
    pub fn glwe(&self) -> &GlweSecretKey {
        &self.glwe
    }

    /// The bytes of a device key file.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, WireError> {
        write(
            Kind::DeviceKey,
            &self.parameters,
            self.fingerprint,
            Some(&self.binding),
            &[(self.parameters.glwe_secret, self.glwe.coefficients())],
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

/// What is wrong with the small LWE key of a file.
fn field_of(error: LweKeyError) -> &'static str {
    match error {
        LweKeyError::Dimension => "dimension",
        LweKeyError::Coefficient => "small key coefficient",
        LweKeyError::Block => "small key blocks",
        LweKeyError::Weight => "small key weight",
    }
}

/// The GLWE key of a file.
fn glwe_key(read: &KeyBytes<'_>) -> Result<GlweSecretKey, WireError> {
    let secret = read.parameters.glwe_secret;
    let coefficients = unpack(secret, read.glwe, read.parameters.big_lwe_dimension().0);
    GlweSecretKey::from_coefficients(secret, coefficients, read.parameters.polynomial_size())
        .ok_or(WireError::Field("GLWE key coefficient"))
}

fn unpack(secret: GlweSecret, packed: &[u8], count: usize) -> Zeroizing<Vec<i8>> {
    let mut coefficients = Zeroizing::new(alloc::vec![0; count]);
    unpack_secret(secret, packed, &mut coefficients, |s| s);
    coefficients
}
