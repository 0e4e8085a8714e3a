//! The periods of standing queries that are over or new, in turn: found, computed, and kept.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use tfhe_sbc_query::scope::Period as QueryPeriod;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::files::FileError;
use tfhe_sbc_transport::standing::{PeriodResult, StandingName};
use tfhe_sbc_upload::moments::{Moment, Span};

use super::ledger::Change;
use super::queries::{Key, List, StandingQueries, total};
use super::query::Query;
use crate::backend::Backend;
use crate::metrics::PeriodEnd;
use crate::period_results::ReadResult;
use crate::server::error::Refusal;
use crate::server::evaluation::Evaluated;
use crate::store::{Store, StoreError, StoredReadings};

/// The most periods that an upload's span is taken at its word for. Of longer ones the rows are read: a board whose clock was
/// wrong for a moment has made no year of hours new.
const TAKEN_AT_ITS_WORD: u64 = 24;
/// The number of times that a period gives way to queries before it is computed to its end.
const GIVES_WAY: u32 = 5;
/// The most periods that are looked at in one step of the search for one to compute.
const STEP: usize = 64;

/// A period to compute.
pub(super) struct Work {
    key: Key,
    /// The directory of the query, which no other one of its name has.
    directory: PathBuf,
    pub(super) from: Moment,
    change: Change,
    pub(super) uploads: Vec<StoredReadings>,
    pub(super) request: Vec<u8>,
    pub(super) gives_way: bool,
}

impl Work {
    pub(super) fn name(&self) -> &StandingName {
        &self.key.1
    }

    pub(super) fn owner(&self) -> &str {
        &self.key.0
    }
}

/// The next step.
pub(super) enum Next {
    Compute(Box<Work>),
    /// There may be more to do.
    Again,
    Nothing,
}

/// The end of the computation of a period.
pub(super) enum Outcome {
    Computed(Evaluated),
    /// None of the rows of the uploads is of the period.
    NoRows,
    GaveWay,
    Failed(Refusal),
}

/// What a search has found about a period.
enum Decision {
    Compute(Vec<StoredReadings>, Vec<u8>),
    /// Nothing is to be computed.
    Settled,
    Failed(Refusal),
}

impl StandingQueries {
    /// Looks for uploads that have come and for periods that are over, and removes results that are too old.
    pub(super) fn look(&self, store: &Store, backend: &dyn Backend) -> Result<(), StoreError> {
        let keys: Vec<Key> = self.lock().queries.keys().cloned().collect();
        for key in &keys {
            self.look_at(key, store, backend)?;
        }
        self.measure(&self.lock());
        Ok(())
    }

    /// Does the same for one query.
    pub(super) fn look_at(
        &self,
        key: &Key,
        store: &Store,
        backend: &dyn Backend,
    ) -> Result<(), StoreError> {
        let now = self.now();
        // The search for uploads does not keep others from the list. Nobody else changes what it begins with.
        let (times, begun, filter) = {
            let mut list = self.lock();
            let Some(query) = list.queries.get_mut(key) else {
                return Ok(());
            };
            query.expire(now)?;
            if query.definition.paused {
                query.write_ledger()?;
                return Ok(());
            }
            let (first, closed_until) = (query.times.first(now), query.ledger.closed_until);
            let filter = query.filter(first, closed_until.max(first));
            let begun = (query.ledger.seen, closed_until);
            (query.times, begun, filter)
        };
        let (mut seen, closed_until) = begun;
        let spans = |readings: &StoredReadings| spans(readings, times.period, store, backend);
        let mut arrived: Vec<Span> = Vec::new();
        loop {
            let arrivals = store.arrivals(&filter, seen)?;
            seen = arrivals.seen;
            arrived.extend(arrivals.readings.iter().flat_map(spans));
            if !arrivals.more {
                break;
            }
        }
        let closed = times.closed(now);
        let since = times.first(now).max(closed_until);
        let closing = match since < closed {
            true => spans_between(store, filter, since, closed)?,
            false => Vec::new(),
        };
        let mut list = self.lock();
        let Some(query) = list.queries.get_mut(key) else {
            return Ok(());
        };
        for span in arrived {
            for from in query.ledger.touch(&times, span, now, None) {
                query.is_changed = true;
                query.parked.remove(&from);
            }
        }
        if closed > closed_until {
            query.ledger.close(&times, closed, &closing, now);
            query.is_changed = true;
        }
        query.ledger.seen = seen;
        query.write_ledger()?;
        Ok(())
    }

