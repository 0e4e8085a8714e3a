//! Standing queries over HTTP: questions that a server keeps, and answers for each period of time once it is over.
//!
//! | request | answer |
//! |---|---|
//! | `POST /v1/standing/{name}`, with [`Terms`] (binary), as a query | 201, [`Standing`]; 200 if the same is there already |
//! | `GET /v1/standing` | [`StandingList`] |
//! | `GET /v1/standing/{name}` | [`Standing`] |
//! | `GET /v1/standing/{name}/periods`, with [`PeriodFilter`] | [`PeriodList`] |
//! | `GET /v1/standing/{name}/periods/{from}` | the encrypted result of the period that begins then, with the headers of a query's and its id as `ETag` |
//! | `POST /v1/standing/{name}/pause`, `/resume` | [`Standing`] |
//! | `DELETE /v1/standing/{name}` | the [`Standing`] that there was; its results are gone |
//!
//! All are for owners, and each owner, by the name in the certificate, has its own standing queries.

use std::fmt::{self, Write};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tfhe_sbc_upload::moments::{Moment, NoMoment, parse_duration};

use crate::BlobId;
use crate::catalogue::{FilterError, Names};
use crate::human;
use crate::protocol::ErrorBody;

/// The path of standing queries.
pub const STANDING_PATH: &str = "/v1/standing";

/// The most periods of one page of their list.
pub const MAX_PERIODS: u32 = 1000;

/// The time after the end of a period in which its uploads may still arrive, unless another is given.
pub const GRACE: Duration = Duration::from_secs(600);

/// The most bytes of the result of a period that a client reads.
pub const LARGEST_RESULT: u64 = 1 << 30;

/// The name of a standing query: 1 to 64 letters, digits, `-`, `_` and `.`, the first of which is a letter or a digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StandingName(String);

/// A text that is no [`StandingName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of a standing query is up to 64 letters, digits, '-', '_' and '.', and begins with a letter or a digit"
)]
pub struct NoStandingName;

impl FromStr for StandingName {
    type Err = NoStandingName;

    fn from_str(text: &str) -> Result<Self, NoStandingName> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let begins = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        match begins && text.len() <= 64 && text.bytes().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(NoStandingName),
        }
    }
}

impl StandingName {
    /// Returns the usual name of a standing query of this period, such as `hourly` or `every-15m`.
    pub fn usual(every: Length) -> Self {
        let name = match every.0.as_secs() {
            3600 => "hourly".to_owned(),
            86_400 => "daily".to_owned(),
            604_800 => "weekly".to_owned(),
            _ => format!("every-{every}"),
        };
        Self(name)
    }
}

impl TryFrom<String> for StandingName {
    type Error = NoStandingName;

    fn try_from(text: String) -> Result<Self, NoStandingName> {
        text.parse()
    }
}

impl From<StandingName> for String {
    fn from(name: StandingName) -> Self {
        name.0
    }
}

impl fmt::Display for StandingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A length of time as people write it: a whole number of the largest unit that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Length(pub Duration);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The units in milliseconds. Weeks are written as days, and a year has 365 of these.
        const UNITS: [(&str, u128); 5] = [
            ("y", 31_536_000_000),
            ("d", 86_400_000),
            ("h", 3_600_000),
            ("m", 60_000),
            ("s", 1000),
        ];
        let ms = self.0.as_millis();
        match UNITS
            .iter()
            .find(|(_, unit)| ms > 0 && ms.is_multiple_of(*unit))
        {
            Some((name, unit)) => write!(f, "{}{name}", ms / unit),
            None => write!(f, "{ms}ms"),
        }
    }
}

impl FromStr for Length {
    type Err = TermsError;

    fn from_str(text: &str) -> Result<Self, TermsError> {
        parse_duration(text).map(Self).ok_or(TermsError::Length)
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The terms of a standing query, beside the questions themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The devices whose readings it is about.
    pub names: Names,
    /// The length of a period.
    pub every: Length,
    /// The time after the end of a period in which its uploads may still arrive.
    pub grace: Length,
    /// The first period is the one that this moment is in; from now on if there is none.
    pub since: Option<Moment>,
    /// The last period ends at this moment or before.
    pub until: Option<Moment>,
    /// The time after the end of a period for which its result is kept; until it is removed if there is none.
    pub keep: Option<Length>,
}

/// A text that is no [`Terms`] or [`PeriodFilter`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    /// Names that no uploader has, times that are none, and spans that end before they begin.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A length of time that is none.
    #[error("lengths of time are a number and a unit, like 15m, 1h, 90d or 5y")]
    Length,
    /// No period.
    #[error("a standing query has a period, such as every=1h")]
    NoPeriod,
    /// A term that there is not.
    #[error("there is no term '{0}': there are every, device, since, until, grace and keep")]
    Unknown(String),
    /// A condition on periods that there is not.
    #[error("there is no filter '{0}' of periods: there are since, until, before and limit")]
    UnknownFilter(String),
}

