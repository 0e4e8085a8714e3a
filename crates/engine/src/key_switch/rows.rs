//! The key switch with a row for every coefficient `s_i` of the big key and every digit weight `q / B^j`: an LWE encryption of
//! `s_i · q / B^j` (TFHE: Fast Fully Homomorphic Encryption over the Torus, section 4.1; signed digits). Server keys of former programs
//! have such rows.
//!
//! A key switch goes over them in tiles of columns, all rows of a tile together, so that one pass over a tile serves several
//! ciphertexts whose sums stay in registers.

use std::io;

use rayon::prelude::*;
use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::parameters::{Decomposition, Parameters};
use tfhe_sbc_core::random::{self, ExpanderKind};
use tfhe_sbc_core::simd::{self, Isa};
use tfhe_sbc_core::torus::Torus;

use crate::large_buffer::LargeBuffer;
use crate::nodes::{Nodes, PerNode};
use crate::seeded_rows::SeededMasks;

/// The number of ciphertexts whose sums of one tile fit the registers.
const LANES: usize = simd::KEY_SWITCH_TILE_CIPHERTEXTS;
/// The number of columns of a tile.
const TILE: usize = simd::KEY_SWITCH_TILE_COLUMNS;
/// The columns of a tile in one row.
type Columns = [u32; TILE];

/// The number of rows: one for each digit of each coefficient of the big key, the most significant digit of a coefficient first.
pub(super) fn row_count(parameters: &Parameters) -> usize {
    parameters.big_lwe_dimension().0 * parameters.key_switch().level_count.0
}

/// The rows in seeded form: the bodies only. The mask of a row is a stream of its own. With ChaCha20, as in release 0.1, it is the next
/// `n` scalars of stream 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeededKeyRows {
    pub(crate) masks: SeededMasks,
    bodies: Vec<u32>,
}

impl SeededKeyRows {
    /// Returns the rows with these masks and bodies.
    pub(super) fn from_bytes(masks: SeededMasks, bodies: &[u8]) -> Self {
        let bodies = bodies.as_chunks().0.iter();
        Self {
            masks,
            bodies: bodies.map(|&body| u32::from_le_bytes(body)).collect(),
        }
    }

    /// Appends the bodies.
    pub(super) fn write_bodies(&self, out: &mut Vec<u8>) {
        out.extend(self.bodies.iter().flat_map(|body| body.to_le_bytes()));
    }
}

/// The rows in memory, tile by tile.
pub(crate) struct KeyRows {
    isa: Isa,
    input: LweDimension,
    output: LweDimension,
    decomposition: Decomposition,
    tiles: PerNode<LargeBuffer<Columns>>,
}

impl KeyRows {
    /// Expands the rows.
    pub(super) fn prepare(parameters: &Parameters, seeded: &SeededKeyRows) -> Self {
        let output = parameters.lwe_dimension();
        let tile_count = (output.0 + 1).div_ceil(TILE);
        let rows = seeded.bodies.len();
        let mut tiles = LargeBuffer::zeroed(rows * tile_count);
        let mut row = vec![0u32; tile_count * TILE];
        let mut of_all_rows = seeded.masks.stream(0);
        for (r, &body) in seeded.bodies.iter().enumerate() {
            let (mask, behind) = row.split_at_mut(output.0);
            match seeded.masks.expander {
                ExpanderKind::ChaCha20 => random::fill_uniform(&mut of_all_rows, mask),
                _ => random::fill_uniform(&mut seeded.masks.stream(r as u32), mask),
            }
            behind[0] = body;
            for (tile, columns) in row.as_chunks().0.iter().enumerate() {
                tiles[tile * rows + r] = *columns;
            }
        }
        Self {
            isa: Isa::detect(),
            input: parameters.big_lwe_dimension(),
            output,
            decomposition: parameters.key_switch(),
            tiles: PerNode::one(tiles),
        }
    }

    /// Gives each node a copy.
    ///
    /// # Errors
    /// Those of [`PerNode::copy_to`].
    pub(super) fn copy_to_nodes(&mut self, nodes: &Nodes) -> io::Result<()> {
        self.tiles.copy_to(nodes)
    }

    /// The number of bytes in memory, of all copies.
    pub(super) fn byte_count(&self) -> usize {
        let bytes = self.tiles.copies().map(|copy| size_of_val(&**copy));
        bytes.sum()
    }

    fn row_count(&self) -> usize {
        self.input.0 * self.decomposition.level_count.0
    }

    /// See [`KeySwitchKey::switch_batch_into`](super::KeySwitchKey::switch_batch_into). Threads share the tiles.
    pub(super) fn switch_batch_into<T: Torus>(&self, inputs: &[&[T]], outputs: &mut [u32]) {
        let out_len = self.output.0 + 1;
        assert_eq!(outputs.len(), inputs.len() * out_len);
        let digits: Vec<_> = inputs.par_iter().map(|lwe| self.digits(lwe)).collect();
        let lanes: Vec<&[i32]> = digits.iter().map(Vec::as_slice).collect();
        let tile_count = out_len.div_ceil(TILE);
        let sums: Vec<Vec<Columns>> = (0..tile_count)
            .into_par_iter()
            .map(|tile| {
                let rows = self.row_count();
                let tile = &self.tiles.local()[tile * rows..][..rows];
                let mut sums = vec![[0; TILE]; lanes.len()];
                for (sums, digits) in sums.chunks_mut(LANES).zip(lanes.chunks(LANES)) {
                    simd::key_switch_tile(self.isa, sums, tile, digits);
                }
                sums
            })
            .collect();
        let outputs = outputs.chunks_exact_mut(out_len).enumerate();
        for ((c, out), lwe) in outputs.zip(inputs) {
            for (out, sums) in out.chunks_mut(TILE).zip(&sums) {
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
