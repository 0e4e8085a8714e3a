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

/// Reads CSV with a heading. `source` names it in errors. The column called
/// `timestamp`, if there is one, labels the rows; otherwise they are numbered.
pub(crate) fn read(source: &str, input: impl Read, columns: &[Column]) -> Outcome<Table> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(input);
    let csv_help = "give CSV in UTF-8 with a heading line and one line a reading, like `tfhe-sbc sample` prints";
    let headings = reader.headers().advise(source, csv_help)?.clone();
    if headings.iter().all(str::is_empty) {
        return Err(failure(format_args!("{source} has no heading"), csv_help));
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
    let label_place = place_of("timestamp");
    let named_twice = |heading: &&str| headings.iter().filter(|other| other == heading).count() > 1;
    let used = columns.iter().map(|column| column.name.as_str());
    if let Some(name) = used.chain(["timestamp"]).find(named_twice) {
        return Err(failure(
            format_args!("{source} has two columns '{name}'"),
            "rename or remove one of them",
        ));
    }

    let mut table = Table {
        labels: Vec::new(),
        readings: vec![Vec::new(); columns.len()],
    };
    for (row, record) in reader.records().enumerate() {
        let record = record.advise(source, csv_help)?;
        let label = label_place.and_then(|place| record.get(place));
        table
            .labels
            .push(label.map_or_else(|| (row + 1).to_string(), str::to_owned));
        for ((column, &place), readings) in columns.iter().zip(&places).zip(&mut table.readings) {
            let text = record.get(place).unwrap_or_default();
            let value: f64 = text.parse().map_err(|_| {
                failure(
                    format_args!(
                        "{source}, row {}: '{text}' in column '{}' is not a number",
                        row + 1,
                        column.name
                    ),
                    "correct the reading, or leave the row out",
                )
            })?;
            readings.push(value);
        }
    }
    if table.labels.is_empty() {
        return Err(failure(format_args!("{source} has no readings"), csv_help));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns;

    #[test]
    fn the_bundled_year_has_365_whole_days() {
        let columns = columns::load(None, None).unwrap();
        for day in [1, 12, 365] {
            let csv = weather_day(day).unwrap();
            let table = read("it", csv.as_bytes(), &columns).unwrap();
            assert_eq!(table.labels.len(), HOURS);
            assert!(table.readings.iter().all(|column| column.len() == HOURS));
        }
        assert!(weather_day(0).is_err() && weather_day(366).is_err());
    }

    #[test]
    fn every_bundled_reading_is_in_its_declared_range() {
        let columns = columns::load(None, None).unwrap();
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