/// The pairs of a URL's query.
fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

fn moment(name: &'static str, text: &str) -> Result<Option<Moment>, FilterError> {
    let time = text.parse().map(Some);
    time.map_err(|error: NoMoment| FilterError::Time(name, error))
}

/// Checks that a span does not end before it begins.
fn check(since: Option<Moment>, until: Option<Moment>) -> Result<(), FilterError> {
    match (since, until) {
        (Some(since), Some(until)) if since >= until => Err(FilterError::Reversed { since, until }),
        _ => Ok(()),
    }
}

/// Writes the query of a URL, with the question mark, of what there is.
fn to_query(pairs: &[(&str, Option<&dyn fmt::Display>)]) -> String {
    let mut query = String::new();
    for (key, value) in pairs {
        if let Some(value) = value {
            let sign = if query.is_empty() { '?' } else { '&' };
            // Writing to a string does not fail.
            let _ = write!(query, "{sign}{key}={value}");
        }
    }
    query
}

fn shown<T: fmt::Display>(value: &Option<T>) -> Option<&dyn fmt::Display> {
    value.as_ref().map(|value| value as &dyn fmt::Display)
}

impl Terms {
    /// Reads the query of a URL, without the question mark.
    ///
    /// # Errors
    /// The first term that is not one.
    pub fn from_query(query: &str) -> Result<Self, TermsError> {
        let mut every = None;
        let mut terms = Self {
            names: Names::default(),
            every: Length(Duration::ZERO),
            grace: Length(GRACE),
            since: None,
            until: None,
            keep: None,
        };
        for (key, value) in pairs(query) {
            match key {
                "every" => every = Some(value.parse()?),
                "device" => terms.names = value.parse()?,
                "since" => terms.since = moment("since:", value)?,
                "until" => terms.until = moment("until:", value)?,
                "grace" => terms.grace = value.parse()?,
                "keep" => terms.keep = Some(value.parse()?),
                _ => return Err(TermsError::Unknown(key.to_owned())),
            }
        }
        check(terms.since, terms.until)?;
        let every = every.ok_or(TermsError::NoPeriod)?;
        Ok(Self { every, ..terms })
    }

    /// Returns the query of a URL, with the question mark.
    pub fn to_query(&self) -> String {
        let names = (!self.names.is_all()).then_some(&self.names as &dyn fmt::Display);
        to_query(&[
            ("every", Some(&self.every)),
            ("device", names),
            ("since", shown(&self.since)),
            ("until", shown(&self.until)),
            ("grace", Some(&self.grace)),
            ("keep", shown(&self.keep)),
        ])
    }
}

/// The conditions that periods of a list meet, and the page that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeriodFilter {
    /// Only periods that end after this moment.
    pub since: Option<Moment>,
    /// Only periods that begin before this moment.
    pub until: Option<Moment>,
    /// Only periods that begin before the one of this beginning, which a page tells as `next`.
    pub before: Option<Moment>,
    /// The most periods; [`MAX_PERIODS`] unless it is less.
    pub limit: Option<u32>,
}

impl PeriodFilter {
    /// Reads the query of a URL, without the question mark.
    ///
    /// # Errors
    /// The first condition that is not one.
    pub fn from_query(query: &str) -> Result<Self, TermsError> {
        let mut filter = Self::default();
        for (key, value) in pairs(query) {
            match key {
                "since" => filter.since = moment("since:", value)?,
                "until" => filter.until = moment("until:", value)?,
                "before" => filter.before = moment("before:", value)?,
                "limit" => {
                    let number = value.parse().map_err(|_| FilterError::Number("limit"))?;
                    filter.limit = Some(number);
                }
                _ => return Err(TermsError::UnknownFilter(key.to_owned())),
            }
        }
        check(filter.since, filter.until)?;
        Ok(filter)
    }

