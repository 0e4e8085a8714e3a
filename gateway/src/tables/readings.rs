//! The table of readings. A scan of it fetches uploads and decrypts them here; aggregates that the server can compute never come to a
//! scan, because [`crate::pushdown`] replaces them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use tfhe_sbc_columns::decrypt::{DecryptedUpload, Reading};
use tfhe_sbc_transport::human::{Bytes, count};
use tfhe_sbc_upload::moments::moments_of;

use crate::catalogue::{Snapshot, TableColumn, Upload};
use crate::error::{GatewayError, code};
use crate::journal::{Entry, now};
use crate::predicates::{self, DEVICE, Range, TIME};
use crate::serve::Gateway;

/// The zone of the times of rows.
pub(crate) const TIME_TYPE_ZONE: &str = "+00:00";

/// The type of the times of rows.
pub(crate) fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(TIME_TYPE_ZONE.into()))
}

/// The readings of all devices, or of those with the same definitions of columns.
pub(crate) struct Readings {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) snapshot: Arc<Snapshot>,
    /// The class of the devices; `None` for all.
    pub(crate) class: Option<usize>,
    pub(crate) columns: Vec<TableColumn>,
    schema: SchemaRef,
    /// The reasons why aggregates were not left to the server, for explanations.
    reasons: Mutex<Vec<String>>,
}

impl fmt::Debug for Readings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readings")
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}

impl Readings {
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        snapshot: Arc<Snapshot>,
        class: Option<usize>,
    ) -> Self {
        let columns = snapshot.columns(class);
        let mut fields = vec![
            Field::new(DEVICE, DataType::Utf8, false),
            Field::new(TIME, time_type(), true),
        ];
        fields.extend(columns.iter().map(|column| {
            let unit = [("unit".to_owned(), column.unit.clone())];
            Field::new(&column.name, DataType::Float64, true).with_metadata(unit.into())
        }));
        Self {
            gateway,
            snapshot,
            class,
            columns,
            schema: Arc::new(Schema::new(fields)),
            reasons: Mutex::default(),
        }
    }

    /// Notes why an aggregate of the table is not left to the server.
    pub(crate) fn note(&self, reason: String) {
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }

    fn reasons(&self) -> String {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.join("; ")
    }

    /// Returns the uploads of the table that may have rows of such devices and times.
    pub(crate) fn uploads(&self, conditions: &[Expr], range: Range) -> Result<Vec<Arc<Upload>>> {
        let names = predicates::devices(self.snapshot.devices.keys(), conditions)?;
        let mut found = Vec::new();
        for name in &names {
            let of_device = self.snapshot.of_device(name);
            let mut of_device: Vec<Arc<Upload>> = of_device
                .filter(|upload| self.class.is_none_or(|class| upload.class == class))
                .filter(|upload| upload.meets(range.since, range.until))
                .cloned()
                .collect();
            of_device.sort_by_key(|upload| upload.span().map(|span| span.first));
            found.extend(of_device);
        }
        Ok(found)
    }
}

#[async_trait]
impl TableProvider for Readings {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let pushed = filters.iter().map(|filter| {
            let helps = predicates::is_of(filter, DEVICE) || predicates::range(filter).is_some();
            match helps {
                true => TableProviderFilterPushDown::Inexact,
                false => TableProviderFilterPushDown::Unsupported,
            }
        });
        Ok(pushed.collect())
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let reasons = self.reasons();
        if self.gateway.aggregates_only {
            let error = GatewayError::new(
                code::DENIED,
                "this gateway decrypts aggregates only, and the statement needs decrypted readings",
            );
            let hint = match reasons.is_empty() {
                true => "ask for aggregates, such as avg or max, by device and time".to_owned(),
                false => reasons,
            };
            return Err(error.advise(hint).external());
        }
        let mut range = Range::default();
        let mut conditions = Vec::new();
        for filter in filters {
            match predicates::range(filter) {
                Some(limits) => range = range.and(limits),
                None if predicates::is_of(filter, DEVICE) => conditions.push(filter.clone()),
                None => {}
            }
        }
        let uploads = self.uploads(&conditions, range)?;
        let schema = match projection {
            Some(places) => Arc::new(self.schema.project(places)?),
            None => Arc::clone(&self.schema),
        };
        let fetch = Fetch {
            gateway: Arc::clone(&self.gateway),
            columns: self.columns.clone(),
            uploads,
            range,
            limit,
            reasons,
            properties: Arc::new(PlanProperties::new(
                EquivalenceProperties::new(Arc::clone(&schema)),
                Partitioning::UnknownPartitioning(1),
                EmissionType::Incremental,
                Boundedness::Bounded,
            )),
            schema,
        };
        Ok(Arc::new(fetch))
    }
}

