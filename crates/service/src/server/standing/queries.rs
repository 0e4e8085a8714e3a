//! The standing queries of a server.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_transport::human::Bytes;
use tfhe_sbc_transport::protocol::ErrorBody;
use tfhe_sbc_transport::standing::{
    MAX_PERIODS, PeriodFilter, PeriodList, PeriodResult, Standing, StandingName, Terms,
};
use tfhe_sbc_upload::moments::Moment;
use tokio::sync::Notify;

use super::definition::{Definition, MOST_RESULTS, define};
use super::query::Query;
use super::schedule::spans;
use super::{Clock, StandingConfig};
use crate::backend::Backend;
use crate::metrics::{Metrics, StandingSize};
use crate::server::error::Refusal;
use crate::store::{Store, StoreError, StoredReadings};

/// The most standing queries, of all owners together.
const MOST: usize = 64;
/// The name of a standing query: that of its owner, and its own.
pub(super) type Key = (String, StandingName);

/// The standing queries of a server.
pub(in crate::server) struct StandingQueries {
    directory: PathBuf,
    pub(super) most_bytes: u64,
    clock: Clock,
    pub(super) metrics: Arc<Metrics>,
    list: Mutex<List>,
    /// Held while an owner's removal of an upload is noted and done, and while uploads are selected for a period.
    pub(super) removal: Mutex<()>,
    /// Told when there may be something to do before the next look.
    pub(super) wake: Notify,
}

#[derive(Default)]
pub(super) struct List {
    pub(super) queries: BTreeMap<Key, Query>,
    /// The query that was computed last, so that all get their turns.
    pub(super) last: Option<Key>,
    /// The directory of the query of which a period is being computed.
    pub(super) computing: Option<PathBuf>,
    /// The bytes of all results at which another one had no room.
    pub(super) full_at: Option<u64>,
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

    pub(super) fn now(&self) -> Moment {
        let since_1970 = self.clock.now().duration_since(UNIX_EPOCH);
        let ms = since_1970.unwrap_or_default().as_millis();
        Moment::from_unix_ms(i64::try_from(ms).unwrap_or(i64::MAX))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a standing query, and tells whether it is new: the same one may be left again.
    pub(super) fn leave(
        &self,
        owner: &str,
        name: StandingName,
        terms: &Terms,
        request: &[u8],
        store: &Store,
        backend: &dyn Backend,
    ) -> Result<(Standing, bool), Refusal> {
        let described = backend.describe_query(request)?;
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
        list.queries.insert(key.clone(), query);
        drop(list);
        // What is to be computed of the past is known from the first answer on.
        self.look_at(&key, store, backend)?;
        self.measure(&self.lock());
        self.wake.notify_one();
        Ok((self.find(owner, &key.1)?, true))
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

    /// Returns whether a period of a standing query of an owner is being computed.
    pub(super) fn is_computing(&self, owner: &str, name: &StandingName) -> bool {
        let list = self.lock();
        let query = find(&list, owner, name);
        query.is_ok_and(|query| list.computing.as_deref() == Some(query.directory.as_path()))
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
    pub(super) fn measure(&self, list: &List) {
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

/// The bytes of all results.
pub(super) fn total(list: &List) -> u64 {
    list.queries.values().map(|query| query.size().1).sum()
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

/// Returns whether a file has a name that directories of standing queries have.
fn is_named_like_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    path.is_dir() && name.is_some_and(|name| name.len() == 16 && name.bytes().all(is_digit))
}
