//! Slices of groups: as many groups of rows as a server answers for at once.
//!
//! The groups of a request share no rows. They are computed slice by slice, so that neither thousands of groups nor
//! thousands of uploads need more memory than one slice. Within a slice, questions share what they have in common, and lookups
//! that are ready are done together.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tfhe_sbc_columns::{self as columns, MAX_LOADED_BLOCKS};
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use crate::columns::known_column;
use crate::error::{EvaluateError, RequestError};
use crate::{Aggregate, Question};

/// The blocks of rows of a slice of several groups. It is far more than what keeps all cores busy, and leaves room below the
/// limit for what is estimated here and counted later.
const BLOCKS: u64 = MAX_LOADED_BLOCKS / 4;

/// The most answers of a slice. A linear answer is a ciphertext of 32 KiB in the default set until it is shortened.
const ANSWERS: usize = 1024;

/// Divides groups into slices, by the numbers of rows of the uploads of each group.
///
/// # Errors
/// Columns that do not exist, and a group that loads more blocks than a server should hold.
pub(crate) fn slices(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    groups: &[Vec<usize>],
    questions: &[&Question],
) -> Result<Vec<Range<usize>>, EvaluateError> {
    let mut slices: Vec<Range<usize>> = Vec::new();
    let mut known: HashMap<&[usize], u64> = HashMap::new();
    let most_groups = (ANSWERS / questions.len().max(1)).max(1);
    let mut in_slice = 0;
    for (place, uploads) in groups.iter().enumerate() {
        let blocks = match known.get(&uploads[..]) {
            Some(blocks) => *blocks,
            None => {
                let loaded = loaded_blocks(parameters, readings, uploads, questions)?;
                let loaded = loaded.iter().sum();
                if loaded > MAX_LOADED_BLOCKS {
                    return Err(EvaluateError::TooLarge(loaded));
                }
                let blocks = loaded + digit_blocks(parameters, readings, uploads, questions)?;
                known.insert(uploads, blocks);
                blocks
            }
        };
        match slices.last_mut() {
            Some(slice) if in_slice + blocks <= BLOCKS && slice.len() < most_groups => {
                slice.end = place + 1;
                in_slice += blocks;
            }
            _ => {
                slices.push(place..place + 1);
                in_slice = blocks;
            }
        }
    }
    Ok(slices)
}

/// Returns about how many blocks the rows of compact columns take where questions need their digits.
fn digit_blocks(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    uploads: &[usize],
    questions: &[&Question],
) -> Result<u64, EvaluateError> {
    let rows = uploads.iter().sum::<usize>() as u64;
    let mut blocks = 0;
    for question in questions.iter().filter(|question| !question.is_linear()) {
        for name in question.columns() {
            let (_, column) = known_column(readings, name)?;
            if column.compact.is_some() {
                blocks += rows * parameters.block_encoding().block_count(column.bits) as u64;
            }
        }
    }
    Ok(blocks)
}

/// Returns the number of blocks that each question loads from uploads of these numbers of rows. A
/// column whose single rows no question needs is loaded as sums of several rows.
fn loaded_blocks(
    parameters: &Parameters,
    readings: &ReadingsMetadata,
    uploads: &[usize],
    questions: &[&Question],
) -> Result<Vec<u64>, EvaluateError> {
    let mut by_row = HashSet::new();
    for question in questions {
        if summed_column(readings, question)?.is_none() {
            for name in question.columns() {
                by_row.insert(known_column(readings, name)?.0);
            }
        }
    }
    let rows = uploads.iter().sum::<usize>() as u64;
    let loaded = |question: &&Question| {
        if let Some(place) = summed_column(readings, question)?
            && !by_row.contains(&place)
            && readings.columns[place].compact.is_none()
        {
            let blocks = columns::summed_blocks(parameters, readings, uploads, place)?;
            return Ok(blocks);
        }
        let mut blocks = 0;
        for name in question.columns() {
            let (_, column) = known_column(readings, name)?;
            if column.compact.is_some() {
                // The plan of the questions tells which of its rows are loaded.
                continue;
            }
            blocks += rows * parameters.block_encoding().block_count(column.bits) as u64;
        }
        Ok(blocks)
    };
    questions.iter().map(loaded).collect()
}

