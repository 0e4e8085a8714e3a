//! `query --detach` and `jobs`, with a real server: asked, followed, fetched, called off, and answered again.

use std::path::Path;

use crate::common::{Run, Server, encrypt, packed, shared, tfhe_sbc};

/// A question that takes a server a minute about sixty rows.
const LONG: &str = "sort(3 * flow + 2 * level)";

fn send(directory: &Path, server: &Server, upload: &str) {
    let send = ["send", upload, "--to", &server.url];
    tfhe_sbc(directory, &send).succeeded();
}

fn query(directory: &Path, server: &Server, options: &[&str]) -> Run {
    let query = ["query", "--to", &server.url];
    tfhe_sbc(directory, &[&query[..], options].concat())
}

fn jobs(directory: &Path, server: &Server, task: &[&str]) -> Run {
    let (name, rest) = task.split_first().unwrap();
    let jobs = ["jobs", name, "--to", &server.url];
    tfhe_sbc(directory, &[&jobs[..], rest].concat())
}

fn detach(directory: &Path, server: &Server, question: &str) -> String {
    let detached = query(directory, server, &["--detach", question]).succeeded();
    assert!(detached.stderr.contains("jobs wait"), "{}", detached.stderr);
    detached.text().trim().to_owned()
}

#[test]
fn a_detached_question_is_followed_and_its_result_got() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    send(directory, &server, "day.tsbc");
    let none = jobs(directory, &server, &["list"]).succeeded();
    assert!(none.stderr.contains("no jobs"), "{}", none.stderr);
    let id = detach(directory, &server, "max(flow)");
    let waited = jobs(directory, &server, &["wait", &id]).succeeded();
    assert!(waited.stderr.contains("answered with"), "{}", waited.stderr);
    let got = jobs(directory, &server, &["get", &id, "--out", "got.tsbc"]).succeeded();
    assert!(
        got.stderr.contains("about 4 rows in 1 upload"),
        "{}",
        got.stderr
    );
    let decrypted = tfhe_sbc(directory, &["decrypt", "got.tsbc"]).succeeded();
    assert!(decrypted.text().contains("60"), "{}", decrypted.text());
    let listed = jobs(directory, &server, &["list"]).succeeded();
    for words in [&id[..], "answered"] {
        assert!(listed.text().contains(words), "{}", listed.text());
    }
    let json = jobs(directory, &server, &["show", &id, "--json"])
        .succeeded()
        .json();
    assert_eq!(
        (&json["state"], &json["uploads"]),
        (&"answered".into(), &1.into())
    );
    let shown = jobs(directory, &server, &["show", &id]).succeeded();
    assert!(shown.text().contains("bootstraps"), "{}", shown.text());
    assert_eq!(
        jobs(directory, &server, &["list", "--json"])
            .succeeded()
            .json()["jobs"][0]["id"],
        id
    );

    // The same question again is answered with the same bytes, unless it is to be computed.
    let upload = "--readings=stored";
    let ask = |more: &[&str]| {
        let options = [&[upload, "--out", "again.tsbc"], more, &["max(flow)"]].concat();
        let asked = query(directory, &server, &options).succeeded();
        let result = std::fs::read(directory.join("again.tsbc")).unwrap();
        (asked.stderr.contains(" s ago: "), result)
    };
    let (was_kept, first) = ask(&[]);
    assert!(was_kept, "the job has asked the same");
    assert_eq!(first, std::fs::read(directory.join("got.tsbc")).unwrap());
    assert_eq!(ask(&[]), (true, first));
    assert!(!ask(&["--fresh"]).0);
    // A threshold that is encrypted is encrypted anew, and makes another question.
    for _ in 0..2 {
        let options = [upload, "--out", "limit.tsbc", "count(flow > encrypted(10))"];
        let asked = query(directory, &server, &options).succeeded();
        assert!(!asked.stderr.contains(" ago: "), "{}", asked.stderr);
    }

    let removed = jobs(directory, &server, &["cancel", &id]).succeeded();
    assert!(
        removed.stderr.contains("removed the job"),
        "{}",
        removed.stderr
    );
    jobs(directory, &server, &["show", &id]).refused(&["you have no job"]);
    jobs(directory, &server, &["show", "7"]).refused(&["16 hexadecimal digits"]);
    query(directory, &server, &["--detach", "--out", "a", "max(flow)"]).refused(&["--out"]);
}

#[test]
fn a_job_is_called_off_and_survives_neither_that_nor_a_restart() {
    let desk = shared().desk();
    let directory = desk.path();
    let bob = ["certs", "--out", "tls", "--add", "bob", "--role", "owner"];
    tfhe_sbc(directory, &bob).succeeded();
    let server = Server::start(directory, &[]);
    let rows: String = (0..60).map(|row| format!("{row},-1.5,{row}\n")).collect();
    let csv = format!("timestamp,level,flow\n{rows}");
    std::fs::write(directory.join("rows.tsbc"), encrypt(directory, &[], &csv)).unwrap();
    send(directory, &server, "rows.tsbc");
    let (first, second) = (
        detach(directory, &server, LONG),
        detach(directory, &server, LONG),
    );
    // Another owner has other jobs.
    for task in ["show", "get", "cancel", "wait"] {
        let asked = jobs(directory, &server, &[task, &first, "--identity", "bob"]);
        asked.refused(&["you have no job"]);
    }
    let none = jobs(directory, &server, &["list", "--identity", "bob"]).succeeded();
    assert!(none.stderr.contains("no jobs"), "{}", none.stderr);
    jobs(directory, &server, &["list", "--identity", "device"]).refused(&["(403)"]);

    jobs(directory, &server, &["get", &second]).refused(&["has no result", "not answered yet"]);
    let cancelled = jobs(directory, &server, &["cancel", &second]).succeeded();
    assert!(
        cancelled.stderr.contains("is cancelled"),
        "{}",
        cancelled.stderr
    );
    jobs(directory, &server, &["wait", &second]).refused(&["is cancelled", "ask again"]);
    server.kill();

    let server = Server::start(directory, &[]);
    let listed = jobs(directory, &server, &["list"]).succeeded();
    for state in ["interrupted", "cancelled"] {
        assert!(listed.text().contains(state), "{}", listed.text());
    }
    jobs(directory, &server, &["wait", &first]).refused(&["interrupted", "ask again"]);
    let failed = detach(directory, &server, LONG);
    jobs(directory, &server, &["cancel", &failed]).succeeded();
    drop(server);

    let server = Server::start(directory, &["--keep-result-bytes", "0"]);
    query(directory, &server, &["--detach", "max(flow)"]).refused(&["takes no jobs"]);
    let asked = query(directory, &server, &["max(flow)"]).succeeded();
    assert!(!packed(&asked.stderr).contains("ago:"), "{}", asked.stderr);
}

/// On a machine with one memory node, such as most, the key is not copied; on others it is. The log says which.
#[test]
fn a_server_may_copy_its_key_to_memory_nodes() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &["--copy-key-to-nodes"]);
    send(directory, &server, "day.tsbc");
    query(directory, &server, &["--out", "answer.tsbc", "max(flow)"]).succeeded();
    let decrypted = tfhe_sbc(directory, &["decrypt", "answer.tsbc"]).succeeded();
    assert!(decrypted.text().contains("60"), "{}", decrypted.text());
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
    let copied = log.contains("memory nodes has a copy of the key");
    assert!(copied || log.contains("of one memory node"), "{log}");
}
