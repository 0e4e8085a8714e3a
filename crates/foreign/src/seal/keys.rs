//! Key files, which are read and written whole.

use tfhe_sbc_ckks::seal::{self, SealError};
use tfhe_sbc_ckks::{
    CkksError, EntropySource, KeyError, Parameters, PublicKey, SecretKey, SeedSequence,
    packed_bytes,
};
use tfhe_sbc_core::workspace::HeapWorkspace;
use zeroize::Zeroizing;

/// A secret key, wiped on drop.
pub struct SecretKeyFile {
    parameters: Parameters,
    packed: Zeroizing<Vec<u8>>,
}

impl SecretKeyFile {
    /// Draws a key.
    ///
    /// # Errors
    /// Returns the error of the source of randomness.
    pub fn generate<S: EntropySource>(
        parameters: &Parameters,
        seeds: &mut SeedSequence<S>,
    ) -> Result<Self, CkksError> {
        let mut packed = Zeroizing::new(vec![0; packed_bytes(parameters.polynomial_size())]);
        SecretKey::generate(parameters, seeds, &mut packed)?;
        Ok(Self {
            parameters: *parameters,
            packed,
        })
    }

    /// Reads SEAL's `SecretKey`.
    ///
    /// # Errors
    /// Returns the errors of [`seal::secret_key`].
    pub fn from_seal(parameters: &Parameters, object: &[u8]) -> Result<Self, SealError> {
        let n = parameters.polynomial_size();
        let mut packed = Zeroizing::new(vec![0; packed_bytes(n)]);
        // The reader wipes it.
        let mut scratch = vec![0; n];
        seal::secret_key(parameters, object, &mut packed, &mut scratch)?;
        Ok(Self {
            parameters: *parameters,
            packed,
        })
    }