/// Returns the place of the column whose sum of codes answers a question, if nothing else is needed.
fn summed_column(
    readings: &ReadingsMetadata,
    question: &Question,
) -> Result<Option<usize>, RequestError> {
    match question {
        Question::Aggregate(Aggregate::Sum | Aggregate::Mean, of) => match &of.terms[..] {
            [(name, weight)] if *weight > 0.0 => Ok(Some(known_column(readings, name)?.0)),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
    use tfhe_sbc_upload::readings::{Column, Compact};

    use super::*;

    fn loaded(uploads: &[usize], texts: &[&str]) -> Vec<u64> {
        let column = |name: &str, bits| Column {
            name: name.to_owned(),
            unit: String::new(),
            offset: 0.0,
            scale: 0.5,
            bits,
            compact: None,
            derived: Default::default(),
        };
        let readings = ReadingsMetadata {
            columns: vec![column("a", 8), column("b", 3)],
            rows: vec![String::new(); uploads.iter().sum()],
            gaps: Default::default(),
        };
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let questions: Vec<Question> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let questions: Vec<&Question> = questions.iter().collect();
        loaded_blocks(&parameters, &readings, uploads, &questions).unwrap()
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

    #[test]
    fn slices_have_all_groups_in_order_and_no_more_blocks_than_fit() {
        let column = |name: &str, compact| Column {
            name: name.to_owned(),
            unit: String::new(),
            offset: 0.0,
            scale: 0.5,
            bits: 12,
            compact,
            derived: Default::default(),
        };
        let compact = Some(Compact {
            headroom: 14,
            body_bits: 32,
            feedback: true,
        });
        let readings = ReadingsMetadata {
            columns: vec![column("a", compact), column("b", None)],
            rows: Vec::new(),
            gaps: Default::default(),
        };
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        let of = |groups: &[usize], texts: &[&str]| {
            let groups: Vec<Vec<usize>> = groups.iter().map(|rows| vec![*rows]).collect();
            let questions: Vec<Question> = texts.iter().map(|text| text.parse().unwrap()).collect();
            let questions: Vec<&Question> = questions.iter().collect();
            let slices = slices(&parameters, &readings, &groups, &questions)?;
            assert_eq!(slices[0].start, 0);
            assert!(slices.windows(2).all(|pair| pair[0].end == pair[1].start));
            Ok::<_, EvaluateError>(slices.iter().map(|slice| slice.end).collect::<Vec<usize>>())
        };
        // Linear answers count by their number.
        assert_eq!(of(&[60; 1024], &["mean(a)"]).unwrap(), [1024]);
        assert_eq!(of(&[60; 1025], &["mean(a)"]).unwrap(), [1024, 1025]);
        assert_eq!(of(&[60; 3], &["mean(a)"; 1024]).unwrap(), [1, 2, 3]);
        // Others by their blocks: 6 for each row of both columns, compact or not.
        for (name, each) in [("a", 360), ("b", 360), ("a + b", 720)] {
            let ends = of(&[60; 100], &[&format!("max({name})")]).unwrap();
            let groups = (BLOCKS / each) as usize;
            let expected: Vec<usize> = (1..)
                .map(|i| i * groups)
                .take_while(|end| *end < 100)
                .collect();
            assert_eq!(ends, [expected, vec![100]].concat(), "{name}");
        }
        // A group that is longer than a slice is one by itself, up to the limit.
        let long = BLOCKS as usize / 6 + 1;
        assert_eq!(of(&[1, long, 1], &["max(b)"]).unwrap(), [1, 2, 3]);
        let longest = MAX_LOADED_BLOCKS as usize / 6;
        assert_eq!(of(&[longest], &["max(b)"]).unwrap(), [1]);
        let refused = of(&[1, longest + 1], &["max(b)"]);
        assert!(matches!(refused, Err(EvaluateError::TooLarge(_))));
    }
}
