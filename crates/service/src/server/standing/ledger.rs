//! The ledger of a standing query: up to when its periods are closed, and which of them are to be computed.
//!
//! A period is closed once its end has passed by the grace. Closing it means to look once for uploads that touch it; from then on, uploads
//! that arrive for it, or that the owner removes, make it new. So the work of a look is about what has changed, and not about what is
//! stored.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tfhe_sbc_query::scope::Period;
use tfhe_sbc_upload::moments::{Moment, Span};

/// The periods that a standing query is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) period: Period,
    /// The beginning of the first period.
    pub(super) since: Moment,
    /// The end of the last period, if there is one.
    pub(super) until: Option<Moment>,
    pub(super) grace: Duration,
    /// The time after its end for which a period counts.
    pub(super) keep: Option<Duration>,
}

/// Returns the moment of a length of time before another one.
fn before(moment: Moment, length: Duration) -> Moment {
    let ms = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    Moment::from_unix_ms(moment.unix_ms().saturating_sub(ms))
}

/// Returns the moment of a length of time after another one.
pub(super) fn after(moment: Moment, length: Duration) -> Moment {
    let ms = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    Moment::from_unix_ms(moment.unix_ms().saturating_add(ms))
}

impl Times {
    /// Returns the end of the last period that is closed.
    pub(super) fn closed(&self, now: Moment) -> Moment {
        let (closed, _) = self.period.around(before(now, self.grace));
        self.until.map_or(closed, |until| until.min(closed))
    }

    /// Returns the beginning of the first period that still counts.
    pub(super) fn first(&self, now: Moment) -> Moment {
        match self.keep {
            None => self.since,
            // The period around that moment has not ended then.
            Some(keep) => self.since.max(self.period.around(before(now, keep)).0),
        }
    }

    /// Returns the end of the period that begins at a moment.
    pub(super) fn end(&self, from: Moment) -> Moment {
        self.period.around(from).1
    }

    /// Returns the beginnings of the periods of a span, as far as they are from `first` on and end until `closed`.
    pub(super) fn touched(
        self,
        span: Span,
        first: Moment,
        closed: Moment,
    ) -> impl Iterator<Item = Moment> {
        let begin = self.period.around(span.first.max(first)).0;
        std::iter::successors(Some(begin), move |&from| Some(self.end(from)))
            .take_while(move |&from| from <= span.last && from < closed)
    }
}

/// The reason why a period is to be computed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    /// The time at which the last of its uploads came or went, if it had been closed by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<Moment>,
    /// The uploads that the owner has removed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) removed: BTreeSet<u64>,
}

/// What has been looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ledger {
    /// The number of the last upload that was looked at.
    pub(super) seen: u64,
    /// The end of the last period that was closed.
    pub(super) closed_until: Moment,
    /// The periods that are to be computed, by their beginnings.
    pub(super) changes: BTreeMap<Moment, Change>,
}

impl Ledger {
    /// Notes that an upload of a span came at `now`, or was removed. Returns the periods that it makes new.
    pub(super) fn touch(
        &mut self,
        times: &Times,
        span: Span,
        now: Moment,
        removed: Option<u64>,
    ) -> Vec<Moment> {
        let touched = times.touched(span, times.first(now), self.closed_until);
        let touched: Vec<Moment> = touched.collect();
        for &from in &touched {
            let change = self.changes.entry(from).or_default();
            change.at = Some(now);
            change.removed.extend(removed);
        }
        touched
    }

    /// Closes the periods that end until `closed` and that an upload of these spans touches.
    pub(super) fn close(&mut self, times: &Times, closed: Moment, spans: &[Span], now: Moment) {
        let first = times.first(now).max(self.closed_until);
        for span in spans {
            for from in times.touched(*span, first, closed) {
                self.changes.entry(from).or_default();
            }
        }
        self.closed_until = self.closed_until.max(closed);
    }

    /// Returns the first period that can be computed at `now`, and that is not `parked`. After a change, a period waits for the time of
    /// the grace for further ones.
    pub(super) fn next(
        &self,
        times: &Times,
        now: Moment,
        parked: impl Fn(&Moment) -> bool,
    ) -> Option<Moment> {
        let (closed, settled) = (times.closed(now), before(now, times.grace));
        // A change from the future was noted by a clock that was set back.
        let is_settled = |change: &Change| change.at.is_none_or(|at| at <= settled || at > now);
        let mut changes = self.changes.iter();
        let found = changes.find(|(from, change)| {
            times.end(**from) <= closed && is_settled(change) && !parked(from)
        });
        found.map(|(from, _)| *from)
    }

    /// Takes back a change that was dealt with. What has been noted since stays.
    pub(super) fn settle(&mut self, from: Moment, dealt_with: &Change) {
        let Some(change) = self.changes.get_mut(&from) else {
            return;
        };
        if change == dealt_with {
            self.changes.remove(&from);
        } else {
            change.removed.retain(|id| !dealt_with.removed.contains(id));
        }
    }

    /// Forgets the periods that do not count any more. Returns whether there were any.
    pub(super) fn forget_before(&mut self, first: Moment) -> bool {
        let kept = self.changes.split_off(&first);
        !std::mem::replace(&mut self.changes, kept).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        text.parse().unwrap()
    }

    fn span(first: &str, last: &str) -> Span {
        Span {
            first: moment(first),
            last: moment(last),
        }
    }

