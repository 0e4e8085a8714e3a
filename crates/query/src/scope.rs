//! Scopes: the rows of uploads that questions are about, and the groups in which they are answered.
//!
//! A scope sees the labels of rows and the names of devices, which are not encrypted. Rows are selected one by one, so that
//! an upload may be in a scope in part.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tfhe_sbc_upload::moments::{Moment, Span, moments_of, parse_duration};

/// The most groups of one request.
pub const MAX_GROUPS: usize = 100_000;

/// The rows that questions are about; all unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// Only rows of this moment or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Moment>,
    /// Only rows before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// Only this number of rows of each device: those of the latest moments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<u32>,
    /// The groups, each of which is answered by itself.
    #[serde(default, skip_serializing_if = "Grouping::is_none")]
    pub by: Grouping,
}

/// The properties that the rows of a group have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouping {
    /// Whether the rows of a group are of one device.
    pub device: bool,
    /// The period of time that the rows of a group are of.
    pub period: Option<Period>,
}

/// A length of time that groups of rows are of. Periods follow one another from Monday, 5 January 1970, 0:00 UTC on: hours, days
/// and weeks begin when people expect them to, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    ms: i64,
}

/// The key of a group: what its rows have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupKey {
    /// The device; `None` if groups are of all devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The beginning of the period; `None` if groups are of all times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Moment>,
    /// The end of the period, which is the beginning of the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// The number of rows.
    pub rows: u32,
}

impl fmt::Display for GroupKey {
    /// Writes the device and the beginning of the period, as far as there are any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.device, &self.from) {
            (Some(device), Some(from)) => write!(f, "{device} {from}"),
            (Some(device), None) => f.write_str(device),
            (None, Some(from)) => from.fmt(f),
            (None, None) => f.write_str("all"),
        }
    }
}

/// The rows that an answer is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The devices, by their names; none if no device is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<AboutDevice>,
    /// The span of time of the rows, if all labels are times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// The number of rows.
    pub rows: u64,
    /// The number of uploads that they are of.
    pub uploads: u64,
    /// The number of rows that are of the same device and moment as another one before them. They count like others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: u64,
}

/// The rows of one device that an answer is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AboutDevice {
    /// The name; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of rows.
    pub rows: u64,
    /// The number of uploads that they are of.
    pub uploads: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The rows of an upload, as a scope sees them.
#[derive(Clone, Copy, Debug)]
pub struct UploadRows<'a> {
    /// The name of the device; `None` if it is not known.
    pub device: Option<&'a str>,
    /// The labels of the rows.
    pub labels: &'a [String],
}

/// The reason why there is no such scope, or why it cannot be applied to uploads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// A span that ends before it begins.
    #[error(
        "the time since which rows are asked for, {since}, is not before the time until which they are, {until}"
    )]
    Reversed {
        /// The beginning.
        since: Moment,
        /// The end.
        until: Moment,
    },
    /// Zero rows of each device.
    #[error("the newest rows of each device are at least 1")]
    NoneNewest,
    /// A row whose time is not known.
    #[error(
        "the row '{label}' has no time that could be selected by: times are like 2026-11-23T14:30:05Z, and uploads whose rows have \
         other labels can only be asked about whole; to leave those uploads out, ask about devices that have none, or about a time"
    )]
    NoTime {
        /// The label.
        label: String,
    },
    /// An upload whose device is not known.
    #[error(
        "the device of some of the readings is not known, so that there are no groups by device: it is known of uploads that a \
         server has stored, and of those under the key of a device"
    )]
    NoDevice,
    /// No rows.
    #[error("none of the {rows} rows of the selected readings is in that time{}", span.map(|span| format!(": they are of {span}")).unwrap_or_default())]
    NoRows {
        /// The number of rows of the uploads.
        rows: usize,
        /// Their span.
        span: Option<Span>,
    },
    /// Too many groups.
    #[error(
        "there are {0} groups, more than the {MAX_GROUPS} of one query: ask about longer periods or a shorter time"
    )]
    Groups(usize),
}

/// A text that is no grouping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("groups are by device, by hour, day, week or a time like 15m, or by both: device,hour")]
pub struct NoGrouping;

impl Period {
    /// The first beginning of a period, in milliseconds since 1970: a Monday.
    const ANCHOR: i64 = 4 * 86_400_000;

