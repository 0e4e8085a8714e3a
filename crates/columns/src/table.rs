//! Tables of encrypted columns.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use tfhe_sbc_upload::derived::Validity;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::backend::Backend;
use crate::error::Error;
use crate::mask::Mask;
use crate::nearest::did_you_mean;
use crate::node::{Op, Source};
use crate::number::Number;
use crate::optional::OptionalNumber;

/// The encrypted columns of one upload or several, their rows one after the other.
#[derive(Clone)]
pub struct Table {
    metadata: Arc<ReadingsMetadata>,
    values: Vec<Values>,
}

/// The values of a column of a table.
#[derive(Clone, Debug)]
pub enum Values {
    /// Those of a column that has a reading in every row.
    Whole(Number),
    /// Those of a column whose readings may be missing.
    Optional(OptionalNumber),
}

impl Values {
    /// The codes, which are 0 where readings are missing.
    fn codes(&self) -> &Number {
        match self {
            Self::Whole(number) => number,
            Self::Optional(optional) => optional.number(),
        }
    }
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
        let values = columns.map(|(place, column)| {
            let op = Op::Load {
                source: Arc::clone(&source),
                column: place,
            };
            let number = Number::of_column(backend, rows, column, op);
            let Some(validity) = &column.derived.valid else {
                return Values::Whole(number);
            };
            let op = match validity {
                Validity::Encrypted(_) => Op::Valid {
                    source: Arc::clone(&source),
                    column: place,
                },
                Validity::Clear => Op::Public(told(&source.metadata, column)),
            };
            let valid = Mask::new(backend, rows, op);
            Values::Optional(OptionalNumber::of_column(number, valid))
        });
        Self {
            values: values.collect(),
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
    pub fn columns(&self) -> impl Iterator<Item = (&Column, &Values)> {
        self.metadata.columns.iter().zip(&self.values)
    }

    /// Returns the table of some rows, by their places, with other labels.
    ///
    /// # Errors
    /// No rows, rows that are not there, and another number of labels.
    pub fn rows(&self, places: &[usize], labels: Vec<String>) -> Result<Self, Error> {
        if labels.len() != places.len() {
            return Err(Error::Shape {
                columns: self.values.len(),
                rows: places.len(),
            });
        }
        let is_all = places.iter().copied().eq(0..self.row_count());
        let metadata = ReadingsMetadata {
            columns: self.metadata.columns.clone(),
            rows: labels,
            gaps: self.metadata.gaps.taken(places),
        };
        let taken = self.values.iter().zip(&metadata.columns);
        let taken = taken.map(|(values, column)| match (values, is_all) {
            (values, true) => Ok(values.clone()),
            (Values::Whole(number), false) => number.take(places).map(Values::Whole),
            (Values::Optional(optional), false) if column.derived.tells_gaps() => {
                let backend = &optional.notna().backend;
                let valid = Op::Public(told(&metadata, column));
                let valid = Mask::new(backend, Some(places.len()), valid);
                let number = optional.number().take(places)?;
                Ok(Values::Optional(OptionalNumber::of_column(number, valid)))
            }
            (Values::Optional(optional), false) => optional.take(places).map(Values::Optional),
        });
        Ok(Self {
            values: taken.collect::<Result<_, _>>()?,
            metadata: Arc::new(metadata),
        })
    }

    /// Returns the table of the rows in which all of these columns have a reading as far as their gaps are told in clear, and
    /// the places of the other rows. In that table the columns' gaps are none. `None` if no row is left in the table.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], with the names that there are.
    pub fn without_gaps(&self, columns: &[&str]) -> Result<(Option<Self>, Vec<usize>), Error> {
        let mut told = Vec::with_capacity(columns.len());
        let mut gaps = BTreeSet::new();
        for name in columns {
            let (place, column) = known_column(&self.metadata, name)?;
            if column.derived.tells_gaps() {
                told.push(place);
                gaps.extend(self.metadata.gaps.rows(name));
            }
        }
        let rows = 0..self.row_count();
        let places: Vec<usize> = rows.filter(|row| !gaps.contains(row)).collect();
        let gaps = gaps.into_iter().collect();
        if places.is_empty() {
            return Ok((None, gaps));
        }
        let labels = places.iter().map(|&row| self.metadata.rows[row].clone());
        let mut table = self.rows(&places, labels.collect())?;
        for place in told {
            table.values[place] = Values::Whole(table.values[place].codes().clone());
        }
        Ok((Some(table), gaps))
    }

    fn values(&self, name: &str) -> Result<&Values, Error> {
        let (place, _) = known_column(&self.metadata, name)?;
        Ok(&self.values[place])
    }

    /// The values of a column that has a reading in every row.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], with the names that there are, and [`Error::MayBeMissing`] of a column that is declared
    /// optional.
    pub fn column(&self, name: &str) -> Result<&Number, Error> {
        match self.values(name)? {
            Values::Whole(number) => Ok(number),
            Values::Optional(_) => Err(Error::MayBeMissing(name.to_owned())),
        }
    }

    /// The values of a column whose readings may be missing. Those of another column are all there.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], with the names that there are.
    pub fn optional(&self, name: &str) -> Result<OptionalNumber, Error> {
        Ok(match self.values(name)? {
            Values::Whole(number) => OptionalNumber::whole(number.clone()),
            Values::Optional(optional) => optional.clone(),
        })
    }

    /// The codes of a column as a number. Those of missing readings are 0: [`valid`](Self::valid) tells which they are.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], with the names that there are.
    pub fn codes(&self, name: &str) -> Result<&Number, Error> {
        Ok(self.values(name)?.codes())
    }

    /// The rows in which a column has a reading; `None` if it has one in every row.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], with the names that there are.
    pub fn valid(&self, name: &str) -> Result<Option<&Mask>, Error> {
        Ok(match self.values(name)? {
            Values::Whole(_) => None,
            Values::Optional(optional) => Some(optional.notna()),
        })
    }
}

/// The truth values that tell where a column whose gaps are told in clear has a reading.
pub(crate) fn told(metadata: &ReadingsMetadata, column: &Column) -> Vec<u64> {
    let mut valid = vec![1; metadata.rows.len()];
    for row in metadata.gaps.rows(&column.name) {
        valid[row] = 0;
    }
    valid
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
