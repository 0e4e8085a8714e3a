//! The generators of Microsoft SEAL, version 3.6 and later, for the seeds in its ciphertexts.
//! A stream consists of outputs of 4096 bytes, one for each value of a counter.

#[cfg(feature = "shake256")]
use sha3::Shake256;
#[cfg(feature = "shake256")]
use sha3::digest::{ExtendableOutput, Update, XofReader};

use super::blake::output_blocks;
use super::blake2x::Output;
use super::expander::Expander;
use super::keystream::{BLOCK_BYTES, BlockSource, Keystream};

/// The number of bytes of a seed.
const SEED_BYTES: usize = 64;
/// The number of blocks of 64 bytes in one output of 4096 bytes.
const OUTPUT_BLOCKS: usize = SealPrng::OUTPUT_BYTES / BLOCK_BYTES;

/// A generator of SEAL's; the discriminant is its `prng_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum SealGenerator {
    /// Output `i` is BLAKE2Xb of 4096 bytes, keyed with the seed, of `i` as 8
    /// little-endian bytes.
    Blake2xb = 1,
    /// Output `i` is SHAKE256 of the seed and of `i` as 8 little-endian bytes.
    /// Feature `shake256`.
    #[cfg(feature = "shake256")]
    Shake256 = 2,
}

/// A stream of a [`SealGenerator`]. For public seeds: the state is not wiped.
pub struct SealPrng(Keystream<Outputs>);

impl SealPrng {
    /// The number of bytes of one output.
    pub const OUTPUT_BYTES: usize = 4096;

    /// Opens the stream of a seed at the beginning of output number `first`.
    pub fn new(generator: SealGenerator, seed: &[u8; SEED_BYTES], first: u64) -> Self {
        Self(Keystream::new(Outputs {
            seed: *seed,
            current: Current::open(generator, seed, first),
            generator,
            number: first,
            used: 0,
        }))
    }
}

impl Expander for SealPrng {
    fn fill(&mut self, out: &mut [u8]) {
        self.0.fill(out);
    }
}

struct Outputs {
    generator: SealGenerator,
    seed: [u8; SEED_BYTES],
    /// The number of the output that is being read.
    number: u64,
    current: Current,
    /// The number of blocks of the output that have been read.
    used: usize,
}

/// One output of 4096 bytes.
#[allow(clippy::large_enum_variant, reason = "no heap")]
enum Current {
    Blake2xb(Output),
    #[cfg(feature = "shake256")]
    Shake256(<Shake256 as ExtendableOutput>::Reader),
}

impl Current {
    fn open(generator: SealGenerator, seed: &[u8; SEED_BYTES], number: u64) -> Self {
        let number = number.to_le_bytes();
        match generator {
            SealGenerator::Blake2xb => {
                Self::Blake2xb(Output::new(seed, &number, SealPrng::OUTPUT_BYTES as u32))
            }
            #[cfg(feature = "shake256")]
            SealGenerator::Shake256 => {
                let mut state = Shake256::default();
                state.update(seed);
                state.update(&number);
                Self::Shake256(state.finalize_xof())
            }
        }
    }

    /// Overwrites `out` with blocks from number `first` on, which is where the previous read
    /// ended.
    fn read(&mut self, first: usize, out: &mut [[u8; BLOCK_BYTES]]) {
        match self {
            Self::Blake2xb(output) => output_blocks(output, first as u64, out),
            #[cfg(feature = "shake256")]
            Self::Shake256(reader) => reader.read(out.as_flattened_mut()),
        }
    }
}

impl BlockSource for Outputs {
    fn next_blocks(&mut self, mut out: &mut [[u8; BLOCK_BYTES]]) {
        while !out.is_empty() {
            if self.used == OUTPUT_BLOCKS {
                self.number = self.number.wrapping_add(1);
                self.current = Current::open(self.generator, &self.seed, self.number);
                self.used = 0;
            }
            let (now, later) = out.split_at_mut(out.len().min(OUTPUT_BLOCKS - self.used));
            self.current.read(self.used, now);
            self.used += now.len();
            out = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first words of the stream's output 2, from an independent computation of
    /// BLAKE2Xb and of SHAKE256.
    #[test]
    fn outputs_are_those_of_the_generators() {
        let seed: [u8; 64] = core::array::from_fn(|i| (3 * i) as u8);
        for (generator, expected) in [
            (
                SealGenerator::Blake2xb,
                [
                    0xfc3ed1d59fec8382cb196dbcd80bf0ae,
                    0x21176ee171bb58c41c64da2257127c02,
                ],
            ),
            #[cfg(feature = "shake256")]
            (
                SealGenerator::Shake256,
                [
                    0xbce255913fb664e1c4caf31ce514600a,
                    0x3bd0151a9106218bcde741ef4a752e95,
                ],
            ),
        ] {
            // Blocks 0 and 40 of the output.
            let mut out = [0; 41 * BLOCK_BYTES];
            SealPrng::new(generator, &seed, 2).fill(&mut out);
            let word = |at: usize| u128::from_be_bytes(*out[at..].first_chunk().unwrap());
            assert_eq!([word(0), word(40 * 64)], expected, "{generator:?}");
        }
    }

    /// Reads may be cut anywhere, across outputs too, and may begin at any output.
    #[test]
    fn cuts_do_not_matter() {
        let seed = [9; 64];
        let mut whole = [0; 3 * 4096];
        SealPrng::new(SealGenerator::Blake2xb, &seed, 5).fill(&mut whole);
        for cut in [1, 64, 1000, 4095, 4096, 5000] {
            let mut pieces = [0; 3 * 4096];
            let mut stream = SealPrng::new(SealGenerator::Blake2xb, &seed, 5);
            for piece in pieces.chunks_mut(cut) {
                stream.fill(piece);
            }
            assert!(pieces == whole, "in pieces of {cut}");
        }
        let mut last = [0; 4096];
        SealPrng::new(SealGenerator::Blake2xb, &seed, 7).fill(&mut last);
        assert_eq!(last, whole[2 * 4096..]);
    }
}
