//! Answers to statements that no client of PostgreSQL's protocol has sent: those of the gateway's page and of `watch`.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit, TimestampNanosecondType};
use datafusion::arrow::json::writer::{JsonArray, WriterBuilder};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::DFParserBuilder;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use serde_json::{Map, Value};
use tfhe_sbc_upload::moments::Moment;

use crate::error::{GatewayError, code};
use crate::journal::now;
use crate::names::postgres_name;

/// The rows that a statement gave.
pub(crate) struct Answer {
    /// The moment of the question.
    pub(crate) asked: Moment,
    /// The rows, under the names that PostgreSQL would give their columns.
    pub(crate) rows: RecordBatch,
}

/// The way in which a column is shown and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A text, such as a device's name.
    Label,
    /// The time of a row.
    Time,
    /// A number or a truth value.
    Value,
    /// Anything else, such as an interval.
    Other,
}

impl Role {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Label,
            DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Self::Time,
            DataType::Boolean => Self::Value,
            other if other.is_numeric() => Self::Value,
            _ => Self::Other,
        }
    }

    /// The role's name on the page.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Time => "time",
            Self::Value => "value",
            Self::Other => "other",
        }
    }
}

/// A row, taken apart by the roles of its columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// The names and texts of its labels; a missing one is empty.
    pub(crate) labels: Vec<(String, String)>,
    /// The nanoseconds since 1970 of its first time.
    pub(crate) time: Option<i64>,
    /// The names and numbers of its values, without missing ones; truth values are 0 and 1.
    pub(crate) values: Vec<(String, f64)>,
}

/// Asks a statement that changes nothing, and waits for its rows.
///
/// # Errors
/// If it is no SELECT or EXPLAIN, or cannot be answered.
pub(crate) async fn ask(context: &SessionContext, sql: &str) -> Result<Answer> {
    let asked = now();
    let dialect = PostgreSqlDialect {};
    let mut statements = DFParserBuilder::new(sql)
        .with_dialect(&dialect)
        .build()?
        .parse_statements()?;
    let (Some(statement), true) = (statements.pop_front(), statements.is_empty()) else {
        let error = GatewayError::new("42601", "that is not one statement");
        return Err(error.advise("write one SELECT").external());
    };
    let plan = context.state().statement_to_plan(statement).await?;
    let reads = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    reads.verify_plan(&plan).map_err(|_| {
        let message = "only statements that read are answered";
        let error = GatewayError::new(code::NOT_READ_ONLY, message);
        error.advise("write a SELECT").external()
    })?;
    let frame = context.execute_logical_plan(plan).await?;
    let schema = Arc::clone(frame.schema().inner());
    let batches = frame.collect().await?;
    let rows = match batches.first() {
        Some(first) => concat_batches(&first.schema(), &batches)?,
        None => RecordBatch::new_empty(schema),
    };
    Ok(Answer {
        asked,
        rows: renamed(&rows, sql)?,
    })
}

