//! Backups: of stores in use, interrupted, damaged, and restored.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use tfhe_sbc_service::store::backup::{self, BackedUp, BackupError, Checked, Restored};
use tfhe_sbc_service::store::{Retention, Store, StoreError, Stored};
use tfhe_sbc_transport::BlobId;

use crate::common::former::FormerStore;
use crate::common::{compact, damage, file_names, summary};
use crate::frames::{BOARD, arrive, pads, put as put_pads};

fn put(store: &Store, content: &str) -> BlobId {
    let (stored, _) = store
        .put(content.as_bytes(), "hill", &summary(4), None)
        .unwrap();
    stored.id
}

fn back_up(store: &Path, out: &Path) -> Result<BackedUp, BackupError> {
    backup::back_up(store, out, false, |_| ())
}

fn check(directory: &Path) -> Result<Checked, BackupError> {
    backup::check(directory, |_| ())
}

fn restore(from: &Path, store: &Path) -> Result<Restored, BackupError> {
    backup::restore(from, store, false, |_| ())
}

/// A directory with a store of three uploads, which is open, and the path for a backup.
struct Place {
    directory: tempfile::TempDir,
    store: Store,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("store")).unwrap();
        for content in ["one", "two", "three"] {
            put(&store, content);
        }
        Self { directory, store }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn back_up(&self) -> BackedUp {
        back_up(&self.path("store"), &self.path("backup")).unwrap()
    }

    /// Flips a bit of an upload in the backup.
    fn damage_copy(&self, content: &str) {
        let id = BlobId::of(content.as_bytes());
        let (segment, record) = self.store.place(&id).unwrap().unwrap();
        let copies = self.path("backup").join("segments");
        let copy = copies.join(segment.file_name().unwrap());
        let mut bytes = std::fs::read(&copy).unwrap();
        bytes[usize::midpoint(record.start as usize, record.end as usize)] ^= 1;
        std::fs::write(&copy, bytes).unwrap();
    }
}

/// The contents of a store, the newest first.
fn contents(store: &Store) -> Vec<String> {
    let all = store.all().unwrap();
    let content = |id| String::from_utf8(store.get(id).unwrap()).unwrap();
    all.iter().map(|entry| content(&entry.id)).collect()
}

#[test]
fn a_backup_of_an_open_store_is_restored_as_it_was() {
    let place = Place::new();
    let (kept, _) = put_pads(&place.store, &pads(BOARD, 1, 1)).unwrap();
    arrive(&place.store, &kept, 0, 10).unwrap();
    let (frame, _) = arrive(&place.store, &kept, 1, 11).unwrap();
    place.store.remove(&frame).unwrap();
    let made = place.back_up();
    assert_eq!((made.uploads, made.pads, made.copied), (4, 1, 5));
    assert!(made.damaged.is_empty());
    let checked = check(&place.path("backup")).unwrap();
    assert_eq!(
        (checked.uploads, checked.pads, checked.bytes),
        (4, 1, made.bytes)
    );
    assert_eq!((checked.damaged.len(), checked.not_named), (0, 0));
    assert_eq!(checked.made_at, made.made_at);

    let restored = restore(&place.path("backup"), &place.path("again")).unwrap();
    assert_eq!((restored.uploads, restored.pads), (4, 1));
    #[cfg(unix)]
    for name in ["backup", "again"] {
        all_private(&place.path(name));
    }
    let again = Store::open(&place.path("again")).unwrap();
    // The same entries with the same times, uploaders and numbers, and the same counts.
    assert_eq!(again.all().unwrap(), place.store.all().unwrap());
    assert_eq!(again.uploaders(), place.store.uploaders());
    assert_eq!(contents(&again), contents(&place.store));
    // No pad that was used is free, whether its readings are there or not.
    let (pads, stored) = put_pads(&again, &pads(BOARD, 1, 1)).unwrap();
    assert_eq!(stored, Stored::AlreadyStored);
    for counter in [0, 1] {
        assert!(matches!(
            arrive(&again, &pads, counter, 99),
            Err(StoreError::PadUsedTwice { .. })
        ));
    }
    assert!(again.pads_file(&pads.id).is_ok());
    // Both go on by themselves.
    put(&again, "four");
    place.store.remove(&BlobId::of(b"one")).unwrap();
    assert_eq!(again.all().unwrap().len(), 5);
}