    /// Finds a period to compute.
    pub(super) fn next(
        &self,
        store: &Store,
        backend: &dyn Backend,
        most_bytes: u64,
    ) -> Result<Next, StoreError> {
        for _ in 0..STEP {
            let now = self.now();
            let mut list = self.lock();
            let Some((key, from)) = choose(&list, now) else {
                return Ok(Next::Nothing);
            };
            list.last = Some(key.clone());
            let Some(query) = list.queries.get(&key) else {
                continue;
            };
            let directory = query.directory.clone();
            let period = (from, query.times.end(from));
            let change = query.change(from).unwrap_or_default();
            let gives_way = match query.gave_way {
                Some((gave_way, times)) => gave_way != from || times < GIVES_WAY,
                None => true,
            };
            let (filter, request) = (query.filter(period.0, period.1), Arc::clone(&query.request));
            let former = query.result(from);
            drop(list);

            let uploads = {
                let _whole = self.removal.lock().unwrap_or_else(PoisonError::into_inner);
                store.select(&filter, most_bytes)?
            };
            let bytes: u64 = uploads.iter().map(|readings| readings.bytes).sum();
            let decision = match decide(&uploads, former.as_ref(), &change) {
                Found::New if uploads.len() > 1 && bytes > most_bytes => {
                    Decision::Failed(Refusal::too_much(bytes, most_bytes))
                }
                Found::New => match backend.within(&request, period) {
                    Ok(request) => Decision::Compute(uploads, request),
                    Err(error) => Decision::Failed(error.into()),
                },
                Found::Same => Decision::Settled,
                Found::Empty => {
                    self.with(&key, &directory, |query| query.remove_result(from))?;
                    Decision::Settled
                }
                Found::Gone { late } => {
                    if let Some(former) = former.filter(|former| former.about.late != late) {
                        self.with(&key, &directory, |query| {
                            let about = PeriodResult {
                                late,
                                ..former.about
                            };
                            query.keep(from, about, &former.uploads, &former.bytes)
                        })?;
                    }
                    Decision::Settled
                }
            };
            match decision {
                Decision::Compute(uploads, request) => {
                    self.lock().computing = Some(directory.clone());
                    return Ok(Next::Compute(Box::new(Work {
                        key,
                        directory,
                        from,
                        change,
                        uploads,
                        request,
                        gives_way,
                    })));
                }
                Decision::Settled => {
                    self.with(&key, &directory, |query| {
                        query.ledger.settle(from, &change);
                        query.is_changed = true;
                        Ok(())
                    })?;
                }
                Decision::Failed(refusal) => {
                    self.with(&key, &directory, |query| {
                        park(query, from, &change, refusal);
                        Ok(())
                    })?;
                }
            }
        }
        Ok(Next::Again)
    }

    /// Does something with a query, if it is still there.
    fn with(
        &self,
        key: &Key,
        directory: &Path,
        work: impl FnOnce(&mut Query) -> Result<(), FileError>,
    ) -> Result<(), StoreError> {
        let mut list = self.lock();
        if let Some(query) = list.queries.get_mut(key)
            && query.directory == directory
        {
            work(query)?;
        }
        self.measure(&list);
        Ok(())
    }

    /// Ends the computation of a period.
    ///
    /// # Errors
    /// A disk that is full or fails. The period is computed again then.
    pub(super) fn finish(&self, work: Work, outcome: Outcome) -> Result<(), StoreError> {
        let now = self.now();
        let mut list = self.lock();
        list.computing = None;
        let bytes = total(&list);
        let Some(query) = list.queries.get_mut(&work.key) else {
            return Ok(());
        };
        if query.directory != work.directory {
            return Ok(());
        }
        let from = work.from;
        match outcome {
            Outcome::Computed(Evaluated { evaluation, took }) => {
                let ids: BTreeSet<u64> = work.uploads.iter().map(|it| it.id.short()).collect();
                let needed = (evaluation.result.len() + 8 * ids.len()) as u64;
                let others = bytes.saturating_sub(query.size_of(from));
                if others.saturating_add(needed) > self.most_bytes {
                    list.full_at = Some(bytes);
                    return Ok(());
                }
                let result = PeriodResult {
                    id: BlobId::of(&evaluation.result),
                    bytes: evaluation.result.len() as u64,
                    uploads: ids.len() as u64,
                    computed_at: now,
                    bootstraps: evaluation.bootstraps,
                    seconds: took.as_secs_f64(),
                    late: 0,
                };
                query.keep(from, result, &ids, &evaluation.result)?;
                query.ledger.settle(from, &work.change);
                query.is_changed = true;
                query.parked.remove(&from);
                query.gave_way = None;
                self.metrics.standing.count(PeriodEnd::Computed);
            }
            Outcome::NoRows => {
                query.remove_result(from)?;
                query.ledger.settle(from, &work.change);
                query.is_changed = true;
            }
            Outcome::GaveWay => {
                let times = match query.gave_way {
                    Some((gave_way, times)) if gave_way == from => times + 1,
                    _ => 1,
                };
                query.gave_way = Some((from, times));
                self.metrics.standing.count(PeriodEnd::GaveWay);
            }
            Outcome::Failed(refusal) => {
                park(query, from, &work.change, refusal);
                self.metrics.standing.count(PeriodEnd::Failed);
            }
        }
        self.measure(&list);
        Ok(())
    }
}