/// Uploads that are fetched and decrypted here.
struct Fetch {
    gateway: Arc<Gateway>,
    columns: Vec<TableColumn>,
    uploads: Vec<Arc<Upload>>,
    range: Range,
    limit: Option<usize>,
    reasons: String,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fetch")
    }
}

impl DisplayAs for Fetch {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.uploads.iter().map(|upload| upload.bytes).sum();
        write!(
            f,
            "FetchedReadings: decrypted here, uploads={}, bytes={}, bootstraps=0",
            count(self.uploads.len() as u64),
            Bytes(bytes)
        )?;
        match self.reasons.as_str() {
            "" => Ok(()),
            reasons => write!(f, ", because {reasons}"),
        }
    }
}

impl ExecutionPlan for Fetch {
    fn name(&self) -> &'static str {
        "FetchedReadings"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut builder = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let sender = builder.tx();
        let gateway = Arc::clone(&self.gateway);
        let rows = Rows {
            columns: self.columns.clone(),
            range: self.range,
            schema: Arc::clone(&self.schema),
        };
        let (uploads, limit) = (self.uploads.clone(), self.limit);
        builder.spawn_blocking(move || {
            let started = std::time::Instant::now();
            let mut decryption = gateway.owner.decryption()?;
            let (mut sent, mut bytes, mut fetched) = (0, 0, 0);
            for upload in &uploads {
                if limit.is_some_and(|limit| sent >= limit) {
                    break;
                }
                let Some(decrypted) = gateway.owner.fetch(&mut decryption, upload.id)? else {
                    continue;
                };
                fetched += 1;
                bytes += upload.bytes;
                let batch = rows.batch(&upload.device, &decrypted)?;
                sent += batch.num_rows();
                // Nobody waits for more rows.
                if sender.blocking_send(Ok(batch)).is_err() {
                    break;
                }
            }
            gateway.journal.add(Entry {
                asked: now(),
                what: format!("uploads fetched: {fetched}"),
                devices: 0,
                groups: 0,
                cached: 0,
                bootstraps: 0,
                seconds: started.elapsed().as_secs_f64(),
                bytes,
            });
            Ok(())
        });
        Ok(builder.build())
    }
}

/// The rows that are taken of uploads.
struct Rows {
    columns: Vec<TableColumn>,
    range: Range,
    schema: SchemaRef,
}

impl Rows {
    /// Returns the rows of an upload that are in the range.
    fn batch(&self, device: &str, upload: &DecryptedUpload) -> Result<RecordBatch> {
        let DecryptedUpload { metadata, readings } = upload;
        let is_in = |moment| match moment {
            None => self.range.is_all(),
            Some(moment) => {
                self.range.since.is_none_or(|since| moment >= since)
                    && self.range.until.is_none_or(|until| moment < until)
            }
        };
        let chosen: Vec<(usize, Option<i64>)> = moments_of(&metadata.rows)
            .enumerate()
            .filter(|(_, moment)| is_in(*moment))
            .map(|(row, moment)| {
                let time = moment.and_then(|moment| moment.unix_ms().checked_mul(1000));
                (row, time)
            })
            .collect();
        let array = |field: &Arc<Field>| -> ArrayRef {
            match field.name().as_str() {
                DEVICE => {
                    let names: StringArray = chosen.iter().map(|_| Some(device)).collect();
                    Arc::new(names)
                }
                TIME => {
                    let times: TimestampMicrosecondArray =
                        chosen.iter().map(|(_, time)| *time).collect();
                    Arc::new(times.with_timezone(TIME_TYPE_ZONE))
                }
                name => {
                    let column = self.columns.iter().find(|column| column.name == name);
                    let found = column.and_then(|column| metadata.column(&column.reading));
                    let values = found.and_then(|(place, _)| readings.get(place));
                    let value = |row: usize| values?.get(row).copied().and_then(Reading::value);
                    let values: Float64Array = chosen.iter().map(|(row, _)| value(*row)).collect();
                    Arc::new(values)
                }
            }
        };
        let arrays: Vec<ArrayRef> = self.schema.fields().iter().map(array).collect();
        let options = datafusion::arrow::record_batch::RecordBatchOptions::new()
            .with_row_count(Some(chosen.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        batch.map_err(DataFusionError::from)
    }
}
