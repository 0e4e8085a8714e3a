//! Jobs: questions that the server goes on with when nobody waits for the answer, and the list of them.
//!
//! What is known of a job is a file of its own, so that it is there after a restart; a job that had not ended by then is
//! interrupted. Its result is one of the [kept results](crate::results).

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tfhe_sbc_transport::files::{self, FileError};
use tfhe_sbc_transport::jobs::{Job, JobId, JobState};
use tfhe_sbc_transport::protocol::{ErrorBody, Status};
use tokio::task::AbortHandle;

use super::error::Refusal;
use super::replies::rfc3339;
use crate::metrics::Metrics;
use crate::results::{Computed, KeptResults, ResultKey};

/// The most jobs in the list, of all owners together.
const MOST: usize = 1000;

/// The jobs of a server.
pub(super) struct Jobs {
    directory: PathBuf,
    age: Duration,
    results: Arc<KeptResults>,
    metrics: Arc<Metrics>,
    list: Mutex<BTreeMap<JobId, Entry>>,
}

/// What is in the file of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Recorded {
    /// The name in the certificate of the party that asked.
    owner: String,
    /// The time at which it was asked, in milliseconds since 1970.
    asked_ms: u64,
    job: Job,
    /// The name of the result.
    key: ResultKey,
}

struct Entry {
    recorded: Recorded,
    /// The task of a job that has not ended.
    task: Option<AbortHandle>,
}

/// A job as it is asked.
pub(super) struct NewJob {
    pub(super) owner: String,
    /// The text of the selection.
    pub(super) selection: String,
    /// The number of uploads.
    pub(super) uploads: u64,
    pub(super) key: ResultKey,
}

/// The answer to a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered {
    pub(super) computed: Computed,
    /// Whether the result had been kept before.
    pub(super) was_kept: bool,
}

