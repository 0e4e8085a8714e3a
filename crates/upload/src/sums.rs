//! Sums of rows on whole polynomials, before LWE ciphertexts are extracted.
//!
//! A sum of rows is a linear map, and so is multiplication by `X^-j`, which moves coefficient
//! `j` to place 0. So a stretch of the rows that one polynomial holds is added to another
//! stretch, of the same polynomial or of another, by one addition of GLWE ciphertexts, and
//! only what comes out is extracted: one LWE ciphertext for as many rows as a block can hold.
//!
//! A stretch is whole rows within one polynomial. Rows that reach from one polynomial into
//! the next are extracted as they are.
//!
//! [`SumPlan`] decides what is added to what, from places alone: what it costs to go on with
//! the sums is known before there are ciphertexts. [`sum_rows`] does as planned.

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
#[derive(Clone, Copy, Debug)]
struct Stretch {
    column: usize,
    first_row: usize,
    rows: usize,
    polynomial: usize,
    start: usize,
}

impl Stretch {
    /// The rows from that one on, which it loses.
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

/// Which rows are added to which.
#[derive(Clone, Debug)]
pub struct SumPlan {
    row_blocks: usize,
    groups: Vec<Vec<Stretch>>,
    alone: Vec<Alone>,
}

/// Of which rows a sum is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSum {
    /// Which block of a row.
    pub place: usize,
    /// The rows: the column of each and its place there.
    pub rows: Vec<(usize, usize)>,
}

impl SumPlan {
    /// For columns in these blocks of lists, whose rows have `row_blocks` blocks each, and at
    /// most `most` rows in a sum.
    ///
    /// `None` if blocks are no whole rows, or `polynomial_size`, `row_blocks` or `most` is 0.
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

    /// Number of sums: of LWE ciphertexts that are extracted.
    pub fn sum_count(&self) -> usize {
        let whole = self.groups.iter().map(|group| group[0].rows);
        whole.sum::<usize>() * self.row_blocks + self.alone.len()
    }

    /// The sums, in the order of [`sum_rows`].
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

/// Adds up columns of rows of `row_blocks` blocks each, at most `most` rows in a sum. The
/// columns may be of several lists, under one key.
///
/// `None` if blocks are not there, or are no whole rows, or `row_blocks` or `most` is 0.
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

/// Cuts a column into whole rows by polynomial, and blocks of rows that reach into the next.
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

/// Groups of `most` stretches of one length, of fewer only where a row is left over.
fn grouped(mut stretches: Vec<Stretch>, row_blocks: usize, most: usize) -> Vec<Vec<Stretch>> {
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

/// The sum of polynomials from a coefficient on, which comes to coefficient 0. What is behind
/// the stretch has no meaning.
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
