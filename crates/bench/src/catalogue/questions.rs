//! Questions about a day of all boards: time, bytes, and the memory that is left afterwards.

use std::path::Path;
use std::time::{Duration, Instant};

use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameters::KeyFingerprint;
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::device_keys::DeviceKeys;
use tfhe_sbc_query::evaluate::StoredUpload;
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::request::{Manner, Request};
use tfhe_sbc_query::results::{Answer, AnswerValue, Decryption, Results};
use tfhe_sbc_query::scope::Scope;
use tfhe_sbc_service::backend::Backend;
use tfhe_sbc_service::key_backend::KeyBackend;
use tfhe_sbc_service::resident_bytes;
use tfhe_sbc_service::store::Store;
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_upload::fresh_seeds;
use tfhe_sbc_upload::readings::ReadingsMetadata;

use super::fleet::{self, COLUMNS, Fleet, Maker, ROWS};
use crate::error::BenchError;
use crate::report::{Row, Unit};

/// The threads that evaluate, as the rows say.
const THREADS: usize = 2;
/// The runs of a timed question, of which the fastest counts.
const RUNS: usize = 3;
/// The rows of one board whose extremes are asked for, so that the server holds what bootstraps need, too.
const EXTREME_HOURS: u64 = 4;

fn wrong(what: &dyn std::fmt::Display) -> BenchError {
    BenchError::WrongAnswer(what.to_string())
}

/// The server's key and the key owner's.
struct Asker<'s> {
    backend: KeyBackend,
    secret: &'s SecretKey,
    metadata: ReadingsMetadata,
    threads: rayon::ThreadPool,
}

/// The answers to a question, and what they took.
struct Asked {
    answers: Vec<Answer>,
    bytes: usize,
    time: Duration,
}

impl<'s> Asker<'s> {
    fn new(secret: &'s SecretKey, devices: Option<&Path>) -> Result<Self, BenchError> {
        let key = SeededServerKey::<u64>::generate(secret, &mut fresh_seeds()?, &|_| ())?;
        let key = key.prepare(&|_| ());
        let devices = match devices {
            Some(directory) => {
                DeviceKeys::in_directory(&key, directory).map_err(|error| wrong(&error))?
            }
            None => DeviceKeys::none(&key),
        };
        Ok(Self {
            backend: KeyBackend::new(key, devices),
            secret,
            metadata: ReadingsMetadata {
                columns: fleet::columns(secret)?,
                rows: Vec::new(),
                gaps: Default::default(),
            },
            threads: rayon::ThreadPoolBuilder::new()
                .num_threads(THREADS)
                .build()?,
        })
    }

    /// Asks a question as the server does: reads the uploads with `read`, evaluates and decrypts. The time is that of the
    /// server.
    fn ask(
        &self,
        text: &str,
        scope: Scope,
        devices: Option<&DeviceKeys>,
        read: impl FnOnce() -> Result<Vec<(String, Vec<u8>)>, BenchError>,
    ) -> Result<Asked, BenchError> {
        let question: Question = text.parse().map_err(|error| wrong(&error))?;
        let known: Vec<KeyFingerprint> = match devices {
            Some(devices) => devices.known().map_err(|error| wrong(&error))?,
            None => Vec::new(),
        };
        let manner = Manner {
            scope,
            device_keys: &known,
            ..Manner::default()
        };
        let under = (self.secret.parameters(), self.secret.fingerprint());
        let request = Request::seal_in(manner, &[question], &self.metadata, under, None);
        let request = request.map_err(|error| wrong(&error))?;
        let started = Instant::now();
        let uploads = read()?;
        let stored = uploads.iter().map(|(device, bytes)| StoredUpload {
            device: Some(device),
            bytes,
        });
        let stored: Vec<StoredUpload<'_>> = stored.collect();
        let evaluate = || (self.backend).evaluate(&stored, &request, &Progress::default());
        let evaluation = self.threads.install(evaluate);
        let evaluation = evaluation.map_err(|error| wrong(&error))?;
        let time = started.elapsed();
        drop(stored);
        drop(uploads);
        tfhe_sbc_core::memory::give_back();
        let answers = Results::decrypt_with(&evaluation.result, self.secret, devices)
            .and_then(Decryption::all)
            .map_err(|error| wrong(&error))?;
        Ok(Asked {
            answers,
            bytes: evaluation.result.len(),
            time,
        })
    }
}

