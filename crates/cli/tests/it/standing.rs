//! `query --every` and `standing`, with a real server: left, followed, fetched, decrypted, and computed again.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tfhe_sbc_upload::moments::Moment;

use crate::common::{Run, Server, encrypt, shared, tfhe_sbc};

/// The time of the day before yesterday, so many minutes after midnight in UTC.
fn at(minutes: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let days = i64::try_from(now.as_secs()).unwrap() / 86_400 - 2;
    Moment::from_unix_ms((days * 1440 + minutes) * 60_000).to_string()
}

fn send(directory: &Path, server: &Server, device: &str, rows: &[(i64, f64)]) {
    let lines = rows
        .iter()
        .map(|(minutes, level)| format!("{},{level},3\n", at(*minutes)));
    let csv = format!("timestamp,level,flow\n{}", lines.collect::<String>());
    std::fs::write(directory.join("rows.tsbc"), encrypt(directory, &[], &csv)).unwrap();
    let identity = ["--identity", device];
    let to = ["send", "rows.tsbc", "--to", &server.url];
    tfhe_sbc(directory, &[to.as_slice(), &identity].concat()).succeeded();
}

fn every(directory: &Path, server: &Server, options: &[&str]) -> Run {
    let query = ["query", "--to", &server.url, "--every"];
    tfhe_sbc(directory, &[&query[..], options].concat())
}

fn standing(directory: &Path, server: &Server, task: &[&str]) -> Run {
    let (name, rest) = task.split_first().unwrap();
    let standing = ["standing", name, "--to", &server.url];
    tfhe_sbc(directory, &[&standing[..], rest].concat())
}

