//! The promise of the formats: the present program reads the files that released programs wrote, computes on
//! them and decrypts them. `tests/releases/README.md` says what the files are and how a release adds its own.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameter_sets::packing_of;
use tfhe_sbc_core::wire::Message;
use tfhe_sbc_engine::packing_key::SeededPackingKey;
use tfhe_sbc_engine::server_key::SeededServerKey;
use tfhe_sbc_oracle::packing::{self, PackingRequest};
use tfhe_sbc_transport::client::Client;
use tfhe_sbc_transport::identity::{CertificateFiles, Identity};
use tfhe_sbc_upload::short::{Definitions, ShortUpload, shorten};

use crate::common::board::stored_uploads;
use crate::common::frames::{Board, make_pads_for};
use crate::common::{self, COLUMNS, READINGS, Server, command, contents, tfhe_sbc, tfhe_sbc_fed};

/// The board of the frames.
const BOARD: &str = "70b3d57ed0001234";
/// The codes of level and flow of three rows, of the frames 0 and 1.
const CODES: [[u8; 6]; 2] = [[1, 60, 8, 3, 5, 17], [0, 17, 6, 63, 15, 0]];
const FRAME_BYTES: usize = 17;
/// The rows in the log of the agent, whose level and flow are these.
const LOG: &str = "time,level,flow\n13:00,1.5,20\n14:00,-1.0,9\n";
/// The question about uploads in blocks, and about compact ones.
const QUESTIONS: [&str; 3] = ["max(flow)", "count(flow > 10)", "rows(flow == 17)"];
const LINEAR: [&str; 2] = ["sum(flow)", "mean(level)"];
/// The results that a release keeps, each with its question.
const RESULTS: [(&str, &[&str]); 5] = [
    ("packed", &QUESTIONS),
    ("cut", &QUESTIONS),
    ("whole", &QUESTIONS),
    ("linear", &LINEAR),
    ("values", &LINEAR),
];

/// Returns the answers to [`QUESTIONS`] about [`READINGS`].
fn answers() -> Value {
    json!([
        {"name": "max(flow)", "answer": {"value": 60.0, "unit": ""}},
        {"name": "count(flow > 10)", "answer": {"value": 3.0, "unit": ""}},
        {"name": "rows(flow == 17)", "answer": ["12:00", "13:00"]},
    ])
}

/// Returns the answers to [`LINEAR`] about [`READINGS`].
fn linear_answers() -> Value {
    json!([
        {"name": "sum(flow)", "answer": {"value": 97.0, "unit": ""}},
        {"name": "mean(level)", "answer": {"value": -0.25, "unit": "m"}},
    ])
}

/// The folder of all releases.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases")
}

/// Copies a folder; directories and files are their owner's alone, as the program made them.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// Does something with a copy of the files of each release.
fn each_release(check: impl Fn(&Path)) {
    let mut count = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let release = entry.unwrap().path();
        if release.is_dir() {
            println!("release {}", release.display());
            let desk = tempfile::tempdir().unwrap();
            copy(&release, desk.path());
            check(desk.path());
            count += 1;
        }
    }
    assert!(count > 0, "no releases in {}", folder().display());
}

fn run(directory: &Path, line: &str) -> common::Run {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    tfhe_sbc(directory, &arguments).succeeded()
}

fn decrypted(directory: &Path, key: &str, result: &[u8]) -> Value {
    let decrypt = ["decrypt", "--json", "--key", key];
    let run = tfhe_sbc_fed(directory, &decrypt, result).succeeded();
    run.json()["answers"].clone()
}

/// Evaluates questions about files with the server key `server`, and decrypts with the secret key beside it.
fn evaluated(directory: &Path, keys: &str, readings: &[&str], questions: &[&str]) -> Value {
    let (server, secret) = (format!("{keys}/server.tsbc"), format!("{keys}/secret.tsbc"));
    let device = format!("{keys}/device.tsbc");
    let mut eval = vec!["eval", "--key", &server, "--device-key", &device];
    if directory.join("switches").exists() && keys == "keys" {
        eval.extend(["--device-keys", "switches"]);
    }
    for file in readings {
        eval.extend(["--readings", file]);
    }
    let result = tfhe_sbc(directory, &[&eval, questions].concat()).succeeded();
    decrypted(directory, &secret, &result.stdout)
}

