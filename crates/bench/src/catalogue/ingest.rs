//! Uploads a second, beside those of the former store, which had a file for each upload.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_service::store::Store;
use tfhe_sbc_upload::short::Definitions;

use super::fleet::{AT_ONCE, Fleet, Made, Maker};
use super::former::FormerStore;
use crate::error::BenchError;
use crate::report::{Row, Unit};

/// The most uploads of a run.
const UPLOADS: u64 = 4000;
/// The runs of each store, which take turns.
const RUNS: usize = 5;

/// The row.
pub(super) fn row(secret: &SecretKey, uploads: u64) -> Result<Row, BenchError> {
    let fleet = Fleet::of_uploads(uploads.min(UPLOADS));
    let mut maker = Maker::new(secret)?;
    let numbers = 0..fleet.uploads();
    let made = numbers.map(|number| maker.upload(number % fleet.devices, number / fleet.devices));
    let made: Vec<Made> = made.collect::<Result<_, _>>()?;
    let directory = tempfile::tempdir()?;
    let (mut ours, mut before) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let path = |name: &str| directory.path().join(format!("{name}-{run}"));
        let one = || ours_of(&made, &path("ours"));
        let other = || before_of(&made, &path("before"));
        // The order changes every time.
        match run.is_multiple_of(2) {
            true => {
                ours.push(one()?);
                before.push(other()?);
            }
            false => {
                before.push(other()?);
                ours.push(one()?);
            }
        }
    }
    let rate = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        made.len() as f64 / times[times.len() / 2].as_secs_f64()
    };
    let (ours, before) = (rate(&mut ours), rate(&mut before));
    let note = format!(
        "Uploads a second, {ours:.0}, divided by those of a store with a file for each upload, {before:.0}: {} uploads over {AT_ONCE} \
         connections, the medians of {RUNS} runs",
        made.len()
    );
    Ok(Row::figures(
        "ingest_ratio_to_before",
        Unit::One,
        ours / before,
        None,
        note,
    ))
}

fn ours_of(made: &[Made], directory: &Path) -> Result<Duration, BenchError> {
    let store = Store::open(directory)?;
    each(made, |made| {
        let definitions = Definitions::of(&made.upload);
        let (upload, device) = (&made.upload, &made.device);
        store.put(upload, device, &made.summary, definitions.as_ref())?;
        Ok(())
    })
}

fn before_of(made: &[Made], directory: &Path) -> Result<Duration, BenchError> {
    let store = FormerStore::create(directory)?;
    each(made, |made| {
        let (upload, device) = (&made.upload, &made.device);
        Ok(store.put(upload, device, &made.summary, 1_800_000_000)?)
    })
}

/// Returns how long it takes to store all uploads, over many connections at once.
fn each(
    made: &[Made],
    put: impl Fn(&Made) -> Result<(), BenchError> + Sync,
) -> Result<Duration, BenchError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), BenchError> {
        while let Some(made) = made.get(next.fetch_add(1, Ordering::Relaxed)) {
            put(made)?;
        }
        Ok(())
    };
    let started = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(BenchError::WrongAnswer("a thread that stores".to_owned())))
        });
        joined.collect::<Result<(), BenchError>>()
    })?;
    Ok(started.elapsed())
}
