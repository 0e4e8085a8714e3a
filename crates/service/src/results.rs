//! Results that the server keeps on its disk: for those who come back for them, and for questions that are asked again.
//!
//! A result is named by a hash of everything that it follows from: the bytes of the request, the uploads in their order, and the
//! party that asked. Who asks the same question again gets the same bytes, so it learns nothing that it did not know, neither of the
//! readings nor of the noise of a computation. Requests with encrypted thresholds have other bytes each time and are always computed.
//!
//! The directory has one file for each result. What is beyond the bounds of number, bytes and age goes, the oldest first.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use blake3::Hash;
use serde::{Deserialize, Serialize};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::files::{self, FileError};

use crate::backend::Evaluation;
use crate::headed;

/// The most results that are kept.
const MOST: usize = 4096;

/// The bounds of the results that a server keeps, and where it keeps them and its jobs.
#[derive(Debug, Clone)]
pub struct Keeping {
    /// The directory; `None` for a server that keeps no results and takes no jobs.
    pub directory: Option<PathBuf>,
    /// The most bytes of all results together.
    pub bytes: u64,
    /// The time for which a result, and what is known of a job, is kept.
    pub age: Duration,
}

impl Default for Keeping {
    fn default() -> Self {
        Self {
            directory: None,
            bytes: 1 << 30,
            age: Duration::from_secs(7 * 86_400),
        }
    }
}

/// The name of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ResultKey(Hash);

impl ResultKey {
    /// Returns the name of the result that `asker` gets to the request about these uploads.
    pub(crate) fn of(asker: &str, request: &[u8], uploads: impl Iterator<Item = BlobId>) -> Self {
        // Results of other versions may have other forms.
        let context = concat!(
            "tfhe-sbc ",
            env!("CARGO_PKG_VERSION"),
            " result of a question"
        );
        let mut hasher = blake3::Hasher::new_derive_key(context);
        for part in [asker.as_bytes(), request] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        for id in uploads {
            hasher.update(id.to_string().as_bytes());
        }
        Self(hasher.finalize())
    }

    fn file(self, directory: &Path) -> PathBuf {
        directory.join(self.0.to_hex().as_str())
    }
}

impl TryFrom<String> for ResultKey {
    type Error = blake3::HexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Hash::from_hex(text).map(Self)
    }
}

impl From<ResultKey> for String {
    fn from(key: ResultKey) -> Self {
        key.0.to_hex().to_string()
    }
}

/// What the first line of a file says of the result behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Computed {
    /// The number of bootstraps.
    pub(crate) bootstraps: u64,
    /// The seconds of the evaluation.
    pub(crate) seconds: f64,
}

/// A result that was kept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeptResult {
    pub(crate) result: Vec<u8>,
    pub(crate) computed: Computed,
    /// The time for which it has been kept.
    pub(crate) age: Duration,
}

/// A result in the directory.
#[derive(Debug, Clone, Copy)]
struct Entry {
    bytes: u64,
    since: SystemTime,
    /// The place in the order in which results of this start were kept, for those of one moment.
    number: u64,
}

/// The results in a directory.
#[derive(Debug)]
pub(crate) struct KeptResults {
    directory: PathBuf,
    bytes: u64,
    age: Duration,
    entries: Mutex<HashMap<ResultKey, Entry>>,
}

impl KeptResults {
    /// Opens a directory, which is made (mode 0700) if it does not exist.
    pub(crate) fn open(directory: &Path, keeping: &Keeping) -> Result<Self, FileError> {
        files::create_private_directory(directory)?;
        let mut entries = HashMap::new();
        let failed = |error| FileError::io("read the directory", directory)(error);
        let listed = fs::read_dir(directory).map_err(failed)?;
        for file in listed {
            let file =
                file.map_err(|error| FileError::io("read the directory", directory)(error))?;
            let name = file.file_name();
            let key = name
                .to_str()
                .and_then(|name| ResultKey::try_from(name.to_owned()).ok());
            let about = file.metadata().ok();
            match (key, about) {
                (Some(key), Some(about)) => {
                    let entry = Entry {
                        bytes: about.len(),
                        since: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                        number: 0,
                    };
                    entries.insert(key, entry);
                }
                // Left by a crash while it was written.
                _ if name.to_str().is_some_and(files::is_temporary) => {
                    let _ = fs::remove_file(file.path());
                }
                _ => {}
            }
        }
        let kept = Self {
            directory: directory.to_owned(),
            bytes: keeping.bytes,
            age: keeping.age,
            entries: Mutex::new(entries),
        };
        kept.expire(SystemTime::now());
        Ok(kept)
    }

