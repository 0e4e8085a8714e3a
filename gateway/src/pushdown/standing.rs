//! Answers that standing queries of the server have: they are put into the cache before anything is asked.
//!
//! The answer of a period counts for a device if it is of the uploads that the catalogue has of the device for the period: as many,
//! each of which certainly has rows in the period and was stored before the answer was computed. All of these were then in the
//! answer, and no other was. Uploads that came or went since make it another answer, and the group is asked about.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tfhe_sbc_query::results::{Answer, AnswerValue, Decryption};
use tfhe_sbc_query::scope::{About, Grouping};
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::standing::{LARGEST_RESULT, Period, PeriodFilter, PeriodState, Standing};
use tfhe_sbc_upload::moments::{Moment, Span};
use tfhe_sbc_upload::readings::Column;

use super::compute::{Cell, cell};
use super::measures::Measure;
use super::partials::{Asked, Portion};
use super::units::Unit;
use crate::cache::{Kept, Name};
use crate::error::{GatewayError, Outcome};
use crate::journal::{Entry, now};
use crate::owner::Owner;

/// The time after which the standing queries are listed again.
const LISTED: Duration = Duration::from_secs(30);

/// The most periods whose answers one statement fetches. Those of further periods are fetched by the next statement.
const MOST_PERIODS: usize = 1000;

/// The standing queries of the owner, as they were listed last, and the results that have been read.
#[derive(Default)]
pub(crate) struct StandingAnswers(Mutex<State>);

#[derive(Default)]
struct State {
    listed: Option<(Instant, Arc<Vec<Standing>>)>,
    /// The hashes of the results that have been read, with what was looked for in them.
    read: HashSet<Name>,
}

impl StandingAnswers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the standing queries; none if the server does not tell.
    fn list(&self, owner: &Owner) -> Arc<Vec<Standing>> {
        let mut state = self.lock();
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
}

/// The way from the answer to a question of a standing query to the answer to a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Same,
    /// The sum from the mean, which people ask for.
    SumOfMean,
}

/// The places of the measures that the answers to questions give, by the texts of the questions.
type Ways<'q> = HashMap<&'q str, Vec<(usize, Way)>>;

/// Finds the measures that the answers to questions about these columns give.
fn ways<'q>(questions: &'q [String], measures: &[Measure], columns: &[Column]) -> Ways<'q> {
    let mut ways: Ways<'_> = HashMap::new();
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
    let wanted = Wanted {
        asked,
        portion,
        measures,
        units: wanted,
        times: PeriodFilter {
            since: Some(since),
            until: Some(until),
            ..PeriodFilter::default()
        },
    };
    let gateway = &asked.gateway;
    for standing in gateway.standing.list(&gateway.owner).iter() {
        let ways = ways(&standing.questions, measures, columns);
        if ways.is_empty() || standing.by.parse::<Grouping>() != Ok(asked.by) {
            continue;
        }
        if let Err(error) = wanted.take_from(standing, &ways) {
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

/// Groups whose answers standing queries may have.
struct Wanted<'a> {
    asked: &'a Asked,
    portion: &'a Portion,
    measures: &'a [Measure],
    units: Vec<&'a Unit>,
    /// The periods that they are in.
    times: PeriodFilter,
}

impl Wanted<'_> {
    /// Puts the answers of a standing query into the cache.
    fn take_from(&self, standing: &Standing, ways: &Ways<'_>) -> Outcome<()> {
        let gateway = &self.asked.gateway;
        let begun = now();
        let periods = gateway
            .owner
            .with_client(|client| client.all_periods(&standing.name, self.times.clone()))?;
        let (mut groups, mut bytes, mut fetched) = (0, 0, 0);
        for period in &periods {
            let Some(result) = period.result.as_ref().filter(|result| result.late == 0) else {
                continue;
            };
            let within = |unit: &&&Unit| {
                unit.period
                    .is_some_and(|(from, until)| period.from <= from && until <= period.until)
            };
            let mut units: Vec<&Unit> = self.units.iter().filter(within).copied().collect();
            let read = self.read(standing, &result.id.to_string());
            if period.state != PeriodState::Computed
                || units.is_empty()
                || fetched == MOST_PERIODS
                || gateway.standing.lock().read.contains(&read)
            {
                continue;
            }
            fetched += 1;
            let decryption =
                gateway
                    .owner
                    .period_answers(&standing.name, period.from, LARGEST_RESULT)?;
            if let Some(about) = &decryption.about {
                let current = self.current_devices(about, period, result.computed_at);
                let devices = &self.portion.devices;
                let are_all = about.devices.len() == devices.len()
                    && devices.iter().all(|device| current.contains(device));
                units.retain(|unit| match &unit.device {
                    Some(device) => current.contains(device),
                    None => are_all,
                });
                let fresh = kept(decryption, self.measures, ways, &units)?;
                gateway.cache.keep(&fresh);
                groups += units.len() as u64;
                bytes += result.bytes;
            }
            gateway.standing.lock().read.insert(read);
        }
        if groups > 0 {
            gateway.journal.add(Entry {
                asked: begun,
                what: format!("standing query {}", standing.name),
                devices: self.portion.devices.len() as u64,
                groups,
                cached: 0,
                bootstraps: 0,
                seconds: 0.0,
                bytes,
            });
        }
        Ok(())
    }

    /// Returns a hash of a result and of what is looked for in it.
    fn read(&self, standing: &Standing, result: &str) -> Name {
        let questions = self.measures.iter();
        let questions: Vec<String> = questions
            .map(|measure| measure.question().to_string())
            .collect();
        self.asked.gateway.cache.name(&[
            standing.name.to_string().as_bytes(),
            result.as_bytes(),
            questions.join(", ").as_bytes(),
            self.portion.devices.join(",").as_bytes(),
        ])
    }

    /// Returns the devices of which an answer has just the uploads that the catalogue has for its period.
    fn current_devices(
        &self,
        about: &About,
        period: &Period,
        computed_at: Moment,
    ) -> BTreeSet<Arc<str>> {
        let is_current = |device: &&Arc<str>| {
            let uploads = self.asked.snapshot.of_device(device);
            let uploads: Vec<(Option<Span>, Option<Moment>)> = uploads
                .filter(|upload| upload.meets(Some(period.from), Some(period.until)))
                .map(|upload| (upload.span(), upload.created_at.parse().ok()))
                .collect();
            let mut devices = about.devices.iter();
            devices
                .find(|about| about.name.as_deref() == Some(&***device))
                .is_some_and(|about| {
                    let period = (period.from, period.until);
                    are_those(&uploads, about.uploads, period, computed_at)
                })
        };
        let current = self.portion.devices.iter().filter(is_current);
        current.cloned().collect()
    }
}