#[cfg(unix)]
fn all_private(directory: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory), 0o700, "{}", directory.display());
    for name in file_names(directory) {
        let path = directory.join(name);
        match path.is_dir() {
            true => all_private(&path),
            false => assert_eq!(mode(&path), 0o600, "{}", path.display()),
        }
    }
}

#[test]
fn later_backups_copy_what_is_new_and_forget_what_is_gone() {
    let place = Place::new();
    assert_eq!(place.back_up().copied, 3);
    let made = place.back_up();
    assert_eq!((made.uploads, made.copied, made.removed), (3, 0, 0));
    put(&place.store, "four");
    place.store.remove(&BlobId::of(b"one")).unwrap();
    let made = place.back_up();
    assert_eq!((made.uploads, made.copied, made.removed), (3, 1, 1));
    // An upload and a removal, and not what was there.
    assert!(
        (1..200).contains(&made.copied_bytes),
        "{}",
        made.copied_bytes
    );
    restore(&place.path("backup"), &place.path("again")).unwrap();
    let again = Store::open(&place.path("again")).unwrap();
    assert_eq!(contents(&again), ["four", "three", "two"]);
}

/// Uploads and removals at full speed, by another thread, while backup follows backup.
#[test]
fn a_store_that_changes_meanwhile_gives_whole_backups() {
    let place = Place::new();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let bounds = Retention {
                bytes: Some(400),
                ..Retention::default()
            };
            for count in 0_u64.. {
                put(&place.store, &format!("upload number {count}"));
                if count % 5 == 0 {
                    place.store.expire(&bounds, SystemTime::now()).unwrap();
                }
                if stop.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        for round in 0..8 {
            place.back_up();
            let checked = check(&place.path("backup")).unwrap();
            assert_eq!((checked.damaged.len(), checked.not_named), (0, 0));
            let again = place.path(&format!("again-{round}"));
            let restored = restore(&place.path("backup"), &again).unwrap();
            let store = Store::open(&again).unwrap();
            assert_eq!(contents(&store).len() as u64, restored.uploads);
        }
        stop.store(true, Ordering::SeqCst);
    });
}

#[test]
fn damage_in_a_backup_is_found_named_and_mended() {
    let place = Place::new();
    place.back_up();
    let backup = place.path("backup");
    place.damage_copy("one");
    place.damage_copy("two");
    std::fs::write(backup.join("segments/stray"), b"stray").unwrap();
    let checked = check(&backup).unwrap();
    let damaged = [BlobId::of(b"one"), BlobId::of(b"two")];
    assert_eq!((&checked.damaged[..], checked.not_named), (&damaged[..], 1));

    let again = place.path("again");
    let error = restore(&backup, &again).unwrap_err();
    assert!(
        matches!(
            &error,
            BackupError::Damaged {
                count: 2,
                of: 3,
                ..
            }
        ),
        "{error}"
    );
    assert!(!again.exists(), "something was left");
    // An empty directory stays, and is empty.
    std::fs::create_dir(&again).unwrap();
    restore(&backup, &again).unwrap_err();
    assert!(file_names(&again).is_empty());
    let restored = backup::restore(&backup, &again, true, |_| ()).unwrap();
    assert_eq!((restored.uploads, &restored.damaged[..]), (1, &damaged[..]));
    assert_eq!(contents(&Store::open(&again).unwrap()), ["three"]);

    // Only a look at all bytes finds it.
    assert_eq!(place.back_up().copied, 0);
    assert_eq!(check(&backup).unwrap().damaged, damaged);
    let made = backup::back_up(&place.path("store"), &backup, true, |_| ()).unwrap();
    assert_eq!(made.copied, 2);
    assert!(check(&backup).unwrap().damaged.is_empty());

    // An index that is no index.
    let index = backup.join("backup.sqlite");
    let mut bytes = std::fs::read(&index).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0x5a);
    std::fs::write(&index, bytes).unwrap();
    assert!(check(&backup).is_err());
    assert!(restore(&backup, &place.path("never")).is_err());
    assert!(!place.path("never").exists());
    // The next backup makes it anew.
    assert_eq!(place.back_up().copied, 0);
    assert!(check(&backup).unwrap().damaged.is_empty());
}

