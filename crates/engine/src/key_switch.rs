//! The LWE key switch: from the big key to the small key, mod 2^32 (TFHE: Fast Fully Homomorphic
//! Encryption over the Torus, section 4.1; signed digits).
//!
//! For every coefficient `s_i` of the big key and every digit weight `q / B^j`, the key holds an
//! encryption of `s_i · q / B^j`. It is stored in tiles of columns, all rows of a tile together,
//! so that one pass over a tile serves several ciphertexts whose sums stay in registers.

use rayon::prelude::*;
use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::lwe::LweSecretKey;
use tfhe_sbc_core::parameters::{Decomposition, Parameters};
use tfhe_sbc_core::random::{self, ExpanderKind, MaskSeed, NoiseSeed};
use tfhe_sbc_core::simd::{self, Isa};
use tfhe_sbc_core::torus::Torus;

use crate::filler::filler_words;
use crate::large_buffer::LargeBuffer;

const TILE: usize = simd::KEY_SWITCH_TILE_COLUMNS;
/// The number of ciphertexts whose sums of one tile fit the registers.
const LANES: usize = simd::KEY_SWITCH_TILE_CIPHERTEXTS;
/// The number of rows of a tile that are processed while they are in the second-level cache.
const ROWS_AT_A_TIME: usize = 1024;

/// The key-switching key in seeded form: the bodies only. The mask of row `i · level_count + j` is
/// the next `n` scalars of stream 0 of the expander.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededKeySwitchKey {
    pub(crate) mask_seed: MaskSeed,
    pub(crate) bodies: Vec<u32>,
}

impl SeededKeySwitchKey {
    /// The number of rows: one for each digit of each coefficient of the big key.
    pub fn row_count(parameters: &Parameters) -> usize {
        parameters.big_lwe_dimension().0 * parameters.key_switch().level_count.0
    }

    pub(crate) fn generate(
        parameters: &Parameters,
        from: &[i8],
        to: &LweSecretKey,
        mask_seed: MaskSeed,
        noise_seed: &NoiseSeed,
    ) -> Self {
        let Decomposition {
            base_log,
            level_count,
        } = parameters.key_switch();
        let mut noise_stream = ExpanderKind::ChaCha20.noise_stream(noise_seed, 0);
        let mut bodies: Vec<u32> = from
            .iter()
            .flat_map(|&s| {
                (1..=level_count.0 as u32)
                    .map(move |level| (i32::from(s) as u32) << (u32::BITS - base_log.0 * level))
            })
            .collect();
        random::add_noise(parameters.lwe_noise(), &mut noise_stream, &mut bodies);
        let mut mask_stream = ExpanderKind::ChaCha20.mask_stream(&mask_seed, 0);
        let mut mask = vec![0u32; parameters.lwe_dimension().0];
        for body in &mut bodies {
            random::fill_uniform(&mut mask_stream, &mut mask);
            *body = body.wrapping_add(to.mask_product(&mask));
        }
        Self { mask_seed, bodies }
    }
}

/// The key-switching key in memory, expanded and in tiles.
pub struct KeySwitchKey {
    isa: Isa,
    input: LweDimension,
    output: LweDimension,
    decomposition: Decomposition,
    tiles: Tiles,
}

/// The rows of all tiles, tile by tile.
enum Tiles {
    /// Rows whose columns keep all bits.
    Whole(LargeBuffer<[u32; TILE]>),
    /// Rows whose columns keep 24 bits.
    Packed(LargeBuffer<[u32; simd::KEY_SWITCH_PACKED_WORDS]>),
}

impl Tiles {
    fn zeroed(parameters: &Parameters, isa: Isa, rows: usize) -> Self {
        match isa.reads_packed_keys() && parameters.packed_key_switch_variance() > 0.0 {
            true => Self::Packed(LargeBuffer::zeroed(rows)),
            false => Self::Whole(LargeBuffer::zeroed(rows)),
        }
    }

    fn set(&mut self, row: usize, columns: &[u32; TILE]) {
        match self {
            Self::Whole(rows) => rows[row] = *columns,
            Self::Packed(rows) => rows[row] = simd::key_switch_packed_row(columns),
        }
    }
}

impl KeySwitchKey {
    pub(crate) fn prepare(parameters: &Parameters, seeded: &SeededKeySwitchKey) -> Self {
        let output = parameters.lwe_dimension();
        let rows = SeededKeySwitchKey::row_count(parameters);
        let tile_count = (output.0 + 1).div_ceil(TILE);
        let isa = Isa::detect();
        let mut tiles = Tiles::zeroed(parameters, isa, rows * tile_count);
        let mut mask_stream = ExpanderKind::ChaCha20.mask_stream(&seeded.mask_seed, 0);
        let mut row = vec![0u32; tile_count * TILE];
        for (r, &body) in seeded.bodies.iter().enumerate() {
            random::fill_uniform(&mut mask_stream, &mut row[..output.0]);
            row[output.0] = body;
            for (t, columns) in row.as_chunks::<TILE>().0.iter().enumerate() {
                tiles.set(t * rows + r, columns);
            }
        }
        Self {
            isa,
            input: parameters.big_lwe_dimension(),
            output,
            decomposition: parameters.key_switch(),
            tiles,
        }
    }

