//! The agent of a board that follows a CSV file, through kills of agent and server and rotations of
//! the file.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::board::{agent, append, csv_settings, stored};
use crate::common::{self, Server, command, shared};
use serde_json::json;

fn start_server_at(desk: &Path, address: &str) -> Server {
    Server::from_command(&mut command(
        desk,
        &["serve", "--listen", address, "--allow-shared-key"],
    ))
}

/// Starts an agent, whose log goes to a file.
fn start(desk: &Path) -> Child {
    let log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(desk.join("agent.log"))
        .unwrap();
    command(desk, &["agent"])
        .env("RUST_LOG", "info")
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

fn log(desk: &Path) -> String {
    fs::read_to_string(desk.join("agent.log")).unwrap_or_default()
}

fn wait_until(what: &str, desk: &Path, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "no {what}:\n{}", log(desk));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args([name, &pid]).status().unwrap().success());
}

fn files_in(directory: PathBuf) -> usize {
    let files = fs::read_dir(directory).into_iter().flatten();
    files
        .filter(|file| file.as_ref().unwrap().path().extension() == Some("batch".as_ref()))
        .count()
}

#[test]
fn batches_wait_for_the_server_and_what_was_read_survives_a_stop() {
    let desk = shared().desk();
    let directory = desk.path();
    let address = common::free_address();
    let more = "[batch]\nrows = 4\n[send]\nretry_first = \"50ms\"\nretry_most = \"200ms\"\n[metrics]\nfile = \"agent.prom\"";
    csv_settings(directory, &format!("https://{address}"), more);
    append(
        &directory.join("log.csv"),
        "time,level\na,-1.5\nb,0\nc,2\nd,1\ne,NaN\nf,99\ng,0.5\nh,1",
    );
    let mut child = start(directory);
    let status = || agent(directory, &["status", "--json"]).json();
    wait_until("batch", directory, || {
        files_in(directory.join("spool")) == 1
    });
    let found = status();
    assert_eq!(
        (&found["running"], &found["rows"]),
        (&json!(true), &json!(4))
    );
    agent(directory, &["--once"]).refused(&["another agent", "spool.directory"]);
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-TERM");
    assert!(child.wait().unwrap().success(), "{}", log(directory));
    // `g` was in memory; `h` is no whole line yet.
    let found = status();
    assert_eq!(
        (&found["running"], &found["rows"], &found["batches"]),
        (&json!(false), &json!(5), &json!(2))
    );
    assert_eq!(
        log(directory).matches("left out").count(),
        1,
        "{}",
        log(directory)
    );
    let metrics = fs::read_to_string(directory.join("agent.prom")).unwrap();
    for line in [
        "rows_total 5\n",
        "spool_batches 2\n",
        "{reason=\"not_a_number\"} 1\n",
        "{reason=\"out_of_range\"} 1\n",
    ] {
        assert!(metrics.contains(line), "{line} {metrics}");
    }
    assert!(!metrics.contains("send_failures_total 0\n"), "{metrics}");
    // No reading is on the disk in the clear.
    for (path, bytes) in common::contents(&directory.join("spool")) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("-1.5"), "{}", path.display());
    }
    let run = agent(directory, &["--once", "--json"]);
    assert_eq!(run.status.code(), Some(75), "{}", run.stderr);
    assert!(
        run.json()["failed"]
            .as_str()
            .unwrap()
            .contains("cannot reach")
    );

    let server = start_server_at(directory, &address.to_string());
    assert_eq!(server.url, format!("https://{address}"));
    let mut child = start(directory);
    append(&directory.join("log.csv"), "\ni,2\n");
    wait_until("row", directory, || stored(directory).len() == 5);
    signal(&child, "-INT");
    assert!(child.wait().unwrap().success());
    agent(directory, &["--once"]).succeeded();
    let rows: Vec<_> = stored(directory).into_iter().collect();
    let expected = ["a", "b", "c", "d", "g", "h", "i"].map(|row| (row.to_owned(), 1));
    assert_eq!(rows, expected);
}

#[test]
fn rows_of_a_file_that_is_rotated_before_the_first_batch_are_read() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    csv_settings(directory, &server.url, "[batch]\nrows = 60\nevery = \"1h\"");
    let csv = directory.join("log.csv");
    // The file comes after the agent.
    let mut child = start(directory);
    wait_until("agent", directory, || log(directory).contains("waited for"));
    append(&csv, "time,level\na,1\nb,2\n");
    let position = directory.join("spool/position");
    wait_until("position", directory, || position.exists());
    std::thread::sleep(Duration::from_millis(100));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(files_in(directory.join("spool")), 0);
    append(&csv, "c,3\n");
    fs::rename(&csv, directory.join("log.csv.1")).unwrap();
    append(&csv, "time,level\nd,0\n");
    agent(directory, &["--once"]).succeeded();
    let rows: Vec<_> = stored(directory).into_iter().collect();
    assert_eq!(rows, ["a", "b", "c", "d"].map(|row| (row.to_owned(), 1)));
}

/// A number that differs from run to run.
fn random(below: u64) -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).unwrap();
    u64::from_le_bytes(bytes) % below
}

#[test]
fn no_row_is_lost_or_doubled_by_kills_of_agent_and_server() {
    const ROWS_OF_A_FILE: usize = 150;
    let desk = shared().desk();
    let directory = desk.path().to_owned();
    let listen = common::free_address().to_string();
    let mut server = start_server_at(&directory, &listen);
    let more = "[batch]\nrows = 7\nevery = \"100ms\"\n[send]\nretry_first = \"10ms\"\nretry_most = \"50ms\"";
    csv_settings(&directory, &server.url, more);
    let csv = directory.join("log.csv");
    append(&csv, "time,level\n");
    // What an agent that never ran would have read is not in question.
    agent(&directory, &["--once"]).succeeded();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let mut rows = 0;
        while ended.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            // Lines come in pieces, and files are rotated. No file is removed, because agents on a busy
            // machine may be killed many times in a row before they have read a line.
            append(&csv, &format!("row {rows},"));
            std::thread::sleep(Duration::from_millis(random(4)));
            append(&csv, &format!("{}\n", (rows % 8) as f64 / 2.0));
            rows += 1;
            if rows % ROWS_OF_A_FILE == 0 {
                for old in (1..rows / ROWS_OF_A_FILE).rev() {
                    let name = |number| csv.with_extension(format!("csv.{number}"));
                    fs::rename(name(old), name(old + 1)).unwrap();
                }
                fs::rename(&csv, csv.with_extension("csv.1")).unwrap();
                append(&csv, "time,level\n");
            }
        }
        rows
    });
    for round in 0..25 {
        let mut child = start(&directory);
        std::thread::sleep(Duration::from_millis(50 + random(250)));
        if round % 8 == 7 {
            server.kill();
            server = start_server_at(&directory, &listen);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    done.send(()).unwrap();
    let rows: usize = writer.join().unwrap();
    loop {
        let run = agent(&directory, &["--once", "--json"]);
        assert_eq!(run.json()["waiting"], 0, "{}", run.json());
        if run.json()["rows"] == 0 {
            break;
        }
    }
    let found = stored(&directory);
    assert!(
        found.values().all(|&count| count == 1),
        "rows are doubled: {found:?}"
    );
    let missing: Vec<_> = (0..rows)
        .filter(|row| !found.contains_key(&format!("row {row}")))
        .collect();
    assert!(
        missing.is_empty(),
        "{missing:?} of {rows} are missing\n{}",
        log(&directory)
    );
    assert_eq!(found.len(), rows);
    assert!(rows > 500, "{rows}");
}
