//! The store on segments: crashes at every byte, indices that are lost or older, stores of former layouts, compaction.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_device::ExpanderKind;
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_service::store::{Retention, Store, StoreError, Stored, StoredReadings};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::protocol::UploadSummary;
use tfhe_sbc_upload::moments::Span;
use tfhe_sbc_upload::readings::Column;
use tfhe_sbc_upload::{DeviceSession, fresh_seeds};

use crate::common::former::FormerStore;
use crate::common::{ALL, compact, damage, file_names, lose_index, segment_bytes, summary};
use crate::frames::{BOARD, arrive, pads, put as put_pads};

/// Real uploads of boards, an hour each: the bytes, and what the server knows of them.
fn uploads(boards: &[&str], hours: usize) -> Vec<(String, Vec<u8>, UploadSummary)> {
    let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
    let secret = SecretKey::generate(parameters, &mut fresh_seeds().unwrap()).unwrap();
    let key = secret.device_key().to_bytes().unwrap();
    let mut session = DeviceSession::new(key, MemoryPlan::Fast).unwrap();
    let column = |name: &str| Column {
        name: name.to_owned(),
        unit: String::new(),
        offset: 0.0,
        scale: 1.0,
        bits: 4,
        compact: None,
        derived: Default::default(),
    };
    let columns = ["level", "flow"].map(column);
    let mut all = Vec::new();
    for hour in 0..hours {
        for board in boards {
            let label = |minute| format!("2026-11-23T{hour:02}:{:02}", 10 * minute);
            let labels: Vec<String> = (0..6).map(label).collect();
            let readings = [vec![3.0; 6], vec![hour as f64 % 16.0; 6]];
            let aes = ExpanderKind::Aes128Ctr;
            let upload = session.encrypt_table(aes, &columns, &labels, &readings);
            let summary = UploadSummary {
                elements: 24,
                rows: 6,
                columns: vec!["level".to_owned(), "flow".to_owned()],
                span: Span::of(&labels),
                key: Some(session.fingerprint().to_string()),
                epoch: Some(3),
            };
            all.push(((*board).to_owned(), upload.unwrap(), summary));
        }
    }
    all
}

fn everything(store: &Store) -> Vec<(StoredReadings, Vec<u8>)> {
    let all = store.all().unwrap().into_iter();
    all.map(|entry| {
        let bytes = store.get(&entry.id).unwrap();
        (entry, bytes)
    })
    .collect()
}

#[test]
fn uploads_take_little_more_than_what_is_random_and_come_back_exactly() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let uploads = uploads(&["hill", "lake"], 12);
    let whole: usize = uploads.iter().map(|(_, upload, _)| upload.len()).sum();
    for (board, upload, summary) in &uploads {
        let (readings, stored) = store.put(upload, board, summary, None).unwrap();
        assert_eq!(stored, Stored::New);
        assert_eq!((&readings.summary, &readings.uploader), (summary, board));
        assert_eq!(readings.bytes, upload.len() as u64);
    }
    let expected = everything(&store);
    let bytes: Vec<&Vec<u8>> = expected.iter().rev().map(|(_, bytes)| bytes).collect();
    let sent: Vec<&Vec<u8>> = uploads.iter().map(|(_, upload, _)| upload).collect();
    assert_eq!(bytes, sent);
    let stored = segment_bytes(directory.path());
    assert!(stored < whole as u64 / 2, "{stored} of {whole} bytes");
    drop(store);
    lose_index(directory.path());
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(everything(&store), expected);
}

