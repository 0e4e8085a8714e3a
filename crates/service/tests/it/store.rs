//! Tests of the store's promises, crashes included.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::common::{ALL, damage, file_names, lose_index, summary};
use tfhe_sbc_service::store::{Store, StoreError, Stored};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::Filter;

const CRASHING: &str = "TFHE_SBC_TEST_STORE_TO_CRASH_IN";

/// Runs itself in a child process that stores as fast as it can, prints what it
/// was promised and is killed in the middle of it.
#[test]
fn what_was_acknowledged_survives_a_kill() {
    if let Ok(directory) = std::env::var(CRASHING) {
        store_forever(Path::new(&directory));
    }
    let directory = tempfile::tempdir().unwrap();
    let mut promised = HashSet::new();
    for round in 0..4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "store::what_was_acknowledged_survives_a_kill",
                "--nocapture",
            ])
            .env(CRASHING, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        while let Some(Ok(line)) = lines.next() {
            let Some((_, id)) = line.split_once("promised ") else {
                continue;
            };
            // The last line may be cut.
            if let Ok(id) = id.parse::<BlobId>() {
                promised.insert(id);
            }
            seen += 1;
            if seen == 20 + 7 * round {
                child.kill().unwrap(); // SIGKILL
            }
        }
        let _ = child.wait();
        assert!(seen >= 20, "the child stored {seen} only");

        let store = Store::open(directory.path()).unwrap();
        for id in &promised {
            assert_eq!(BlobId::of(&store.get(id).unwrap()), *id);
        }
        let listed: HashSet<_> = store
            .all()
            .unwrap()
            .into_iter()
            .map(|entry| entry.id)
            .collect();
        assert!(promised.is_subset(&listed));
        drop(store);
        // The same comes of the segments alone.
        lose_index(directory.path());
        let store = Store::open(directory.path()).unwrap();
        let again: HashSet<_> = store.all().unwrap().iter().map(|entry| entry.id).collect();
        assert_eq!(again, listed);
    }
}

fn store_forever(directory: &Path) -> ! {
    let store = Arc::new(Store::open(directory).unwrap());
    let start = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    let workers: Vec<_> = (0..3)
        .map(|worker| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                for count in 0_usize.. {
                    let mut bytes = format!("{start} {worker} {count}").into_bytes();
                    bytes.resize(100 + 7919 * count % 200_000, count as u8);
                    let (stored, _) = store.put(&bytes, "child", &summary(1), None).unwrap();
                    // In one piece, so that lines of different threads stay apart.
                    let line = format!("promised {}\n", stored.id);
                    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
                }
            })
        })
        .collect();
    for worker in workers {
        let _ = worker.join();
    }
    std::process::exit(1)
}

#[test]
fn interrupted_files_of_pads_are_swept() {
    let directory = tempfile::tempdir().unwrap();
    let pads = directory.path().join("pads");
    drop(Store::open(directory.path()).unwrap());
    std::fs::write(pads.join(".tfhe-sbc-temporary-Ab12Cd"), b"half of it").unwrap();
    drop(Store::open(directory.path()).unwrap());
    assert!(file_names(&pads).is_empty());
}

#[test]
fn content_is_stored_once_and_kept_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(store.latest().unwrap(), None);
    let (one, new) = store.put(b"one", "pi", &summary(1), None).unwrap();
    assert_eq!(new, Stored::New);
    let (two, _) = store.put(b"two", "pi", &summary(2), None).unwrap();
    let (again, old) = store.put(b"one", "other", &summary(1), None).unwrap();
    assert_eq!((&again, old), (&one, Stored::AlreadyStored));
    assert!(one.created_at.elapsed().unwrap() < Duration::from_secs(60));

    drop(store);
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(
        store.list(&ALL).unwrap().readings,
        [two.clone(), one.clone()]
    );
    assert_eq!(
        store
            .list(&Filter {
                limit: Some(1),
                ..Filter::ALL
            })
            .unwrap()
            .readings,
        std::slice::from_ref(&two)
    );
    assert_eq!(store.latest().unwrap(), Some(two));
    assert_eq!(store.find(&one.id).unwrap(), Some(one.clone()));
    assert_eq!(store.get(&one.id).unwrap(), b"one");
    store.check().unwrap();
    let unknown = BlobId::of(b"three");
    assert!(matches!(store.get(&unknown), Err(StoreError::NotFound { id }) if id == unknown));
}

