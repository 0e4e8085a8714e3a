//! The table of the catalogue: the store of a fleet, its lists and selections, its bytes and its speed.

mod fleet;
// What tests of migration begin with, too.
#[path = "../../service/tests/it/common/former.rs"]
pub(crate) mod former;
mod ingest;
mod questions;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_service::store::{Listed, Store};
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_upload::fresh_seeds;

use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::timing::{Work, interleave};

use fleet::Fleet;

/// The uploads that the rows are about, unless others are asked for.
pub(crate) const UPLOADS: u64 = 100_000;

/// Measures all rows, on the store of a fleet that has uploaded so often.
pub(crate) fn rows(budget: Duration, uploads: u64) -> Result<Vec<Row>, BenchError> {
    let fleet = Fleet::of_uploads(uploads);
    let secret = SecretKey::generate(MESSAGE_2_CARRY_2.validate()?, &mut fresh_seeds()?)?;
    let directory = tempfile::tempdir()?;
    let store = directory.path().join("store");
    let started = Instant::now();
    fleet::fill(&store, fleet, &secret, |done| {
        if done.is_multiple_of(10_000) {
            eprintln!("{done} of {} uploads", fleet.uploads());
        }
    })?;
    eprintln!("filled in {:.1} s", started.elapsed().as_secs_f64());
    let mut rows = asked(&store, fleet, budget)?;
    rows.push(bytes(&store, fleet)?);
    rows.extend(questions::rows(&store, fleet, &secret)?);
    rows.push(ingest::row(&secret, uploads)?);
    Ok(rows)
}

/// Rows about lists and selections.
fn asked(directory: &Path, fleet: Fleet, budget: Duration) -> Result<Vec<Row>, BenchError> {
    let store = Store::open(directory)?;
    let hours = fleet.hours.min(24);
    // A day in the middle.
    let first = (fleet.hours - hours) / 2;
    let minute = |hour: u64| fleet::moment(hour * fleet::ROWS);
    let day = Filter {
        names: fleet::name(fleet.devices / 2).parse()?,
        since: Some(minute(first)),
        until: Some(minute(first + hours)),
        ..Filter::ALL
    };
    let page = Filter {
        limit: Some(50),
        ..Filter::ALL
    };
    let mut select = Work {
        name: "the selection of a day of a board".to_owned(),
        run: || Ok(store.select(&day, u64::MAX)?),
        check: |selected: Vec<_>| Ok(selected.len() as u64 == hours),
    };
    let mut list = Work {
        name: "the first page of the list".to_owned(),
        run: || Ok(store.list(&page)?),
        check: |listed: Listed| Ok(listed.readings.len() as u64 == fleet.uploads().min(50)),
    };
    let [select, list] = interleave([(&mut select, 1), (&mut list, 1)], budget / 10)?;
    let uploads = fleet.uploads();
    Ok(vec![
        Row::milliseconds(
            "select_ms",
            select,
            format!("The uploads of one day of one board, out of {uploads}"),
        ),
        Row::milliseconds(
            "list_first_page_ms",
            list,
            format!("The last 50 uploads, out of {uploads}"),
        ),
    ])
}

/// The row about the bytes on the disk.
fn bytes(store: &Path, fleet: Fleet) -> Result<Row, BenchError> {
    let bytes = on_disk(store)?;
    let note = format!(
        "Everything on the disk, of {} uploads of {} rows of {} compact columns of {} bits for means",
        fleet.uploads(),
        fleet::ROWS,
        fleet::COLUMNS.len(),
        fleet::BITS
    );
    let each = bytes as f64 / fleet.readings() as f64;
    Ok(Row::figures(
        "store_bytes_per_reading",
        Unit::Bytes,
        each,
        None,
        note,
    ))
}

/// The bytes that a directory takes on the disk, in whole blocks.
fn on_disk(directory: &Path) -> Result<u64, BenchError> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += match metadata.is_dir() {
            true => on_disk(&entry.path())?,
            false => allocated(&metadata),
        };
    }
    Ok(bytes)
}

#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata) * 512
}

#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len().next_multiple_of(4096)
}
