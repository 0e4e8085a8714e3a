//! The inputs of a circuit: rows of columns, sums of them, and values that were computed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::analytics::parts::{PartialSum, SumInput};
use tfhe_sbc_engine::circuit::{Block, Circuit};
use tfhe_sbc_engine::integer::{Clear, FheUint, IntegerError, Width};
use tfhe_sbc_upload::sums::{ColumnBlocks, SumPlan, sum_rows};

use super::{Recorder, Recording, Values, picked};
use crate::loaded::Loaded;
use crate::node::{Content, Kind, KnownBlock, Node, Op, Source, runs_of};

impl Recorder<'_> {
    /// The sum of a node: of a column or some of its rows, it is begun on polynomials unless the rows are wanted too.
    pub(super) fn sum(&self, of: &Arc<Node>) -> Recording {
        let op = of.op();
        let (column, some) = match &*op {
            Op::Take { of: column, rows } => (column, Some(rows)),
            _ => (of, None),
        };
        let load = column.op();
        let Op::Load {
            source,
            column: place,
        } = &*load
        else {
            return self.sum_of_rows(of);
        };
        if self.wanted.contains(&Arc::as_ptr(of)) {
            return self.sum_of_rows(of);
        }
        if self.wanted.contains(&Arc::as_ptr(column)) {
            return self.code_of(column, |circuit, codes| {
                let codes = some.map_or_else(|| codes.to_vec(), |rows| picked(codes, rows));
                Ok(circuit.propagate(&circuit.sum(&codes)?)?)
            });
        }
        if let Some(sum) = self.sums.borrow().get(&Arc::as_ptr(of)) {
            return Ok(Values::Codes(vec![sum.clone()]));
        }
        let circuit = self.circuit;
        let width = Width::new(of.bits())?;
        let row_blocks = circuit.block_count(width);
        let runs: Vec<Range<usize>> = match some {
            Some(rows) => runs_of(rows).collect(),
            None => std::iter::once(0..source.metadata.rows.len()).collect(),
        };
        // The rows of each run in each upload, all of which count as one where there are no ciphertexts.
        let mut stretches = Vec::new();
        for run in runs {
            match source.uploads_of(&run) {
                [] => stretches.push((None, run)),
                uploads => stretches.extend(uploads.iter().map(|upload| {
                    let first = run.start.max(upload.first_row);
                    let end = run.end.min(upload.first_row + upload.rows);
                    (Some(upload), first..end)
                })),
            }
        }
        let blocks = |(upload, rows): &(Option<&Loaded>, Range<usize>)| {
            let (first_row, count) = match upload {
                Some(upload) => (upload.first_row, upload.rows),
                None => (0, source.metadata.rows.len()),
            };
            let encoding = circuit.encoding();
            let column = source.metadata.blocks_of_column(encoding, *place, count);
            let at = |row: usize| column.start + (row - first_row) * row_blocks;
            at(rows.start)..at(rows.end)
        };
        let columns: Vec<Range<usize>> = stretches.iter().map(blocks).collect();
        let parts = match &source.content {
            Content::Ciphertexts(uploads) if !self.stand_ins => {
                let lists = stretches.iter().map(|(upload, _)| {
                    let upload = (*upload).ok_or(AnalyticsError::NoRows)?;
                    uploads.switched_list(upload).ok_or(AnalyticsError::NoRows)
                });
                let lists: Vec<_> = lists.collect::<Result<_, _>>()?;
                let columns = lists.iter().zip(columns);
                let columns = columns.map(|(list, blocks)| ColumnBlocks { list, blocks });
                begun_sums(circuit, &columns.collect::<Vec<_>>(), row_blocks)?
            }
            Content::Codes(codes) => {
                let codes = &codes[*place];
                stand_in_sums(circuit, &columns, row_blocks, |stretch, row| {
                    codes.at(stretches[stretch].1.start + row, None)
                })?
            }
            Content::Ciphertexts(_) | Content::Unknown => {
                stand_in_sums(circuit, &columns, row_blocks, |_, _| 0)?
            }
        };
        let sum = circuit.sum_of_parts(parts, width)?;
        self.sums.borrow_mut().insert(Arc::as_ptr(of), sum.clone());
        Ok(Values::Codes(vec![sum]))
    }

    fn sum_of_rows(&self, of: &Arc<Node>) -> Recording {
        self.code_of(of, |circuit, codes| {
            Ok(circuit.propagate(&circuit.sum(codes)?)?)
        })
    }

    /// Some rows of a column that is not loaded as a whole. A row that is taken several times is one input.
    pub(super) fn load_some(
        &self,
        of: &Arc<Node>,
        source: &Source,
        column: usize,
        rows: &[usize],
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let mut all = self.loaded.borrow_mut();
        let mut own = HashMap::new();
        let shared = all.get_mut(&Arc::as_ptr(of));
        let is_shared = shared.is_some();
        let known = shared.unwrap_or(&mut own);
        let mut seen = HashSet::new();
        let new = rows.iter().copied();
        let new = new.filter(|row| !known.contains_key(row) && seen.insert(*row));
        let new: Vec<usize> = new.collect();
        let codes = self.load(source, column, new.iter().copied(), new.len())?;
        if !is_shared && new.len() == rows.len() {
            return Ok(codes);
        }
        known.extend(new.into_iter().zip(codes));
        let code = |row| known.get(row).cloned().ok_or(AnalyticsError::NoRows);
        rows.iter().map(code).collect()
    }

    /// Rows of a column.
    pub(super) fn load(
        &self,
        source: &Source,
        column: usize,
        rows: impl Iterator<Item = usize>,
        count: usize,
    ) -> Result<Vec<FheUint>, AnalyticsError> {
        let circuit = self.circuit;
        let metadata = &source.metadata;
        let width = Width::new(metadata.columns[column].bits)?;
        let each = circuit.block_count(width);
        let tables = match &source.content {
            Content::Codes(codes) => {
                let codes = &codes[column];
                let code = |row| self.stand_in(codes.at(row, None), width);
                return Ok(rows.map(code).collect());
            }
            Content::Unknown => {
                return Ok(rows.map(|_| self.stand_in(0, width)).collect());
            }
            Content::Ciphertexts(_) if self.stand_ins => {
                return Ok(rows.map(|_| self.stand_in(0, width)).collect());
            }
            Content::Ciphertexts(tables) => tables,
        };
        let encoding = circuit.encoding();
        let encrypted = |ciphertexts| Ok(circuit.encrypted(ciphertexts, width)?);
        if count == metadata.rows.len() {
            let mut codes = Vec::with_capacity(count);
            for upload in tables.all() {
                let blocks = metadata.blocks_of_column(encoding, column, upload.rows);
                let list = tables.switched_list(upload).ok_or(AnalyticsError::NoRows)?;
                // `Upload::parse` has checked that all of them are there.
                let blocks = list.extract(blocks);
                let mut blocks = blocks.unwrap_or_default().into_iter();
                for _ in 0..upload.rows {
                    codes.push(encrypted(blocks.by_ref().take(each).collect())?);
                }
            }
            return Ok(rows.map(|row: usize| FheUint::clone(&codes[row])).collect());
        }
        let code = |row: usize| {
            let (upload, row) = source.upload_at(row).ok_or(AnalyticsError::NoRows)?;
            let blocks = metadata.blocks_of_column(encoding, column, upload.rows);
            let first = blocks.start + row * each;
            let list = tables.switched_list(upload).ok_or(AnalyticsError::NoRows)?;
            let blocks = list.extract(first..first + each);
            encrypted(blocks.unwrap_or_default())
        };
        rows.map(code).collect()
    }

    pub(super) fn stand_in(&self, code: impl Into<Clear>, width: Width) -> FheUint {
        self.circuit.stand_in_integer(code, width)
    }

    pub(super) fn known(&self, block: &KnownBlock) -> Result<Block, AnalyticsError> {
        let (degree, level) = (block.degree, block.level);
        let block = match self.stand_ins {
            true => self.circuit.stand_in_sum(0, degree, level),
            false => self
                .circuit
                .input_sum(block.ciphertext.clone(), degree, level),
        };
        Ok(block.map_err(IntegerError::from)?)
    }

    pub(super) fn of_blocks(&self, node: &Node, blocks: Vec<Block>) -> Recording {
        Ok(match node.kind {
            Kind::Truth => {
                let truths = blocks.into_iter().map(|bit| self.circuit.truth(bit));
                Values::Truths(truths.collect::<Result<_, _>>()?)
            }
            Kind::Code(bits) => {
                let width = Width::new(bits)?;
                let each = self.circuit.block_count(width);
                let codes = blocks.chunks(each);
                let codes =
                    codes.map(|digits| self.circuit.integer_of_digits(digits.to_vec(), width));
                Values::Codes(codes.collect::<Result<_, _>>()?)
            }
        })
    }
}