/// Makes the server key again, which a release does not keep because of its size.
fn make_server_key(directory: &Path) {
    let secret = SecretKey::from_bytes(&fs::read(directory.join("keys/secret.tsbc")).unwrap());
    let secret = secret.unwrap();
    let parameters = secret.parameters();
    let request = PackingRequest::for_set(parameters);
    let packing = packing_of(parameters).or_else(|| packing::find(parameters, &request));
    let mut seeds = tfhe_sbc_upload::fresh_seeds().unwrap();
    let key = SeededServerKey::<u64>::generate(&secret, &mut seeds, &|_| ()).unwrap();
    let packing = SeededPackingKey::generate(&secret, &packing.unwrap(), &mut seeds).unwrap();
    let key = key.with_packing_key(packing).unwrap();
    fs::write(directory.join("keys/server.tsbc"), key.to_bytes()).unwrap();
}

/// Returns the files below a directory whose names end in `.tsbc`.
fn messages(directory: &Path) -> Vec<PathBuf> {
    let all = contents(directory).into_keys();
    all.filter(|path| path.extension().is_some_and(|ending| ending == "tsbc"))
        .collect()
}

/// Every kind of message is among the files, and `inspect` describes all of them.
#[test]
fn every_file_of_a_release_is_described() {
    each_release(|desk| {
        let mut kinds = BTreeSet::new();
        for path in messages(desk) {
            let described = tfhe_sbc(desk, &["inspect", "--json", path.to_str().unwrap()]);
            for message in described.succeeded().json().as_array().unwrap() {
                kinds.insert(message["kind"].as_str().unwrap().to_owned());
                let text = message.to_string();
                assert!(
                    !text.contains("does not know"),
                    "{}: {text}",
                    path.display()
                );
            }
        }
        // Kinds 1 to 17, which the first release has.
        assert!(kinds.len() >= 17, "{kinds:?}");
    });
}

#[test]
fn results_of_a_release_decrypt() {
    each_release(|desk| {
        for (name, questions) in RESULTS {
            let result = fs::read(desk.join(format!("results/{name}.tsbc"))).unwrap();
            let found = decrypted(desk, "keys/secret.tsbc", &result);
            let expected = match questions.len() == LINEAR.len() {
                true => linear_answers(),
                false => answers(),
            };
            assert_eq!(found, expected, "{name}");
        }
    });
}

/// The server key that the release wrote, for a small parameter set that is too weak to use.
#[test]
fn the_server_key_of_a_release_computes() {
    each_release(|desk| {
        let found = evaluated(desk, "small", &["small/day.tsbc"], &QUESTIONS);
        assert_eq!(found, answers());
        let found = evaluated(desk, "small", &["small/compact.tsbc"], &LINEAR);
        assert_eq!(found, linear_answers());
        // Its parameter file is the set of its keys.
        let again = "keygen --parameters small/set.toml --insecure-for-tests --out again";
        run(desk, again);
        let set = |key: &str| {
            let described = run(desk, &format!("inspect --json {key}")).json();
            described[0]["parameter_fingerprint"].clone()
        };
        assert_eq!(set("again/secret.tsbc"), set("small/secret.tsbc"));
    });
}

/// Uploads of all forms under keys of the release, beside new ones under the same keys.
#[test]
fn uploads_of_a_release_are_computed_on() {
    each_release(|desk| {
        make_server_key(desk);
        for upload in ["radix", "compact", "public", "public-radix", "hill"] {
            let file = format!("uploads/{upload}.tsbc");
            let questions = [&QUESTIONS[..], &LINEAR].concat();
            let mut expected = answers().as_array().unwrap().clone();
            expected.extend(linear_answers().as_array().unwrap().clone());
            let found = evaluated(desk, "keys", &[&file], &questions);
            assert_eq!(found, Value::Array(expected), "{upload}");
        }
        let encrypt = ["encrypt", "--columns", "columns.toml", "--out", "new.tsbc"];
        let rows = "timestamp,level,flow\n14:00,1.0,61\n";
        tfhe_sbc_fed(desk, &encrypt, rows.as_bytes()).succeeded();
        let readings = ["uploads/compact.tsbc", "new.tsbc"];
        let found = evaluated(desk, "keys", &readings, &["max(flow)", "sum(flow)"]);
        assert_eq!(found[0]["answer"]["value"], 61.0);
        assert_eq!(found[1]["answer"]["value"], 158.0);
        // Devices with keys of their own, and those with a public key, go on as well.
        for key in ["hill.tsbc", "public.tsbc"] {
            let arguments = [&encrypt[..4], &["again.tsbc", "--key", key]].concat();
            tfhe_sbc_fed(desk, &arguments, rows.as_bytes()).succeeded();
            let found = evaluated(desk, "keys", &["again.tsbc"], &["max(flow)"]);
            assert_eq!(found[0]["answer"]["value"], 61.0, "{key}");
        }
    });
}

