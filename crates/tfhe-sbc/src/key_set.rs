//! Key sets: the keys that belong together.

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameters::{ParameterError, Parameters};
use tfhe_sbc_core::random::EntropyError;
use tfhe_sbc_core::wire::WireError;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_engine::server_key::{SeededServerKey, ServerKeyError};
use tfhe_sbc_oracle::parameter_file::weakness;
use tfhe_sbc_upload::{DeviceSession, UploadError, fresh_seeds};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::parameters::DEFAULT;

/// The reason why a key set could not be made.
#[derive(Debug, Error)]
pub enum KeySetError {
    /// Parameters that are not valid.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// Parameters that are too weak.
    #[error("no keys for the set {name}: {weakness}; use a shipped set, or search for another one")]
    Weak {
        /// The name of the set.
        name: String,
        /// The weakness.
        weakness: String,
    },
    /// No randomness from the operating system.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// Parameters that carry no integers over a 64-bit torus.
    #[error(transparent)]
    ServerKey(#[from] ServerKeyError),
}

/// A secret key and the server key that belongs to it, drawn from the operating system's randomness.
///
/// The device keys of a set are made when they are asked for. The secret key is wiped on drop.
pub struct KeySet {
    secret: SecretKey,
    server: SeededServerKey<u64>,
}

impl KeySet {
    /// Makes the keys of the [default set](DEFAULT), on all threads of the current rayon pool.
    ///
    /// # Errors
    /// Returns an error if the operating system gives no randomness.
    pub fn generate() -> Result<Self, KeySetError> {
        Self::generate_with(DEFAULT.validate()?)
    }

    /// Makes the keys of a set, on all threads of the current rayon pool.
    ///
    /// # Errors
    /// Returns an error for a set that is weaker than its name says, for a set that carries no
    /// integers over a 64-bit torus, and if the operating system gives no randomness.
    pub fn generate_with(parameters: Parameters) -> Result<Self, KeySetError> {
        if let Some(weakness) = weakness(&parameters) {
            return Err(KeySetError::Weak {
                name: parameters.name().to_string(),
                weakness: weakness.to_string(),
            });
        }
        let mut seeds = fresh_seeds()?;
        let secret = SecretKey::generate(parameters, &mut seeds)?;
        let server = SeededServerKey::generate(&secret, &mut seeds, &|_| ())?;
        Ok(Self { secret, server })
    }

    /// The secret key, which decrypts answers and makes the other keys.
    pub fn secret_key(&self) -> &SecretKey {
        &self.secret
    }

    /// The server key as it travels. [`prepare`](SeededServerKey::prepare) makes it ready to compute.
    pub fn server_key(&self) -> &SeededServerKey<u64> {
        &self.server
    }

    /// Returns the bytes of the key file for devices. They are secret and wiped on drop.
    ///
    /// # Errors
    /// Returns an error if the key does not fit its file format, which the shipped sets do.
    pub fn device_key_bytes(&self) -> Result<Zeroizing<Vec<u8>>, WireError> {
        self.secret.device_key().to_bytes()
    }

    /// Starts a session that encrypts tables as a device does, with the memory plan for this machine.
    ///
    /// # Errors
    /// Returns an error if the set is not for readings.
    pub fn device_session(&self) -> Result<DeviceSession, UploadError> {
        DeviceSession::new(self.device_key_bytes()?, MemoryPlan::recommended())
    }
}
