//! Sums of rows on whole polynomials, before LWE ciphertexts are extracted.
//!
//! A sum of rows is a linear map, and so is the multiplication by `X^-j`, which moves coefficient `j`
//! to place 0. One addition of GLWE ciphertexts therefore adds a whole stretch of rows of one
//! polynomial to another stretch, in the same polynomial or in another one. Only the sums are
//! extracted: one LWE ciphertext for as many rows as a block can hold.
//!
//! A stretch consists of whole rows within one polynomial. Rows that reach from one polynomial into
//! the next are extracted one by one.
//!
//! [`SumPlan`] decides from places alone which stretches are added, so that the cost of computing on
//! with the sums is known before there are ciphertexts. [`sum_rows`] carries the plan out.

use std::ops::Range;

use rayon::prelude::*;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::torus::Torus;

use crate::extract::ExpandedGlweList;

/// A column in a list, given by the places of its blocks, in which rows follow one another.
#[derive(Clone)]
pub struct ColumnBlocks<'l, T> {
    /// The list that holds the column.
    pub list: &'l ExpandedGlweList<T>,
    /// The places of the blocks of the column.
    pub blocks: Range<usize>,
}

/// The sum of one block over several rows.
#[derive(Clone, Debug)]
pub struct SummedBlock<T> {
    /// The place of the block within a row.
    pub place: usize,
    /// The number of rows that were added.
    pub rows: u32,
    /// The encrypted sum. Its noise level and its largest value are those of one block times `rows`.
    pub ciphertext: LweCiphertext<T>,
}

/// A stretch of whole rows that begins at a coefficient of a polynomial.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    column: usize,
    first_row: usize,
    rows: usize,
    polynomial: usize,
    start: usize,
}

impl Stretch {
    /// Splits off the rows behind the first `rows` and returns them.
    fn split_off(&mut self, rows: usize, row_blocks: usize) -> Self {
        let rest = Self {
            first_row: self.first_row + rows,
            rows: self.rows - rows,
            start: self.start + rows * row_blocks,
            ..*self
        };
        self.rows = rows;
        rest
    }
}

/// A block of a row that reaches into the next polynomial.
#[derive(Clone, Copy, Debug)]
struct Alone {
    column: usize,
    row: usize,
    place: usize,
    polynomial: usize,
    at: usize,
}

/// A plan of additions: the rows that each sum consists of.
#[derive(Clone, Debug)]
pub struct SumPlan {
    row_blocks: usize,
    groups: Vec<Vec<Stretch>>,
    alone: Vec<Alone>,
}

/// The rows that one sum consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSum {
    /// The place of the block within a row.
    pub place: usize,
    /// The rows, each by its column and its place there.
    pub rows: Vec<(usize, usize)>,
}

impl SumPlan {
    /// Plans the sums of columns, which are given by the places of their blocks. Each row has
    /// `row_blocks` blocks, and a sum has at most `most` rows.
    ///
    /// Returns `None` if the blocks of a column are no whole number of rows, or if `polynomial_size`,
    /// `row_blocks` or `most` is 0.
    pub fn new(
        columns: &[Range<usize>],
        polynomial_size: usize,
        row_blocks: usize,
        most: u32,
    ) -> Option<Self> {
        let is_whole = |blocks: &Range<usize>| {
            blocks.start <= blocks.end && blocks.len().is_multiple_of(row_blocks)
        };
        let sizes = [polynomial_size, row_blocks, most as usize];
        if sizes.contains(&0) || !columns.iter().all(is_whole) {
            return None;
        }
        let mut whole = Vec::new();
        let mut alone = Vec::new();
        for (column, blocks) in columns.iter().enumerate() {
            cut(
                column,
                blocks,
                polynomial_size,
                row_blocks,
                &mut whole,
                &mut alone,
            );
        }
        Some(Self {
            row_blocks,
            groups: grouped(whole, row_blocks, most as usize),
            alone,
        })
    }

    /// The number of sums, which is the number of LWE ciphertexts that are extracted.
    pub fn sum_count(&self) -> usize {
        let whole = self.groups.iter().map(|group| group[0].rows);
        whole.sum::<usize>() * self.row_blocks + self.alone.len()
    }

    /// The sums, in the order in which [`sum_rows`] returns them.
    pub fn sums(&self) -> impl Iterator<Item = PlannedSum> {
        let summed = self.groups.iter().flat_map(|group| {
            (0..group[0].rows * self.row_blocks).map(|at| {
                let row = at / self.row_blocks;
                let rows = group.iter();
                PlannedSum {
                    place: at % self.row_blocks,
                    rows: rows.map(|s| (s.column, s.first_row + row)).collect(),
                }
            })
        });
        let alone = self.alone.iter().map(|alone| PlannedSum {
            place: alone.place,
            rows: vec![(alone.column, alone.row)],
        });
        summed.chain(alone)
    }
}