/// The segment as a power cut leaves it, with the index of that moment and without any.
#[test]
fn a_segment_cut_at_any_byte_keeps_all_uploads_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = Store::open(&path).unwrap();
    let uploads = uploads(&["hill"], 3);
    let mut ends = Vec::new();
    for (board, upload, summary) in &uploads {
        let (readings, _) = store.put(upload, board, summary, None).unwrap();
        ends.push(store.place(&readings.id).unwrap().unwrap().1.end as usize);
    }
    store
        .put(b"not in the short form", "lake", &summary(4), None)
        .unwrap();
    let last = BlobId::of(b"not in the short form");
    ends.push(store.place(&last).unwrap().unwrap().1.end as usize);
    let expected = everything(&store);
    drop(store);
    let name = "segments/00000001.seg";
    let segment = std::fs::read(path.join(name)).unwrap();
    assert_eq!(segment.len(), *ends.last().unwrap());
    // Every byte of the last two records, and some of the others.
    let cuts = (0..segment.len()).filter(|cut| *cut >= ends[2] - 40 || cut % 37 == 0);
    for cut in cuts {
        let place = directory.path().join("cut");
        std::fs::create_dir_all(place.join("segments")).unwrap();
        std::fs::write(place.join(name), &segment[..cut]).unwrap();
        let store = Store::open(&place).unwrap();
        let kept = ends.iter().filter(|&&end| end <= cut).count();
        assert_eq!(
            everything(&store),
            expected[expected.len() - kept..],
            "cut at {cut}"
        );
        // It goes on behind what is whole.
        store.put(b"later", "lake", &summary(4), None).unwrap();
        drop(store);
        lose_index(&place);
        let store = Store::open(&place).unwrap();
        assert_eq!(store.all().unwrap().len(), kept + 1, "cut at {cut}");
        drop(store);
        std::fs::remove_dir_all(&place).unwrap();
    }
}

/// An index that lost its last commits in a power cut, or all of a day: the segments have what it lacks.
#[test]
fn an_older_index_learns_what_came_since() {
    let directory = tempfile::tempdir().unwrap();
    let index = directory.path().join("index.sqlite");
    let mut older = Vec::new();
    let uploads = uploads(&["hill", "lake"], 4);
    for (number, (board, upload, summary)) in uploads.iter().enumerate() {
        // Each start reads the index that the last one left.
        let store = Store::open(directory.path()).unwrap();
        let (readings, _) = store.put(upload, board, summary, None).unwrap();
        if number % 3 == 2 {
            store.remove(&readings.id).unwrap();
        }
        drop(store);
        older.push(std::fs::read(&index).unwrap());
    }
    let store = Store::open(directory.path()).unwrap();
    let expected = everything(&store);
    assert_eq!(expected.len(), 6);
    drop(store);
    for older in older {
        lose_index(directory.path());
        std::fs::write(&index, older).unwrap();
        let store = Store::open(directory.path()).unwrap();
        assert_eq!(everything(&store), expected);
        assert_eq!(store.uploaders().len(), 2);
    }
}

/// A damaged upload is replaced by a fresh one, in the name and at the place of the first, also without the index.
#[test]
fn a_repaired_upload_stays_what_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let uploads = uploads(&["hill", "lake"], 2);
    for (board, upload, summary) in &uploads {
        store.put(upload, board, summary, None).unwrap();
    }
    let expected = everything(&store);
    for (_, upload, summary) in &uploads[..2] {
        let id = BlobId::of(upload);
        damage(&store, &id);
        assert!(matches!(store.get(&id), Err(StoreError::Corrupt { .. })));
        let (_, stored) = store.put(upload, "another", summary, None).unwrap();
        assert_eq!(stored, Stored::AlreadyStored);
    }
    assert_eq!(everything(&store), expected);
    drop(store);
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(everything(&store), expected);
    drop(store);
    lose_index(directory.path());
    let store = Store::open(directory.path()).unwrap();
    // The order, times and names are those of the first.
    assert_eq!(everything(&store), expected);
}

/// Damage in the middle of a segment, of which the index is lost too, costs what is damaged and nothing else.
#[test]
fn damage_and_a_lost_index_cost_one_upload() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let uploads = uploads(&["hill"], 5);
    for (board, upload, summary) in &uploads {
        store.put(upload, board, summary, None).unwrap();
    }
    let mut expected = everything(&store);
    let id = BlobId::of(&uploads[2].1);
    damage(&store, &id);
    drop(store);
    lose_index(directory.path());
    let store = Store::open(directory.path()).unwrap();
    expected.retain(|(entry, _)| entry.id != id);
    assert_eq!(everything(&store), expected);
    // It may come again.
    let (board, upload, summary) = &uploads[2];
    assert_eq!(
        store.put(upload, board, summary, None).unwrap().1,
        Stored::New
    );
    assert_eq!(store.all().unwrap().len(), 5);
}

