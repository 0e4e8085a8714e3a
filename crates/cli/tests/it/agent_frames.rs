//! The agent that sends frames: over UDP, HTTPS and MQTT, through losses and kills, and never with a pad twice.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::board::{agent, append};
use crate::common::frames::{make_pads, make_pads_for};
use crate::common::mosquitto::{Mosquitto, desk};
use crate::common::{self, Server, command, shared, tfhe_sbc, tfhe_sbc_fed};

const BOARD: &str = "00000000000000b7";

/// Settings of an agent that sends the columns of `columns.toml` in frames.
fn settings(desk: &Path, url: &str, device: &str, more: &str) {
    let text = format!(
        r#"
        [server]
        url = "{url}"
        transport = "frames"
        timeout = "4s"
        [device]
        key = "{BOARD}.board.tsbc"
        [tls]
        ca = "tls/ca.pem"
        certificate = "tls/{device}.pem"
        key = "tls/{device}.key"
        [csv]
        path = "log.csv"
        every = "5ms"
        [send]
        retry_first = "20ms"
        retry_most = "200ms"
        {more}
        [[column]]
        name = "level"
        unit = "m"
        offset = -2.0
        scale = 0.5
        bits = 4
        source = {{ kind = "csv" }}
        [[column]]
        name = "flow"
        offset = 0.0
        scale = 1.0
        bits = 6
        source = {{ kind = "csv" }}
        "#
    );
    fs::write(desk.join("agent.toml"), text).unwrap();
}

/// Lines of a log, of which no two have the same pair of values.
fn lines(rows: std::ops::Range<u32>) -> String {
    let line = |row: u32| format!("{},{}\n", f64::from(row / 61 % 16) * 0.5 - 2.0, row % 61);
    rows.map(line).collect()
}

fn sum_of_flow(rows: u32) -> f64 {
    (0..rows).map(|row| f64::from(row % 61)).sum()
}

fn pads_of_board(desk: &Path, url: &str) -> Value {
    let list = tfhe_sbc(desk, &["pads", "list", "--to", url, "--json"]).succeeded();
    list.json()["pads"][0].clone()
}

fn check_answers(desk: &Path, url: &str, rows: u32) {
    let readings = format!("board:{BOARD}");
    let asked = ["query", "--to", url, "--readings", &readings, "sum(flow)"];
    let result = tfhe_sbc(desk, &asked).succeeded().stdout;
    let decoded = tfhe_sbc_fed(desk, &["decrypt", "--json"], &result).succeeded();
    let sum = decoded.json()["answers"][0]["answer"]["value"].as_f64();
    assert_eq!(sum, Some(sum_of_flow(rows)));
}

fn send_pads(desk: &Path, url: &str) {
    let file = format!("{BOARD}.pads.tsbc");
    tfhe_sbc(desk, &["pads", "send", &file, "--to", url]).succeeded();
}

