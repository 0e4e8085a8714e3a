//! The whole path by hand, command after command, through a real server process.

use std::path::Path;

use crate::common::{self, Run, Server, shared, tfhe_sbc, tfhe_sbc_fed};
use serde_json::{Value, json};

const QUESTIONS: [&str; 6] = [
    "min(level)",
    "max(flow)",
    "sum(flow)",
    "mean(level)",
    "count(flow > encrypted(10))",
    "rows(level <= 0.5 and flow == 17)",
];

/// Returns the answers to the questions, computed by hand from the readings.
fn answers() -> Value {
    json!([
        {"name": "min(level)", "answer": {"value": -2.0, "unit": "m"}},
        {"name": "max(flow)", "answer": {"value": 60.0, "unit": ""}},
        {"name": "sum(flow)", "answer": {"value": 97.0, "unit": ""}},
        {"name": "mean(level)", "answer": {"value": -0.25, "unit": "m"}},
        {"name": "count(flow > encrypted(…))", "answer": {"value": 3.0, "unit": ""}},
        {"name": "rows(level <= 0.5 and flow == 17)", "answer": ["12:00", "13:00"]},
    ])
}

fn send(directory: &Path, server: &Server) -> Run {
    tfhe_sbc(directory, &["send", "day.tsbc", "--to", &server.url]).succeeded()
}

fn query(directory: &Path, server: &Server, arguments: &[&str]) -> Run {
    let all = ["query", "--to", &server.url];
    tfhe_sbc(directory, &[&all, arguments].concat())
}

fn decrypted(directory: &Path, result: &[u8]) -> Value {
    tfhe_sbc_fed(directory, &["decrypt", "--json"], result)
        .succeeded()
        .json()
}

#[test]
fn questions_to_a_server_are_answered_as_in_the_clear() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);

    let id = send(directory, &server).text().trim().to_owned();
    let receipt = tfhe_sbc(
        directory,
        &["send", "day.tsbc", "--to", &server.url, "--json"],
    );
    let receipt = receipt.succeeded().json();
    assert_eq!(receipt["id"], id);
    assert_eq!(receipt["created"], false);
    assert_eq!(receipt["rows"], 4);
    assert_eq!(receipt["columns"], json!(["level", "flow"]));
    assert_eq!(receipt["bytes"], shared().read("day.tsbc").len());

    let arguments = [&["--readings", &id, "--out", "answer.tsbc"], &QUESTIONS[..]].concat();
    assert!(
        query(directory, &server, &arguments)
            .succeeded()
            .stdout
            .is_empty()
    );
    let result = std::fs::read(directory.join("answer.tsbc")).unwrap();
    let decoded = decrypted(directory, &result);
    assert_eq!(decoded["answers"], answers());
    assert!(decoded["bootstraps"].as_u64().unwrap() > 0);

    let table = tfhe_sbc(directory, &["decrypt", "answer.tsbc"]).succeeded();
    for cell in ["min(level)", "-2 m", "-0.25 m", "97", "12:00 13:00"] {
        assert!(table.text().contains(cell), "{}", table.text());
    }

    let (status, log) = server.terminate();
    assert!(status.success(), "{status}\n{log}");
    assert!(
        log.contains("finishing what is under way") && log.contains("stopped"),
        "{log}"
    );
}

#[test]
fn evaluating_files_gives_the_answers_that_a_server_gives() {
    let desk = shared().desk();
    let eval = ["eval", "--key", "keys/server.tsbc"];
    let day = shared().read("day.tsbc");
    let result = tfhe_sbc_fed(desk.path(), &[&eval, &QUESTIONS[..]].concat(), &day).succeeded();
    assert_eq!(decrypted(desk.path(), &result.stdout)["answers"], answers());
}