    /// Keeps a result. Returns whether it did: not if it has more bytes than all may have together.
    ///
    /// # Errors
    /// A disk that is full or fails.
    pub(crate) fn keep(
        &self,
        key: ResultKey,
        evaluation: &Evaluation,
        took: Duration,
    ) -> Result<bool, FileError> {
        let computed = Computed {
            bootstraps: evaluation.bootstraps,
            seconds: took.as_secs_f64(),
        };
        let file = key.file(&self.directory);
        let content = headed::content(&computed, &[&evaluation.result]);
        let content = content.map_err(FileError::io("write", &file))?;
        let bytes = content.len() as u64;
        if bytes > self.bytes {
            return Ok(false);
        }
        self.make_room(bytes, SystemTime::now());
        files::write_private_unflushed(&file, &content)?;
        let mut entries = self.lock();
        let number = entries.values().map(|entry| entry.number).max();
        let entry = Entry {
            bytes,
            since: SystemTime::now(),
            number: number.map_or(0, |number| number + 1),
        };
        entries.insert(key, entry);
        Ok(true)
    }

    /// Returns a result, if it is kept.
    pub(crate) fn get(&self, key: ResultKey) -> Option<KeptResult> {
        let Entry { since, .. } = self.entry(key)?;
        match headed::read(&key.file(&self.directory)) {
            Ok((computed, result)) => Some(KeptResult {
                result,
                computed,
                age: SystemTime::now().duration_since(since).unwrap_or_default(),
            }),
            Err(error) => {
                tracing::warn!(%error, "a kept result cannot be read and is given up");
                self.remove(key);
                None
            }
        }
    }

    /// Returns the number of bytes of a result, if it is kept.
    pub(crate) fn size(&self, key: ResultKey) -> Option<u64> {
        let file = key.file(&self.directory);
        self.entry(key)?;
        // The first line is not of the result.
        let (_, bytes) = headed::head::<Computed>(&file).ok()?;
        Some(bytes)
    }

    /// Removes a result.
    pub(crate) fn remove(&self, key: ResultKey) {
        if self.lock().remove(&key).is_some() {
            self.delete(key);
        }
    }

    /// Removes the results that are too old at `now`.
    pub(crate) fn expire(&self, now: SystemTime) {
        self.make_room(0, now);
    }

    /// Returns the number of results, and their bytes.
    pub(crate) fn count(&self) -> (u64, u64) {
        let entries = self.lock();
        let bytes = entries.values().map(|entry| entry.bytes).sum();
        (entries.len() as u64, bytes)
    }

    fn entry(&self, key: ResultKey) -> Option<Entry> {
        let entry = self.lock().get(&key).copied()?;
        let age = SystemTime::now().duration_since(entry.since);
        (age.unwrap_or_default() <= self.age).then_some(entry)
    }

    /// Removes what is too old, and the oldest until `bytes` more have room.
    fn make_room(&self, bytes: u64, now: SystemTime) {
        let mut entries = self.lock();
        let mut in_order: Vec<(ResultKey, Entry)> =
            entries.iter().map(|(key, entry)| (*key, *entry)).collect();
        in_order.sort_by_key(|(_, entry)| (entry.since, entry.number));
        let mut all: u64 = in_order.iter().map(|(_, entry)| entry.bytes).sum();
        let mut count = in_order.len() + usize::from(bytes > 0);
        for (key, entry) in in_order {
            let is_old = now.duration_since(entry.since).unwrap_or_default() > self.age;
            if !is_old && all.saturating_add(bytes) <= self.bytes && count <= MOST {
                // Those behind it are younger.
                break;
            }
            entries.remove(&key);
            self.delete(key);
            all -= entry.bytes;
            count -= 1;
        }
    }

