//! Row labels on the wire: a list of texts, or regular times as a start, a step and a count.
//!
//! Hourly readings of a year have 8,760 labels, which take 145 KiB as texts: more than their ciphertexts.
//! Labels that are times in one written form, each as much later than the one before, travel as the
//! first of them instead, and are written out by the reader.

use serde::{Deserialize, Deserializer, Serialize};
use time::format_description::BorrowedFormatItem;
use time::{Duration, PrimitiveDateTime};

/// The largest number of regular times that are written out. Their texts take about as much memory as the
/// longest metadata message can ask for with a list.
pub(crate) const MAX_REGULAR: u32 = 1 << 18;

/// The fewest labels that a start, a step and a count are shorter for.
const FEWEST: usize = 4;

/// The written forms of times, each of which a label follows to the letter.
const FORMS: [&str; 9] = [
    "[year]-[month]-[day]T[hour]:[minute]",
    "[year]-[month]-[day]T[hour]:[minute]Z",
    "[year]-[month]-[day] [hour]:[minute]",
    "[year]-[month]-[day]T[hour]:[minute]:[second]",
    "[year]-[month]-[day]T[hour]:[minute]:[second]Z",
    "[year]-[month]-[day] [hour]:[minute]:[second]",
    "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z",
    "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]",
    "[year]-[month]-[day]",
];

/// Labels that are regular times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegularTimes {
    /// The first label.
    start: String,
    /// The time from each label to the next, in milliseconds.
    step_ms: u64,
    /// The number of labels.
    count: u32,
}

type Form = Vec<BorrowedFormatItem<'static>>;

/// Returns the form that a label follows, and its time.
fn form_of(label: &str) -> Option<(Form, PrimitiveDateTime)> {
    FORMS.iter().find_map(|form| {
        let form = time::format_description::parse_borrowed::<2>(form).ok()?;
        let time = match PrimitiveDateTime::parse(label, &form) {
            Ok(time) => time,
            Err(_) => time::Date::parse(label, &form).ok()?.midnight(),
        };
        (time.format(&form).ok()? == label).then_some((form, time))
    })
}

impl RegularTimes {
    /// Returns the regular times that labels are; `None` if they are none, or too few to be shorter.
    pub(crate) fn of(labels: &[String]) -> Option<Self> {
        let [first, second, ..] = labels else {
            return None;
        };
        let count = u32::try_from(labels.len()).ok()?;
        if labels.len() < FEWEST || count > MAX_REGULAR {
            return None;
        }
        let (form, start) = form_of(first)?;
        let (_, next) = form_of(second)?;
        let step = next - start;
        let regular = Self {
            start: first.clone(),
            step_ms: u64::try_from(step.whole_milliseconds()).ok()?,
            count,
        };
        let mut written = regular.times(&form, start);
        let is_same = |label| written.next().flatten().as_ref() == Some(label);
        labels.iter().all(is_same).then_some(regular)
    }

    fn times<'f>(
        &self,
        form: &'f Form,
        start: PrimitiveDateTime,
    ) -> impl Iterator<Item = Option<String>> + use<'f> {
        let step = i64::try_from(self.step_ms).ok().map(Duration::milliseconds);
        let mut next = Some(start);
        (0..self.count).map(move |_| {
            let time = next?;
            next = step.and_then(|step| time.checked_add(step));
            time.format(form).ok()
        })
    }

    /// Writes the labels out. Returns `None` if the start is no time, or there are too many.
    pub(crate) fn labels(&self) -> Option<Vec<String>> {
        if self.count > MAX_REGULAR {
            return None;
        }
        let (form, start) = form_of(&self.start)?;
        self.times(&form, start).collect()
    }
}

/// Labels as they travel.
#[derive(Deserialize)]
#[serde(untagged)]
enum Travelling {
    List(Vec<String>),
    Regular(RegularTimes),
}

/// Reads labels in either form.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    match Travelling::deserialize(from)? {
        Travelling::List(labels) => Ok(labels),
        Travelling::Regular(regular) => regular
            .labels()
            .ok_or_else(|| serde::de::Error::custom("the rows are no regular times")),
    }
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
            let regular = RegularTimes::of(&labels).unwrap();
            assert_eq!(regular.labels().unwrap(), labels);
        }
    }

    #[test]
    fn what_is_not_regular_stays_a_list() {
        let hours = [
            "2025-01-01T00:00",
            "2025-01-01T01:00",
            "2025-01-01T02:00",
            "2025-01-01T04:00",
        ];
        assert_eq!(RegularTimes::of(&texts(&hours)), None);
        assert_eq!(RegularTimes::of(&texts(&hours[..3])), None);
        let other = [
            "2025-01-01T00:00",
            "2025-01-01 01:00",
            "2025-01-01T02:00",
            "2025-01-01T03:00",
        ];
        assert_eq!(RegularTimes::of(&texts(&other)), None);
        let backwards = ["2025-01-03", "2025-01-02", "2025-01-01", "2024-12-31"];
        assert_eq!(RegularTimes::of(&texts(&backwards)), None);
        assert_eq!(RegularTimes::of(&texts(&["a", "b", "c", "d"])), None);
    }

    #[test]
    fn what_is_forged_is_no_list() {
        let forged = |start: &str, step_ms, count| {
            let start = start.to_owned();
            RegularTimes {
                start,
                step_ms,
                count,
            }
            .labels()
        };
        assert_eq!(forged("yesterday", 1, 4), None);
        assert_eq!(forged("2025-01-01", 86_400_000, MAX_REGULAR + 1), None);
        assert_eq!(forged("9999-12-31", 86_400_000, 4), None);
        assert_eq!(forged("2025-01-01", u64::MAX, 4), None);
        assert_eq!(
            forged("2025-01-01", 0, 2).unwrap(),
            ["2025-01-01", "2025-01-01"]
        );
    }
}
