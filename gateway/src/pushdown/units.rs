//! The groups that partial answers are of, as the catalogue knows them, and the names under which their answers are kept.

use std::sync::Arc;

use tfhe_sbc_query::scope::{Grouping, Period};
use tfhe_sbc_upload::moments::Moment;

use super::measures::Measure;
use super::partials::Portion;
use crate::cache::{Cache, Name};
use crate::catalogue::Upload;
use crate::predicates::Range;

/// A group of rows: of one device or of all of a portion, in one period or in all of the time.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// The device; `None` for all.
    pub(super) device: Option<Arc<str>>,
    /// The period; `None` for all of the time.
    pub(super) period: Option<(Moment, Moment)>,
    /// The names of the answers to the measures.
    pub(super) names: Vec<Name>,
}

/// Returns the groups of a portion that may have rows.
pub(super) fn units(
    cache: &Cache,
    portion: &Portion,
    by: Grouping,
    range: Range,
    measures: &[Measure],
) -> Vec<Unit> {
    let questions: Vec<String> = measures
        .iter()
        .map(|measure| measure.question().to_string())
        .collect();
    let mut found = Vec::new();
    let mut add = |device: Option<&Arc<str>>, uploads: &[&Arc<Upload>]| match by.period {
        None => found.push(Unit {
            device: device.cloned(),
            period: None,
            names: names(cache, &questions, portion, device, range, None, uploads),
        }),
        Some(period) => {
            for (around, uploads) in periods(period, range, uploads) {
                found.push(Unit {
                    device: device.cloned(),
                    period: Some(around),
                    names: names(
                        cache,
                        &questions,
                        portion,
                        device,
                        range,
                        Some(around),
                        &uploads,
                    ),
                });
            }
        }
    };
    match by.device {
        false => add(None, &portion.uploads.iter().collect::<Vec<_>>()),
        true => {
            // The uploads of a portion come device by device.
            for device in &portion.devices {
                let of_device = portion.uploads.iter();
                let of_device: Vec<_> = of_device
                    .filter(|upload| upload.device == *device)
                    .collect();
                add(Some(device), &of_device);
            }
        }
    }
    found
}

/// A period from its first moment to before the first moment of the next, and the uploads that may have rows in it.
type PeriodUploads<'u> = ((Moment, Moment), Vec<&'u Arc<Upload>>);

/// Returns the periods that may have rows of uploads, each with these.
fn periods<'u>(
    period: Period,
    range: Range,
    uploads: &[&'u Arc<Upload>],
) -> Vec<PeriodUploads<'u>> {
    let mut found: std::collections::BTreeMap<Moment, PeriodUploads<'u>> =
        std::collections::BTreeMap::new();
    for upload in uploads {
        let Some(span) = upload.span() else { continue };
        let first = range
            .since
            .map_or(span.first, |since| since.max(span.first));
        let mut around = period.around(first);
        while around.0 <= span.last && range.until.is_none_or(|until| around.0 < until) {
            let uploads = found.entry(around.0).or_insert((around, Vec::new()));
            uploads.1.push(upload);
            if around.1 <= around.0 {
                break;
            }
            around = period.around(around.1);
        }
    }
    found.into_values().collect()
}

/// Returns the names of the answers about a group.
fn names(
    cache: &Cache,
    questions: &[String],
    portion: &Portion,
    device: Option<&Arc<str>>,
    range: Range,
    period: Option<(Moment, Moment)>,
    uploads: &[&Arc<Upload>],
) -> Vec<Name> {
    // The limits of the time that cut into the period.
    let cut = |limit: Option<Moment>| {
        let inside =
            |limit: &Moment| period.is_none_or(|(from, until)| from < *limit && *limit < until);
        limit.filter(inside).map_or(i64::MIN, Moment::unix_ms)
    };
    let period = period.map_or((i64::MIN, i64::MAX), |(from, until)| {
        (from.unix_ms(), until.unix_ms())
    });
    let mut rows = Vec::new();
    for number in [cut(range.since), cut(range.until), period.0, period.1] {
        rows.extend_from_slice(&number.to_le_bytes());
    }
    let mut ids: Vec<String> = uploads.iter().map(|upload| upload.id.to_string()).collect();
    ids.sort_unstable();
    let devices = match device {
        Some(device) => device.to_string(),
        None => portion.devices.join(","),
    };
    let about = cache.name(&[&rows, devices.as_bytes(), ids.concat().as_bytes()]);
    let questions = questions.iter();
    questions
        .map(|question| cache.name(&[question.as_bytes(), &about]))
        .collect()
}

/// Devices and a time that are asked about together.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    pub(super) devices: Vec<Arc<str>>,
    pub(super) range: Range,
    /// The places of the groups that are asked about.
    pub(super) units: Vec<usize>,
}

/// The most requests that missing groups are asked about in.
const MOST_REQUESTS: usize = 4;

/// Puts missing groups together into few requests: those of periods that follow one another into one.
pub(super) fn requests(
    portion: &Portion,
    units: &[Unit],
    missing: Vec<usize>,
    range: Range,
) -> Vec<Missing> {
    let mut sorted: Vec<(Option<(Moment, Moment)>, usize)> = missing
        .into_iter()
        .filter_map(|place| Some((units.get(place)?.period, place)))
        .collect();
    sorted.sort_unstable();
    let mut runs: Vec<(Range, Vec<usize>)> = Vec::new();
    for (period, place) in sorted {
        let time = match period {
            None => range,
            Some((from, until)) => range.and(Range {
                since: Some(from),
                until: Some(until),
            }),
        };
        let follows = runs.last_mut().filter(|(run, _)| {
            run.until
                .is_none_or(|end| time.since.is_none_or(|begin| begin <= end))
        });
        match follows {
            Some((run, places)) => {
                run.until = match (run.until, time.until) {
                    (Some(a), Some(b)) => Some(a.max(b)),
                    _ => None,
                };
                places.push(place);
            }
            None => runs.push((time, vec![place])),
        }
    }
    if runs.len() > MOST_REQUESTS {
        let until = runs.last().and_then(|(run, _)| run.until);
        let since = runs.first().and_then(|(run, _)| run.since);
        let places = runs.into_iter().flat_map(|(_, places)| places).collect();
        runs = vec![(Range { since, until }, places)];
    }
    let of_run = |(range, places): (Range, Vec<usize>)| {
        let chosen: std::collections::BTreeSet<&str> = places
            .iter()
            .filter_map(|place| units.get(*place)?.device.as_deref())
            .collect();
        let devices = portion.devices.iter();
        let devices = devices.filter(|device| chosen.is_empty() || chosen.contains(&***device));
        Missing {
            devices: devices.cloned().collect(),
            range,
            units: places,
        }
    };
    runs.into_iter().map(of_run).collect()
}