/// Waits until a standing query has nothing to do, and returns what it shows of itself.
#[track_caller]
fn settled(directory: &Path, server: &Server, name: &str, results: u64) -> serde_json::Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let shown = standing(directory, server, &["show", name, "--json"]).succeeded();
        let json = shown.json();
        if json["waiting"] == 0 && json["results"] == results {
            return json;
        }
        assert!(Instant::now() < deadline, "{json}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Two devices of a morning: from 9:00 on, with an hour in which one is silent.
fn morning(directory: &Path, server: &Server) {
    send(
        directory,
        server,
        "hill",
        &[(540, 1.0), (570, 2.0), (600, 3.0)],
    );
    send(directory, server, "lake", &[(550, -2.0)]);
    send(directory, server, "hill", &[(720, 4.5)]);
}

fn desk() -> tempfile::TempDir {
    let desk = shared().desk();
    for name in ["hill", "lake"] {
        tfhe_sbc(desk.path(), &["certs", "--out", "tls", "--add", name]).succeeded();
    }
    desk
}

#[test]
fn a_standing_query_is_left_followed_fetched_and_decrypted() {
    let desk = desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    let none = standing(directory, &server, &["list"]).succeeded();
    assert!(none.stderr.contains("query --every"), "{}", none.stderr);
    let questions = ["mean(level)", "count(level > encrypted(1.5))"];
    let begins = at(500);
    let options = [
        "1h",
        "--device",
        "hill,lak*",
        "--by",
        "device",
        "--since",
        &begins,
        "--grace",
        "0s",
        "--keep",
        "5y",
    ];
    let options = [&options[..], &questions].concat();
    every(directory, &server, &options).refused(&["nothing of these devices", "--columns"]);
    morning(directory, &server);
    let left = every(directory, &server, &options).succeeded();
    assert_eq!(left.text().trim(), "hourly");
    for words in ["for each 1h from", "kept for 5y", "standing get hourly"] {
        let words = words.replace("kept for", "keeps the results for");
        assert!(left.stderr.contains(&words), "{}", left.stderr);
    }
    let shown = settled(directory, &server, "hourly", 3);
    assert_eq!(shown["failed"], 0);
    assert_eq!(shown["periods"][0]["state"], "computed");
    assert_eq!(shown["questions"][1], "count(level > encrypted(…))");
    let listed = standing(directory, &server, &["list"]).succeeded();
    for words in ["hourly", "device,hour", "hill,lak*", "up to date"] {
        assert!(listed.text().contains(words), "{}", listed.text());
    }
    let shown = standing(directory, &server, &["show", "hourly"]).succeeded();
    for words in ["mean(level)", "computed until", &at(720), "goes on at"] {
        assert!(shown.text().contains(words), "{}", shown.text());
    }

    // All forms of the results have the same answers.
    let get = |options: &[&str]| {
        let get = [&["get", "hourly", "--last", "7d"], options].concat();
        standing(directory, &server, &get)
    };
    let table = get(&["--decrypt", "keys/secret.tsbc"]).succeeded();
    let lines: Vec<Vec<&str>> = table
        .text()
        .lines()
        .map(|line| line.split_whitespace().collect())
        .filter(|words: &Vec<&str>| words.first() == Some(&"mean(level)"))
        .collect();
    let (nine, ten, twelve) = (at(540), at(600), at(720));
    let mean = |device: &'static str, from: &'static str| {
        let from = match from {
            "nine" => &nine,
            "ten" => &ten,
            _ => &twelve,
        };
        (device, from.as_str())
    };
    let expected = [
        (mean("hill", "nine"), "2", "1.5"),
        (mean("hill", "ten"), "1", "3"),
        (mean("hill", "twelve"), "1", "4.5"),
        (mean("lake", "nine"), "1", "-2"),
    ];
    let expected: Vec<Vec<&str>> = expected
        .iter()
        .map(|((device, from), rows, answer)| vec!["mean(level)", device, from, rows, answer, "m"])
        .collect();
    assert_eq!(lines, expected, "{}", table.text());
    assert!(table.text().contains("about 5 rows"), "{}", table.text());
    let got = get(&["--out", "results/"]).succeeded();
    assert!(
        got.stderr.contains("3 periods in results/, 3 of them new"),
        "{}",
        got.stderr
    );
    let again = get(&["--out", "results"]).succeeded();
    assert!(again.stderr.contains("0 of them new"), "{}", again.stderr);
    get(&["--out", "all.tsbc"]).succeeded();
    for result in ["results", "all.tsbc"] {
        let decrypted = tfhe_sbc(directory, &["decrypt", result]).succeeded();
        assert_eq!(decrypted.text(), table.text(), "{result}");
    }
    let json = get(&["--decrypt", "keys/secret.tsbc", "--json"])
        .succeeded()
        .json();
    let answers = json["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 8);
    let counts: Vec<&serde_json::Value> = answers[4..]
        .iter()
        .map(|answer| &answer["answer"]["value"])
        .collect();
    assert_eq!(counts, [1.0, 1.0, 1.0, 0.0]);
    get(&["--decrypt", "keys/secret.tsbc", "--out", "hours.csv"]).succeeded();
    let csv = std::fs::read_to_string(directory.join("hours.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "device,from,until,rows,mean(level) [m],count(level > encrypted(…))"
    );
    assert_eq!(lines[1], format!("hill,{},{},2,1.5,1", at(540), at(600)));
    assert_eq!(lines.len(), 5);
    get(&["--decrypt", "keys/secret.tsbc", "--out", "hours.csv"]).refused(&["--force"]);
    let some = ["--decrypt", "keys/secret.tsbc", "--format", "jsonl"];
    let get_lake = ["get", "hourly", "--since", &at(660)];
    let jsonl = standing(directory, &server, &[&get_lake[..], &some].concat()).succeeded();
    let line: serde_json::Value = serde_json::from_str(jsonl.text().trim()).unwrap();
    assert_eq!(
        (&line["device"], &line["mean(level)"]),
        (&"hill".into(), &4.5.into())
    );
    get(&["--decrypt", "other-keys/secret.tsbc"]).refused(&["another key set"]);
    let nothing = ["get", "hourly", "--until", &at(500)];
    standing(directory, &server, &nothing).refused(&["no results of that time", "computed until"]);

    // A late upload changes one of them, also over a crash.
    send(directory, &server, "lake", &[(555, 5.0)]);
    server.kill();
    let server = Server::start(directory, &[]);
    let get = |options: &[&str]| {
        let get = [&["get", "hourly"], options].concat();
        standing(directory, &server, &get)
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let got = get(&["--out", "results"]).succeeded();
        if got.stderr.contains("1 of them new") {
            break;
        }
        assert!(Instant::now() < deadline, "{}", got.stderr);
        std::thread::sleep(Duration::from_millis(100));
    }
    let decrypted = tfhe_sbc(directory, &["decrypt", "results", "--format", "csv"]).succeeded();
    let lake = format!("lake,{},{},2,1.5,1", at(540), at(600));
    assert!(decrypted.text().contains(&lake), "{}", decrypted.text());
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
    assert!(
        log.contains("computed a period of a standing query"),
        "{log}"
    );
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let desk = desk();
    let directory = desk.path();
    let bob = ["certs", "--out", "tls", "--add", "bob", "--role", "owner"];
    tfhe_sbc(directory, &bob).succeeded();
    let server = Server::start(directory, &["--max-bootstraps", "10"]);
    morning(directory, &server);
    let mean = "mean(level)";
    for (options, words) in [
        (&["1h", "--newest", "1", mean][..], &["--newest"][..]),
        (&["1h", "--last", "1d", mean], &["--last", "--since"]),
        (
            &["1h", "--readings", "latest", mean],
            &["--readings", "--device"],
        ),
        (
            &["1h", "--until", "2026-01-01", mean],
            &["before there is any to come"],
        ),
        (&["1h", "--by", "15h", mean], &["whole groups"]),
        (&["1h", "--by", "1d", mean], &["whole groups"]),
        (&["1h", "--keep", "5m", mean], &["at least that time"]),
        (&["10s", mean], &["no periods of 10s"]),
        (&["often", mean], &["--every"]),
        (&["1h", "--out", "a", mean], &["--out"]),
        (&["1h", "--detach", mean], &["--detach"]),
        (&["1h", "--checks", "a", "--out", "b", mean], &["--checks"]),
        (&["1h", "--name", "a/b", mean], &["letters, digits"]),
        (
            &["1h", "--device", "roof", mean],
            &["nothing of these devices"],
        ),
        (&["1h", "mean(pressure)"], &["pressure"]),
        (
            &["1h", "--since", "1970-01-01", mean],
            &["more than the 100000"],
        ),
    ] {
        every(directory, &server, options).refused(words);
    }
    let name = ["--name", "hourly", mean];
    tfhe_sbc(
        directory,
        &[&["query", "--to", &server.url][..], &name].concat(),
    )
    .refused(&["--every"]);

    // A question that is too costly says so, and the others go on.
    let begins = at(500);
    let costly = [
        "1h",
        "--since",
        &begins,
        "--name",
        "costly",
        "sort(3 * flow + 2 * level)",
    ];
    every(directory, &server, &costly).succeeded();
    let daily = ["1d", "--by", "device,hour", "--since", &begins, mean];
    assert_eq!(
        every(directory, &server, &daily).succeeded().text().trim(),
        "daily"
    );
    settled(directory, &server, "daily", 1);
    // Its hours of one row are answered.
    let failed = settled(directory, &server, "costly", 2);
    assert_eq!(failed["failed"], 1);
    let shown = standing(directory, &server, &["show", "costly"]).succeeded();
    for words in ["bootstraps", "--max-bootstraps", "failed"] {
        assert!(shown.text().contains(words), "{}", shown.text());
    }
    let got = standing(
        directory,
        &server,
        &["get", "costly", "--out", "costly.tsbc"],
    );
    let got = got.succeeded();
    assert!(got.stderr.contains("1 period failed"), "{}", got.stderr);
    let listed = standing(directory, &server, &["list"]).succeeded();
    assert!(listed.text().contains("1 failed"), "{}", listed.text());
    let secret = ["get", "daily", "--decrypt", "keys/secret.tsbc"];
    let hours = standing(directory, &server, &secret).succeeded();
    assert_eq!(hours.text().matches(mean).count(), 4, "{}", hours.text());

    for task in ["show", "get", "pause", "resume", "rm"] {
        let asked = standing(directory, &server, &[task, "daily", "--identity", "bob"]);
        asked.refused(&["you have no standing query 'daily'"]);
    }
    standing(directory, &server, &["list", "--identity", "hill"]).refused(&["(403)"]);
    let paused = standing(directory, &server, &["pause", "daily"]).succeeded();
    assert!(paused.stderr.contains("is paused"), "{}", paused.stderr);
    let resumed = standing(directory, &server, &["resume", "daily", "--json"]).succeeded();
    assert_eq!(resumed.json()["paused"], false);
    let asked = standing(directory, &server, &["rm", "daily"]).succeeded();
    assert!(
        asked.stderr.contains("--yes would remove"),
        "{}",
        asked.stderr
    );
    let removed = standing(directory, &server, &["rm", "daily", "--yes"]).succeeded();
    assert!(
        removed.stderr.contains("removed 'daily' with 1 result"),
        "{}",
        removed.stderr
    );
    standing(directory, &server, &["show", "daily"]).refused(&["no standing query"]);
    drop(server);
    let server = Server::start(directory, &["--standing-bytes", "0"]);
    every(directory, &server, &["1h", mean]).refused(&["takes no standing queries"]);
}
