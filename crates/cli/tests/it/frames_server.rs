//! Frames of small boards, over all networks, into a real server: stored once, counted, answered, and right in answers.
#![cfg(unix)]

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tfhe_sbc_transport::client::{Client, ClientError};
use tfhe_sbc_transport::identity::{CertificateFiles, Identity};
use tfhe_sbc_transport::protocol::DeviceId;

use crate::common::frames::{Board, make_pads};
use crate::common::mosquitto::{Mosquitto, desk};
use crate::common::{self, Server, shared, tfhe_sbc, tfhe_sbc_fed};

/// A board of LoRaWAN, a board over UDP, and a board whose program is in C.
const LORA: &str = "70b3d57ed0001234";
const RADIO: &str = "00000000000000a1";
const CORTEX: &str = "70b3d57ed000c0de";

/// The codes of level (4 bits) and flow (6 bits) of three rows, for each counter.
fn codes(counter: u8) -> [u8; 6] {
    std::array::from_fn(|i| {
        let number = 37 * counter + 11 * i as u8 + 5;
        number % if i.is_multiple_of(2) { 16 } else { 64 }
    })
}

/// The sum of the flow of some frames, and the largest level.
fn plain(counters: &[u8]) -> (f64, f64) {
    let all: Vec<_> = counters
        .iter()
        .flat_map(|&counter| codes(counter))
        .collect();
    let flow = all.iter().skip(1).step_by(2);
    let level = all
        .iter()
        .step_by(2)
        .map(|&code| f64::from(code) * 0.5 - 2.0);
    (
        flow.map(|&code| f64::from(code)).sum(),
        level.fold(f64::MIN, f64::max),
    )
}

/// The answers to the sum of the flow and the number of rows with the largest level.
fn ask(directory: &Path, url: &str, readings: &str, highest: f64) -> (f64, f64) {
    let above = format!("count(level >= {highest})");
    let asked = [
        "query",
        "--to",
        url,
        "--readings",
        readings,
        "sum(flow)",
        &above,
    ];
    let result = tfhe_sbc(directory, &asked).succeeded().stdout;
    let decoded = tfhe_sbc_fed(directory, &["decrypt", "--json"], &result).succeeded();
    let answers = decoded.json()["answers"].clone();
    let number = |place: usize| {
        let answer = &answers[place]["answer"];
        let number = answer["value"]
            .as_f64()
            .or_else(|| answer["count"].as_f64());
        number.unwrap_or_else(|| panic!("{answers}"))
    };
    (number(0), number(1))
}

fn check_answers(directory: &Path, url: &str, readings: &str, counters: &[u8]) {
    let (sum, highest) = plain(counters);
    let all = counters.iter().flat_map(|&counter| codes(counter));
    let code = ((highest + 2.0) / 0.5) as u8;
    let count = all.step_by(2).filter(|&level| level >= code).count();
    assert_eq!(ask(directory, url, readings, highest), (sum, count as f64));
}

fn client(directory: &Path, url: &str, name: &str) -> Client {
    let own = CertificateFiles::named(&directory.join("tls"), name);
    let identity = Identity::load(&directory.join("tls/ca.pem"), &own).unwrap();
    Client::connect(url, &identity).unwrap()
}

fn id(board: &str) -> DeviceId {
    board.parse().unwrap()
}

fn pads_send(directory: &Path, url: &str, file: &str) -> Value {
    let send = ["pads", "send", file, "--to", url, "--json"];
    tfhe_sbc(directory, &send).succeeded().json()
}