#[test]
fn the_counter_begins_once_for_a_key_and_is_never_guessed() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    make_pads(directory, BOARD, &[]);
    settings(directory, &server.url, "device", "");
    fs::write(
        directory.join("log.csv"),
        format!("level,flow\n{}", lines(0..4)),
    )
    .unwrap();
    agent(directory, &["--once"]).refused(&["has lost its counter", "agent begin"]);
    agent(directory, &["begin"]).succeeded();
    agent(directory, &["begin"]).refused(&["has a counter already", "start the agent"]);

    // Without pads on the server, frames are kept.
    let run = agent(directory, &["--once", "--json"]);
    assert_eq!(run.status.code(), Some(75), "{}", run.stderr);
    let failed = run.json()["failed"].as_str().unwrap().to_owned();
    assert!(
        failed.contains("no pads") && failed.contains("pads send"),
        "{failed}"
    );
    send_pads(directory, &server.url);
    let run = agent(directory, &["--once", "--json"]).succeeded();
    // The fourth row waits for a whole frame, in the file.
    assert_eq!(
        (run.json()["rows"].as_u64(), run.json()["sent"].as_u64()),
        (Some(0), Some(1))
    );
    append(&directory.join("log.csv"), &lines(4..6));
    let run = agent(directory, &["--once", "--json"]).succeeded();
    assert_eq!(
        (run.json()["rows"].as_u64(), run.json()["sent"].as_u64()),
        (Some(3), Some(1))
    );
    let tested = agent(directory, &["--test"]).succeeded();
    assert!(
        tested.text().contains("3 rows, a full batch"),
        "{}",
        tested.text()
    );
    check_answers(directory, &server.url, 6);

    // A spool that forgot the counter begins no second time by itself.
    for entry in fs::read_dir(directory.join("spool")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension() == Some("counter".as_ref()) {
            fs::write(&path, b"TSBCOUNT").unwrap();
        }
    }
    append(&directory.join("log.csv"), &lines(6..9));
    agent(directory, &["--once"]).refused(&["has lost its counter"]);

    // What frames cannot do is said at once.
    settings(directory, "udp://127.0.0.1:9", "device", "");
    agent(directory, &["--test"]).refused(&["has to name its board", "--named"]);
    let text = fs::read_to_string(directory.join("agent.toml")).unwrap();
    let uploads = text.replace("transport = \"frames\"", "transport = \"uploads\"");
    fs::write(directory.join("agent.toml"), uploads).unwrap();
    agent(directory, &["--test"]).refused(&["uploads do not travel over UDP"]);
    settings(directory, &server.url, "device", "");
    let other = text
        .replace("bits = 6", "bits = 7")
        .replace("udp://127.0.0.1:9", &server.url);
    fs::write(directory.join("agent.toml"), other).unwrap();
    agent(directory, &["--test"]).refused(&["column 2 is not the one", "bits = 6"]);
    let wrong = text.replace(&format!("{BOARD}.board.tsbc"), "keys/device.tsbc");
    fs::write(directory.join("agent.toml"), wrong).unwrap();
    agent(directory, &["--test"]).refused(&["pads make --agent"]);
}

#[test]
fn frames_of_the_agent_travel_over_a_broker() {
    let desk = desk();
    let directory = desk.path();
    let broker = Mosquitto::start(directory, true);
    let url = format!("mqtts://{}", broker.address);
    let server = Server::start(directory, &["--mqtt", &url, "--mqtt-frames"]);
    // The certificate is the agent's and not the board's, so frames name the board.
    make_pads(directory, BOARD, &[]);
    settings(directory, &url, "hill", "");
    agent(directory, &["--test"]).refused(&["certificate's name", "--named"]);
    for file in [".board.tsbc", ".pads.tsbc"] {
        fs::remove_file(directory.join(format!("{BOARD}{file}"))).unwrap();
    }
    make_pads(directory, BOARD, &["--named"]);
    send_pads(directory, &server.url);
    agent(directory, &["begin"]).succeeded();
    fs::write(
        directory.join("log.csv"),
        format!("level,flow\n{}", lines(0..9)),
    )
    .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while pads_of_board(directory, &server.url)["arrived"] != 3 {
        assert!(Instant::now() < deadline, "the frames do not arrive");
        let run = agent(directory, &["--once"]);
        assert!(matches!(run.status.code(), Some(0 | 75)), "{}", run.stderr);
    }
    check_answers(directory, &server.url, 9);
    // A refusal comes back over the broker: the owner has ended the pads.
    tfhe_sbc(directory, &["pads", "end", BOARD, "--to", &server.url]).succeeded();
    append(&directory.join("log.csv"), &lines(9..12));
    let run = agent(directory, &["--once", "--json"]);
    let refused = run.json()["refused"][0]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        refused.contains("(422)") && refused.contains("ended"),
        "{refused}"
    );
}

/// The frames that a network between board and server saw: the bytes of each counter.
type Seen = Arc<Mutex<BTreeMap<u32, Vec<u8>>>>;