impl Jobs {
    /// Reads the jobs in a directory, which is made (mode 0700) if it does not exist. Those that had not ended are interrupted.
    pub(super) fn open(
        directory: &Path,
        age: Duration,
        results: Arc<KeptResults>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, FileError> {
        files::create_private_directory(directory)?;
        let failed = FileError::io("read the directory", directory);
        let mut list = BTreeMap::new();
        let mut interrupted = Vec::new();
        for file in fs::read_dir(directory).map_err(failed)? {
            let path = file
                .map_err(FileError::io("read the directory", directory))?
                .path();
            let name = path.file_name().and_then(|name| name.to_str());
            if name.is_some_and(files::is_temporary) {
                let _ = fs::remove_file(&path);
                continue;
            }
            let read = fs::read(&path).ok();
            let read = read.and_then(|bytes| serde_json::from_slice::<Recorded>(&bytes).ok());
            let Some(mut recorded) = read else {
                tracing::warn!(path = %path.display(), "this is no job of this version");
                continue;
            };
            if !recorded.job.state.is_ended() {
                recorded.job.state = JobState::Interrupted;
                recorded.job.ended_at = Some(rfc3339(SystemTime::now()));
                recorded.job.error = Some(ErrorBody {
                    error: "the server was stopped before the job was answered".to_owned(),
                    hint: "ask again".to_owned(),
                });
                metrics.count_job(JobState::Interrupted);
                interrupted.push(recorded.clone());
            }
            let task = None;
            list.insert(recorded.job.id, Entry { recorded, task });
        }
        let jobs = Self {
            directory: directory.to_owned(),
            age,
            results,
            metrics,
            list: Mutex::new(list),
        };
        for recorded in interrupted {
            jobs.write(&recorded)?;
        }
        jobs.expire(SystemTime::now());
        Ok(jobs)
    }

    /// Begins a job, which waits.
    ///
    /// # Errors
    /// A disk that is full or fails.
    pub(super) fn begin(&self, new: NewJob) -> Result<Job, FileError> {
        let now = SystemTime::now();
        let mut list = self.lock();
        let random = RandomState::new();
        let mut ids = (0u64..).map(|number| JobId::new(random.hash_one(number)));
        let id = ids.find(|id| !list.contains_key(id));
        let id = id.unwrap_or(JobId::new(0));
        let recorded = Recorded {
            owner: new.owner,
            asked_ms: unix_ms(now),
            job: Job {
                id,
                state: JobState::Waiting,
                selection: new.selection,
                uploads: new.uploads,
                asked_at: rfc3339(now),
                ended_at: None,
                bootstraps: 0,
                expected: 0,
                seconds: 0.0,
                result_bytes: None,
                was_kept: false,
                error: None,
            },
            key: new.key,
        };
        self.write(&recorded)?;
        let job = recorded.job.clone();
        let task = None;
        list.insert(id, Entry { recorded, task });
        drop(list);
        self.expire(now);
        Ok(job)
    }

    /// Gives a job its task, which is ended if the job is called off.
    pub(super) fn attach(&self, id: JobId, task: AbortHandle) {
        match self.lock().get_mut(&id) {
            Some(entry) if !entry.recorded.job.state.is_ended() => entry.task = Some(task),
            // It was called off before it had a task, or has ended.
            _ => task.abort(),
        }
    }

    /// Ends a job, unless it was called off.
    pub(super) fn end(&self, id: JobId, answer: Result<Answered, Refusal>) {
        let mut list = self.lock();
        let Some(entry) = list.get_mut(&id) else {
            return;
        };
        let job = &mut entry.recorded.job;
        if job.state.is_ended() {
            return;
        }
        entry.task = None;
        job.ended_at = Some(rfc3339(SystemTime::now()));
        match answer {
            Ok(Answered { computed, was_kept }) => {
                job.state = JobState::Answered;
                (job.bootstraps, job.expected) = (computed.bootstraps, computed.bootstraps);
                (job.seconds, job.was_kept) = (computed.seconds, was_kept);
            }
            Err(refusal) => {
                job.state = JobState::Failed;
                job.error = Some(refusal.into_body());
            }
        }
        self.metrics.count_job(job.state);
        self.record(&entry.recorded);
    }

    /// Returns the jobs of an owner, those that were asked last first.
    pub(super) fn of(&self, owner: &str, status: &Status) -> Vec<Job> {
        let list = self.lock();
        let own = list.values().map(|entry| &entry.recorded);
        let mut own: Vec<&Recorded> = own.filter(|it| it.owner == owner).collect();
        own.sort_by_key(|it| (std::cmp::Reverse(it.asked_ms), it.job.id));
        own.into_iter().map(|it| self.shown(it, status)).collect()
    }

    /// Returns a job of an owner.
    ///
    /// # Errors
    /// If the owner has no such job.
    pub(super) fn find(&self, owner: &str, id: JobId, status: &Status) -> Result<Job, Refusal> {
        let list = self.lock();
        let entry = list.get(&id).filter(|it| it.recorded.owner == owner);
        let entry = entry.ok_or_else(|| Refusal::no_such_job(id))?;
        Ok(self.shown(&entry.recorded, status))
    }

    /// Returns the name of the result of a job of an owner.
    ///
    /// # Errors
    /// If the owner has no such job, or it has no result.
    pub(super) fn result_of(&self, owner: &str, id: JobId) -> Result<ResultKey, Refusal> {
        let list = self.lock();
        let entry = list.get(&id).filter(|it| it.recorded.owner == owner);
        let Recorded { job, key, .. } = &entry.ok_or_else(|| Refusal::no_such_job(id))?.recorded;
        match job.state {
            JobState::Answered => Ok(*key),
            _ => Err(Refusal::no_result_of(job)),
        }
    }

    /// Calls a job of an owner off, or removes it with its result if it has ended.
    ///
    /// # Errors
    /// If the owner has no such job.
    pub(super) fn cancel(&self, owner: &str, id: JobId, status: &Status) -> Result<Job, Refusal> {
        let mut list = self.lock();
        let entry = list.get_mut(&id).filter(|it| it.recorded.owner == owner);
        let entry = entry.ok_or_else(|| Refusal::no_such_job(id))?;
        let mut shown = self.shown(&entry.recorded, status);
        if shown.state.is_ended() {
            let key = entry.recorded.key;
            list.remove(&id);
            self.forget(id);
            if !list.values().any(|it| it.recorded.key == key) {
                self.results.remove(key);
            }
            shown.result_bytes = None;
            return Ok(shown);
        }
        shown.state = JobState::Cancelled;
        shown.ended_at = Some(rfc3339(SystemTime::now()));
        entry.recorded.job = shown.clone();
        if let Some(task) = entry.task.take() {
            task.abort();
        }
        self.metrics.count_job(JobState::Cancelled);
        self.record(&entry.recorded);
        Ok(shown)
    }

    /// Removes the jobs that ended too long ago at `now`, and the oldest that have ended while there are too many.
    pub(super) fn expire(&self, now: SystemTime) {
        let mut list = self.lock();
        let ended = list.values().filter(|it| it.recorded.job.state.is_ended());
        let mut ended: Vec<(u64, JobId)> = ended
            .map(|it| (it.recorded.asked_ms, it.recorded.job.id))
            .collect();
        ended.sort_unstable();
        for (asked_ms, id) in ended {
            let age = Duration::from_millis(unix_ms(now).saturating_sub(asked_ms));
            if age <= self.age && list.len() <= MOST {
                break;
            }
            list.remove(&id);
            self.forget(id);
        }
    }

    /// A job with what is known of it at the moment.
    fn shown(&self, recorded: &Recorded, status: &Status) -> Job {
        let mut job = recorded.job.clone();
        let tag = job.id.to_string();
        let running = status.running.iter().find(|query| query.tag == tag);
        match (job.state, running) {
            (JobState::Waiting, Some(running)) => {
                job.state = JobState::Running;
                (job.bootstraps, job.expected) = (running.bootstraps, running.expected);
                job.seconds = running.seconds;
            }
            (JobState::Answered, _) => job.result_bytes = self.results.size(recorded.key),
            _ => {}
        }
        job
    }

    /// Writes the file of a job that goes on without it if it cannot be written.
    fn record(&self, recorded: &Recorded) {
        if let Err(error) = self.write(recorded) {
            tracing::error!(%error, "the state of a job cannot be written");
        }
    }

    fn write(&self, recorded: &Recorded) -> Result<(), FileError> {
        let path = self.file(recorded.job.id);
        let bytes = serde_json::to_vec(recorded);
        let bytes = bytes.map_err(|error| FileError::io("write", &path)(error.into()))?;
        files::write_private_unflushed(&path, &bytes)
    }

    fn forget(&self, id: JobId) {
        if let Err(error) = fs::remove_file(self.file(id)) {
            tracing::warn!(%error, "the file of a job cannot be deleted");
        }
    }

    fn file(&self, id: JobId) -> PathBuf {
        self.directory.join(id.to_string())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobId, Entry>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