/// The line of the list for the newest pads of a board.
fn listed(directory: &Path, url: &str, board: &str) -> Value {
    let list = tfhe_sbc(directory, &["pads", "list", "--to", url, "--json"]).succeeded();
    let list = list.json()["pads"].as_array().unwrap().clone();
    let found = list.into_iter().find(|entry| entry["board"] == board);
    found.unwrap()
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn metric(client: &Client, line: &str) -> u64 {
    let text = client.metrics().unwrap();
    let value = text
        .lines()
        .find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
    value.unwrap().parse().unwrap()
}

fn refusals(client: &Client, reason: &str) -> u64 {
    let line = format!("tfhe_sbc_frames_refused_total{{reason=\"{reason}\"}}");
    metric(client, &line)
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, ClientError>, expected: u16, word: &str) {
    match result {
        Err(ClientError::Refused {
            status, message, ..
        }) if status == expected => assert!(message.contains(word), "{message}"),
        other => panic!("expected {expected}, got {other:?}"),
    }
}

/// Events as ChirpStack publishes them, with what this server does not read.
fn event(board: &str, port: u8, frame: &[u8]) -> String {
    use base64::Engine as _;
    json!({
        "deduplicationId": "3ac7e3c4-4401-4b8d-9386-a5c902f9202d",
        "deviceInfo": {"applicationId": "17c82e96", "deviceName": "gauge", "devEui": board, "tags": {}},
        "dr": 5, "fCnt": 24, "fPort": port, "confirmed": false,
        "data": base64::engine::general_purpose::STANDARD.encode(frame),
        "rxInfo": [{"gatewayId": "0016c001f153a14c", "rssi": -57}],
    })
    .to_string()
}

/// The frames 0 to `count - 1` of a board whose program in C was built with the header of `pads make`.
fn frames_in_c(directory: &Path, board: &str, count: u8) -> Vec<Vec<u8>> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../frames/c");
    let program = r#"
#include <stdio.h>
#include <stdlib.h>
#include "BOARD.h"
static uint32_t stored;
static int store(void *context, uint32_t limit) { (void)context; stored = limit; return 0; }
int main(int argc, char **argv) {
    tfhe_sbc_frames frames;
    tfhe_sbc_code codes[64];
    uint8_t frame[256];
    if (tfhe_sbc_frames_open(&frames, &board, stored, 4, store, NULL) != 0) return 1;
    int per_frame = board.rows * board.columns, used = 0;
    for (int i = 1; i < argc; i++) {
        codes[used++] = (tfhe_sbc_code)atoi(argv[i]);
        if (used < per_frame) continue;
        used = 0;
        int len = tfhe_sbc_frames_encode(&frames, codes, frame);
        if (len <= 0) return 2;
        for (int k = 0; k < len; k++) printf("%02x", frame[k]);
        printf("\n");
    }
    return 0;
}
"#;
    let source = directory.join("board.c");
    fs::write(&source, program.replace("BOARD", board)).unwrap();
    let binary = directory.join("board");
    let built = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(&sources)
        .arg("-I")
        .arg(directory)
        .arg(&source)
        .arg(sources.join("tfhe_sbc_frames.c"))
        .arg("-o")
        .arg(&binary)
        .status();
    assert!(built.unwrap().success(), "the C compiler");
    let numbers = (0..count).flat_map(codes).map(|code| code.to_string());
    let run = Command::new(&binary).args(numbers).output().unwrap();
    assert!(run.status.success());
    let text = String::from_utf8(run.stdout).unwrap();
    let byte = |line: &str, at: usize| u8::from_str_radix(&line[at..at + 2], 16).unwrap();
    text.lines()
        .map(|line| {
            (0..line.len())
                .step_by(2)
                .map(|at| byte(line, at))
                .collect()
        })
        .collect()
}

/// A socket that waits a moment for an answer.
fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let patience = Duration::from_secs(20);
    socket.set_read_timeout(Some(patience)).unwrap();
    socket
}

fn free_udp() -> String {
    common::free_address().to_string()
}

