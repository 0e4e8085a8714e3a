//! Retention: removal by age and by bytes, in order, through crashes, and with frames whose pads stay used.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tfhe_sbc_service::server::{Limits, ServeError};
use tfhe_sbc_service::store::{Expired, Removed, Retention, Store};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::moments::{Moment, Span};

use crate::common::{
    Site, TestServer, compact, eventually, file_names, lose_index, metric, segment_bytes, summary,
};

const DAY: Duration = Duration::from_secs(86_400);

/// A summary of rows up to this number of days ago, or of labels that are no times.
fn aged(days: Option<i64>) -> UploadSummary {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let ago = |days: i64| {
        let ms = i64::try_from(now.as_millis()).unwrap() - days * 86_400_000;
        Moment::from_unix_ms(ms)
    };
    UploadSummary {
        span: days.map(|days| Span {
            first: ago(days + 5),
            last: ago(days),
        }),
        ..summary(4)
    }
}

/// Stores 1000 bytes that begin with a name.
fn put(store: &Store, name: &str, days: Option<i64>) -> BlobId {
    let mut bytes = format!("{name} ").into_bytes();
    bytes.resize(1000, 0);
    let (stored, _) = store.put(&bytes, "hill", &aged(days), None).unwrap();
    stored.id
}

/// The names of what a store has, in the order in which it came.
fn names(store: &Store) -> Vec<String> {
    let name = |id: &BlobId| {
        let text = String::from_utf8(store.get(id).unwrap()).unwrap();
        text.split_once(' ').unwrap().0.to_owned()
    };
    let all = store.all().unwrap();
    all.iter().rev().map(|entry| name(&entry.id)).collect()
}

fn after(age: Duration) -> Retention {
    Retention {
        age: Some(age),
        bytes: None,
    }
}

fn within(bytes: u64) -> Retention {
    Retention {
        age: None,
        bytes: Some(bytes),
    }
}

fn removed(uploads: u64) -> Removed {
    Removed {
        uploads,
        bytes: 1000 * uploads,
    }
}

#[test]
fn uploads_go_at_the_age_of_their_newest_row() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let now = SystemTime::now();
    for (name, days) in [
        ("week", Some(7)),
        ("today", Some(0)),
        ("year", Some(365)),
        // Its first row is older than 90 days, and its last one is not.
        ("quarter", Some(88)),
        ("future", Some(-1000)),
        ("counted", None),
    ] {
        put(&store, name, days);
    }
    let nothing = store.expire(&Retention::default(), now + 10_000 * DAY);
    assert_eq!(nothing.unwrap(), Expired::default());
    let by_age = store.expire(&after(90 * DAY), now).unwrap();
    let one = Expired {
        by_age: removed(1),
        ..Expired::default()
    };
    assert_eq!(by_age, one);
    assert_eq!(
        names(&store),
        ["week", "today", "quarter", "future", "counted"]
    );
    assert_eq!(
        store.expire(&after(90 * DAY), now).unwrap().by_age,
        removed(0)
    );
    store.expire(&after(90 * DAY), now + 3 * DAY).unwrap();
    assert_eq!(names(&store), ["week", "today", "future", "counted"]);
    // Rows from the future and labels that are no times age from the moment of storing.
    store.expire(&after(90 * DAY), now + 89 * DAY).unwrap();
    assert_eq!(names(&store), ["today", "future", "counted"]);
    let rest = store.expire(&after(90 * DAY), now + 91 * DAY).unwrap();
    assert_eq!((rest.by_age, rest.more), (removed(3), false));
    assert!(store.all().unwrap().is_empty() && store.uploaders().is_empty());
    compact(&store);
    assert_eq!(file_names(&directory.path().join("segments")).len(), 1);
    assert!(segment_bytes(directory.path()) < 1000);
}

#[test]
fn the_oldest_go_until_the_rest_is_within_the_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let now = SystemTime::now();
    for (name, days) in [
        ("new", Some(0)),
        ("old", Some(9)),
        ("counted", None),
        ("oldest", Some(10)),
        ("middle", Some(5)),
    ] {
        put(&store, name, days);
    }
    assert_eq!(store.bytes(), 5000);
    let enough = store.expire(&within(5000), now).unwrap();
    assert_eq!(enough, Expired::default());
    let by_bytes = store.expire(&within(4999), now).unwrap();
    assert_eq!(by_bytes.by_bytes, removed(1));
    assert_eq!(names(&store), ["new", "old", "counted", "middle"]);
    // What goes by its age counts first.
    let both = Retention {
        age: Some(8 * DAY),
        bytes: Some(2500),
    };
    let both = store.expire(&both, now).unwrap();
    assert_eq!((both.by_age, both.by_bytes), (removed(1), removed(1)));
    assert_eq!(names(&store), ["new", "counted"]);
    assert_eq!(store.bytes(), 2000);
    drop(store);
    // The next start counts the same.
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(store.bytes(), 2000);
    store.expire(&within(0), now).unwrap();
    assert_eq!(names(&store), Vec::<String>::new());
}

