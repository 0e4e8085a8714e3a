//! The standing queries of a server.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::BuildHasher;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use tfhe_sbc_query::scope::Period as QueryPeriod;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_transport::human::Bytes;
use tfhe_sbc_transport::protocol::ErrorBody;
use tfhe_sbc_transport::standing::{
    MAX_PERIODS, PeriodFilter, PeriodList, PeriodResult, Standing, StandingName, Terms,
};
use tfhe_sbc_upload::moments::{Moment, Span};
use tokio::sync::Notify;

use super::ledger::Change;
use super::query::{Definition, MOST_RESULTS, Query};
use super::{Clock, StandingConfig};
use crate::backend::{Backend, QueryDescription};
use crate::metrics::{Metrics, PeriodEnd, StandingSize};
use crate::period_results::ReadResult;
use crate::server::error::Refusal;
use crate::server::evaluation::Evaluated;
use crate::store::{Store, StoreError, StoredReadings};

/// The most standing queries, of all owners together.
const MOST: usize = 64;
/// The shortest period.
const SHORTEST: Duration = Duration::from_secs(60);
/// The most periods that an upload's span is taken at its word for. Of longer ones the rows are read: a board whose clock was
/// wrong for a moment has made no year of hours new.
const TAKEN_AT_ITS_WORD: u64 = 24;
/// The number of times that a period gives way to queries before it is computed to its end.
const GIVES_WAY: u32 = 5;
/// The most periods that are looked at in one step of the search for one to compute.
const STEP: usize = 64;

/// The name of a standing query: that of its owner, and its own.
type Key = (String, StandingName);

/// The standing queries of a server.
pub(in crate::server) struct StandingQueries {
    directory: PathBuf,
    most_bytes: u64,
    clock: Clock,
    metrics: Arc<Metrics>,
    list: Mutex<List>,
    /// Held while an owner's removal of an upload is noted and done, and while uploads are selected for a period.
    removal: Mutex<()>,
    /// Told when there may be something to do before the next look.
    pub(super) wake: Notify,
}