#[test]
fn frames_over_all_networks_become_readings_that_are_asked_about() {
    let desk = desk();
    let directory = desk.path();
    tfhe_sbc(directory, &["certs", "--add", LORA, "--role", "device"]).succeeded();
    let secure = Mosquitto::start(directory, true);
    let lora = Mosquitto::start(directory, false);
    let udp = free_udp();
    let (broker, chirpstack) = (
        format!("mqtts://{}", secure.address),
        format!("mqtt://{}", lora.address),
    );
    let options = [
        "--mqtt",
        &broker,
        "--mqtt-frames",
        "--udp-frames",
        &udp,
        "--chirpstack",
        &chirpstack,
        "--chirpstack-port",
        "85",
    ];
    let server = Server::start(directory, &options);
    let url = server.url.clone();
    make_pads(directory, LORA, &[]);
    make_pads(directory, RADIO, &["--named"]);
    let in_c = [
        "pads",
        "make",
        CORTEX,
        "--rows",
        "20",
        "--frame",
        "3",
        "--columns",
        "columns.toml",
    ];
    tfhe_sbc(directory, &in_c).succeeded();
    for board in [LORA, RADIO, CORTEX] {
        let entry = pads_send(directory, &url, &format!("{board}.pads.tsbc"));
        assert_eq!((&entry["frames"], &entry["left"]), (&json!(7), &json!(7)));
    }
    let device = client(directory, &url, "device");

    // A LoRaWAN board by three ways, out of order, one frame twice and one never.
    let board = Board::read(&directory.join(format!("{LORA}.board.tsbc")));
    let frame = |counter: u8| board.frame(counter.into(), &codes(counter));
    assert!(device.send_frame(id(LORA), &frame(2)).unwrap().created);
    let file = directory.join("frame.bin");
    let topic = format!("tfhe-sbc/{LORA}/frame");
    fs::write(&file, frame(0)).unwrap();
    // Until the server has its sessions with the brokers, messages are lost.
    wait_until("the frame over MQTT", || {
        secure.publish(directory, Some(LORA), &topic, &file);
        listed(directory, &url, LORA)["arrived"] == 2
    });
    assert!(!device.send_frame(id(LORA), &frame(0)).unwrap().created);
    fs::write(directory.join("other-port"), event(LORA, 2, b"?")).unwrap();
    fs::write(&file, event(LORA, 85, &frame(4))).unwrap();
    wait_until("the frame from ChirpStack", || {
        let topic = format!("application/17c82e96/device/{LORA}/event/up");
        lora.publish(directory, None, &topic, &directory.join("other-port"));
        lora.publish(directory, None, &topic, &file);
        listed(directory, &url, LORA)["arrived"] == 3
    });
    assert!(device.send_frame(id(LORA), &frame(1)).unwrap().created);
    let entry = listed(directory, &url, LORA);
    let numbers = ["arrived", "missing", "left"].map(|key| entry[key].as_u64().unwrap());
    assert_eq!(numbers, [4, 1, 2]);
    check_answers(directory, &url, &format!("board:{LORA}"), &[0, 1, 2, 4]);
    check_answers(directory, &url, &format!("board:{LORA}:1-3"), &[1, 2]);

    // A board over UDP, each frame until it is acknowledged.
    let board = Board::read(&directory.join(format!("{RADIO}.board.tsbc")));
    let socket = socket();
    for counter in 0..3 {
        let frame = board.frame(counter.into(), &codes(counter));
        let expected = board.encoder(0, 7).acknowledgement(&frame).unwrap();
        for _ in 0..2 {
            socket.send_to(&frame, &udp).unwrap();
            let mut answer = [0; 64];
            let (len, _) = socket.recv_from(&mut answer).unwrap();
            assert!(expected.is(&answer[..len]) && len < frame.len());
        }
    }
    check_answers(directory, &url, &format!("board:{RADIO}"), &[0, 1, 2]);

    // A board whose program is in C.
    for (counter, frame) in (0_u8..).zip(frames_in_c(directory, CORTEX, 3)) {
        let receipt = device.send_frame(id(CORTEX), &frame).unwrap();
        assert_eq!(receipt.counter, u32::from(counter));
    }
    check_answers(directory, &url, &format!("board:{CORTEX}"), &[0, 1, 2]);
    // What became of a frame is an upload like any other.
    let receipt = device
        .send_frame(id(RADIO), &board.frame(1, &codes(1)))
        .unwrap();
    check_answers(directory, &url, &receipt.readings.to_string(), &[1]);
    assert_eq!(metric(&device, "tfhe_sbc_frames_total{stored=\"new\"}"), 10);

    // What arrived before a power cut is known after it.
    server.kill();
    let server = Server::start(directory, &[]);
    let device = client(directory, &server.url, "device");
    let repeated = device
        .send_frame(id(RADIO), &board.frame(2, &codes(2)))
        .unwrap();
    assert!(!repeated.created);
    assert_eq!(listed(directory, &server.url, RADIO)["arrived"], 3);
}

