//! Files that are wrong: each is refused with what is wrong and what to do, and nothing
//! is written.

use std::path::Path;

use crate::common::{contents, shared, tfhe_sbc, tfhe_sbc_fed};

const EVAL: [&str; 8] = [
    "eval",
    "--columns",
    "columns.toml",
    "--key",
    "keys/server.tsbc",
    "--out",
    "out.bin",
    "max(level)",
];

/// Runs a command that must be refused, and leave everything as it was: its output file
/// with what an earlier run has left in it, or absent.
#[track_caller]
fn refused(directory: &Path, arguments: &[&str], words: &[&str]) {
    let out = directory.join("out.bin");
    for earlier in [Some("of an earlier run"), None] {
        match earlier {
            Some(text) => std::fs::write(&out, text).unwrap(),
            None => std::fs::remove_file(&out).unwrap(),
        }
        let names = |found: std::fs::ReadDir| -> Vec<_> {
            let mut names: Vec<_> = found.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let before = names(std::fs::read_dir(directory).unwrap());
        tfhe_sbc(directory, arguments).refused(words);
        let after = names(std::fs::read_dir(directory).unwrap());
        assert_eq!(before, after, "{arguments:?}");
        let left = std::fs::read_to_string(&out).ok();
        assert_eq!(left.as_deref(), earlier, "{arguments:?}");
    }
}

/// Every header field, both payloads' ends, and the bytes in between at some distance.
fn places(bytes: &[u8]) -> Vec<usize> {
    let header = 104;
    let metadata = u64::from_le_bytes(bytes[92..100].try_into().unwrap()) as usize;
    let second = header + metadata;
    let fields = [
        0, 4, 6, 7, 8, 24, 40, 44, 48, 49, 50, 51, 52, 53, 54, 56, 60, 91, 92, 99, 100,
    ];
    let mut places: Vec<usize> = fields.iter().flat_map(|at| [*at, second + at]).collect();
    places.extend((header..second).step_by(61));
    places.extend((second + header..bytes.len()).step_by(bytes.len() / 8));
    places.extend([second - 1, bytes.len() - 1]);
    places
}

#[test]
fn readings_with_one_bit_changed_anywhere_are_refused() {
    let desk = shared().desk();
    let upload = shared().read("day.tsbc");
    for at in places(&upload) {
        let mut damaged = upload.clone();
        damaged[at] ^= 1 << (at % 8);
        tfhe_sbc_fed(desk.path(), &["inspect", "-"], &damaged).refused(&["-:"]);
    }
    for (at, words) in [
        (
            0,
            ["these bytes are not in tfhe-sbc's format", "damaged.tsbc"],
        ),
        (
            upload.len() - 1,
            ["the checksum does not match", "transfer it again"],
        ),
    ] {
        let mut damaged = upload.clone();
        damaged[at] ^= 1;
        std::fs::write(desk.path().join("damaged.tsbc"), damaged).unwrap();
        refused(
            desk.path(),
            &[&EVAL[..], &["--readings", "damaged.tsbc"]].concat(),
            &words,
        );
    }
}

#[test]
fn readings_that_are_cut_short_are_refused() {
    let desk = shared().desk();
    let upload = shared().read("day.tsbc");
    for kept in [1, 50, 103, 104, 200, upload.len() / 2, upload.len() - 1] {
        tfhe_sbc_fed(desk.path(), &["inspect", "-"], &upload[..kept])
            .refused(&["the data is cut short", "transfer it again"]);
    }
    tfhe_sbc_fed(desk.path(), &["inspect", "-"], &[]).refused(&["is empty", "give a file"]);
    std::fs::write(desk.path().join("short.tsbc"), &upload[..upload.len() - 1]).unwrap();
    let arguments = [&EVAL[..], &["--readings", "short.tsbc"]].concat();
    refused(
        desk.path(),
        &arguments,
        &["the data is cut short", "transfer it again"],
    );
    std::fs::write(
        desk.path().join("long.tsbc"),
        [&upload[..], b"more"].concat(),
    )
    .unwrap();
    let arguments = [&EVAL[..], &["--readings", "long.tsbc"]].concat();
    refused(
        desk.path(),
        &arguments,
        &["follow the end of the last message", "damaged"],
    );
}

#[test]
fn a_file_of_one_kind_is_refused_as_another() {
    let desk = shared().desk();
    let give = "give the right file";
    let encrypt = |key| {
        [
            "encrypt",
            "readings.csv",
            "--columns",
            "columns.toml",
            "--out",
            "out.bin",
            "--key",
            key,
        ]
    };
    let eval = |key| {
        [
            "eval",
            "--columns",
            "columns.toml",
            "--readings",
            "day.tsbc",
            "--out",
            "out.bin",
            "max(level)",
            "--key",
            key,
        ]
    };
    let decrypt = |key| ["decrypt", "result.tsbc", "--key", key];
    let serve = |key| ["serve", "--listen", "127.0.0.1:0", "--key", key];
    for (file, kind) in [
        ("keys/secret.tsbc", "secret key"),
        ("keys/device.tsbc", "device key"),
        ("keys/server.tsbc", "server key"),
        ("day.tsbc", "metadata message"),
    ] {
        let is = format!("{file}: this is a {kind}");
        if kind != "device key" {
            refused(
                desk.path(),
                &encrypt(file),
                &[&is, "device key is needed", give],
            );
        }
        if kind != "server key" {
            refused(
                desk.path(),
                &eval(file),
                &[&is, "server key is needed", give],
            );
            refused(
                desk.path(),
                &serve(file),
                &[&is, "server key is needed", give],
            );
        }
        if kind != "secret key" {
            refused(
                desk.path(),
                &decrypt(file),
                &[&is, "secret key is needed", give],
            );
        }
    }
    refused(
        desk.path(),
        &["decrypt", "day.tsbc"],
        &[
            "day.tsbc: the metadata is not what it should be: unknown field `columns`",
            "give a result that `query` or `eval` made",
        ],
    );
    let arguments = [&EVAL[..], &["--readings", "result.tsbc"]].concat();
    refused(
        desk.path(),
        &arguments,
        &["no readings: the metadata is not what it should be"],
    );
    refused(
        desk.path(),
        &[
            "encrypt",
            "readings.csv",
            "--columns",
            "columns.toml",
            "--key",
            "readings.csv",
        ],
        &["readings.csv: these bytes are not in tfhe-sbc's format"],
    );
    // A table that is not encrypted yet.
    let clear = [&EVAL[..], &["--readings", "readings.csv"]].concat();
    let words = [
        "readings.csv: these bytes are not in tfhe-sbc's format",
        "`tfhe-sbc encrypt` made",
    ];
    refused(desk.path(), &clear, &words);
}

#[test]
fn damaged_keys_are_refused() {
    let desk = shared().desk();
    for (name, arguments) in [
        (
            "device",
            &[
                "encrypt",
                "readings.csv",
                "--columns",
                "columns.toml",
                "--key",
            ][..],
        ),
        ("secret", &["decrypt", "result.tsbc", "--key"]),
        (
            "server",
            &["eval", "--readings", "day.tsbc", "max(level)", "--key"],
        ),
    ] {
        let mut key = shared().read(&format!("keys/{name}.tsbc"));
        let middle = key.len() / 2;
        key[middle] ^= 0x10;
        std::fs::write(desk.path().join("damaged.tsbc"), &key).unwrap();
        let all = [arguments, &["damaged.tsbc"]].concat();
        refused(
            desk.path(),
            &all,
            &["damaged.tsbc: the checksum does not match", "transfer"],
        );
        key.truncate(middle);
        std::fs::write(desk.path().join("damaged.tsbc"), &key).unwrap();
        refused(
            desk.path(),
            &all,
            &["damaged.tsbc: the data is cut short", "transfer"],
        );
    }
}

#[test]
fn what_belongs_to_another_key_set_is_refused_by_fingerprint() {
    let desk = shared().desk();
    let described = tfhe_sbc(
        desk.path(),
        &["inspect", "--json", "other-keys/device.tsbc"],
    );
    let described = described.succeeded().json();
    let other = described[0]["key_fingerprint"].as_str().unwrap();
    let eval = |key, device_key| {
        [
            "eval",
            "--columns",
            "columns.toml",
            "--readings",
            "day.tsbc",
            "--out",
            "out.bin",
            "max(level)",
            "--key",
            key,
            "--device-key",
            device_key,
        ]
    };
    let set = "use the key set that it was made with";
    refused(
        desk.path(),
        &eval("other-keys/server.tsbc", "other-keys/device.tsbc"),
        &[
            "the readings: it was made under another key set",
            other,
            set,
        ],
    );
    refused(
        desk.path(),
        &eval("keys/server.tsbc", "other-keys/device.tsbc"),
        &[
            "the query: it was made under another key set",
            other,
            set,
            "the server key keys/server.tsbc (--key) and the device key other-keys/device.tsbc (--device-key)",
        ],
    );
    refused(
        desk.path(),
        &["decrypt", "result.tsbc", "--key", "other-keys/secret.tsbc"],
        &["result.tsbc: it was made under another key set", other, set],
    );
}

#[test]
fn keys_for_gates_are_refused_where_integers_are_computed() {
    let desk = shared().desk();
    let words = &[
        "the set 'gates' is for gates, not for integers",
        "make keys of an integer set",
    ];
    for arguments in [
        &[
            "encrypt",
            "readings.csv",
            "--columns",
            "columns.toml",
            "--key",
            "gates-keys/device.tsbc",
        ][..],
        &[
            "eval",
            "--readings",
            "day.tsbc",
            "min(level)",
            "--key",
            "gates-keys/server.tsbc",
        ],
        &[
            "eval",
            "--readings",
            "day.tsbc",
            "min(level)",
            "--device-key",
            "gates-keys/device.tsbc",
        ],
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--key",
            "gates-keys/server.tsbc",
        ],
    ] {
        refused(desk.path(), arguments, words);
    }
    refused(
        desk.path(),
        &["decrypt", "result.tsbc", "--key", "gates-keys/secret.tsbc"],
        &[
            "it was made under other parameters",
            "the secret key of its key set",
        ],
    );
    tfhe_sbc(
        desk.path(),
        &["keygen", "--out", "new", "--parameters", "huge"],
    )
    .refused(&["message_2_carry_2, gates"]);
    assert!(!desk.path().join("new").exists());
}

