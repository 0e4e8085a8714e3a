//! Files that grow with each answer: CSV and Parquet. Only their owner can read them, because they hold decrypted answers.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, TimestampMillisecondArray};
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tfhe_sbc_transport::files;

use super::Delivery;
use crate::answers::Answer;
use crate::error::{GatewayError, Outcome, code};
use crate::tables::readings::TIME_TYPE_ZONE;

/// The name of the column with the moment of the question.
const ASKED: &str = "asked";

/// A file of rows.
pub(super) struct Table {
    path: PathBuf,
    is_parquet: bool,
}

impl Table {
    /// Returns a file of comma-separated values.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn csv(path: &Path) -> Outcome<Self> {
        let table = Self {
            path: path.to_owned(),
            is_parquet: false,
        };
        table.open()?;
        Ok(table)
    }

    /// Returns a Parquet file. It is written anew with each answer, because its format has the list of its parts at its end.
    ///
    /// # Errors
    /// If there is a file that is none of Parquet.
    pub(super) fn parquet(path: &Path) -> Outcome<Self> {
        let table = Self {
            path: path.to_owned(),
            is_parquet: true,
        };
        table.former()?;
        Ok(table)
    }

    fn error(&self, error: impl std::fmt::Display) -> GatewayError {
        let message = format_args!("{}: {error}", self.path.display());
        GatewayError::new(code::CONFIGURATION, message)
    }

    /// The error for a file that has other columns.
    fn other_columns(&self, found: &str, expected: &str) -> GatewayError {
        self.error(format_args!(
            "it has the columns {found}, and the answers {expected}"
        ))
        .advise("name another file, or move this one away")
    }

    /// Adds the rows of an answer, behind a column with the moment of the question. One without rows adds nothing.
    ///
    /// # Errors
    /// If the file cannot be written, or has other columns.
    pub(super) fn append(&self, delivery: &Delivery) -> Outcome<()> {
        if delivery.answer.rows.num_rows() == 0 {
            return Ok(());
        }
        let rows = dated(&delivery.answer).map_err(|error| self.error(error))?;
        match self.is_parquet {
            true => self.append_parquet(&rows),
            false => self.append_csv(&rows),
        }
    }

    fn open(&self) -> Outcome<File> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .mode(0o600)
            .open(&self.path);
        file.map_err(|error| self.error(error))
    }

    fn append_csv(&self, rows: &RecordBatch) -> Outcome<()> {
        let mut file = self.open()?;
        let mut header = String::new();
        let read = BufReader::new(&file).read_line(&mut header);
        read.map_err(|error| self.error(error))?;
        let bytes = csv(rows, header.is_empty()).map_err(|error| self.error(error))?;
        if !header.is_empty() {
            let empty = RecordBatch::new_empty(rows.schema());
            let expected = csv(&empty, true).map_err(|error| self.error(error))?;
            if header.as_bytes() != expected {
                let expected = String::from_utf8_lossy(&expected);
                return Err(self.other_columns(header.trim_end(), expected.trim_end()));
            }
        }
        // In one piece, so that a reader sees whole rows.
        file.write_all(&bytes).map_err(|error| self.error(error))
    }

    /// The rows that the file has.
    fn former(&self) -> Outcome<Vec<RecordBatch>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.error(error)),
        };
        let reader = ParquetRecordBatchReaderBuilder::try_new(file);
        let reader = reader.and_then(ParquetRecordBatchReaderBuilder::build);
        let reader = reader.map_err(|error| self.error(error))?;
        let rows: Result<Vec<RecordBatch>, _> = reader.collect();
        rows.map_err(|error| self.error(error))
    }

    fn append_parquet(&self, rows: &RecordBatch) -> Outcome<()> {
        let former = self.former()?;
        let columns = |rows: &RecordBatch| {
            let schema = rows.schema();
            let fields = schema.fields().iter();
            let fields: Vec<_> = fields
                .map(|field| format!("{} {}", field.name(), field.data_type()))
                .collect();
            fields.join(", ")
        };
        if let Some(first) = former.first()
            && columns(first) != columns(rows)
        {
            return Err(self.other_columns(&columns(first), &columns(rows)));
        }
        let bytes = parquet(&former, rows).map_err(|error| self.error(error))?;
        let written = files::write_private_with(&self.path, |file| file.write_all(&bytes));
        written.map_err(|error| self.error(error))
    }
}

/// The rows of an answer, behind a column with the moment of its question.
fn dated(answer: &Answer) -> datafusion::error::Result<RecordBatch> {
    let zone = Some(TIME_TYPE_ZONE.into());
    let moment = Field::new(
        ASKED,
        DataType::Timestamp(TimeUnit::Millisecond, zone),
        false,
    );
    let moments = vec![answer.asked.unix_ms(); answer.rows.num_rows()];
    let moments = TimestampMillisecondArray::from(moments).with_timezone(TIME_TYPE_ZONE);
    let moments: ArrayRef = Arc::new(moments);
    let schema = answer.rows.schema();
    let mut fields = vec![Arc::new(moment)];
    fields.extend(schema.fields().iter().cloned());
    let mut columns = vec![moments];
    columns.extend(answer.rows.columns().iter().cloned());
    Ok(RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns,
    )?)
}

fn csv(rows: &RecordBatch, with_header: bool) -> datafusion::error::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = WriterBuilder::new()
        .with_header(with_header)
        .build(&mut bytes);
    writer.write(rows)?;
    drop(writer);
    Ok(bytes)
}

fn parquet(former: &[RecordBatch], rows: &RecordBatch) -> datafusion::error::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), None)?;
    for batch in former {
        // The file's own notes about its columns may differ.
        let columns = batch.columns().to_vec();
        writer.write(&RecordBatch::try_new(rows.schema(), columns)?)?;
    }
    writer.write(rows)?;
    writer.close()?;
    Ok(bytes)
}
