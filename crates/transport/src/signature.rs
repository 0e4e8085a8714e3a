//! Signed uploads: a board's signature around an upload, for ways to the server whose other parties need not be
//! believed, such as a broker.
//!
//! A board signs with Ed25519 (RFC 8032) or ML-DSA-65 (FIPS 204, pure, with an empty context). Its key is PKCS#8
//! and the server's copy of the public key is a SubjectPublicKeyInfo, both as PEM, so keys of other programs and of
//! secure elements serve as well.
//!
//! | offset | length | content |
//! |---|---|---|
//! | 0 | 4 | `TSBS` |
//! | 4 | 1 | version, 1 |
//! | 5 | 1 | algorithm: 1 is Ed25519, 2 is ML-DSA-65 |
//! | 6 | 2 | zero |
//! | 8 | S | signature: 64 bytes for Ed25519, 3309 bytes for ML-DSA-65 |
//! | 8 + S | | the upload, whole or short |
//!
//! The signature is of the ASCII text `tfhe-sbc signed upload 1`, a zero byte, the length of the board's name as one
//! byte, the name, and the BLAKE3 hash of the upload (32 bytes). It binds an upload to a name and
//! says nothing about when it was made: a server that gets the same upload again stores it once.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::signature::{
    ED25519, Ed25519KeyPair, KeyPair, ML_DSA_65, ML_DSA_65_SIGNING, ParsedPublicKey, PqdsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

const MAGIC: [u8; 4] = *b"TSBS";
const VERSION: u8 = 1;
/// The number of bytes before the signature.
const FIXED_BYTES: usize = 8;
/// The beginning of what is signed, with the zero byte.
const CONTEXT: &[u8] = b"tfhe-sbc signed upload 1\0";
/// The number of characters in a line of PEM (RFC 7468, section 2).
const PEM_LINE: usize = 64;

/// A way to sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Ed25519: 64 bytes, not safe against quantum computers.
    Ed25519,
    /// ML-DSA-65: 3,309 bytes, safe against quantum computers as far as is known.
    MlDsa65,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Ed25519, Self::MlDsa65];

    /// Returns the name for people and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::MlDsa65 => "ml-dsa-65",
        }
    }

    /// Returns the number of bytes of a signature.
    pub const fn signature_bytes(self) -> usize {
        match self {
            Self::Ed25519 => 64,
            Self::MlDsa65 => 3309,
        }
    }

    /// Returns the number of bytes by which a signed upload is longer.
    pub const fn overhead(self) -> usize {
        FIXED_BYTES + self.signature_bytes()
    }

    const fn code(self) -> u8 {
        match self {
            Self::Ed25519 => 1,
            Self::MlDsa65 => 2,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut all = Self::ALL.into_iter();
        all.find(|algorithm| algorithm.name() == name)
            .ok_or_else(|| "the ways to sign are ed25519 and ml-dsa-65".to_owned())
    }
}

/// The reason why an upload cannot be signed, or is not accepted as signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// A private key that is neither Ed25519's nor ML-DSA-65's.
    #[error("it holds no private key of Ed25519 or ML-DSA-65 in PEM (-----BEGIN PRIVATE KEY-----)")]
    PrivateKey,
    /// A public key that is neither Ed25519's nor ML-DSA-65's.
    #[error("it holds no public key of Ed25519 or ML-DSA-65 in PEM (-----BEGIN PUBLIC KEY-----)")]
    PublicKey,
    /// The library could not make a key or a signature.
    #[error("the signature could not be made")]
    Failed,
    /// A name of more than 255 bytes.
    #[error("a name of {0} bytes cannot be signed for, only one of up to 255")]
    Name(usize),
    /// Fewer bytes than the form has.
    #[error("the signed upload ends too early")]
    Truncated,
    /// A version or an algorithm that this program does not know.
    #[error("the upload is signed in a way that this program does not know")]
    Unknown,
    /// A signature by another algorithm than the key's.
    #[error("the upload is signed with {found}, and the board's key is one of {expected}")]
    OtherAlgorithm {
        /// The algorithm of the signature.
        found: Algorithm,
        /// The algorithm of the key.
        expected: Algorithm,
    },
    /// A signature that is not of these bytes, this name and this key.
    #[error(
        "the signature is wrong: the upload was changed on its way, or was not signed by this board"
    )]
    Wrong,
}

/// Returns what is signed for an upload of `name`.
fn signed_text(name: &str, upload: &[u8]) -> Result<Vec<u8>, SignatureError> {
    let len = u8::try_from(name.len()).map_err(|_| SignatureError::Name(name.len()))?;
    let hash = blake3::hash(upload);
    Ok([CONTEXT, &[len], name.as_bytes(), hash.as_bytes()].concat())
}

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
        fixed[..4].copy_from_slice(&MAGIC);
        fixed[4..6].copy_from_slice(&[VERSION, algorithm.code()]);
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

/// Returns whether these bytes are in the signed form, right or wrong.
pub fn is_signed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// A signed upload, whose signature is not checked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedUpload<'a> {
    algorithm: Algorithm,
    signature: &'a [u8],
    upload: &'a [u8],
}

impl<'a> SignedUpload<'a> {
    /// Parses the signed form.
    ///
    /// # Errors
    /// If the bytes have another form, or one of a version that is not known.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, SignatureError> {
        let (fixed, rest) = bytes
            .split_first_chunk::<FIXED_BYTES>()
            .ok_or(SignatureError::Truncated)?;
        let mut all = Algorithm::ALL.into_iter();
        let algorithm = all.find(|algorithm| {
            let [a, b, c, d] = MAGIC;
            *fixed == [a, b, c, d, VERSION, algorithm.code(), 0, 0]
        });
        let algorithm = algorithm.ok_or(SignatureError::Unknown)?;
        let (signature, upload) = rest
            .split_at_checked(algorithm.signature_bytes())
            .ok_or(SignatureError::Truncated)?;
        Ok(Self {
            algorithm,
            signature,
            upload,
        })
    }

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