    /// Returns a key that encrypts nothing: every scalar is a filler word.
    pub(crate) fn of_filler_words(parameters: &Parameters) -> Self {
        let output = parameters.lwe_dimension();
        let tile_count = (output.0 + 1).div_ceil(TILE);
        let row_count = SeededKeySwitchKey::row_count(parameters) * tile_count;
        let isa = Isa::detect();
        let mut tiles = Tiles::zeroed(parameters, isa, row_count);
        let scalars = match &mut tiles {
            Tiles::Whole(rows) => rows.as_flattened_mut(),
            Tiles::Packed(rows) => rows.as_flattened_mut(),
        };
        let scalars = scalars.iter_mut().zip(filler_words());
        scalars.for_each(|(scalar, word)| *scalar = word as u32);
        Self {
            isa,
            input: parameters.big_lwe_dimension(),
            output,
            decomposition: parameters.key_switch(),
            tiles,
        }
    }

    /// The number of bytes in memory.
    pub fn byte_count(&self) -> usize {
        match &self.tiles {
            Tiles::Whole(rows) => size_of_val(&**rows),
            Tiles::Packed(rows) => size_of_val(&**rows),
        }
    }

    fn row_count(&self) -> usize {
        self.input.0 * self.decomposition.level_count.0
    }

    /// Switches every input to the small key. `outputs` receives the ciphertexts one after the
    /// other, `n + 1` scalars each. The threads of the current rayon pool share the tiles.
    ///
    /// # Panics
    /// If an input is not under the big key, or `outputs` has another length.
    pub fn switch_batch_into<T: Torus>(&self, inputs: &[&[T]], outputs: &mut [u32]) {
        let out_len = self.output.0 + 1;
        assert_eq!(outputs.len(), inputs.len() * out_len);
        let rows = self.row_count();
        let digits: Vec<Vec<i32>> = inputs.par_iter().map(|lwe| self.digits(lwe)).collect();
        let digits: Vec<&[i32]> = digits.iter().map(Vec::as_slice).collect();

        let columns: Vec<Vec<[u32; TILE]>> = match &self.tiles {
            Tiles::Whole(tiles) => tile_sums(tiles, rows, &digits, |sums, rows, digits| {
                simd::key_switch_tile(self.isa, sums, rows, digits);
            }),
            Tiles::Packed(tiles) => tile_sums(tiles, rows, &digits, |sums, rows, digits| {
                simd::key_switch_packed_tile(self.isa, sums, rows, digits);
            }),
        };
        for (c, (out, lwe)) in outputs.chunks_exact_mut(out_len).zip(inputs).enumerate() {
            for (out, sums) in out.chunks_mut(TILE).zip(&columns) {
                out.copy_from_slice(&sums[c][..out.len()]);
            }
            let body = lwe[self.input.0].round_to_bits(u32::BITS) as u32;
            out[self.output.0] = out[self.output.0].wrapping_add(body);
        }
    }

    /// The signed digits of every mask scalar, the most significant first.
    fn digits<T: Torus>(&self, lwe: &[T]) -> Vec<i32> {
        assert_eq!(
            lwe.len(),
            self.input.0 + 1,
            "the ciphertext is not under the big key"
        );
        let levels = self.decomposition.level_count.0;
        let base_log = self.decomposition.base_log.0;
        let represented = self.decomposition.represented_bits();
        let (base, half) = (1i64 << base_log, 1i64 << (base_log - 1));
        let mut digits = vec![0i32; self.row_count()];
        for (digits, a) in digits.chunks_exact_mut(levels).zip(lwe) {
            let mut rest = a.round_to_bits(represented) as i64;
            for digit in digits.iter_mut().rev() {
                let low = rest & (base - 1);
                let balanced = if low >= half { low - base } else { low };
                *digit = balanced as i32;
                rest = (rest - balanced) >> base_log;
            }
        }
        digits
    }
}

/// The sums `-Σ digit · row` of the columns of every tile, for every ciphertext. A tile has `rows` rows, and
/// `add(sums, some_rows, digits)` adds those of some rows for at most [`LANES`] ciphertexts.
fn tile_sums<R: Sync>(
    tiles: &[R],
    rows: usize,
    digits: &[&[i32]],
    add: impl Fn(&mut [[u32; TILE]], &[R], &[&[i32]]) + Sync,
) -> Vec<Vec<[u32; TILE]>> {
    let of_tile = |tile: &[R]| {
        let mut sums = vec![[0u32; TILE]; digits.len()];
        for (block, rows) in tile.chunks(ROWS_AT_A_TIME).enumerate() {
            let start = block * ROWS_AT_A_TIME;
            for (sums, digits) in sums.chunks_mut(LANES).zip(digits.chunks(LANES)) {
                let mut lanes = [&[][..]; LANES];
                for (lane, digits) in lanes.iter_mut().zip(digits) {
                    *lane = &digits[start..start + rows.len()];
                }
                add(sums, rows, &lanes[..digits.len()]);
            }
        }
        sums
    };
    tiles.par_chunks_exact(rows).map(of_tile).collect()
}