#[test]
fn an_upload_that_is_large_is_stored_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    // More than a segment has, so that the next upload begins another.
    let large = vec![7; 65 << 20];
    let (stored, _) = store.put(&large, "hill", &summary(4), None).unwrap();
    store.put(b"small", "hill", &summary(4), None).unwrap();
    assert_eq!(file_names(&directory.path().join("segments")).len(), 2);
    assert_eq!(store.get(&stored.id).unwrap(), large);
    drop(store);
    lose_index(directory.path());
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(store.get(&stored.id).unwrap(), large);
    store.remove(&stored.id).unwrap();
    compact(&store);
    assert!(segment_bytes(directory.path()) < 10_000);
    assert_eq!(store.all().unwrap().len(), 1);
}

/// Room is given back, and what is left is what it was, with and without the index, also where compaction was interrupted.
#[test]
fn compaction_gives_room_back_and_keeps_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let uploads = uploads(&["hill", "lake"], 20);
    for (board, upload, summary) in &uploads {
        store.put(upload, board, summary, None).unwrap();
    }
    let before = segment_bytes(directory.path());
    for (number, (_, upload, _)) in uploads.iter().enumerate() {
        if number % 4 != 0 {
            store.remove(&BlobId::of(upload)).unwrap();
        }
    }
    let expected = everything(&store);
    assert_eq!(expected.len(), 10);
    // As a crash leaves it that comes when the copies are made and nothing is removed.
    let crashed = directory.path().join("crashed");
    std::fs::create_dir_all(crashed.join("segments")).unwrap();
    let copy = |name: &str| {
        let from = directory.path().join("segments").join(name);
        std::fs::copy(from, crashed.join("segments").join(name)).unwrap();
    };
    copy("00000001.seg");
    compact(&store);
    let names = file_names(&directory.path().join("segments"));
    assert_eq!(names, ["00000002.seg"]);
    copy("00000002.seg");
    assert!(segment_bytes(directory.path()) < before / 2);
    assert_eq!(everything(&store), expected);
    drop(store);
    for place in [directory.path(), &crashed] {
        lose_index(place);
        let store = Store::open(place).unwrap();
        assert_eq!(everything(&store), expected, "{}", place.display());
        compact(&store);
        assert_eq!(everything(&store), expected, "{}", place.display());
        assert_eq!(file_names(&place.join("segments")).len(), 1);
    }
    // What was removed may come again.
    let store = Store::open(directory.path()).unwrap();
    let (board, upload, summary) = &uploads[1];
    assert_eq!(
        store.put(upload, board, summary, None).unwrap().1,
        Stored::New
    );
    assert!(store.get(&BlobId::of(upload)).is_ok());
}

/// A removal outlives its segment as long as an older one may have what it removed.
#[test]
fn a_removal_is_kept_for_older_segments() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let uploads = uploads(&["hill"], 12);
    let put = |range: std::ops::Range<usize>| {
        for (board, upload, summary) in &uploads[range] {
            store.put(upload, board, summary, None).unwrap();
        }
    };
    // A large upload fills the first segment.
    let large = vec![1; 65 << 20];
    put(0..4);
    store.put(&large, "lake", &summary(4), None).unwrap();
    put(4..8);
    // Of the first segment one small upload is removed, of the second all.
    for (_, upload, _) in [&uploads[..1], &uploads[4..8]].concat() {
        store.remove(&BlobId::of(&upload)).unwrap();
    }
    compact(&store);
    let expected = everything(&store);
    assert_eq!(expected.len(), 4);
    let names = file_names(&directory.path().join("segments"));
    assert_eq!(names, ["00000001.seg", "00000003.seg"]);
    drop(store);
    lose_index(directory.path());
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(everything(&store), expected);
}