/// The uploads of a span of hours of boards, as the store gives them.
fn stored(
    store: &Store,
    names: Option<String>,
    hours: std::ops::Range<u64>,
) -> Result<Vec<(String, Vec<u8>)>, BenchError> {
    let mut filter = Filter {
        since: Some(fleet::moment(hours.start * ROWS)),
        until: Some(fleet::moment(hours.end * ROWS)),
        ..Filter::ALL
    };
    if let Some(names) = names {
        filter.names = names.parse()?;
    }
    let selected = store.select(&filter, u64::MAX)?;
    let uploads = selected.into_iter().map(|readings| {
        let bytes = store.get(&readings.id)?;
        Ok((readings.uploader, bytes))
    });
    uploads.collect()
}

/// The question about each hour of each board.
fn by_hour(hours: std::ops::Range<u64>) -> Result<Scope, BenchError> {
    Ok(Scope {
        since: Some(fleet::moment(hours.start * ROWS)),
        until: Some(fleet::moment(hours.end * ROWS)),
        newest: None,
        by: "device,hour".parse().map_err(|error| wrong(&error))?,
    })
}

/// Compares hourly means of the first column with the readings.
fn check_means(
    fleet: Fleet,
    hours: std::ops::Range<u64>,
    answers: &[Answer],
) -> Result<(), BenchError> {
    let count = fleet.devices * (hours.end - hours.start);
    if answers.len() as u64 != count {
        return Err(wrong(&format!(
            "{} hourly means, not {count}",
            answers.len()
        )));
    }
    let groups =
        (0..fleet.devices).flat_map(|device| hours.clone().map(move |hour| (device, hour)));
    for ((device, hour), answer) in groups.zip(answers) {
        let minutes = hour * ROWS..(hour + 1) * ROWS;
        let sum: f64 = minutes
            .map(|minute| fleet::reading(device, minute, 0))
            .sum();
        match answer.value {
            AnswerValue::Number { value, .. } if (value - sum / ROWS as f64).abs() < 1e-6 => {}
            _ => {
                return Err(wrong(&format!(
                    "the mean of {device} at {hour}: {answer:?}"
                )));
            }
        }
    }
    Ok(())
}

