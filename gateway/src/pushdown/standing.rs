//! Answers that standing queries of the server have: they are put into the cache before anything is asked.
//!
//! The answer of a period counts if it is of the uploads that the catalogue has for the period, device by device: as many, and all
//! stored before the answer was computed. Uploads that came or went since make it another answer, and the group is asked about.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tfhe_sbc_query::results::{Answer, AnswerValue, Decryption};
use tfhe_sbc_query::scope::{About, Grouping};
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::standing::{
    LARGEST_RESULT, Period, PeriodFilter, PeriodState, Standing, StandingName,
};
use tfhe_sbc_upload::moments::Moment;
use tfhe_sbc_upload::readings::Column;

use super::compute::{Cell, cell};
use super::measures::Measure;
use super::partials::{Asked, Portion};
use super::units::Unit;
use crate::cache::{Kept, Name};
use crate::error::Outcome;
use crate::journal::{Entry, now};
use crate::owner::Owner;

/// The time after which the standing queries are listed again.
const LISTED: Duration = Duration::from_secs(30);

/// The most periods whose answers are fetched for a statement. The next one goes on.
const MOST_PERIODS: usize = 1000;

/// The standing queries of the owner, as they were listed last, and the results that have been read.
#[derive(Default)]
pub(crate) struct StandingAnswers(Mutex<State>);

#[derive(Default)]
struct State {
    listed: Option<(Instant, Arc<Vec<Standing>>)>,
    /// The results that have been read, by standing query, period, time of computation, and what was looked for in them.
    read: BTreeSet<(StandingName, Moment, Moment, String)>,
}

impl StandingAnswers {
    /// Returns the standing queries; none if the server does not tell.
    fn list(&self, owner: &Owner) -> Arc<Vec<Standing>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, list)) = &state.listed
            && at.elapsed() < LISTED
        {
            return Arc::clone(list);
        }
        let listed = owner.with_client(Client::standing_queries);
        let list = Arc::new(listed.unwrap_or_else(|error| {
            tracing::debug!(%error, "the standing queries are not listed");
            Vec::new()
        }));
        state.listed = Some((Instant::now(), Arc::clone(&list)));
        list
    }

    /// Returns whether a result has not been read yet, and notes that it is.
    fn begins(
        &self,
        name: &StandingName,
        period: &Period,
        computed_at: Moment,
        looked_for: &str,
    ) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let looked_for = looked_for.to_owned();
        state
            .read
            .insert((name.clone(), period.from, computed_at, looked_for))
    }
}

/// The way from the answer to a question of a standing query to the answer to a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Same,
    /// The sum from the mean, which people ask for.
    SumOfMean,
}

/// Returns the places of the measures that the answers to questions give, by the texts of the questions.
fn ways<'q>(
    questions: &'q [String],
    measures: &[Measure],
    columns: &[Column],
) -> HashMap<&'q str, Vec<(usize, Way)>> {
    let mut ways: HashMap<&str, Vec<(usize, Way)>> = HashMap::new();
    for (place, measure) in measures.iter().enumerate() {
        let question = measure.question();
        let text = question.to_string();
        // Whoever asked with another hidden constant has another answer.
        if text != question.public_text() {
            continue;
        }
        let is_whole = |name: &str| {
            let column = columns.iter().find(|column| column.name == name);
            column.is_some_and(|column| !column.is_optional())
        };
        let mean = match measure {
            // Without gaps, the number of values is that of the rows.
            Measure::Sum(of) if question.columns().into_iter().all(is_whole) => {
                Some(format!("mean({of})"))
            }
            _ => None,
        };
        for asked in questions {
            let way = match asked {
                asked if *asked == text => Way::Same,
                asked if Some(asked) == mean.as_ref() => Way::SumOfMean,
                _ => continue,
            };
            ways.entry(asked).or_default().push((place, way));
        }
    }
    ways
}