#[test]
fn the_short_form_of_a_release_is_restored() {
    each_release(|desk| {
        let whole = fs::read(desk.join("uploads/compact.tsbc")).unwrap();
        let short = fs::read(desk.join("uploads/compact.short")).unwrap();
        let definitions = Definitions::of(&whole).unwrap();
        let parsed = ShortUpload::parse(&short).unwrap();
        assert_eq!(parsed.restore(&definitions).unwrap(), whole);
        assert_eq!(shorten(&whole).unwrap().bytes, short);
    });
}

#[test]
fn pads_and_frames_of_a_release_become_uploads() {
    each_release(|desk| {
        make_server_key(desk);
        run(
            desk,
            &format!("pads complete pads/{BOARD}.pads.tsbc pads/frames.bin --out completed"),
        );
        let readings = ["completed/frame-0.tsbc", "completed/frame-1.tsbc"];
        let found = evaluated(
            desk,
            "keys",
            &readings,
            &["sum(flow)", "count(level > 0.5)"],
        );
        assert_eq!(found[0]["answer"]["value"], 160.0);
        assert_eq!(found[1]["answer"]["value"], 3.0);
        // The board's key makes the same frames.
        let board = Board::read(&desk.join(format!("pads/{BOARD}.board.tsbc")));
        let frames: Vec<u8> = (0..)
            .zip(CODES)
            .flat_map(|(at, codes)| board.frame(at, &codes))
            .collect();
        assert_eq!(frames, fs::read(desk.join("pads/frames.bin")).unwrap());
    });
}

fn client(desk: &Path, url: &str) -> Client {
    let own = CertificateFiles::named(&desk.join("tls"), "device");
    let identity = Identity::load(&desk.join("tls/ca.pem"), &own).unwrap();
    Client::connect(url, &identity).unwrap()
}

/// Returns the names of the uploads in the server's store.
fn uploads(desk: &Path) -> BTreeSet<String> {
    // A release has a file for each.
    let files = fs::read_dir(desk.join("store/blobs")).into_iter().flatten();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names
        .chain(stored_uploads(desk).into_iter().map(|(id, _)| id))
        .collect()
}

/// A server goes on with the store of a release, and an agent with its spool and settings.
#[test]
fn the_store_and_the_spool_of_a_release_are_used_on() {
    each_release(|desk| {
        make_server_key(desk);
        run(desk, "certs");
        let server = Server::start(desk, &["--device-keys", "switches"]);
        let ask = |readings: &str, questions: &[&str]| {
            let query = ["query", "--to", &server.url, "--readings", readings];
            let result = tfhe_sbc(desk, &[&query, questions].concat()).succeeded();
            decrypted(desk, "keys/secret.tsbc", &result.stdout)
        };
        let send = format!("send uploads/compact.tsbc --json --to {}", server.url);
        let receipt = run(desk, &send).json();
        assert_eq!(receipt["created"], false, "{receipt}");
        let id = receipt["id"].as_str().unwrap();
        assert_eq!(ask(id, &QUESTIONS), answers());

        // Frame 0 has arrived at the release's server, frame 1 has not.
        let frames = fs::read(desk.join("pads/frames.bin")).unwrap();
        let device = client(desk, &server.url);
        for (frame, is_new) in frames.chunks(FRAME_BYTES).zip([false, true]) {
            let receipt = device.send_frame(BOARD.parse().unwrap(), frame).unwrap();
            assert_eq!(receipt.created, is_new);
        }
        let found = ask(&format!("board:{BOARD}"), &["sum(flow)"]);
        assert_eq!(found[0]["answer"]["value"], 160.0);

        let settings = fs::read_to_string(desk.join("agent.toml")).unwrap();
        let settings = settings.replace(NOWHERE, &server.url);
        assert!(settings.contains(&server.url));
        fs::write(desk.join("agent.toml"), settings).unwrap();
        let status = run(desk, "agent status --json").json();
        assert_eq!(status["batches"], 1, "{status}");
        let before = uploads(desk);
        let report = run(desk, "agent --once --json").json();
        assert_eq!(
            (&report["rows"], &report["sent"]),
            (&json!(0), &json!(1)),
            "{report}"
        );
        let sent: Vec<String> = uploads(desk).difference(&before).cloned().collect();
        let found = ask(&sent.join(","), &["sum(flow)"]);
        assert_eq!(found[0]["answer"]["value"], 29.0);
        // A provisioned board's file is read: it encrypts what its sensor says.
        let tested = run(desk, "agent --config lake.toml --test");
        assert!(tested.text().contains("level: 1.5 m"), "{}", tested.text());
    });
}

