//! Seeds, and the sequence that gives every ciphertext its own pair of them. Entropy comes from
//! an [`EntropySource`], is tested, and becomes the root of a [`SeedSequence`].

use core::fmt;
use core::num::NonZeroU64;

use super::chacha20::ChaCha20Blocks;
use super::entropy::{EntropyError, EntropySource, NoSource};
use super::health::{Remembered, SAMPLE_BYTES};
use super::keystream::{BlockSource, Scratch};
use crate::memcheck::disclose;
use crate::process::Process;
use crate::workspace::wipe;

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
                wipe(&mut self.0);
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
    /// with it, anybody can remove the noise.
    NoiseSeed,
    pub(crate)
);

/// The seed of the mask of one ciphertext. It is public and sent in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MaskSeed(
    /// The 32 bytes as they are on the wire.
    pub [u8; 32],
);

/// The policy by which a session asks its source of entropy again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReseedPolicy {
    /// The number of ciphertexts, with one pair of seeds each, between two calls of the source.
    pub max_ciphertexts: NonZeroU64,
}

impl Default for ReseedPolicy {
    /// Returns a policy of 2^16 ciphertexts.
    ///
    /// The generator itself would allow 2^64. The limit reduces the damage if a root seed leaks: it
    /// reveals the noise of the ciphertexts of this root only. 2^16 ciphertexts are a day and a half at
    /// one every two seconds. The milliseconds of a slow TRNG are then negligible beside the encryptions,
    /// and the number is far below the 2^48 requests that SP 800-90A allows between two reseedings.
    fn default() -> Self {
        Self {
            max_ciphertexts: NonZeroU64::MIN.saturating_add((1 << 16) - 1),
        }
    }
}

/// The seeds of a session: a root [`Seed`], from which every ciphertext gets a
/// fresh ([`MaskSeed`], [`NoiseSeed`]) pair by a counter.
///
/// Pair `i` of a root is the first block of ChaCha20 (RFC 8439, block counter 0) with
/// the root as key and the nonce `i` (8 bytes, little-endian) followed by the
/// 4 bytes `pair`: bytes 0..32 of the block are the mask seed, bytes 32..64 the
/// noise seed. ChaCha20 is a pseudorandom function of its nonce, so published
/// mask seeds reveal nothing about any noise seed.
///
/// A session with a source `S` asks it for another 32 bytes as its [`ReseedPolicy`]
/// says. The next root is the xor of those bytes and bytes 0..32 of the block of nonce 0 (8
/// bytes) and `root` under the old root. So the new root is unknown to an attacker if the old root
/// or the new bytes are: a source that fails silently does no harm. If the
/// source reports failure, or fails a health test, there is no pair until it works
/// again; the old root gives no more pairs than the policy allows.
///
/// If nothing else on the board can decrypt a session's messages,
/// [`forget_past`](SeedSequence::forget_past) replaces the root after each pair.
///
/// The type is not `Clone`, and [`next_pair`](Self::next_pair) advances before it
/// returns, so a sequence cannot give a pair twice. Two sequences of one root seed
/// would give the same pairs: use each root seed for one sequence only. For that reason a sequence
/// cannot be saved and resumed: nothing could distinguish a second resumption of the same file from
/// the first. A board draws a new root at every start.
///
/// A child that `fork()` made has a copy of the sequence, which gives it nothing but
/// [`EntropyError::Forked`] ([`Process`] says how far that is seen).
pub struct SeedSequence<S = NoSource> {
    root: Seed,
    next: u64,
    /// The number of pairs of a root.
    limit: u64,
    remembered: Remembered,
    source: S,
    /// The process that started the session.
    process: Process,
}

impl SeedSequence {
    /// Starts a session from a root seed that no other session has used.
    pub fn new(root: Seed) -> Self {
        Self {
            root,
            next: 0,
            limit: u64::MAX,
            remembered: Remembered::default(),
            source: NoSource,
            process: Process::current(),
        }
    }

    /// Starts a session from a source of entropy, which is not kept. This is
    /// [`with_reseeding`](SeedSequence::with_reseeding) with one root for 2^64 - 1
    /// pairs.
    ///
    /// # Errors
    ///
    /// Those of [`with_reseeding`](SeedSequence::with_reseeding).
    pub fn from_entropy(
        source: impl FnMut(&mut [u8]) -> Result<(), EntropyError>,
    ) -> Result<Self, EntropyError> {
        let session = SeedSequence::with_reseeding(source, ReseedPolicy::default())?;
        Ok(Self::new(session.root))
    }
}

