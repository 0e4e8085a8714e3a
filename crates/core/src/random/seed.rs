//! Seeds, and the sequence that gives every ciphertext its own.

use core::fmt;

use subtle::ConstantTimeEq;
use thiserror::Error;
use zeroize::Zeroize;

use super::chacha20::ChaCha20Blocks;
use super::keystream::{BlockSource, Scratch};

macro_rules! secret_seed {
    ($(#[$doc:meta])* $name:ident, $accessor:vis) => {
        $(#[$doc])*
        ///
        /// Secret: wiped on drop, not `Clone`, and `Debug` doesn't show it.
        pub struct $name([u8; 32]);

        impl $name {
            /// Takes 32 bytes. The caller wipes its own copy.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The 32 secret bytes.
            $accessor const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                self.0.zeroize();
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    };
}

secret_seed!(
    /// The root seed of a session: 32 bytes from the OS or the board's TRNG.
    Seed,
    pub
);
secret_seed!(
    /// The seed of the noise of one ciphertext. It must never leave the device:
    /// who has it takes the noise off.
    NoiseSeed,
    pub(crate)
);

/// The seed of the mask of one ciphertext: public, it travels in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MaskSeed(
    /// The 32 bytes, as on the wire.
    pub [u8; 32],
);

/// Why there is no seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntropyError {
    /// The source of entropy reported a failure, with its reason.
    #[error("the source of entropy failed: {0}")]
    Source(&'static str),
    /// The source reported success, but its output repeats: a TRNG that is not
    /// switched on or is stuck, or a callback that wrote nothing.
    #[error("the source of entropy gave constant output; is the generator switched on?")]
    Constant,
    /// The session has given 2^64 - 1 pairs.
    #[error("the session seed is used up; start a session with fresh entropy")]
    Exhausted,
}

/// The seeds of a session: one root [`Seed`], from which every ciphertext gets a
/// fresh ([`MaskSeed`], [`NoiseSeed`]) pair by a counter.
///
/// Pair `i` is the first block of ChaCha20 (RFC 8439, block counter 0) with the
/// root seed as key and the nonce `i` (8 bytes, little-endian) followed by the
/// 4 bytes `pair`: bytes 0..32 of the block are the mask seed, bytes 32..64 the
/// noise seed. ChaCha20 is a pseudorandom function of its nonce, so published
/// mask seeds tell nothing about any noise seed.
///
/// It is not `Clone`, and [`next_pair`](Self::next_pair) moves on before it
/// returns, so a sequence can't give a pair twice. Two sequences of one root seed
/// would: take each root seed for one sequence only.
pub struct SeedSequence {
    root: Seed,
    next: u64,
}

impl SeedSequence {
    /// Starts a session from a root seed that no other session has used.
    pub const fn new(root: Seed) -> Self {
        Self { root, next: 0 }
    }

    /// Starts a session from a source of entropy.
    ///
    /// `source` is called once with 32 zero bytes and overwrites them all with
    /// full-entropy bytes, or says why it can't, as [`EntropyError::Source`].
    ///
    /// # Errors
    ///
    /// The error of `source`; [`EntropyError::Constant`] if its output is all one
    /// byte, or repeats with any period of 1, 2, 4, 8 or 16 bytes, as that of a
    /// stuck register does. True randomness is refused with probability 2^-128.
    pub fn from_entropy(
        mut source: impl FnMut(&mut [u8]) -> Result<(), EntropyError>,
    ) -> Result<Self, EntropyError> {
        let mut root = Seed([0; 32]);
        source(&mut root.0)?;
        let (low, high) = root.0.split_at(16);
        if low.ct_eq(high).into() {
            return Err(EntropyError::Constant);
        }
        Ok(Self::new(root))
    }

    /// The seeds of the next ciphertext. Constant-time.
    ///
    /// # Errors
    ///
    /// [`EntropyError::Exhausted`] after 2^64 - 1 pairs.
    pub fn next_pair(&mut self) -> Result<(MaskSeed, NoiseSeed), EntropyError> {
        let index = self.next;
        self.next = index.checked_add(1).ok_or(EntropyError::Exhausted)?;

        let mut nonce = *b"\0\0\0\0\0\0\0\0pair";
        nonce[..8].copy_from_slice(&index.to_le_bytes());
        let mut block = Scratch::<u8, 64>::new();
        ChaCha20Blocks::with_nonce(self.root.as_bytes(), nonce)
            .next_blocks(core::slice::from_mut(&mut block));

        let mut mask = MaskSeed([0; 32]);
        let mut noise = NoiseSeed([0; 32]);
        mask.0.copy_from_slice(&block[..32]);
        noise.0.copy_from_slice(&block[32..]);
        Ok((mask, noise))
    }
}

impl fmt::Debug for SeedSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeedSequence")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exhausted_sequence_gives_nothing() {
        let mut seeds = SeedSequence::new(Seed::from_bytes([7; 32]));
        seeds.next = u64::MAX - 1;
        assert!(seeds.next_pair().is_ok());
        for _ in 0..3 {
            assert_eq!(seeds.next_pair().err(), Some(EntropyError::Exhausted));
        }
    }
}
