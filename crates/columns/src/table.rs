//! Tables of encrypted columns.

use std::fmt;
use std::sync::Arc;

use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::backend::Backend;
use crate::error::Error;
use crate::mask::Mask;
use crate::nearest::did_you_mean;
use crate::node::{Op, Source};
use crate::number::Number;

/// The encrypted columns of one upload or several, their rows one after the other.
#[derive(Clone)]
pub struct Table {
    metadata: Arc<ReadingsMetadata>,
    numbers: Vec<Number>,
    /// For each column, where it has readings; `None` if it has one in every row.
    valid: Vec<Option<Mask>>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("columns", &self.metadata.columns)
            .field("rows", &self.row_count())
            .finish_non_exhaustive()
    }
}

impl Table {
    pub(crate) fn new(backend: &Arc<Backend>, source: Source) -> Self {
        let source = Arc::new(source);
        let rows = Some(source.metadata.rows.len());
        let columns = source.metadata.columns.iter().enumerate();
        let numbers = columns.map(|(place, column)| {
            let op = Op::Load {
                source: Arc::clone(&source),
                column: place,
            };
            Number::of_column(backend, rows, column, op)
        });
        let columns = source.metadata.columns.iter().enumerate();
        let valid = columns.map(|(place, column)| {
            let op = Op::Valid {
                source: Arc::clone(&source),
                column: place,
            };
            column.is_optional().then(|| Mask::new(backend, rows, op))
        });
        Self {
            numbers: numbers.collect(),
            valid: valid.collect(),
            metadata: Arc::clone(&source.metadata),
        }
    }

    /// The names, units and encodings of the columns, and the labels of the rows.
    pub fn metadata(&self) -> &ReadingsMetadata {
        &self.metadata
    }

    /// The labels of the rows, which are not encrypted.
    pub fn labels(&self) -> &[String] {
        &self.metadata.rows
    }

    /// The number of rows.
    pub fn row_count(&self) -> usize {
        self.metadata.rows.len()
    }

    /// The columns with their names, units and encodings.
    pub fn columns(&self) -> impl Iterator<Item = (&Column, &Number)> {
        self.metadata.columns.iter().zip(&self.numbers)
    }

    /// Returns the table of some rows, by their places, with other labels.
    ///
    /// # Errors
    /// No rows, rows that are not there, and another number of labels.
    pub fn rows(&self, places: &[usize], labels: Vec<String>) -> Result<Self, Error> {
        if labels.len() != places.len() {
            return Err(Error::Shape {
                columns: self.numbers.len(),
                rows: places.len(),
            });
        }
        let is_all = places.iter().copied().eq(0..self.row_count());
        let taken = self.numbers.iter().map(|number| match is_all {
            true => Ok(number.clone()),
            false => number.take(places),
        });
        let valid = self.valid.iter().map(|valid| match (valid, is_all) {
            (Some(valid), false) => valid.take(places).map(Some),
            (valid, _) => Ok(valid.clone()),
        });
        Ok(Self {
            numbers: taken.collect::<Result<_, _>>()?,
            valid: valid.collect::<Result<_, _>>()?,
            metadata: Arc::new(ReadingsMetadata {
                columns: self.metadata.columns.clone(),
                rows: labels,
            }),
        })
    }

    /// The values of a column. Those that are missing have code 0: [`valid`](Self::valid) tells which they are.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], with the names that there are.
    pub fn column(&self, name: &str) -> Result<&Number, Error> {
        let (place, _) = known_column(&self.metadata, name)?;
        Ok(&self.numbers[place])
    }

    /// The rows in which a column has a reading; `None` if it has one in every row.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], with the names that there are.
    pub fn valid(&self, name: &str) -> Result<Option<&Mask>, Error> {
        let (place, _) = known_column(&self.metadata, name)?;
        Ok(self.valid[place].as_ref())
    }
}

/// Returns the place of a column and its encoding.
///
/// # Errors
/// [`Error::UnknownColumn`], with the names that there are.
pub fn known_column<'m>(
    metadata: &'m ReadingsMetadata,
    name: &str,
) -> Result<(usize, &'m Column), Error> {
    metadata.column(name).ok_or_else(|| {
        let names: Vec<_> = metadata.columns.iter().map(|c| c.name.as_str()).collect();
        Error::UnknownColumn {
            name: name.to_owned(),
            known: names.join(", "),
            hint: did_you_mean(name, names),
        }
    })
}