    /// Returns the period of this length, which is from a second to 100 years.
    pub fn new(length: Duration) -> Option<Self> {
        let ms = i64::try_from(length.as_millis()).ok()?;
        (1000..=36_525 * 86_400_000)
            .contains(&ms)
            .then_some(Self { ms })
    }

    /// The length.
    pub fn length(self) -> Duration {
        Duration::from_millis(self.ms.unsigned_abs())
    }

    /// Returns whether each of the other periods consists of whole ones of these.
    pub fn divides(self, other: Self) -> bool {
        other.ms % self.ms == 0
    }

    /// Returns the beginning and the end of the period that a moment is in.
    pub fn around(self, moment: Moment) -> (Moment, Moment) {
        let since = moment.unix_ms().saturating_sub(Self::ANCHOR);
        let from = (since - since.rem_euclid(self.ms)).saturating_add(Self::ANCHOR);
        let until = from.saturating_add(self.ms);
        (Moment::from_unix_ms(from), Moment::from_unix_ms(until))
    }

    /// The number of periods that rows of a span are of at most.
    pub fn count_in(self, span: Span) -> u64 {
        let ms = span.last.unix_ms().saturating_sub(span.first.unix_ms());
        (ms.max(0) / self.ms) as u64 + 2
    }
}

/// The periods that have names, and their lengths in seconds.
const NAMED: [(&str, u64); 4] = [
    ("minute", 60),
    ("hour", 3600),
    ("day", 86_400),
    ("week", 604_800),
];

impl FromStr for Period {
    type Err = NoGrouping;

    fn from_str(text: &str) -> Result<Self, NoGrouping> {
        let named = NAMED.iter().find(|(name, _)| *name == text);
        let length = match named {
            Some((_, seconds)) => Some(Duration::from_secs(*seconds)),
            None => parse_duration(text),
        };
        length.and_then(Self::new).ok_or(NoGrouping)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = NAMED
            .iter()
            .find(|(_, seconds)| i128::from(*seconds) * 1000 == i128::from(self.ms));
        if let Some((name, _)) = named {
            return f.write_str(name);
        }
        let units = [
            ("d", 86_400_000),
            ("h", 3_600_000),
            ("m", 60_000),
            ("s", 1000),
        ];
        match units.iter().find(|(_, unit)| self.ms % unit == 0) {
            Some((name, unit)) => write!(f, "{}{name}", self.ms / unit),
            None => write!(f, "{}ms", self.ms),
        }
    }
}

/// Groups that a period does not consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a period of one {every} does not consist of whole groups of one {part}")]
pub struct NoPart {
    /// The period.
    pub every: Period,
    /// The period of time of the groups.
    pub part: Period,
}

impl Grouping {
    /// Returns the groups of each period of questions that are asked about one period after the other: these, and by the period
    /// itself if they are by no part of it.
    ///
    /// # Errors
    /// If the periods do not consist of whole groups.
    pub fn in_each(self, every: Period) -> Result<Self, NoPart> {
        match self.period {
            Some(part) if !part.divides(every) => Err(NoPart { every, part }),
            part => Ok(Self {
                period: part.or(Some(every)),
                ..self
            }),
        }
    }

    /// Returns whether there are no groups.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl FromStr for Grouping {
    type Err = NoGrouping;

    fn from_str(text: &str) -> Result<Self, NoGrouping> {
        let mut grouping = Self::default();
        for part in text.split(',') {
            match part.trim() {
                "device" if !grouping.device => grouping.device = true,
                period if grouping.period.is_none() => grouping.period = Some(period.parse()?),
                _ => return Err(NoGrouping),
            }
        }
        Ok(grouping)
    }
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.device, self.period) {
            (true, Some(period)) => write!(f, "device,{period}"),
            (true, None) => f.write_str("device"),
            (false, Some(period)) => period.fmt(f),
            (false, None) => Ok(()),
        }
    }
}

