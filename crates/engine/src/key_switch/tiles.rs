//! The rows of a key-switching key by tiles of columns: in memory, or made from the seed again by each key switch.

use std::io;
use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;
use tfhe_sbc_core::dimensions::LweDimension;
use tfhe_sbc_core::random::{self, ExpanderKind, RowMasks};
use tfhe_sbc_core::simd::{self, Isa};

use super::SeededKeySwitchKey;
use crate::large_buffer::LargeBuffer;
use crate::nodes::{Nodes, PerNode};

/// The number of columns of a tile.
pub(super) const TILE: usize = simd::KEY_SWITCH_TILE_COLUMNS;
/// The columns of a tile in one row.
pub(super) type Columns = [u32; TILE];
/// The number of rows that lie together for products of bytes. It divides the number of rows, because N is a multiple of it.
const TOGETHER: usize = simd::KEY_SWITCH_ROWS_TOGETHER;
/// The bytes of the columns of rows that lie together, which keep 24 bits.
pub(super) type ByteColumns = [Columns; simd::KEY_SWITCH_BYTES];

/// Returns the number of tiles of the mask and the body of a ciphertext.
pub(super) fn tile_count(output: LweDimension) -> usize {
    (output.0 + 1).div_ceil(TILE)
}

/// An element of a tile: the columns of one or of several rows.
pub(super) trait Element: Pod + Send + Sync {
    /// The number of rows.
    const ROWS: usize;
    /// The digits that multiply the rows.
    type Digits: Send + Sync;

    /// Returns the element of [`ROWS`](Self::ROWS) rows.
    fn of_rows(rows: &[Columns]) -> Self;
    /// Arranges the digits of a ciphertext for the elements of a tile.
    fn arrange(digits: Vec<i32>) -> Vec<Self::Digits>;
    /// Subtracts the products of digits and rows from the sums of each ciphertext.
    fn subtract(isa: Isa, sums: &mut [Columns], elements: &[Self], digits: &[&[Self::Digits]]);
}

impl Element for Columns {
    const ROWS: usize = 1;
    type Digits = i32;

    fn of_rows(rows: &[Columns]) -> Self {
        rows[0]
    }

    fn arrange(digits: Vec<i32>) -> Vec<i32> {
        digits
    }

    fn subtract(isa: Isa, sums: &mut [Columns], elements: &[Self], digits: &[&[i32]]) {
        simd::key_switch_tile(isa, sums, elements, digits);
    }
}

impl Element for ByteColumns {
    const ROWS: usize = TOGETHER;
    type Digits = [i8; TOGETHER];

    fn of_rows(rows: &[Columns]) -> Self {
        let rows = rows.first_chunk().expect("as many rows as lie together");
        simd::key_switch_bytes_of(rows)
    }

    fn arrange(digits: Vec<i32>) -> Vec<Self::Digits> {
        let groups = digits.as_chunks::<TOGETHER>().0.iter();
        groups.map(|group| group.map(|digit| digit as i8)).collect()
    }

    fn subtract(isa: Isa, sums: &mut [Columns], elements: &[Self], digits: &[&[Self::Digits]]) {
        simd::key_switch_bytes_tile(isa, sums, elements, digits);
    }
}

/// The elements of all tiles, from which a key switch reads some of a tile at a time.
pub(super) trait Tiles<E>: Sync {
    /// The number of rows to read at a time, so that they are in a cache while they meet all ciphertexts. It is a multiple of the
    /// rows of an element.
    const ROWS_AT_A_TIME: usize;

    /// Returns the elements of tile `tile` at these places. `made` is scratch memory.
    fn elements<'e>(&'e self, tile: usize, places: Range<usize>, made: &'e mut Vec<E>) -> &'e [E];
}

/// Elements in memory, tile by tile.
pub(super) struct Stored<E> {
    elements: PerNode<LargeBuffer<E>>,
    /// The number of elements of a tile.
    of_tile: usize,
}

impl<E: Element> Stored<E> {
    /// Returns the elements of `rows` rows, filled with zeros and then by `fill`, which also takes the number of elements of a tile.
    pub(super) fn filled(
        rows: usize,
        output: LweDimension,
        fill: impl FnOnce(&mut [E], usize),
    ) -> Self {
        let of_tile = rows / E::ROWS;
        let mut elements = LargeBuffer::zeroed(of_tile * tile_count(output));
        fill(&mut elements, of_tile);
        Self {
            elements: PerNode::one(elements),
            of_tile,
        }
    }

