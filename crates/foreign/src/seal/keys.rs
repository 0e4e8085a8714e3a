//! Keys, read and written whole.

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
    /// Those of the source of randomness.
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
    /// Those of [`seal::secret_key`].
    pub fn from_seal(parameters: &Parameters, object: &[u8]) -> Result<Self, SealError> {
        let n = parameters.polynomial_size();
        let mut packed = Zeroizing::new(vec![0; packed_bytes(n)]);
        // Wiped by the reader.
        let mut scratch = vec![0; n];
        seal::secret_key(parameters, object, &mut packed, &mut scratch)?;
        Ok(Self {
            parameters: *parameters,
            packed,
        })
    }

    /// Takes SEAL-Embedded's `sk_N.dat`.
    ///
    /// # Errors
    /// Those of [`SecretKey::from_packed`].
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

    /// The key as encryptors take it.
    ///
    /// # Errors
    /// None: it was checked.
    pub fn key(&self) -> Result<SecretKey<'_>, KeyError> {
        SecretKey::from_packed(&self.parameters, &self.packed)
    }

    /// SEAL-Embedded's `sk_N.dat`, which boards keep.
    pub fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// SEAL's `SecretKey`.
    ///
    /// # Errors
    /// None that can happen.
    pub fn to_seal(&self) -> Result<Zeroizing<Vec<u8>>, CkksError> {
        let mut scratch = scratch(&self.parameters);
        // At its length from the start, so that no copy stays behind.
        let mut object =
            Zeroizing::new(Vec::with_capacity(seal::secret_key_bytes(&self.parameters)));
        let scratch = scratch.as_mut_slice();
        seal::write_secret_key(&self.parameters, self.key()?, scratch, &mut |piece| {
            object.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(object)
    }

    /// A SEAL `PublicKey` for this key.
    ///
    /// # Errors
    /// Those of the source of randomness.
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

/// A public key, SEAL's or SEAL-Embedded's.
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
    /// Takes SEAL's `PublicKey`.
    ///
    /// # Errors
    /// Those of [`seal::public_key`].
    pub fn from_seal(parameters: &Parameters, object: Vec<u8>) -> Result<Self, SealError> {
        seal::public_key(parameters, &object)?;
        Ok(Self {
            parameters: *parameters,
            form: PublicForm::Seal(object),
        })
    }

    /// Takes the parts of SEAL-Embedded's, as [`PublicKey::from_parts`].
    ///
    /// # Errors
    /// Those of that.
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

    /// Gives `take` the key as encryptors take it.
    ///
    /// # Errors
    /// None: it was checked.
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

    /// SEAL's `PublicKey`, if it is one: SEAL-Embedded's files have no polynomials for the special
    /// prime.
    pub fn as_seal(&self) -> Option<&[u8]> {
        match &self.form {
            PublicForm::Seal(object) => Some(object),
            PublicForm::Embedded(_) => None,
        }
    }
}

/// The names of SEAL-Embedded's key files.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedFiles {
    /// The polynomial size.
    pub polynomial_size: usize,
}

impl EmbeddedFiles {
    /// The secret key's.
    pub fn secret(&self) -> String {
        format!("sk_{}.dat", self.polynomial_size)
    }

    /// Those of a public key, for a prime.
    pub fn public(&self, prime: u32) -> [String; 2] {
        let n = self.polynomial_size;
        [0, 1].map(|part| format!("pk{part}_ntt_{n}_{prime}.dat"))
    }
}

/// SEAL's `EncryptionParameters` of these.
pub fn encryption_parameters(parameters: &Parameters) -> Vec<u8> {
    let mut object = Vec::with_capacity(seal::encryption_parameters_bytes(parameters));
    // A vector takes everything.
    let _ = seal::write_encryption_parameters(parameters, &mut |piece| {
        object.extend_from_slice(piece);
        Ok(())
    });
    object
}

/// Whether an object of SEAL's, if it is a key, is a secret one: the header of its words comes
/// earlier than a public key's.
pub fn is_secret_key(object: &[u8]) -> bool {
    [0, 64].into_iter().all(|at| {
        let rest = object.get(at..).unwrap_or_default();
        seal::Header::read(rest).is_ok()
    })
}