/// Returns the rows of a statement with the names that PostgreSQL would give the columns. A name that is there already gets a number.
fn renamed(rows: &RecordBatch, sql: &str) -> Result<RecordBatch> {
    let mut used: HashMap<String, u32> = HashMap::new();
    let schema = rows.schema();
    let fields = schema.fields().iter().zip(rows.columns());
    let fields: Vec<Field> = fields
        .map(|(field, column)| {
            let mut name = postgres_name(field.name(), sql, "column");
            let times = used.entry(name.clone()).or_default();
            *times += 1;
            if *times > 1 {
                name = format!("{name}_{times}");
            }
            Field::new(name, column.data_type().clone(), true)
                .with_metadata(field.metadata().clone())
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    let columns = rows.columns().to_vec();
    Ok(RecordBatch::try_new_with_options(
        Arc::new(Schema::new(fields)),
        columns,
        &options,
    )?)
}

impl Answer {
    /// The names and roles of the columns.
    pub(crate) fn columns(&self) -> Vec<(String, Role)> {
        let schema = self.rows.schema();
        let fields = schema.fields().iter();
        fields
            .map(|field| (field.name().clone(), Role::of(field.data_type())))
            .collect()
    }

    /// The unit of a column, where it is known.
    pub(crate) fn unit(&self, name: &str) -> Option<String> {
        let schema = self.rows.schema();
        let (_, field) = schema.column_with_name(name)?;
        let unit = field.metadata().get("unit")?;
        (!unit.is_empty()).then(|| unit.clone())
    }

    /// The rows as objects of JSON, with the names in the order of the columns. Times are texts by RFC 3339, and what is missing is null.
    ///
    /// # Errors
    /// If a column has a type that JSON has no form for.
    pub(crate) fn objects(&self) -> Result<Vec<Map<String, Value>>> {
        if self.rows.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let mut writer = WriterBuilder::new()
            .with_explicit_nulls(true)
            .build::<_, JsonArray>(Vec::new());
        writer.write(&self.rows)?;
        writer.finish()?;
        let rows = serde_json::from_slice(&writer.into_inner());
        rows.map_err(|error| DataFusionError::External(Box::new(error)))
    }

    /// The rows, taken apart.
    ///
    /// # Errors
    /// If a value is too large for its role.
    pub(crate) fn taken_apart(&self) -> Result<Vec<Row>> {
        let mut rows = vec![Row::default(); self.rows.num_rows()];
        for ((name, role), column) in self.columns().into_iter().zip(self.rows.columns()) {
            match role {
                Role::Label => {
                    let texts = cast(column, &DataType::Utf8)?;
                    for (row, text) in rows.iter_mut().zip(texts.as_string::<i32>()) {
                        let text = text.unwrap_or_default().to_owned();
                        row.labels.push((name.clone(), text));
                    }
                }
                Role::Time => {
                    let nanoseconds = DataType::Timestamp(TimeUnit::Nanosecond, None);
                    let times = cast(column, &nanoseconds)?;
                    let times = times.as_primitive::<TimestampNanosecondType>();
                    for (row, time) in rows.iter_mut().zip(times) {
                        row.time = row.time.or(time);
                    }
                }
                Role::Value => {
                    let numbers = cast(column, &DataType::Float64)?;
                    let numbers =
                        numbers.as_primitive::<datafusion::arrow::datatypes::Float64Type>();
                    for (row, number) in rows.iter_mut().zip(numbers) {
                        if let Some(number) = number.filter(|number| number.is_finite()) {
                            row.values.push((name.clone(), number));
                        }
                    }
                }
                Role::Other => {}
            }
        }
        Ok(rows)
    }

    /// The last row of each set of labels, in the order in which the sets first came.
    ///
    /// # Errors
    /// As [`Self::taken_apart`].
    pub(crate) fn last_of_each(&self) -> Result<Vec<Row>> {
        let mut places: HashMap<Vec<(String, String)>, usize> = HashMap::new();
        let mut last: Vec<Row> = Vec::new();
        for row in self.taken_apart()? {
            match places
                .get(&row.labels)
                .and_then(|place| last.get_mut(*place))
            {
                Some(former) if former.time <= row.time => *former = row,
                Some(_) => {}
                None => {
                    places.insert(row.labels.clone(), last.len());
                    last.push(row);
                }
            }
        }
        Ok(last)
    }

    /// The rows that meet a condition on the columns.
    ///
    /// # Errors
    /// If the condition is none, or names other columns.
    pub(crate) async fn filtered(&self, condition: &str) -> Result<Self> {
        let frame = SessionContext::new().read_batch(self.rows.clone())?;
        let condition = frame.parse_sql_expr(condition)?;
        let batches = frame.filter(condition)?.collect().await?;
        Ok(Self {
            asked: self.asked,
            rows: concat_batches(&self.rows.schema(), &batches)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Float64Array, StringArray};

    use super::*;

    fn answer(columns: Vec<(&str, ArrayRef)>) -> Answer {
        let rows = RecordBatch::try_from_iter(columns).unwrap();
        Answer {
            asked: Moment::from_unix_ms(0),
            rows: renamed(&rows, "").unwrap(),
        }
    }

    fn two_columns() -> Answer {
        let devices: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "a"]));
        let means: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None, Some(30.5)]));
        answer(vec![
            ("readings.device", devices),
            ("avg(readings.temperature_c)", Arc::clone(&means)),
            ("avg(readings.humidity_pct)", means),
        ])
    }

    #[test]
    fn columns_have_the_names_of_postgresql() {
        let names = two_columns().columns();
        assert_eq!(
            names,
            [
                ("device".to_owned(), Role::Label),
                ("avg".to_owned(), Role::Value),
                ("avg_2".to_owned(), Role::Value)
            ]
        );
    }

    #[test]
    fn the_last_row_of_each_label_is_kept() {
        let rows = two_columns().last_of_each().unwrap();
        let values: Vec<_> = rows.iter().map(|row| row.values.clone()).collect();
        let named = |name: &str, value| (name.to_owned(), value);
        assert_eq!(
            values,
            [vec![named("avg", 30.5), named("avg_2", 30.5)], vec![]]
        );
    }

    #[test]
    fn rows_are_objects_with_nulls() {
        let rows = two_columns().objects().unwrap();
        let rows = serde_json::to_string(&rows).unwrap();
        assert_eq!(
            rows,
            r#"[{"avg":1.5,"avg_2":1.5,"device":"a"},{"avg":null,"avg_2":null,"device":"b"},{"avg":30.5,"avg_2":30.5,"device":"a"}]"#
        );
    }

    #[tokio::test]
    async fn conditions_choose_rows_and_name_columns() {
        let answer = two_columns();
        let hot = answer.filtered("avg > 30 AND device = 'a'").await.unwrap();
        assert_eq!(hot.rows.num_rows(), 1);
        let none = answer.filtered("avg > 100").await.unwrap();
        assert_eq!(none.rows.num_rows(), 0);
        let error = answer.filtered("mean > 30").await.err().unwrap();
        assert!(error.to_string().contains("mean"), "{error}");
    }
}
