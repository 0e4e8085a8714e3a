//! Filters of the list of stored readings, as text in the query of a URL.

use std::fmt::{self, Write};
use std::str::FromStr;

use tfhe_sbc_upload::moments::{Moment, NoMoment};

/// The most entries of one page of the list.
pub const MAX_PAGE: u32 = 1000;
/// The most names of one filter.
const MAX_NAMES: usize = 64;

/// Names of uploaders with commas between. In a name, `*` stands for any number of characters and `?` for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names(Vec<String>);

/// The conditions that uploads of a list meet, and the page that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The uploaders; all if there are no names.
    pub names: Names,
    /// Only uploads with a row at this moment or later.
    pub since: Option<Moment>,
    /// Only uploads with a row before this moment.
    pub until: Option<Moment>,
    /// Only uploads that were stored before that of this number, which a page tells as `next`.
    pub before: Option<u64>,
    /// The most entries; [`MAX_PAGE`] unless it is less.
    pub limit: Option<u32>,
}

/// A text that is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Names that no uploader has.
    #[error(
        "devices are names with commas between, of letters, digits, '-', '_' and '.', where * stands for any characters and ? for \
         one: up to {MAX_NAMES} of them"
    )]
    Names,
    /// A time that is none.
    #[error("{0} {1}")]
    Time(&'static str, NoMoment),
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
    /// A number that is none.
    #[error("'{0}' is a whole number")]
    Number(&'static str),
    /// A page of a list where no list is asked for.
    #[error("'before' and 'limit' are for pages of the list")]
    Page,
    /// A condition that there is not.
    #[error("there is no filter '{0}': there are device, since, until, before and limit")]
    Unknown(String),
}

impl FromStr for Names {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*?".contains(&byte);
        let is_name = |name: &&str| (1..=64).contains(&name.len()) && name.bytes().all(is_plain);
        let names: Vec<&str> = text.split(',').collect();
        match names.len() <= MAX_NAMES && names.iter().all(is_name) {
            true => Ok(Self(names.into_iter().map(str::to_owned).collect())),
            false => Err(FilterError::Names),
        }
    }
}

impl Names {
    /// The names, each of which may have `*` and `?`.
    pub fn patterns(&self) -> &[String] {
        &self.0
    }

    /// Returns each of the names alone.
    pub fn each(&self) -> impl Iterator<Item = Self> + '_ {
        self.0.iter().map(|name| Self(vec![name.clone()]))
    }

    /// Returns whether an uploader has one of the names, or there are none.
    pub fn match_name(&self, name: &str) -> bool {
        self.is_all() || self.0.iter().any(|pattern| matches(pattern, name))
    }

    /// Returns whether there are none, which stands for all uploaders.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns whether a name is of a pattern. The last `*` takes one character more whenever what follows it does not fit.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut place) = (0, 0);
    let mut star = None;
    while let Some(c) = name.get(place) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(one) if one == c || *one == '?' => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((behind, taken)) = star else {
                    return false;
                };
                star = Some((behind, taken + 1));
                (at, place) = (behind + 1, taken + 1);
            }
        }
    }
    pattern.iter().skip(at).all(|c| *c == '*')
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

impl Filter {
    /// The filter that all uploads meet, with pages of the largest size.
    pub const ALL: Self = Self {
        names: Names(Vec::new()),
        since: None,
        until: None,
        before: None,
        limit: None,
    };

    /// Returns the filter of the upload of these uploaders that was stored last.
    pub fn last_of(names: Names) -> Self {
        Self {
            names,
            limit: Some(1),
            ..Self::ALL
        }
    }

