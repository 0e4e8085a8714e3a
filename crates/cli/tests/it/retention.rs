//! `serve --retain` and `--retain-bytes`: old uploads go, whatever the server was told before stays.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::board::ids;
use crate::common::{Server, encrypt, shared, tfhe_sbc};

/// Sends an upload of one row at this time in a device's name, and returns its id.
fn send(directory: &Path, server: &Server, time: &str) -> String {
    let csv = format!("timestamp,level,flow\n{time},1.5,3\n");
    let upload = encrypt(directory, &[], &csv);
    std::fs::write(directory.join("level.tsbc"), upload).unwrap();
    let send = [
        "send",
        "level.tsbc",
        "--to",
        &server.url,
        "--identity",
        "device",
    ];
    let sent = tfhe_sbc(directory, &send).succeeded();
    sent.text().trim().to_owned()
}

/// The ids and the sizes of what a server has, the newest first.
fn listed(directory: &Path, server: &Server) -> Vec<(String, u64)> {
    let list = ["readings", "list", "--json", "--to", &server.url];
    let json = tfhe_sbc(directory, &list).succeeded().json();
    let entries = json["readings"].as_array().unwrap().iter();
    entries
        .map(|entry| {
            let id = entry["id"].as_str().unwrap().to_owned();
            (id, entry["bytes"].as_u64().unwrap())
        })
        .collect()
}

fn eventually_listed(directory: &Path, server: &Server, expected: &[&str]) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let listed = listed(directory, server);
        let ids: Vec<&str> = listed.iter().map(|(id, _)| &id[..]).collect();
        if ids == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{ids:?} and not {expected:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_removes_what_is_too_old_and_too_much() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    let old = send(directory, &server, "1900-01-01T00:00Z");
    let times = ["2026-01-01T00:00Z", "2099-01-01T00:00Z", "noon"];
    let [first, second, third] = times.map(|time| send(directory, &server, time));
    let all = listed(directory, &server);
    assert_eq!(all.len(), 4);
    assert_eq!(all[3].0, old);
    server.kill();

    let server = Server::start(directory, &["--retain", "36500d"]);
    eventually_listed(directory, &server, &[&third, &second, &first]);
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
    for words in [
        "retention has removed uploads",
        "too_old=1",
        "removed=",
        "kept=",
    ] {
        assert!(log.contains(words), "no {words} in {log}");
    }
    assert!(!ids(directory).contains(&old));

    let most = all[0].1 + all[1].1;
    let most = most.to_string();
    let bounds = ["--retain-bytes", &most, "--max-upload-bytes", &most];
    let server = Server::start(directory, &bounds);
    eventually_listed(directory, &server, &[&third, &second]);
    let (_, log) = server.terminate();
    assert!(log.contains("too_many=1"), "{log}");
    // Without bounds nothing goes.
    let server = Server::start(directory, &[]);
    assert_eq!(listed(directory, &server).len(), 2);
    let (_, log) = server.terminate();
    assert!(!log.contains("retention"), "{log}");
}

#[test]
fn bounds_without_sense_are_refused() {
    let desk = shared().desk();
    let serve = |option: &str, value: &str| {
        let listen = ["serve", "--listen", "127.0.0.1:0", option, value];
        tfhe_sbc(desk.path(), &listen)
    };
    for value in ["0", "0d", "3m", "59m", "10s"] {
        let refused = serve("--retain", value);
        refused.refused(&["--retain"]);
    }
    serve("--retain", "3m").refused(&["the shortest time is 1h", "m stands for minutes"]);
    for value in ["", "90", "90 days", "1.5d", "forever"] {
        serve("--retain", value).refused(&["a number and a unit, like 90d"]);
    }
    for value in ["0", "0GiB", "0.1"] {
        serve("--retain-bytes", value)
            .refused(&["would remove everything", "leave the option out"]);
    }
    for value in ["", "much", "20 giga", "1e40"] {
        serve("--retain-bytes", value).refused(&["like 20GiB"]);
    }
    serve("--retain-bytes", "1MB")
        .refused(&["an upload may have 67108864 bytes", "raise --retain-bytes"]);
}
