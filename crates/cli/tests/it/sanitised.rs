//! Sanitised answers: asked for with a public key, over a server and in files.

use serde_json::Value;

use crate::common::{Server, shared, tfhe_sbc};

const QUESTIONS: [&str; 3] = ["mean(level)", "max(flow)", "rows(level >= 2)"];

/// The answers of a result and, if the server says that they are sanitised, log2 of what their noise tells.
fn decrypted(directory: &std::path::Path, file: &str) -> (Value, Option<f64>) {
    let decrypt = ["decrypt", file, "--key", "keys/secret.tsbc", "--json"];
    let json = tfhe_sbc(directory, &decrypt).succeeded().json();
    (json["answers"].clone(), json["sanitised"].as_f64())
}

#[test]
fn sanitised_answers_are_the_same_and_say_so() {
    let desk = shared().desk();
    let directory = desk.path();
    let public = ["device-key", "--public", "--out-device", "zeros.tsbc"];
    tfhe_sbc(directory, &public).succeeded();
    let server = Server::start(directory, &[]);
    tfhe_sbc(directory, &["send", "day.tsbc", "--to", &server.url]).succeeded();
    let query = |out: &str, more: &[&str]| {
        let to = ["query", "--to", &server.url, "--out", out];
        tfhe_sbc(directory, &[&to[..], more, &QUESTIONS].concat()).succeeded();
    };
    query("plain-result.tsbc", &[]);
    query("quiet-result.tsbc", &["--sanitise", "zeros.tsbc"]);
    let (plain, told) = decrypted(directory, "plain-result.tsbc");
    assert_eq!(told, None);
    let (quiet, told) = decrypted(directory, "quiet-result.tsbc");
    assert_eq!(quiet, plain);
    assert!((-20.0..-8.0).contains(&told.unwrap()), "{told:?}");
    let inspected = tfhe_sbc(directory, &["inspect", "quiet-result.tsbc"]).succeeded();
    assert!(
        inspected.text().contains("sanitised"),
        "{}",
        inspected.text()
    );
    let decrypt = ["decrypt", "quiet-result.tsbc", "--key", "keys/secret.tsbc"];
    let said = tfhe_sbc(directory, &decrypt).succeeded().stderr;
    assert!(
        said.contains("sanitised them: their noise tells at most 2^-"),
        "{said}"
    );

    let eval = ["eval", "--readings", "day.tsbc", "--sanitise", "zeros.tsbc"];
    let file = [&eval[..], &["--out", "eval-result.tsbc"], &QUESTIONS].concat();
    tfhe_sbc(directory, &file).succeeded();
    assert_eq!(decrypted(directory, "eval-result.tsbc").0, plain);
    let count = |more: &[&str]| {
        let count = ["eval", "--count", "--json", "--readings", "day.tsbc"];
        let counted = tfhe_sbc(directory, &[&count[..], more, &QUESTIONS].concat());
        counted.succeeded().json()["together"]["bootstraps"]
            .as_u64()
            .unwrap()
    };
    assert!(count(&["--sanitise", "zeros.tsbc"]) > count(&[]));
}

#[test]
fn wrong_files_for_sanitising_are_refused_with_advice() {
    let desk = shared().desk();
    let directory = desk.path();
    let eval = |more: &[&str]| {
        let eval = ["eval", "--readings", "day.tsbc", "--out", "no-result.tsbc"];
        tfhe_sbc(directory, &[&eval[..], more, &["max(flow)"]].concat())
    };
    let help = "device-key --public";
    eval(&["--sanitise", "keys/device.tsbc"]).refused(&["keys/device.tsbc", help]);
    eval(&["--sanitise", "nowhere.tsbc"]).refused(&["nowhere.tsbc"]);
    let secret = [
        "--secret",
        "other-keys/secret.tsbc",
        "--out-device",
        "other.tsbc",
    ];
    tfhe_sbc(
        directory,
        &[&["device-key", "--public"][..], &secret].concat(),
    )
    .succeeded();
    eval(&["--sanitise", "other.tsbc"]).refused(&["another key set"]);
    eval(&["--sanitise", "other.tsbc", "--unpacked"]).refused(&["--unpacked"]);
    assert!(!directory.join("no-result.tsbc").exists());
}