    /// Reads SEAL-Embedded's `sk_N.dat`.
    ///
    /// # Errors
    /// Returns the errors of [`SecretKey::from_packed`].
    pub fn from_packed(parameters: &Parameters, packed: &[u8]) -> Result<Self, KeyError> {
        SecretKey::from_packed(parameters, packed)?;
        Ok(Self {
            parameters: *parameters,
            packed: Zeroizing::new(packed.to_vec()),
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the key in the form that encryptors take.
    ///
    /// # Errors
    /// Returns no error in practice: the key was checked when it was read.
    pub fn key(&self) -> Result<SecretKey<'_>, KeyError> {
        SecretKey::from_packed(&self.parameters, &self.packed)
    }

    /// The bytes of SEAL-Embedded's `sk_N.dat`, which boards keep.
    pub fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// Returns the bytes of SEAL's `SecretKey`.
    ///
    /// # Errors
    /// Returns no error in practice: the buffer has the length of the key.
    pub fn to_seal(&self) -> Result<Zeroizing<Vec<u8>>, CkksError> {
        let mut scratch = scratch(&self.parameters);
        // The buffer has its full length from the start, so that no copy stays behind.
        let mut object =
            Zeroizing::new(Vec::with_capacity(seal::secret_key_bytes(&self.parameters)));
        let scratch = scratch.as_mut_slice();
        seal::write_secret_key(&self.parameters, self.key()?, scratch, &mut |piece| {
            object.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(object)
    }

    /// Makes a SEAL `PublicKey` for this key.
    ///
    /// # Errors
    /// Returns the error of the source of randomness.
    pub fn public_key<S: EntropySource>(
        &self,
        seeds: &mut SeedSequence<S>,
    ) -> Result<Vec<u8>, CkksError> {
        let mut scratch = scratch(&self.parameters);
        let mut object = Vec::with_capacity(seal::public_key_bytes(&self.parameters));
        let scratch = scratch.as_mut_slice();
        seal::write_public_key(
            &self.parameters,
            self.key()?,
            seeds,
            scratch,
            &mut |piece| {
                object.extend_from_slice(piece);
                Ok(())
            },
        )?;
        Ok(object)
    }
}

impl std::fmt::Debug for SecretKeyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKeyFile(..)")
    }
}

fn scratch(parameters: &Parameters) -> HeapWorkspace {
    HeapWorkspace::new(seal::key_scratch_bytes(parameters))
}

/// A public key of SEAL or SEAL-Embedded.
#[derive(Clone, Debug)]
pub struct PublicKeyFile {
    parameters: Parameters,
    form: PublicForm,
}

#[derive(Clone, Debug)]
enum PublicForm {
    Seal(Vec<u8>),
    Embedded(Vec<[Vec<u8>; 2]>),
}

impl PublicKeyFile {
    /// Reads SEAL's `PublicKey`.
    ///
    /// # Errors
    /// Returns the errors of [`seal::public_key`].
    pub fn from_seal(parameters: &Parameters, object: Vec<u8>) -> Result<Self, SealError> {
        seal::public_key(parameters, &object)?;
        Ok(Self {
            parameters: *parameters,
            form: PublicForm::Seal(object),
        })
    }

    /// Reads the parts of a public key of SEAL-Embedded, as [`PublicKey::from_parts`] does.
    ///
    /// # Errors
    /// Returns the errors of [`PublicKey::from_parts`].
    pub fn from_parts(
        parameters: &Parameters,
        parts: Vec<[Vec<u8>; 2]>,
    ) -> Result<Self, SealError> {
        let key = Self {
            parameters: *parameters,
            form: PublicForm::Embedded(parts),
        };
        key.with(|_| ())?;
        Ok(key)
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Calls `take` with the key in the form that encryptors take.
    ///
    /// # Errors
    /// Returns no error in practice: the key was checked when it was read.
    pub fn with<R>(&self, take: impl FnOnce(PublicKey<'_>) -> R) -> Result<R, SealError> {
        Ok(match &self.form {
            PublicForm::Seal(object) => take(seal::public_key(&self.parameters, object)?),
            PublicForm::Embedded(parts) => {
                let parts: Vec<[&[u8]; 2]> =
                    parts.iter().map(|[p0, p1]| [&p0[..], &p1[..]]).collect();
                take(PublicKey::from_parts(&self.parameters, &parts)?)
            }
        })
    }

    /// The bytes of SEAL's `PublicKey`, if the key was read from one; files of SEAL-Embedded have no
    /// polynomials for the special prime.
    pub fn as_seal(&self) -> Option<&[u8]> {
        match &self.form {
            PublicForm::Seal(object) => Some(object),
            PublicForm::Embedded(_) => None,
        }
    }
}

/// The names of the key files of SEAL-Embedded.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedFiles {
    /// The polynomial size.
    pub polynomial_size: usize,
}

impl EmbeddedFiles {
    /// Returns the name of the secret key's file.
    pub fn secret(&self) -> String {
        format!("sk_{}.dat", self.polynomial_size)
    }

    /// Returns the names of a public key's two files for one prime.
    pub fn public(&self, prime: u32) -> [String; 2] {
        let n = self.polynomial_size;
        [0, 1].map(|part| format!("pk{part}_ntt_{n}_{prime}.dat"))
    }
}

/// Returns the bytes of SEAL's `EncryptionParameters`.
pub fn encryption_parameters(parameters: &Parameters) -> Vec<u8> {
    let mut object = Vec::with_capacity(seal::encryption_parameters_bytes(parameters));
    // Writing into a vector cannot fail.
    let _ = seal::write_encryption_parameters(parameters, &mut |piece| {
        object.extend_from_slice(piece);
        Ok(())
    });
    object
}

/// Returns whether a key of SEAL is a secret key: the header of its words comes earlier than that of a
/// public key.
pub fn is_secret_key(object: &[u8]) -> bool {
    [0, 64].into_iter().all(|at| {
        let rest = object.get(at..).unwrap_or_default();
        seal::Header::read(rest).is_ok()
    })
}