/// Returns the sum of `count` values with this mean. The sum of readings is a decimal number of few digits, which the
/// rounding of the mean has moved by less than a billionth.
fn sum_of(mean: f64, count: u64) -> f64 {
    let sum = mean * count as f64;
    let near = |digits: i32| {
        let unit = 10f64.powi(digits);
        (sum * unit).round() / unit
    };
    let is_near = |number: &f64| (number - sum).abs() <= 1e-9 * sum.abs().max(1.0);
    (0..=6).map(near).find(is_near).unwrap_or(sum)
}

/// Puts the answers of standing queries about groups into the cache. `missing` are the places of groups without answers.
pub(super) fn fill(
    asked: &Asked,
    portion: &Portion,
    (measures, columns): (&[Measure], &[Column]),
    units: &[Unit],
    missing: &[usize],
) {
    let gateway = &asked.gateway;
    let wanted: Vec<&Unit> = missing
        .iter()
        .filter_map(|place| units.get(*place))
        .filter(|unit| is_whole(asked, unit))
        .collect();
    let begin = wanted.iter().filter_map(|unit| unit.period).min();
    let end = wanted.iter().filter_map(|unit| unit.period).max();
    let (Some((since, _)), Some((_, until))) = (begin, end) else {
        return;
    };
    for standing in gateway.standing.list(&gateway.owner).iter() {
        let ways = ways(&standing.questions, measures, columns);
        if ways.is_empty() || standing.by.parse::<Grouping>() != Ok(asked.by) {
            continue;
        }
        let filter = PeriodFilter {
            since: Some(since),
            until: Some(until),
            ..PeriodFilter::default()
        };
        let filled = of_standing(asked, portion, measures, &wanted, standing, &ways, filter);
        if let Err(error) = filled {
            // What is not filled is asked of the server.
            tracing::warn!(standing = %standing.name, %error, "the answers of a standing query are not read");
        }
    }
}

/// Returns whether the limits of the time leave the period of a group whole.
fn is_whole(asked: &Asked, unit: &Unit) -> bool {
    unit.period.is_some_and(|(from, until)| {
        let cuts = |limit: Moment| from < limit && limit < until;
        !asked.range.since.is_some_and(cuts) && !asked.range.until.is_some_and(cuts)
    })
}

fn of_standing(
    asked: &Asked,
    portion: &Portion,
    measures: &[Measure],
    wanted: &[&Unit],
    standing: &Standing,
    ways: &HashMap<&str, Vec<(usize, Way)>>,
    filter: PeriodFilter,
) -> Outcome<()> {
    let gateway = &asked.gateway;
    let begun = now();
    let periods = gateway
        .owner
        .with_client(|client| client.all_periods(&standing.name, filter))?;
    let texts = measures
        .iter()
        .map(|measure| measure.question().to_string());
    let looked_for = format!(
        "{} of {}",
        texts.collect::<Vec<_>>().join(", "),
        portion.devices.join(",")
    );
    let (mut groups, mut bytes) = (0u64, 0u64);
    let mut fetched = 0;
    for period in &periods {
        let Some(result) = period.result.as_ref().filter(|result| result.late == 0) else {
            continue;
        };
        let inside: Vec<&Unit> = wanted
            .iter()
            .filter(|unit| {
                unit.period
                    .is_some_and(|(from, until)| period.from <= from && until <= period.until)
            })
            .copied()
            .collect();
        if period.state != PeriodState::Computed || inside.is_empty() || fetched == MOST_PERIODS {
            continue;
        }
        if !gateway
            .standing
            .begins(&standing.name, period, result.computed_at, &looked_for)
        {
            continue;
        }
        fetched += 1;
        let decryption =
            gateway
                .owner
                .period_answers(&standing.name, period.from, LARGEST_RESULT)?;
        let Some(about) = &decryption.about else {
            continue;
        };
        let current = current_devices(asked, portion, about, period, result.computed_at);
        let are_all = about.devices.len() == portion.devices.len()
            && portion
                .devices
                .iter()
                .all(|device| current.contains(device));
        let of_units = inside.into_iter().filter(|unit| match &unit.device {
            Some(device) => current.contains(device),
            None => are_all,
        });
        let fresh = kept(decryption, measures, ways, of_units)?;
        groups += fresh.len() as u64;
        bytes += result.bytes;
        gateway.cache.keep(&fresh);
    }
    if groups > 0 {
        gateway.journal.add(Entry {
            asked: begun,
            what: format!("standing query {}", standing.name),
            devices: portion.devices.len() as u64,
            groups,
            cached: 0,
            bootstraps: 0,
            seconds: 0.0,
            bytes,
        });
    }
    Ok(())
}

