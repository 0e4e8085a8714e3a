//! Which expanders there are, and how a seed and a stream number open one.

use core::fmt;

use thiserror::Error;

use super::aes128_ctr::Aes128CtrBlocks;
use super::chacha20::ChaCha20Blocks;
use super::keystream::Keystream;
use super::seed::{MaskSeed, NoiseSeed};

/// A deterministic stream of bytes.
///
/// Consecutive calls continue the stream: however a caller cuts its reads, the
/// concatenation is the same.
pub trait Expander {
    /// Overwrites `out` with the next `out.len()` bytes of the stream.
    ///
    /// # Panics
    ///
    /// If the stream is longer than its generator allows, 2^38 bytes for
    /// [`ExpanderKind::ChaCha20`]: a stream never wraps around.
    fn fill(&mut self, out: &mut [u8]);
}

/// The generators. The discriminant is the id of the generator on the wire.
///
/// Ids 3, 4 and 5 are kept for BLAKE2b, BLAKE3 and SHAKE256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum ExpanderKind {
    /// ChaCha20 (RFC 8439). The key is the 32-byte seed; the 96-bit nonce is the
    /// stream number as 4 little-endian bytes and then 8 zero bytes; the 32-bit
    /// block counter starts at 0. The stream is the keystream.
    ///
    /// The fastest one without AES instructions, and the one to take when in doubt.
    ChaCha20 = 1,
    /// AES-128 in counter mode (FIPS 197, SP 800-38A) with a key of its own for
    /// every seed: the AES-128 encryption of bytes 16..32 of the seed under the key
    /// of bytes 0..16. With `V` the integer that bytes 16..32 spell in big-endian
    /// order, block `j` of stream `s` is the encryption of the 16 big-endian bytes
    /// of `(V + s·2^64 + j) mod 2^128` under that key; the stream is blocks
    /// 0, 1, 2, … one after the other.
    ///
    /// That is the usual counter mode with `V + s·2^64` as the initial counter
    /// block. Streams of one seed are 2^64 blocks apart, so they don't overlap;
    /// those of seeds that differ by little have unrelated keys.
    Aes128Ctr = 2,
}

/// An expander id that this version doesn't know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("unknown expander id {0}; this version knows 1 (ChaCha20) and 2 (AES-128-CTR)")]
pub struct UnknownExpander(
    /// The id that was read.
    pub u8,
);

impl ExpanderKind {
    /// Every generator, in the order of the ids.
    pub const ALL: [Self; 2] = [Self::ChaCha20, Self::Aes128Ctr];

    /// The id on the wire.
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The name for people: `ChaCha20`, `AES-128-CTR`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChaCha20 => "ChaCha20",
            Self::Aes128Ctr => "AES-128-CTR",
        }
    }

    /// Opens stream number `stream` of a public mask seed.
    ///
    /// Streams of one seed with different numbers are independent. Constant-time
    /// with the crates' software and hardware code for both generators.
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
            Self::Aes128Ctr => {
                Generator::Aes128Ctr(Keystream::new(Aes128CtrBlocks::stream(seed, stream)))
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
    type Error = UnknownExpander;

    fn try_from(id: u8) -> Result<Self, UnknownExpander> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.id() == id)
            .ok_or(UnknownExpander(id))
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
    Aes128Ctr(Keystream<Aes128CtrBlocks>),
}

impl AnyExpander {
    /// Which generator this is.
    pub const fn kind(&self) -> ExpanderKind {
        match self.0 {
            Generator::ChaCha20(_) => ExpanderKind::ChaCha20,
            Generator::Aes128Ctr(_) => ExpanderKind::Aes128Ctr,
        }
    }
}

impl Expander for AnyExpander {
    fn fill(&mut self, out: &mut [u8]) {
        match &mut self.0 {
            Generator::ChaCha20(stream) => stream.fill(out),
            Generator::Aes128Ctr(stream) => stream.fill(out),
        }
    }
}

impl fmt::Debug for AnyExpander {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyExpander").field(&self.kind()).finish()
    }
}