/// Returns whether uploads, each with its span and the time at which it was stored, are those of an answer about `count` uploads
/// that was computed at a time. Uploads that may be without rows in the period, or were stored later, leave that open.
fn are_those(
    uploads: &[(Option<Span>, Option<Moment>)],
    count: u64,
    (from, until): (Moment, Moment),
    computed_at: Moment,
) -> bool {
    let in_period = |moment: Moment| from <= moment && moment < until;
    // The catalogue tells the second in which an upload was stored.
    let last = computed_at.unix_ms() - 1000;
    uploads.len() as u64 == count
        && uploads.iter().all(|(span, stored)| {
            span.is_some_and(|span| in_period(span.first) || in_period(span.last))
                && stored.is_some_and(|stored| stored.unix_ms() <= last)
        })
}

/// Returns the answers about groups, under their names.
fn kept(
    decryption: Decryption,
    measures: &[Measure],
    ways: &Ways<'_>,
    units: &[&Unit],
) -> Outcome<Vec<(Name, Kept)>> {
    let answers = decryption.all().map_err(GatewayError::internal)?;
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
    fn an_answer_counts_only_if_it_is_of_the_same_uploads() {
        let moment = |hour: i64| Moment::from_unix_ms(hour * 3_600_000);
        let upload = |first, last, stored| {
            let (first, last) = (moment(first), moment(last));
            (Some(Span { first, last }), Some(moment(stored)))
        };
        let day = (moment(0), moment(24));
        let are = |uploads: &[_], count| are_those(uploads, count, day, moment(30));
        assert!(are(&[upload(1, 2, 25), upload(20, 28, 29)], 2));
        // One that came or went.
        assert!(!are(&[upload(1, 2, 25)], 2));
        assert!(!are(&[upload(1, 2, 25), upload(3, 4, 25)], 1));
        // One that was stored after the answer, or in the same second.
        assert!(!are(&[upload(1, 2, 31)], 1));
        assert!(!are(&[upload(1, 2, 30)], 1));
        // One that may have no row in the period, and may stand for one that went.
        assert!(!are(&[upload(-2, 26, 27)], 1));
        assert!(!are(&[(None, Some(moment(1)))], 1));
    }

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
