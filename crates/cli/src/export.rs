//! Tables of readings in the clear, written row by row.

pub(crate) mod answers;
mod parquet;

use std::fmt::Display;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::ValueEnum;
use tfhe_sbc_upload::readings::Column;

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line of headings, and a line for each row
    Csv,
    /// A JSON object for each row, on a line of its own
    Jsonl,
    /// Apache Parquet, for pandas, polars and DuckDB
    Parquet,
}

impl Format {
    /// Returns the format of a file with such a name; CSV unless its extension says otherwise.
    pub(crate) fn of(path: Option<&Path>) -> Self {
        let extension = path.and_then(Path::extension).unwrap_or_default();
        match extension.to_string_lossy().to_lowercase().as_str() {
            "jsonl" | "ndjson" => Self::Jsonl,
            "parquet" => Self::Parquet,
            _ => Self::Csv,
        }
    }
}

/// The names of a table's columns.
pub(crate) struct Headings<'a> {
    device: String,
    label: String,
    are_times: bool,
    columns: &'a [Column],
}

impl<'a> Headings<'a> {
    /// Returns the headings of devices, labels of rows, which are times or not, and columns. Those of devices and labels
    /// get underscores behind them until no column has their name.
    pub(crate) fn new(are_times: bool, columns: &'a [Column]) -> Self {
        let free = |name: &str| {
            let mut name = name.to_owned();
            while columns.iter().any(|column| column.name == name) {
                name.push('_');
            }
            name
        };
        Self {
            device: free("device"),
            label: free(if are_times { "time" } else { "label" }),
            are_times,
            columns,
        }
    }
}

/// A table that is being written. Nothing is written before the first row.
pub(crate) struct Table<'a, W: Write + Send> {
    headings: Headings<'a>,
    rows: Rows<W>,
}

enum Rows<W: Write + Send> {
    Csv {
        writer: Box<csv::Writer<W>>,
        is_begun: bool,
    },
    Jsonl(BufWriter<W>),
    /// The destination of a file that is not begun.
    NoParquet(Option<W>),
    Parquet(Box<parquet::Writer<W>>),
}

impl<'a, W: Write + Send> Table<'a, W> {
    /// Returns a table without rows.
    pub(crate) fn new(format: Format, headings: Headings<'a>, to: W) -> Self {
        let rows = match format {
            Format::Csv => Rows::Csv {
                writer: Box::new(csv::Writer::from_writer(to)),
                is_begun: false,
            },
            Format::Jsonl => Rows::Jsonl(BufWriter::new(to)),
            Format::Parquet => Rows::NoParquet(Some(to)),
        };
        Self { headings, rows }
    }

    /// Writes a row. `values` has one for each column; `None` where the row has none.
    ///
    /// # Errors
    /// Those of the destination.
    pub(crate) fn row(
        &mut self,
        device: &str,
        label: &str,
        values: impl Iterator<Item = Option<f64>>,
    ) -> io::Result<()> {
        let headings = &self.headings;
        if let Rows::NoParquet(to) = &mut self.rows
            && let Some(to) = to.take()
        {
            self.rows = Rows::Parquet(Box::new(parquet::Writer::new(headings, to)?));
        }
        match &mut self.rows {
            Rows::Parquet(writer) => writer.row(device, label, values)?,
            Rows::NoParquet(_) => return Err(io::Error::other("the file could not be begun")),
            Rows::Csv { writer, is_begun } => {
                if !*is_begun {
                    writer.write_field(&headings.device)?;
                    writer.write_field(&headings.label)?;
                    for column in headings.columns {
                        writer.write_field(with_unit(column))?;
                    }
                    writer.write_record(None::<&[u8]>)?;
                    *is_begun = true;
                }
                writer.write_field(device)?;
                writer.write_field(label)?;
                for value in values {
                    writer.write_field(value.map(|value| value.to_string()).unwrap_or_default())?;
                }
                writer.write_record(None::<&[u8]>)?;
            }
            Rows::Jsonl(writer) => {
                let text = |text: &str| serde_json::to_string(text).map_err(io::Error::from);
                write!(writer, "{{{}:{}", text(&headings.device)?, text(device)?)?;
                write!(writer, ",{}:{}", text(&headings.label)?, text(label)?)?;
                for (column, value) in headings.columns.iter().zip(values) {
                    // Values of columns are finite, and so numbers of JSON.
                    let value: &dyn Display = match &value {
                        Some(value) => value,
                        None => &"null",
                    };
                    write!(writer, ",{}:{value}", text(&column.name)?)?;
                }
                writer.write_all(b"}\n")?;
            }
        }
        Ok(())
    }

    /// Writes what is left to be written.
    ///
    /// # Errors
    /// Those of the destination.
    pub(crate) fn end(self) -> io::Result<()> {
        match self.rows {
            Rows::Csv { mut writer, .. } => writer.flush(),
            Rows::Jsonl(mut writer) => writer.flush(),
            Rows::Parquet(writer) => writer.end(),
            Rows::NoParquet(_) => Ok(()),
        }
    }
}

/// The heading of a column: its name, and its unit if it has one.
fn with_unit(column: &Column) -> String {
    match column.unit.as_str() {
        "" => column.name.clone(),
        unit => format!("{} [{unit}]", column.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, unit: &str) -> Column {
        Column {
            name: name.to_owned(),
            unit: unit.to_owned(),
            offset: 0.0,
            scale: 0.1,
            bits: 10,
            compact: None,
            derived: Default::default(),
        }
    }

    fn written(format: Format) -> String {
        let columns = [column("level", "m, above \"0\""), column("device", "")];
        let headings = Headings::new(true, &columns);
        let mut bytes = Vec::new();
        let mut table = Table::new(format, headings, &mut bytes);
        table
            .row("hill", "2026-11-23T09:00Z", [Some(20.8), None].into_iter())
            .unwrap();
        table
            .row("a,b", "x", [Some(-3.0), Some(0.5)].into_iter())
            .unwrap();
        table.end().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn rows_have_the_headings_and_the_cells_of_their_format() {
        assert_eq!(
            written(Format::Csv),
            "device_,time,\"level [m, above \"\"0\"\"]\",device\nhill,2026-11-23T09:00Z,20.8,\n\"a,b\",x,-3,0.5\n"
        );
        assert_eq!(
            written(Format::Jsonl),
            "{\"device_\":\"hill\",\"time\":\"2026-11-23T09:00Z\",\"level\":20.8,\"device\":null}\n{\"device_\":\"a,b\",\
             \"time\":\"x\",\"level\":-3,\"device\":0.5}\n"
        );
    }

    #[test]
    fn names_of_files_say_the_format() {
        let of = |name: &str| Format::of(Some(Path::new(name)));
        assert_eq!(Format::of(None), Format::Csv);
        assert_eq!(of("a.csv"), Format::Csv);
        assert_eq!(of("a"), Format::Csv);
        assert_eq!(of("a.JSONL"), Format::Jsonl);
        assert_eq!(of("a.parquet"), Format::Parquet);
    }
}
