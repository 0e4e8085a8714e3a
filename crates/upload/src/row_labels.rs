//! Row labels on the wire: a list of texts, times as a start and steps, or numbers as a first and a count.
//!
//! Hourly readings of a year have 8,760 labels, which take 145 KiB as texts: more than their ciphertexts.
//! Labels that are times in one written form travel as the first of them and the step to the next instead,
//! and are written out by the reader. Where the steps differ, as those of a clock do, each row has the
//! difference of its step, which takes one byte if it is small. Labels that count the rows travel as the
//! first number.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::BorrowedFormatItem;
use time::{Duration, PrimitiveDateTime};

/// The largest number of labels that are written out of a few bytes, about as many as an upload has rows if
/// it has four columns.
pub(crate) const MAX_WRITTEN_OUT: u32 = 1 << 20;

/// The fewest labels that other forms than a list are shorter for.
const FEWEST: usize = 4;

/// The written forms of times, each of which a label follows to the letter, and the smallest difference of
/// two such times in milliseconds.
const FORMS: [(&str, u32); 9] = [
    ("[year]-[month]-[day]T[hour]:[minute]", 60_000),
    ("[year]-[month]-[day]T[hour]:[minute]Z", 60_000),
    ("[year]-[month]-[day] [hour]:[minute]", 60_000),
    ("[year]-[month]-[day]T[hour]:[minute]:[second]", 1000),
    ("[year]-[month]-[day]T[hour]:[minute]:[second]Z", 1000),
    ("[year]-[month]-[day] [hour]:[minute]:[second]", 1000),
    (
        "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z",
        1,
    ),
    (
        "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]",
        1,
    ),
    ("[year]-[month]-[day]", 86_400_000),
];

/// Labels that are times, in the order of the rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Times {
    /// The first label.
    start: String,
    /// The usual time from a label to the next, in milliseconds.
    step_ms: u64,
    /// The number of labels.
    count: u32,
    /// The difference of each step to the usual one, in units of the smallest difference that the written
    /// form can show. It is absent if all steps are the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jitter: Option<Vec<i64>>,
}

/// Labels that are successive whole numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Numbers {
    /// The first label.
    first: u64,
    /// The number of labels.
    count: u32,
}

/// A written form of times.
pub(crate) struct LabelForm {
    items: Vec<BorrowedFormatItem<'static>>,
    unit: Duration,
}

impl LabelForm {
    /// Returns the form that a label follows, and its time.
    pub(crate) fn of(label: &str) -> Option<(Self, PrimitiveDateTime)> {
        FORMS.iter().find_map(|(form, unit_ms)| {
            let form = Self {
                items: time::format_description::parse_borrowed::<2>(form).ok()?,
                unit: Duration::milliseconds(i64::from(*unit_ms)),
            };
            let time = form.read(label)?;
            (time.format(&form.items).ok()? == label).then_some((form, time))
        })
    }

    /// Returns the time of a label that follows this form.
    pub(crate) fn read(&self, label: &str) -> Option<PrimitiveDateTime> {
        match PrimitiveDateTime::parse(label, &self.items) {
            Ok(time) => Some(time),
            Err(_) => Some(time::Date::parse(label, &self.items).ok()?.midnight()),
        }
    }
}

/// Returns the median, by which few steps differ if most are the same.
fn median(steps: &[i64]) -> Option<i64> {
    let mut steps = steps.to_vec();
    let middle = steps.len() / 2;
    (!steps.is_empty()).then(|| *steps.select_nth_unstable(middle).1)
}

impl Times {
    /// Returns the times that labels are, in rising order or not; `None` if they are no times of one form,
    /// too few or too many.
    fn of(labels: &[String]) -> Option<Self> {
        let count = u32::try_from(labels.len()).ok()?;
        if labels.len() < FEWEST || count > MAX_WRITTEN_OUT {
            return None;
        }
        let (form, start) = LabelForm::of(labels.first()?)?;
        let unit = form.unit.whole_milliseconds();
        let (mut time, mut steps) = (start, Vec::with_capacity(labels.len() - 1));
        for label in &labels[1..] {
            let next = form.read(label)?;
            if next.format(&form.items).ok()? != *label {
                return None;
            }
            steps.push(i64::try_from((next - time).whole_milliseconds() / unit).ok()?);
            time = next;
        }
        let unit = i64::try_from(unit).ok()?;
        let step = median(&steps)?.max(0);
        let is_regular = steps.iter().all(|&own| own == step);
        let jitter = || steps.iter().map(|own| own - step).collect();
        Some(Self {
            start: labels.first()?.clone(),
            step_ms: u64::try_from(step.checked_mul(unit)?).ok()?,
            count,
            jitter: (!is_regular).then(jitter),
        })
    }