/// A slice is bounded, and slices go on until nothing is left to remove.
#[test]
fn many_uploads_go_in_slices() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    for number in 0..150 {
        put(&store, &number.to_string(), Some(1000 - number));
    }
    let retention = within(2000);
    let slices: Vec<_> = std::iter::from_fn(|| {
        let slice = store.expire(&retention, SystemTime::now()).unwrap();
        (slice.by_bytes.uploads > 0).then_some((slice.by_bytes.uploads, slice.more))
    })
    .collect();
    assert_eq!(slices, [(64, true), (64, true), (20, false)]);
    assert_eq!(names(&store), ["148", "149"]);
}

const CRASHING: &str = "TFHE_SBC_TEST_STORE_TO_EXPIRE_IN";

/// Runs itself in a child that stores and removes as fast as it can, and is killed in the middle of it.
#[test]
fn a_killed_retention_leaves_the_store_whole() {
    if let Ok(directory) = std::env::var(CRASHING) {
        expire_forever(Path::new(&directory));
    }
    let directory = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "retention::a_killed_retention_leaves_the_store_whole",
                "--nocapture",
            ])
            .env(CRASHING, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let slices = lines.map_while(Result::ok);
        let seen = slices
            .filter(|line| line.contains("removed a slice"))
            .take(3 + 2 * round);
        assert!(seen.count() >= 3, "the child removed too little");
        child.kill().unwrap(); // SIGKILL
        let _ = child.wait();

        let store = Store::open(directory.path()).unwrap();
        let listed: HashSet<String> = store
            .all()
            .unwrap()
            .iter()
            .map(|entry| {
                store.get(&entry.id).unwrap();
                entry.id.to_string()
            })
            .collect();
        assert!(listed.len() <= 15, "{}", listed.len());
        drop(store);
        // What was removed is not there again without the index.
        lose_index(directory.path());
        let store = Store::open(directory.path()).unwrap();
        let again = store.all().unwrap();
        let again: HashSet<String> = again.iter().map(|entry| entry.id.to_string()).collect();
        assert_eq!(again, listed);
        // Removals are of 1000 bytes each, and compaction keeps up with them.
        assert!(segment_bytes(directory.path()) < 60_000);
    }
}

fn expire_forever(directory: &Path) -> ! {
    let store = Store::open(directory).unwrap();
    let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    for count in 0_u64.. {
        put(&store, &format!("{} {count}", start.as_nanos()), Some(3));
        if count % 10 == 9 {
            store.expire(&within(4000), SystemTime::now()).unwrap();
            compact(&store);
            println!("removed a slice");
        }
    }
    std::process::exit(1)
}

#[test]
fn a_server_removes_what_is_beyond_its_bounds_and_counts_it() {
    let site = Site::new();
    let store = Store::open(&site.store_directory()).unwrap();
    for number in 0..100 {
        put(&store, &format!("old-{number}"), Some(100));
        put(&store, &format!("new-{number}"), Some(0));
    }
    drop(store);
    let limits = Limits {
        upload_bytes: 10_000,
        ..Limits::default()
    };
    let retention = Retention {
        age: Some(90 * DAY),
        bytes: Some(60_000),
    };
    let server = TestServer::with_retention(site, limits, retention);
    let owner = server.owner();
    eventually("only the newest are left", || {
        server.store.bytes() == 60_000
    });
    eventually("they are counted", || {
        metric(&owner, "tfhe_sbc_retention_removed_bytes_total") == 140_000
    });
    let by = |reason| {
        let line = format!("tfhe_sbc_retention_removed_total{{reason=\"{reason}\"}}");
        metric(&owner, &line)
    };
    assert_eq!((by("age"), by("bytes")), (100, 40));
    assert_eq!(metric(&owner, "tfhe_sbc_retention_errors_total"), 0);
    let names = names(&server.store);
    assert_eq!(names.first().map(String::as_str), Some("new-40"));
}

#[test]
fn a_server_refuses_bounds_below_an_upload() {
    let site = Site::new();
    let error = TestServer::try_start_to_retain(&site, 1 << 20).unwrap_err();
    assert!(
        matches!(error, ServeError::NoRoomToRetain { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("--retain-bytes"), "{error}");
}
