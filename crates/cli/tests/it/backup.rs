//! `backup`, `backup check` and `restore` of a store whose server takes uploads meanwhile.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tfhe_sbc_service::store::Store;
use tfhe_sbc_service::store::segments::uploads_in;

use crate::common::{Server, encrypt, shared, tfhe_sbc};

/// Sends an upload of one row, and returns its id.
fn send(directory: &Path, server: &Server, number: usize) -> String {
    let csv = format!(
        "timestamp,level,flow\n2026-11-23T09:00:{:02}Z,1.5,3\n",
        number % 60
    );
    let name = format!("level-{number}.tsbc");
    std::fs::write(directory.join(&name), encrypt(directory, &[], &csv)).unwrap();
    let send = ["send", &name, "--to", &server.url, "--identity", "device"];
    tfhe_sbc(directory, &send)
        .succeeded()
        .text()
        .trim()
        .to_owned()
}

/// The list of a server's uploads, and their bytes by name of file.
fn everything(directory: &Path, server: &Server, out: &str) -> (String, BTreeMap<String, Vec<u8>>) {
    let to = ["--to", &server.url];
    let list = [&["readings", "list", "--all", "--json"], &to[..]].concat();
    let listed = tfhe_sbc(directory, &list).succeeded().text().to_owned();
    let get = [&["readings", "get", "--device", "*", "--out", out], &to[..]].concat();
    tfhe_sbc(directory, &get).succeeded();
    let files = std::fs::read_dir(directory.join(out)).unwrap().map(|file| {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        (name, std::fs::read(file.path()).unwrap())
    });
    (listed, files.collect())
}

#[test]
fn a_backup_of_a_running_server_becomes_the_same_store() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    for number in 0..3 {
        send(directory, &server, number);
    }
    let backup = ["backup", "--store", "store", "--out", "backup"];
    // Uploads arrive while backup follows backup; each is whole, with at least what was acknowledged before it.
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            for number in 3.. {
                send(directory, &server, number);
                if done.load(Ordering::SeqCst) {
                    return number + 1;
                }
            }
            0
        });
        let mut before = 3;
        for _ in 0..4 {
            let made = tfhe_sbc(directory, &[&backup[..], &["--json"]].concat());
            let made = made.succeeded().json();
            let uploads = made["uploads"].as_u64().unwrap();
            assert!(uploads >= before, "{uploads} after {before}");
            assert!(made["copied"].as_u64().unwrap() <= uploads);
            before = uploads;
            tfhe_sbc(directory, &["backup", "check", "backup"]).succeeded();
        }
        done.store(true, Ordering::SeqCst);
        assert!(sending.join().unwrap() >= 4);
    });
    let made = tfhe_sbc(directory, &backup).succeeded();
    assert!(made.stderr.contains("backup has "), "{}", made.stderr);
    // What the server commits after a backup is in its store: a reader that leaves must not take the log with it.
    send(directory, &server, 98);
    let after = everything(directory, &server, "got-after");
    server.kill();
    let server = Server::start(directory, &[]);
    assert_eq!(everything(directory, &server, "got-restarted"), after);
    tfhe_sbc(directory, &backup).succeeded();
    let expected = everything(directory, &server, "got");
    server.kill();

    let restore = ["restore", "--from", "backup", "--store", "again"];
    let restored = tfhe_sbc(directory, &restore).succeeded();
    assert!(
        restored.stderr.contains("again has "),
        "{}",
        restored.stderr
    );
    let server = Server::start(directory, &["--store", "again"]);
    assert_eq!(everything(directory, &server, "got-again"), expected);
    let id = send(directory, &server, 99);
    let query = [
        "query",
        "--to",
        &server.url,
        "--readings",
        &id,
        "--out",
        "mean.tsbc",
        "mean(level)",
    ];
    tfhe_sbc(directory, &query).succeeded();
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
    assert!(!log.contains("made anew"), "{log}");
}

#[test]
fn what_cannot_be_backed_up_or_restored_is_refused_with_what_to_do() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    let id = send(directory, &server, 1);
    let other = send(directory, &server, 2);
    server.kill();
    let run = |arguments: &str| {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        tfhe_sbc(directory, &arguments)
    };
    run("backup").refused(&["--out"]);
    run("backup --store nowhere --out backup").refused(&["nowhere has no store", "serve --store"]);
    run("backup --out store/copy").refused(&["in the store itself", "another disk"]);
    run("backup --out keys").refused(&["files that are no backup's", "empty or does not exist"]);
    run("backup check store").refused(&["store has no backup", "backup --out"]);
    run("restore --from nowhere --store again").refused(&["nowhere has no backup"]);
    run("backup --out backup").succeeded();
    run("restore --from backup --store store")
        .refused(&["store is not empty", "nothing is overwritten"]);
    run("serve --listen 127.0.0.1:0 --store backup").refused(&["is a backup", "tfhe-sbc restore"]);

    let spoil = |place: &str| {
        let segment = directory.join(place).join("segments/00000001.seg");
        let store = Store::open(&directory.join("store")).unwrap();
        let (_, record) = store.place(&id.parse().unwrap()).unwrap().unwrap();
        let mut bytes = std::fs::read(&segment).unwrap();
        bytes[record.end as usize - 1] ^= 1;
        std::fs::write(&segment, bytes).unwrap();
    };
    spoil("backup");
    let words = [
        "1 upload or file of pads is missing or damaged in the backup",
        &id,
        "backup --check",
    ];
    run("backup check backup").refused(&words);
    let json = run("backup check backup --json");
    assert!(!json.status.success());
    assert_eq!(json.json()["damaged"][0], id[..]);
    run("restore --from backup --store again").refused(&[
        "1 of the 2 uploads",
        &id,
        "tfhe-sbc backup check backup",
        "--leave-out-damaged",
    ]);
    assert!(!directory.join("again").exists());
    let partial = run("restore --from backup --store again --leave-out-damaged --json").succeeded();
    let partial = partial.json();
    assert_eq!(
        (&partial["uploads"], &partial["left_out"][0]),
        (&1.into(), &id[..].into())
    );
    let left: Vec<_> = uploads_in(&directory.join("again")).unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].0.to_string(), other);
    run("backup --out backup --check").succeeded();
    run("backup check backup").succeeded();

    // As a kill leaves them.
    let rename = |from: &str, to: &str| {
        std::fs::rename(directory.join(from), directory.join(to)).unwrap();
    };
    rename("backup/backup.sqlite", "backup/backup.sqlite.part");
    run("restore --from backup --store other").refused(&[
        "was interrupted and cannot be used",
        "tfhe-sbc backup --store STORE --out backup",
    ]);
    run("backup --out backup").succeeded();
    run("restore --from backup --store other").succeeded();
    rename("other/index.sqlite", "other/restore.sqlite.part");
    let half = ["restoring into other was interrupted", "tfhe-sbc restore"];
    run("restore --from backup --store other").refused(&half);
    run("serve --listen 127.0.0.1:0 --store other")
        .refused(&["was interrupted", "tfhe-sbc restore"]);

    // An upload that the store has lost is named; the others are in the backup.
    spoil("store");
    run("backup --out new").refused(&["damaged in the store", &id, "finished without them"]);
    run("backup check new").succeeded();
}
