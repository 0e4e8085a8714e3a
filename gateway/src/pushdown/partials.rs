//! The table of partial answers: what the server computed for each device and period, decrypted here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use tfhe_sbc_query::scope::{Grouping, MAX_GROUPS};
use tfhe_sbc_transport::client::CallOff;
use tfhe_sbc_transport::human::{Bytes, count};
use tfhe_sbc_upload::moments::Span;

use super::compute::{Estimate, PartialRow, answers, estimate};
use super::measures::{BUCKET, DEVICE, Measure, ROWS};
use super::{Filters, Reason};
use crate::catalogue::{Snapshot, Upload};
use crate::error::{GatewayError, code};
use crate::predicates::Range;
use crate::serve::Gateway;
use crate::tables::{Readings, TIME_TYPE_ZONE, time_type};

/// The most devices that one request may name.
const MOST_NAMES: usize = 64;

/// The uploads of a device.
type DeviceUploads = (Arc<str>, Vec<Arc<Upload>>);

/// Devices whose readings have the same definitions, and which are asked about together.
#[derive(Clone, Debug)]
pub(super) struct Portion {
    pub(super) class: usize,
    pub(super) devices: Vec<Arc<str>>,
    /// Their uploads that may have rows of the time.
    pub(super) uploads: Vec<Arc<Upload>>,
    /// Whether these are all devices of the server.
    pub(super) is_everything: bool,
}

impl Portion {
    /// Returns the portions of the devices that filters choose.
    pub(super) fn of(
        readings: &Readings,
        filters: &Filters,
    ) -> Result<std::result::Result<Vec<Self>, Reason>> {
        if filters.range.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let uploads = readings.uploads(&filters.devices, filters.range)?;
        let mut of_devices: BTreeMap<Arc<str>, Vec<Arc<Upload>>> = BTreeMap::new();
        for upload in uploads {
            let device = Arc::clone(&upload.device);
            of_devices.entry(device).or_default().push(upload);
        }
        let mut of_classes: BTreeMap<usize, Vec<DeviceUploads>> = BTreeMap::new();
        for (device, uploads) in of_devices {
            let classes: BTreeSet<usize> = uploads.iter().map(|upload| upload.class).collect();
            // The server selects uploads by device and time, whatever their columns are.
            let all = readings.snapshot.of_device(&device);
            let others = all
                .filter(|upload| upload.meets(filters.range.since, filters.range.until))
                .any(|upload| !classes.contains(&upload.class));
            match classes.first() {
                Some(class) if classes.len() == 1 && !others => {
                    of_classes
                        .entry(*class)
                        .or_default()
                        .push((device, uploads));
                }
                _ => {
                    return Ok(Err(format!(
                        "the definitions of {device} have changed in this time: ask about the times before and after separately"
                    )));
                }
            }
        }
        let all = readings.snapshot.devices.len();
        let mut portions = Vec::new();
        for (class, devices) in of_classes {
            let is_everything = devices.len() == all;
            let most = match is_everything {
                true => all,
                false => MOST_NAMES,
            };
            for devices in devices.chunks(most.max(1)) {
                portions.push(Self {
                    class,
                    devices: devices
                        .iter()
                        .map(|(device, _)| Arc::clone(device))
                        .collect(),
                    uploads: devices
                        .iter()
                        .flat_map(|(_, uploads)| uploads)
                        .cloned()
                        .collect(),
                    is_everything,
                });
            }
        }
        Ok(Ok(portions))
    }

    /// The span of time of the uploads, as far as they are in the range.
    pub(super) fn span(&self, range: Range) -> Option<Span> {
        let ends = self.uploads.iter().filter_map(|upload| upload.span());
        let span = Span::of_moments(ends.flat_map(|span| [span.first, span.last]))?;
        Some(Span {
            first: range
                .since
                .map_or(span.first, |since| since.max(span.first)),
            last: range.until.map_or(span.last, |until| until.min(span.last)),
        })
    }

    /// The most groups that there can be.
    pub(super) fn groups(&self, by: Grouping, range: Range) -> u64 {
        let devices = match by.device {
            true => self.devices.len() as u64,
            false => 1,
        };
        let periods = match (by.period, self.span(range)) {
            (Some(period), Some(span)) => period.count_in(span),
            (Some(_), None) => self.uploads.iter().map(|upload| upload.summary.rows).sum(),
            (None, _) => 1,
        };
        devices.saturating_mul(periods)
    }
}

/// The table.
pub(super) struct Partials {
    asked: Arc<Asked>,
    schema: SchemaRef,
}

