//! The table of questions about a year of hourly readings of 10 bits: bootstraps, counted, and what recording them takes.

mod long;

use std::time::Instant;

use tfhe_sbc_columns::{
    Computable, Computed, Error, Number, Progress, ReadingsMetadata, Relation, Server, Table,
};
use tfhe_sbc_core::encoding::Derivation;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_oracle::compact::{Profile, derived_encoding};
use tfhe_sbc_oracle::upload::UploadKind;
use tfhe_sbc_upload::readings::Compact;

use crate::columns::year;
use crate::error::BenchError;
use crate::machine::peak_memory;
use crate::report::{Row, Unit};

/// The inner edges of ten bins of a column of 10 bits, and the ends.
const EDGES: [f64; 11] = [
    0.0, 100.0, 210.0, 305.0, 411.0, 512.0, 603.0, 717.0, 825.0, 930.0, 1023.0,
];

/// A question about a column.
struct Question {
    name: &'static str,
    words: &'static str,
    /// The answer is a sum over the rows.
    is_sum: bool,
    of: fn(&Number) -> Result<Vec<Computed>, Error>,
}

const QUESTIONS: [Question; 9] = [
    Question {
        name: "year_mean_10bit",
        words: "the mean",
        is_sum: true,
        of: |column| Ok(column.mean().parts()),
    },
    Question {
        name: "year_count_10bit",
        words: "a count of the rows above a clear threshold",
        is_sum: true,
        of: |column| Ok(column.compare(Relation::Gt, 511.0)?.count().parts()),
    },
    Question {
        name: "year_std_10bit",
        words: "the standard deviation",
        is_sum: true,
        of: |column| Ok(column.std().parts()),
    },
    Question {
        name: "year_histogram_10_bins",
        words: "a histogram of 10 bins",
        is_sum: true,
        of: |column| Ok(column.histogram(&EDGES, true)?.parts()),
    },
    Question {
        name: "year_max_10bit",
        words: "the maximum",
        is_sum: false,
        of: |column| Ok(column.max().parts()),
    },
    Question {
        name: "year_argmax_10bit",
        words: "the maximum and its row",
        is_sum: false,
        of: |column| {
            let (row, value) = column.arg_max();
            Ok([row, value].iter().flat_map(Computable::parts).collect())
        },
    },
    Question {
        name: "year_median_10bit",
        words: "the median",
        is_sum: false,
        of: |column| Ok(column.median()?.parts()),
    },
    Question {
        name: "year_top10",
        words: "the ten largest readings",
        is_sum: false,
        of: |column| Ok(column.largest(10)?.parts()),
    },
    Question {
        name: "year_sort_10bit",
        words: "all readings in order",
        is_sum: false,
        of: |column| Ok(column.smallest(year::ROWS)?.parts()),
    },
];

/// The form of the squares of a column of `bits` bits that is made for means.
fn squares_form(parameters: &Parameters, bits: u32) -> Result<Compact, BenchError> {
    let kind = UploadKind::Symmetric;
    let encoding = Profile::Means.encoding(parameters, bits, kind);
    let encoding =
        encoding.and_then(|own| derived_encoding(parameters, &own, Derivation::Square, kind));
    let encoding =
        encoding.ok_or_else(|| BenchError::WrongAnswer(format!("squares of {bits} bits")))?;
    Ok(year::form(&encoding))
}

/// The memory that a rehearsal of a sort takes. It must be the first row, because the most that the process has used is read.
fn sort_memory(server: &Server, metadata: &ReadingsMetadata) -> Result<Row, BenchError> {
    let table = server.load_clear(metadata.clone(), &year::readings())?;
    let sorted = table.column("c10")?.smallest(year::ROWS)?;
    let [answer] = server.compute([&sorted])?;
    let values = answer.rehearsed()?.numbers().map(<[f64]>::to_vec);
    if values.is_none_or(|values| !values.is_sorted()) {
        return Err(BenchError::WrongAnswer("a sort".to_owned()));
    }
    let bytes = peak_memory().ok_or_else(|| BenchError::WrongAnswer("the memory".to_owned()))?;
    Ok(figure(
        "peak_rss_mb_year_sort_rehearsal",
        Unit::One,
        bytes as f64 / 1e6,
        "Megabytes of memory that a rehearsal of a sort of the year in radix blocks takes"
            .to_owned(),
    ))
}