    fn delete(&self, key: ResultKey) {
        let file = key.file(&self.directory);
        if let Err(error) = fs::remove_file(&file)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "a kept result cannot be deleted");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ResultKey, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(asker: &str, request: &str, uploads: &[&[u8]]) -> ResultKey {
        let ids = uploads.iter().map(|bytes| BlobId::of(bytes));
        ResultKey::of(asker, request.as_bytes(), ids)
    }

    fn evaluation(bytes: usize) -> Evaluation {
        Evaluation {
            result: vec![b'\n'; bytes],
            bootstraps: 7,
        }
    }

    fn keeping(bytes: u64, age: Duration) -> Keeping {
        Keeping {
            directory: None,
            bytes,
            age,
        }
    }

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn every_part_of_a_question_is_in_the_name_of_its_result() {
        let keys = [
            key("a", "bc", &[b"1", b"2"]),
            key("ab", "c", &[b"1", b"2"]),
            key("a", "bd", &[b"1", b"2"]),
            key("a", "bc", &[b"2", b"1"]),
            key("a", "bc", &[b"1"]),
        ];
        for (i, one) in keys.iter().enumerate() {
            for other in &keys[i + 1..] {
                assert_ne!(one, other);
            }
        }
        assert_eq!(keys[0], key("a", "bc", &[b"1", b"2"]));
    }

    #[test]
    fn results_come_back_also_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let open = || KeptResults::open(directory.path(), &keeping(1 << 20, DAY)).unwrap();
        let (one, two) = (key("a", "1", &[]), key("a", "2", &[]));
        let kept = open();
        assert_eq!(kept.get(one), None);
        assert!(
            kept.keep(one, &evaluation(5), Duration::from_millis(1500))
                .unwrap()
        );
        let again = open();
        for kept in [kept, again] {
            let found = kept.get(one).unwrap();
            assert_eq!(found.result, vec![b'\n'; 5]);
            assert_eq!(
                (found.computed.bootstraps, found.computed.seconds),
                (7, 1.5)
            );
            assert_eq!(kept.size(one), Some(5));
            assert_eq!(kept.get(two), None);
            assert_eq!(kept.count().0, 1);
        }
        let kept = open();
        kept.remove(one);
        assert_eq!((kept.get(one), kept.count()), (None, (0, 0)));
        assert_eq!(open().get(one), None);
    }

    #[test]
    fn the_oldest_go_first_and_a_damaged_file_is_no_result() {
        let directory = tempfile::tempdir().unwrap();
        let kept = KeptResults::open(directory.path(), &keeping(3000, DAY)).unwrap();
        let keys = ["1", "2", "3", "4"].map(|request| key("a", request, &[]));
        for key in &keys[..3] {
            assert!(kept.keep(*key, &evaluation(900), DAY).unwrap());
        }
        assert_eq!(kept.count().0, 3);
        assert!(kept.keep(keys[3], &evaluation(900), DAY).unwrap());
        assert_eq!(kept.get(keys[0]), None);
        assert!(kept.get(keys[1]).is_some());
        // More than all may have is not kept, and takes nothing away.
        assert!(!kept.keep(keys[0], &evaluation(3000), DAY).unwrap());
        assert_eq!(kept.count().0, 3);
        fs::write(keys[1].file(directory.path()), "{").unwrap();
        assert_eq!(kept.get(keys[1]), None);
        kept.expire(SystemTime::now() + 2 * DAY);
        assert_eq!(kept.count(), (0, 0));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        let old = KeptResults::open(directory.path(), &keeping(3000, Duration::ZERO));
        assert_eq!(old.unwrap().count(), (0, 0));
    }
}
