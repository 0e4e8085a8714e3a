//! Partial answers, asked of the server and decrypted.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tfhe_sbc_owner::presumed_labels;
use tfhe_sbc_query::Question;
use tfhe_sbc_query::cost::{Planned, costs_of};
use tfhe_sbc_query::progress::Progress;
use tfhe_sbc_query::results::{Answer, AnswerValue};
use tfhe_sbc_query::scope::{GroupKey, Scope, UploadRows};
use tfhe_sbc_transport::catalogue::{Filter, Names};
use tfhe_sbc_transport::client::{CallOff, Client};
use tfhe_sbc_transport::protocol::{ColumnList, Selection};
use tfhe_sbc_upload::moments::Moment;
use tfhe_sbc_upload::readings::Column;

use super::measures::Measure;
use super::partials::{Asked, Portion};
use super::standing;
use super::units::{Unit, requests, units};
use crate::cache::{Cache, Kept};
use crate::catalogue::Upload;
use crate::error::{GatewayError, Outcome, code};
use crate::journal::{Entry, now};
use crate::predicates::Range;

/// What the server computed for a group of rows.
#[derive(Clone, Debug)]
pub(super) struct PartialRow {
    pub(super) device: Option<Arc<str>>,
    /// The beginning of the period.
    pub(super) from: Option<Moment>,
    pub(super) rows: u64,
    /// The answer to each measure.
    pub(super) cells: Vec<Cell>,
}

/// The answer to a measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: Option<f64>,
    /// The number of values that there were.
    pub(crate) present: Option<u64>,
    /// The time of the row.
    pub(crate) time: Option<Moment>,
}

/// What questions would take.
#[derive(Clone, Debug, Default)]
pub(super) struct Estimate {
    pub(super) groups: u64,
    /// Those of them whose answers are in the cache.
    pub(super) cached: u64,
    pub(super) bootstraps: u64,
    /// The time that the server takes, if it has computed enough to tell.
    pub(super) seconds: Option<f64>,
    /// About as many bytes as the answers have.
    pub(super) bytes: u64,
}

/// Returns the measures that uploads of a class can answer, with their places among all.
fn possible<'m>(measures: &'m [Measure], columns: &[Column]) -> Vec<(usize, &'m Measure)> {
    let has = |name: &str| columns.iter().any(|column| column.name == name);
    let places = measures.iter().enumerate();
    places
        .filter(|(_, measure)| measure.question().columns().into_iter().all(has))
        .collect()
}

fn columns(asked: &Asked, portion: &Portion) -> Arc<Vec<Column>> {
    let columns = asked.snapshot.classes.get(portion.class);
    columns.cloned().unwrap_or_default()
}

fn selection(portion: &Portion, range: Range) -> Outcome<Selection> {
    let names = match portion.is_everything {
        true => Names::default(),
        false => {
            let names: Vec<&str> = portion.devices.iter().map(|name| &**name).collect();
            names.join(",").parse().map_err(GatewayError::internal)?
        }
    };
    Ok(Selection::Stored(Filter {
        names,
        since: range.since,
        until: range.until,
        ..Filter::ALL
    }))
}

/// Returns the partial answers: those that are kept, and what the server computes of the others.
pub(super) fn answers(asked: &Asked, call_off: &CallOff) -> Outcome<Vec<PartialRow>> {
    let mut rows = Vec::new();
    for portion in &asked.portions {
        rows.extend(of_portion(asked, portion, call_off)?);
    }
    Ok(rows)
}

/// The groups of a portion, with the answers that are kept, measure by measure.
struct Known {
    measures: Vec<Measure>,
    /// The places of the measures among all.
    places: Vec<usize>,
    units: Vec<Unit>,
    kept: Vec<Option<Vec<Kept>>>,
}

