//! The catalogue: lists by device and time, removal, and what a lost or an old index gets back.

use std::path::Path;

use tfhe_sbc_service::server::complete_catalogue;
use tfhe_sbc_service::store::{
    Completed, Description, Store, StoreError, Stored, UNKNOWN_UPLOADER,
};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::Filter;
use tfhe_sbc_transport::client::ClientError;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::moments::{Moment, Span};

use crate::common::former::FormerStore;
use crate::common::{ALL, FakeBackend, TestServer, file_names, lose_index, refused, summary};

fn moment(text: &str) -> Moment {
    text.parse().unwrap()
}

fn spanning(first: &str, last: &str) -> UploadSummary {
    let (first, last) = (moment(first), moment(last));
    UploadSummary {
        span: Some(Span { first, last }),
        ..summary(4)
    }
}

/// A store with two boards' hours of a day, and an upload whose labels are no times.
fn hours(directory: &Path) -> Store {
    let store = Store::open(directory).unwrap();
    for hour in 0..24 {
        for board in ["hill", "lake-1"] {
            let content = format!("{board} {hour}");
            let first = format!("2026-11-23T{hour:02}:00:00Z");
            let last = format!("2026-11-23T{hour:02}:59:00Z");
            let summary = spanning(&first, &last);
            store
                .put(content.as_bytes(), board, &summary, None)
                .unwrap();
        }
    }
    store.put(b"counted", "fen", &summary(4), None).unwrap();
    store
}

fn selected(store: &Store, filter: &str) -> Vec<String> {
    let filter = Filter::from_query(filter).unwrap();
    let listed = store.list(&filter).unwrap().readings.into_iter();
    let content = |id: &BlobId| String::from_utf8(store.get(id).unwrap()).unwrap();
    listed.map(|entry| content(&entry.id)).collect()
}

#[test]
fn uploads_are_listed_by_device_and_time() {
    let directory = tempfile::tempdir().unwrap();
    let store = hours(directory.path());
    assert_eq!(selected(&store, "").len(), 49);
    assert_eq!(selected(&store, "device=hill").len(), 24);
    assert_eq!(selected(&store, "device=lake-*,fen").len(), 25);
    assert_eq!(selected(&store, "device=lake-?").len(), 24);
    assert_eq!(selected(&store, "device=lake").len(), 0);
    // An upload is listed if one of its rows is in the span: the last row of 09 is at 09:59.
    let few = "device=hill&since=2026-11-23T09:59:00Z&until=2026-11-23T12:00:00Z";
    assert_eq!(selected(&store, few), ["hill 11", "hill 10", "hill 9"]);
    let fewer = "device=hill&since=2026-11-23T09:59:01Z&until=2026-11-23T11:00:00.001Z";
    assert_eq!(selected(&store, fewer), ["hill 11", "hill 10"]);
    assert_eq!(
        selected(&store, "since=2026-11-23T23:00&until=2027-01-01").len(),
        2
    );
    assert_eq!(selected(&store, "since=2027-01-01").len(), 0);
    // Uploads without times are in no span.
    assert_eq!(selected(&store, "device=fen&until=2027-01-01").len(), 0);
}

#[test]
fn pages_are_whole_and_have_every_upload_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = hours(directory.path());
    let mut filter = Filter::from_query("device=hill,lake-1&limit=10").unwrap();
    let (mut seen, mut pages) = (Vec::new(), 0);
    loop {
        let page = store.list(&filter).unwrap();
        seen.extend(page.readings.into_iter().map(|entry| entry.id));
        pages += 1;
        // Uploads that come meanwhile do not shift the pages.
        let new = format!("later {pages}");
        store
            .put(new.as_bytes(), "hill", &summary(4), None)
            .unwrap();
        match page.next {
            Some(next) => filter.before = Some(next),
            None => break,
        }
    }
    assert_eq!(pages, 5);
    let mut once = seen.clone();
    once.sort_by_key(BlobId::to_string);
    once.dedup();
    assert_eq!((seen.len(), once.len()), (48, 48));
    assert_eq!(store.all().unwrap().len(), 49 + 5);
}