    /// Writes the labels out. Returns `None` if the start is no time, or there are too many, or there is not
    /// one difference for each step.
    fn labels(&self) -> Option<Vec<String>> {
        let steps = self.count.checked_sub(1)? as usize;
        let jitter = self.jitter.as_ref();
        if self.count > MAX_WRITTEN_OUT || jitter.is_some_and(|jitter| jitter.len() != steps) {
            return None;
        }
        let (form, start) = LabelForm::of(&self.start)?;
        let step = Duration::milliseconds(i64::try_from(self.step_ms).ok()?);
        let mut labels = Vec::with_capacity(self.count as usize);
        labels.push(self.start.clone());
        let mut time = start;
        for at in 0..steps {
            time = time.checked_add(step)?;
            if let Some(&more) = jitter.and_then(|jitter| jitter.get(at)) {
                let more = form.unit.checked_mul(i32::try_from(more).ok()?)?;
                time = time.checked_add(more)?;
            }
            labels.push(time.format(&form.items).ok()?);
        }
        Some(labels)
    }
}

impl Numbers {
    fn of(labels: &[String]) -> Option<Self> {
        let count = u32::try_from(labels.len()).ok()?;
        if labels.len() < FEWEST || count > MAX_WRITTEN_OUT {
            return None;
        }
        let numbers = Self {
            first: labels.first()?.parse().ok()?,
            count,
        };
        let written = numbers.written()?;
        written
            .zip(labels)
            .all(|(number, label)| number.to_string() == *label)
            .then_some(numbers)
    }

    fn written(&self) -> Option<impl Iterator<Item = u64> + use<>> {
        let end = self.first.checked_add(u64::from(self.count))?;
        Some(self.first..end)
    }

    fn labels(&self) -> Option<Vec<String>> {
        if self.count == 0 || self.count > MAX_WRITTEN_OUT {
            return None;
        }
        Some(self.written()?.map(|number| number.to_string()).collect())
    }
}

/// The shortest form of labels that is not a list.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Short {
    Times(Times),
    Numbers(Numbers),
}

impl Short {
    /// Returns the short form of labels; `None` if they have none, and travel as a list.
    pub(crate) fn of(labels: &[String]) -> Option<Self> {
        if let Some(times) = Times::of(labels) {
            return Some(Self::Times(times));
        }
        Numbers::of(labels).map(Self::Numbers)
    }
}

/// Labels as they travel.
#[derive(Deserialize)]
#[serde(untagged)]
enum Travelling {
    List(Vec<String>),
    Times(Times),
    Numbers(Numbers),
}

/// Writes labels in their shortest form.
pub fn serialize<S: Serializer>(labels: &[String], to: S) -> Result<S::Ok, S::Error> {
    match Short::of(labels) {
        Some(short) => short.serialize(to),
        None => labels.serialize(to),
    }
}

