//! The bytes of a signed upload, without the signatures themselves.
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

use std::fmt;
use std::str::FromStr;

const MAGIC: [u8; 4] = *b"TSBS";
const VERSION: u8 = 1;
/// The number of bytes before the signature.
pub(super) const FIXED_BYTES: usize = 8;
/// The beginning of what is signed, with the zero byte.
const CONTEXT: &[u8] = b"tfhe-sbc signed upload 1\0";

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

    /// Returns the bytes before the signature.
    pub(super) const fn fixed(self) -> [u8; FIXED_BYTES] {
        let code = match self {
            Self::Ed25519 => 1,
            Self::MlDsa65 => 2,
        };
        let [a, b, c, d] = MAGIC;
        [a, b, c, d, VERSION, code, 0, 0]
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
pub(super) fn signed_text(name: &str, upload: &[u8]) -> Result<Vec<u8>, SignatureError> {
    let len = u8::try_from(name.len()).map_err(|_| SignatureError::Name(name.len()))?;
    let hash = blake3::hash(upload);
    Ok([CONTEXT, &[len], name.as_bytes(), hash.as_bytes()].concat())
}

/// Returns whether these bytes are in the signed form, right or wrong.
pub fn is_signed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// A signed upload, whose signature is not checked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedUpload<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) signature: &'a [u8],
    pub(super) upload: &'a [u8],
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
        let algorithm = all.find(|algorithm| *fixed == algorithm.fixed());
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
}
