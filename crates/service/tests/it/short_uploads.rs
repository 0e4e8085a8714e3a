//! Uploads in the short form: restored exactly, refused where the server knows no definitions, and what is
//! kept for whom.

use std::sync::Arc;

use tfhe_sbc_core::parameters::{KeyFingerprint, ParameterFingerprint};
use tfhe_sbc_core::wire::{Header, Kind};
use tfhe_sbc_service::certificates;
use tfhe_sbc_service::server::Limits;
use tfhe_sbc_service::store::Store;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::protocol::Selection;
use tfhe_sbc_transport::role::Role;
use tfhe_sbc_upload::derived::Derived;
use tfhe_sbc_upload::metadata;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};
use tfhe_sbc_upload::short::{Definitions, MAX_SHORT_BYTES, shorten};

use crate::common::{ALL, ANY_LENGTH, TestServer, metric, refused, summary};

const PARAMETERS: ParameterFingerprint = ParameterFingerprint([1; 16]);

/// An upload of one row with this label, of a column of this name, under the key of this number.
fn upload_under(key: u8, column: &str, label: &str) -> Vec<u8> {
    let key = KeyFingerprint([key; 16]);
    let column = Column {
        name: column.to_owned(),
        unit: "m".to_owned(),
        offset: -2.0,
        scale: 0.5,
        bits: 4,
        compact: None,
        derived: Derived::default(),
    };
    let metadata = ReadingsMetadata {
        columns: vec![column],
        rows: vec![label.to_owned()],
        gaps: Default::default(),
    };
    let mut upload = metadata::write(PARAMETERS, key, &metadata).unwrap();
    let mut list = vec![0; 300];
    Header::new(Kind::SeededGlweList, PARAMETERS, key)
        .seal(&mut list)
        .unwrap();
    upload.extend_from_slice(&list);
    upload
}

fn upload(column: &str, label: &str) -> Vec<u8> {
    upload_under(7, column, label)
}

fn short(upload: &[u8]) -> Vec<u8> {
    shorten(upload).unwrap().bytes
}

#[test]
fn a_short_upload_is_stored_and_answered_as_the_whole_one() {
    let server = TestServer::start();
    let device = server.device();
    let (first, second) = (upload("level", "a"), upload("level", "b"));
    refused(device.upload(&short(&first)), 409);
    let receipt = device.upload(&first).unwrap();
    assert!(receipt.created && receipt.definitions_kept);

    let receipt = device.upload(&short(&second)).unwrap();
    assert!(receipt.created && receipt.definitions_kept);
    assert_eq!(receipt.id, BlobId::of(&second));
    assert_eq!(receipt.bytes, second.len() as u64);
    assert_eq!(server.store.get(&receipt.id).unwrap(), second);
    let reply = server
        .owner()
        .query(&Selection::Latest, b"?", ANY_LENGTH)
        .unwrap();
    assert_eq!(reply.result, [&second[..], b"?"].concat());
    // Whole and short are the same upload.
    for again in [&second, &short(&second)] {
        assert!(!device.upload(again).unwrap().created);
    }
    assert_eq!(server.owner().list(&ALL).unwrap().readings.len(), 2);
    let stored = (first.len() + 3 * second.len()) as u64;
    let owner = server.owner();
    assert_eq!(metric(&owner, "tfhe_sbc_upload_bytes_total"), stored);
    let unknown = "tfhe_sbc_rejected_total{reason=\"unknown_definitions\"}";
    assert_eq!(metric(&owner, unknown), 1);
    // A message that is no upload of readings has no definitions.
    assert!(!device.upload(b"readings").unwrap().definitions_kept);
}

#[test]
fn definitions_belong_to_their_uploader_and_key() {
    let server = TestServer::start();
    let directory = server.site.directory.path().join("tls");
    let files = certificates::add_client(&directory, "pi-2", Role::Device).unwrap();
    let (one, two) = (server.device(), server.connect(&files).unwrap());
    one.upload(&upload("level", "a")).unwrap();
    let words = refused(two.upload(&short(&upload("level", "b"))), 409);
    assert!(words.contains("whole upload"), "{words}");
    // The same columns under another key are other definitions.
    refused(one.upload(&short(&upload_under(8, "level", "b"))), 409);
    two.upload(&upload("level", "c")).unwrap();
    two.upload(&short(&upload("level", "d"))).unwrap();
    // One uploader's many definitions push out its own oldest, and nobody else's.
    for column in 0..8 {
        let whole = upload(&format!("column_{column}"), "e");
        assert!(two.upload(&whole).unwrap().definitions_kept);
    }
    refused(two.upload(&short(&upload("level", "f"))), 409);
    two.upload(&short(&upload("column_0", "f"))).unwrap();
    one.upload(&short(&upload("level", "f"))).unwrap();
    assert!(two.upload(&upload("level", "f")).unwrap().definitions_kept);
    two.upload(&short(&upload("level", "g"))).unwrap();
    refused(two.upload(&short(&upload("column_0", "g"))), 409);
}