/// Reads labels in any form.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    match Travelling::deserialize(from)? {
        Travelling::List(labels) => Some(labels),
        Travelling::Times(times) => times.labels(),
        Travelling::Numbers(numbers) => numbers.labels(),
    }
    .ok_or_else(|| serde::de::Error::custom("the rows are neither times nor numbers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|&label| label.to_owned()).collect()
    }

    #[test]
    fn regular_times_of_every_form_come_back() {
        for labels in [
            [
                "2024-02-28T22:00",
                "2024-02-28T23:00",
                "2024-02-29T00:00",
                "2024-02-29T01:00",
            ],
            [
                "2025-12-31 23:58",
                "2025-12-31 23:59",
                "2026-01-01 00:00",
                "2026-01-01 00:01",
            ],
            [
                "2025-01-01T00:00:00Z",
                "2025-01-01T00:00:30Z",
                "2025-01-01T00:01:00Z",
                "2025-01-01T00:01:30Z",
            ],
            [
                "2025-01-01T00:00:00.000Z",
                "2025-01-01T00:00:00.250Z",
                "2025-01-01T00:00:00.500Z",
                "2025-01-01T00:00:00.750Z",
            ],
            ["2025-02-27", "2025-02-28", "2025-03-01", "2025-03-02"],
        ] {
            let labels = texts(&labels);
            let regular = Times::of(&labels).unwrap();
            assert_eq!(regular.jitter, None);
            assert_eq!(regular.labels().unwrap(), labels);
        }
    }

    #[test]
    fn steps_that_differ_come_back_and_take_a_byte_each() {
        // The clock of an agent, a gap, and a clock that was put back.
        let clock = [
            "2025-01-01T00:00:00Z",
            "2025-01-01T00:01:00Z",
            "2025-01-01T00:02:01Z",
            "2025-01-01T00:03:00Z",
            "2025-01-01T00:03:59Z",
            "2025-01-01T06:00:00Z",
            "2025-01-01T05:59:30Z",
        ];
        let times = Times::of(&texts(&clock)).unwrap();
        assert_eq!(times.step_ms, 60_000);
        assert_eq!(times.jitter.as_ref().unwrap()[..4], [0, 1, -1, -1]);
        assert_eq!(times.labels().unwrap(), texts(&clock));
        let backwards = ["2025-01-03", "2025-01-02", "2025-01-01", "2024-12-31"];
        let times = Times::of(&texts(&backwards)).unwrap();
        assert_eq!(times.labels().unwrap(), texts(&backwards));
        let (form, start) = LabelForm::of("2025-01-01T00:00:00Z").unwrap();
        let jittered = |row: i64| {
            let time = start + Duration::seconds(60 * row + row % 3);
            time.format(&form.items).unwrap()
        };
        let labels: Vec<String> = (0..1000).map(jittered).collect();
        let mut bytes = Vec::new();
        ciborium::into_writer(&Short::of(&labels).unwrap(), &mut bytes).unwrap();
        assert!(bytes.len() < 1070, "{}", bytes.len());
    }

    #[test]
    fn numbers_come_back() {
        let labels: Vec<String> = (1..=5000).map(|number: u32| number.to_string()).collect();
        let Some(Short::Numbers(numbers)) = Short::of(&labels) else {
            panic!("a count of rows is a list");
        };
        assert_eq!((numbers.first, numbers.count), (1, 5000));
        assert_eq!(numbers.labels().unwrap(), labels);
        assert!(Short::of(&texts(&["01", "02", "03", "04"])).is_none());
        assert!(Short::of(&texts(&["1", "2", "4", "5"])).is_none());
    }

    #[test]
    fn what_is_neither_stays_a_list() {
        let hours = ["2025-01-01T00:00", "2025-01-01T01:00", "2025-01-01T02:00"];
        assert_eq!(Times::of(&texts(&hours)), None);
        let other = [
            "2025-01-01T00:00",
            "2025-01-01 01:00",
            "2025-01-01T02:00",
            "2025-01-01T03:00",
        ];
        assert_eq!(Times::of(&texts(&other)), None);
        assert_eq!(Times::of(&texts(&["a", "b", "c", "d"])), None);
    }

    #[test]
    fn what_is_forged_is_no_list() {
        let forged = |start: &str, step_ms, count, jitter| {
            let start = start.to_owned();
            Times {
                start,
                step_ms,
                count,
                jitter,
            }
            .labels()
        };
        assert_eq!(forged("yesterday", 1, 4, None), None);
        assert_eq!(forged("2025-01-01", 1, 0, None), None);
        let day = 86_400_000;
        assert_eq!(forged("2025-01-01", day, MAX_WRITTEN_OUT + 1, None), None);
        assert_eq!(forged("9999-12-31", day, 4, None), None);
        assert_eq!(forged("2025-01-01", u64::MAX, 4, None), None);
        assert_eq!(forged("2025-01-01", day, 4, Some(vec![0; 4])), None);
        assert_eq!(forged("2025-01-01", day, 2, Some(vec![i64::MAX])), None);
        assert_eq!(forged("2025-01-01", day, 2, Some(vec![1 << 30])), None);
        assert_eq!(
            forged("2025-01-01", 0, 2, None).unwrap(),
            ["2025-01-01", "2025-01-01"]
        );
        let numbers = |first, count| Numbers { first, count }.labels();
        assert_eq!(numbers(u64::MAX, 2), None);
        assert_eq!(numbers(1, MAX_WRITTEN_OUT + 1), None);
        assert_eq!(numbers(1, 0), None);
    }
}