    /// Reads the query of a URL, without the question mark.
    ///
    /// # Errors
    /// The first condition that is not one.
    pub fn from_query(query: &str) -> Result<Self, FilterError> {
        let mut filter = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let time = |name| {
                let time: Result<Moment, NoMoment> = value.parse();
                time.map(Some)
                    .map_err(|error| FilterError::Time(name, error))
            };
            match key {
                "device" => filter.names = value.parse()?,
                "since" => filter.since = time("since:")?,
                "until" => filter.until = time("until:")?,
                "before" => {
                    let number = value.parse().map_err(|_| FilterError::Number("before"))?;
                    filter.before = Some(number);
                }
                "limit" => {
                    let number = value.parse().map_err(|_| FilterError::Number("limit"))?;
                    filter.limit = Some(number);
                }
                _ => return Err(FilterError::Unknown(key.to_owned())),
            }
        }
        filter.check()?;
        Ok(filter)
    }

    /// Checks that the span of time does not end before it begins.
    ///
    /// # Errors
    /// [`FilterError::Reversed`].
    pub fn check(&self) -> Result<(), FilterError> {
        match (self.since, self.until) {
            (Some(since), Some(until)) if since >= until => {
                Err(FilterError::Reversed { since, until })
            }
            _ => Ok(()),
        }
    }

    /// Returns the query of a URL, with the question mark; nothing if there are no conditions.
    pub fn to_query(&self) -> String {
        let mut query = String::new();
        let mut add = |key: &str, value: Option<&dyn fmt::Display>| {
            if let Some(value) = value {
                let sign = if query.is_empty() { '?' } else { '&' };
                // Writing to a string does not fail.
                let _ = write!(query, "{sign}{key}={value}");
            }
        };
        let names: &dyn fmt::Display = &self.names;
        add("device", (!self.names.is_all()).then_some(names));
        add("since", self.since.as_ref().map(|time| time as _));
        add("until", self.until.as_ref().map(|time| time as _));
        add("before", self.before.as_ref().map(|number| number as _));
        add("limit", self.limit.as_ref().map(|number| number as _));
        query
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_go_through_the_query_of_a_url() {
        let filter = Filter {
            names: "hill,lake-*,b?d".parse().unwrap(),
            since: Some("2026-11-23".parse().unwrap()),
            until: Some("2026-11-24T12:00:00.5+01:00".parse().unwrap()),
            before: Some(17),
            limit: Some(50),
        };
        let query = filter.to_query();
        assert_eq!(
            query,
            "?device=hill,lake-*,b?d&since=2026-11-23T00:00:00Z&until=2026-11-24T11:00:00.5Z&before=17&limit=50"
        );
        assert_eq!(Filter::from_query(&query[1..]), Ok(filter));
        assert_eq!(Filter::default().to_query(), "");
        assert_eq!(Filter::from_query(""), Ok(Filter::default()));
    }

    #[test]
    fn names_match_their_patterns() {
        let names: Names = "hill,lake-*,b?d,*x*y".parse().unwrap();
        for name in ["hill", "lake-", "lake-1", "bed", "xy", "axby", "axxbyy"] {
            assert!(names.match_name(name), "{name}");
        }
        for name in ["", "hil", "hill2", "lake", "bd", "beed", "yx", "axbyc"] {
            assert!(!names.match_name(name), "{name}");
        }
        assert!(Names::default().match_name("anything"));
    }

    #[test]
    fn what_is_no_filter_is_refused() {
        for (query, words) in [
            ("device=", "letters, digits"),
            ("device=a,,b", "letters, digits"),
            ("device=a%20b", "letters, digits"),
            ("device=[ab]", "letters, digits"),
            ("since=monday", "since: times are like"),
            ("until=", "until: times are like"),
            ("before=x", "'before' is a whole number"),
            ("limit=-1", "'limit' is a whole number"),
            ("offset=7", "no filter 'offset'"),
            ("since=2026-11-24&until=2026-11-23", "is not before"),
            ("since=2026-11-23&until=2026-11-23", "is not before"),
        ] {
            let error = Filter::from_query(query).unwrap_err().to_string();
            assert!(error.contains(words), "{query}: {error}");
        }
        let many = vec!["a"; MAX_NAMES + 1].join(",");
        assert_eq!(many.parse::<Names>(), Err(FilterError::Names));
    }
}