#[test]
fn what_is_removed_is_gone_and_may_come_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let (one, _) = store.put(b"one", "hill", &summary(4), None).unwrap();
    store.put(b"two", "hill", &summary(4), None).unwrap();
    assert_eq!(store.remove(&one.id).unwrap(), one);
    assert!(matches!(
        store.get(&one.id),
        Err(StoreError::NotFound { .. })
    ));
    assert!(matches!(
        store.remove(&one.id),
        Err(StoreError::NotFound { .. })
    ));
    assert_eq!(
        (store.uploaders()[0].uploads, store.uploaders()[0].bytes),
        (1, 3)
    );
    let (_, stored) = store.put(b"one", "lake", &summary(4), None).unwrap();
    assert_eq!(stored, Stored::New);
    assert_eq!(store.get(&one.id).unwrap(), b"one");
}

/// The index as it was before a removal: the removal is in the segment.
#[test]
fn what_was_removed_stays_so_under_an_older_index() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let (one, _) = store.put(b"one", "hill", &summary(4), None).unwrap();
    let (two, _) = store.put(b"two", "hill", &summary(4), None).unwrap();
    drop(store);
    let index = directory.path().join("index.sqlite");
    let older = std::fs::read(&index).unwrap();
    let store = Store::open(directory.path()).unwrap();
    store.remove(&one.id).unwrap();
    store.remove(&two.id).unwrap();
    store.put(b"two", "lake", &summary(4), None).unwrap();
    let expected = store.all().unwrap();
    drop(store);
    lose_index(directory.path());
    std::fs::write(&index, older).unwrap();
    assert_eq!(
        Store::open(directory.path()).unwrap().all().unwrap(),
        expected
    );
    lose_index(directory.path());
    assert_eq!(
        Store::open(directory.path()).unwrap().all().unwrap(),
        expected
    );
}

fn describe(bytes: &[u8]) -> Option<Description> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (device, _) = text.split_once(' ')?;
    Some(Description {
        summary: spanning("2026-11-23T01:00Z", "2026-11-23T02:00Z"),
        device: (device != "shared").then(|| device.to_owned()),
    })
}

/// Everything is in the segments: entries, their order, times and uploaders.
#[test]
fn a_lost_index_is_made_again_from_the_segments() {
    let directory = tempfile::tempdir().unwrap();
    let store = hours(directory.path());
    store.put(b"shared 1", "lake-1", &summary(4), None).unwrap();
    store.remove(&BlobId::of(b"hill 3")).unwrap();
    let (expected, uploaders) = (store.all().unwrap(), store.uploaders());
    drop(store);
    lose_index(directory.path());
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(store.all().unwrap(), expected);
    assert_eq!(store.uploaders(), uploaders);
    assert_eq!(
        store.complete(describe, |_| ()).unwrap(),
        Completed::default()
    );
    assert_eq!(selected(&store, "device=hill").len(), 23);
    let page = Filter::from_query("limit=7").unwrap();
    assert!(store.list(&page).unwrap().next.is_some());
}

/// A store of a former layout whose index is lost: its files are all that is left.
#[test]
fn files_of_a_former_layout_are_adopted() {
    let directory = tempfile::tempdir().unwrap();
    let former = FormerStore::create(directory.path()).unwrap();
    for content in ["hill 1", "hill 2", "shared 1", "nothing"] {
        former
            .put(content.as_bytes(), "lake", &summary(4), 7)
            .unwrap();
    }
    drop(former);
    lose_index(directory.path());
    let store = Store::open(directory.path()).unwrap();
    assert!(store.all().unwrap().is_empty());
    let completed = store.complete(describe, |_| ()).unwrap();
    // One file is no upload that can be described, and stays.
    let expected = Completed {
        described: 0,
        adopted: 3,
        left: 1,
    };
    assert_eq!(completed, expected);
    assert_eq!(file_names(&directory.path().join("blobs")).len(), 1);
    assert_eq!(selected(&store, "device=hill").len(), 2);
    let unknown = selected(&store, &format!("device={UNKNOWN_UPLOADER}"));
    assert_eq!(unknown, ["shared 1"]);
    assert_eq!(selected(&store, "since=2026-11-23T01:30Z").len(), 3);
    let counted: u64 = store.uploaders().iter().map(|it| it.uploads).sum();
    assert_eq!(counted, 3);
}