/// Measures all rows about questions to the store of a fleet.
pub(super) fn rows(
    directory: &Path,
    fleet: Fleet,
    secret: &SecretKey,
) -> Result<Vec<Row>, BenchError> {
    let store = Store::open(directory)?;
    let asker = Asker::new(secret, None)?;
    let [column, ..] = COLUMNS;
    let mean = format!("mean({column})");
    let last_hours = |count: u64| fleet.hours - count.min(fleet.hours)..fleet.hours;
    tfhe_sbc_core::memory::give_back();
    let before = resident_bytes();

    let day = last_hours(24);
    let mut fastest = Duration::MAX;
    let mut bytes = 0;
    for _ in 0..RUNS {
        let read = || stored(&store, None, day.clone());
        let asked = asker.ask(&mean, by_hour(day.clone())?, None, read)?;
        check_means(fleet, day.clone(), &asked.answers)?;
        fastest = fastest.min(asked.time);
        bytes = asked.bytes;
    }
    let groups = fleet.devices * (day.end - day.start);

    // A week, and extremes, which take bootstraps.
    let week = last_hours(24 * 7);
    let read = || stored(&store, None, week.clone());
    let asked = asker.ask(&mean, by_hour(week.clone())?, None, read)?;
    check_means(fleet, week.clone(), &asked.answers)?;
    let week_time = asked.time;
    drop(asked);
    let hours = last_hours(EXTREME_HOURS);
    let name = fleet::name(0);
    let read = || stored(&store, Some(name.clone()), hours.clone());
    let asked = asker.ask(
        &format!("max({column})"),
        by_hour(hours.clone())?,
        None,
        read,
    )?;
    for (hour, answer) in hours.clone().zip(&asked.answers) {
        let minutes = hour * ROWS..(hour + 1) * ROWS;
        let readings = minutes.map(|minute| fleet::reading(0, minute, 0));
        let expected = readings.fold(f64::MIN, f64::max);
        match answer.value {
            AnswerValue::Number { value, .. } if value == expected => {}
            _ => return Err(wrong(&format!("the largest of {hour}: {answer:?}"))),
        }
    }
    drop(asked);
    tfhe_sbc_core::memory::give_back();
    let after = resident_bytes();

    let mut rows = vec![
        Row::figures(
            "hourly_mean_per_device_day_s",
            Unit::Seconds,
            fastest.as_secs_f64(),
            None,
            format!(
                "The mean of one column for each of {groups} hours of {} boards, with the reading of the uploads, on {THREADS} threads; the \
                 fastest of {RUNS}",
                fleet.devices
            ),
        ),
        Row::figures(
            "hourly_mean_answer_bytes_per_group",
            Unit::Bytes,
            bytes as f64 / groups as f64,
            None,
            "The result, for each of its groups".to_owned(),
        ),
        Row::figures(
            "hourly_mean_per_device_week_s",
            Unit::Seconds,
            week_time.as_secs_f64(),
            None,
            format!("The same about {} hours", week.end - week.start),
        ),
    ];
    if let (Some(before), Some(after)) = (before, after) {
        rows.push(Row::figures(
            "server_idle_after_queries_mb",
            Unit::One,
            after.saturating_sub(before) as f64 / 1e6,
            None,
            format!(
                "Megabytes of memory more than before these questions, and the hourly extremes of {EXTREME_HOURS} hours of a board"
            ),
        ));
    }
    rows.push(under_own_keys(fleet, secret)?);
    Ok(rows)
}

/// The row about boards with keys of their own.
fn under_own_keys(fleet: Fleet, secret: &SecretKey) -> Result<Row, BenchError> {
    let directory = tempfile::tempdir()?;
    let hours = 0..fleet.hours.min(24);
    let mut uploads = Vec::new();
    for device in 0..fleet.devices {
        let name = fleet::name(device);
        let issue = DeviceIssue {
            device: DeviceId::from_text(&name).ok_or_else(|| wrong(&name))?,
            epoch: Epoch::FIRST,
        };
        let key = secret.issue_device_key(issue, &mut fresh_seeds()?)?;
        let switch = SeededDeviceSwitchKey::<u64>::generate(secret, &key, &mut fresh_seeds()?);
        let switch = switch.map_err(|error| wrong(&error))?;
        let file = directory.path().join(format!("{name}.tsbc"));
        std::fs::write(file, switch.to_bytes())?;
        let mut maker = Maker::with_key(secret, &key)?;
        for hour in hours.clone() {
            let made = maker.upload(device, hour)?;
            uploads.push((made.device, made.upload));
        }
    }
    let asker = Asker::new(secret, Some(directory.path()))?;
    let devices = DeviceKeys::of_key_set(
        secret.parameters(),
        secret.fingerprint(),
        Some(directory.path()),
    );
    let devices = devices.map_err(|error| wrong(&error))?;
    let mean = format!("mean({})", COLUMNS[0]);
    let asked = asker.ask(&mean, by_hour(hours.clone())?, Some(&devices), || {
        Ok(uploads)
    })?;
    check_means(fleet, hours.clone(), &asked.answers)?;
    Ok(Row::figures(
        "hourly_mean_answer_bytes_per_group_own_keys",
        Unit::Bytes,
        asked.bytes as f64 / asked.answers.len() as f64,
        None,
        format!(
            "The same of boards with keys of their own, whose switch keys the key owner has; answered in {:.2} s",
            asked.time.as_secs_f64()
        ),
    ))
}
