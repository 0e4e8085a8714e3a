//! Uploads and readings over a broker: mosquitto, with certificates and access rules as
//! docs/agent.md shows them.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::board::{LEVEL, agent, stored_uploads};
use crate::common::mosquitto::{Mosquitto, desk};
use crate::common::{Server, command, tfhe_sbc};
use serde_json::json;
use tfhe_sbc_transport::signature::{Algorithm, SigningKey};

fn settings(desk: &Path, url: &str, device: &str, more: &str) {
    let text = format!(
        r#"
        [server]
        url = "{url}"
        timeout = "4s"
        [device]
        key = "keys/device.tsbc"
        [tls]
        ca = "tls/ca.pem"
        certificate = "tls/{device}.pem"
        key = "tls/{device}.key"
        {more}
        "#
    );
    fs::write(desk.join("agent.toml"), text).unwrap();
}

/// Settings of a source whose uploads take many parts, because its column has radix blocks.
const CSV: &str = r#"
    [csv]
    path = "log.csv"
    [batch]
    rows = 14000
    [mqtt]
    max_packet = 2048
    [[column]]
    name = "flow"
    offset = 0.0
    scale = 1.0
    bits = 6
    use = "radix"
    source = { kind = "csv" }
"#;

fn names(desk: &Path) -> Vec<String> {
    let ids = stored_uploads(desk).into_iter().map(|(id, _)| id);
    ids.collect()
}

fn serve(directory: &Path, broker: &str) -> Server {
    Server::start(directory, &["--mqtt", broker])
}

#[test]
fn an_upload_in_many_parts_is_stored_once_and_answered() {
    let desk = desk();
    let directory = desk.path();
    let broker = Mosquitto::start(directory, true);
    let url = format!("mqtts://{}", broker.address);
    settings(directory, &url, "hill", CSV);
    let rows: String = (0..14_000).map(|row| format!("{}\n", row % 64)).collect();
    fs::write(directory.join("log.csv"), format!("flow\n{rows}")).unwrap();

    // Nobody is behind the broker.
    let run = agent(directory, &["--once", "--json"]);
    assert_eq!(run.status.code(), Some(75), "{}", run.stderr);
    assert!(
        run.json()["failed"]
            .as_str()
            .unwrap()
            .contains("behind the broker")
    );

    let server = serve(directory, &url);
    let deadline = Instant::now() + Duration::from_secs(60);
    while agent(directory, &["--once"]).status.code() != Some(0) {
        assert!(Instant::now() < deadline, "it is not stored");
    }
    let uploads = stored_uploads(directory);
    assert_eq!(uploads.len(), 1);
    let size = uploads[0].1.len();
    // More parts than the agent sends ahead of the server.
    assert!(size > 140 * 2048, "{size}");
    // A board writes below its own name only,
    let publish = |topic: &str| {
        let port = broker.address.rsplit(':').next().unwrap();
        let run = Command::new("mosquitto_pub")
            .current_dir(directory)
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                port,
                "-q",
                "1",
                "-m",
                "?",
                "-t",
                topic,
            ])
            .args([
                "--cafile",
                "tls/ca.pem",
                "--cert",
                "tls/hill.pem",
                "--key",
                "tls/hill.key",
            ])
            .status()
            .expect("these tests need mosquitto's clients: apt-get install mosquitto-clients");
        assert!(run.success());
    };
    publish("tfhe-sbc/lake/up");
    publish("tfhe-sbc/hill/up");
    // and who has no certificate of the authority does not come in.
    let more = CSV.replace("log.csv", "other.csv");
    settings(directory, &url, "../foreign-tls/device", &more);
    fs::write(directory.join("other.csv"), "flow\n1\n").unwrap();
    let run = agent(directory, &["--once"]);
    assert_eq!(run.status.code(), Some(75), "{}", run.stderr);
    assert!(
        run.stderr.contains("does not take this certificate"),
        "{}",
        run.stderr
    );
    let (status, log) = server.terminate();
    assert!(status.success(), "{log}");
    let garbage =
        |device: &str| log.contains(&format!("is no part of an upload device=\"{device}\""));
    assert!(garbage("hill") && !garbage("lake"), "{log}");
    assert_eq!(log.matches("status=201").count(), 1, "{log}");
}