    /// Returns the query of a URL, with the question mark; nothing if there are no conditions.
    pub fn to_query(&self) -> String {
        to_query(&[
            ("since", shown(&self.since)),
            ("until", shown(&self.until)),
            ("before", shown(&self.before)),
            ("limit", shown(&self.limit)),
        ])
    }
}

/// A standing query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The name.
    pub name: StandingName,
    /// The questions, without encrypted thresholds.
    pub questions: Vec<String>,
    /// The length of a period.
    pub every: Length,
    /// The groups of each period, as `query --by` has them.
    pub by: String,
    /// The devices, with commas between; empty for all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub devices: String,
    /// The beginning of the first period.
    pub since: Moment,
    /// The end of the last period, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// The time after the end of a period in which its uploads may still arrive.
    pub grace: Length,
    /// The time for which results are kept; until they are removed if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Length>,
    /// The time at which it was left with the server, as RFC 3339 in UTC.
    pub created_at: String,
    /// Whether nothing is computed until it is resumed.
    pub paused: bool,
    /// The end of the last period before which each one has been computed or has failed.
    pub computed_until: Moment,
    /// The end of the next period to be computed and its grace, as RFC 3339 in UTC; none if there is no further one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<String>,
    /// The number of closed periods that are to be computed, for the first time or again.
    pub waiting: u64,
    /// The number of periods that failed, and are tried again after a restart, a change of their uploads, or `resume`.
    pub failed: u64,
    /// The last failure, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Failure>,
    /// The reason why nothing is computed at the moment, if there is one other than a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ErrorBody>,
    /// The number of results.
    pub results: u64,
    /// The bytes that they take.
    pub bytes: u64,
    /// The number of uploads that came for periods whose readings were no longer stored, and that are in no result.
    #[serde(default)]
    pub late: u64,
}

impl Standing {
    /// Returns the state in words: `up to date`, `ended`, or what keeps it from that, such as `paused, 3 waiting`.
    pub fn state(&self) -> String {
        let mut words = Vec::new();
        if self.paused {
            words.push("paused".to_owned());
        }
        if self.problem.is_some() {
            words.push("no room".to_owned());
        }
        for (number, word) in [(self.waiting, "waiting"), (self.failed, "failed")] {
            if number > 0 {
                words.push(format!("{} {word}", human::count(number)));
            }
        }
        match (words.is_empty(), self.next_at.is_some()) {
            (false, _) => words.join(", "),
            (true, true) => "up to date".to_owned(),
            (true, false) => "ended".to_owned(),
        }
    }
}

/// A period that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The beginning of the period.
    pub from: Moment,
    /// The reason.
    #[serde(flatten)]
    pub reason: ErrorBody,
}

/// The standing queries of an owner, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingList {
    /// The standing queries.
    pub standing: Vec<Standing>,
}

/// The state of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodState {
    /// It has no result yet.
    Waiting,
    /// It has a result.
    Computed,
    /// It has a result, and is to be computed again, because uploads came or went.
    Outdated,
    /// It failed; [`Period::error`] says why. It may have a former result.
    Failed,
}

impl fmt::Display for PeriodState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "waiting",
            Self::Computed => "computed",
            Self::Outdated => "outdated",
            Self::Failed => "failed",
        })
    }
}

/// A period of a standing query that has a result or is to get one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// Its beginning.
    pub from: Moment,
    /// Its end, which is the beginning of the next one.
    pub until: Moment,
    /// The state.
    pub state: PeriodState,
    /// The result, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<PeriodResult>,
    /// The reason why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// The result of a period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PeriodResult {
    /// The BLAKE3 hash of its bytes.
    pub id: BlobId,
    /// Its size in bytes.
    pub bytes: u64,
    /// The number of uploads that it was computed from.
    pub uploads: u64,
    /// The time at which it was computed.
    pub computed_at: Moment,
    /// The number of bootstraps that it took.
    pub bootstraps: u64,
    /// The seconds that it took.
    pub seconds: f64,
    /// The number of uploads that came after readings of the period were removed by retention. They are not in the result.
    #[serde(default)]
    pub late: u64,
}

/// A page of the periods of a standing query, the latest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PeriodList {
    /// The periods.
    pub periods: Vec<Period>,
    /// The beginning that the next page is asked for with, as its `before`; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Moment>,
}

#[cfg(test)]
mod tests;