/// Columns of all uses, through files and through a server: the same answers, and no bootstraps for what
/// is linear. Without a use, columns are made for means, and say so.
#[test]
fn columns_of_every_use_give_the_same_answers() {
    let desk = shared().desk();
    let directory = desk.path();
    let columns = std::fs::read_to_string(directory.join("columns.toml")).unwrap();
    let define = |file: &str, level: &str, flow: &str| {
        let text = columns
            .replace("bits = 4\n", &format!("bits = 4\nuse = \"{level}\"\n"))
            .replace("bits = 6\n", &format!("bits = 6\nuse = \"{flow}\"\n"));
        assert_eq!(text.matches("use = ").count(), 2, "{text}");
        std::fs::write(directory.join(file), text).unwrap();
    };
    define("radix.toml", "radix", "radix");
    define("compact.toml", "alarms", "means");
    let encrypt = |columns: &str, out: &str| {
        let arguments = [
            "encrypt",
            "readings.csv",
            "--columns",
            columns,
            "--out",
            out,
        ];
        tfhe_sbc(directory, &arguments).succeeded().stderr
    };
    let told = encrypt("columns.toml", "default.tsbc");
    for words in [
        "level: -2 to 5.5 m in steps of 0.5; compact, sums of up to 16,384 rows without a bootstrap; 3 bytes a reading",
        "a row takes 6.25 bytes",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let told = encrypt("radix.toml", "radix.tsbc");
    for words in [
        "flow: 0 to 63 in steps of 1; radix blocks; 4.5 bytes a reading",
        "a row takes 7.5 bytes",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let told = encrypt("compact.toml", "compact.tsbc");
    assert!(
        told.contains("level: -2 to 5.5 m in steps of 0.5; compact, sums of up to 2 rows"),
        "{told}"
    );
    let kind = |readings: &str| {
        let messages = tfhe_sbc(directory, &["inspect", "--json", readings]);
        messages.succeeded().json()[1]["kind"].clone()
    };
    assert_eq!(kind("default.tsbc"), "seeded column list");
    assert_eq!(kind("radix.tsbc"), "seeded GLWE ciphertext list");
    let evaluate = |readings: &str, questions: &[&str]| {
        let eval = ["eval", "--readings", readings];
        let result = tfhe_sbc(directory, &[&eval, questions].concat()).succeeded();
        decrypted(directory, &result.stdout)
    };
    let (radix, compact) = (
        evaluate("radix.tsbc", &QUESTIONS),
        evaluate("compact.tsbc", &QUESTIONS),
    );
    assert_eq!(compact["answers"], answers());
    assert_eq!(radix["answers"], answers());
    let linear = evaluate(
        "compact.tsbc",
        &["sum(flow)", "mean(flow)", "score(2 * flow + 1)"],
    );
    assert_eq!(linear["bootstraps"], 0);
    assert_eq!(linear["answers"][0]["answer"]["value"], 97.0);
    let count = [
        "eval",
        "--count",
        "--json",
        "--readings",
        "compact.tsbc",
        "mean(flow)",
    ];
    let count = tfhe_sbc(directory, &count).succeeded().json();
    assert_eq!(count["together"]["bootstraps"], 0, "{count}");
    let hint = "sum(level) would take no bootstrap with use = \"means\" in the definition of level";
    for readings in ["compact.tsbc", "radix.tsbc", "default.tsbc"] {
        let count = ["eval", "--count", "--readings", readings, "sum(level)"];
        let told = tfhe_sbc(directory, &count).succeeded().stderr;
        assert_eq!(told.contains(hint), readings != "default.tsbc", "{told}");
    }

    // The form of an answer, and definitions that are not those of the readings.
    let asked = ["sum(flow)", "max(level)", "score(flow)"];
    let eval = ["eval", "--readings", "default.tsbc", "--out", "out.tsbc"];
    tfhe_sbc(directory, &[&eval, &asked[..]].concat()).succeeded();
    let told = tfhe_sbc(directory, &["inspect", "out.tsbc"]).succeeded();
    for words in [
        "sum(flow) in 1 compact sum\n",
        "max(level) in 2 blocks\n",
        "score(flow) in 4 compact values\n",
    ] {
        assert!(told.text().contains(words), "{}", told.text());
    }

    let server = Server::start(directory, &[]);
    let send = ["send", "compact.tsbc", "--to", &server.url];
    let id = tfhe_sbc(directory, &send)
        .succeeded()
        .text()
        .trim()
        .to_owned();
    let arguments = [&["--readings", &id], &QUESTIONS[..]].concat();
    let result = query(directory, &server, &arguments).succeeded();
    assert_eq!(decrypted(directory, &result.stdout)["answers"], answers());

    // Impossible requests are refused with advice.
    let wrong = |from: &str, to: &str, words: &[&str]| {
        let text = std::fs::read_to_string(directory.join("compact.toml")).unwrap();
        std::fs::write(directory.join("wrong.toml"), text.replacen(from, to, 1)).unwrap();
        let encrypt = ["encrypt", "readings.csv", "--columns", "wrong.toml"];
        tfhe_sbc(directory, &encrypt).refused(words);
    };
    wrong(
        "\"alarms\"",
        "\"alarm\"",
        &["use = \"alarm\"", "means, alarms, fleet and radix"],
    );
    let both = "compact = { headroom = 1, body_bits = 20 }\nuse = \"alarms\"";
    wrong("use = \"alarms\"", both, &["both a use and a compact form"]);
    let narrow = "compact = { headroom = 1, body_bits = 3 }";
    wrong("use = \"alarms\"", narrow, &["body", "bits"]);
}

#[test]
fn an_acknowledged_upload_survives_kill_minus_9() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    let id = send(directory, &server).text().trim().to_owned();
    server.kill();

    let server = Server::start(directory, &[]);
    let run = query(directory, &server, &["--readings", &id, "rows(flow == 17)"]).succeeded();
    let decoded = decrypted(directory, &run.stdout);
    assert_eq!(decoded["answers"][0]["answer"], json!(["12:00", "13:00"]));
}

#[test]
fn two_clients_at_once_get_their_own_answers() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    send(directory, &server);
    let ask = |question: &str| {
        let result = query(directory, &server, &[question]).succeeded();
        decrypted(directory, &result.stdout)["answers"][0].clone()
    };
    let (highest, lowest) = std::thread::scope(|scope| {
        let lowest = scope.spawn(|| ask("min(flow)"));
        (ask("max(flow)"), lowest.join().unwrap())
    });
    assert_eq!(highest["answer"]["value"], 60.0);
    assert_eq!(lowest["answer"]["value"], 3.0);
}