#[test]
fn a_damaged_result_is_refused() {
    let desk = shared().desk();
    let result = shared().read("result.tsbc");
    for at in places(&result) {
        let mut damaged = result.clone();
        damaged[at] ^= 1 << (at % 8);
        tfhe_sbc_fed(desk.path(), &["decrypt"], &damaged)
            .refused(&["-:", "give a result that `query` or `eval` made"]);
    }
    for kept in [0, 3, 104, 300, result.len() - 4] {
        tfhe_sbc_fed(desk.path(), &["decrypt"], &result[..kept]).refused(&["give a result"]);
    }
}

#[test]
fn files_that_are_not_there_and_places_that_cannot_be_written_are_named() {
    let desk = shared().desk();
    refused(
        desk.path(),
        &["inspect", "nowhere"],
        &["cannot read nowhere", "check the path"],
    );
    refused(
        desk.path(),
        &["inspect", "keys"],
        &["cannot read keys", "check the path"],
    );
    refused(
        desk.path(),
        &[
            "encrypt",
            "readings.csv",
            "--columns",
            "columns.toml",
            "--key",
            "nowhere",
        ],
        &["cannot read nowhere", "tfhe-sbc keygen"],
    );
    let encrypt = [
        "encrypt",
        "readings.csv",
        "--columns",
        "columns.toml",
        "--out",
    ];
    let eval = &EVAL[..];
    for (out, words) in [
        (
            "nowhere/out.bin",
            &["there is no directory nowhere", "make the directory"][..],
        ),
        ("tls", &["tls: it is a directory", "name a file"]),
        ("/dev/full", &["No space left", "has room"]),
    ] {
        refused(desk.path(), &[&encrypt[..], &[out]].concat(), words);
        let mut eval = eval.to_vec();
        eval[6] = out;
        eval.extend(["--readings", "day.tsbc"]);
        refused(desk.path(), &eval, words);
    }
    assert!(std::fs::metadata("/dev/full").unwrap().len() == 0);
    let before = contents(&shared().directory.join("keys"));
    refused(
        desk.path(),
        &["keygen", "--out", "readings.csv/keys"],
        &["no keys were written"],
    );
    refused(
        desk.path(),
        &["certs", "--add", "x", "--out", "nowhere"],
        &["run `tfhe-sbc certs` first"],
    );
    assert_eq!(contents(&shared().directory.join("keys")), before);
}
