//! Readings in CSV: a label column and columns of numbers.

use std::io::Read;

use tfhe_sbc_upload::readings::Column;

use crate::failure::{Explain, Outcome, failure};

/// A typical year of hourly weather readings; `data/README.md` names its source.
pub(crate) const WEATHER_YEAR: &str = include_str!("../data/greensboro-hourly.csv");

/// The hours of a day, and the rows of the bundled data that make one.
pub(crate) const HOURS: usize = 24;

/// Readings, column by column, and their labels.
#[derive(Debug, PartialEq)]
pub(crate) struct Table {
    /// One label per row.
    pub(crate) labels: Vec<String>,
    /// The readings of each defined column, in the order of the definitions.
    pub(crate) readings: Vec<Vec<f64>>,
}

/// Returns the heading and the rows of one day (from 1) of the bundled year.
pub(crate) fn weather_day(day: usize) -> Outcome<String> {
    let mut lines = WEATHER_YEAR.lines();
    let heading = lines.next().unwrap_or_default();
    let rows: Vec<&str> = lines
        .skip(day.saturating_sub(1) * HOURS)
        .take(HOURS)
        .collect();
    if day == 0 || rows.len() != HOURS {
        return Err(failure(
            format_args!("the bundled year has no day {day}"),
            "give a day from 1 to 365",
        ));
    }
    Ok(format!("{heading}\n{}\n", rows.join("\n")))
}

/// CSV with a heading that is read row by row.
///
/// The column called by the first of [`LABELS`] that there is, other than a defined column, labels the rows; without one they are numbered from 1.
pub(crate) struct Rows<'c, R> {
    source: &'c str,
    columns: &'c [Column],
    records: csv::StringRecordsIntoIter<R>,
    /// The place of each column in a record.
    places: Vec<usize>,
    label_place: Option<usize>,
    /// The headings that belong neither to a column nor to the labels.
    left_out: Vec<String>,
    /// The number of rows that have been read.
    row: usize,
}

/// The names of columns of labels: that of the bundled data, and those of [tables that are fetched](crate::export).
const LABELS: [&str; 3] = ["timestamp", "time", "label"];

const CSV_HELP: &str =
    "give CSV in UTF-8 with a heading line and one line a reading, like `tfhe-sbc sample` prints";

impl<'c, R: Read> Rows<'c, R> {
    /// Reads the heading. `source` names the input in errors.
    ///
    /// # Errors
    /// Input that is no CSV, or that lacks a column, or has it twice.
    pub(crate) fn open(source: &'c str, input: R, columns: &'c [Column]) -> Outcome<Self> {
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(input);
        let headings = reader.headers().advise(source, CSV_HELP)?.clone();
        if headings.iter().all(str::is_empty) {
            return Err(failure(format_args!("{source} has no heading"), CSV_HELP));
        }
        let place_of = |name: &str| headings.iter().position(|heading| heading == name);
        let places = columns
            .iter()
            .map(|column| {
                place_of(&column.name).ok_or_else(|| {
                    let found: Vec<_> = headings.iter().collect();
                    failure(
                        format_args!(
                            "{source} has no column '{}': its columns are {}",
                            column.name,
                            found.join(", ")
                        ),
                        "correct its heading, or give your own column definitions with --columns",
                    )
                })
            })
            .collect::<Outcome<Vec<_>>>()?;
        let used = || columns.iter().map(|column| column.name.as_str());
        let is_label =
            |name: &&str| place_of(name).is_some() && used().all(|column| column != *name);
        let label = LABELS.into_iter().find(is_label);
        let named_twice =
            |heading: &&str| headings.iter().filter(|other| other == heading).count() > 1;
        if let Some(name) = used().chain(label).find(named_twice) {
            return Err(failure(
                format_args!("{source} has two columns '{name}'"),
                "rename or remove one of them",
            ));
        }
        let left_out = headings
            .iter()
            .filter(|&heading| used().chain(label).all(|name| name != heading))
            .map(str::to_owned)
            .collect();
        Ok(Self {
            source,
            columns,
            records: reader.into_records(),
            places,
            label_place: label.and_then(place_of),
            left_out,
            row: 0,
        })
    }

    /// Returns what a user may not expect of the heading, a line each: columns that are left out, and rows that are numbered.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.left_out.is_empty() {
            notes.push(format!(
                "left out, because no column definition has the name: {}",
                self.left_out.join(", ")
            ));
        }
        if self.label_place.is_none() {
            let [first, second, third] = LABELS;
            notes.push(format!(
                "rows are numbered, so questions cannot be about times: no column is called {first}, {second} or {third}"
            ));
        }
        notes
    }

    /// Reads the next rows, at most `most`; `None` at the end of the input. NaN stands for readings that are missing.
    ///
    /// # Errors
    /// A row that is no CSV, a reading that is no number, and one that is missing in a column that is not optional.
    pub(crate) fn next(&mut self, most: usize) -> Outcome<Option<Table>> {
        let source = self.source;
        let mut table = Table {
            labels: Vec::new(),
            readings: vec![Vec::new(); self.columns.len()],
        };
        while table.labels.len() < most {
            let Some(record) = self.records.next() else {
                break;
            };
            let record = record.advise(source, CSV_HELP)?;
            self.row += 1;
            let label = self.label_place.and_then(|place| record.get(place));
            table
                .labels
                .push(label.map_or_else(|| self.row.to_string(), str::to_owned));
            let columns = self.columns.iter().zip(&self.places);
            for ((column, &place), readings) in columns.zip(&mut table.readings) {
                let text = record.get(place).unwrap_or_default();
                readings.push(self.reading(text, column)?);
            }
        }
        if self.row == 0 {
            return Err(failure(format_args!("{source} has no readings"), CSV_HELP));
        }
        Ok((!table.labels.is_empty()).then_some(table))
    }

    /// The reading that a field of the last row stands for.
    fn reading(&self, text: &str, column: &Column) -> Outcome<f64> {
        if is_missing(text) && column.is_optional() {
            return Ok(f64::NAN);
        }
        let wrong = |what: &str, help: &str| {
            let (source, row, name) = (self.source, self.row, &column.name);
            failure(
                format_args!("{source}, row {row}: '{text}' in column '{name}' {what}"),
                help,
            )
        };
        if text.is_empty() || (is_missing(text) && text.parse::<f64>().is_err()) {
            return Err(wrong(
                "is no reading",
                "correct the reading, leave the row out, or declare the column optional = true, with which readings may be \
                 missing",
            ));
        }
        text.parse().map_err(|_| {
            wrong(
                "is not a number",
                "correct the reading, or leave the row out",
            )
        })
    }
}

