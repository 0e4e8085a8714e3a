//! Answers that are kept on the owner's disk, encrypted, so that a question that is asked again costs nothing.
//!
//! An entry is the answer to one question about the rows of one device, or of several, in one period. Its name is a keyed hash of the
//! question, the devices, the time and the uploads that the rows are of: an upload that arrives or goes makes another name, so that an
//! answer is never out of date. The file is a list of records, each of which is the entries of one answer of the server, encrypted
//! with AES-256-GCM. The keys follow from the secret key. One process at a time writes to the file; others read it when they start.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_lc_rs::aead::{AES_256_GCM, Aad, Nonce, RandomizedNonceKey};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_upload::moments::Moment;
use zeroize::Zeroizing;

use crate::error::{GatewayError, Outcome, code};
use crate::pushdown::Cell;

/// The first bytes of a file.
const FORMAT: &[u8; 8] = b"tsbcgwc1";
/// The bytes of a nonce and of a tag.
const NONCE: usize = 12;
const TAG: usize = 16;
/// The bytes of an entry in a record.
const ENTRY: usize = 16 + 1 + 4 * 8;
/// The most bytes of a record.
const LARGEST: usize = 64 << 20;
/// The most bytes of a file; a larger one is begun anew.
const MOST: u64 = 256 << 20;

/// The name of an entry.
pub(crate) type Name = [u8; 16];

/// The entries of a record.
type Entries = Vec<(Name, Kept)>;

/// A kept answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kept {
    /// The number of rows of the group; there is no such group if it is 0.
    pub(crate) rows: u64,
    pub(crate) cell: Cell,
}

/// The kept answers.
pub(crate) struct Cache {
    names: Zeroizing<[u8; 32]>,
    key: RandomizedNonceKey,
    state: Mutex<State>,
}

struct State {
    entries: HashMap<Name, Kept>,
    /// The file, unless answers are only kept in memory.
    file: Option<(File, u64)>,
}

/// Returns a key that follows from the secret key.
fn derived(context: &str, secret: &SecretKey) -> Outcome<Zeroizing<[u8; 32]>> {
    let bytes = secret.to_bytes().map_err(GatewayError::internal)?;
    Ok(Zeroizing::new(blake3::derive_key(context, &bytes)))
}

impl Cache {
    /// Opens the cache in a directory, or one in memory alone.
    pub(crate) fn open(directory: Option<&Path>, secret: &SecretKey) -> Outcome<Self> {
        let names = derived("tfhe-sbc gateway 2026-11-26 names of kept answers", secret)?;
        let key = derived("tfhe-sbc gateway 2026-11-26 kept answers", secret)?;
        let key = RandomizedNonceKey::new(&AES_256_GCM, &*key).map_err(GatewayError::internal)?;
        let mut cache = Self {
            names,
            key,
            state: Mutex::new(State {
                entries: HashMap::new(),
                file: None,
            }),
        };
        if let Some(directory) = directory {
            let opened = cache.open_file(directory, secret);
            let state = opened.map_err(|error| {
                GatewayError::new(
                    code::CONFIGURATION,
                    format_args!("the cache {}: {error}", directory.display()),
                )
                .advise("name another directory with --cache, or start with --no-cache")
            })?;
            cache.state = Mutex::new(state);
        }
        Ok(cache)
    }

    fn open_file(&self, directory: &Path, secret: &SecretKey) -> std::io::Result<State> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let path = directory.join(format!("{}.cache", secret.fingerprint()));
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let mut file = options.open(&path)?;
        let is_ours = file.try_lock();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (entries, good) = self.read(&bytes);
        match is_ours {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                tracing::info!(
                    "another gateway writes to the cache: its answers of before are used, and new ones are kept in memory"
                );
                return Ok(State {
                    entries,
                    file: None,
                });
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if good != bytes.len() as u64 || good == 0 {
            // What a crash left half-written, or a file of another format.
            file.set_len(good)?;
        }
        let mut length = good;
        if length == 0 {
            file.write_all(FORMAT)?;
            length = FORMAT.len() as u64;
        }
        Ok(State {
            entries,
            file: Some((file, length)),
        })
    }