/// A network that loses every fifth datagram in both directions, and remembers what boards sent.
fn lossy_network(server: &str, seen: Seen, stop: Arc<AtomicBool>) -> String {
    let outside = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = outside.local_addr().unwrap().to_string();
    let server = server.to_owned();
    outside
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    std::thread::spawn(move || {
        let inside = UdpSocket::bind("127.0.0.1:0").unwrap();
        inside.connect(server).unwrap();
        inside
            .set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let (mut buffer, mut count, mut board) = ([0; 256], 0_u32, None);
        let mut is_lost = || {
            count += 1;
            count.is_multiple_of(5)
        };
        while !stop.load(Ordering::Relaxed) {
            if let Ok((len, from)) = outside.recv_from(&mut buffer) {
                board = Some(from);
                let frame = &buffer[..len];
                let counter = u32::from_le_bytes(frame[8..12].try_into().unwrap());
                let mut seen = seen.lock().unwrap();
                let first = seen.entry(counter).or_insert_with(|| frame.to_vec());
                assert_eq!(first, frame, "the pads of frame {counter} were used twice");
                if !is_lost() {
                    let _ = inside.send(frame);
                }
            }
            while let Ok(len) = inside.recv(&mut buffer) {
                if let (Some(board), false) = (board, is_lost()) {
                    let _ = outside.send_to(&buffer[..len], board);
                }
            }
        }
    });
    address
}

#[test]
fn through_kills_and_losses_no_pad_is_used_twice_and_no_row_counts_twice() {
    const ROWS: u32 = 90;
    let desk = shared().desk();
    let directory = desk.path();
    let udp = common::free_address().to_string();
    let mut server = Server::start(directory, &["--udp-frames", &udp]);
    make_pads_for(directory, BOARD, 900, &["--named"]);
    send_pads(directory, &server.url);
    let (seen, stop) = (Seen::default(), Arc::<AtomicBool>::default());
    let network = lossy_network(&udp, Arc::clone(&seen), Arc::clone(&stop));
    settings(
        directory,
        &format!("udp://{network}"),
        "device",
        "[frames]\nleap = 4",
    );
    agent(directory, &["begin"]).succeeded();
    fs::write(directory.join("log.csv"), "level,flow\n").unwrap();

    let start = || {
        let mut command = command(directory, &["agent"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    // Times of kills that are different in each round, from before the first frame to after some.
    let mut number = u64::from(std::process::id()) | 1;
    for round in 0..14 {
        append(&directory.join("log.csv"), &lines(round * 6..round * 6 + 6));
        let mut child = start();
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        std::thread::sleep(Duration::from_millis(number >> 33 & 0x1ff));
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        if round == 7 {
            server.kill();
            server = Server::start(directory, &["--udp-frames", &udp]);
        }
    }
    append(&directory.join("log.csv"), &lines(84..ROWS));
    let mut child = start();
    let deadline = Instant::now() + Duration::from_secs(120);
    let arrived = || {
        pads_of_board(directory, &server.url)["arrived"]
            .as_u64()
            .unwrap()
    };
    while arrived() < u64::from(ROWS / 3) {
        assert!(Instant::now() < deadline, "{} frames arrived", arrived());
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    stop.store(true, Ordering::Relaxed);

    // Every row is there once.
    let pads = pads_of_board(directory, &server.url);
    assert_eq!(pads["arrived"], ROWS / 3);
    check_answers(directory, &server.url, ROWS);
    // The kills made the board leap over counters, and no frame is of a counter with two contents.
    let seen = seen
        .lock()
        .expect("the network saw the pads of a frame used twice");
    let newest = *seen.keys().next_back().unwrap();
    assert!(
        seen.len() as u32 >= ROWS / 3 && newest >= ROWS / 3,
        "{newest}"
    );
    assert_eq!(u64::from(newest) + 1, 300 - pads["left"].as_u64().unwrap());
    let (status, log) = server.terminate();
    assert!(status.success() && !log.contains("twice"), "{log}");
}
