//! Sums of columns. Where no question is about the rows of a column, they are begun on
//! polynomials, and what is loaded are the sums of as many rows as a block holds.

use std::collections::HashSet;
use std::ops::Range;

use tfhe_sbc_engine::analytics::AnalyticsError;
use tfhe_sbc_engine::analytics::parts::{PartialSum, SumInput};
use tfhe_sbc_engine::circuit::Circuit;
use tfhe_sbc_engine::integer::{FheUint, Width};
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};
use tfhe_sbc_upload::sums::{ColumnBlocks, SumPlan, sum_rows};

use crate::evaluate::EvaluateError;
use crate::expression::Expression;
use crate::request::{RequestError, known_column};
use crate::{Aggregate, Question};

use super::{Inputs, Recorder, Values};

/// What of the readings the questions of a request load.
pub(crate) struct Loading {
    /// The columns whose rows are loaded: those that questions are about otherwise than by
    /// their sums.
    by_row: HashSet<usize>,
}

impl Loading {
    pub(crate) fn of<'q>(
        readings: &ReadingsMetadata,
        questions: impl IntoIterator<Item = &'q Question>,
    ) -> Result<Self, RequestError> {
        let mut by_row = HashSet::new();
        for question in questions {
            if summed_column(readings, question)?.is_some() {
                continue;
            }
            for name in question.columns() {
                by_row.insert(known_column(readings, name)?.0);
            }
        }
        Ok(Self { by_row })
    }

    /// Whether it is the sum of a column whose rows are loaded for other questions.
    pub(crate) fn shares_rows(
        &self,
        readings: &ReadingsMetadata,
        question: &Question,
    ) -> Result<bool, RequestError> {
        let place = summed_column(readings, question)?;
        Ok(place.is_some_and(|place| self.by_row.contains(&place)))
    }

    /// How many blocks a question loads from uploads of so many rows.
    pub(crate) fn block_count(
        &self,
        circuit: &Circuit,
        readings: &ReadingsMetadata,
        uploads: &[usize],
        question: &Question,
    ) -> Result<u64, EvaluateError> {
        if let Some(place) = summed_column(readings, question)?
            && !self.by_row.contains(&place)
        {
            return Ok(plan(circuit, readings, uploads, place)?.sum_count() as u64);
        }
        let rows = uploads.iter().sum::<usize>() as u64;
        let mut blocks = 0;
        for name in question.columns() {
            let (_, column) = known_column(readings, name)?;
            blocks += rows * circuit.encoding().block_count(column.bits) as u64;
        }
        Ok(blocks)
    }
}

/// The column whose sum of codes answers the question, if that is all it takes.
fn summed_column(
    readings: &ReadingsMetadata,
    question: &Question,
) -> Result<Option<usize>, RequestError> {
    let Question::Aggregate(Aggregate::Sum | Aggregate::Mean, of) = question else {
        return Ok(None);
    };
    Ok(match of.linear(readings)?.factors[..] {
        [(place, 1)] => Some(place),
        _ => None,
    })
}

/// How the rows of a column are added up.
fn plan(
    circuit: &Circuit,
    readings: &ReadingsMetadata,
    uploads: &[usize],
    place: usize,
) -> Result<SumPlan, AnalyticsError> {
    let encoding = circuit.encoding();
    let blocks = |&rows: &usize| readings.blocks_of_column(encoding, place, rows);
    let columns: Vec<_> = uploads.iter().map(blocks).collect();
    let size = circuit.parameters().polynomial_size().get();
    let row_blocks = encoding.block_count(readings.columns[place].bits);
    let most = circuit.most_in_a_part();
    SumPlan::new(&columns, size, row_blocks, most).ok_or(AnalyticsError::Parts)
}

