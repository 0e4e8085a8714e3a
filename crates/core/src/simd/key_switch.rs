//! The matrix product of a key switch, one tile of columns at a time, with the
//! accumulators of all ciphertexts in registers.

use super::Simd;
use super::{KEY_SWITCH_TILE_CIPHERTEXTS, KEY_SWITCH_TILE_COLUMNS};

type Columns = [u32; KEY_SWITCH_TILE_COLUMNS];

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
