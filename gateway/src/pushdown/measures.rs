//! What is asked of the server for each group of rows, and the columns that the answers become.

use datafusion::arrow::datatypes::{DataType, Field};
use tfhe_sbc_query::condition::Condition;
use tfhe_sbc_query::expression::Expression;
use tfhe_sbc_query::{Aggregate, Pair, Question};

use crate::tables::time_type;

/// The column of the device in partial answers.
pub(super) const DEVICE: &str = "device";
/// The column of the beginning of the period.
pub(super) const BUCKET: &str = "bucket";
/// The column of the number of rows.
pub(super) const ROWS: &str = "rows";

/// A number that is asked for each group of rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measure {
    /// The sum of the values that are there, and how many are.
    Sum(Expression),
    /// The number of values that are there.
    Present(Expression),
    /// The number of rows that meet a condition.
    Count(Condition),
    /// Another function of the values.
    Of(Aggregate, Expression),
    /// The percentile by nearest rank.
    Percentile(Expression, f64),
    /// A function of the values of two expressions.
    Pair(Pair, Expression, Expression),
    /// The value of the earliest row or of the latest, and its time.
    End(End, Expression),
}

/// An end of the rows of a group, in their order by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    First,
    Last,
}

impl Measure {
    /// The question that asks for it.
    pub(crate) fn question(&self) -> Question {
        match self {
            Self::Sum(of) => Question::Aggregate(Aggregate::Sum, of.clone()),
            Self::Present(of) => Question::Aggregate(Aggregate::Count, of.clone()),
            Self::Count(condition) => Question::Count(condition.clone()),
            Self::Of(function, of) => Question::Aggregate(*function, of.clone()),
            Self::Percentile(of, percent) => Question::Percentile(of.clone(), *percent),
            Self::Pair(function, a, b) => Question::Pair(*function, a.clone(), b.clone()),
            Self::End(End::First, of) => Question::Aggregate(Aggregate::First, of.clone()),
            Self::End(End::Last, of) => Question::Aggregate(Aggregate::Last, of.clone()),
        }
    }

    /// The name of the column with its value; `place` tells apart what has the same text, such as conditions with hidden constants.
    pub(super) fn value(&self, place: usize) -> String {
        format!("{}#{place}", self.question().public_text())
    }

    /// The name of the column beside it, if there is one.
    pub(super) fn beside(&self, place: usize) -> Option<String> {
        match self {
            Self::Sum(_) => Some(format!("{}.present", self.value(place))),
            Self::End(..) => Some(format!("{}.time", self.value(place))),
            _ => None,
        }
    }

    /// The columns that its answers become.
    pub(super) fn fields(&self, place: usize) -> Vec<Field> {
        let number = match self {
            Self::Present(_) | Self::Count(_) => DataType::Int64,
            _ => DataType::Float64,
        };
        let mut fields = vec![Field::new(self.value(place), number, true)];
        fields.extend(self.beside(place).map(|name| {
            let of = match self {
                Self::End(..) => time_type(),
                _ => DataType::Int64,
            };
            Field::new(name, of, true)
        }));
        fields
    }
}
