//! Devices with keys of their own: the directory of their switch keys beside the server
//! key.
//!
//! The directory is the truth. Every file in it called `*.tsbc` is a switch key that the
//! key owner made beside a device's key; the server looks again whenever the directory has
//! changed, so a device is added, or its key replaced, by copying a file. Only what the
//! files are about is held in memory: a key is read when an evaluation needs it.
//!
//! The newest epoch of a device is current. Uploads under an older one are refused, for
//! whoever took that key from the device could make them; what is stored stays usable. Of two
//! keys of one device and epoch the one whose file is older is current, and the other is refused
//! like an old one.
//! A file that is taken away takes the uploads under its key out of use.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::{Header, WireError};
use tfhe_sbc_engine::glwe_key_switch::{DeviceSwitch, DeviceSwitchKey, SeededDeviceSwitchKey};
use tfhe_sbc_engine::server_key::ServerKey;

/// The extension of the files of switch keys.
const EXTENSION: &str = "tsbc";

/// A directory changed less than this before it was read may have changed again since,
/// within one tick of its clock.
const SETTLED: Duration = Duration::from_secs(2);

/// The reason why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DeviceKeyError {
    /// A key that is neither the key set's nor that of a registered device.
    #[error(
        "it was made under another key set ({found}) than this one ({key_set}), or under a \
         device's own key whose switch key is not registered here: use the key set that it was \
         made with, or register the switch key that was made beside the device's key"
    )]
    Unknown {
        /// The key that it was made under.
        found: KeyFingerprint,
        /// The key set at hand.
        key_set: KeyFingerprint,
    },
    /// The device has a newer key.
    #[error("it was made under an old key of {old}: epoch {current} is current")]
    Superseded {
        /// The device that the key was issued to.
        old: DeviceIssue,
        /// The newest epoch that is registered.
        current: Epoch,
    },
    /// The device has another key of the same epoch.
    #[error("it was made under a second key of {0}, registered after another one of that epoch")]
    Second(DeviceIssue),
    /// A header of other parameters.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The directory cannot be read.
    #[error("the device switch keys in {} cannot be read: {source}", path.display())]
    Directory {
        /// The directory or a file in it.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The registered devices of one server key.
pub struct DeviceKeys {
    parameters: Parameters,
    key_set: KeyFingerprint,
    directory: Option<PathBuf>,
    scanned: Mutex<Scanned>,
}

/// The content of the directory when it was read last.
#[derive(Default)]
struct Scanned {
    /// The time of the last change of the directory, and the time at which it was read.
    at: Option<(SystemTime, SystemTime)>,
    files: HashMap<PathBuf, SwitchFile>,
    by_key: HashMap<KeyFingerprint, (PathBuf, DeviceIssue)>,
    current: HashMap<DeviceId, (Epoch, KeyFingerprint)>,
}

/// A file as it was when it was read, and the switch of a key that can be used.
#[derive(Clone, Copy, PartialEq)]
struct SwitchFile {
    stamp: Stamp,
    switch: Option<DeviceSwitch>,
}

/// The length of a file and when it was changed.
type Stamp = (u64, SystemTime);

/// The stamp of a file, through links, if it is there.
fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

impl DeviceKeys {
    /// Returns the keys of no devices: everything is under the key set's own key.
    pub fn none(key: &ServerKey<u64>) -> Self {
        Self {
            parameters: *key.parameters(),
            key_set: key.fingerprint(),
            directory: None,
            scanned: Mutex::default(),
        }
    }

    /// The devices whose switch keys are in a directory, for the computations of `key`.
    ///
    /// # Errors
    /// If the directory cannot be read. Files that are no switch keys for this server key
    /// are left out, with a warning in the log.
    pub fn in_directory(key: &ServerKey<u64>, directory: &Path) -> Result<Self, DeviceKeyError> {
        Self::of_key_set(key.parameters(), key.fingerprint(), Some(directory))
    }

    /// Returns the devices of a key set, for everybody who has one of its keys: those whose switch keys are in a directory, and
    /// none without one.
    ///
    /// # Errors
    /// As [`DeviceKeys::in_directory`].
    pub fn of_key_set(
        parameters: &Parameters,
        key_set: KeyFingerprint,
        directory: Option<&Path>,
    ) -> Result<Self, DeviceKeyError> {
        let keys = Self {
            parameters: *parameters,
            key_set,
            directory: directory.map(Path::to_owned),
            scanned: Mutex::default(),
        };
        drop(keys.look()?);
        Ok(keys)
    }

    /// Returns the directory of the switch keys; `None` if no devices have keys of their own.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the epoch of a device's current key; `None` if the device has no key of its own.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn current_epoch(&self, device: &DeviceId) -> Result<Option<Epoch>, DeviceKeyError> {
        Ok(self.look()?.current.get(device).map(|&(epoch, _)| epoch))
    }

    /// Checks that something new may come under this header's key. Returns the issue of that key; `None` for the key
    /// set's own, which any device may have.
    ///
    /// # Errors
    /// If the key is not known here, or is not the current one of its device.
    pub fn check_upload(&self, header: &Header) -> Result<Option<DeviceIssue>, DeviceKeyError> {
        let Some((_, issue)) = self.find(header)? else {
            return Ok(None);
        };
        match self.lock().current.get(&issue.device) {
            Some(&(current, _)) if current > issue.epoch => Err(DeviceKeyError::Superseded {
                old: issue,
                current,
            }),
            Some(&(_, key)) if key != header.key => Err(DeviceKeyError::Second(issue)),
            _ => Ok(Some(issue)),
        }
    }

    /// Returns the issue of this header's key, which need not be the current one of its device; `None` for the key set's
    /// own.
    ///
    /// # Errors
    /// If the key is not known here.
    pub fn issue_of(&self, header: &Header) -> Result<Option<DeviceIssue>, DeviceKeyError> {
        Ok(self.find(header)?.map(|(_, issue)| issue))
    }

    /// The switch from this header's key to the evaluation key; `None` if it is that key.
    /// Keys of every epoch are there.
    pub fn switch_key(
        &self,
        header: &Header,
    ) -> Result<Option<DeviceSwitchKey<u64>>, DeviceKeyError> {
        header.check_belongs(self.parameters.fingerprint(), header.key)?;
        self.switch_from(header.key)
    }

    /// The switch from a key to the evaluation key; `None` if it is that key.
    ///
    /// # Errors
    /// If the key is not known here, or its file cannot be read.
    pub fn switch_from(
        &self,
        from: KeyFingerprint,
    ) -> Result<Option<DeviceSwitchKey<u64>>, DeviceKeyError> {
        let Some((path, _)) = self.find_key(from)? else {
            return Ok(None);
        };
        let bytes = fs::read(&path).map_err(|source| DeviceKeyError::Directory {
            path: path.clone(),
            source,
        })?;
        let key = SeededDeviceSwitchKey::from_bytes(&bytes)?;
        if key.switch().from == from && key.switch().to == self.key_set {
            Ok(Some(key.prepare()))
        } else {
            // Replaced since the directory was looked at.
            Err(self.unknown(from))
        }
    }

    /// Returns the keys of devices that are known here, in order.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn known(&self) -> Result<Vec<KeyFingerprint>, DeviceKeyError> {
        let mut keys: Vec<KeyFingerprint> = self.look()?.by_key.keys().copied().collect();
        keys.sort_by_key(|key| key.0);
        Ok(keys)
    }

    fn find(&self, header: &Header) -> Result<Option<(PathBuf, DeviceIssue)>, DeviceKeyError> {
        header.check_belongs(self.parameters.fingerprint(), header.key)?;
        self.find_key(header.key)
    }

    fn find_key(
        &self,
        key: KeyFingerprint,
    ) -> Result<Option<(PathBuf, DeviceIssue)>, DeviceKeyError> {
        if key == self.key_set {
            return Ok(None);
        }
        let scanned = self.look()?;
        let found = scanned.by_key.get(&key);
        found.cloned().map(Some).ok_or(self.unknown(key))
    }

    fn unknown(&self, found: KeyFingerprint) -> DeviceKeyError {
        DeviceKeyError::Unknown {
            found,
            key_set: self.key_set,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Scanned> {
        // Replaced whole: a panic in between leaves the old one.
        self.scanned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the directory if it may have changed.
    fn look(&self) -> Result<MutexGuard<'_, Scanned>, DeviceKeyError> {
        let mut scanned = self.lock();
        let Some(directory) = &self.directory else {
            return Ok(scanned);
        };
        let failed = |source| DeviceKeyError::Directory {
            path: directory.clone(),
            source,
        };
        let now = SystemTime::now();
        let changed = fs::metadata(directory)
            .and_then(|metadata| metadata.modified())
            .map_err(failed)?;
        let settled = scanned
            .at
            .is_some_and(|(then, looked)| then == changed && looked > changed + SETTLED);
        // A file that was half there changes without its directory.
        let mut unusable = scanned.files.iter().filter(|(_, f)| f.switch.is_none());
        let still = unusable.all(|(path, file)| stamp(path) == Some(file.stamp));
        if !(settled && still) {
            *scanned = self.scan(directory, &scanned.files).map_err(failed)?;
            scanned.at = Some((changed, now));
        }
        Ok(scanned)
    }

    fn scan(&self, directory: &Path, known: &HashMap<PathBuf, SwitchFile>) -> io::Result<Scanned> {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path
                .extension()
                .is_none_or(|extension| extension != EXTENSION)
            {
                continue;
            }
            // A file that has gone since is not there.
            if let Some(stamp) = stamp(&path) {
                found.push((stamp, path));
            }
        }
        // The oldest first, so that a key is not taken over by one that comes later.
        found.sort_by(|(a, path_a), (b, path_b)| (a.1, path_a).cmp(&(b.1, path_b)));
        let mut scanned = Scanned::default();
        for (stamp, path) in found {
            let (file, is_new) = match known.get(&path) {
                Some(file) if file.stamp == stamp => (*file, false),
                _ => {
                    let switch = self.read(&path, stamp.0);
                    (SwitchFile { stamp, switch }, true)
                }
            };
            if let Some(DeviceSwitch { from, issue, .. }) = file.switch {
                let current = scanned
                    .current
                    .entry(issue.device)
                    .or_insert((issue.epoch, from));
                if issue.epoch > current.0 {
                    *current = (issue.epoch, from);
                } else if issue.epoch == current.0 && from != current.1 && is_new {
                    tracing::warn!(file = %path.display(), %issue, "a second key of one device and epoch: uploads under it are refused; issue it anew with a higher epoch");
                }
                scanned.by_key.entry(from).or_insert((path.clone(), issue));
            }
            scanned.files.insert(path, file);
        }
        Ok(scanned)
    }

    /// The switch of a file, if it is one to this key set.
    fn read(&self, path: &Path, len: u64) -> Option<DeviceSwitch> {
        let longest = SeededDeviceSwitchKey::<u64>::longest_message_len(&self.parameters);
        let read = || {
            // A longer file is no switch key, so it is not read into memory.
            if len > longest as u64 {
                return Err(format!("it has {len} bytes, not at most {longest}"));
            }
            let bytes = fs::read(path).map_err(|error| error.to_string())?;
            SeededDeviceSwitchKey::<u64>::from_bytes(&bytes).map_err(|error| error.to_string())
        };
        match read() {
            Ok(key) if key.switch().to == self.key_set => {
                let DeviceIssue { device, epoch } = key.switch().issue;
                tracing::info!(file = %path.display(), %device, %epoch, "registered a device key");
                Some(*key.switch())
            }
            Ok(key) => {
                tracing::warn!(file = %path.display(), key_set = %key.switch().to, "left out a device switch key of another key set");
                None
            }
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "left out a file that is no device switch key for this server key");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

    /// A file that never becomes a key does not have the directory read for every upload.
    #[test]
    fn the_directory_is_read_again_only_if_something_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("half.tsbc");
        fs::write(&file, b"half").unwrap();
        let keys = DeviceKeys {
            parameters: MESSAGE_2_CARRY_2.validate().unwrap(),
            key_set: KeyFingerprint([1; 16]),
            directory: Some(folder.path().to_owned()),
            scanned: Mutex::default(),
        };
        let looked = || keys.look().unwrap().at.unwrap().1;
        let old = SystemTime::now() - 2 * SETTLED;
        let settle = || {
            fs::File::open(folder.path())
                .unwrap()
                .set_modified(old)
                .unwrap();
        };
        settle();
        let first = looked();
        assert_eq!(looked(), first);

        // The file is written on, which leaves the directory as it was.
        fs::write(&file, b"half and more").unwrap();
        let second = looked();
        assert!(second > first);
        assert_eq!(looked(), second);

        fs::write(folder.path().join("another.tsbc"), b"").unwrap();
        settle();
        fs::File::open(folder.path())
            .unwrap()
            .set_modified(old + SETTLED / 2)
            .unwrap();
        assert!(looked() > second);
    }
}