/// What is asked of the server.
pub(super) struct Asked {
    pub(super) gateway: Arc<Gateway>,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) portions: Vec<Portion>,
    pub(super) range: Range,
    pub(super) by: Grouping,
    pub(super) measures: Vec<Measure>,
    /// The most bootstraps; 0 leaves the limit to the server.
    pub(super) max_bootstraps: u64,
    estimate: OnceLock<std::result::Result<Estimate, String>>,
}

impl fmt::Debug for Partials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Partials")
    }
}

impl Partials {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        snapshot: Arc<Snapshot>,
        portions: Vec<Portion>,
        range: Range,
        by: Grouping,
        measures: Vec<Measure>,
        max_bootstraps: u64,
    ) -> Self {
        let mut fields = Vec::new();
        if by.device {
            fields.push(Field::new(DEVICE, DataType::Utf8, false));
        }
        if by.period.is_some() {
            fields.push(Field::new(BUCKET, time_type(), false));
        }
        fields.push(Field::new(ROWS, DataType::Int64, false));
        for (place, measure) in measures.iter().enumerate() {
            fields.extend(measure.fields(place));
        }
        Self {
            asked: Arc::new(Asked {
                gateway,
                snapshot,
                portions,
                range,
                by,
                measures,
                max_bootstraps,
                estimate: OnceLock::new(),
            }),
            schema: Arc::new(Schema::new(fields)),
        }
    }

    /// Returns a device with rows whose labels are no times.
    pub(super) fn without_times(&self) -> Option<&str> {
        let uploads = self
            .asked
            .portions
            .iter()
            .flat_map(|portion| &portion.uploads);
        let mut without = uploads.filter(|upload| upload.span().is_none());
        without.next().map(|upload| &*upload.device)
    }

    /// Returns the number of groups if it is more than the server answers at once.
    pub(super) fn too_many_groups(&self) -> Option<u64> {
        let asked = &self.asked;
        let groups = asked
            .portions
            .iter()
            .map(|portion| portion.groups(asked.by, asked.range));
        groups.max().filter(|groups| *groups > MAX_GROUPS as u64)
    }
}

#[async_trait]
impl TableProvider for Partials {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(places) => Arc::new(self.schema.project(places)?),
            None => Arc::clone(&self.schema),
        };
        Ok(Arc::new(AskedOfServer {
            asked: Arc::clone(&self.asked),
            properties: Arc::new(PlanProperties::new(
                EquivalenceProperties::new(Arc::clone(&schema)),
                Partitioning::UnknownPartitioning(1),
                EmissionType::Final,
                Boundedness::Bounded,
            )),
            schema,
        }))
    }
}

/// The step of a plan that asks the server and decrypts the answers.
struct AskedOfServer {
    asked: Arc<Asked>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl fmt::Debug for AskedOfServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskedOfServer")
    }
}

impl Asked {
    /// What it would take, computed once.
    fn estimate(&self) -> std::result::Result<Estimate, String> {
        let estimated = self.estimate.get_or_init(|| {
            // Explanations are written on a thread of the runtime, where nothing may block by a runtime of its own.
            let estimated = std::thread::scope(|scope| scope.spawn(|| estimate(self)).join());
            match estimated {
                Ok(estimated) => estimated.map_err(|error| error.to_string()),
                Err(_) => Err("the estimate failed".to_owned()),
            }
        });
        estimated.clone()
    }

    /// Refuses what takes more bootstraps than the session permits.
    fn check_limit(&self) -> Result<()> {
        if self.max_bootstraps == 0 {
            return Ok(());
        }
        let estimate = self
            .estimate()
            .map_err(|error| GatewayError::new(code::DATA, error))?;
        if estimate.bootstraps <= self.max_bootstraps {
            return Ok(());
        }
        let error = GatewayError::new(
            code::LIMIT,
            format_args!(
                "the statement takes {} bootstraps, more than tfhe_sbc.max_bootstraps = {}",
                count(estimate.bootstraps),
                count(self.max_bootstraps)
            ),
        );
        Err(error
            .advise("ask about fewer rows, or SET tfhe_sbc.max_bootstraps; EXPLAIN shows what takes them")
            .external())
    }
}

