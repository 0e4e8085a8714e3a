//! The pads of a frame.

use core::iter::{Cycle, Take};
use core::slice;

use zeroize::Zeroize as _;

use crate::chacha::block;
use crate::format::{Column, Format};
use crate::key::{BoardKey, PAD_DOMAIN};

/// The number of halfwords of a ChaCha20 block.
const BLOCK_HALFWORDS: usize = 32;

/// The pads of one frame, row by row: for each code a number of as many bits as the
/// column's width. They are secret, and wiped on drop.
///
/// The board adds them to its codes, and the key owner encrypts their negatives.
///
/// Block `i` of a frame is the ChaCha20 block (RFC 8439) of the board's key with block counter `i` and, as
/// nonce, the words counter, 0, 0. Its bytes are cut into lanes of 2, 4 or 8 bytes: the least in which
/// every column has room. Pad `j` is the little-endian number in lane `j`, mod `2^width`.
#[derive(Clone)]
pub struct Pads<'a> {
    key: &'a BoardKey,
    counter: u32,
    columns: Take<Cycle<slice::Iter<'a, Column>>>,
    lane_halfwords: usize,
    block: [u32; BLOCK_HALFWORDS / 2],
    /// The index of the block after this one.
    next_block: u32,
    /// The halfwords of the block that are used.
    used: usize,
}

impl<'a> Pads<'a> {
    /// Makes the pads of the frame `counter`.
    pub fn new(key: &'a BoardKey, format: &'a Format, counter: u32) -> Self {
        let columns = format.columns();
        let widest = columns.iter().map(|column| column.width()).max();
        let lane_halfwords = match widest {
            Some(33..) => 4,
            Some(17..) => 2,
            _ => 1,
        };
        Self {
            key,
            counter,
            columns: columns.iter().cycle().take(format.codes()),
            lane_halfwords,
            block: [0; BLOCK_HALFWORDS / 2],
            next_block: 0,
            used: BLOCK_HALFWORDS,
        }
    }

    /// The lane after the last one.
    fn next_lane(&mut self) -> u64 {
        if self.used == BLOCK_HALFWORDS {
            let input = [self.next_block, self.counter, PAD_DOMAIN, 0];
            self.block = block(self.key.as_bytes(), input);
            self.next_block += 1;
            self.used = 0;
        }
        let word = |at: usize| self.block.get(at).copied().map_or(0, u64::from);
        let first = word(self.used / 2);
        let lane = match self.lane_halfwords {
            1 => first >> (16 * (self.used % 2)),
            2 => first,
            _ => first | word(self.used / 2 + 1) << 32,
        };
        self.used += self.lane_halfwords;
        lane
    }
}

impl Iterator for Pads<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let column = self.columns.next()?;
        Some(self.next_lane() & column.mask())
    }
}

impl Drop for Pads<'_> {
    fn drop(&mut self) {
        self.block.zeroize();
    }
}