/// What a program with files for uploads has stored is all there, in the same order, with the same times and names.
#[test]
fn a_store_of_the_former_layout_is_packed_into_segments() {
    let directory = tempfile::tempdir().unwrap();
    let former = FormerStore::create(directory.path()).unwrap();
    let uploads = uploads(&["hill", "lake"], 6);
    for (number, (board, upload, summary)) in (0..).zip(&uploads) {
        former
            .put(upload, board, summary, 1_700_000_000 + number)
            .unwrap();
    }
    former
        .put(b"gone", "fen", &summary(4), 1_700_000_100)
        .unwrap();
    former
        .put(b"damaged", "fen", &summary(4), 1_700_000_101)
        .unwrap();
    drop(former);
    let blobs = directory.path().join("blobs");
    std::fs::remove_file(blobs.join(BlobId::of(b"gone").to_string())).unwrap();
    std::fs::write(blobs.join(BlobId::of(b"damaged").to_string()), b"damagEd").unwrap();
    std::fs::write(blobs.join(BlobId::of(b"nobody's").to_string()), b"nobody's").unwrap();
    // What each moment of the migration leaves: whatever was done, the next start goes on.
    let store = Store::open(directory.path()).unwrap();
    let listed = store.all().unwrap();
    assert_eq!(listed.len(), 14);
    for ((board, upload, summary), entry) in uploads.iter().zip(listed.iter().rev()) {
        assert_eq!((&entry.uploader, &entry.summary), (board, summary));
        assert_eq!(&store.get(&entry.id).unwrap(), upload);
    }
    let since = listed.last().unwrap().created_at;
    assert_eq!(
        since,
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
    );
    for content in [&b"gone"[..], b"damaged"] {
        let id = BlobId::of(content);
        assert!(matches!(store.get(&id), Err(StoreError::Missing { .. })));
        // It is repaired as before.
        let (entry, stored) = store.put(content, "other", &summary(4), None).unwrap();
        assert_eq!(
            (&entry.uploader[..], stored),
            ("fen", Stored::AlreadyStored)
        );
        assert_eq!(store.get(&id).unwrap(), content);
    }
    assert_eq!(store.all().unwrap(), listed);
    assert_eq!(file_names(&blobs), [BlobId::of(b"damaged").to_string()]);
    // Numbers go on behind those of before.
    store.put(b"new", "hill", &summary(4), None).unwrap();
    assert_eq!(store.latest().unwrap().unwrap().id, BlobId::of(b"new"));
}

/// Interrupted after each transaction: the index and the segments of that moment, and the files that are left.
#[test]
fn an_interrupted_migration_goes_on() {
    let uploads = uploads(&["hill"], 6);
    let former = |directory: &Path| {
        let former = FormerStore::create(directory).unwrap();
        for (board, upload, summary) in &uploads {
            former.put(upload, board, summary, 1_700_000_000).unwrap();
        }
    };
    let whole = tempfile::tempdir().unwrap();
    former(whole.path());
    let store = Store::open(whole.path()).unwrap();
    let expected = everything(&store);
    drop(store);
    // The index rolled back to before, and the segment with all records: a power cut takes what was not flushed.
    let power_cut = tempfile::tempdir().unwrap();
    former(power_cut.path());
    std::fs::create_dir(power_cut.path().join("segments")).unwrap();
    let segment = "segments/00000001.seg";
    std::fs::copy(whole.path().join(segment), power_cut.path().join(segment)).unwrap();
    for (_, upload, _) in &uploads[..3] {
        let blob = format!("blobs/{}", BlobId::of(upload));
        std::fs::remove_file(power_cut.path().join(blob)).unwrap();
    }
    let store = Store::open(power_cut.path()).unwrap();
    assert_eq!(everything(&store), expected);
    assert!(!power_cut.path().join("blobs").exists());
    drop(store);
    // The index is lost half-way: half of the uploads are in the segment, all in files.
    let lost = tempfile::tempdir().unwrap();
    former(lost.path());
    lose_index(lost.path());
    std::fs::create_dir(lost.path().join("segments")).unwrap();
    let half = std::fs::read(whole.path().join(segment)).unwrap();
    std::fs::write(lost.path().join(segment), &half[..half.len() / 2]).unwrap();
    let store = Store::open(lost.path()).unwrap();
    let described: BTreeMap<_, _> = uploads
        .iter()
        .map(|(_, bytes, summary)| (bytes.clone(), summary))
        .collect();
    let describe = |bytes: &[u8]| {
        Some(tfhe_sbc_service::store::Description {
            summary: (*described.get(bytes)?).clone(),
            device: Some("hill".to_owned()),
        })
    };
    let completed = store.complete(describe, |_| ()).unwrap();
    assert!((1..6).contains(&completed.adopted), "{completed:?}");
    let ids = |all: &[(StoredReadings, Vec<u8>)]| {
        let mut ids: Vec<_> = all.iter().map(|(entry, _)| entry.id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&everything(&store)), ids(&expected));
    assert!(!lost.path().join("blobs").exists());
}