    /// Returns the elements of a key. Runs on all threads of the current rayon pool.
    pub(super) fn of(seeded: &SeededKeySwitchKey, output: LweDimension) -> Self {
        Self::filled(
            seeded.bodies.len(),
            output,
            |elements, of_tile| match seeded.masks.expander {
                ExpanderKind::ChaCha20 => expand_in_order(elements, of_tile, seeded, output),
                _ => expand(elements, of_tile, seeded, output),
            },
        )
    }

    /// Gives each node a copy.
    ///
    /// # Errors
    /// Those of [`PerNode::copy_to`].
    pub(super) fn copy_to_nodes(&mut self, nodes: &Nodes) -> io::Result<()> {
        self.elements.copy_to(nodes)
    }

    /// The number of bytes, of all copies.
    pub(super) fn byte_count(&self) -> usize {
        let bytes = self.elements.copies().map(|copy| size_of_val(&**copy));
        bytes.sum()
    }
}

/// Writes the elements of a key whose rows have streams of their own, `of_tile` for each tile.
fn expand<E: Element>(
    elements: &mut [E],
    of_tile: usize,
    seeded: &SeededKeySwitchKey,
    output: LweDimension,
) {
    let source = Made::of(seeded, output);
    let tiles = elements.par_chunks_exact_mut(of_tile).enumerate();
    tiles.for_each_init(Vec::new, |made, (tile, elements)| {
        let at_a_time = Made::ROWS_AT_A_TIME;
        for (i, elements) in elements.chunks_mut(at_a_time / E::ROWS).enumerate() {
            let start = i * at_a_time;
            let rows = source.elements(tile, start..start + elements.len() * E::ROWS, made);
            for (element, rows) in elements.iter_mut().zip(rows.chunks_exact(E::ROWS)) {
                *element = E::of_rows(rows);
            }
        }
    });
}

/// Writes the elements of a former key, whose rows share a stream, `of_tile` for each tile.
fn expand_in_order<E: Element>(
    elements: &mut [E],
    of_tile: usize,
    seeded: &SeededKeySwitchKey,
    output: LweDimension,
) {
    let mut stream = seeded.masks.stream(0);
    let tiles = tile_count(output);
    let mut row = vec![0u32; tiles * TILE];
    let mut of_tiles = vec![vec![[0u32; TILE]; E::ROWS]; tiles];
    for (place, bodies) in seeded.bodies.chunks_exact(E::ROWS).enumerate() {
        for (r, &body) in bodies.iter().enumerate() {
            random::fill_uniform(&mut stream, &mut row[..output.0]);
            row[output.0] = body;
            for (columns, of_tile) in row.as_chunks().0.iter().zip(&mut of_tiles) {
                of_tile[r] = *columns;
            }
        }
        for (tile, rows) in of_tiles.iter().enumerate() {
            elements[tile * of_tile + place] = E::of_rows(rows);
        }
    }
}

impl<E: Element> Tiles<E> for Stored<E> {
    // They are read into the second-level cache.
    const ROWS_AT_A_TIME: usize = 1024;

    fn elements<'e>(&'e self, tile: usize, places: Range<usize>, _: &'e mut Vec<E>) -> &'e [E] {
        &self.elements.local()[tile * self.of_tile..][places]
    }
}

/// The seed of the rows' masks, and their bodies.
pub(super) struct Made {
    masks: RowMasks,
    bodies: Vec<u32>,
    output: LweDimension,
}

impl Made {
    /// Returns the rows of a key, each of which has a stream of its own.
    pub(super) fn of(seeded: &SeededKeySwitchKey, output: LweDimension) -> Self {
        Self::new(
            RowMasks::new(&seeded.masks.seed),
            seeded.bodies.clone(),
            output,
        )
    }

    pub(super) fn new(masks: RowMasks, bodies: Vec<u32>, output: LweDimension) -> Self {
        Self {
            masks,
            bodies,
            output,
        }
    }

    /// The number of bytes.
    pub(super) fn byte_count(&self) -> usize {
        size_of_val(&*self.bodies)
    }
}

impl Tiles<Columns> for Made {
    // They are made in the first-level cache, half of which they take.
    const ROWS_AT_A_TIME: usize = 64;

    fn elements<'e>(
        &'e self,
        tile: usize,
        places: Range<usize>,
        made: &'e mut Vec<Columns>,
    ) -> &'e [Columns] {
        made.resize(places.len(), [0; TILE]);
        self.masks.fill(places.start as u32, tile, made);
        if tile == self.output.0 / TILE {
            for (row, &body) in made.iter_mut().zip(&self.bodies[places]) {
                row[self.output.0 % TILE] = body;
            }
        }
        made
    }
}