impl Known {
    fn of(asked: &Asked, portion: &Portion) -> Outcome<Self> {
        let columns = columns(asked, portion);
        let possible = possible(&asked.measures, &columns);
        let (places, mut measures): (Vec<usize>, Vec<Measure>) = possible
            .into_iter()
            .map(|(place, measure)| (place, measure.clone()))
            .unzip();
        if measures.is_empty() {
            // Some question has to be asked for the server to tell the groups.
            let first = columns.first().ok_or_else(|| {
                GatewayError::new(code::DATA, "there are uploads without columns")
            })?;
            measures.push(Measure::Present(first.name.as_str().into()));
        }
        let cache = &asked.gateway.cache;
        let units = units(cache, portion, asked.by, asked.range, &measures);
        let mut known = Self {
            kept: vec![None; units.len()],
            measures,
            places,
            units,
        };
        known.look(cache);
        let missing = known.missing();
        if !missing.is_empty() {
            let about = (&known.measures[..], &columns[..]);
            standing::fill(asked, portion, about, &known.units, &missing);
            known.look(cache);
        }
        Ok(known)
    }

    /// Takes what the cache has.
    fn look(&mut self, cache: &Cache) {
        for (unit, kept) in self.units.iter().zip(&mut self.kept) {
            if kept.is_none() {
                *kept = cache.get(&unit.names).into_iter().collect();
            }
        }
    }

    /// The places of the groups without answers.
    fn missing(&self) -> Vec<usize> {
        let places = self.kept.iter().enumerate();
        let missing = places.filter(|(_, kept)| kept.is_none());
        missing.map(|(place, _)| place).collect()
    }

    fn row(&self, unit: &Unit, kept: &[Kept], width: usize) -> Option<PartialRow> {
        let rows = kept
            .iter()
            .map(|kept| kept.rows)
            .max()
            .filter(|rows| *rows > 0)?;
        let mut cells = vec![Cell::default(); width];
        for (place, kept) in self.places.iter().zip(kept) {
            if let Some(cell) = cells.get_mut(*place) {
                *cell = kept.cell;
            }
        }
        Some(PartialRow {
            device: unit.device.clone(),
            from: unit.period.map(|(from, _)| from),
            rows,
            cells,
        })
    }
}

fn of_portion(asked: &Asked, portion: &Portion, call_off: &CallOff) -> Outcome<Vec<PartialRow>> {
    let mut known = Known::of(asked, portion)?;
    let missing = known.missing();
    let found = (known.units.len() - missing.len()) as u64;
    let requests = match portion.uploads.is_empty() {
        true => Vec::new(),
        false => requests(portion, &known.units, missing, asked.range),
    };
    let mut cached = Some(found).filter(|found| *found > 0);
    for missing in requests {
        let part = Portion {
            is_everything: portion.is_everything && missing.devices.len() == portion.devices.len(),
            uploads: portion
                .uploads
                .iter()
                .filter(|upload| missing.devices.contains(&upload.device))
                .filter(|upload| upload.meets(missing.range.since, missing.range.until))
                .cloned()
                .collect(),
            devices: missing.devices,
            ..*portion
        };
        let cached = cached.take().unwrap_or(0);
        let rows = ask(
            asked,
            &part,
            &known.measures,
            missing.range,
            cached,
            call_off,
        )?;
        let mut rows: BTreeMap<(Option<Arc<str>>, Option<Moment>), PartialRow> = rows
            .into_iter()
            .map(|row| ((row.device.clone(), row.from), row))
            .collect();
        let mut fresh = Vec::new();
        for place in missing.units {
            let (Some(unit), Some(slot)) = (known.units.get(place), known.kept.get_mut(place))
            else {
                continue;
            };
            let key = (unit.device.clone(), unit.period.map(|(from, _)| from));
            let row = rows.remove(&key);
            let rows = row.as_ref().map_or(0, |row| row.rows);
            let cells = row.map_or_else(Vec::new, |row| row.cells);
            let kept: Vec<Kept> = (0..known.measures.len())
                .map(|place| Kept {
                    rows,
                    cell: cells.get(place).copied().unwrap_or_default(),
                })
                .collect();
            fresh.extend(unit.names.iter().copied().zip(kept.iter().copied()));
            *slot = Some(kept);
        }
        asked.gateway.cache.keep(&fresh);
    }
    if let Some(cached) = cached {
        asked.gateway.journal.add(Entry {
            asked: now(),
            what: texts(&known.measures),
            devices: portion.devices.len() as u64,
            groups: 0,
            cached,
            bootstraps: 0,
            seconds: 0.0,
            bytes: 0,
        });
    }
    let width = asked.measures.len();
    let units = known.units.iter().zip(&known.kept);
    let rows = units.filter_map(|(unit, kept)| known.row(unit, kept.as_deref()?, width));
    Ok(rows.collect())
}

