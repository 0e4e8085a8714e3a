//! Tables as Parquet files: the device, the time or the label, and a nullable double for each column. The units of columns are
//! in the metadata of the file, under the keys `unit.NAME`.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use tfhe_sbc_upload::moments::Moment;

use super::Headings;

/// The rows that are held in memory before they are written together.
const GROUP_ROWS: usize = 1 << 16;

/// A table that is being written.
pub(super) struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    devices: Vec<ByteArray>,
    labels: Labels,
    columns: Vec<Values>,
}

/// The labels of some rows.
enum Labels {
    /// Times, in milliseconds since 1970.
    Times(Vec<i64>),
    Texts(Vec<ByteArray>),
}

/// The values that there are of a column in some rows, and for each row 1 if there is one and 0 otherwise.
#[derive(Default)]
struct Values {
    values: Vec<f64>,
    levels: Vec<i16>,
}

impl<W: Write + Send> Writer<W> {
    /// Returns a table without rows.
    ///
    /// # Errors
    /// Those of the destination.
    pub(super) fn new(headings: &Headings<'_>, to: W) -> io::Result<Self> {
        let text = Some(LogicalType::String);
        let time = Some(LogicalType::timestamp(true, TimeUnit::MILLIS));
        let of = |name: &str, physical, logical, repetition| {
            let built = Type::primitive_type_builder(name, physical)
                .with_logical_type(logical)
                .with_repetition(repetition);
            built.build().map(Arc::new).map_err(failed)
        };
        let (required, optional) = (Repetition::REQUIRED, Repetition::OPTIONAL);
        let label = match headings.are_times {
            true => of(&headings.label, Physical::INT64, time, required)?,
            false => of(
                &headings.label,
                Physical::BYTE_ARRAY,
                text.clone(),
                required,
            )?,
        };
        let mut fields = vec![
            of(&headings.device, Physical::BYTE_ARRAY, text, required)?,
            label,
        ];
        for column in headings.columns {
            fields.push(of(&column.name, Physical::DOUBLE, None, optional)?);
        }
        let schema = Type::group_type_builder("readings").with_fields(fields);
        let units = headings.columns.iter().filter(|it| !it.unit.is_empty());
        let units = units.map(|it| KeyValue::new(format!("unit.{}", it.name), it.unit.clone()));
        let properties = WriterProperties::builder()
            .set_created_by(concat!("tfhe-sbc ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(units.collect()));
        let schema = Arc::new(schema.build().map_err(failed)?);
        let file = SerializedFileWriter::new(to, schema, Arc::new(properties.build()));
        Ok(Self {
            file: file.map_err(failed)?,
            devices: Vec::new(),
            labels: match headings.are_times {
                true => Labels::Times(Vec::new()),
                false => Labels::Texts(Vec::new()),
            },
            columns: headings.columns.iter().map(|_| Values::default()).collect(),
        })
    }

    /// Adds a row, as [`Table::row`](super::Table::row).
    ///
    /// # Errors
    /// A label that is no time where all are to be, and those of the destination.
    pub(super) fn row(
        &mut self,
        device: &str,
        label: &str,
        values: impl Iterator<Item = Option<f64>>,
    ) -> io::Result<()> {
        match &mut self.labels {
            Labels::Times(times) => {
                let moment: Moment = label.parse().map_err(io::Error::other)?;
                times.push(moment.unix_ms());
            }
            Labels::Texts(texts) => texts.push(label.into()),
        }
        // Rows of one device share its name.
        let name = match self.devices.last() {
            Some(last) if last.data() == device.as_bytes() => last.clone(),
            _ => device.into(),
        };
        self.devices.push(name);
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.levels.push(i16::from(value.is_some()));
            column.values.extend(value);
        }
        match self.devices.len() >= GROUP_ROWS {
            true => self.write_group(),
            false => Ok(()),
        }
    }

    /// Writes what is left, and the end of the file.
    ///
    /// # Errors
    /// Those of the destination.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.write_group()?;
        self.file.close().map_err(failed)?;
        Ok(())
    }