#[test]
fn a_second_server_on_a_store_in_use_is_refused() {
    let desk = shared().desk();
    let server = Server::start(desk.path(), &[]);
    tfhe_sbc(desk.path(), &["serve", "--listen", "127.0.0.1:0"])
        .refused(&["in use by another process", "--store"]);
    let taken = server.url.strip_prefix("https://").unwrap();
    tfhe_sbc(
        desk.path(),
        &["serve", "--listen", taken, "--store", "store-2"],
    )
    .refused(&["cannot listen on", "is another server using the port?"]);
}

/// The secret bits of the key set, as the files hold them.
fn secrets() -> Vec<u8> {
    // Behind header and parameters of the secret key, whose device key is a prefix.
    let key = shared().read("keys/secret.tsbc");
    key[key.len() - 300..].to_vec()
}

#[test]
fn inspect_says_what_every_file_is_and_shows_no_secret() {
    let desk = shared().desk();
    let fingerprint = |file: &str| {
        let described = tfhe_sbc(desk.path(), &["inspect", "--json", file]).succeeded();
        let described = described.json();
        let messages = described.as_array().unwrap().clone();
        let size: u64 = messages.iter().map(|m| m["bytes"].as_u64().unwrap()).sum();
        assert_eq!(size, shared().read(file).len() as u64, "{file}");
        messages
    };
    let detail = |message: &Value, name: &str| {
        let details = message["details"].as_array().unwrap();
        let found = details.iter().find(|detail| detail["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {message}"))["value"].clone()
    };

    let secret = &fingerprint("keys/secret.tsbc")[0];
    for (file, kind) in [
        ("keys/secret.tsbc", "secret key"),
        ("keys/device.tsbc", "device key"),
        ("keys/server.tsbc", "server key"),
    ] {
        let key = &fingerprint(file)[0];
        assert_eq!(key["kind"], kind);
        assert_eq!(detail(key, "parameter set"), "message_2_carry_2");
        assert_eq!(detail(key, "LWE dimension"), 870);
        for print in ["key_fingerprint", "parameter_fingerprint"] {
            assert_eq!(key[print], secret[print]);
        }
    }
    assert_ne!(
        fingerprint("other-keys/device.tsbc")[0]["key_fingerprint"],
        secret["key_fingerprint"]
    );

    let upload = fingerprint("day.tsbc");
    assert_eq!(detail(&upload[0], "rows"), 4);
    assert_eq!(upload[1]["kind"], "seeded column list");
    assert_eq!(detail(&upload[1], "elements"), 4 * 2);
    assert_eq!(upload[1]["key_fingerprint"], secret["key_fingerprint"]);
    let result = fingerprint("result.tsbc");
    assert_eq!(detail(&result[0], "answer"), "max(level) in 2 blocks");
    assert_eq!(detail(&result[1], "slots in use"), 2 + 4);
}

