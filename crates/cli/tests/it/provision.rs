//! A board's one file: it is made, run as it is, and its certificate revoked; and what is not made.
#![cfg(unix)]

use std::fs;
use std::time::Duration;

use crate::common::board::{LEVEL, agent, stored_uploads};
use crate::common::{self, Server, shared, tfhe_sbc};
use serde_json::json;

#[test]
fn a_provisioned_file_is_all_that_a_board_needs() {
    let desk = shared().desk();
    let directory = desk.path();
    let board = tempfile::tempdir().unwrap();
    // The certificates are shared with other tests.
    fs::remove_dir_all(directory.join("tls")).unwrap();
    tfhe_sbc(directory, &["certs"]).succeeded();
    fs::create_dir(directory.join("device-keys")).unwrap();
    let server = Server::start_strict(directory, &["--device-keys", "device-keys"]);
    let column = format!("{LEVEL}\nsource = {{ kind = \"command\", run = [\"echo\", \"1.5\"] }}");
    fs::write(directory.join("sources.toml"), column).unwrap();
    let provision = |name: &str, more: &[&str]| {
        let arguments = ["provision", name, "--server", &server.url];
        tfhe_sbc(directory, &[&arguments, more].concat())
    };
    provision("hill", &["--columns", "sources.toml"]).succeeded();
    let file = directory.join("hill.toml");
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert!(!directory.join("tls/hill.key").exists());
    fs::rename(&file, board.path().join("agent.toml")).unwrap();
    let run = agent(board.path(), &["--once"]).succeeded();
    assert!(
        run.text().starts_with("1 row read, 1 batch"),
        "{}",
        run.text()
    );
    // It is the board's own key and certificate.
    let [(_, upload)] = &stored_uploads(directory)[..] else {
        panic!("one upload")
    };
    fs::write(directory.join("stored.tsbc"), upload).unwrap();
    let log = tfhe_sbc(directory, &["inspect", "stored.tsbc"]).succeeded();
    assert!(log.text().contains("level"), "{}", log.text());
    let asked = [
        "query",
        "--to",
        &server.url,
        "--columns",
        "columns.toml",
        "max(level)",
    ];
    let result = tfhe_sbc(directory, &asked).succeeded().stdout;
    let decoded = common::tfhe_sbc_fed(directory, &["decrypt", "--json"], &result).succeeded();
    assert_eq!(decoded.json()["answers"][0]["answer"]["value"], 1.5);

    // A board that signs, whose signature nobody can leave out or make.
    for (name, algorithm) in [("moor", "ed25519"), ("dale", "ml-dsa-65")] {
        provision(name, &["--columns", "sources.toml", "--sign", algorithm]).succeeded();
        let file = format!("{name}.toml");
        let run = tfhe_sbc(directory, &["agent", "--config", &file, "--once"]);
        run.succeeded();
    }
    provision("lake", &["--sign", "rsa"]).refused(&["ed25519 and ml-dsa-65", "none"]);

    // A board that is taken back keeps what it reads, and says why.
    tfhe_sbc(directory, &["certs", "revoke", "hill"]).succeeded();
    std::thread::sleep(Duration::from_millis(1500));
    let run = agent(board.path(), &["--once", "--json"]);
    assert_eq!(run.status.code(), Some(75), "{}", run.stderr);
    assert_eq!(
        (&run.json()["waiting"], &run.json()["refused"]),
        (&json!(1), &json!([]))
    );

    provision("hill", &["--columns", "sources.toml"]).refused(&["exists already"]);
    // Its next key has a certificate of its own, which is taken back by its own name.
    provision("hill", &["--columns", "sources.toml", "--epoch", "2"]).succeeded();
    assert!(directory.join("device-keys/hill-2.tsbc").exists());
    tfhe_sbc(directory, &["certs", "revoke", "hill-2"]).succeeded();
    for (name, more, words) in [
        (
            "lake",
            &["--columns", "columns.toml"][..],
            &["missing field `source`", "agent init"][..],
        ),
        (
            "lake",
            &["--columns", "none.toml"],
            &["none.toml", "check the path"],
        ),
        ("lake", &["--keys", "none"], &["secret.tsbc", "keygen"]),
        ("lake", &["--tls", "none"], &["ca.pem", "tfhe-sbc certs"]),
        ("la/ke", &[], &["letters, digits"]),
        ("a-name-that-is-far-too-long", &[], &["1 to 16 letters"]),
    ] {
        provision(name, more).refused(words);
        assert!(!directory.join("lake.toml").exists());
        assert!(!directory.join("tls/lake.pem").exists());
    }
    let arguments = ["provision", "lake", "--server", "https://a\"b"];
    tfhe_sbc(directory, &arguments).refused(&["https://HOST:PORT"]);
}