#[test]
fn damage_is_detected_and_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let id = store
        .put(b"readings", "pi", &summary(1), None)
        .unwrap()
        .0
        .id;

    damage(&store, &id);
    let error = store.get(&id).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(
        error.to_string().contains("damaged") && error.to_string().contains(&id.to_string()),
        "{error}"
    );
    assert_eq!(
        store.put(b"readings", "pi", &summary(1), None).unwrap().1,
        Stored::AlreadyStored
    );
    assert_eq!(store.get(&id).unwrap(), b"readings");

    // The segment is gone.
    let (segment, _) = store.place(&id).unwrap().unwrap();
    std::fs::remove_file(segment).unwrap();
    assert!(matches!(store.get(&id), Err(StoreError::Missing { .. })));
    drop(store);
    let store = Store::open(directory.path()).unwrap();
    assert!(matches!(store.get(&id), Err(StoreError::Missing { .. })));
    store.put(b"readings", "pi", &summary(1), None).unwrap();
    assert_eq!(store.get(&id).unwrap(), b"readings");
}

#[test]
fn a_store_has_one_user_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    assert!(matches!(
        Store::open(directory.path()),
        Err(StoreError::InUse { .. })
    ));
    drop(store);
    Store::open(directory.path()).unwrap();
}

#[test]
fn a_newer_layout_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    drop(Store::open(directory.path()).unwrap());
    let index = rusqlite::Connection::open(directory.path().join("index.sqlite")).unwrap();
    index.pragma_update(None, "user_version", 4).unwrap();
    drop(index);
    assert!(matches!(
        Store::open(directory.path()),
        Err(StoreError::NewerLayout { found: 4, .. })
    ));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_look() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("made/by/the/store");
    let store = Store::open(&directory).unwrap();
    store.put(b"readings", "pi", &summary(1), None).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&directory.join("segments/00000001.seg")), 0o600);
    for folder in ["segments", "pads"] {
        assert_eq!(mode(&directory.join(folder)), 0o700);
    }
    for name in file_names(&directory) {
        if !["segments", "pads"].contains(&name.as_str()) {
            assert_eq!(mode(&directory.join(&name)), 0o600, "{name}");
        }
    }
}

#[test]
fn ids_are_64_hexadecimal_digits() {
    let id = BlobId::of(b"readings");
    assert_eq!(id.to_string().parse(), Ok(id));
    for text in ["", "latest", "../../../etc/passwd", &id.to_string()[1..]] {
        assert!(text.parse::<BlobId>().is_err(), "{text}");
    }
}

/// Many at once share commits; each is there once, whoever else sent the same.
#[test]
fn uploads_that_come_together_are_each_stored_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let new = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (store, new) = (&store, &new);
            scope.spawn(move || {
                for i in 0..20 {
                    // Half of the contents are everybody's.
                    let content = match i % 2 {
                        0 => format!("shared {i}"),
                        _ => format!("of {thread}: {i}"),
                    };
                    let name = format!("board-{thread}");
                    let (stored, how) = store
                        .put(content.as_bytes(), &name, &summary(2), None)
                        .unwrap();
                    assert_eq!(stored.id, BlobId::of(content.as_bytes()));
                    assert_eq!(store.get(&stored.id).unwrap(), content.as_bytes());
                    if how == Stored::New {
                        new.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let expected = 10 + 16 * 10;
    assert_eq!(new.into_inner(), expected);
    assert_eq!(store.all().unwrap().len(), expected);
    let counted: u64 = store.uploaders().iter().map(|u| u.uploads).sum();
    assert_eq!(counted, expected as u64);
    let counted = store.uploaders();
    drop(store);
    // The counts while the store runs are those that it reads at the next start.
    assert_eq!(Store::open(directory.path()).unwrap().uploaders(), counted);
}