#[test]
fn damage_in_the_store_is_named_and_earlier_copies_stay() {
    let place = Place::new();
    let (one, two) = (BlobId::of(b"one"), BlobId::of(b"two"));
    damage(&place.store, &one);
    damage(&place.store, &two);
    let made = place.back_up();
    assert_eq!((made.uploads, &made.damaged[..]), (1, &[one, two][..]));
    assert!(check(&place.path("backup")).unwrap().damaged.is_empty());
    // Repaired, it is in the next one, and what the store loses after that stays in the backup.
    put(&place.store, "one");
    assert_eq!(place.back_up().uploads, 2);
    damage(&place.store, &one);
    let made = place.back_up();
    assert_eq!((made.uploads, &made.damaged[..]), (2, &[two][..]));
    restore(&place.path("backup"), &place.path("again")).unwrap();
    let again = Store::open(&place.path("again")).unwrap();
    assert_eq!(contents(&again), ["three", "one"]);
}

/// What a kill leaves before the index gets its name is no backup, or the backup that was there before.
#[test]
fn an_interrupted_backup_is_no_backup_and_leaves_the_one_before() {
    let place = Place::new();
    let backup = place.path("backup");
    place.back_up();
    let unfinished = backup.join("backup.sqlite.part");
    std::fs::copy(backup.join("backup.sqlite"), &unfinished).unwrap();
    let four = "four";
    // A tail that the index does not know, and a segment.
    let segment = backup.join("segments/00000001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes.extend_from_slice(b"half of a record");
    std::fs::write(&segment, bytes).unwrap();
    std::fs::write(backup.join("segments/00000002.seg"), b"half").unwrap();
    // The one before is whole.
    let checked = check(&backup).unwrap();
    assert_eq!(
        (checked.uploads, checked.damaged.len(), checked.not_named),
        (3, 0, 1)
    );
    restore(&backup, &place.path("again")).unwrap();
    assert_eq!(
        Store::open(&place.path("again"))
            .unwrap()
            .all()
            .unwrap()
            .len(),
        3
    );
    // Without one before, there is none.
    std::fs::remove_file(backup.join("backup.sqlite")).unwrap();
    for result in [
        check(&backup).err(),
        restore(&backup, &place.path("other")).err(),
    ] {
        assert!(
            matches!(result, Some(BackupError::Unfinished { .. })),
            "{result:?}"
        );
    }
    assert!(!place.path("other").exists());
    // The next goes on with what is there.
    put(&place.store, four);
    let made = place.back_up();
    assert_eq!((made.uploads, made.copied, made.removed), (4, 1, 0));
    let checked = check(&backup).unwrap();
    assert_eq!((checked.damaged.len(), checked.not_named), (0, 0));
    assert!(!unfinished.exists());
}

#[test]
fn a_half_restored_store_is_opened_by_nobody() {
    let place = Place::new();
    place.back_up();
    let again = place.path("again");
    restore(&place.path("backup"), &again).unwrap();
    // As a kill leaves it before the last step.
    std::fs::rename(
        again.join("index.sqlite"),
        again.join("restore.sqlite.part"),
    )
    .unwrap();
    let opened = Store::open(&again).err();
    assert!(
        matches!(opened, Some(StoreError::HalfRestored { .. })),
        "{opened:?}"
    );
    let restored = restore(&place.path("backup"), &again).unwrap_err();
    assert!(
        matches!(restored, BackupError::HalfRestored { .. }),
        "{restored}"
    );
    let copied = back_up(&again, &place.path("other")).unwrap_err();
    assert!(
        matches!(copied, BackupError::HalfRestored { .. }),
        "{copied}"
    );
    // No server writes into a backup either.
    let opened = Store::open(&place.path("backup")).err();
    assert!(
        matches!(opened, Some(StoreError::IsBackup { .. })),
        "{opened:?}"
    );
    assert!(check(&place.path("backup")).unwrap().damaged.is_empty());
}

#[test]
fn directories_that_hold_something_else_are_left_alone() {
    let place = Place::new();
    let (store, other) = (place.path("store"), place.path("other"));
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("letter.txt"), b"dear").unwrap();
    let error = back_up(&store, &other).unwrap_err();
    assert!(matches!(&error, BackupError::OtherFiles { name, .. } if name == "letter.txt"));
    assert_eq!(file_names(&other), ["letter.txt"]);
    let before = file_names(&store);
    for out in [store.clone(), store.join("segments"), store.join("backup")] {
        let error = back_up(&store, &out).unwrap_err();
        assert!(matches!(error, BackupError::InTheStore { .. }), "{error}");
    }
    assert_eq!(file_names(&store), before);
    let error = back_up(&other, &place.path("backup")).unwrap_err();
    assert!(matches!(error, BackupError::NoStore { .. }), "{error}");
    assert!(!place.path("backup").exists());

    place.back_up();
    let backup = place.path("backup");
    for full in [&store, &other, &backup] {
        let error = restore(&backup, full).unwrap_err();
        assert!(matches!(error, BackupError::NotEmpty { .. }), "{error}");
    }
    assert_eq!(file_names(&store), before);
    let error = restore(&store, &place.path("again")).unwrap_err();
    assert!(matches!(error, BackupError::NoBackup { .. }), "{error}");
    // One at a time.
    let lock = std::fs::File::open(backup.join("lock")).unwrap();
    lock.lock().unwrap();
    let busy = [
        back_up(&store, &backup).err(),
        check(&backup).err(),
        restore(&backup, &place.path("again")).err(),
    ];
    for error in busy {
        assert!(matches!(error, Some(BackupError::Busy { .. })), "{error:?}");
    }
    assert!(!place.path("again").exists());
}