#[test]
fn definitions_travel_once_over_the_broker() {
    let desk = desk();
    let directory = desk.path();
    let broker = Mosquitto::start(directory, true);
    let url = format!("mqtts://{}", broker.address);
    let server = serve(directory, &url);
    // Labels of one length, so that all uploads are of one size.
    let more = CSV.replace("rows = 14000", "rows = 24");
    let more = more.replace("[batch]", "label = \"row\"\n[batch]");
    settings(directory, &url, "hill", &more);
    let rows = |count: usize| (0..count).map(|row| format!("{row:03},{}\n", row % 64));
    let log = |count| format!("row,flow\n{}", rows(count).collect::<String>());
    fs::write(directory.join("log.csv"), log(24)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let whole = loop {
        let run = agent(directory, &["--once", "--json"]);
        if run.status.code() == Some(0) {
            break run.json()["bytes"].as_u64().unwrap();
        }
        assert!(Instant::now() < deadline, "it is not stored");
    };
    let mut sizes = Vec::new();
    for days in 2..4 {
        fs::write(directory.join("log.csv"), log(24 * days)).unwrap();
        let run = agent(directory, &["--once", "--json"]).succeeded();
        assert_eq!(run.json()["rows"], 24);
        sizes.push(run.json()["bytes"].as_u64().unwrap());
    }
    assert!(
        sizes.iter().all(|&short| short + 190 < whole),
        "{whole} {sizes:?}"
    );
    let uploads = stored_uploads(directory);
    assert_eq!(uploads.len(), 3);
    for (_, upload) in uploads {
        assert_eq!(upload.len() as u64, whole);
    }
    // A server that lost the definitions answers so over the broker, too.
    let (status, words) = server.terminate();
    assert!(status.success() && !words.contains("status=409"), "{words}");
    fs::remove_dir_all(directory.join("store")).unwrap();
    let server = serve(directory, &url);
    fs::write(directory.join("log.csv"), log(24 * 4)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while agent(directory, &["--once"]).status.code() != Some(0) {
        assert!(Instant::now() < deadline, "it is not stored");
    }
    let (_, words) = server.terminate();
    assert_eq!(words.matches("status=409").count(), 1, "{words}");
    assert_eq!(words.matches("status=201").count(), 1, "{words}");
}

#[test]
fn refusals_come_back_over_the_broker() {
    let desk = desk();
    let directory = desk.path();
    let broker = Mosquitto::start(directory, true);
    let url = format!("mqtts://{}", broker.address);
    let _server = serve(directory, &url);
    settings(directory, &url, "hill", CSV);
    fs::write(directory.join("log.csv"), "flow\n1\n2\n").unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let output = command(directory, &["agent", "--once", "--json"])
            .env("TFHE_SBC_AGENT_DEVICE_KEY", "other-keys/device.tsbc")
            .output()
            .unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        if report["refused"] != json!([]) {
            let words = report["refused"][0].as_str().unwrap();
            assert!(words.contains("(422)") && words.contains("key"), "{words}");
            break;
        }
        assert!(Instant::now() < deadline, "{report}");
    }
    assert!(names(directory).is_empty());
}

#[test]
fn a_broker_that_is_started_again_loses_nothing() {
    let desk = desk();
    let directory = desk.path();
    let broker = Mosquitto::start(directory, true);
    let url = format!("mqtts://{}", broker.address);
    let port = broker.address.rsplit(':').next().unwrap().parse().unwrap();
    let _server = serve(directory, &url);
    let more = CSV.replace(
        "rows = 14000",
        "rows = 1\n[send]\nretry_first = \"50ms\"\nretry_most = \"500ms\"",
    );
    settings(directory, &url, "hill", &more);
    fs::write(directory.join("log.csv"), "flow\n1\n2\n3\n").unwrap();
    let mut child = command(directory, &["agent"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let wait = |count: usize| {
        let deadline = Instant::now() + Duration::from_secs(90);
        while names(directory).len() < count {
            assert!(
                Instant::now() < deadline,
                "{} of {count}",
                names(directory).len()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait(3);
    drop(broker);
    fs::write(directory.join("log.csv"), "flow\n1\n2\n3\n4\n5\n").unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let _broker = Mosquitto::start_at(directory, true, port);
    wait(5);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(directory).len(), 5);
}

#[test]
fn topics_are_sources() {
    let desk = desk();
    let directory = desk.path();
    let broker = Mosquitto::start(directory, false);
    let publish = |topic: &str, text: &str| {
        let (host, port) = broker.address.split_once(':').unwrap();
        let run = Command::new("mosquitto_pub")
            .args([
                "-h", host, "-p", port, "-r", "-q", "1", "-t", topic, "-m", text,
            ])
            .status()
            .expect("these tests need mosquitto's clients: apt-get install mosquitto-clients");
        assert!(run.success());
    };
    let more = format!(
        r#"
        [topics]
        broker = "mqtt://{}"
        [[column]]
        name = "kitchen"
        offset = 0.0
        scale = 0.5
        bits = 8
        source = {{ kind = "mqtt", topic = "home/kitchen", field = "temperature" }}
        [[column]]
        name = "hall"
        offset = 0.0
        scale = 0.5
        bits = 8
        source = {{ kind = "mqtt", topic = "home/hall" }}
        "#,
        broker.address
    );
    settings(directory, "https://127.0.0.1:1", "hill", &more);
    publish("home/kitchen", r#"{"temperature": 21.5}"#);
    agent(directory, &["--test"]).refused(&["no message of 'home/hall'"]);
    publish("home/hall", "17");
    let run = agent(directory, &["--test"]).succeeded();
    assert!(
        run.text().contains("kitchen: 21.5 \nhall: 17 \n"),
        "{}",
        run.text()
    );
}

/// A broker that is not believed: what it could publish in a board's name is refused without the board's signature.
#[test]
fn uploads_that_a_broker_could_forge_are_refused() {
    let desk = desk();
    let directory = desk.path();
    let broker = Mosquitto::start(directory, true);
    let url = format!("mqtts://{}", broker.address);
    let source = format!("{LEVEL}\nsource = {{ kind = \"command\", run = [\"echo\", \"1.5\"] }}");
    fs::write(directory.join("sources.toml"), source).unwrap();
    let provision = [
        "provision",
        "moor",
        "--server",
        &url,
        "--columns",
        "sources.toml",
    ];
    tfhe_sbc(directory, &provision).succeeded();
    let signer = directory.join("device-keys/moor-1.sign.pem");
    assert!(fs::read_to_string(&signer).unwrap().contains("PUBLIC KEY"));
    // Soon after a message that the server was not there to hear, the agent has to ask again.
    let settings_file = directory.join("moor.toml");
    let signed = fs::read_to_string(&settings_file).unwrap();
    let signed = signed.replacen("[server]\n", "[server]\ntimeout = \"4s\"\n", 1);
    assert!(signed.contains("timeout"), "{signed}");
    fs::write(&settings_file, &signed).unwrap();
    let options = [
        "--device-keys",
        "device-keys",
        "--mqtt",
        &url,
        "--mqtt-signed",
    ];
    let server = Server::start(directory, &options);

    let once = |file: &str| {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let run = tfhe_sbc(directory, &["agent", "--config", file, "--once", "--json"]);
            let failed = run.json()["failed"].as_str().unwrap_or_default().to_owned();
            // The server may not listen to the broker yet.
            if !failed.contains("behind the broker") {
                return (run.status.code(), failed);
            }
            assert!(Instant::now() < deadline, "{failed}");
        }
    };
    assert_eq!(once("moor.toml").0, Some(0));
    // A run before the server listened has left an upload, which the next run sends beside its own.
    let stored = names(directory).len();
    assert!(stored > 0);

    // The same key and the same topic, without the signature, and with that of somebody else.
    let start = signed.find("signing_key_pem").unwrap();
    let end = start + signed[start..].find("-----END").unwrap();
    let end = end + signed[end..].find("\"\"\"\n").unwrap() + 4;
    let unsigned = format!("{}{}", &signed[..start], &signed[end..]);
    fs::write(directory.join("unsigned.toml"), &unsigned).unwrap();
    let (code, words) = once("unsigned.toml");
    assert_eq!(code, Some(75), "{words}");
    assert!(
        words.contains("(403)") && words.contains("not signed"),
        "{words}"
    );
    let other = SigningKey::generate(Algorithm::MlDsa65).unwrap();
    fs::write(
        directory.join("other.key"),
        other.to_pem().unwrap().as_bytes(),
    )
    .unwrap();
    let signed_by_other = unsigned.replace("key_base64", "signing_key = \"other.key\"\nkey_base64");
    fs::write(directory.join("other.toml"), signed_by_other).unwrap();
    let (code, words) = once("other.toml");
    assert_eq!(code, Some(75), "{words}");
    assert!(
        words.contains("(403)") && words.contains("ml-dsa-65"),
        "{words}"
    );
    // A board without a key for signatures.
    settings(directory, &url, "hill", CSV);
    fs::write(directory.join("log.csv"), "flow\n1\n").unwrap();
    let (code, words) = once("agent.toml");
    assert_eq!(code, Some(75), "{words}");
    assert!(
        words.contains("(403)") && words.contains("--mqtt-signed"),
        "{words}"
    );
    assert_eq!(names(directory).len(), stored);

    // What was kept is stored once the server has the other key.
    fs::write(&signer, other.public_pem().unwrap()).unwrap();
    assert_eq!(once("other.toml").0, Some(0));
    assert!(names(directory).len() > stored);
    let (_, log) = server.terminate();
    assert!(log.contains("upload over the broker"), "{log}");
}
