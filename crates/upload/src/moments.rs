//! The moments that row labels stand for.
//!
//! Labels are texts, and stay so: a board's clock, its time zone and its corrections are visible in them. For lists and selections
//! by time, labels that are times in one of the forms that boards write, or in RFC 3339 with any offset, are read as
//! moments. A time without a zone counts as UTC.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

use crate::row_labels::LabelForm;

/// A moment, to the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

/// A text that is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "times are like 2026-11-23, 2026-11-23T14:30, 2026-11-23T14:30:05Z or 2026-11-23T14:30:05+01:00; without a zone they \
     are UTC"
)]
pub struct NoMoment;

/// RFC 3339 without seconds, as people write it.
const MINUTES: &str =
    "[year]-[month]-[day]T[hour]:[minute][offset_hour sign:mandatory]:[offset_minute]";

impl Moment {
    /// Returns the moment of this number of milliseconds since 1970, UTC.
    pub fn from_unix_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// The number of milliseconds since 1970, UTC; negative before.
    pub fn unix_ms(self) -> i64 {
        self.0
    }

    fn of_offset(time: OffsetDateTime) -> Option<Self> {
        i64::try_from(time.unix_timestamp_nanos().div_euclid(1_000_000))
            .ok()
            .map(Self)
    }

    /// Returns the moment that a label stands for, with the form that it was read by if that was a board's.
    fn read(label: &str) -> Option<(Self, Option<LabelForm>)> {
        if let Some((form, time)) = LabelForm::of(label) {
            return Some((Self::of_offset(time.assume_utc())?, Some(form)));
        }
        let time = OffsetDateTime::parse(label, &Rfc3339).or_else(|_| {
            let without_seconds = time::format_description::parse_borrowed::<2>(MINUTES)?;
            OffsetDateTime::parse(label, &without_seconds).map_err(time::Error::from)
        });
        Some((Self::of_offset(time.ok()?)?, None))
    }
}

impl FromStr for Moment {
    type Err = NoMoment;

    /// Reads a time in RFC 3339 or in one of the forms of labels.
    fn from_str(text: &str) -> Result<Self, NoMoment> {
        Self::read(text).map(|(moment, _)| moment).ok_or(NoMoment)
    }
}

impl fmt::Display for Moment {
    /// Writes RFC 3339 in UTC, with milliseconds if there are any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000);
        let text = time.ok().and_then(|time| {
            let time = time.to_offset(UtcOffset::UTC);
            time.format(&Rfc3339).ok()
        });
        // RFC 3339 has four digits for the year.
        f.write_str(text.as_deref().unwrap_or("a year without four digits"))
    }
}

/// A text where people read, and a number of milliseconds where they do not.
impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(self),
            false => serializer.serialize_i64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return i64::deserialize(deserializer).map(Self);
        }
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The time from the earliest to the latest row, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The earliest row's moment.
    pub first: Moment,
    /// The latest row's moment.
    pub last: Moment,
}

impl Span {
    /// Returns the span of rows with these labels. `None` if there are none, or if one of them is no time.
    pub fn of(labels: &[String]) -> Option<Self> {
        let moments: Option<Vec<Moment>> = moments_of(labels).collect();
        Self::of_moments(moments?)
    }

    /// Returns the span of these moments. `None` if there are none.
    pub fn of_moments(moments: impl IntoIterator<Item = Moment>) -> Option<Self> {
        let spans = moments.into_iter().map(|moment| Self {
            first: moment,
            last: moment,
        });
        spans.reduce(|span, other| Self {
            first: span.first.min(other.first),
            last: span.last.max(other.last),
        })
    }
}

/// Returns the moment that each of these labels stands for; `None` for a label that is no time.
pub fn moments_of(labels: &[String]) -> impl Iterator<Item = Option<Moment>> {
    // Labels of one upload have one form, which is found once.
    let mut form: Option<LabelForm> = None;
    labels.iter().map(move |label| {
        let known = form.as_ref().and_then(|form| form.read(label));
        if let Some(time) = known {
            return Moment::of_offset(time.assume_utc());
        }
        let (moment, own) = Moment::read(label)?;
        form = own.or(form.take());
        Some(moment)
    })
}

