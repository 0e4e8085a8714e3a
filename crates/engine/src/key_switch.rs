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
/// The number of rows that lie together for products of bytes. It divides the number of rows, because N is a multiple of it.
const TOGETHER: usize = simd::KEY_SWITCH_ROWS_TOGETHER;

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
    /// Rows whose columns keep all bits, one by one.
    Rows(LargeBuffer<[u32; TILE]>),
    /// The bytes of rows that lie together, whose columns keep 24 bits.
    Bytes(LargeBuffer<[[u32; TILE]; simd::KEY_SWITCH_BYTES]>),
}

impl Tiles {
    fn zeroed(parameters: &Parameters, isa: Isa, rows: usize) -> Self {
        // A digit has at most a byte.
        let narrow = parameters.key_switch().base_log.0 <= i8::BITS;
        let fewer_bits = parameters.packed_key_switch_variance() > 0.0;
        match isa.multiplies_bytes() && narrow && fewer_bits {
            true => Self::Bytes(LargeBuffer::zeroed(rows / TOGETHER)),
            false => Self::Rows(LargeBuffer::zeroed(rows)),
        }
    }

    /// Stores some rows of a tile from row `first` of all tiles on, a multiple of [`TOGETHER`].
    fn set(&mut self, first: usize, columns: &[[u32; TILE]; TOGETHER]) {
        match self {
            Self::Rows(rows) => rows[first..first + TOGETHER].copy_from_slice(columns),
            Self::Bytes(rows) => rows[first / TOGETHER] = simd::key_switch_bytes_of(columns),
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
        let mut of_tiles = vec![[[0u32; TILE]; TOGETHER]; tile_count];
        for (group, bodies) in seeded.bodies.as_chunks::<TOGETHER>().0.iter().enumerate() {
            for (r, &body) in bodies.iter().enumerate() {
                random::fill_uniform(&mut mask_stream, &mut row[..output.0]);
                row[output.0] = body;
                for (columns, of_tile) in row.as_chunks().0.iter().zip(&mut of_tiles) {
                    of_tile[r] = *columns;
                }
            }
            for (tile, columns) in of_tiles.iter().enumerate() {
                tiles.set(tile * rows + TOGETHER * group, columns);
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
            Tiles::Rows(rows) => rows.as_flattened_mut(),
            Tiles::Bytes(rows) => rows.as_flattened_mut().as_flattened_mut(),
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
            Tiles::Rows(rows) => size_of_val(&**rows),
            Tiles::Bytes(rows) => size_of_val(&**rows),
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
        let columns = match &self.tiles {
            Tiles::Rows(tiles) => self.tile_sums(
                tiles,
                inputs,
                std::convert::identity,
                |sums, rows, digits| {
                    simd::key_switch_tile(self.isa, sums, rows, digits);
                },
            ),
            Tiles::Bytes(tiles) => self.tile_sums(tiles, inputs, together, |sums, rows, digits| {
                simd::key_switch_bytes_tile(self.isa, sums, rows, digits);
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

    /// The sums `-Σ digit · row` of the columns of every tile, for every ciphertext. `arrange` puts the digits of a ciphertext in
    /// the order of the elements of `tiles`, and `add(sums, some_elements, digits)` adds those of some elements for at
    /// most [`LANES`] ciphertexts.
    fn tile_sums<T: Torus, R: Sync, D: Sync + Send>(
        &self,
        tiles: &[R],
        inputs: &[&[T]],
        arrange: impl Fn(Vec<i32>) -> Vec<D> + Sync,
        add: impl Fn(&mut [[u32; TILE]], &[R], &[&[D]]) + Sync,
    ) -> Vec<Vec<[u32; TILE]>> {
        let digits = inputs.par_iter().map(|lwe| arrange(self.digits(lwe)));
        let digits: Vec<Vec<D>> = digits.collect();
        let elements = digits.first().map_or(self.row_count(), Vec::len);
        let at_a_time = (ROWS_AT_A_TIME * elements / self.row_count()).max(1);
        let of_tile = |tile: &[R]| {
            let mut sums = vec![[0u32; TILE]; digits.len()];
            for (block, rows) in tile.chunks(at_a_time).enumerate() {
                let start = block * at_a_time;
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
        tiles.par_chunks_exact(elements).map(of_tile).collect()
    }
}

/// Arranges digits for products of bytes.
fn together(digits: Vec<i32>) -> Vec<[i8; TOGETHER]> {
    let groups = digits.as_chunks::<TOGETHER>().0.iter();
    groups.map(|group| group.map(|digit| digit as i8)).collect()
}
