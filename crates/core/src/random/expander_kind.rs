//! The expanders of this build, and the streams that they derive from a seed and a stream number.

use core::fmt;

use thiserror::Error;

#[cfg(feature = "aes")]
use super::aes128_ctr::Aes128CtrBlocks;
#[cfg(feature = "blake2")]
use super::blake2x::Blake2xbBlocks;
#[cfg(feature = "blake3-xof")]
use super::blake3::Blake3Blocks;
use super::chacha20::ChaCha20Blocks;
use super::expander::Expander;
use super::keystream::Keystream;
use super::seed::{MaskSeed, NoiseSeed};
#[cfg(feature = "shake256")]
use super::shake256::Shake256Blocks;
#[cfg(feature = "aes")]
use super::tfhe_rs::TfheRsBlocks;

/// The generators of this build. The discriminant identifies the generator on the
/// wire.
///
/// Every generator except ChaCha20, which [`SeedSequence`](super::SeedSequence)
/// needs, has a Cargo feature. Without the feature there is no variant, and the
/// id is refused as [`UnsupportedExpander`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum ExpanderKind {
    /// ChaCha20 (RFC 8439). The key is the 32-byte seed; the 96-bit nonce is the
    /// stream number as 4 little-endian bytes and then 8 zero bytes; the 32-bit
    /// block counter starts at 0. The stream is the keystream.
    ///
    /// The fastest generator without AES instructions, and the one to take when in doubt.
    ChaCha20 = 1,
    /// AES-128 in counter mode (FIPS 197, SP 800-38A) with a key of its own for
    /// every seed: the AES-128 encryption of bytes 16..32 of the seed under the key
    /// of bytes 0..16. With `V` the integer that bytes 16..32 spell in big-endian
    /// order, block `j` of stream `s` is the encryption of the 16 big-endian bytes
    /// of `(V + s·2^64 + j) mod 2^128` under that key; the stream is blocks
    /// 0, 1, 2, … one after the other.
    ///
    /// This is the usual counter mode with `V + s·2^64` as the initial counter
    /// block. Streams of one seed are 2^64 blocks apart, so they do not overlap.
    /// Similar seeds have unrelated keys. Feature `aes`.
    #[cfg(feature = "aes")]
    Aes128Ctr = 2,
    /// BLAKE2Xb ("BLAKE2X", 2016), the XOF over BLAKE2b, of unknown output length:
    /// the key is the 32-byte seed, the input the stream number as 4 little-endian
    /// bytes, the XOF digest length 2^32 - 1. The stream is the output: 64-byte
    /// nodes 0, 1, 2, … of the root hash. Feature `blake2`.
    #[cfg(feature = "blake2")]
    Blake2xb = 3,
    /// BLAKE3 in its keyed mode: the key is the 32-byte seed, the input the stream
    /// number as 4 little-endian bytes. The stream is the extendable output.
    /// Feature `blake3-xof`.
    #[cfg(feature = "blake3-xof")]
    Blake3 = 4,
    /// SHAKE256 (FIPS 202) of 36 bytes: the seed, then the stream number as 4
    /// little-endian bytes. The stream is the output. Feature `shake256`.
    #[cfg(feature = "shake256")]
    Shake256 = 5,
    /// AES-128 (FIPS 197) of little-endian counters from 0, each stream under a key of its own:
    /// with `V` the integer that bytes 16..32 of the seed spell in little-endian order, the key
    /// of stream `s` is the AES-128 encryption of the 16 little-endian bytes of
    /// `(V + s) mod 2^128` under the key of bytes 0..16. Block `j` of the stream is the
    /// encryption of the 16 little-endian bytes of `j`.
    ///
    /// This is TFHE-rs's expansion of a seed of 128 bits, here
    /// [`tfhe_rs_seed`](super::tfhe_rs_seed), so that our uploads can be converted to its seeded
    /// ciphertexts. It uses the `aes` crate and is slower than [`Aes128Ctr`](Self::Aes128Ctr). Feature
    /// `aes`.
    #[cfg(feature = "aes")]
    Aes128CtrLe = 6,
}

/// The reason why an expander id cannot be opened in this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnsupportedExpander {
    /// No generator has this id in this version.
    #[error("expander {0} is not known here: update the reader")]
    Unknown(
        /// The id that was read.
        u8,
    ),
    /// The generator's Cargo feature is off.
    #[error("expander {name} is not compiled into this build: turn its feature on, or use another")]
    NotCompiledIn {
        /// The generator's name.
        name: &'static str,
    },
}

/// The number of generators of this build.
const COUNT: usize = 1
    + 2 * cfg!(feature = "aes") as usize
    + cfg!(feature = "blake2") as usize
    + cfg!(feature = "blake3-xof") as usize
    + cfg!(feature = "shake256") as usize;

/// The ids and names of all generators of this version, whether compiled in or not.
const NAMES: [(u8, &str); 6] = [
    (1, "ChaCha20"),
    (2, "AES-128-CTR"),
    (3, "BLAKE2Xb"),
    (4, "BLAKE3"),
    (5, "SHAKE256"),
    (6, "AES-128-CTR-LE"),
];

impl ExpanderKind {
    /// All generators of this build, in the order of their ids.
    pub const ALL: [Self; COUNT] = [
        Self::ChaCha20,
        #[cfg(feature = "aes")]
        Self::Aes128Ctr,
        #[cfg(feature = "blake2")]
        Self::Blake2xb,
        #[cfg(feature = "blake3-xof")]
        Self::Blake3,
        #[cfg(feature = "shake256")]
        Self::Shake256,
        #[cfg(feature = "aes")]
        Self::Aes128CtrLe,
    ];