/// Has a period wait for a change of its uploads, because it failed; not if they have changed meanwhile.
fn park(query: &mut Query, from: Moment, change: &Change, refusal: Refusal) {
    if query.change(from).as_ref() == Some(change) {
        query.parked.insert(from, refusal.into_body());
    }
}

/// What was found about the uploads of a period.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// They are to be computed on.
    New,
    /// Its result was computed from them.
    Same,
    /// There are none, and the owner has removed those that its result was computed from.
    Empty,
    /// Some that its result was computed from are gone, and not by the owner. The result stays, and is about more than can be
    /// computed on now; `late` uploads are not in it.
    Gone { late: u64 },
}

/// Compares the uploads of a period with those that its former result was computed from.
fn decide(uploads: &[StoredReadings], former: Option<&ReadResult>, change: &Change) -> Found {
    let there: BTreeSet<u64> = uploads.iter().map(|it| it.id.short()).collect();
    let Some(former) = former else {
        return match there.is_empty() {
            true => Found::Same,
            false => Found::New,
        };
    };
    let mut missing = former.uploads.difference(&there);
    if missing.any(|id| !change.removed.contains(id)) {
        let late = there.difference(&former.uploads).count() as u64;
        return Found::Gone { late };
    }
    match there.is_empty() {
        true => Found::Empty,
        false if there == former.uploads => Found::Same,
        false => Found::New,
    }
}

/// Returns the spans of the uploads that have rows of a time, or may have some.
fn spans_between(
    store: &Store,
    filter: Filter,
    since: Moment,
    until: Moment,
) -> Result<Vec<Span>, StoreError> {
    let mut filter = Filter {
        since: Some(since),
        until: Some(until),
        ..filter
    };
    let mut spans = Vec::new();
    loop {
        let page = store.list(&filter)?;
        spans.extend(page.readings.iter().filter_map(|it| it.summary.span));
        match page.next {
            Some(next) => filter.before = Some(next),
            None => return Ok(spans),
        }
    }
}

/// Returns the spans of the rows of an upload.
pub(super) fn spans(
    readings: &StoredReadings,
    period: QueryPeriod,
    store: &Store,
    backend: &dyn Backend,
) -> Vec<Span> {
    let Some(span) = readings.summary.span else {
        return Vec::new();
    };
    if period.count_in(span) <= TAKEN_AT_ITS_WORD {
        return vec![span];
    }
    let moments = store.get(&readings.id).ok();
    let moments = moments.and_then(|bytes| backend.moments(&bytes).ok());
    let Some(moments) = moments else {
        return vec![span];
    };
    let begin = |moment: Moment| period.around(moment).0;
    let periods: BTreeSet<Moment> = moments.into_iter().map(begin).collect();
    let each = |from| Span {
        first: from,
        last: from,
    };
    periods.into_iter().map(each).collect()
}

/// Chooses the next period: the first one of the query behind the last one that has any.
fn choose(list: &List, now: Moment) -> Option<(Key, Moment)> {
    if list.full_at.is_some_and(|at| total(list) >= at) {
        return None;
    }
    let (behind, first) = match &list.last {
        Some(last) => {
            let behind = (Bound::Excluded(last), Bound::Unbounded);
            let first = (Bound::Unbounded, Bound::Included(last));
            let queries = &list.queries;
            (
                queries.range::<Key, _>(behind),
                Some(queries.range::<Key, _>(first)),
            )
        }
        None => (list.queries.range::<Key, _>(..), None),
    };
    let mut in_turn = behind.chain(first.into_iter().flatten());
    in_turn.find_map(|(key, query)| {
        if query.definition.paused || query.is_full() {
            return None;
        }
        let parked = |from: &Moment| query.parked.contains_key(from);
        let from = query.ledger.next(&query.times, now, parked)?;
        Some((key.clone(), from))
    })
}