#[test]
fn inspect_shows_the_same_in_text_and_never_the_secret_bits() {
    let desk = shared().desk();
    let hex: String = secrets().iter().map(|byte| format!("{byte:02x}")).collect();
    for (file, words) in [
        (
            "keys/secret.tsbc",
            &["secret key", "message_2_carry_2", "LWE dimension"][..],
        ),
        ("keys/device.tsbc", &["device key", "128.8 bits", "2 + 2"]),
        ("keys/server.tsbc", &["server key", "key fingerprint"]),
        ("gates-keys/server.tsbc", &["server key", "gates"]),
        (
            "day.tsbc",
            &[
                "elements",
                "20",
                "level [m]: 4 bits from -2 in steps of 0.5",
            ],
        ),
        (
            "result.tsbc",
            &["list of packed answers", "bootstraps", "rows(flow == 17)"],
        ),
    ] {
        let text = tfhe_sbc(desk.path(), &["inspect", file]).succeeded();
        for word in words {
            assert!(
                text.text().contains(word),
                "{word} of {file}:\n{}",
                text.text()
            );
        }
        let json = tfhe_sbc(desk.path(), &["inspect", "--json", file]).succeeded();
        for shown in [&text.stdout, &json.stdout, &text.stderr.into_bytes()] {
            // 8 bytes in a row do not occur by chance.
            assert!(!secrets().chunks(8).any(|secret| contains(shown, secret)));
            let shown = String::from_utf8_lossy(shown);
            assert!(
                !hex.as_bytes()
                    .chunks(16)
                    .any(|secret| { shown.contains(std::str::from_utf8(secret).unwrap()) })
            );
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[test]
fn keys_are_private_and_never_overwritten() {
    use std::os::unix::fs::PermissionsExt;
    let directory = &shared().directory;
    for (name, mode) in [("secret", 0o600), ("device", 0o600), ("server", 0o644)] {
        let path = directory.join(format!("keys/{name}.tsbc"));
        assert_eq!(
            path.metadata().unwrap().permissions().mode() & 0o777,
            mode,
            "{name}"
        );
    }
    assert_eq!(
        directory
            .join("keys")
            .metadata()
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o700
    );

    let before = common::contents(&directory.join("keys"));
    tfhe_sbc(directory, &["keygen", "--out", "keys"]).refused(&[
        "exists already, and keys are never overwritten",
        "choose another directory",
    ]);
    assert_eq!(common::contents(&directory.join("keys")), before);
    let before = common::contents(&directory.join("tls"));
    tfhe_sbc(directory, &["certs", "--out", "tls"])
        .refused(&["exists already", "choose another directory"]);
    assert_eq!(common::contents(&directory.join("tls")), before);
}
