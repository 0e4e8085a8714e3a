//! Options of `encrypt` beside its defaults, end to end: public keys, expanders, memory plans; and
//! sizes of uploads, told before they are made.

use std::path::Path;

use crate::common::{
    COLUMNS, READINGS, Server, encrypt, inspected, shared, tfhe_sbc, tfhe_sbc_fed,
};
use serde_json::{Value, json};

fn make_public_key(directory: &Path) {
    let arguments = ["device-key", "--public", "--out-device", "public.tsbc"];
    tfhe_sbc(directory, &arguments).succeeded();
}

/// The upload of the readings with more arguments.
fn answers(directory: &Path, result: &[u8]) -> Value {
    let run = tfhe_sbc_fed(directory, &["decrypt", "--json"], result);
    run.succeeded().json()["answers"].clone()
}

#[test]
fn uploads_with_a_public_key_are_stored_asked_about_and_decrypted() {
    let desk = shared().desk();
    let directory = desk.path();
    make_public_key(directory);
    let upload = encrypt(directory, &["--key", "public.tsbc"], READINGS);
    let messages = inspected(directory, &upload);
    assert_eq!(messages[1]["kind"], "column list");
    let radix = COLUMNS.replace("scale", "use = \"radix\"\nscale");
    std::fs::write(directory.join("radix.toml"), radix).unwrap();
    let radix = ["encrypt", "--columns", "radix.toml", "--key", "public.tsbc"];
    let radix = tfhe_sbc_fed(directory, &radix, READINGS.as_bytes()).succeeded();
    let radix = &inspected(directory, &radix.stdout)[1];
    assert_eq!(radix["kind"], "GLWE ciphertext list");
    let details = radix["details"].as_array().unwrap();
    assert!(details.contains(&json!({"name": "mask bits kept", "value": 18})));

    let server = Server::start(directory, &["--allow-public-key"]);
    let send = ["send", "--to", &server.url];
    let id = tfhe_sbc_fed(directory, &send, &upload).succeeded();
    // With another upload of the same rows, under the device key.
    let other = tfhe_sbc(directory, &[&send[..], &["day.tsbc"]].concat()).succeeded();
    let ids = format!("{},{}", id.text().trim(), other.text().trim());
    let ask = |device_key: &str, readings: &str, questions: &[&str]| {
        let options = [
            "query",
            "--to",
            &server.url,
            "--columns",
            "columns.toml",
            "--device-key",
            device_key,
            "--readings",
            readings,
        ];
        let run = tfhe_sbc(directory, &[&options, questions].concat()).succeeded();
        answers(directory, &run.stdout)
    };
    assert_eq!(
        ask("keys/device.tsbc", &ids, &["min(level)", "sum(flow)"]),
        json!([
            {"name": "min(level)", "answer": {"value": -2.0, "unit": "m"}},
            {"name": "sum(flow)", "answer": {"value": 194.0, "unit": ""}},
        ])
    );
    // The threshold under the public key, too.
    assert_eq!(
        ask(
            "public.tsbc",
            id.text().trim(),
            &["rows(flow >= encrypted(17))"]
        ),
        json!([{
            "name": "rows(flow >= encrypted(…))",
            "answer": ["10:00", "12:00", "13:00"]
        }])
    );

    let eval = ["eval", "--columns", "columns.toml", "max(level)"];
    let result = tfhe_sbc_fed(directory, &eval, &upload).succeeded().stdout;
    assert_eq!(answers(directory, &result)[0]["answer"]["value"], 2.0);
}

#[test]
fn a_public_key_of_a_set_for_gates_is_refused() {
    let desk = shared().desk();
    let arguments = [
        "device-key",
        "--public",
        "--secret",
        "gates-keys/secret.tsbc",
        "--out-device",
        "public.tsbc",
    ];
    tfhe_sbc(desk.path(), &arguments).succeeded();
    let encrypt = [
        "encrypt",
        "--columns",
        "columns.toml",
        "--key",
        "public.tsbc",
    ];
    tfhe_sbc_fed(desk.path(), &encrypt, READINGS.as_bytes())
        .refused(&["the set 'gates' is for gates", "tfhe-sbc keygen"]);
    let mut damaged = std::fs::read(desk.path().join("public.tsbc")).unwrap();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    std::fs::write(desk.path().join("public.tsbc"), damaged).unwrap();
    tfhe_sbc_fed(desk.path(), &encrypt, READINGS.as_bytes()).refused(&["public.tsbc", "checksum"]);
}

#[test]
fn uploads_of_every_expander_and_memory_plan_are_decrypted() {
    let desk = shared().desk();
    let directory = desk.path();
    make_public_key(directory);
    let help = tfhe_sbc(directory, &["encrypt", "--help"]).succeeded();
    let eval = ["eval", "--columns", "columns.toml", "rows(flow == 17)"];
    let decrypted = |options: &[&str]| {
        let upload = encrypt(directory, options, READINGS);
        let result = tfhe_sbc_fed(directory, &eval, &upload).succeeded().stdout;
        let rows = &answers(directory, &result)[0]["answer"];
        assert_eq!(*rows, json!(["12:00", "13:00"]), "{options:?}");
        upload
    };
    for expander in [
        "ChaCha20",
        "AES-128-CTR",
        "BLAKE2Xb",
        "BLAKE3",
        "SHAKE256",
        "AES-128-CTR-LE",
    ] {
        assert!(help.text().contains(expander), "{}", help.text());
        let upload = decrypted(&["--expander", expander]);
        let list = inspected(directory, &upload)[1].clone();
        let details = list["details"].as_array().unwrap();
        let told = json!({"name": "mask expander", "value": expander});
        assert!(details.contains(&told), "{list}");
    }
    for plan in ["small", "balanced", "fast"] {
        decrypted(&["--plan", plan]);
        decrypted(&["--plan", plan, "--key", "public.tsbc"]);
    }
    for (option, names) in [("--plan", "balanced"), ("--expander", "BLAKE3")] {
        tfhe_sbc(directory, &["encrypt", option, "tiny"]).refused(&[
            "invalid value 'tiny'",
            "possible values",
            names,
        ]);
    }
}