fn texts(measures: &[Measure]) -> String {
    let texts = measures
        .iter()
        .map(|measure| measure.question().public_text());
    texts.collect::<Vec<_>>().join(", ")
}

/// Asks about the rows of a portion that are of a time. `cached` is the number of groups that were not asked about, for the journal.
fn ask(
    asked: &Asked,
    portion: &Portion,
    measures: &[Measure],
    range: Range,
    cached: u64,
    call_off: &CallOff,
) -> Outcome<Vec<PartialRow>> {
    let columns = columns(asked, portion);
    let questions: Vec<Question> = measures.iter().map(Measure::question).collect();
    let scope = Scope {
        since: range.since,
        until: range.until,
        newest: None,
        by: asked.by,
    };
    let list = ColumnList {
        columns: columns.to_vec(),
        rows: Some(
            portion
                .uploads
                .iter()
                .map(|upload| upload.summary.rows)
                .sum(),
        ),
        uploads: Some(portion.uploads.len() as u64),
        devices: Some(portion.devices.len() as u64),
        span: portion.span(range),
        latest: None,
    };
    let begun = now();
    let readings = selection(portion, range)?;
    let answered = asked
        .gateway
        .owner
        .ask(&questions, &readings, &list, scope, call_off);
    let answered = match answered {
        // The uploads of the time have no row in it.
        Err(error) if error.to_string().contains("is in that time") => return Ok(Vec::new()),
        answered => answered?,
    };
    let about = answered.decryption.about.as_ref().map(|about| about.rows);
    let answers = answered.decryption.all().map_err(|error| {
        GatewayError::new(code::DATA, error)
            .advise("give the secret key of the key set that the readings were encrypted under")
    })?;
    let rows = grouped(answers, measures, about.unwrap_or(0))?;
    asked.gateway.journal.add(Entry {
        asked: begun,
        what: texts(measures),
        devices: portion.devices.len() as u64,
        groups: rows.len() as u64,
        cached,
        bootstraps: answered.bootstraps,
        seconds: answered.seconds,
        bytes: answered.bytes,
    });
    Ok(rows)
}

/// Puts the answers of each group into a row. `all` is the number of rows if there are no groups.
fn grouped(answers: Vec<Answer>, measures: &[Measure], all: u64) -> Outcome<Vec<PartialRow>> {
    let mut rows: Vec<PartialRow> = Vec::new();
    let mut places: BTreeMap<Option<GroupKey>, usize> = BTreeMap::new();
    // Equal texts, as of conditions whose constants are hidden, come in the order of the questions.
    let mut asked: HashMap<(String, usize), usize> = HashMap::new();
    for answer in answers {
        let next = rows.len();
        let row = *places.entry(answer.group.clone()).or_insert(next);
        if row == next {
            rows.push(PartialRow {
                device: answer
                    .group
                    .as_ref()
                    .and_then(|group| group.device.as_deref())
                    .map(Arc::from),
                from: answer.group.as_ref().and_then(|group| group.from),
                rows: answer.group.as_ref().map_or(all, |group| group.rows.into()),
                cells: vec![Cell::default(); measures.len()],
            });
        }
        let times = asked.entry((answer.name.clone(), row)).or_default();
        let places = measures.iter().enumerate();
        let mut same =
            places.filter(|(_, measure)| measure.question().public_text() == answer.name);
        let measure = same.nth(*times);
        *times += 1;
        let Some((place, measure)) = measure else {
            let message =
                format_args!("the server answered '{}', which was not asked", answer.name);
            return Err(GatewayError::internal(message));
        };
        let Some(row) = rows.get_mut(row) else {
            continue;
        };
        let read = cell(measure, &answer, row.rows)?;
        if let Some(cell) = row.cells.get_mut(place) {
            *cell = read;
        }
    }
    Ok(rows)
}

