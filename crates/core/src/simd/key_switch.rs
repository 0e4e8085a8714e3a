//! The matrix product of a key switch, one tile of columns at a time, with the
//! accumulators of all ciphertexts in registers.

use super::Simd;
use super::{KEY_SWITCH_PACKED_WORDS, KEY_SWITCH_TILE_CIPHERTEXTS, KEY_SWITCH_TILE_COLUMNS};

type Columns = [u32; KEY_SWITCH_TILE_COLUMNS];
type Packed = [u32; KEY_SWITCH_PACKED_WORDS];

/// The number of columns of a packed row whose bytes are the lowest ones of the words.
const JOINED: usize = KEY_SWITCH_TILE_COLUMNS - KEY_SWITCH_PACKED_WORDS;

/// Computes `acc[c][j] -= sum over r of digits[c][r] * key_tile[r][j]`.
#[inline(always)]
pub(super) fn tile<S: Simd>(simd: S, acc: &mut [Columns], key_tile: &[Columns], digits: &[&[i32]]) {
    match (acc, digits) {
        ([a], &[d]) => ciphertexts(simd, [a], key_tile, [d]),
        ([a, b], &[d, e]) => ciphertexts(simd, [a, b], key_tile, [d, e]),
        ([a, b, c], &[d, e, f]) => ciphertexts(simd, [a, b, c], key_tile, [d, e, f]),
        ([a, b, c, d], &[e, f, g, h]) => {
            ciphertexts(simd, [a, b, c, d], key_tile, [e, f, g, h]);
        }
        _ => {}
    }
}

#[inline(always)]
fn ciphertexts<S: Simd, const C: usize>(
    simd: S,
    acc: [&mut Columns; C],
    key_tile: &[Columns],
    digits: [&[i32]; C],
) {
    // The fewer the ciphertexts, the more columns of each have room in the registers, and the fewer passes over the key.
    let room = S::KEY_SWITCH_VECTORS * (KEY_SWITCH_TILE_CIPHERTEXTS / C);
    match room.min(S::chunks_u32(acc[0]).len()) {
        16 => sweep::<S, C, 16>(simd, acc, key_tile, digits),
        8 => sweep::<S, C, 8>(simd, acc, key_tile, digits),
        4 => sweep::<S, C, 4>(simd, acc, key_tile, digits),
        _ => sweep::<S, C, 2>(simd, acc, key_tile, digits),
    }
}

/// Processes all rows once for every group of `V` vectors of columns.
#[inline(always)]
fn sweep<S: Simd, const C: usize, const V: usize>(
    simd: S,
    mut acc: [&mut Columns; C],
    key_tile: &[Columns],
    digits: [&[i32]; C],
) {
    let vectors = S::chunks_u32(acc[0]).len();
    for first in (0..vectors).step_by(V) {
        let mut sums = [[simd.splat_u32(0); V]; C];
        for (sums, acc) in sums.iter_mut().zip(&acc) {
            for (sum, chunk) in sums.iter_mut().zip(&S::chunks_u32(&acc[..])[first..]) {
                *sum = simd.load_u32(chunk);
            }
        }
        for (r, row) in key_tile.iter().enumerate() {
            let row = &S::chunks_u32(row)[first..first + V];
            for (sums, digits) in sums.iter_mut().zip(&digits) {
                let digit = simd.splat_u32(digits[r] as u32);
                for (sum, key) in sums.iter_mut().zip(row) {
                    *sum = simd.neg_mul_add_u32(simd.load_u32(key), digit, *sum);
                }
            }
        }
        for (sums, acc) in sums.iter().zip(&mut acc) {
            for (sum, chunk) in sums
                .iter()
                .zip(&mut S::chunks_u32_mut(&mut acc[..])[first..])
            {
                simd.store_u32(chunk, *sum);
            }
        }
    }
}

/// See [`key_switch_packed_row`](super::key_switch_packed_row).
pub(super) fn packed_row(columns: &Columns) -> Packed {
    let mut packed = [0; KEY_SWITCH_PACKED_WORDS];
    for (i, &column) in columns[KEY_SWITCH_PACKED_WORDS..].iter().enumerate() {
        let [_, low, middle, top] = column.wrapping_add(1 << 7).to_le_bytes();
        for (part, byte) in [top, middle, low].into_iter().enumerate() {
            packed[part * JOINED + i] = u32::from(byte);
        }
    }
    for (word, &column) in packed.iter_mut().zip(columns) {
        // The multiple of 2^8 next to the column less the byte.
        let rest = column.wrapping_sub(*word).wrapping_add(1 << 7);
        *word |= rest & !0xff;
    }
    packed
}

/// Returns the column whose three upper bytes are the lowest bytes of the words.
#[inline(always)]
pub(super) fn join_low_bytes([top, middle, low]: [u32; 3]) -> u32 {
    top << 24 | (middle & 0xff) << 16 | (low & 0xff) << 8
}

/// Does the same as [`tile`] with packed rows.
#[inline(always)]
pub(super) fn packed_tile<S: Simd>(
    simd: S,
    acc: &mut [Columns],
    key_tile: &[Packed],
    digits: &[&[i32]],
) {
    match (acc, digits) {
        ([a], &[d]) => packed_sweep(simd, [a], key_tile, [d]),
        ([a, b], &[d, e]) => packed_sweep(simd, [a, b], key_tile, [d, e]),
        ([a, b, c], &[d, e, f]) => packed_sweep(simd, [a, b, c], key_tile, [d, e, f]),
        ([a, b, c, d], &[e, f, g, h]) => {
            packed_sweep(simd, [a, b, c, d], key_tile, [e, f, g, h]);
        }
        _ => {}
    }
}

/// Processes all rows once for every group of four vectors of columns, of which three are words and one is joined.
#[inline(always)]
fn packed_sweep<S: Simd, const C: usize>(
    simd: S,
    mut acc: [&mut Columns; C],
    key_tile: &[Packed],
    digits: [&[i32]; C],
) {
    let parts = S::chunks_u32(acc[0]).len() / 4;
    for part in 0..parts {
        let mut sums = [[simd.splat_u32(0); 4]; C];
        for (sums, acc) in sums.iter_mut().zip(&acc) {
            for (sum, chunk) in sums
                .iter_mut()
                .zip(S::chunks_u32(&acc[..]).iter().skip(part).step_by(parts))
            {
                *sum = simd.load_u32(chunk);
            }
        }
        for (r, row) in key_tile.iter().enumerate() {
            let row = S::chunks_u32(row);
            let [a, b, c] = [part, parts + part, 2 * parts + part];
            let (a, b, c) = (
                simd.load_u32(&row[a]),
                simd.load_u32(&row[b]),
                simd.load_u32(&row[c]),
            );
            let key = [a, b, c, simd.join_low_bytes([a, b, c])];
            for (sums, digits) in sums.iter_mut().zip(&digits) {
                let digit = simd.splat_u32(digits[r] as u32);
                for (sum, key) in sums.iter_mut().zip(key) {
                    *sum = simd.neg_mul_add_u32(key, digit, *sum);
                }
            }
        }
        for (sums, acc) in sums.iter().zip(&mut acc) {
            for (sum, chunk) in sums.iter().zip(
                S::chunks_u32_mut(&mut acc[..])
                    .iter_mut()
                    .skip(part)
                    .step_by(parts),
            ) {
                simd.store_u32(chunk, *sum);
            }
        }
    }
}