/// Frames are in the segments: a lost index does not make a used pad usable again, whether its readings are there or not.
#[test]
fn pads_stay_used_without_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let (kept, _) = put_pads(&store, &pads(BOARD, 1, 1)).unwrap();
    let mut ids = Vec::new();
    for counter in 0..4 {
        ids.push(
            arrive(&store, &kept, counter, 10 + u64::from(counter))
                .unwrap()
                .0,
        );
    }
    store.remove(&ids[1]).unwrap();
    store.remove(&ids[2]).unwrap();
    store.remove(&ids[3]).unwrap();
    compact(&store);
    assert_eq!(
        file_names(&directory.path().join("segments")),
        ["00000002.seg"]
    );
    for _ in 0..2 {
        for counter in 0..4 {
            let (pads, _) = put_pads(&store, &pads(BOARD, 1, 1)).unwrap();
            assert!(matches!(
                arrive(&store, &pads, counter, 99),
                Err(StoreError::PadUsedTwice { .. })
            ));
            let arrived = store.arrival(pads.number, counter).unwrap();
            assert_eq!(
                arrived,
                Some((10 + u64::from(counter), ids[counter as usize]))
            );
        }
    }
    drop(store);
    lose_index(directory.path());
    let store = Store::open(directory.path()).unwrap();
    let (pads, stored) = put_pads(&store, &pads(BOARD, 1, 1)).unwrap();
    assert_eq!(stored, Stored::AlreadyStored);
    for counter in 0..4 {
        let arrived = store.arrival(pads.number, counter).unwrap();
        assert_eq!(
            arrived,
            Some((10 + u64::from(counter), ids[counter as usize]))
        );
        assert!(matches!(
            arrive(&store, &pads, counter, 99),
            Err(StoreError::PadUsedTwice { .. })
        ));
    }
    assert_eq!(store.arrived(pads.number).unwrap().count, 4);
}

/// Old segments go whole as retention goes on, so that the disk has what is kept and little more.
#[test]
fn retention_bounds_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let bounds = Retention {
        bytes: Some(100_000),
        ..Retention::default()
    };
    for number in 0..600_u32 {
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.resize(5000, number as u8);
        store.put(&bytes, "hill", &summary(4), None).unwrap();
        store.expire(&bounds, SystemTime::now()).unwrap();
        compact(&store);
        assert!(segment_bytes(directory.path()) < 250_000);
    }
    assert_eq!(store.list(&ALL).unwrap().readings.len(), 20);
    let index = rusqlite::Connection::open(directory.path().join("index.sqlite")).unwrap();
    let count = "SELECT count(*) FROM removed";
    let removals: i64 = index.query_row(count, [], |row| row.get(0)).unwrap();
    assert!(removals < 50, "{removals} removals are kept");
}
