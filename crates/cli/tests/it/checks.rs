//! Check uploads: made, stored in a board's name, asked about, and compared; and a server that lies.

use std::path::Path;

use crate::common::{Server, shared, tfhe_sbc};
use serde_json::{Value, json};

/// Questions of every kind that a record has to repeat in the clear, with an encrypted threshold.
const QUESTIONS: [&str; 4] = [
    "mean(level)",
    "max(flow)",
    "count(level > encrypted(1.5))",
    "rows(flow >= 17 and level < 4)",
];

fn make(directory: &Path, out: &str) {
    let arguments = [
        "checks",
        "make",
        "readings.csv",
        "--columns",
        "columns.toml",
        "--key",
        "keys/device.tsbc",
        "--out",
        out,
    ];
    tfhe_sbc(directory, &arguments).succeeded();
}

fn record(directory: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("checks.json")).unwrap()).unwrap()
}

fn status(directory: &Path) -> Value {
    tfhe_sbc(directory, &["checks", "status", "--json"])
        .succeeded()
        .json()
}

#[test]
fn check_questions_are_asked_and_compared_and_a_lie_is_found() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    let send = |file: &str| {
        let sent = tfhe_sbc(directory, &["send", file, "--to", &server.url]).succeeded();
        sent.text().trim().to_owned()
    };
    let real = send("day.tsbc");
    make(directory, "check.tsbc");
    let check = send("check.tsbc");
    assert_eq!(record(directory)["uploads"][0]["id"], check);
    let mode = std::fs::metadata(directory.join("checks.json"))
        .unwrap()
        .permissions();
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
        0o600
    );
    // To the server it is like the upload that it is modelled on.
    let inspected = |file: &str| {
        let shown = tfhe_sbc(directory, &["inspect", file, "--json"])
            .succeeded()
            .text()
            .to_owned();
        let seed = |line: &str| line.contains("seed") || line.contains("checksum");
        shown
            .lines()
            .filter(|line| !seed(line))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let both = ["day.tsbc", "check.tsbc"]
        .map(|file| std::fs::metadata(directory.join(file)).unwrap().len());
    assert_eq!(both[0], both[1]);
    assert_eq!(inspected("day.tsbc").len(), inspected("check.tsbc").len());

    let query = |rate: &str, out: &str| {
        let arguments = [
            "query",
            "--to",
            &server.url,
            "--readings",
            &real,
            "--checks",
            "checks.json",
            "--check-rate",
            rate,
            "--out",
            out,
        ];
        tfhe_sbc(directory, &[&arguments[..], &QUESTIONS].concat()).succeeded()
    };
    query("0", "none.tsbc");
    assert!(!directory.join("none-check.tsbc").exists());
    let run = query("1", "asked.tsbc");
    assert!(run.stderr.contains("asked-check.tsbc"), "{}", run.stderr);
    let (asked, open) = (
        record(directory)["asked"].clone(),
        status(directory)["not_compared"].clone(),
    );
    assert_eq!((asked.as_array().unwrap().len(), open), (1, json!(1)));
    let decrypt = |file: &str| tfhe_sbc(directory, &["decrypt", file, "--checks", "checks.json"]);
    decrypt("asked.tsbc").refused(&["no answer to a check question", "OUT-check"]);
    let compared = decrypt("asked-check.tsbc").succeeded();
    for question in QUESTIONS {
        assert!(compared.text().contains(question), "{}", compared.text());
    }
    assert_eq!(
        compared.text().matches("the same").count(),
        4,
        "{}",
        compared.text()
    );
    decrypt("asked-check.tsbc").refused(&["compared already"]);
    let told = status(directory);
    assert_eq!((&told["right"], &told["wrong"]), (&json!(4), &json!(0)));
    let probability = told["found_out"][0]["probability"].as_f64().unwrap();
    assert!(
        (probability - (1.0 - 0.9f64.powi(4))).abs() < 1e-12,
        "{probability}"
    );

    // A server that answers about other readings: the result is the real one's, given for the check's.
    query("1", "again.tsbc");
    let mut lied = record(directory);
    let result = std::fs::read(directory.join("again.tsbc")).unwrap();
    lied["asked"][0]["result"] = json!(tfhe_sbc_transport::BlobId::of(&result).to_string());
    std::fs::write(directory.join("checks.json"), lied.to_string()).unwrap();
    let run = decrypt("again.tsbc");
    assert_eq!(run.status.code(), Some(1));
    for words in ["answers to check questions are wrong", "do not rely"] {
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
    assert!(run.text().contains("another"), "{}", run.text());
    let told = status(directory);
    assert_eq!(told["not_compared"], 0);
    assert!(told["wrong"].as_u64().unwrap() >= 2, "{told}");
}

#[test]
fn records_and_rates_that_cannot_be_used_are_refused() {
    let desk = shared().desk();
    let directory = desk.path();
    std::fs::write(directory.join("bad.json"), "{\"version\": 9}").unwrap();
    std::fs::write(directory.join("empty.csv"), "timestamp,level,flow\n").unwrap();
    let status = |file: &str| tfhe_sbc(directory, &["checks", "status", "--record", file]);
    status("none.json").refused(&["cannot read none.json", "tfhe-sbc checks make"]);
    status("bad.json").refused(&["format 9", "format 1"]);
    status("readings.csv").refused(&["no record of check uploads"]);
    let made = [
        "checks",
        "make",
        "empty.csv",
        "--columns",
        "columns.toml",
        "--key",
        "keys/device.tsbc",
        "--out",
        "check.tsbc",
    ];
    tfhe_sbc(directory, &made).refused(&["empty.csv has no readings"]);
    assert!(!directory.join("checks.json").exists());
    make(directory, "check.tsbc");
    let query = |more: &[&str]| {
        tfhe_sbc(
            directory,
            &[
                &["query", "max(level)", "--to", "https://localhost:1"],
                more,
            ]
            .concat(),
        )
    };
    query(&["--checks", "checks.json"]).refused(&["--out"]);
    query(&["--checks", "checks.json", "--out", "a", "--check-rate", "2"])
        .refused(&["from 0 to 1"]);
}
