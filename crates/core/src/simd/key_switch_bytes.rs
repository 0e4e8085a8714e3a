//! The matrix product of a key switch on the bytes of the key, for processors that add four products of bytes to a word in one
//! instruction.
//!
//! Four rows of a tile lie together, as one vector of words for each byte that columns keep: a word has the bytes of one column in
//! the four rows. The products of a byte have a sum of their own, mod 2^32, which is shifted to the place of the byte at the end.

use super::{KEY_SWITCH_BYTES, KEY_SWITCH_ROWS_TOGETHER as ROWS, KEY_SWITCH_TILE_COLUMNS};

type Columns = [u32; KEY_SWITCH_TILE_COLUMNS];
type Bytes = [Columns; KEY_SWITCH_BYTES];

/// See [`key_switch_bytes_of`](super::key_switch_bytes_of).
pub(super) fn bytes_of(rows: &[Columns; ROWS]) -> Bytes {
    let mut words = [[0; KEY_SWITCH_TILE_COLUMNS]; KEY_SWITCH_BYTES];
    for column in 0..KEY_SWITCH_TILE_COLUMNS {
        let rounded = rows.map(|row| row[column].wrapping_add(1 << (place_of(0) - 1)));
        for (byte, words) in words.iter_mut().enumerate() {
            words[column] = u32::from_le_bytes(rounded.map(|word| (word >> place_of(byte)) as u8));
        }
    }
    words
}

/// The place of the lowest bit of byte `byte` of those that columns keep.
pub(super) const fn place_of(byte: usize) -> usize {
    8 * (size_of::<u32>() - KEY_SWITCH_BYTES + byte)
}

/// See [`key_switch_bytes_tile`](super::key_switch_bytes_tile).
pub(super) fn tile(acc: &mut [Columns], key_tile: &[Bytes], digits: &[&[[i8; ROWS]]]) {
    for (acc, digits) in acc.iter_mut().zip(digits) {
        for (words, digits) in key_tile.iter().zip(*digits) {
            for (byte, words) in words.iter().enumerate() {
                for (acc, word) in acc.iter_mut().zip(words) {
                    let products = word.to_le_bytes().into_iter().zip(digits);
                    let sum: i32 = products.map(|(a, &b)| i32::from(a) * i32::from(b)).sum();
                    *acc = acc.wrapping_sub((sum as u32) << place_of(byte));
                }
            }
        }
    }
}