impl<S: FnMut(&mut [u8]) -> Result<(), EntropyError>> SeedSequence<S> {
    /// Starts a session from a source of entropy, which it asks again as `policy`
    /// says.
    ///
    /// `source` is called with 32 zero bytes each time, and overwrites them as
    /// [`EntropySource::fill`] says. It is called twice here, because a callback that always gives the
    /// same bytes is the likeliest mistake. The root is made from both outputs.
    ///
    /// # Errors
    ///
    /// The error of `source`; [`EntropyError::Constant`] if its output is all one
    /// byte or has a period of up to 16 bytes, as the output of a stuck register has;
    /// [`EntropyError::Repeated`] if it is the same as at the previous call;
    /// [`EntropyError::Biased`] if 10 bytes in a row or 13 of the 32 are
    /// equal, or fewer than 53 or more than 203 of the bits are ones. True randomness
    /// is refused with probability below 2^-63.
    pub fn with_reseeding(source: S, policy: ReseedPolicy) -> Result<Self, EntropyError> {
        let mut session = Self {
            root: Seed([0; SAMPLE_BYTES]),
            next: 0,
            limit: policy.max_ciphertexts.get(),
            remembered: Remembered::default(),
            source,
            process: Process::current(),
        };
        session.reseed()?;
        session.reseed()?;
        Ok(session)
    }
}

impl<S: EntropySource> SeedSequence<S> {
    /// Mixes fresh entropy into the root ahead of time, for instance when a board wakes up.
    ///
    /// # Errors
    ///
    /// Those of [`with_reseeding`](SeedSequence::with_reseeding); the root is then unchanged.
    /// [`EntropyError::Exhausted`] without a source, [`EntropyError::Forked`] in a child.
    pub fn reseed(&mut self) -> Result<(), EntropyError> {
        self.check_process()?;
        let mut fresh = Scratch::<u8, SAMPLE_BYTES>::new();
        self.source.fill(&mut *fresh)?;
        self.remembered.check(&fresh)?;
        let block = self.block(0, b"root");
        for ((root, old), fresh) in self.root.0.iter_mut().zip(&*block).zip(&*fresh) {
            *root = old ^ fresh;
        }
        self.next = 0;
        Ok(())
    }

    /// Returns the seeds of the next ciphertext. Constant-time, except for the source.
    ///
    /// # Errors
    ///
    /// Those of [`reseed`](Self::reseed), if the root has given as many pairs as the policy allows;
    /// [`EntropyError::Forked`] in a child.
    pub fn next_pair(&mut self) -> Result<(MaskSeed, NoiseSeed), EntropyError> {
        self.check_process()?;
        if self.next >= self.limit {
            self.reseed()?;
        }
        let index = self.next;
        self.next += 1;

        let block = self.block(index, b"pair");
        let mut mask = MaskSeed([0; 32]);
        let mut noise = NoiseSeed([0; 32]);
        mask.0.copy_from_slice(&block[..32]);
        disclose(&mut mask.0);
        noise.0.copy_from_slice(&block[32..]);
        Ok((mask, noise))
    }

    /// Checks that the session was started in this process.
    ///
    /// # Errors
    ///
    /// [`EntropyError::Forked`] in a child that `fork()` made.
    pub fn check_process(&self) -> Result<(), EntropyError> {
        match self.process == Process::current() {
            true => Ok(()),
            false => Err(EntropyError::Forked),
        }
    }

    /// Replaces the root by one that reveals nothing about the pairs given so far: bytes 0..32
    /// of the block of the next pair's index and `past`. The index continues, so the
    /// source is asked again at the same ciphertext as before. Constant-time.
    pub fn forget_past(&mut self) {
        let block = self.block(self.next, b"past");
        self.root.0.copy_from_slice(&block[..32]);
    }

    fn block(&self, index: u64, purpose: &[u8; 4]) -> Scratch<u8, 64> {
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&index.to_le_bytes());
        nonce[8..].copy_from_slice(purpose);
        let mut block = Scratch::<u8, 64>::new();
        ChaCha20Blocks::with_nonce(self.root.as_bytes(), nonce)
            .next_blocks(core::slice::from_mut(&mut block));
        block
    }
}

impl<S> fmt::Debug for SeedSequence<S> {
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