/// The log of a server that was killed, which the next server would read in.
#[test]
fn a_store_whose_server_was_killed_is_backed_up_whole() {
    let place = Place::new();
    let copy = place.path("copy");
    std::fs::create_dir_all(copy.join("segments")).unwrap();
    for name in ["index.sqlite", "index.sqlite-wal"] {
        std::fs::copy(place.path("store").join(name), copy.join(name)).unwrap();
    }
    for name in file_names(&place.path("store").join("segments")) {
        let (from, to) = (place.path("store"), copy.clone());
        let (from, to) = (from.join("segments"), to.join("segments"));
        std::fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
    assert!(
        std::fs::metadata(copy.join("index.sqlite-wal"))
            .unwrap()
            .len()
            > 0
    );
    let made = back_up(&copy, &place.path("backup")).unwrap();
    assert_eq!(made.uploads, 3);
}

/// Without SQLite's lock on the index, a backup would take itself for the last user of the store, and tidy up the log
/// that the server goes on to write.
#[cfg(target_os = "linux")]
#[test]
fn an_open_store_holds_the_lock_on_its_index() {
    use std::os::unix::fs::MetadataExt as _;
    let place = Place::new();
    let index = std::fs::metadata(place.path("store").join("index.sqlite")).unwrap();
    let inode = format!(":{} ", index.ino());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    assert!(
        locks.lines().any(|line| line.contains(&inode)),
        "no lock on {inode} in\n{locks}"
    );
}

/// A backup that a program with files for uploads has made, and the store that it was made of.
#[test]
fn a_backup_of_the_former_layout_is_checked_and_restored() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (store, backup) = (path("store"), path("backup"));
    let former = FormerStore::create(&store).unwrap();
    for (number, content) in (0..).zip(["one", "two", "three"]) {
        let bytes = content.as_bytes();
        former
            .put(bytes, "hill", &summary(4), 1_700_000_000 + number)
            .unwrap();
    }
    drop(former);
    // No program of today makes another one of it.
    let error = back_up(&store, &backup).unwrap_err();
    assert!(matches!(error, BackupError::FormerStore { .. }), "{error}");
    std::fs::create_dir_all(backup.join("blobs")).unwrap();
    std::fs::create_dir_all(backup.join("pads")).unwrap();
    for name in file_names(&store.join("blobs")) {
        let from = store.join("blobs").join(&name);
        std::fs::copy(from, backup.join("blobs").join(&name)).unwrap();
    }
    let index = rusqlite::Connection::open(store.join("index.sqlite")).unwrap();
    let out = backup.join("backup.sqlite");
    index
        .execute("VACUUM INTO ?1", [out.to_str().unwrap()])
        .unwrap();
    drop(index);
    let index = rusqlite::Connection::open(&out).unwrap();
    let made = "CREATE TABLE backup (made_at INTEGER NOT NULL) STRICT; INSERT INTO backup VALUES (1700000100);";
    index.execute_batch(made).unwrap();
    drop(index);

    let checked = check(&backup).unwrap();
    assert_eq!((checked.uploads, checked.bytes), (3, 11));
    assert_eq!((checked.damaged.len(), checked.not_named), (0, 0));
    let restored = restore(&backup, &path("again")).unwrap();
    assert_eq!((restored.uploads, restored.bytes), (3, 11));
    let again = Store::open(&path("again")).unwrap();
    assert_eq!(contents(&again), ["three", "two", "one"]);
    assert!(!path("again").join("blobs").exists());
    // A damaged file is found, as before.
    let one = BlobId::of(b"one");
    std::fs::write(backup.join("blobs").join(one.to_string()), b"onE").unwrap();
    assert_eq!(check(&backup).unwrap().damaged, [one]);
    assert!(matches!(
        restore(&backup, &path("never")),
        Err(BackupError::Damaged {
            count: 1,
            of: 3,
            ..
        })
    ));
    // The next backup has segments.
    let made = back_up(&path("again"), &backup).unwrap();
    assert_eq!((made.uploads, made.copied), (3, 3));
    assert!(!backup.join("blobs").exists());
    let checked = check(&backup).unwrap();
    assert_eq!((checked.damaged.len(), checked.not_named), (0, 0));
    restore(&backup, &path("third")).unwrap();
    let third = Store::open(&path("third")).unwrap();
    assert_eq!(contents(&third), ["three", "two", "one"]);
}