#[derive(Default)]
struct List {
    queries: BTreeMap<Key, Query>,
    /// The query that was computed last, so that all get their turns.
    last: Option<Key>,
    /// The bytes of all results at which another one had no room.
    full_at: Option<u64>,
}

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
    /// Opens the directory of the standing queries; `None` if the server is to have none. What cannot be read is left as it is, and
    /// said in the log.
    pub(in crate::server) fn open(
        config: &StandingConfig,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>, FileError> {
        let Some(directory) = &config.directory else {
            return Ok(None);
        };
        files::create_private_directory(directory)?;
        let mut queries = BTreeMap::new();
        let failed = || FileError::io("list", directory);
        for entry in fs::read_dir(directory).map_err(failed())? {
            let path = entry.map_err(failed())?.path();
            if !is_named_like_ours(&path) {
                continue;
            }
            if !Query::is_whole(&path) {
                // Left by a crash while it was made or removed.
                fs::remove_dir_all(&path).map_err(FileError::io("remove", &path))?;
                continue;
            }
            match Query::open(&path) {
                Ok(query) => {
                    let Definition { owner, name, .. } = query.definition.clone();
                    queries.insert((owner, name), query);
                }
                Err(error) => {
                    tracing::error!(%error, directory = %path.display(), "a standing query cannot be read and is left alone");
                }
            }
        }
        let opened = Self {
            directory: directory.clone(),
            most_bytes: config.bytes,
            clock: config.clock.clone(),
            metrics: Arc::clone(metrics),
            list: Mutex::new(List {
                queries,
                ..List::default()
            }),
            removal: Mutex::default(),
            wake: Notify::new(),
        };
        opened.measure(&opened.lock());
        Ok(Some(opened))
    }

    fn now(&self) -> Moment {
        let since_1970 = self.clock.now().duration_since(UNIX_EPOCH);
        let ms = since_1970.unwrap_or_default().as_millis();
        Moment::from_unix_ms(i64::try_from(ms).unwrap_or(i64::MAX))
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a standing query, and tells whether it is new: the same one may be left again.
    pub(super) fn leave(
        &self,
        owner: &str,
        name: StandingName,
        terms: &Terms,
        request: &[u8],
        described: QueryDescription,
        store: &Store,
    ) -> Result<(Standing, bool), Refusal> {
        let now = self.now();
        let definition = define(owner, name, terms, described, now)?;
        let key = (owner.to_owned(), definition.name.clone());
        // What arrives from here on is looked at later.
        let seen = store.last_number()?;
        let mut list = self.lock();
        if let Some(there) = list.queries.get(&key) {
            let is_same = there.definition.is_like(&definition, terms.since.is_some())
                && *there.request == *request;
            return match is_same {
                true => Ok((self.shown(&list, there, now), false)),
                false => Err(Refusal::standing_is_there(&key.1)),
            };
        }
        if list.queries.len() >= MOST {
            return Err(Refusal::too_many_standing(MOST));
        }
        let random = RandomState::new();
        let mut directories = (0u64..).map(|number| {
            let number = random.hash_one(number);
            self.directory.join(format!("{number:016x}"))
        });
        let directory = directories.find(|directory| !directory.exists());
        let directory = directory.unwrap_or_else(|| self.directory.clone());
        let query = Query::create(&directory, definition, request, seen);
        let query = query.map_err(StoreError::from)?;
        let shown = self.shown(&list, &query, now);
        list.queries.insert(key, query);
        self.measure(&list);
        drop(list);
        self.wake.notify_one();
        Ok((shown, true))
    }

    /// Returns the standing queries of an owner.
    pub(super) fn of(&self, owner: &str) -> Vec<Standing> {
        let list = self.lock();
        let now = self.now();
        let all = list.queries.values();
        let own = all.filter(|query| query.definition.owner == owner);
        own.map(|query| self.shown(&list, query, now)).collect()
    }

    /// Returns a standing query of an owner.
    pub(super) fn find(&self, owner: &str, name: &StandingName) -> Result<Standing, Refusal> {
        let list = self.lock();
        let query = find(&list, owner, name)?;
        Ok(self.shown(&list, query, self.now()))
    }

    /// Returns a page of the periods of a standing query of an owner.
    pub(super) fn periods(
        &self,
        owner: &str,
        name: &StandingName,
        filter: &PeriodFilter,
    ) -> Result<PeriodList, Refusal> {
        let list = self.lock();
        let query = find(&list, owner, name)?;
        let before = [filter.before, filter.until].into_iter().flatten().min();
        let mut periods = query.periods(filter.since, before, self.now());
        let limit = filter.limit.unwrap_or(MAX_PERIODS).clamp(1, MAX_PERIODS) as usize;
        let more = periods.len() > limit;
        periods.truncate(limit);
        let next = periods.last().map(|period| period.from).filter(|_| more);
        Ok(PeriodList { periods, next })
    }

    /// Returns the result of the period of a standing query that begins at a moment, and the time for which it has been kept.
    pub(super) fn result(
        &self,
        owner: &str,
        name: &StandingName,
        from: Moment,
    ) -> Result<(PeriodResult, Vec<u8>, Duration), Refusal> {
        let list = self.lock();
        let result = find(&list, owner, name)?.result(from);
        let result = result.ok_or_else(|| Refusal::no_result_of_period(name, from))?;
        let age = self.now().unix_ms() - result.about.computed_at.unix_ms();
        let age = Duration::from_millis(u64::try_from(age).unwrap_or(0));
        Ok((result.about, result.bytes, age))
    }

    /// Pauses a standing query of an owner, or has it go on and try again what has failed.
    pub(super) fn set_paused(
        &self,
        owner: &str,
        name: &StandingName,
        paused: bool,
    ) -> Result<Standing, Refusal> {
        let now = self.now();
        let mut list = self.lock();
        let query = find_mut(&mut list, owner, name)?;
        query.set_paused(paused).map_err(StoreError::from)?;
        if !paused {
            query.parked.clear();
            list.full_at = None;
        }
        self.measure(&list);
        let shown = self.shown(&list, find(&list, owner, name)?, now);
        drop(list);
        self.wake.notify_one();
        Ok(shown)
    }

    /// Removes a standing query of an owner with all of its results.
    pub(super) fn remove(&self, owner: &str, name: &StandingName) -> Result<Standing, Refusal> {
        let mut list = self.lock();
        let query = find(&list, owner, name)?;
        let shown = self.shown(&list, query, self.now());
        query.delete().map_err(StoreError::from)?;
        list.queries.remove(&(owner.to_owned(), name.clone()));
        self.measure(&list);
        Ok(shown)
    }

    fn shown(&self, list: &List, query: &Query, now: Moment) -> Standing {
        let bytes = total(list);
        let problem = match (query.is_full(), list.full_at) {
            (true, _) => Some(ErrorBody {
                error: format!("it has {MOST_RESULTS} results, the most of a standing query"),
                hint: "leave another one with longer periods, or with --keep for a shorter time"
                    .to_owned(),
            }),
            (false, Some(at)) if bytes >= at => Some(ErrorBody {
                error: format!(
                    "the results of all standing queries have {}, and with another one more than the {} that the server keeps",
                    Bytes(bytes),
                    Bytes(self.most_bytes)
                ),
                hint: "let the server keep more with --standing-bytes, or remove standing queries that nobody needs"
                    .to_owned(),
            }),
            _ => None,
        };
        query.shown(now, problem)
    }

    /// Sets the metrics to what there is now.
    fn measure(&self, list: &List) {
        let now = self.now();
        let mut size = StandingSize {
            queries: list.queries.len() as u64,
            ..StandingSize::default()
        };
        for query in list.queries.values() {
            let (results, bytes) = query.size();
            size.results += results;
            size.bytes += bytes;
            size.failed += query.parked.len() as u64;
            if !query.definition.paused {
                size.waiting += query.waiting(now);
            }
        }
        self.metrics.standing.set(size);
    }

    /// Looks for uploads that have come and for periods that are over, and removes results that are too old.
    pub(super) fn look(&self, store: &Store, backend: &dyn Backend) -> Result<(), StoreError> {
        let keys: Vec<Key> = self.lock().queries.keys().cloned().collect();
        for key in &keys {
            self.look_at(key, store, backend)?;
        }
        self.measure(&self.lock());
        Ok(())
    }

    fn look_at(&self, key: &Key, store: &Store, backend: &dyn Backend) -> Result<(), StoreError> {
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
        let mut closing = Vec::new();
        if closed > closed_until {
            let since = times.first(now).max(closed_until);
            let mut filter = tfhe_sbc_transport::catalogue::Filter {
                since: Some(since),
                until: Some(closed),
                ..filter
            };
            while since < closed {
                let page = store.list(&filter)?;
                closing.extend(page.readings.iter().filter_map(|it| it.summary.span));
                match page.next {
                    Some(next) => filter.before = Some(next),
                    None => break,
                }
            }
        }
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

    /// Removes an upload by `remove`, and notes that its periods are new.
    pub(in crate::server) fn removing<T>(
        &self,
        store: &Store,
        backend: &dyn Backend,
        id: &BlobId,
        remove: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _whole = self.removal.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(readings) = store.find(id)? {
            self.note_removal(&readings, store, backend);
        }
        remove()
    }

    /// Notes that an upload is about to be removed. That is on the disk before, for the upload cannot be found afterwards.
    fn note_removal(&self, readings: &StoredReadings, store: &Store, backend: &dyn Backend) {
        let now = self.now();
        let mut list = self.lock();
        for query in list.queries.values_mut() {
            if !query.names.match_name(&readings.uploader) {
                continue;
            }
            let times = query.times;
            for span in spans(readings, times.period, store, backend) {
                let removed = Some(readings.id.short());
                for from in query.ledger.touch(&times, span, now, removed) {
                    query.is_changed = true;
                    query.parked.remove(&from);
                }
            }
            // Where the disk is full, removals must go on.
            if let Err(error) = query.write_ledger() {
                tracing::error!(%error, "a removal cannot be noted for a standing query");
            }
        }
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

/// Returns the spans of the rows of an upload.
fn spans(
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

/// The bytes of all results.
fn total(list: &List) -> u64 {
    list.queries.values().map(|query| query.size().1).sum()
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

fn find<'l>(list: &'l List, owner: &str, name: &StandingName) -> Result<&'l Query, Refusal> {
    let query = list.queries.get(&(owner.to_owned(), name.clone()));
    query.ok_or_else(|| Refusal::no_such_standing(name))
}

fn find_mut<'l>(
    list: &'l mut List,
    owner: &str,
    name: &StandingName,
) -> Result<&'l mut Query, Refusal> {
    let query = list.queries.get_mut(&(owner.to_owned(), name.clone()));
    query.ok_or_else(|| Refusal::no_such_standing(name))
}

/// Checks that terms and a query go together.
fn define(
    owner: &str,
    name: StandingName,
    terms: &Terms,
    QueryDescription { questions, scope }: QueryDescription,
    now: Moment,
) -> Result<Definition, Refusal> {
    let every = terms.every.0;
    let period = QueryPeriod::new(every).filter(|_| every >= SHORTEST);
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

/// Returns whether a file has a name that directories of standing queries have.
fn is_named_like_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    path.is_dir() && name.is_some_and(|name| name.len() == 16 && name.bytes().all(is_digit))
}