    /// Reads the records of a file as far as they are whole, and returns how far that is.
    fn read(&self, bytes: &[u8]) -> (HashMap<Name, Kept>, u64) {
        let mut entries = HashMap::new();
        let Some(mut rest) = bytes.strip_prefix(FORMAT) else {
            return (entries, 0);
        };
        while let Some((record, behind)) = self.record(rest) {
            entries.extend(record);
            rest = behind;
        }
        (entries, (bytes.len() - rest.len()) as u64)
    }

    /// Returns the entries of the record at the beginning of some bytes, and what is behind it; `None` if it is not whole or not ours.
    fn record<'b>(&self, bytes: &'b [u8]) -> Option<(Entries, &'b [u8])> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > LARGEST {
            return None;
        }
        let (record, rest) = rest.split_at_checked(length)?;
        let (nonce, sealed) = record.split_first_chunk::<NONCE>()?;
        let mut sealed = Zeroizing::new(sealed.to_vec());
        let opened = self
            .key
            .open_in_place(Nonce::from(nonce), Aad::from(FORMAT), &mut sealed)
            .ok()?;
        let entries = opened.chunks_exact(ENTRY).filter_map(entry).collect();
        Some((entries, rest))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name of the answer that these parts determine.
    pub(crate) fn name(&self, parts: &[&[u8]]) -> Name {
        let mut hasher = blake3::Hasher::new_keyed(&self.names);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut name = [0; 16];
        hasher.finalize_xof().fill(&mut name);
        name
    }

    /// Returns kept answers, in the order of their names.
    pub(crate) fn get(&self, names: &[Name]) -> Vec<Option<Kept>> {
        let state = self.lock();
        let found = names.iter().map(|name| state.entries.get(name).copied());
        found.collect()
    }

    /// Keeps answers. One that cannot be written is kept in memory.
    pub(crate) fn keep(&self, answers: &[(Name, Kept)]) {
        let mut state = self.lock();
        state.entries.extend(answers.iter().copied());
        for answers in answers.chunks(LARGEST / ENTRY / 2) {
            if let Err(error) = self.write(&mut state, answers) {
                tracing::warn!("answers are not kept on the disk: {error}");
                state.file = None;
            }
        }
    }

    fn write(&self, state: &mut State, answers: &[(Name, Kept)]) -> std::io::Result<()> {
        let Some((file, length)) = &mut state.file else {
            return Ok(());
        };
        if *length > MOST {
            file.set_len(0)?;
            file.write_all(FORMAT)?;
            *length = FORMAT.len() as u64;
            state.entries.clear();
            state.entries.extend(answers.iter().copied());
        }
        let mut plain = Zeroizing::new(Vec::with_capacity(answers.len() * ENTRY + TAG));
        for (name, kept) in answers {
            plain.extend_from_slice(&bytes(name, kept));
        }
        let nonce = self
            .key
            .seal_in_place_append_tag(Aad::from(FORMAT), &mut *plain)
            .map_err(std::io::Error::other)?;
        let mut record = Vec::with_capacity(4 + NONCE + plain.len());
        record.extend_from_slice(&((NONCE + plain.len()) as u32).to_le_bytes());
        record.extend_from_slice(nonce.as_ref());
        record.extend_from_slice(&plain);
        file.write_all(&record)?;
        *length += record.len() as u64;
        Ok(())
    }
}

/// The bytes of an entry: the name, a byte that says what is there, the rows, the value, the values present, and the time.
fn bytes(name: &Name, kept: &Kept) -> [u8; ENTRY] {
    let Kept { rows, cell } = kept;
    let flags = u8::from(cell.value.is_some())
        | u8::from(cell.present.is_some()) << 1
        | u8::from(cell.time.is_some()) << 2;
    let numbers = [
        *rows,
        cell.value.unwrap_or_default().to_bits(),
        cell.present.unwrap_or_default(),
        cell.time.map_or(0, Moment::unix_ms).cast_unsigned(),
    ];
    let mut bytes = [0; ENTRY];
    let parts = name.iter().copied().chain([flags]);
    let parts = parts.chain(numbers.into_iter().flat_map(u64::to_le_bytes));
    for (place, byte) in bytes.iter_mut().zip(parts) {
        *place = byte;
    }
    bytes
}