#[test]
fn what_is_forged_or_damaged_is_refused_and_not_stored() {
    let server = TestServer::with_limits(Limits {
        upload_bytes: MAX_SHORT_BYTES + 100,
        ..Limits::default()
    });
    let device = server.device();
    let whole = upload("level", "a");
    device.upload(&whole).unwrap();
    let good = short(&upload("level", "b"));
    let with = |at: usize, bits: u8| {
        let mut bytes = good.clone();
        bytes[at] ^= bits;
        bytes
    };
    refused(device.upload(&with(8, 1)), 409);
    let version = refused(device.upload(&with(4, 2)), 422);
    assert!(version.contains("version 3"), "{version}");
    let cut = refused(device.upload(&good[..60]), 422);
    assert!(cut.contains("ends too early"), "{cut}");
    // Restored, these are no uploads: checksum, labels, seed, ciphertexts, and what is cut off them.
    for damaged in [
        with(24, 1),
        with(30, 1),
        with(40, 1),
        with(100, 1),
        good[..100].to_vec(),
    ] {
        let words = refused(device.upload(&damaged), 422);
        assert!(words.contains("no readings"), "{words}");
    }
    let long = [&good[..], &[0; MAX_SHORT_BYTES]].concat();
    let words = refused(device.upload(&long[..MAX_SHORT_BYTES + 1]), 422);
    assert!(words.contains("65536"), "{words}");
    // Restored it is larger than uploads may be.
    let words = refused(device.upload(&long[..MAX_SHORT_BYTES]), 413);
    assert!(words.contains("65636"), "{words}");
    assert_eq!(server.store.list(&ALL).unwrap().readings.len(), 1);
    // An upload that is refused leaves no definitions behind.
    let mut foreign = upload("flow", "a");
    let last = foreign.len() - 1;
    foreign[last] ^= 1;
    refused(device.upload(&foreign), 422);
    refused(device.upload(&short(&upload("flow", "b"))), 409);
}

#[test]
fn definitions_outlive_the_server_and_are_asked_for_again_once_lost() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Arc::new(Store::open(directory.path()).unwrap());
    let whole = upload("level", "a");
    let definitions = Definitions::of(&whole).unwrap();
    let found = |store: &Store, uploader: &str| {
        let found = store.definitions(uploader, definitions.id()).unwrap();
        found.map(|found| {
            assert_eq!(found.as_bytes(), definitions.as_bytes());
            found.id()
        })
    };
    let keep = |store: &Store| {
        let put = store.put(&whole, "pi", &summary(1), Some(&definitions));
        put.unwrap();
    };
    let known = Some(definitions.id());
    let store = open();
    assert_eq!(found(&store, "pi"), None);
    keep(&store);
    assert_eq!((found(&store, "pi"), found(&store, "po")), (known, None));
    drop(store);
    let store = open();
    assert_eq!(found(&store, "pi"), known);
    drop(store);

    let change = |sql: &str| {
        let index = rusqlite::Connection::open(directory.path().join("index.sqlite")).unwrap();
        index.execute_batch(sql).unwrap();
    };
    // Lost, damaged, or never there, because an older program made the index.
    for sql in [
        "DELETE FROM definitions",
        "UPDATE definitions SET bytes = x'00'",
        "UPDATE definitions SET bytes = zeroblob(100)",
        "DROP TABLE definitions",
    ] {
        change(sql);
        let store = open();
        assert_eq!(found(&store, "pi"), None, "{sql}");
        assert_eq!(store.get(&BlobId::of(&whole)).unwrap(), whole);
        // The same upload again brings them back.
        keep(&store);
        assert_eq!(found(&store, "pi"), known, "{sql}");
    }
}