/// Returns whether a field stands for a missing reading: an empty field, or a word such as `NaN` or `null`.
fn is_missing(text: &str) -> bool {
    const WORDS: [&str; 6] = ["", "nan", "na", "n/a", "null", "none"];
    let text = text.trim();
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) || text == "<NA>"
}

/// Reads all rows of CSV with a heading. `source` names it in errors.
///
/// # Errors
/// Those of [`Rows`].
pub(crate) fn read(source: &str, input: impl Read, columns: &[Column]) -> Outcome<Table> {
    let table = Rows::open(source, input, columns)?.next(usize::MAX)?;
    table.ok_or_else(|| failure(format_args!("{source} has no readings"), CSV_HELP))
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_upload::definition::Definition;

    use super::*;
    use crate::columns;

    fn bundled() -> Vec<Column> {
        let definitions = columns::load(None).unwrap();
        definitions.iter().map(Definition::without_use).collect()
    }

    #[test]
    fn the_bundled_year_has_365_whole_days() {
        let columns = bundled();
        for day in [1, 12, 365] {
            let csv = weather_day(day).unwrap();
            let table = read("it", csv.as_bytes(), &columns).unwrap();
            assert_eq!(table.labels.len(), HOURS);
            assert!(table.readings.iter().all(|column| column.len() == HOURS));
        }
        assert!(weather_day(0).is_err() && weather_day(366).is_err());
    }

    #[test]
    fn rows_in_parts_are_all_rows() {
        let columns = bundled();
        let whole = read("it", WEATHER_YEAR.as_bytes(), &columns).unwrap();
        let mut rows = Rows::open("it", WEATHER_YEAR.as_bytes(), &columns).unwrap();
        let (mut labels, mut first) = (Vec::new(), Vec::new());
        while let Some(part) = rows.next(1000).unwrap() {
            assert!(part.labels.len() <= 1000);
            labels.extend(part.labels);
            first.extend(part.readings[0].clone());
        }
        assert_eq!((labels, &first), (whole.labels, &whole.readings[0]));
    }

    #[test]
    fn a_column_of_labels_has_one_of_three_names() {
        let columns = bundled();
        let names = columns.iter().map(|column| column.name.as_str());
        let names = names.collect::<Vec<_>>().join(",");
        let open = |first: &str, fields: &str| {
            let csv = format!("{first}{names}\n{fields}-8.3,88,995,0\n");
            let mut rows = Rows::open("it", csv.as_bytes(), &columns)?;
            let notes = rows.notes().join("\n");
            Ok((rows.next(9)?.unwrap().labels, notes))
        };
        let of = |first, fields| open(first, fields).unwrap();
        let label = || vec!["10:00".to_owned()];
        for first in ["timestamp,", "time,", "label,"] {
            assert_eq!(of(first, "10:00,"), (label(), String::new()));
        }
        let (labels, notes) = of("label,device,time,", "a,hill,10:00,");
        assert_eq!(labels, label());
        assert!(notes.ends_with(": label, device"), "{notes}");
        let (labels, notes) = of("", "");
        assert_eq!(labels, ["1"]);
        assert!(notes.ends_with("timestamp, time or label"), "{notes}");
        let refused: Outcome<_> = open("time,time,", "10:00,10:00,");
        assert!(refused.is_err());
    }

    #[test]
    fn a_reading_may_be_called_time() {
        let definition = "[[column]]\nname = \"time\"\noffset = 0\nscale = 1\nbits = 8\n";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), definition).unwrap();
        let definitions = columns::load(Some(file.path())).unwrap();
        let columns: Vec<Column> = definitions.iter().map(Definition::without_use).collect();
        let table = read("it", &b"time,label\n7,a\n"[..], &columns).unwrap();
        assert_eq!(
            (table.labels, table.readings),
            (vec!["a".to_owned()], vec![vec![7.0]])
        );
    }

    #[test]
    fn every_bundled_reading_is_in_its_declared_range() {
        let columns = bundled();
        let table = read("it", WEATHER_YEAR.as_bytes(), &columns).unwrap();
        for (column, readings) in columns.iter().zip(&table.readings) {
            let fixed_point = column.fixed_point().unwrap();
            for &reading in readings {
                let code = fixed_point.encode(reading).unwrap();
                assert!((fixed_point.decode(code as f64) - reading).abs() < 1e-9);
            }
        }
    }
}