fn entry(bytes: &[u8]) -> Option<(Name, Kept)> {
    let (name, rest) = bytes.split_first_chunk::<16>()?;
    let (flags, rest) = rest.split_first()?;
    let mut numbers = rest.chunks_exact(8).map(|bytes| {
        let bytes = bytes.try_into().unwrap_or_default();
        u64::from_le_bytes(bytes)
    });
    let mut next = || numbers.next();
    let (rows, value, present, time) = (next()?, next()?, next()?, next()?);
    let has = |bit: u8| flags >> bit & 1 == 1;
    let cell = Cell {
        value: has(0).then(|| f64::from_bits(value)),
        present: has(1).then_some(present),
        time: has(2).then(|| Moment::from_unix_ms(time.cast_signed())),
    };
    Some((*name, Kept { rows, cell }))
}

#[cfg(test)]
mod tests {
    use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;

    use super::*;

    fn secret() -> SecretKey {
        let mut seeds = tfhe_sbc_upload::fresh_seeds().unwrap();
        SecretKey::generate(MESSAGE_2_CARRY_2.validate().unwrap(), &mut seeds).unwrap()
    }

    fn kept(rows: u64) -> Kept {
        Kept {
            rows,
            cell: Cell {
                value: Some(-2.5),
                present: None,
                time: Some(Moment::from_unix_ms(-7)),
            },
        }
    }

    #[test]
    fn answers_are_there_after_a_restart_and_for_their_key_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (secret, other) = (secret(), secret());
        let open = |secret| Cache::open(Some(directory.path()), secret).unwrap();
        let cache = open(&secret);
        let (name, missing) = (cache.name(&[b"a", b"b"]), cache.name(&[b"ab", b""]));
        cache.keep(&[(name, kept(3))]);
        drop(cache);
        let cache = open(&secret);
        assert_eq!(cache.get(&[name, missing]), [Some(kept(3)), None]);
        assert_ne!(open(&other).name(&[b"a", b"b"]), name);
        assert_eq!(open(&other).get(&[name]), [None]);
    }

    #[test]
    fn a_second_process_reads_and_leaves_the_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let secret = secret();
        let open = || Cache::open(Some(directory.path()), &secret).unwrap();
        let first = open();
        let names = [first.name(&[b"a"]), first.name(&[b"b"])];
        first.keep(&[(names[0], kept(1))]);
        let second = open();
        second.keep(&[(names[1], kept(2))]);
        assert_eq!(second.get(&names), [Some(kept(1)), Some(kept(2))]);
        drop((first, second));
        assert_eq!(open().get(&names), [Some(kept(1)), None]);
    }

    #[test]
    fn what_is_damaged_is_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let secret = secret();
        let open = || Cache::open(Some(directory.path()), &secret).unwrap();
        let cache = open();
        let names = [cache.name(&[b"a"]), cache.name(&[b"b"])];
        cache.keep(&[(names[0], kept(1))]);
        cache.keep(&[(names[1], kept(2))]);
        drop(cache);
        let path = directory
            .path()
            .join(format!("{}.cache", secret.fingerprint()));
        let mut bytes = std::fs::read(&path).unwrap();
        assert!(
            !bytes
                .windows(8)
                .any(|part| part == (-2.5_f64).to_le_bytes())
        );
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let cache = open();
        assert_eq!(cache.get(&names), [Some(kept(1)), None]);
        cache.keep(&[(names[1], kept(4))]);
        drop(cache);
        assert_eq!(open().get(&names), [Some(kept(1)), Some(kept(4))]);
    }
}