    fn write_group(&mut self) -> io::Result<()> {
        if self.devices.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(failed)?;
        write_column::<ByteArrayType, W>(&mut group, &self.devices, None)?;
        match &self.labels {
            Labels::Times(times) => write_column::<Int64Type, W>(&mut group, times, None)?,
            Labels::Texts(texts) => write_column::<ByteArrayType, W>(&mut group, texts, None)?,
        }
        for Values { values, levels } in &self.columns {
            write_column::<DoubleType, W>(&mut group, values, Some(levels))?;
        }
        group.close().map_err(failed)?;
        self.devices.clear();
        match &mut self.labels {
            Labels::Times(times) => times.clear(),
            Labels::Texts(texts) => texts.clear(),
        }
        for Values { values, levels } in &mut self.columns {
            values.clear();
            levels.clear();
        }
        Ok(())
    }
}

fn write_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> io::Result<()> {
    let column = group.next_column().map_err(failed)?;
    let mut column = column.ok_or_else(|| io::Error::other("a column too many"))?;
    let written = column.typed::<T>().write_batch(values, levels, None);
    written.map_err(failed)?;
    column.close().map_err(failed)
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use tfhe_sbc_upload::readings::Column;

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

    /// The rows that a reader finds in a file of these rows.
    fn read_back(are_times: bool, rows: &[(&str, &str, [Option<f64>; 2])]) -> Vec<Vec<Field>> {
        let columns = [column("level", "m"), column("flow", "")];
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = Writer::new(&Headings::new(are_times, &columns), &mut file).unwrap();
        for (device, label, values) in rows {
            writer.row(device, label, values.iter().copied()).unwrap();
        }
        writer.end().unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let metadata = reader.metadata().file_metadata();
        let units = metadata.key_value_metadata().unwrap();
        assert_eq!(
            units,
            &[KeyValue::new("unit.level".to_owned(), "m".to_owned())]
        );
        let found = reader.get_row_iter(None).unwrap().map(|row| {
            let row = row.unwrap();
            row.get_column_iter()
                .map(|(_, field)| field.clone())
                .collect()
        });
        found.collect()
    }

    #[test]
    fn times_are_times_and_missing_values_are_null() {
        let rows = read_back(
            true,
            &[
                ("hill", "2026-11-23T09:00Z", [Some(20.8), None]),
                ("hill", "2026-11-23T10:00+01:00", [None, Some(-3.0)]),
                ("lake", "2026-11-23T09:00:00.5Z", [Some(0.1), Some(2.0)]),
            ],
        );
        let text = |text: &str| Field::Str(text.to_owned());
        let nine = 1_795_424_400_000;
        let time = Field::TimestampMillis;
        assert_eq!(
            rows,
            [
                vec![text("hill"), time(nine), Field::Double(20.8), Field::Null],
                vec![text("hill"), time(nine), Field::Null, Field::Double(-3.0)],
                vec![
                    text("lake"),
                    time(nine + 500),
                    Field::Double(0.1),
                    Field::Double(2.0)
                ],
            ]
        );
    }

    #[test]
    fn labels_that_are_no_times_are_texts_and_rows_come_in_groups() {
        let labels: Vec<String> = (0..GROUP_ROWS + 3).map(|row| format!("r{row}")).collect();
        let rows: Vec<_> = labels
            .iter()
            .map(|label| ("hill", label.as_str(), [Some(1.5), None]))
            .collect();
        let found = read_back(false, &rows);
        assert_eq!(found.len(), rows.len());
        let last = labels.last().unwrap();
        assert_eq!(found.last().unwrap()[1], Field::Str(last.clone()));
    }

    #[test]
    fn a_label_that_is_no_time_is_an_error_among_times() {
        let columns = [column("level", "m")];
        let mut writer = Writer::new(&Headings::new(true, &columns), Vec::new()).unwrap();
        assert!(writer.row("hill", "noon", [Some(1.0)].into_iter()).is_err());
    }
}