/// Reads a time such as `500ms`, `10s`, `5m`, `1h`, `1d`, `1w` or `1y`, which is 365 days. Returns `None` for anything else.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    let milliseconds = match text[digits..].trim() {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        "y" => 31_536_000_000,
        _ => return None,
    };
    number.checked_mul(milliseconds).map(Duration::from_millis)
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => self.first.fmt(f),
            false => write!(f, "{} to {}", self.first, self.last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        text.parse().unwrap()
    }

    #[test]
    fn times_are_read_in_every_form_of_labels_and_with_offsets() {
        let noon = Moment::from_unix_ms(1_795_435_200_000);
        for text in [
            "2026-11-23T12:00",
            "2026-11-23T12:00Z",
            "2026-11-23 12:00",
            "2026-11-23T12:00:00",
            "2026-11-23 12:00:00",
            "2026-11-23T12:00:00.000Z",
            "2026-11-23T12:00:00Z",
            "2026-11-23T13:00:00+01:00",
            "2026-11-23T06:30:00-05:30",
            "2026-11-23T13:00+01:00",
        ] {
            assert_eq!(moment(text), noon, "{text}");
        }
        assert_eq!(noon.to_string(), "2026-11-23T12:00:00Z");
        assert_eq!(moment("2026-11-23").to_string(), "2026-11-23T00:00:00Z");
        assert_eq!(moment("2026-11-23T12:00:00.250Z").unix_ms() % 1000, 250);
        assert_eq!(moment("1969-12-31T23:59:59.999Z").unix_ms(), -1);
        for text in ["", "7", "11:00", "2026-13-01", "2026-11-23T25:00", "monday"] {
            assert_eq!(text.parse::<Moment>(), Err(NoMoment), "{text}");
        }
    }

    #[test]
    fn texts_of_moments_are_read_again() {
        for ms in [
            0,
            -1,
            1,
            1_795_435_200_000,
            1_795_435_200_123,
            -62_135_596_800_000,
        ] {
            let moment = Moment::from_unix_ms(ms);
            assert_eq!(moment.to_string().parse(), Ok(moment));
            let mut bytes = Vec::new();
            ciborium::into_writer(&moment, &mut bytes).unwrap();
            assert_eq!(
                ciborium::from_reader::<Moment, _>(&bytes[..]).unwrap(),
                moment
            );
        }
        assert!(
            Moment::from_unix_ms(i64::MAX)
                .to_string()
                .parse::<Moment>()
                .is_err()
        );
    }

    #[test]
    fn a_span_has_the_earliest_and_the_latest_row_in_any_order() {
        let labels = |texts: &[&str]| {
            texts
                .iter()
                .map(|&text| text.to_owned())
                .collect::<Vec<_>>()
        };
        // The clock was set back between the second row and the third.
        let span = Span::of(&labels(&[
            "2026-11-23T10:00",
            "2026-11-23T12:00",
            "2026-11-23T09:30",
        ]));
        let span = span.unwrap();
        assert_eq!(
            span.to_string(),
            "2026-11-23T09:30:00Z to 2026-11-23T12:00:00Z"
        );
        let mixed = Span::of(&labels(&["2026-11-23T10:00", "2026-11-23T11:00:00+02:00"])).unwrap();
        assert_eq!(mixed.first, moment("2026-11-23T09:00Z"));
        assert_eq!(
            Span::of(&labels(&["2026-11-23T10:00"]))
                .unwrap()
                .to_string(),
            "2026-11-23T10:00:00Z"
        );
        assert_eq!(Span::of(&labels(&["2026-11-23T10:00", "later"])), None);
        assert_eq!(Span::of(&labels(&["0", "1"])), None);
        assert_eq!(Span::of(&[]), None);
    }

    #[test]
    fn labels_are_moments_one_by_one() {
        let labels = [
            "2026-11-23",
            "x",
            "2026-11-23T01:00",
            "2026-11-23T01:00:00+01:00",
        ];
        let labels = labels.map(str::to_owned);
        let moments: Vec<Option<Moment>> = moments_of(&labels).collect();
        let day = moment("2026-11-23");
        assert_eq!(
            moments,
            [
                Some(day),
                None,
                Some(moment("2026-11-23T01:00Z")),
                Some(day)
            ]
        );
    }

    #[test]
    fn times_have_units() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("5 m", 300_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
            ("2w", 1_209_600_000),
            ("5y", 157_680_000_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Some(Duration::from_millis(milliseconds))
            );
        }
        for text in [
            "",
            "10",
            "s",
            "-1s",
            "1.5s",
            "10 years",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