impl DisplayAs for AskedOfServer {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = &self.asked;
        let questions: Vec<String> = asked
            .measures
            .iter()
            .map(|measure| measure.question().public_text())
            .collect();
        let devices: usize = asked
            .portions
            .iter()
            .map(|portion| portion.devices.len())
            .sum();
        write!(f, "AskedOfServer: questions=[{}]", questions.join(", "))?;
        if !asked.by.is_none() {
            write!(f, ", by={}", asked.by)?;
        }
        write!(f, ", devices={}", count(devices as u64))?;
        if let Some(since) = asked.range.since {
            write!(f, ", since={since}")?;
        }
        if let Some(until) = asked.range.until {
            write!(f, ", until={until}")?;
        }
        match asked.estimate() {
            Err(error) => write!(f, ", cost unknown: {error}"),
            Ok(estimate) => {
                let Estimate {
                    groups,
                    cached,
                    bootstraps,
                    seconds,
                    bytes,
                } = estimate;
                write!(f, ", groups={}", count(groups))?;
                if cached > 0 {
                    write!(f, " ({} in the cache)", count(cached))?;
                }
                write!(f, ", bootstraps={}", count(bootstraps))?;
                if let Some(seconds) = seconds {
                    let seconds = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
                    write!(f, ", seconds={:.1}", seconds.as_secs_f64())?;
                }
                write!(f, ", bytes={}", Bytes(bytes))
            }
        }
    }
}

impl ExecutionPlan for AskedOfServer {
    fn name(&self) -> &'static str {
        "AskedOfServer"
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
        let (asked, schema) = (Arc::clone(&self.asked), Arc::clone(&self.schema));
        // Whoever drops the stream calls the questions off.
        let guard = Guard(CallOff::default());
        let answered = async move {
            let call_off = guard.0.clone();
            let gateway = Arc::clone(&asked.gateway);
            // The server computes one question after the other, and refuses those that wait in a long queue.
            let turn = gateway.turns.acquire().await;
            let answered = tokio::task::spawn_blocking(move || {
                asked.check_limit()?;
                let rows = answers(&asked, &call_off)?;
                batch(&rows, &asked.measures, &schema)
            });
            let answered = answered.await.map_err(GatewayError::internal)?;
            drop((turn, guard));
            answered
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            futures::stream::once(answered),
        )))
    }
}

struct Guard(CallOff);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.call_off();
    }
}

/// Returns the columns of a schema of partial answers.
fn batch(rows: &[PartialRow], measures: &[Measure], schema: &SchemaRef) -> Result<RecordBatch> {
    let whole = |value: Option<u64>| Some(i64::try_from(value?).unwrap_or(i64::MAX));
    let microseconds = |moment: Option<tfhe_sbc_upload::moments::Moment>| {
        moment.and_then(|moment| moment.unix_ms().checked_mul(1000))
    };
    let array = |field: &Arc<Field>| -> ArrayRef {
        let name = field.name().as_str();
        match name {
            DEVICE => {
                let names: StringArray = rows
                    .iter()
                    .map(|row| Some(row.device.as_deref().unwrap_or_default()))
                    .collect();
                return Arc::new(names);
            }
            BUCKET => {
                let times: TimestampMicrosecondArray =
                    rows.iter().map(|row| microseconds(row.from)).collect();
                return Arc::new(times.with_timezone(TIME_TYPE_ZONE));
            }
            ROWS => {
                let counts: Int64Array = rows.iter().map(|row| whole(Some(row.rows))).collect();
                return Arc::new(counts);
            }
            _ => {}
        }
        let places = measures.iter().enumerate();
        let mut places = places.filter(|(place, measure)| {
            measure.value(*place) == name || measure.beside(*place).as_deref() == Some(name)
        });
        let Some((place, measure)) = places.next() else {
            return datafusion::arrow::array::new_null_array(field.data_type(), rows.len());
        };
        let cells = rows
            .iter()
            .map(|row| row.cells.get(place).copied().unwrap_or_default());
        match (measure.value(place) == name, field.data_type()) {
            (true, DataType::Int64) => {
                let counts: Int64Array = cells.map(|cell| Some(cell.value? as i64)).collect();
                Arc::new(counts)
            }
            (true, _) => {
                let values: Float64Array = cells.map(|cell| cell.value).collect();
                Arc::new(values)
            }
            (false, DataType::Int64) => {
                let counts: Int64Array = cells.map(|cell| whole(cell.present)).collect();
                Arc::new(counts)
            }
            (false, _) => {
                let times: TimestampMicrosecondArray =
                    cells.map(|cell| microseconds(cell.time)).collect();
                Arc::new(times.with_timezone(TIME_TYPE_ZONE))
            }
        }
    };
    let arrays: Vec<ArrayRef> = schema.fields().iter().map(array).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options);
    Ok(batch?)
}
