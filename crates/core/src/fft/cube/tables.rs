//! The twiddles of the three passes, by line of eight lanes.

use crate::fft::passes::pass_twiddle;
use crate::fft::trigonometry::root_of_unity;

/// Eight lanes.
pub(super) type Line = [f64; 8];

/// The real and imaginary parts of the twiddles of three levels, by lane. The last is the product of
/// the first two.
pub(super) type Twiddles = [[Line; 2]; 5];

#[repr(align(64))]
pub(super) struct Tables {
    /// The twiddles on the way down, by node of depth 3 (a lane each).
    pub(super) down_columns: Twiddles,
    /// The twiddles on the way down, by child of these nodes.
    pub(super) down_lanes: [Twiddles; 8],
    /// The twiddles on the way up, by lane.
    pub(super) up_columns: Twiddles,
    /// The twiddles on the way up, by column and lane.
    pub(super) up_rows: [Twiddles; 8],
    /// The last turns, by column, row and lane: `tan` and `cos` of a position's angle. In the upper four
    /// rows, where angles are above `pi/4`, they are `cot` and `sin`.
    pub(super) turns: [[[Line; 2]; 8]; 8],
}

pub(super) static TABLES: Tables = Tables::new();

impl Tables {
    const fn new() -> Self {
        let mut tables = Self {
            down_columns: [[[0.0; 8]; 2]; 5],
            down_lanes: [[[[0.0; 8]; 2]; 5]; 8],
            up_columns: [[[0.0; 8]; 2]; 5],
            up_rows: [[[[0.0; 8]; 2]; 5]; 8],
            turns: [[[[0.0; 8]; 2]; 8]; 8],
        };
        let mut lane = 0;
        while lane < 8 {
            let mut k = 0;
            while k < 5 {
                set(&mut tables.down_columns, k, lane, node_twiddle(3, lane, k));
                set(
                    &mut tables.up_columns,
                    k,
                    lane,
                    position_twiddle(lane, 3, k),
                );
                let mut column = 0;
                while column < 8 {
                    let down = node_twiddle(6, 8 * lane + column, k);
                    set(&mut tables.down_lanes[column], k, lane, down);
                    let up = position_twiddle(8 * column + lane, 6, k);
                    set(&mut tables.up_rows[column], k, lane, up);
                    column += 1;
                }
                k += 1;
            }
            let mut place = 0;
            while place < 64 {
                let (column, row) = (place / 8, place % 8);
                let position = 64 * row + 8 * column + lane;
                let (cos, sin) = root_of_unity(position as u32, 11);
                tables.turns[column][row][0][lane] = if row < 4 { sin / cos } else { cos / sin };
                tables.turns[column][row][1][lane] = if row < 4 { cos } else { sin };
                place += 1;
            }
            lane += 1;
        }
        tables
    }
}

const fn set(twiddles: &mut Twiddles, k: usize, lane: usize, (re, im): (f64, f64)) {
    twiddles[k][0][lane] = re;
    twiddles[k][1][lane] = im;
}

const fn times((a, b): (f64, f64), (c, d): (f64, f64)) -> (f64, f64) {
    (a * c - b * d, a * d + b * c)
}

/// Returns twiddle number `k` of those that split a node in three levels.
pub(super) const fn node_twiddle(depth: u32, index: usize, k: usize) -> (f64, f64) {
    match k {
        4 => times(pass_twiddle(depth, index, 0), pass_twiddle(depth, index, 1)),
        _ => pass_twiddle(depth, index, k),
    }
}

/// Returns twiddle number `k` of those that join blocks of `2^log_block` points in three levels, for
/// a position in its block.
const fn position_twiddle(position: usize, log_block: u32, k: usize) -> (f64, f64) {
    let (level, offset) = match k {
        0 | 1 => (k as u32, 0),
        2 => (2, 0),
        3 => (2, 1 << log_block),
        _ => {
            return times(
                position_twiddle(position, log_block, 0),
                position_twiddle(position, log_block, 1),
            );
        }
    };
    let (cos, sin) = root_of_unity((position + offset) as u32, log_block + 1 + level);
    (cos, -sin)
}