impl Recorder<'_> {
    /// The sum of the codes of an expression, and how a code is read.
    pub(super) fn sum(&self, of: &Expression) -> Result<(FheUint, Column), EvaluateError> {
        let linear = of.linear(self.readings)?;
        if let [(place, 1)] = linear.factors[..]
            && !self.loading.by_row.contains(&place)
        {
            return Ok((self.column_sum(place)?, linear.column));
        }
        let Values { codes, column } = self.values(of)?;
        let sum = self.circuit.propagate(&self.circuit.sum(&codes)?)?;
        Ok((sum, column))
    }

    /// The sum of a column's codes, of which no row is loaded.
    fn column_sum(&self, place: usize) -> Result<FheUint, EvaluateError> {
        if let Some(sum) = self.sums.borrow().get(&place) {
            return Ok(sum.clone());
        }
        let width = Width::new(self.readings.columns[place].bits)?;
        let parts = match self.inputs {
            Inputs::Ciphertexts { .. } => self.begun(place)?,
            Inputs::StandIns(values) => {
                let column = values.as_ref().and_then(|values| values.get(place));
                self.stand_ins(place, column.map_or(&[], |codes| &codes[..]))?
            }
        };
        let sum = self.circuit.sum_of_parts(parts, width)?;
        self.sums.borrow_mut().insert(place, sum.clone());
        Ok(sum)
    }

    /// Sums of rows on polynomials.
    fn begun(&self, place: usize) -> Result<Vec<PartialSum>, EvaluateError> {
        let Inputs::Ciphertexts { tables, .. } = self.inputs else {
            return Ok(Vec::new());
        };
        let encoding = self.circuit.encoding();
        let columns = tables.iter().map(|table| ColumnBlocks {
            list: &table.ciphertexts,
            blocks: self.readings.blocks_of_column(encoding, place, table.rows),
        });
        let columns: Vec<_> = columns.collect();
        let row_blocks = encoding.block_count(self.readings.columns[place].bits);
        Ok(begun_sums(self.circuit, &columns, row_blocks)?)
    }

    /// Stand-ins for the same sums of one upload of these codes, or of zeros.
    fn stand_ins(&self, place: usize, codes: &[u64]) -> Result<Vec<PartialSum>, EvaluateError> {
        let rows = self.readings.rows.len();
        let encoding = self.circuit.encoding();
        let blocks = self.readings.blocks_of_column(encoding, place, rows);
        let row_blocks = encoding.block_count(self.readings.columns[place].bits);
        Ok(stand_in_sums(
            self.circuit,
            &[blocks],
            row_blocks,
            |_, row| codes.get(row).copied().unwrap_or(0),
        )?)
    }
}

/// The sums of as many rows as a block holds, of columns in one or more lists under the
/// evaluation key, whose rows have `row_blocks` blocks: begun on polynomials, for
/// [`Circuit::sum_of_parts`].
///
/// # Errors
/// Blocks that are not there, or that are no whole rows.
pub fn begun_sums(
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

/// Stand-ins for what [`begun_sums`] gives of columns in these blocks of lists, where
/// `code_of` tells the code in a row of a list.
///
/// # Errors
/// Blocks that are no whole rows.
pub fn stand_in_sums(
    circuit: &Circuit,
    columns: &[Range<usize>],
    row_blocks: usize,
    code_of: impl Fn(usize, usize) -> u64,
) -> Result<Vec<PartialSum>, AnalyticsError> {
    let size = circuit.parameters().polynomial_size().get();
    let plan = SumPlan::new(columns, size, row_blocks, circuit.most_in_a_part());
    let plan = plan.ok_or(AnalyticsError::Parts)?;
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

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

    use super::*;

    fn loaded(uploads: &[usize], texts: &[&str]) -> Vec<u64> {
        let column = |name: &str, bits| Column {
            name: name.to_owned(),
            unit: String::new(),
            offset: 0.0,
            scale: 0.5,
            bits,
        };
        let readings = ReadingsMetadata {
            columns: vec![column("a", 8), column("b", 3)],
            rows: vec![String::new(); uploads.iter().sum()],
        };
        let circuit = Circuit::new(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap();
        let questions: Vec<Question> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let loading = Loading::of(&readings, &questions).unwrap();
        let count = |question| loading.block_count(&circuit, &readings, uploads, question);
        questions.iter().map(|q| count(q).unwrap()).collect()
    }

    #[test]
    fn of_a_column_that_is_only_summed_no_rows_are_loaded() {
        // Five rows to a sum: of 25 and 35 rows in two uploads, 12 sums of 4 and of 2 blocks.
        let uploads = [25, 35];
        let sums = ["sum(a)", "mean(2 * b + 1)"];
        assert_eq!(loaded(&uploads, &sums), [48, 24]);
        assert_eq!(loaded(&uploads, &["sum(a)", "max(b)"]), [48, 120]);
        // A column whose rows are there anyway is added up from them.
        assert_eq!(loaded(&uploads, &["sum(a)", "max(a)"]), [240, 240]);
        assert_eq!(loaded(&uploads, &["sum(a)", "sum(a - b)"]), [240, 360]);
        // Over several polynomials.
        let [blocks] = loaded(&[1000, 3000], &["sum(a)"])[..] else {
            unreachable!()
        };
        assert!((3200..3300).contains(&blocks), "{blocks}");
    }
}
