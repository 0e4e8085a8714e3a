//! Sums of rows on whole polynomials, before LWE ciphertexts are extracted.
//!
//! A sum of rows is a linear map, and so is multiplication by `X^-j`, which moves coefficient
//! `j` to place 0. So a stretch of the rows that one polynomial holds is added to another
//! stretch, of the same polynomial or of another, by one addition of GLWE ciphertexts, and
//! only what comes out is extracted: one LWE ciphertext for as many rows as a block can hold.
//!
//! A stretch is whole rows within one polynomial. Rows that reach from one polynomial into
//! the next are extracted as they are.

use std::ops::Range;

use rayon::prelude::*;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::torus::Torus;

use crate::extract::ExpandedGlweList;

/// A column in a list: where its blocks are, those of one row after those of another.
#[derive(Clone)]
pub struct ColumnBlocks<'l, T> {
    /// The list.
    pub list: &'l ExpandedGlweList<T>,
    /// The blocks of the column.
    pub blocks: Range<usize>,
}

/// The sum of one block of some rows.
#[derive(Clone, Debug)]
pub struct SummedBlock<T> {
    /// Which block of a row.
    pub place: usize,
    /// Of how many rows.
    pub rows: u32,
    /// The sum: its noise level and the most that it holds are those of a block times `rows`.
    pub ciphertext: LweCiphertext<T>,
}

/// Whole rows from a coefficient of a polynomial on.
struct Stretch<'l, T> {
    rows: usize,
    ciphertext: &'l GlweCiphertext<T>,
    start: usize,
}

impl<T> Stretch<'_, T> {
    /// The rows from that one on, which it loses.
    fn split_off(&mut self, rows: usize, row_blocks: usize) -> Self {
        let rest = Self {
            rows: self.rows - rows,
            ciphertext: self.ciphertext,
            start: self.start + rows * row_blocks,
        };
        self.rows = rows;
        rest
    }
}

/// Adds up columns of rows of `row_blocks` blocks each, at most `most` rows in a sum. The
/// columns may be of several lists, under one key.
///
/// `None` if blocks are not there, or are no whole rows, or `row_blocks` or `most` is 0.
pub fn sum_rows<T: Torus>(
    columns: &[ColumnBlocks<'_, T>],
    row_blocks: usize,
    most: u32,
) -> Option<Vec<SummedBlock<T>>> {
    let is_whole = |column: &ColumnBlocks<'_, T>| {
        let blocks = &column.blocks;
        blocks.start <= blocks.end
            && blocks.end <= column.list.element_count()
            && blocks.len().is_multiple_of(row_blocks)
    };
    if row_blocks == 0 || most == 0 || !columns.iter().all(is_whole) {
        return None;
    }
    let mut whole = Vec::new();
    let mut alone = Vec::new();
    for column in columns {
        cut(column, row_blocks, &mut whole, &mut alone);
    }
    let summed = grouped(whole, row_blocks, most as usize)
        .into_par_iter()
        .flat_map_iter(|group| {
            let (sum, rows) = (sum_of(&group), group.len() as u32);
            (0..group[0].rows * row_blocks).map(move |at| SummedBlock {
                place: at % row_blocks,
                rows,
                ciphertext: sum.sample_extract(at),
            })
        });
    let alone = alone
        .into_par_iter()
        .map(|(place, ciphertext, at)| SummedBlock {
            place,
            rows: 1,
            ciphertext: ciphertext.sample_extract(at),
        });
    Some(summed.chain(alone).collect())
}

/// Cuts a column into whole rows by polynomial, and blocks of rows that reach into the next.
fn cut<'l, T: Torus>(
    column: &ColumnBlocks<'l, T>,
    row_blocks: usize,
    whole: &mut Vec<Stretch<'l, T>>,
    alone: &mut Vec<(usize, &'l GlweCiphertext<T>, usize)>,
) {
    let Range { mut start, end } = column.blocks;
    let origin = start;
    for (i, ciphertext) in column.list.ciphertexts().iter().enumerate() {
        let size = ciphertext.polynomial_size().get();
        let polynomial = i * size..(i + 1) * size;
        let until = end.min(polynomial.end);
        while start < until && polynomial.contains(&start) {
            let place = (start - origin) % row_blocks;
            let rows = (until - start) / row_blocks;
            if place == 0 && rows > 0 {
                whole.push(Stretch {
                    rows,
                    ciphertext,
                    start: start - polynomial.start,
                });
                start += rows * row_blocks;
            } else {
                alone.push((place, ciphertext, start - polynomial.start));
                start += 1;
            }
        }
    }
}

/// Groups of `most` stretches of one length, of fewer only where a row is left over.
fn grouped<T>(
    mut stretches: Vec<Stretch<'_, T>>,
    row_blocks: usize,
    most: usize,
) -> Vec<Vec<Stretch<'_, T>>> {
    let mut groups = Vec::new();
    while !stretches.is_empty() {
        // The longest last. Few are left after each round, so they stay nearly sorted.
        stretches.sort_by_key(|stretch| stretch.rows);
        if stretches.len() < most
            && let Some(longest) = stretches.last_mut().filter(|longest| longest.rows > 1)
        {
            let rest = longest.split_off(longest.rows / 2, row_blocks);
            stretches.push(rest);
            continue;
        }
        let mut group = stretches.split_off(stretches.len().saturating_sub(most));
        let rows = group[0].rows;
        for stretch in &mut group[1..] {
            if stretch.rows > rows {
                stretches.push(stretch.split_off(rows, row_blocks));
            }
        }
        groups.push(group);
    }
    groups
}

/// The sum of stretches, from coefficient 0 on. What is behind them has no meaning.
fn sum_of<T: Torus>(stretches: &[Stretch<'_, T>]) -> GlweCiphertext<T> {
    let mut sum = stretches[0].ciphertext.clone();
    sum.as_mut_slice().fill(T::ZERO);
    let size = sum.polynomial_size().get();
    for stretch in stretches {
        let polynomials = stretch.ciphertext.as_slice().chunks(size);
        for (sum, terms) in sum.as_mut_slice().chunks_mut(size).zip(polynomials) {
            let (wrapped, moved) = terms.split_at(stretch.start);
            let (low, high) = sum.split_at_mut(moved.len());
            for (sum, &term) in low.iter_mut().zip(moved) {
                *sum = sum.add(term);
            }
            for (sum, &term) in high.iter_mut().zip(wrapped) {
                *sum = sum.sub(term);
            }
        }
    }
    sum
}