impl Serialize for Grouping {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Grouping {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The rows of uploads that are in a scope.
#[derive(Debug)]
pub(crate) struct Scoped {
    /// The groups in order, by device and then by time: a single one without a key if there are no groups.
    pub(crate) groups: Vec<Group>,
    /// The rows of all groups.
    pub(crate) about: About,
}

/// Rows that are answered for together.
#[derive(Debug)]
pub(crate) struct Group {
    /// The key; `None` if there are no groups.
    pub(crate) key: Option<GroupKey>,
    /// The places of the rows among those of all uploads, which rise.
    pub(crate) rows: Vec<usize>,
    /// The place, among these rows, of the row of the latest moment; of the last row if not all moments are known.
    pub(crate) latest: usize,
    /// The place, among these rows, of the row of the earliest moment; of the first row if not all moments are known.
    pub(crate) earliest: usize,
    /// The places, among these rows, in the order of their moments; `None` if they come in that order, or if not all moments are
    /// known.
    pub(crate) order: Option<Vec<usize>>,
}

/// A row of an upload.
struct Row {
    place: usize,
    upload: usize,
    moment: Option<Moment>,
}

/// The device and the period of a group, as far as there are any.
type Place<'a> = (Option<&'a str>, Option<(Moment, Moment)>);

impl Scope {
    /// Returns whether it is all rows, in one group.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the scope of those of its rows that are of a period.
    #[must_use]
    pub fn within(self, (from, until): (Moment, Moment)) -> Self {
        Self {
            since: Some(self.since.map_or(from, |since| since.max(from))),
            until: Some(self.until.map_or(until, |own| own.min(until))),
            ..self
        }
    }

    /// Checks it without uploads.
    ///
    /// # Errors
    /// A span that ends before it begins, and zero rows of each device.
    pub fn check(&self) -> Result<(), ScopeError> {
        match (self.since, self.until) {
            (Some(since), Some(until)) if since >= until => {
                Err(ScopeError::Reversed { since, until })
            }
            _ if self.newest == Some(0) => Err(ScopeError::NoneNewest),
            _ => Ok(()),
        }
    }

    fn needs_times(&self) -> bool {
        let times = [self.since, self.until];
        times.iter().any(Option::is_some) || self.newest.is_some() || self.by.period.is_some()
    }

    /// Returns whether a row of this moment is between `since` and `until`.
    fn has(&self, moment: Option<Moment>) -> bool {
        let begun = self.since.is_none_or(|since| moment >= Some(since));
        let not_ended = |until| moment.is_some_and(|moment| moment < until);
        begun && self.until.is_none_or(not_ended)
    }