/// Adds up the rows of columns. Each row has `row_blocks` blocks, and a sum has at most `most` rows.
/// The columns may be in several lists, all under one key.
///
/// Returns `None` if blocks are missing or are no whole number of rows, or if `row_blocks` or `most`
/// is 0.
pub fn sum_rows<T: Torus>(
    columns: &[ColumnBlocks<'_, T>],
    row_blocks: usize,
    most: u32,
) -> Option<Vec<SummedBlock<T>>> {
    let is_there = |column: &ColumnBlocks<'_, T>| column.blocks.end <= column.list.element_count();
    if !columns.iter().all(is_there) {
        return None;
    }
    let mut ciphertexts = columns.iter().flat_map(|column| column.list.ciphertexts());
    let polynomial_size = ciphertexts.next().map_or(1, |c| c.polynomial_size().get());
    let blocks: Vec<_> = columns.iter().map(|column| column.blocks.clone()).collect();
    let plan = SumPlan::new(&blocks, polynomial_size, row_blocks, most)?;
    let ciphertext = |column: usize, polynomial: usize| -> &GlweCiphertext<T> {
        &columns[column].list.ciphertexts()[polynomial]
    };
    let summed = plan.groups.par_iter().flat_map_iter(|group| {
        let terms = group.iter().map(|stretch| {
            (
                ciphertext(stretch.column, stretch.polynomial),
                stretch.start,
            )
        });
        let (sum, rows) = (sum_of(terms), group.len() as u32);
        (0..group[0].rows * row_blocks)
            .filter_map(move |at| Some((at, sum.as_ref()?.sample_extract(at))))
            .map(move |(at, ciphertext)| SummedBlock {
                place: at % row_blocks,
                rows,
                ciphertext,
            })
    });
    let alone = plan.alone.par_iter().map(|alone| SummedBlock {
        place: alone.place,
        rows: 1,
        ciphertext: ciphertext(alone.column, alone.polynomial).sample_extract(alone.at),
    });
    Some(summed.chain(alone).collect())
}

/// Cuts a column into stretches of whole rows, one for each polynomial, and into the blocks of rows
/// that reach into the next polynomial.
fn cut(
    column: usize,
    blocks: &Range<usize>,
    polynomial_size: usize,
    row_blocks: usize,
    whole: &mut Vec<Stretch>,
    alone: &mut Vec<Alone>,
) {
    let mut start = blocks.start;
    while start < blocks.end {
        let polynomial = start / polynomial_size;
        let until = blocks.end.min((polynomial + 1) * polynomial_size);
        let at = start % polynomial_size;
        let (row, place) = (
            (start - blocks.start) / row_blocks,
            (start - blocks.start) % row_blocks,
        );
        let rows = (until - start) / row_blocks;
        if place == 0 && rows > 0 {
            whole.push(Stretch {
                column,
                first_row: row,
                rows,
                polynomial,
                start: at,
            });
            start += rows * row_blocks;
        } else {
            alone.push(Alone {
                column,
                row,
                place,
                polynomial,
                at,
            });
            start += 1;
        }
    }
}

/// Groups stretches of equal length, `most` to a group; only the remainder has smaller groups.
fn grouped(mut stretches: Vec<Stretch>, row_blocks: usize, most: usize) -> Vec<Vec<Stretch>> {
    let mut groups = Vec::new();
    while !stretches.is_empty() {
        // The longest stretch is last. Few are left after each round, so the order stays nearly sorted.
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

/// Adds polynomials, each from the first coefficient of its stretch on, which moves to coefficient
/// 0. The coefficients behind the stretch have no meaning.
fn sum_of<'l, T: Torus>(
    terms: impl Iterator<Item = (&'l GlweCiphertext<T>, usize)>,
) -> Option<GlweCiphertext<T>> {
    let mut terms = terms.peekable();
    let mut sum = terms.peek()?.0.clone();
    sum.as_mut_slice().fill(T::ZERO);
    let size = sum.polynomial_size().get();
    for (term, start) in terms {
        let polynomials = term.as_slice().chunks(size);
        for (sum, terms) in sum.as_mut_slice().chunks_mut(size).zip(polynomials) {
            let (wrapped, moved) = terms.split_at(start);
            let (low, high) = sum.split_at_mut(moved.len());
            for (sum, &term) in low.iter_mut().zip(moved) {
                *sum = sum.add(term);
            }
            for (sum, &term) in high.iter_mut().zip(wrapped) {
                *sum = sum.sub(term);
            }
        }
    }
    Some(sum)
}