/// Counts all rows.
pub(crate) fn rows() -> Result<Vec<Row>, BenchError> {
    let parameters = MESSAGE_2_CARRY_2.validate()?;
    let server = Server::rehearsal(&parameters)?;
    let means = year::metadata(&parameters)?;
    let mut radix = means.clone();
    for column in &mut radix.columns {
        column.compact = None;
    }
    let mut squares = means.clone();
    if let Some(column) = squares.columns.first_mut() {
        column.derived.square = Some(squares_form(&parameters, column.bits)?);
    }
    let mut rows = vec![sort_memory(&server, &radix)?];
    let of = |metadata: &ReadingsMetadata| server.describe(metadata.clone());
    let (means, radix, squares) = (of(&means), of(&radix), of(&squares));
    let mut slowest = 0.0f64;
    let mut deepest_sum = 0u32;
    let mut count = |question: &Question, table: &Table| -> Result<f64, BenchError> {
        let column = table.column("c10")?;
        let computed = (question.of)(column)?;
        let begin = Instant::now();
        let cost = server.cost(&computed, &Progress::default())?;
        slowest = slowest.max(begin.elapsed().as_secs_f64());
        if question.is_sum {
            deepest_sum = deepest_sum.max(cost.depth);
        }
        Ok(cost.bootstraps as f64)
    };
    for question in &QUESTIONS {
        let kinds = [("", &means), ("_radix", &radix)];
        for (kind, table) in kinds {
            rows.push(figure(
                &format!("{}{kind}", question.name),
                Unit::One,
                count(question, table)?,
                format!(
                    "Bootstraps of {} of a year of hourly readings of 10 bits in {}",
                    question.words,
                    if kind.is_empty() {
                        "a column made for means"
                    } else {
                        "radix blocks"
                    },
                ),
            ));
        }
    }
    rows.extend(month(&server, [("", &means), ("_radix", &radix)])?);
    if let Some(spread) = QUESTIONS
        .iter()
        .find(|question| question.name == "year_std_10bit")
    {
        rows.push(figure(
            "year_std_10bit_squares",
            Unit::One,
            count(spread, &squares)?,
            "Bootstraps of the standard deviation where the board sends squares".to_owned(),
        ));
    }
    rows.push(figure(
        "year_record_s_worst",
        Unit::Seconds,
        slowest,
        "The longest time in which one of these questions is recorded and counted".to_owned(),
    ));
    rows.push(long_columns(&server, &parameters)?);
    rows.push(figure(
        "year_depth_worst_of_sums",
        Unit::One,
        f64::from(deepest_sum),
        "Bootstraps that follow one another in sums, means, counts and spreads, at most".to_owned(),
    ));
    Ok(rows)
}

/// The time to record questions about columns that are longer than a year's.
fn long_columns(server: &Server, parameters: &Parameters) -> Result<Row, BenchError> {
    let means = ReadingsMetadata {
        rows: (0..long::ROWS).map(|row| row.to_string()).collect(),
        ..year::metadata(parameters)?
    };
    let mut radix = means.clone();
    for column in &mut radix.columns {
        column.compact = None;
    }
    let (means, radix) = (server.describe(means), server.describe(radix));
    long::row(
        server,
        [
            ("a column made for means", &means),
            ("radix blocks", &radix),
        ],
    )
}

/// The rows of a month.
const MONTH: usize = 720;

/// Counts functions of the last day's rows up to each row of a month.
fn month(server: &Server, tables: [(&str, &Table); 2]) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    let places: Vec<usize> = (0..MONTH).collect();
    for (kind, table) in tables {
        let column = table.column("c10")?.take(&places)?;
        let day = column.rolling(24, None)?;
        for (name, words, windows) in [
            ("month_rolling24_mean", "means", day.mean()?),
            ("month_rolling24_max", "maxima", day.max()?),
        ] {
            let cost = server.cost(&windows.parts(), &Progress::default())?;
            rows.push(figure(
                &format!("{name}{kind}"),
                Unit::One,
                cost.bootstraps as f64,
                format!(
                    "Bootstraps of the {words} of the last 24 rows up to each of {MONTH} hourly readings of 10 bits in {}",
                    if kind.is_empty() {
                        "a column made for means"
                    } else {
                        "radix blocks"
                    },
                ),
            ));
        }
    }
    Ok(rows)
}

fn figure(name: &str, unit: Unit, value: f64, note: String) -> Row {
    Row::figures(name, unit, value, None, note)
}
