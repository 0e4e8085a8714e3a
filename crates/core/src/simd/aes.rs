//! AES-128 in counter mode (FIPS 197, SP 800-38A): the processor's own instructions
//! where there are any on x86-64, the `aes` crate elsewhere.

#[cfg(target_arch = "x86_64")]
mod aes_ni;
#[cfg(target_arch = "x86_64")]
mod vaes;
#[cfg(target_arch = "x86_64")]
mod vaes256;

use ::aes::Aes128Enc;
use ::aes::cipher::array::Array;
use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
use zeroize::Zeroize;

#[cfg(target_arch = "x86_64")]
use crate::workspace::wipe;
#[cfg(target_arch = "x86_64")]
pub(crate) use aes_ni::AesNi;
#[cfg(target_arch = "x86_64")]
pub(crate) use vaes::Vaes;
#[cfg(target_arch = "x86_64")]
pub(crate) use vaes256::Vaes256;

/// The number of bytes of an AES block.
pub(crate) const AES_BLOCK_BYTES: usize = 16;
type Block = [u8; AES_BLOCK_BYTES];
/// The unit in which the kernels write: four AES blocks.
pub(crate) type FourBlocks = [u8; 4 * AES_BLOCK_BYTES];
/// An implementation of AES that this processor can run. As in [`Isa`](super::Isa), only detection
/// makes the variants that contain a proof of detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AesIsa {
    /// The `aes` crate, which detects what it can use.
    Crate,
    /// AES-NI.
    #[cfg(target_arch = "x86_64")]
    AesNi(AesNi),
    /// Vector AES on AVX registers.
    #[cfg(target_arch = "x86_64")]
    Vaes256(Vaes256),
    /// Vector AES on AVX-512 registers.
    #[cfg(target_arch = "x86_64")]
    Vaes(Vaes),
}

impl AesIsa {
    /// Returns the fastest implementation for this processor; see [`Isa::detect`](super::Isa::detect).
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(proof) = Vaes::detect() {
                return Self::Vaes(proof);
            }
            if let Some(proof) = Vaes256::detect() {
                return Self::Vaes256(proof);
            }
            if let Some(proof) = AesNi::detect() {
                return Self::AesNi(proof);
            }
        }
        Self::Crate
    }

    /// Returns all implementations that can be used here, slowest first.
    #[cfg(test)]
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let found = [
            Some(Self::Crate),
            AesNi::detect().map(Self::AesNi),
            Vaes256::detect().map(Self::Vaes256),
            Vaes::detect().map(Self::Vaes),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let found = [Some(Self::Crate)];
        found.into_iter().flatten()
    }
}

/// The key of an AES-128 encryption, wiped on drop.
///
/// The kernels expand it in registers at every call, while the processor still does the work before. Round keys in memory
/// would have to be moved with the streams that have them, and the first block would wait for that.
pub(crate) struct Aes128(Cipher);

#[allow(clippy::large_enum_variant, reason = "no heap")]
enum Cipher {
    Crate(Aes128Enc),
    #[cfg(target_arch = "x86_64")]
    AesNi(AesNi, Key),
    #[cfg(target_arch = "x86_64")]
    Vaes256(Vaes256, Key),
    #[cfg(target_arch = "x86_64")]
    Vaes(Vaes, Key),
}

/// A key, wiped on drop.
#[cfg(target_arch = "x86_64")]
struct Key(Block);

#[cfg(target_arch = "x86_64")]
impl Drop for Key {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl Aes128 {
    #[cfg(test)]
    pub(crate) fn new(isa: AesIsa, key: &Block) -> Self {
        Self(match isa {
            AesIsa::Crate => Cipher::Crate(Aes128Enc::new(key.into())),
            #[cfg(target_arch = "x86_64")]
            AesIsa::AesNi(simd) => Cipher::AesNi(simd, Key(*key)),
            #[cfg(target_arch = "x86_64")]
            AesIsa::Vaes256(simd) => Cipher::Vaes256(simd, Key(*key)),
            #[cfg(target_arch = "x86_64")]
            AesIsa::Vaes(simd) => Cipher::Vaes(simd, Key(*key)),
        })
    }

    /// Makes the cipher whose key is the encryption of `block` under `key`.
    #[inline]
    pub(crate) fn with_encrypted_key(isa: AesIsa, key: &Block, block: &Block) -> Self {
        #[cfg(target_arch = "x86_64")]
        let encrypted = |simd: AesNi| Key(simd.encrypt(key, block));
        Self(match isa {
            AesIsa::Crate => {
                let mut encrypted = Array::from(*block);
                Aes128Enc::new(key.into()).encrypt_block(&mut encrypted);
                let cipher = Cipher::Crate(Aes128Enc::new(&encrypted));
                encrypted.zeroize();
                cipher
            }
            #[cfg(target_arch = "x86_64")]
            AesIsa::AesNi(simd) => Cipher::AesNi(simd, encrypted(simd)),
            #[cfg(target_arch = "x86_64")]
            AesIsa::Vaes256(simd) => Cipher::Vaes256(simd, encrypted(simd.aes_ni())),
            #[cfg(target_arch = "x86_64")]
            AesIsa::Vaes(simd) => Cipher::Vaes(simd, encrypted(simd.aes_ni())),
        })
    }

    /// Overwrites `out` with the encryptions of `counter`, `counter + 1`, … mod 2^128 as
    /// big-endian blocks. Constant-time.
    pub(crate) fn counter_mode(&self, counter: u128, out: &mut [FourBlocks]) {
        match &self.0 {
            Cipher::Crate(cipher) => counter_mode_of_the_crate(cipher, counter, out),
            #[cfg(target_arch = "x86_64")]
            Cipher::AesNi(simd, key) => simd.counter_mode(&key.0, counter, out),
            #[cfg(target_arch = "x86_64")]
            Cipher::Vaes256(simd, key) => simd.counter_mode(&key.0, counter, out),
            #[cfg(target_arch = "x86_64")]
            Cipher::Vaes(simd, key) => simd.counter_mode(&key.0, counter, out),
        }
    }
}

fn counter_mode_of_the_crate(cipher: &Aes128Enc, mut counter: u128, out: &mut [FourBlocks]) {
    /// The number of blocks per call of the cipher: 1 KiB, as many as its widest code takes at once.
    const BATCH: usize = 64;
    let (blocks, _) = out.as_flattened_mut().as_chunks_mut::<AES_BLOCK_BYTES>();
    for batch in blocks.chunks_mut(BATCH) {
        for block in batch.iter_mut() {
            *block = counter.to_be_bytes();
            counter = counter.wrapping_add(1);
        }
        cipher.encrypt_blocks(Array::cast_slice_from_core_mut(batch));
    }
}