/// A store that was restored goes on in another way than the one that the backup is of: a backup of it into the same directory is whole.
#[test]
fn two_histories_into_one_directory_give_whole_backups() {
    let place = Place::new();
    place.back_up();
    let again = place.path("again");
    restore(&place.path("backup"), &again).unwrap();
    put(&place.store, "four");
    place.back_up();
    for round in 0..2 {
        let store = Store::open(&again).unwrap();
        put(&store, &format!("other {round}"));
        drop(store);
        let made = back_up(&again, &place.path("backup")).unwrap();
        assert_eq!(made.uploads, 4 + round);
        assert!(check(&place.path("backup")).unwrap().damaged.is_empty());
        let restored = place.path(&format!("restored-{round}"));
        restore(&place.path("backup"), &restored).unwrap();
        let restored = Store::open(&restored).unwrap();
        assert_eq!(contents(&restored)[0], format!("other {round}"));
    }
}

/// Segments stay where they are while a backup is made.
#[test]
fn no_room_is_given_back_during_a_backup() {
    let place = Place::new();
    for content in ["one", "two", "three"] {
        place.store.remove(&BlobId::of(content.as_bytes())).unwrap();
    }
    let segments = place.path("store").join("segments");
    let lock = std::fs::File::open(place.path("store").join("segments.lock")).unwrap();
    lock.lock_shared().unwrap();
    assert!(!place.store.compact().unwrap());
    assert_eq!(file_names(&segments), ["00000001.seg"]);
    drop(lock);
    compact(&place.store);
    assert_eq!(file_names(&segments), ["00000002.seg"]);
}