/// An address that no server has.
const NOWHERE: &str = "https://127.0.0.1:1";

/// Writes the files of a release: see `tests/releases/README.md`. They stay if the variable `TFHE_SBC_KEEP_RELEASE` is
/// set; otherwise this shows that they can be written.
#[test]
#[ignore = "makes keys of many sets, and writes the files of a release if it is told to"]
fn the_files_of_a_release_can_be_written() {
    let version = env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap().0;
    let scratch = tempfile::tempdir().unwrap();
    let release = match std::env::var_os("TFHE_SBC_KEEP_RELEASE") {
        Some(_) => folder().join(version),
        None => scratch.path().join(version),
    };
    assert!(
        !release.exists(),
        "{} exists; a release's files never change",
        release.display()
    );
    let desk = tempfile::tempdir().unwrap();
    write_all(&desk);
    for path in KEPT_OUT {
        let path = desk.path().join(path);
        match path.is_dir() {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }
    copy(desk.path(), &release);
    let bytes: u64 = contents(&release)
        .values()
        .map(|file| file.len() as u64)
        .sum();
    assert!((500_000..3_000_000).contains(&bytes), "{bytes}");
}

/// Files that a release does not keep: too large, or of no format of ours.
const KEPT_OUT: [&str; 4] = ["keys/server.tsbc", "unpacking", "tls", "client_key"];

fn write_all(desk: &TempDir) {
    let desk = desk.path();
    let write = |name: &str, bytes: &[u8]| fs::write(desk.join(name), bytes).unwrap();
    for name in ["uploads", "results", "switches", "pads"] {
        fs::create_dir(desk.join(name)).unwrap();
    }
    write("columns.toml", COLUMNS.as_bytes());
    let radix = COLUMNS.replace("\nscale", "\nuse = \"radix\"\nscale");
    write("radix.toml", radix.as_bytes());
    write("readings.csv", READINGS.as_bytes());

    // Keys of the default set, and uploads of all forms.
    run(desk, "keygen");
    run(desk, "device-key --public --out-device public.tsbc");
    run(
        desk,
        "device-key --device hill --out-device hill.tsbc --out-switch switches/hill.tsbc",
    );
    for (name, key, columns) in [
        ("compact", "keys/device.tsbc", "columns.toml"),
        ("radix", "keys/device.tsbc", "radix.toml"),
        ("public", "public.tsbc", "columns.toml"),
        ("public-radix", "public.tsbc", "radix.toml"),
        ("hill", "hill.tsbc", "columns.toml"),
    ] {
        run(
            desk,
            &format!(
                "encrypt readings.csv --columns {columns} --key {key} --out uploads/{name}.tsbc"
            ),
        );
    }
    let whole = fs::read(desk.join("uploads/compact.tsbc")).unwrap();
    write("uploads/compact.short", &shorten(&whole).unwrap().bytes);

    // Results of all forms.
    let server = fs::read(desk.join("keys/server.tsbc")).unwrap();
    let (_, packing) = Message::parse(&server).unwrap();
    fs::create_dir(desk.join("unpacking")).unwrap();
    write(
        "unpacking/server.tsbc",
        &server[..server.len() - packing.len()],
    );
    for (name, questions) in RESULTS {
        let (readings, key) = match name {
            "cut" => ("radix", "unpacking"),
            "linear" => ("compact", "keys"),
            "values" => ("public", "keys"),
            _ => ("radix", "keys"),
        };
        let (readings, key) = (
            format!("uploads/{readings}.tsbc"),
            format!("{key}/server.tsbc"),
        );
        let out = format!("results/{name}.tsbc");
        let mut eval = vec![
            "eval",
            "--key",
            &key,
            "--readings",
            &readings,
            "--out",
            &out,
        ];
        eval.extend((name == "whole").then_some("--unpacked"));
        tfhe_sbc(desk, &[&eval, questions].concat()).succeeded();
    }

    // Pads, the key of their board, and frames.
    let (of_server, of_board) = (
        format!("pads/{BOARD}.pads.tsbc"),
        format!("pads/{BOARD}.board.tsbc"),
    );
    let out = ["--out-server", &of_server, "--out-board", &of_board];
    make_pads_for(desk, BOARD, 6, &out);
    let board = Board::read(&desk.join(format!("pads/{BOARD}.board.tsbc")));
    let frames = [0, 1].map(|at| board.frame(at, &CODES[at as usize]));
    write("pads/frames.bin", &frames.concat());

    // A server's store, an agent's spool with a batch that waits, and a board's file.
    run(desk, "certs");
    let server = Server::start(desk, &["--device-keys", "switches"]);
    run(
        desk,
        &format!("send uploads/compact.tsbc --to {}", server.url),
    );
    run(
        desk,
        &format!("pads send pads/{BOARD}.pads.tsbc --to {}", server.url),
    );
    let device = client(desk, &server.url);
    assert!(
        device
            .send_frame(BOARD.parse().unwrap(), &frames[0])
            .unwrap()
            .created
    );
    assert!(server.terminate().0.success());
    write("log.csv", LOG.as_bytes());
    let column = "source = { kind = \"csv\" }\n[[column]]";
    let columns = COLUMNS
        .replacen("[[column]]", "", 1)
        .replace("[[column]]", column);
    let settings = format!(
        "[server]\nurl = \"{NOWHERE}\"\n[device]\nkey = \"keys/device.tsbc\"\n\
         [tls]\nca = \"tls/ca.pem\"\ncertificate = \"tls/device.pem\"\nkey = \"tls/device.key\"\n\
         [csv]\npath = \"log.csv\"\nlabel = \"time\"\n[[column]]{columns}source = {{ kind = \"csv\" }}\n"
    );
    write("agent.toml", settings.as_bytes());
    let waits = command(desk, &["agent", "--once"]).status().unwrap();
    assert_eq!(waits.code(), Some(75));
    let sensor = "[[column]]\nname = \"level\"\nunit = \"m\"\noffset = -2.0\nscale = 0.5\nbits = 4\n\
                  source = { kind = \"command\", run = [\"echo\", \"1.5\"] }\n";
    write("sensor.toml", sensor.as_bytes());
    run(
        desk,
        &format!("provision lake --server {NOWHERE} --columns sensor.toml --device-keys switches"),
    );

    // What TFHE-rs's client key becomes.
    let client_key = include_bytes!("../../../../tests/vectors/tfhe-rs/client_key");
    write("client_key", client_key);
    run(desk, "keys import --from tfhe-rs client_key --out imported");

    // A server key, of a set that is small because it is weak.
    write("small-set.toml", SMALL.as_bytes());
    run(
        desk,
        "keygen --parameters small-set.toml --insecure-for-tests --out small",
    );
    fs::rename(desk.join("small-set.toml"), desk.join("small/set.toml")).unwrap();
    for (name, columns) in [("day", "radix.toml"), ("compact", "columns.toml")] {
        run(
            desk,
            &format!(
                "encrypt readings.csv --columns {columns} --key small/device.tsbc --out small/{name}.tsbc"
            ),
        );
    }
}

/// A parameter file of a set whose server key is small.
const SMALL: &str = include_str!("../releases/small-set.toml");
