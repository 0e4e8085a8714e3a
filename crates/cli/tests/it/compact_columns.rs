//! `inspect` of uploads with compact columns, and their sizes told before they are made.

use std::path::Path;

use serde_json::json;
use tfhe_sbc_device::{ExpanderKind, MemoryPlan};
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::readings::{Column, Compact};
use zeroize::Zeroizing;

use crate::common::{inspected, shared, tfhe_sbc, tfhe_sbc_fed};

fn column(name: &str, bits: u32, compact: Option<Compact>) -> Column {
    Column {
        name: name.to_owned(),
        unit: "m".to_owned(),
        offset: -2.0,
        scale: 0.5,
        bits,
        compact,
        derived: Default::default(),
    }
}

/// An upload of `rows` rows of these columns.
fn upload(key: Vec<u8>, columns: &[Column], rows: usize) -> Vec<u8> {
    let mut session = DeviceSession::new(Zeroizing::new(key), MemoryPlan::recommended()).unwrap();
    let labels: Vec<String> = (0..rows).map(|row| row.to_string()).collect();
    let readings = vec![vec![1.5; rows]; columns.len()];
    let upload = session.encrypt_table(ExpanderKind::ChaCha20, columns, &labels, &readings);
    upload.unwrap()
}

fn public_key(directory: &Path) -> Vec<u8> {
    let arguments = ["device-key", "--public", "--out-device", "public.tsbc"];
    tfhe_sbc(directory, &arguments).succeeded();
    std::fs::read(directory.join("public.tsbc")).unwrap()
}

#[test]
fn the_encoding_of_every_column_is_shown() {
    let shared = shared();
    let desk = shared.desk();
    let compact = |headroom, body_bits, feedback| {
        Some(Compact {
            headroom,
            body_bits,
            feedback,
        })
    };
    let columns = [
        column("means", 12, compact(14, 31, true)),
        column("blocks", 6, None),
        column("alarms", 12, compact(1, 18, false)),
    ];
    let device_key = shared.read("keys/device.tsbc");
    let of_metadata = [
        "means [m]: 12 bits from -2 in steps of 0.5, compact below 14 bits of headroom, 31 body bits \
         kept, with error feedback",
        "blocks [m]: 6 bits from -2 in steps of 0.5",
        "alarms [m]: 12 bits from -2 in steps of 0.5, compact below 1 bits of headroom, 18 body bits kept",
    ];
    let of_list = [
        "1,100 compact codes of 12 bits below 14 bits of headroom, 31 body bits kept, with error feedback",
        "3,300 radix blocks of 2 + 2 bits, 12 body bits kept",
        "1,100 compact codes of 12 bits below 1 bits of headroom, 18 body bits kept",
    ];
    for (key, kind) in [
        (device_key, "seeded column list"),
        (public_key(desk.path()), "column list"),
    ] {
        let upload = upload(key, &columns, 1100);
        let messages = inspected(desk.path(), &upload);
        for (message, expected) in [(&messages[0], of_metadata), (&messages[1], of_list)] {
            let details = message["details"].as_array().unwrap();
            let mut columns = details.iter().filter(|detail| detail["name"] == "column");
            for text in expected {
                assert_eq!(columns.next().unwrap()["value"], text);
            }
            assert_eq!(columns.next(), None);
        }
        assert_eq!(messages[1]["kind"], kind);
        let details = messages[1]["details"].as_array().unwrap();
        assert!(details.contains(&json!({"name": "elements", "value": 5500})));
        let mask_bits = json!({"name": "mask bits kept", "value": 31 + 6});
        assert_eq!(details.contains(&mask_bits), kind == "column list");
        let run = tfhe_sbc_fed(desk.path(), &["inspect", "-"], &upload).succeeded();
        for text in of_metadata.iter().chain(&of_list) {
            assert!(run.text().contains(text), "no {text:?} in\n{}", run.text());
        }
    }
}

#[test]
fn the_size_of_a_compact_column_is_told_before_it_is_made() {
    let shared = shared();
    let desk = shared.desk();
    let directory = desk.path();
    let public = public_key(directory);
    let compact = Compact {
        headroom: 10,
        body_bits: 30,
        feedback: false,
    };
    for count in [1, 2048, 2049] {
        let asked = count.to_string();
        for (file, key) in [
            ("keys/device.tsbc", shared.read("keys/device.tsbc")),
            ("public.tsbc", public.clone()),
        ] {
            let options = ["--readings", &asked, "--bits", "12", "--headroom", "10"];
            let more = ["--body-bits", "30", "--json"];
            let all = [&["inspect", file][..], &options, &more].concat();
            let told = tfhe_sbc(directory, &all).succeeded().json();
            assert_eq!(
                (&told["headroom"], &told["body_bits"]),
                (&json!(10), &json!(30))
            );
            assert_eq!(told["plaintexts_per_reading"], 1);
            let made = upload(key, &[column("x", 12, Some(compact))], count);
            let list = inspected(directory, &made)[1].clone();
            let told = &told["uploads"][0];
            assert_eq!(told["bytes"], list["bytes"], "{count} under {file}");
            assert_eq!(told["readings_per_ciphertext"], 2048);
            assert_eq!(told["ciphertexts"], count.div_ceil(2048));
        }
    }
    let shown = |options: &[&str]| {
        let run = tfhe_sbc(
            directory,
            &[&["inspect", "keys/device.tsbc"], options].concat(),
        );
        run.succeeded().text().to_owned()
    };
    let text = shown(&[
        "--readings",
        "2048",
        "--bits",
        "12",
        "--headroom",
        "10",
        "--body-bits",
        "30",
    ]);
    for words in [
        "2,048 readings of 12 bits below 10 bits of headroom under a device key of message_2_carry_2: 7,794 B",
        "header and checksum      114 B",
        "bodies                   7,680 B",
        "ciphertexts              1 of up to 2,048 readings",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let radix = tfhe_sbc(
        directory,
        &[
            "inspect",
            "keys/device.tsbc",
            "--readings",
            "1",
            "--bits",
            "8",
            "--json",
        ],
    );
    assert_eq!(radix.succeeded().json().get("headroom"), None);
}

#[test]
fn compact_columns_that_cannot_be_are_refused() {
    let desk = shared().desk();
    let refused = |arguments: &[&str], words: &[&str]| {
        let all = [&["inspect", "--readings", "9", "--bits", "12"], arguments].concat();
        tfhe_sbc(desk.path(), &all).refused(words);
    };
    let integers = ["--parameters", "message_2_carry_2"];
    let compact = |headroom: &'static str, body_bits: &'static str| {
        [
            integers[0],
            integers[1],
            "--headroom",
            headroom,
            "--body-bits",
            body_bits,
        ]
    };
    refused(
        &compact("10", "22"),
        &["from 23 to 56 bits, not 22", "--body-bits"],
    );
    refused(
        &compact("37", "56"),
        &["at most 36 bits of headroom", "--headroom"],
    );
    refused(
        &[&integers[..], &["--headroom", "10"]].concat(),
        &["--body-bits"],
    );
    refused(
        &[&integers[..], &["--body-bits", "30"]].concat(),
        &["--headroom"],
    );
    let bits = [
        "--parameters",
        "gates",
        "--headroom",
        "10",
        "--body-bits",
        "30",
    ];
    refused(
        &bits,
        &["'gates' has no compact columns", "message_2_carry_2"],
    );
}
