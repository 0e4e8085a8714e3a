//! Pads and frames in the store: each once, with their uploads, whatever the order.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::MESSAGE_2_CARRY_2;
use tfhe_sbc_core::random::{Seed, SeedSequence};
use tfhe_sbc_frames::{BoardKey, DeviceId};
use tfhe_sbc_service::store::{ArrivingFrame, Retention, Store, StoreError, Stored, StoredPads};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::protocol::FrameSpan;
use tfhe_sbc_upload::pads::{FramePlan, PadFile, make_pads};
use tfhe_sbc_upload::readings::{Column, Compact};

use crate::common::{ALL, summary};

pub(crate) const BOARD: DeviceId = DeviceId([7; 8]);

fn seeds(seed: u8) -> SeedSequence {
    SeedSequence::new(Seed::from_bytes([seed; 32]))
}

/// Pads that a board's key and some seeds make.
pub(crate) fn pads(board: DeviceId, key: u8, seed: u8) -> PadFile {
    let secret = SecretKey::generate(MESSAGE_2_CARRY_2.validate().unwrap(), &mut seeds(1)).unwrap();
    let plan = FramePlan {
        device: board.0,
        named: false,
        columns: vec![Column {
            name: "level".to_owned(),
            unit: String::new(),
            offset: 0.0,
            scale: 1.0,
            bits: 8,
            compact: Some(Compact {
                headroom: 1,
                body_bits: 16,
                feedback: false,
            }),
            derived: Default::default(),
        }],
        rows: 2,
        frames: 9,
    };
    let key = BoardKey::from_bytes([key; 32]);
    make_pads(&secret.device_key(), &key, plan, &mut seeds(seed)).unwrap()
}

pub(crate) fn put(store: &Store, pads: &PadFile) -> Result<(StoredPads, Stored), StoreError> {
    store.put_pads(&pads.to_bytes().unwrap(), &pads.head())
}

/// The upload that stands for the one of a frame.
fn upload(counter: u32, tag: u64) -> Vec<u8> {
    format!("readings {counter} {tag}").into_bytes()
}

pub(crate) fn arrive(
    store: &Store,
    pads: &StoredPads,
    counter: u32,
    tag: u64,
) -> Result<(BlobId, Stored), StoreError> {
    let frame = ArrivingFrame {
        pads: pads.number,
        counter,
        tag,
    };
    let stored = store.put_frame(&upload(counter, tag), BOARD, &summary(2), frame);
    stored.map(|(readings, stored)| (readings.id, stored))
}

fn numbers(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[test]
fn pads_are_stored_once_and_only_one_file_of_a_key() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let first = pads(BOARD, 1, 1);
    assert_eq!(put(&store, &first).unwrap().1, Stored::New);
    let (stored, again) = put(&store, &first).unwrap();
    assert_eq!(again, Stored::AlreadyStored);
    assert_eq!(stored.head.plan, *first.plan());
    // The same counters under other masks, and the same key on another board.
    for other in [pads(BOARD, 1, 2), pads(DeviceId([8; 8]), 1, 1)] {
        assert!(matches!(
            put(&store, &other),
            Err(StoreError::PadsOfSameKey)
        ));
    }
    assert_eq!(numbers(&directory.path().join("pads")), 1);
    assert_eq!(put(&store, &pads(BOARD, 2, 1)).unwrap().1, Stored::New);

    // Only the server reads the key of the tags.
    let file = directory.path().join("pads").join(stored.id.to_string());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // A damaged file is noticed, and repaired by the same file.
    std::fs::write(&file, b"x").unwrap();
    assert!(matches!(
        store.pads_file(&stored.id),
        Err(StoreError::NoPads { .. })
    ));
    assert_eq!(put(&store, &first).unwrap().1, Stored::AlreadyStored);
    assert_eq!(
        store.pads_file(&stored.id).unwrap(),
        first.to_bytes().unwrap()
    );
}