#[test]
fn an_index_of_the_first_layout_gets_times_and_keys() {
    let directory = tempfile::tempdir().unwrap();
    let former = FormerStore::create(directory.path()).unwrap();
    for hour in 0..24 {
        for board in ["hill", "lake-1"] {
            let content = format!("{board} {hour}");
            former
                .put(content.as_bytes(), board, &summary(4), 7)
                .unwrap();
        }
    }
    former.put(b"counted", "fen", &summary(4), 7).unwrap();
    drop(former);
    let index = rusqlite::Connection::open(directory.path().join("index.sqlite")).unwrap();
    index
        .execute_batch(
            "DROP INDEX readings_of; DROP INDEX readings_until; DROP INDEX readings_undescribed; DROP INDEX readings_by_age; DROP TABLE removed;
             DROP TABLE pads; DROP TABLE frames; DROP TABLE definitions;
             ALTER TABLE readings DROP COLUMN first_ms; ALTER TABLE readings DROP COLUMN last_ms;
             ALTER TABLE readings DROP COLUMN described; PRAGMA user_version = 1;",
        )
        .unwrap();
    drop(index);
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(store.all().unwrap().len(), 49);
    assert_eq!(selected(&store, "since=2026-11-23").len(), 0);
    let completed = store.complete(describe, |_| ()).unwrap();
    assert_eq!((completed.described, completed.left), (48, 1));
    assert_eq!(selected(&store, "device=hill&since=2026-11-23").len(), 24);
    // The names that the index knew stay.
    assert_eq!(selected(&store, "device=lake-1").len(), 24);
    drop(store);
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(store.complete(describe, |_| ()).unwrap().described, 0);
    complete_catalogue(&store, &FakeBackend::default()).unwrap();
}

#[test]
fn owners_list_fetch_and_remove_over_https() {
    let server = TestServer::start();
    let (owner, device) = (server.owner(), server.device());
    let ids: Vec<BlobId> = (0..5)
        .map(|number| {
            let upload = format!("readings {number}");
            device.upload(upload.as_bytes()).unwrap().id
        })
        .collect();
    let filter = Filter::from_query("device=pi-*&limit=2").unwrap();
    let page = owner.list(&filter).unwrap();
    let found: Vec<BlobId> = page.readings.iter().map(|entry| entry.id).collect();
    assert_eq!(found, [ids[4], ids[3]]);
    let next = Filter {
        before: page.next,
        limit: None,
        ..filter
    };
    let rest = owner.list(&next).unwrap();
    assert_eq!((rest.readings.len(), rest.next), (3, None));
    let nobody = Filter::from_query("device=nobody").unwrap();
    assert!(owner.list(&nobody).unwrap().readings.is_empty());

    assert_eq!(owner.upload_of(&ids[1], 1 << 20).unwrap(), b"readings 1");
    assert!(matches!(
        owner.upload_of(&ids[1], 3),
        Err(ClientError::TooLong { .. })
    ));
    refused(device.upload_of(&ids[1], 1 << 20), 403);
    refused(device.remove(&ids[1]), 403);
    assert_eq!(owner.remove(&ids[1]).unwrap().uploader, "pi-1");
    refused(owner.remove(&ids[1]), 404);
    refused(owner.upload_of(&ids[1], 1 << 20), 404);
    assert_eq!(owner.list(&ALL).unwrap().readings.len(), 4);
}