/// Returns the answer to a measure about a group of that many rows.
pub(super) fn cell(measure: &Measure, answer: &Answer, rows: u64) -> Outcome<Cell> {
    let present = rows.saturating_sub(answer.missing.unwrap_or(0));
    let (value, time) = match &answer.value {
        AnswerValue::Number { value, .. } => (Some(*value), None),
        AnswerValue::Row { row, value, .. } => (Some(*value), moment(row)),
        AnswerValue::Missing { row, .. } => (None, row.as_deref().and_then(moment)),
        _ => {
            let message = format_args!("the answer to '{}' is no number", answer.name);
            return Err(GatewayError::internal(message));
        }
    };
    Ok(Cell {
        value,
        present: matches!(measure, Measure::Sum(_)).then_some(present),
        time,
    })
}

/// The time of a row's label, which names the device before it if the rows are of several.
fn moment(label: &str) -> Option<Moment> {
    let own = label.parse().ok();
    own.or_else(|| label.split_once(' ')?.1.parse().ok())
}

/// Returns what the questions would take that are not answered by the cache.
pub(super) fn estimate(asked: &Asked) -> Outcome<Estimate> {
    let mut estimate = Estimate::default();
    for portion in &asked.portions {
        let columns = columns(asked, portion);
        let known = Known::of(asked, portion)?;
        let missing = known.missing();
        estimate.groups += known.units.len() as u64;
        estimate.cached += (known.units.len() - missing.len()) as u64;
        let questions: Vec<Question> = known.measures.iter().map(Measure::question).collect();
        for missing in requests(portion, &known.units, missing, asked.range) {
            let uploads = portion.uploads.iter();
            let uploads: Vec<&Arc<Upload>> = uploads
                .filter(|upload| missing.devices.contains(&upload.device))
                .filter(|upload| upload.meets(missing.range.since, missing.range.until))
                .collect();
            let labels: Vec<Vec<String>> = uploads
                .iter()
                .map(|upload| presumed_labels(&upload.summary))
                .collect();
            let rows: Vec<UploadRows<'_>> = uploads
                .iter()
                .zip(&labels)
                .map(|(upload, labels)| UploadRows {
                    device: Some(&upload.device),
                    labels,
                })
                .collect();
            let planned = Planned {
                columns: &columns,
                uploads: &rows,
                gaps: None,
                scope: Scope {
                    since: missing.range.since,
                    until: missing.range.until,
                    newest: None,
                    by: asked.by,
                },
                sanitise: false,
            };
            let parameters = asked.gateway.owner.parameters();
            let counted = costs_of(parameters, planned, &questions, &Progress::default());
            let (each, together) = counted.map_err(|error| GatewayError::new(code::DATA, error))?;
            estimate.bootstraps += together.bootstraps;
            // A linear answer under keys of boards, and a packed one.
            let of_group: u64 = each
                .iter()
                .map(|cost| match cost.bootstraps {
                    0 => 50,
                    _ => 200,
                })
                .sum();
            let groups = missing.units.len() as u64;
            estimate.bytes += groups.saturating_mul(of_group);
        }
    }
    if estimate.bootstraps > 0 {
        let owner = &asked.gateway.owner;
        let speed = owner.with_client(Client::seconds_per_bootstrap);
        let speed = speed.ok().flatten();
        estimate.seconds = speed.map(|speed| speed * estimate.bootstraps as f64);
    }
    Ok(estimate)
}