#[test]
fn a_frame_is_stored_once_and_in_whatever_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let (old, _) = put(&store, &pads(BOARD, 1, 1)).unwrap();
    let (new, _) = put(&store, &pads(BOARD, 2, 1)).unwrap();
    assert_eq!(store.arrived(old.number).unwrap().missing(), 0);
    let mut ids = Vec::new();
    for counter in [5, 0, 2] {
        let (id, stored) = arrive(&store, &old, counter, 10 + u64::from(counter)).unwrap();
        assert_eq!(stored, Stored::New);
        ids.push(id);
    }
    assert_eq!(
        arrive(&store, &old, 0, 10).unwrap(),
        (ids[1], Stored::AlreadyStored)
    );
    // Two frames of one counter: the second leaves nothing.
    let twice = arrive(&store, &old, 5, 99);
    assert!(matches!(
        twice,
        Err(StoreError::PadUsedTwice { counter: 5 })
    ));
    let unknown = BlobId::of(&upload(5, 99));
    assert!(store.find(&unknown).unwrap().is_none());
    assert_eq!(store.list(&ALL).unwrap().readings.len(), 3);

    let arrived = store.arrived(old.number).unwrap();
    assert_eq!(
        (arrived.count, arrived.newest, arrived.missing()),
        (3, Some(5), 3)
    );
    let of_board = |first, last| {
        store
            .readings_of_board(BOARD, FrameSpan { first, last })
            .unwrap()
    };
    assert_eq!(of_board(0, u32::MAX), [ids[1], ids[2], ids[0]]);
    assert_eq!(of_board(1, 4), [ids[2]]);
    assert!(of_board(3, 4).is_empty());
    // A removed upload is in no question; its pad counts as used.
    store.remove(&ids[2]).unwrap();
    assert_eq!(of_board(0, u32::MAX), [ids[1], ids[0]]);
    assert!(matches!(
        arrive(&store, &old, 2, 99),
        Err(StoreError::PadUsedTwice { counter: 2 })
    ));

    // The first frame of newer pads ends the older ones, and only those of the board.
    let ended = |store: &Store| {
        let pads = store.pads().unwrap().into_iter();
        pads.map(|pads| pads.ended_at.is_some()).collect::<Vec<_>>()
    };
    put(&store, &pads(DeviceId([8; 8]), 3, 1)).unwrap();
    assert_eq!(ended(&store), [false, false, false]);
    let (first, _) = arrive(&store, &new, 0, 10 << 40).unwrap();
    assert_eq!(ended(&store), [true, false, false]);
    assert_eq!(of_board(0, u32::MAX), [first]);

    // All of it is on the disk.
    drop(store);
    let store = Store::open(directory.path()).unwrap();
    assert_eq!(ended(&store), [true, false, false]);
    assert_eq!(store.arrival(old.number, 2).unwrap(), Some((12, ids[2])));
    assert_eq!(
        store.arrival(new.number, 0).unwrap(),
        Some((10 << 40, first))
    );
    assert_eq!(store.arrival(new.number, 2).unwrap(), None);
    store.end_pads(BOARD).unwrap();
    assert_eq!(ended(&store), [true, true, false]);
}

/// Retention removes the uploads that frames became. Their pads count as used, also after a restart.
#[test]
fn retention_removes_readings_of_frames_and_no_used_pad_can_be_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let (stored, _) = put(&store, &pads(BOARD, 1, 1)).unwrap();
    for counter in 0..3 {
        arrive(&store, &stored, counter, 10).unwrap();
    }
    let day = Retention {
        age: Some(Duration::from_secs(86_400)),
        bytes: None,
    };
    let in_two_days = SystemTime::now() + Duration::from_secs(2 * 86_400);
    let expired = store.expire(&day, in_two_days).unwrap();
    assert_eq!(expired.by_age.uploads, 3);
    drop(store);
    let store = Store::open(directory.path()).unwrap();
    assert!(store.all().unwrap().is_empty());
    let all = FrameSpan {
        first: 0,
        last: u32::MAX,
    };
    assert!(store.readings_of_board(BOARD, all).unwrap().is_empty());
    assert_eq!(store.arrived(stored.number).unwrap().count, 3);
    for counter in 0..3 {
        assert!(matches!(
            arrive(&store, &stored, counter, 11),
            Err(StoreError::PadUsedTwice { .. })
        ));
    }
    // The pads go on with the next counter, and their file is there.
    assert!(store.pads_file(&stored.id).is_ok());
    assert_eq!(arrive(&store, &stored, 3, 10).unwrap().1, Stored::New);
}

#[test]
fn frames_that_come_at_once_share_commits_and_a_pad_used_twice_harms_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let (pads, _) = put(&store, &pads(BOARD, 1, 1)).unwrap();
    // Eight threads send nine counters, of which one comes with as many tags.
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (store, pads) = (&store, &pads);
            scope.spawn(move || {
                for counter in 0..9 {
                    let tag = if counter == 4 { thread } else { 1 };
                    match arrive(store, pads, counter, tag) {
                        Ok(_) => {}
                        Err(StoreError::PadUsedTwice { counter: 4 }) => assert_eq!(counter, 4),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let arrived = store.arrived(pads.number).unwrap();
    assert_eq!((arrived.count, arrived.missing()), (9, 0));
    assert_eq!(store.list(&ALL).unwrap().readings.len(), 9);
}