    /// Returns the rows of uploads that are in the scope, in groups.
    ///
    /// # Errors
    /// Rows whose time or device is needed and not known, no rows, and too many groups.
    pub(crate) fn of(&self, uploads: &[UploadRows<'_>]) -> Result<Scoped, ScopeError> {
        let mut rows = Vec::new();
        let mut place = 0;
        for (upload, UploadRows { labels, .. }) in uploads.iter().enumerate() {
            for (label, moment) in labels.iter().zip(moments_of(labels)) {
                if moment.is_none() && self.needs_times() {
                    return Err(ScopeError::NoTime {
                        label: label.clone(),
                    });
                }
                rows.push(Row {
                    place,
                    upload,
                    moment,
                });
                place += 1;
            }
        }
        let span = span_of(&rows);
        rows.retain(|row| self.has(row.moment));
        let device = |row: &Row| uploads.get(row.upload).and_then(|upload| upload.device);
        if let Some(newest) = self.newest {
            rows = newest_of(rows, newest as usize, device);
        }
        if rows.is_empty() {
            return Err(ScopeError::NoRows { rows: place, span });
        }
        let about = about(&rows, device);
        let mut groups: BTreeMap<Place<'_>, Vec<Row>> = BTreeMap::new();
        for row in rows {
            let device = match self.by.device {
                true => Some(device(&row).ok_or(ScopeError::NoDevice)?),
                false => None,
            };
            let period = self.by.period.zip(row.moment);
            let period = period.map(|(period, moment)| period.around(moment));
            groups.entry((device, period)).or_default().push(row);
        }
        if groups.len() > MAX_GROUPS {
            return Err(ScopeError::Groups(groups.len()));
        }
        let groups = groups.into_iter().map(|((device, period), rows)| {
            let key = GroupKey {
                device: device.map(str::to_owned),
                from: period.map(|(from, _)| from),
                until: period.map(|(_, until)| until),
                rows: rows.len() as u32,
            };
            let are_known = rows.iter().all(|row| row.moment.is_some());
            let moments = || rows.iter().map(|row| row.moment).enumerate();
            // Of rows of one moment, the latest is the last one and the earliest the first one.
            let latest = moments().max_by_key(|(_, moment)| *moment);
            let earliest = moments().min_by_key(|(_, moment)| *moment);
            let place = |found: Option<(usize, _)>, otherwise| match found {
                Some((place, _)) if are_known => place,
                _ => otherwise,
            };
            let in_order = rows.is_sorted_by_key(|row| row.moment);
            Group {
                order: (are_known && !in_order).then(|| {
                    let mut order: Vec<usize> = (0..rows.len()).collect();
                    order.sort_by_key(|&place| rows[place].moment);
                    order
                }),
                key: (!self.by.is_none()).then_some(key),
                latest: place(latest, rows.len() - 1),
                earliest: place(earliest, 0),
                rows: rows.into_iter().map(|row| row.place).collect(),
            }
        });
        Ok(Scoped {
            groups: groups.collect(),
            about,
        })
    }
}

impl Group {
    /// Returns the labels of the rows. Those of several devices begin with the name of their device and a space.
    pub(crate) fn labels(&self, uploads: &[UploadRows<'_>]) -> Vec<String> {
        let mut ends = Vec::with_capacity(uploads.len());
        let mut end = 0;
        for upload in uploads {
            end += upload.labels.len();
            ends.push(end);
        }
        let found = self.rows.iter().filter_map(|&row| {
            let upload = uploads.get(ends.partition_point(|&end| end <= row))?;
            let end = ends.get(ends.partition_point(|&end| end <= row))?;
            let place = row + upload.labels.len() - end;
            Some((upload.device, upload.labels.get(place)?))
        });
        let found: Vec<(Option<&str>, &String)> = found.collect();
        let devices: HashSet<Option<&str>> = found.iter().map(|(device, _)| *device).collect();
        let label = |(device, label): (Option<&str>, &String)| match device {
            Some(device) if devices.len() > 1 => format!("{device} {label}"),
            _ => label.clone(),
        };
        found.into_iter().map(label).collect()
    }
}

/// The span of rows, if the moments of all are known.
fn span_of(rows: &[Row]) -> Option<Span> {
    let moments: Option<Vec<Moment>> = rows.iter().map(|row| row.moment).collect();
    Span::of_moments(moments?)
}

/// Returns the `count` rows of the latest moments of each device, in their order.
fn newest_of<'u>(
    rows: Vec<Row>,
    count: usize,
    device: impl Fn(&Row) -> Option<&'u str>,
) -> Vec<Row> {
    let mut each: BTreeMap<Option<&str>, Vec<Row>> = BTreeMap::new();
    for row in rows {
        each.entry(device(&row)).or_default().push(row);
    }
    let mut newest = Vec::new();
    for mut rows in each.into_values() {
        // The order of rows of one moment stays.
        rows.sort_by_key(|row| row.moment);
        newest.extend(rows.split_off(rows.len().saturating_sub(count)));
    }
    newest.sort_by_key(|row| row.place);
    newest
}

/// Returns what can be said about rows.
fn about<'u>(rows: &[Row], device: impl Fn(&Row) -> Option<&'u str>) -> About {
    let mut devices: BTreeMap<Option<&str>, (u64, BTreeSet<usize>)> = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut repeated = 0;
    for row in rows {
        let name = device(row);
        let (count, uploads) = devices.entry(name).or_default();
        *count += 1;
        uploads.insert(row.upload);
        if let Some(moment) = row.moment
            && !seen.insert((name, moment))
        {
            repeated += 1;
        }
    }
    let devices = devices
        .into_iter()
        .map(|(name, (rows, uploads))| AboutDevice {
            name: name.map(str::to_owned),
            rows,
            uploads: uploads.len() as u64,
        });
    let mut devices: Vec<AboutDevice> = devices.collect();
    let uploads = devices.iter().map(|device| device.uploads).sum();
    if devices.iter().all(|device| device.name.is_none()) {
        devices.clear();
    }
    About {
        span: span_of(rows),
        rows: rows.len() as u64,
        uploads,
        repeated,
        devices,
    }
}

#[cfg(test)]
mod tests;