    /// The id of the generator on the wire.
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The name of the generator: `ChaCha20`, `AES-128-CTR`, `BLAKE2Xb`, `BLAKE3`,
    /// `SHAKE256` or `AES-128-CTR-LE`.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize - 1].1
    }

    /// Opens stream number `stream` of a public mask seed.
    ///
    /// Streams of one seed with different numbers are independent. Constant-time
    /// with the software and the hardware implementation of every generator.
    pub fn mask_stream(self, seed: &MaskSeed, stream: u32) -> AnyExpander {
        self.open(&seed.0, stream)
    }

    /// Opens stream number `stream` of a secret noise seed.
    ///
    /// Streams of one seed with different numbers are independent. The state is
    /// wiped on drop. Constant-time, as [`mask_stream`](Self::mask_stream).
    pub fn noise_stream(self, seed: &NoiseSeed, stream: u32) -> AnyExpander {
        self.open(seed.as_bytes(), stream)
    }

    fn open(self, seed: &[u8; 32], stream: u32) -> AnyExpander {
        AnyExpander(match self {
            Self::ChaCha20 => {
                Generator::ChaCha20(Keystream::new(ChaCha20Blocks::stream(seed, stream)))
            }
            #[cfg(feature = "aes")]
            Self::Aes128Ctr => {
                Generator::Aes128Ctr(Keystream::new(Aes128CtrBlocks::stream(seed, stream)))
            }
            #[cfg(feature = "blake2")]
            Self::Blake2xb => {
                Generator::Blake2xb(Keystream::new(Blake2xbBlocks::stream(seed, stream)))
            }
            #[cfg(feature = "blake3-xof")]
            Self::Blake3 => Generator::Blake3(Keystream::new(Blake3Blocks::stream(seed, stream))),
            #[cfg(feature = "shake256")]
            Self::Shake256 => {
                Generator::Shake256(Keystream::new(Shake256Blocks::stream(seed, stream)))
            }
            #[cfg(feature = "aes")]
            Self::Aes128CtrLe => {
                Generator::Aes128CtrLe(Keystream::new(TfheRsBlocks::stream(seed, stream)))
            }
        })
    }
}

impl fmt::Display for ExpanderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TryFrom<u8> for ExpanderKind {
    type Error = UnsupportedExpander;

    fn try_from(id: u8) -> Result<Self, UnsupportedExpander> {
        if let Some(kind) = Self::ALL.into_iter().find(|kind| kind.id() == id) {
            return Ok(kind);
        }
        Err(NAMES
            .iter()
            .find(|(known, _)| *known == id)
            .map_or(UnsupportedExpander::Unknown(id), |&(_, name)| {
                UnsupportedExpander::NotCompiledIn { name }
            }))
    }
}

/// An open stream of any [`ExpanderKind`]. Keys and buffered bytes are wiped on drop.
pub struct AnyExpander(Generator);

#[allow(
    clippy::large_enum_variant,
    reason = "no heap; an expander lives on the stack of one encryption"
)]
enum Generator {
    ChaCha20(Keystream<ChaCha20Blocks>),
    #[cfg(feature = "aes")]
    Aes128Ctr(Keystream<Aes128CtrBlocks>),
    #[cfg(feature = "blake2")]
    Blake2xb(Keystream<Blake2xbBlocks>),
    #[cfg(feature = "blake3-xof")]
    Blake3(Keystream<Blake3Blocks>),
    #[cfg(feature = "shake256")]
    Shake256(Keystream<Shake256Blocks>),
    #[cfg(feature = "aes")]
    Aes128CtrLe(Keystream<TfheRsBlocks>),
}

impl AnyExpander {
    /// The generator of the stream.
    pub const fn kind(&self) -> ExpanderKind {
        match self.0 {
            Generator::ChaCha20(_) => ExpanderKind::ChaCha20,
            #[cfg(feature = "aes")]
            Generator::Aes128Ctr(_) => ExpanderKind::Aes128Ctr,
            #[cfg(feature = "blake2")]
            Generator::Blake2xb(_) => ExpanderKind::Blake2xb,
            #[cfg(feature = "blake3-xof")]
            Generator::Blake3(_) => ExpanderKind::Blake3,
            #[cfg(feature = "shake256")]
            Generator::Shake256(_) => ExpanderKind::Shake256,
            #[cfg(feature = "aes")]
            Generator::Aes128CtrLe(_) => ExpanderKind::Aes128CtrLe,
        }
    }
}

impl Expander for AnyExpander {
    fn fill(&mut self, out: &mut [u8]) {
        match &mut self.0 {
            Generator::ChaCha20(stream) => stream.fill(out),
            #[cfg(feature = "aes")]
            Generator::Aes128Ctr(stream) => stream.fill(out),
            #[cfg(feature = "blake2")]
            Generator::Blake2xb(stream) => stream.fill(out),
            #[cfg(feature = "blake3-xof")]
            Generator::Blake3(stream) => stream.fill(out),
            #[cfg(feature = "shake256")]
            Generator::Shake256(stream) => stream.fill(out),
            #[cfg(feature = "aes")]
            Generator::Aes128CtrLe(stream) => stream.fill(out),
        }
    }
}

impl fmt::Debug for AnyExpander {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyExpander").field(&self.kind()).finish()
    }
}
