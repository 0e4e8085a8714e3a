//! `readings`: what a server has stored, listed, got and removed; and a store that lost its index.

use std::path::Path;

use crate::common::{Server, encrypt, shared, tfhe_sbc};

/// Sends an upload of rows at these times in a device's name, and returns its id.
fn send(directory: &Path, server: &Server, device: &str, times: &[&str]) -> String {
    let rows = times.iter().map(|time| format!("{time},1.5,3\n"));
    let csv = format!("timestamp,level,flow\n{}", rows.collect::<String>());
    let upload = encrypt(directory, &[], &csv);
    std::fs::write(directory.join("level.tsbc"), upload).unwrap();
    let send = [
        "send",
        "level.tsbc",
        "--to",
        &server.url,
        "--identity",
        device,
    ];
    tfhe_sbc(directory, &send)
        .succeeded()
        .text()
        .trim()
        .to_owned()
}

#[test]
fn uploads_are_listed_got_and_removed_by_device_and_time() {
    let desk = shared().desk();
    let directory = desk.path();
    for name in ["hill", "lake"] {
        tfhe_sbc(directory, &["certs", "--out", "tls", "--add", name]).succeeded();
    }
    let server = Server::start(directory, &[]);
    let morning = send(
        directory,
        &server,
        "hill",
        &["2026-11-23T09:00Z", "2026-11-23T09:30Z"],
    );
    let noon = send(
        directory,
        &server,
        "hill",
        &["2026-11-23T12:00Z", "2026-11-23T12:30Z"],
    );
    let lake = send(directory, &server, "lake", &["2026-11-23T12:15Z"]);
    let readings = |more: &[&str]| {
        let (task, rest) = more.split_first().unwrap();
        let to = ["readings", task, "--to", &server.url];
        tfhe_sbc(directory, &[&to[..], rest].concat())
    };
    let ids = |more: &[&str]| -> Vec<String> {
        let json = readings(&[&["list", "--json"][..], more].concat())
            .succeeded()
            .json();
        let list = json["readings"].as_array().unwrap().clone();
        list.iter()
            .map(|entry| entry["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&[]), [&lake[..], &noon, &morning]);
    assert_eq!(ids(&["--device", "hill"]), [&noon[..], &morning]);
    assert_eq!(
        ids(&["--device", "l*", "--since", "2026-11-23"]),
        [&lake[..]]
    );
    assert_eq!(ids(&["--since", "2026-11-23T12:20+00:00"]), [&noon[..]]);
    assert_eq!(ids(&["--until", "2026-11-23T10:30+01:00"]), [&morning[..]]);
    assert_eq!(ids(&["--last", "1m"]), Vec::<String>::new());
    assert_eq!(ids(&["--limit", "1"]), [&lake[..]]);
    let page = readings(&["list", "--limit", "2"]).succeeded();
    assert!(
        page.text().contains("2026-11-23T12:30:00Z"),
        "{}",
        page.text()
    );
    assert!(page.stderr.contains("--before 2"), "{}", page.stderr);
    assert_eq!(ids(&["--before", "2"]), [&morning[..]]);
    assert_eq!(ids(&["--all"]).len(), 3);

    let shown = readings(&["show", &noon[..12]]).succeeded();
    for words in [
        "hill",
        "2026-11-23T12:00:00Z",
        "level: steps of 0.5 from -2, 4 bits",
    ] {
        assert!(shown.text().contains(words), "{words}: {}", shown.text());
    }
    readings(&["show", "000000"]).refused(&["no id begins with 000000"]);
    readings(&["show", "noon"]).refused(&["'noon' is no id"]);

    readings(&["get", "--device", "hill", "--out", "uploads"]).succeeded();
    let got = std::fs::read(directory.join(format!("uploads/{noon}.tsbc"))).unwrap();
    assert!(!got.is_empty());
    let again = readings(&["get", "--device", "hill", "--out", "uploads"]).succeeded();
    assert!(
        again
            .stderr
            .contains("2 uploads in uploads, 0 B of them new"),
        "{}",
        again.stderr
    );
    readings(&["get", "--device", "nobody", "--out", "none"]).refused(&["no uploads are selected"]);

    readings(&["rm"]).refused(&["nothing says which", "--device '*'"]);
    let asked = readings(&["rm", "--device", "hill", "--until", "2026-11-23T10:00Z"]).succeeded();
    assert!(
        asked.stderr.contains("would remove 1 upload with 2 rows"),
        "{}",
        asked.stderr
    );
    assert_eq!(ids(&[]).len(), 3);
    readings(&[
        "rm",
        "--device",
        "hill",
        "--until",
        "2026-11-23T10:00Z",
        "--yes",
    ])
    .succeeded();
    assert_eq!(ids(&[]), [&lake[..], &noon]);
    readings(&["rm", &lake, "--yes"]).succeeded();
    readings(&["rm", &lake, "--yes"]).refused(&["0 of 1 are removed", "no readings are stored"]);
    assert_eq!(ids(&[]), [&noon[..]]);

    readings(&["list", "--since", "monday"]).refused(&["times are like 2026-11-23"]);
    readings(&["list", "--since", "2026-11-24", "--until", "2026-11-23"])
        .refused(&["is not before", "swap"]);
    readings(&["list", "--device", "a b"]).refused(&["letters, digits"]);
    readings(&["list", "--last", "7"]).refused(&["a number and a unit"]);
    readings(&["list", "--identity", "hill"]).refused(&["may not list"]);
}

#[test]
fn a_server_whose_index_is_lost_lists_its_uploads_again() {
    let desk = shared().desk();
    let directory = desk.path();
    tfhe_sbc(directory, &["certs", "--out", "tls", "--add", "hill"]).succeeded();
    let server = Server::start(directory, &[]);
    let id = send(directory, &server, "hill", &["2026-11-23T09:00Z"]);
    server.kill();
    for entry in std::fs::read_dir(directory.join("store")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("index.sqlite")
        {
            std::fs::remove_file(path).unwrap();
        }
    }
    let server = Server::start(directory, &[]);
    let list = [
        "readings",
        "list",
        "--to",
        &server.url,
        "--since",
        "2026-11-23",
        "--json",
    ];
    let json = tfhe_sbc(directory, &list).succeeded().json();
    assert_eq!(json["readings"][0]["id"], id);
    assert_eq!(json["readings"][0]["uploader"], "hill");
    let (_, log) = server.terminate();
    assert!(log.contains("the index was made anew"), "{log}");
}