    fn hourly() -> Times {
        Times {
            period: "hour".parse().unwrap(),
            since: moment("2026-11-23T08:00"),
            until: None,
            grace: Duration::from_secs(600),
            keep: None,
        }
    }

    fn empty(closed_until: &str) -> Ledger {
        Ledger {
            seen: 0,
            closed_until: moment(closed_until),
            changes: BTreeMap::new(),
        }
    }

    fn changed(ledger: &Ledger) -> Vec<String> {
        let changed = ledger.changes.keys();
        changed
            .map(|from| from.to_string()[11..16].to_owned())
            .collect()
    }

    #[test]
    fn a_period_is_closed_once_its_end_has_passed_by_the_grace() {
        let times = hourly();
        for (now, closed) in [
            ("2026-11-23T10:09:59.999Z", "2026-11-23T09:00"),
            ("2026-11-23T10:10", "2026-11-23T10:00"),
            ("2026-11-23T11:09", "2026-11-23T10:00"),
        ] {
            assert_eq!(times.closed(moment(now)), moment(closed), "{now}");
        }
        let ends = Times {
            until: Some(moment("2026-11-23T09:00")),
            ..times
        };
        assert_eq!(
            ends.closed(moment("2026-11-23T12:00")),
            moment("2026-11-23T09:00")
        );
    }

    #[test]
    fn closing_finds_the_periods_that_uploads_touch() {
        let times = hourly();
        let mut ledger = empty("2026-11-23T08:00");
        let spans = [
            // From before the first period up to the second, and over the end of the last one.
            span("2026-11-22T00:00", "2026-11-23T09:00"),
            span("2026-11-23T11:30", "2026-11-23T12:30"),
            span("2026-11-23T13:00", "2026-11-23T13:00"),
        ];
        let now = moment("2026-11-23T13:10");
        ledger.close(&times, times.closed(now), &spans, now);
        assert_eq!(changed(&ledger), ["08:00", "09:00", "11:00", "12:00"]);
        assert_eq!(ledger.closed_until, moment("2026-11-23T13:00"));
        let none = |_: &Moment| false;
        assert_eq!(
            ledger.next(&times, now, none),
            Some(moment("2026-11-23T08:00"))
        );
        let parked = |from: &Moment| *from < moment("2026-11-23T11:00");
        assert_eq!(
            ledger.next(&times, now, parked),
            Some(moment("2026-11-23T11:00"))
        );
        // The next closing looks only at what has been closed since.
        let later = moment("2026-11-23T14:10");
        ledger.changes.clear();
        ledger.close(&times, times.closed(later), &spans, later);
        assert_eq!(changed(&ledger), ["13:00"]);
        // A clock that was set back opens nothing again, and has nothing computed that is not over.
        ledger.close(&times, times.closed(now), &spans, now);
        assert_eq!(ledger.closed_until, moment("2026-11-23T14:00"));
        assert_eq!(ledger.next(&times, now, none), None);
    }

    #[test]
    fn a_late_upload_makes_closed_periods_new_and_waits_for_others() {
        let times = hourly();
        let mut ledger = empty("2026-11-23T12:00");
        let now = moment("2026-11-23T12:20");
        let late = span("2026-11-23T10:30", "2026-11-23T12:10");
        let touched = ledger.touch(&times, late, now, None);
        assert_eq!(touched.len(), 2);
        assert_eq!(changed(&ledger), ["10:00", "11:00"]);
        let none = |_: &Moment| false;
        assert_eq!(ledger.next(&times, now, none), None);
        let settled = moment("2026-11-23T12:30");
        let next = ledger.next(&times, settled, none);
        assert_eq!(next, Some(moment("2026-11-23T10:00")));
        // What is noted while it is computed is not taken back with it.
        let from = next.unwrap();
        let dealt_with = ledger.changes[&from].clone();
        ledger.touch(&times, late, settled, Some(7));
        ledger.settle(from, &dealt_with);
        assert_eq!(ledger.changes[&from].removed, BTreeSet::from([7]));
        let dealt_with = ledger.changes[&from].clone();
        ledger.settle(from, &dealt_with);
        assert_eq!(changed(&ledger), ["11:00"]);
    }

    #[test]
    fn periods_count_for_as_long_as_they_are_kept() {
        let times = Times {
            keep: Some(Duration::from_secs(2 * 3600)),
            ..hourly()
        };
        let now = moment("2026-11-23T12:20");
        // The period from 10:00 ended 80 minutes ago, the one before it 140.
        assert_eq!(times.first(now), moment("2026-11-23T10:00"));
        let mut ledger = empty("2026-11-23T12:00");
        ledger.touch(
            &times,
            span("2026-11-23T08:00", "2026-11-23T11:00"),
            now,
            None,
        );
        assert_eq!(changed(&ledger), ["10:00", "11:00"]);
        assert!(ledger.forget_before(moment("2026-11-23T11:00")));
        assert!(!ledger.forget_before(moment("2026-11-23T11:00")));
        assert_eq!(changed(&ledger), ["11:00"]);
    }

    #[test]
    fn a_ledger_goes_through_its_file() {
        let mut ledger = empty("2026-11-23T12:00");
        let now = moment("2026-11-23T12:20");
        ledger.touch(
            &hourly(),
            span("2026-11-23T10:30", "2026-11-23T11:10"),
            now,
            Some(u64::MAX),
        );
        ledger
            .changes
            .insert(moment("2026-11-23T09:00"), Change::default());
        let text = serde_json::to_string(&ledger).unwrap();
        assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), ledger);
    }
}