#[test]
fn frames_and_pads_that_must_not_be_taken_are_refused_and_counted() {
    let desk = shared().desk();
    let directory = desk.path();
    let udp = free_udp();
    let server = Server::start(directory, &["--udp-frames", &udp]);
    let url = server.url.as_str();
    make_pads(directory, LORA, &[]);
    make_pads(directory, RADIO, &["--named"]);
    let (lora_pads, radio_pads) = (format!("{LORA}.pads.tsbc"), format!("{RADIO}.pads.tsbc"));
    let send = |file: &str, identity: &str| {
        let send = ["pads", "send", file, "--to", url, "--identity", identity];
        tfhe_sbc(directory, &send)
    };
    // Pads are the owner's, of this key set, and whole.
    send(&radio_pads, "device").refused(&["may not manage the pads"]);
    make_pads(directory, CORTEX, &["--key", "other-keys/device.tsbc"]);
    send(&format!("{CORTEX}.pads.tsbc"), "owner").refused(&["key", "make pads with a device key"]);
    let mut bytes = fs::read(directory.join(&lora_pads)).unwrap();
    bytes.pop();
    fs::write(directory.join("cut.tsbc"), bytes).unwrap();
    send("cut.tsbc", "owner").refused(&["pads make"]);
    send("day.tsbc", "owner").refused(&["pads make"]);
    for pads in [&lora_pads, &radio_pads] {
        send(pads, "owner").succeeded();
        let again = send(pads, "owner").succeeded();
        assert!(again.stderr.contains("stored already"), "{}", again.stderr);
    }
    let device = client(directory, url, "device");
    refused(device.pads(), 403, "may not");
    refused(device.end_pads(id(LORA)), 403, "may not");

    let radio = Board::read(&directory.join(format!("{RADIO}.board.tsbc")));
    let lora = Board::read(&directory.join(format!("{LORA}.board.tsbc")));
    let good = radio.frame(0, &codes(0));
    let send = |board: &str, frame: &[u8]| device.send_frame(id(board), frame);
    let mut flipped = good.clone();
    flipped[14] ^= 4;
    refused(send(RADIO, &flipped), 422, "tag");
    refused(send(RADIO, &good[..good.len() - 1]), 422, "bytes");
    refused(send(RADIO, &[]), 422, "bytes");
    refused(send(LORA, &good), 422, "bytes");
    let renamed = [&id(RADIO).0[..], &lora.frame(0, &codes(0))].concat();
    refused(send(RADIO, &renamed), 422, "tag");
    refused(send(CORTEX, &good), 403, "no pads");
    refused(
        send(RADIO, &radio.frame(7, &codes(0))),
        422,
        "beyond the pads",
    );
    // Replayed frames change nothing.
    assert!(send(RADIO, &good).unwrap().created);
    assert!(!send(RADIO, &good).unwrap().created);
    refused(
        send(RADIO, &radio.frame(0, &codes(1))),
        422,
        "lost its counter",
    );
    for (reason, count) in [
        ("tag", 2),
        ("malformed", 3),
        ("unknown_board", 1),
        ("counter", 1),
        ("pad_used_twice", 1),
    ] {
        assert_eq!(refusals(&device, reason), count, "{reason}");
    }

    // Over UDP there is no answer to them.
    let socket = socket();
    let counted = || {
        let reasons = ["tag", "malformed", "unknown_board"];
        reasons.map(|reason| refusals(&device, reason))
    };
    for round in 1..=20 {
        for datagram in [&flipped[..], &good[..20], &[7; 30], b"", &[0; 60_000]] {
            socket.send_to(datagram, &udp).unwrap();
        }
        let expected = [2 + round, 3 + 2 * round, 1 + 2 * round];
        wait_until("all are counted", || counted() == expected);
    }
    let frame = radio.frame(1, &codes(1));
    socket.send_to(&frame, &udp).unwrap();
    let mut answer = [0; 64];
    let (len, _) = socket.recv_from(&mut answer).unwrap();
    let expected = radio.encoder(0, 7).acknowledgement(&frame).unwrap();
    assert!(expected.is(&answer[..len]));

    // New pads take over with their first frame. Frames of the old ones count until then.
    let more = [
        "--out-server",
        "new.pads.tsbc",
        "--out-board",
        "new.board.tsbc",
        "--named",
    ];
    make_pads(directory, RADIO, &more);
    let entry = pads_send(directory, url, "new.pads.tsbc");
    assert_eq!(
        (&entry["arrived"], &entry["ended_at"]),
        (&json!(0), &Value::Null)
    );
    let renewed = Board::read(&directory.join("new.board.tsbc"));
    assert!(send(RADIO, &radio.frame(2, &codes(2))).unwrap().created);
    assert!(send(RADIO, &renewed.frame(0, &codes(5))).unwrap().created);
    refused(send(RADIO, &radio.frame(3, &codes(3))), 422, "ended");
    // A repetition of what has arrived is acknowledged as ever.
    assert!(!send(RADIO, &radio.frame(2, &codes(2))).unwrap().created);
    check_answers(directory, url, &format!("board:{RADIO}"), &[5]);
    let ended = tfhe_sbc(directory, &["pads", "end", RADIO, "--to", url, "--json"]).succeeded();
    let ended = ended.json()["pads"].clone();
    assert_eq!(ended.as_array().unwrap().len(), 2);
    assert!(ended[0]["ended_at"].is_string() && ended[1]["ended_at"].is_string());
    refused(send(RADIO, &renewed.frame(1, &codes(1))), 422, "ended");
    assert_eq!(refusals(&device, "ended"), 2);

    // The log tells each reason once in a while, however many there are.
    let (status, log) = server.terminate();
    assert!(status.success());
    let lines = log.lines().filter(|line| line.contains("refused a frame"));
    let lines = lines.filter(|line| line.contains("udp")).count();
    assert!((3..12).contains(&lines), "{lines} lines:\n{log}");
    // Nothing of a key is in it.
    let board = fs::read(directory.join(format!("{RADIO}.board.tsbc"))).unwrap();
    assert!(
        !log.as_bytes()
            .windows(16)
            .any(|part| board.windows(16).any(|key| key == part))
    );
}
