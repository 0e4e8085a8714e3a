//! Signed uploads: a board's signature around an upload, for ways to the server whose other parties need not be
//! believed, such as a broker.
//!
//! A board signs with Ed25519 (RFC 8032) or ML-DSA-65 (FIPS 204, pure, with an empty context). Its key is PKCS#8
//! and the server's copy of the public key is a SubjectPublicKeyInfo, both as PEM, so keys of other programs and of
//! secure elements serve as well.
//!
//! The bytes are in `docs/wire-format.md` and in `form.rs`, which needs no library.

mod form;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::signature::{
    ED25519, Ed25519KeyPair, KeyPair, ML_DSA_65, ML_DSA_65_SIGNING, ParsedPublicKey, PqdsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use std::fmt;
use zeroize::Zeroizing;

pub use form::{Algorithm, SignatureError, SignedUpload, is_signed};
use form::{FIXED_BYTES, signed_text};

/// The number of characters in a line of PEM (RFC 7468, section 2).
const PEM_LINE: usize = 64;

/// Returns DER as PEM.
fn pem(label: &str, der: &[u8]) -> Zeroizing<String> {
    let text = Zeroizing::new(STANDARD.encode(der));
    // The text is never grown, which would leave copies behind.
    let mut lines = Zeroizing::new(String::with_capacity(
        text.len() + text.len() / PEM_LINE + 2 * label.len() + 64,
    ));
    lines.push_str("-----BEGIN ");
    lines.push_str(label);
    lines.push_str("-----");
    for (place, character) in text.chars().enumerate() {
        if place % PEM_LINE == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    lines.push_str("\n-----END ");
    lines.push_str(label);
    lines.push_str("-----\n");
    lines
}

/// A board's private key for signatures. It is wiped when dropped, by the library that holds it.
pub struct SigningKey(Pair);

enum Pair {
    Ed25519(Ed25519KeyPair),
    MlDsa65(PqdsaKeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey")
            .field(&self.algorithm())
            .finish()
    }
}

impl SigningKey {
    /// Draws a key from the operating system's generator.
    ///
    /// # Errors
    /// If the library fails.
    pub fn generate(algorithm: Algorithm) -> Result<Self, SignatureError> {
        let pair = match algorithm {
            Algorithm::Ed25519 => Ed25519KeyPair::generate().map(Pair::Ed25519),
            Algorithm::MlDsa65 => PqdsaKeyPair::generate(&ML_DSA_65_SIGNING).map(Pair::MlDsa65),
        };
        pair.map(Self).map_err(|_| SignatureError::Failed)
    }

    /// Reads a key from PEM (PKCS#8, version 1 or 2).
    ///
    /// # Errors
    /// If the text is no such key.
    pub fn from_pem(text: &[u8]) -> Result<Self, SignatureError> {
        // PEM's own errors quote the text, so they are not repeated.
        let der =
            PrivatePkcs8KeyDer::from_pem_slice(text).map_err(|_| SignatureError::PrivateKey)?;
        let der = der.secret_pkcs8_der();
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map(Pair::Ed25519);
        let ml_dsa = |_| PqdsaKeyPair::from_pkcs8(&ML_DSA_65_SIGNING, der).map(Pair::MlDsa65);
        let pair = ed25519().or_else(ml_dsa);
        pair.map(Self).map_err(|_| SignatureError::PrivateKey)
    }

    /// Returns the key as PEM (PKCS#8, version 1).
    ///
    /// # Errors
    /// If the library cannot write it.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, SignatureError> {
        let der = match &self.0 {
            Pair::Ed25519(pair) => pair.to_pkcs8v1(),
            Pair::MlDsa65(pair) => pair.to_pkcs8v1(),
        };
        let der = der.map_err(|_| SignatureError::Failed)?;
        Ok(pem("PRIVATE KEY", der.as_ref()))
    }

    /// Returns the public key as PEM (SubjectPublicKeyInfo), for the server.
    ///
    /// # Errors
    /// If the library cannot write it.
    pub fn public_pem(&self) -> Result<String, SignatureError> {
        let der: Result<PublicKeyX509Der<'_>, _> = match &self.0 {
            Pair::Ed25519(pair) => pair.public_key().as_der(),
            Pair::MlDsa65(pair) => pair.public_key().as_der(),
        };
        let der = der.map_err(|_| SignatureError::Failed)?;
        Ok((*pem("PUBLIC KEY", der.as_ref())).clone())
    }

    /// Returns the way in which this key signs.
    pub fn algorithm(&self) -> Algorithm {
        match &self.0 {
            Pair::Ed25519(_) => Algorithm::Ed25519,
            Pair::MlDsa65(_) => Algorithm::MlDsa65,
        }
    }

    /// Returns an upload of the board `name` with its signature.
    ///
    /// # Errors
    /// If the name is too long, or the library fails.
    pub fn sign(&self, name: &str, upload: &[u8]) -> Result<Vec<u8>, SignatureError> {
        let text = signed_text(name, upload)?;
        let algorithm = self.algorithm();
        let start = algorithm.overhead();
        let mut signed = vec![0; start];
        signed.reserve_exact(upload.len());
        let (fixed, signature) = signed.split_at_mut(FIXED_BYTES);
        fixed.copy_from_slice(&algorithm.fixed());
        match &self.0 {
            Pair::Ed25519(pair) => {
                let made = pair.try_sign(&text).map_err(|_| SignatureError::Failed)?;
                signature.copy_from_slice(made.as_ref());
            }
            Pair::MlDsa65(pair) => {
                pair.sign(&text, signature)
                    .map_err(|_| SignatureError::Failed)?;
            }
        }
        signed.extend_from_slice(upload);
        Ok(signed)
    }
}

/// The public key of a board, with which a server checks its signatures.
pub struct VerifyingKey {
    algorithm: Algorithm,
    key: ParsedPublicKey,
}

impl VerifyingKey {
    /// Reads a key from PEM (SubjectPublicKeyInfo).
    ///
    /// # Errors
    /// If the text is no such key.
    pub fn from_pem(text: &[u8]) -> Result<Self, SignatureError> {
        let der =
            SubjectPublicKeyInfoDer::from_pem_slice(text).map_err(|_| SignatureError::PublicKey)?;
        let ed25519 = ParsedPublicKey::new(&ED25519, &*der).map(|key| (Algorithm::Ed25519, key));
        let key = ed25519.or_else(|_| {
            ParsedPublicKey::new(&ML_DSA_65, &*der).map(|key| (Algorithm::MlDsa65, key))
        });
        let (algorithm, key) = key.map_err(|_| SignatureError::PublicKey)?;
        Ok(Self { algorithm, key })
    }
}

impl<'a> SignedUpload<'a> {
    /// Checks the signature of the board `name` with its key, and returns the upload.
    ///
    /// # Errors
    /// If the signature is not that board's of this upload.
    pub fn verify(self, name: &str, key: &VerifyingKey) -> Result<&'a [u8], SignatureError> {
        if self.algorithm != key.algorithm {
            return Err(SignatureError::OtherAlgorithm {
                found: self.algorithm,
                expected: key.algorithm,
            });
        }
        let text = signed_text(name, self.upload)?;
        key.key
            .verify_sig(&text, self.signature)
            .map_err(|_| SignatureError::Wrong)?;
        Ok(self.upload)
    }
}

#[cfg(test)]
mod tests;