/// Returns the sums of as many rows as a block holds, of columns under the evaluation key whose
/// rows have `row_blocks` blocks: begun on polynomials, for [`Circuit::sum_of_parts`].
///
/// # Errors
/// Blocks that are not there, or that are no whole rows.
fn begun_sums(
    circuit: &Circuit,
    columns: &[ColumnBlocks<'_, u64>],
    row_blocks: usize,
) -> Result<Vec<PartialSum>, AnalyticsError> {
    let sums = sum_rows(columns, row_blocks, circuit.most_in_a_part());
    let sums = sums.ok_or(AnalyticsError::Parts)?.into_iter();
    let parts = sums.map(|sum| PartialSum {
        place: sum.place,
        count: sum.rows,
        sum: SumInput::Ciphertext(sum.ciphertext),
    });
    Ok(parts.collect())
}

/// Returns stand-ins for what [`begun_sums`] gives of columns in these blocks of lists, where
/// `code_of` is given a list and a row and returns the code there.
///
/// # Errors
/// Blocks that are no whole rows.
fn stand_in_sums(
    circuit: &Circuit,
    columns: &[Range<usize>],
    row_blocks: usize,
    code_of: impl Fn(usize, usize) -> u64,
) -> Result<Vec<PartialSum>, AnalyticsError> {
    let plan = sum_plan(circuit, columns, row_blocks)?;
    let bits = circuit.encoding().message_bits();
    let digit = |code: u64, place: usize| {
        let rest = code.checked_shr(place as u32 * bits).unwrap_or(0);
        rest & ((1 << bits) - 1)
    };
    let sum = |rows: &[(usize, usize)], place| {
        rows.iter()
            .map(|&(list, row)| digit(code_of(list, row), place))
            .sum()
    };
    let parts = plan.sums().map(|planned| PartialSum {
        place: planned.place,
        count: planned.rows.len() as u32,
        sum: SumInput::StandIn(sum(&planned.rows, planned.place)),
    });
    Ok(parts.collect())
}

/// Returns how the rows of a column are added up on polynomials.
///
/// # Errors
/// Blocks that are no whole rows.
pub(crate) fn sum_plan(
    circuit: &Circuit,
    columns: &[Range<usize>],
    row_blocks: usize,
) -> Result<SumPlan, AnalyticsError> {
    let size = circuit.parameters().polynomial_size().get();
    let plan = SumPlan::new(columns, size, row_blocks, circuit.most_in_a_part());
    plan.ok_or(AnalyticsError::Parts)
}