/// Returns the devices of which an answer has all uploads that may have rows in its period.
fn current_devices(
    asked: &Asked,
    portion: &Portion,
    about: &About,
    period: &Period,
    computed_at: Moment,
) -> BTreeSet<Arc<str>> {
    let is_current = |device: &&Arc<str>| {
        let uploads = asked.snapshot.of_device(device);
        let uploads: Vec<_> = uploads
            .filter(|upload| upload.meets(Some(period.from), Some(period.until)))
            .collect();
        // The list has seconds.
        let before = computed_at.unix_ms() - 1000;
        let stored_before = |created_at: &str| {
            let stored = created_at.parse::<Moment>();
            stored.is_ok_and(|stored| stored.unix_ms() <= before)
        };
        let mut devices = about.devices.iter();
        devices.any(|about| {
            about.name.as_deref() == Some(&***device) && about.uploads == uploads.len() as u64
        }) && uploads
            .iter()
            .all(|upload| stored_before(&upload.created_at))
    };
    let current = portion.devices.iter().filter(is_current);
    current.cloned().collect()
}

/// Returns the answers about groups, under their names.
fn kept<'u>(
    decryption: Decryption,
    measures: &[Measure],
    ways: &HashMap<&str, Vec<(usize, Way)>>,
    units: impl Iterator<Item = &'u Unit>,
) -> Outcome<Vec<(Name, Kept)>> {
    let answers = decryption
        .all()
        .map_err(crate::error::GatewayError::internal)?;
    let mut of_groups: BTreeMap<(Option<String>, Option<Moment>), Vec<Answer>> = BTreeMap::new();
    for answer in answers {
        if let Some(group) = &answer.group {
            let key = (group.device.clone(), group.from);
            of_groups.entry(key).or_default().push(answer);
        }
    }
    let mut fresh = Vec::new();
    for unit in units {
        let device = unit.device.as_ref().map(ToString::to_string);
        let key = (device, unit.period.map(|(from, _)| from));
        let Some(answers) = of_groups.get(&key) else {
            // There is no row in this part of the period.
            let places = ways.values().flatten();
            let names = places.filter_map(|(place, _)| unit.names.get(*place));
            let cell = Cell::default();
            fresh.extend(names.map(|name| (*name, Kept { rows: 0, cell })));
            continue;
        };
        for answer in answers {
            let rows = answer.group.as_ref().map_or(0, |group| group.rows.into());
            for (place, way) in ways.get(answer.name.as_str()).into_iter().flatten() {
                let (Some(measure), Some(name)) = (measures.get(*place), unit.names.get(*place))
                else {
                    continue;
                };
                let cell = match (way, &answer.value) {
                    (Way::SumOfMean, AnswerValue::Number { value, .. }) => Cell {
                        value: Some(sum_of(*value, rows)),
                        present: Some(rows),
                        time: None,
                    },
                    _ => cell(measure, answer, rows)?,
                };
                fresh.push((*name, Kept { rows, cell }));
            }
        }
    }
    Ok(fresh)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_means_are_those_of_the_readings() {
        for (values, expected) in [
            (&[20.8, 20.9, 21.3][..], 63.0),
            (&[0.1, 0.2, 0.4], 0.7),
            (&[-0.05, 0.0], -0.05),
            (&[1013.25; 7], 7092.75),
        ] {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            assert_eq!(sum_of(mean, values.len() as u64), expected);
        }
        // Thirds of a degree are no decimal number.
        let sum = sum_of(1.0 / 3.0, 2);
        assert!((sum - 2.0 / 3.0).abs() < 1e-12);
    }
}