/// Returns the sizes of uploads of `count` readings of `bits` bits.
fn told(directory: &Path, of: &[&str], count: usize, bits: &str) -> Vec<Value> {
    let count = count.to_string();
    let options = ["--readings", &count, "--bits", bits, "--json"];
    let run = tfhe_sbc(directory, &[&["inspect"], of, &options].concat());
    let told = run.succeeded().json();
    assert_eq!(told["parameter_set"], "message_2_carry_2");
    assert_eq!(told["readings"].to_string(), count);
    told["uploads"].as_array().unwrap().clone()
}

#[test]
fn the_size_of_an_upload_is_told_before_it_is_made() {
    let desk = shared().desk();
    let directory = desk.path();
    make_public_key(directory);
    let flow = COLUMNS.rfind("[[column]]").unwrap();
    let flow = format!("{}use = \"radix\"\n", &COLUMNS[flow..]);
    std::fs::write(directory.join("flow.toml"), flow).unwrap();
    for count in [1, 682, 683, 1000] {
        let rows: String = (0..count).map(|i| format!("{i},{}\n", i % 64)).collect();
        let csv = format!("timestamp,flow\n{rows}");
        let mut sizes = Vec::new();
        for (key, kind) in [
            ("keys/device.tsbc", "device key"),
            ("public.tsbc", "device public key"),
        ] {
            let encrypt = ["encrypt", "--columns", "flow.toml", "--key", key];
            let upload = tfhe_sbc_fed(directory, &encrypt, csv.as_bytes()).succeeded();
            let list = inspected(directory, &upload.stdout)[1].clone();
            let told = told(directory, &[key], count, "6");
            assert_eq!(told.len(), 1);
            assert_eq!(told[0]["key"], kind);
            assert_eq!(told[0]["bytes"], list["bytes"], "{count} under a {kind}");
            let parts = ["header_and_checksum_bytes", "mask_bytes", "body_bytes"];
            let sum: u64 = parts
                .map(|part| told[0][part].as_u64().unwrap())
                .iter()
                .sum();
            assert_eq!(told[0]["bytes"], sum);
            // 2048 blocks a ciphertext, 3 a reading.
            assert_eq!(told[0]["ciphertexts"], (3 * count).div_ceil(2048));
            assert_eq!(told[0]["readings_per_ciphertext"], 2048 / 3);
            sizes.extend(told);
        }
        for of in [
            &["keys/secret.tsbc"][..],
            &["keys/server.tsbc"],
            &["--parameters", "message_2_carry_2"],
        ] {
            assert_eq!(told(directory, of, count, "6"), sizes);
        }
    }
}

#[test]
fn sizes_are_shown_to_people() {
    let desk = shared().desk();
    let show = |arguments: &[&str]| {
        let run = tfhe_sbc(desk.path(), &[&["inspect"], arguments].concat()).succeeded();
        run.text().to_owned()
    };
    let text = show(&["keys/device.tsbc", "--readings", "1024", "--bits", "8"]);
    for words in [
        "1,024 readings of 8 bits under a device key of message_2_carry_2: 6,248 B",
        "header and checksum      104 B",
        "bodies                   6,144 B",
        "per reading              6.10 B",
        "ciphertexts              2 of up to 512 readings",
        "workspace, small plan    33,024 B",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    assert!(!text.contains("public key"), "{text}");
    // Booleans need no width; both kinds of keys where none is given.
    let text = show(&["--parameters", "boolean_1024", "--readings", "1024"]);
    for words in [
        "under a device key of boolean_1024: 744 B",
        "under a device public key of boolean_1024: 2,280 B",
        "masks                    1,536 B",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
}

#[test]
fn sizes_that_cannot_be_told_are_refused() {
    let desk = shared().desk();
    let refused = |arguments: &[&str], words: &[&str]| {
        tfhe_sbc(desk.path(), &[&["inspect"], arguments].concat()).refused(words);
    };
    let key = "keys/device.tsbc";
    refused(
        &[key, "--readings", "4"],
        &["'message_2_carry_2'", "--bits 8"],
    );
    let eight = ["--bits", "8", "--readings"];
    for count in ["0", "1048577", "18446744073709551615"] {
        refused(
            &[&[key], &eight[..], &[count]].concat(),
            &["from 1 to 1048576 such readings", "several uploads"],
        );
    }
    refused(&[&[key], &eight[..], &["-4"]].concat(), &["-4"]);
    for bits in ["0", "53", "x"] {
        refused(
            &[key, "--readings", "4", "--bits", bits],
            &["invalid value", "--bits"],
        );
    }
    refused(&[key, "--bits", "8"], &["--readings"]);
    refused(&["--parameters", "gates"], &["--readings"]);
    refused(
        &["--parameters", "tiny", "--readings", "4"],
        &["the parameter sets are", "boolean_1024"],
    );
    refused(
        &[key, "--parameters", "gates", "--readings", "4"],
        &["cannot be used with"],
    );
    refused(
        &[&["day.tsbc"], &eight[..], &["4"]].concat(),
        &["begins with a metadata message", "--parameters"],
    );
    refused(
        &[&["readings.csv"], &eight[..], &["4"]].concat(),
        &["readings.csv"],
    );
    refused(&[], &["required"]);
}
