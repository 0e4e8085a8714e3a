//! The tables of what is not encrypted: devices, uploads, and the questions that were asked.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use tfhe_sbc_upload::moments::Moment;

use super::readings::TIME_TYPE_ZONE;
use crate::catalogue::Snapshot;
use crate::journal::Entry;

/// Returns a table of these columns.
fn table(columns: Vec<(&str, ArrayRef)>) -> Result<Arc<dyn TableProvider>> {
    let fields = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
}

fn texts<S: AsRef<str>>(values: impl Iterator<Item = S>) -> ArrayRef {
    let array: StringArray = values.map(Some).collect();
    Arc::new(array)
}

fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    let array: Int64Array = values
        .map(|value| Some(i64::try_from(value).unwrap_or(i64::MAX)))
        .collect();
    Arc::new(array)
}

fn times(values: impl Iterator<Item = Option<Moment>>) -> ArrayRef {
    let array: TimestampMicrosecondArray = values
        .map(|moment| moment.and_then(|moment| moment.unix_ms().checked_mul(1000)))
        .collect();
    Arc::new(array.with_timezone(TIME_TYPE_ZONE))
}

/// The devices, with what the server has of each.
pub(super) fn devices(snapshot: &Snapshot) -> Result<Arc<dyn TableProvider>> {
    let names = || snapshot.devices.keys();
    let total = |of: fn(&crate::catalogue::Upload) -> u64| {
        numbers(names().map(move |name| {
            let uploads = snapshot.of_device(name);
            uploads
                .map(|upload| of(upload))
                .fold(0, u64::saturating_add)
        }))
    };
    let latest = |name: &Arc<str>| snapshot.of_device(name).last();
    table(vec![
        ("device", texts(names().map(|name| &**name))),
        (
            "readings",
            texts(names().map(|name| {
                let class = latest(name).map_or(0, |upload| upload.class);
                snapshot.table_of(class)
            })),
        ),
        ("uploads", total(|_| 1)),
        ("rows", total(|upload| upload.summary.rows)),
        ("bytes", total(|upload| upload.bytes)),
        (
            "first_time",
            times(names().map(|name| {
                let spans = snapshot.of_device(name).filter_map(|upload| upload.span());
                spans.map(|span| span.first).min()
            })),
        ),
        (
            "last_time",
            times(names().map(|name| {
                let spans = snapshot.of_device(name).filter_map(|upload| upload.span());
                spans.map(|span| span.last).max()
            })),
        ),
        (
            "columns",
            texts(names().map(|name| {
                latest(name).map_or(String::new(), |upload| upload.summary.columns.join(", "))
            })),
        ),
    ])
}

/// The uploads.
pub(super) fn uploads(snapshot: &Snapshot) -> Result<Arc<dyn TableProvider>> {
    let all = || snapshot.uploads.iter();
    table(vec![
        ("id", texts(all().map(|upload| upload.id.to_string()))),
        ("device", texts(all().map(|upload| &*upload.device))),
        (
            "stored",
            times(all().map(|upload| upload.created_at.parse().ok())),
        ),
        (
            "first_time",
            times(all().map(|upload| upload.span().map(|span| span.first))),
        ),
        (
            "last_time",
            times(all().map(|upload| upload.span().map(|span| span.last))),
        ),
        ("rows", numbers(all().map(|upload| upload.summary.rows))),
        ("bytes", numbers(all().map(|upload| upload.bytes))),
        (
            "columns",
            texts(all().map(|upload| upload.summary.columns.join(", "))),
        ),
    ])
}

/// The questions that this gateway has asked.
pub(super) fn queries(entries: &[Entry]) -> Result<Arc<dyn TableProvider>> {
    let all = || entries.iter();
    let seconds: Float64Array = all().map(|entry| Some(entry.seconds)).collect();
    table(vec![
        ("asked", times(all().map(|entry| Some(entry.asked)))),
        ("questions", texts(all().map(|entry| &entry.what))),
        ("devices", numbers(all().map(|entry| entry.devices))),
        ("groups", numbers(all().map(|entry| entry.groups))),
        ("cached_groups", numbers(all().map(|entry| entry.cached))),
        ("bootstraps", numbers(all().map(|entry| entry.bootstraps))),
        ("seconds", Arc::new(seconds)),
        ("bytes", numbers(all().map(|entry| entry.bytes))),
    ])
}
