//! What a standing query is by its terms.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tfhe_sbc_query::scope::{Grouping, Period};
use tfhe_sbc_transport::standing::{Length, StandingName, Terms};
use tfhe_sbc_upload::moments::Moment;

use crate::backend::QueryDescription;
use crate::server::error::Refusal;

/// The most results of one standing query: hours of eleven years.
pub(super) const MOST_RESULTS: usize = 100_000;
/// The shortest period.
const SHORTEST: Duration = Duration::from_secs(60);
/// What is in the file of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    /// The name in the certificate of the party that left it.
    pub(super) owner: String,
    pub(super) name: StandingName,
    /// The time at which it was left, in milliseconds since 1970.
    pub(super) created: Moment,
    pub(super) questions: Vec<String>,
    pub(super) every: Length,
    pub(super) by: Grouping,
    /// The devices, with commas between; empty for all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) devices: String,
    /// The beginning of the first period.
    pub(super) since: Moment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<Moment>,
    pub(super) grace: Length,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) keep: Option<Length>,
    #[serde(default)]
    pub(super) paused: bool,
}

impl Definition {
    /// Returns whether another definition has the same terms.
    pub(super) fn is_like(&self, other: &Self, since_is_given: bool) -> bool {
        let other = Self {
            created: self.created,
            paused: self.paused,
            since: match since_is_given {
                true => other.since,
                false => self.since,
            },
            ..other.clone()
        };
        *self == other
    }
}

/// Checks that terms and a query go together.
pub(super) fn define(
    owner: &str,
    name: StandingName,
    terms: &Terms,
    QueryDescription { questions, scope }: QueryDescription,
    now: Moment,
) -> Result<Definition, Refusal> {
    let every = terms.every.0;
    let period = Period::new(every).filter(|_| every >= SHORTEST);
    let period = period.ok_or_else(|| Refusal::bad_period(terms.every))?;
    if scope.newest.is_some() || scope.since.is_some() || scope.until.is_some() {
        return Err(Refusal::scope_of_its_own());
    }
    match scope.by.period {
        Some(part) if part.divides(period) => {}
        _ => return Err(Refusal::groups_beyond_period(terms.every)),
    }
    if terms.keep.is_some_and(|keep| keep.0 < every) {
        return Err(Refusal::kept_too_short(terms.every));
    }
    let since = period.around(terms.since.unwrap_or(now)).0;
    let until = terms.until.map(|until| period.around(until).0);
    if let Some(until) = until
        && (until <= since || terms.until.is_some_and(|until| until <= now))
    {
        return Err(Refusal::standing_is_over(until));
    }
    let past = now.unix_ms().saturating_sub(since.unix_ms());
    let past = Duration::from_millis(u64::try_from(past).unwrap_or(0));
    let kept = terms.keep.map_or(past, |keep| past.min(keep.0));
    let periods = kept.as_millis() / every.as_millis().max(1);
    if periods > MOST_RESULTS as u128 {
        return Err(Refusal::too_many_periods(periods, MOST_RESULTS));
    }
    Ok(Definition {
        owner: owner.to_owned(),
        name,
        created: now,
        questions,
        every: terms.every,
        by: scope.by,
        devices: terms.names.to_string(),
        since,
        until,
        grace: terms.grace,
        keep: terms.keep,
        paused: false,
    })
}
