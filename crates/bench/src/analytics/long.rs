//! The time in which questions about 100,000 rows are recorded.

use tfhe_sbc_columns::{Computable, Computed, Error, Number, Progress, Server, Table};

use super::{EDGES, figure};
use crate::error::BenchError;
use crate::machine::processor_time;
use crate::report::{Row, Unit};

/// The number of rows.
pub(super) const ROWS: usize = 100_000;

/// A question, as the query language has it, and its parts.
type Question = (
    &'static str,
    fn([&Number; 2]) -> Result<Vec<Computed>, Error>,
);

/// Those about rows in their order, and those that reduce columns but for a sort.
const QUESTIONS: [Question; 26] = [
    ("rolling_sum(x, 24)", |[x, _]| {
        Ok(x.rolling(24, None)?.sum()?.parts())
    }),
    ("rolling_sum(x, 24, 1)", |[x, _]| {
        Ok(x.rolling(24, Some(1))?.sum()?.parts())
    }),
    ("rolling_mean(x, 24)", |[x, _]| {
        Ok(x.rolling(24, None)?.mean()?.parts())
    }),
    ("rolling_mean(x, 8760)", |[x, _]| {
        Ok(x.rolling(8760, None)?.mean()?.parts())
    }),
    ("rolling_min(x, 24)", |[x, _]| {
        Ok(x.rolling(24, None)?.min()?.parts())
    }),
    ("rolling_max(x, 24)", |[x, _]| {
        Ok(x.rolling(24, None)?.max()?.parts())
    }),
    ("rolling_max(x, 8760)", |[x, _]| {
        Ok(x.rolling(8760, None)?.max()?.parts())
    }),
    ("cumsum(x)", |[x, _]| Ok(x.cumsum()?.parts())),
    ("cummin(x)", |[x, _]| Ok(x.cummin()?.parts())),
    ("cummax(x)", |[x, _]| Ok(x.cummax()?.parts())),
    ("shift(x)", |[x, _]| Ok(x.shift(1)?.parts())),
    ("diff(x)", |[x, _]| Ok(x.diff(1)?.parts())),
    ("diff(x, -24)", |[x, _]| Ok(x.diff(-24)?.parts())),
    ("mean(x)", |[x, _]| Ok(x.mean().parts())),
    ("std(x)", |[x, _]| Ok(x.std().parts())),
    ("max(x)", |[x, _]| Ok(x.max().parts())),
    ("argmax(x)", |[x, _]| {
        let (row, value) = x.arg_max();
        Ok([row, value].iter().flat_map(Computable::parts).collect())
    }),
    ("count(x > 511)", |[x, _]| Ok(x.gt(511.0)?.count().parts())),
    ("rows(x > 511)", |[x, _]| Ok(x.gt(511.0)?.parts())),
    ("histogram of 10 bins", |[x, _]| {
        Ok(x.histogram(&EDGES, true)?.parts())
    }),
    ("median(x)", |[x, _]| Ok(x.median()?.parts())),
    ("the ten largest of x", |[x, _]| Ok(x.largest(10)?.parts())),
    ("x * y", |[x, y]| Ok(x.times(y)?.parts())),
    ("dot(x, y)", |[x, y]| Ok(x.dot(y)?.parts())),
    ("cov(x, y)", |[x, y]| Ok(x.cov(y)?.parts())),
    ("corr(x, y)", |[x, y]| Ok(x.corr(y)?.parts())),
];

/// Records and counts all questions about the first columns of tables, which have names.
pub(super) fn row(server: &Server, tables: [(&str, &Table); 2]) -> Result<Row, BenchError> {
    let mut slowest = (0.0f64, String::new());
    for (form, table) in tables {
        let columns = [table.column("c10")?, table.column("c7")?];
        for (question, of) in QUESTIONS {
            let begin = now()?;
            server.cost(&of(columns)?, &Progress::default())?;
            let seconds = now()? - begin;
            if seconds > slowest.0 {
                slowest = (seconds, format!("{question} of {form}"));
            }
        }
    }
    let (seconds, question) = slowest;
    Ok(figure(
        "record_100k_s_worst",
        Unit::Seconds,
        seconds,
        format!(
            "The most processor time that one of {} questions about {ROWS} rows takes to be recorded and counted: {question}",
            QUESTIONS.len(),
        ),
    ))
}

fn now() -> Result<f64, BenchError> {
    processor_time().ok_or_else(|| BenchError::WrongAnswer("the processor time".to_owned()))
}
