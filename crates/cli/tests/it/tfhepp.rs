//! Boards for a server that runs TFHEpp: from its secret key to its results in the clear.

use std::process::{Command, Stdio};

use crate::common::{COLUMNS, PROGRAM, READINGS, encrypt, tfhe_sbc, tfhe_sbc_fed};
use crate::vectors;
use serde_json::json;
use tempfile::TempDir;

/// The codes of [`READINGS`] under [`COLUMNS`]: level in steps of 0.5 from -2, then flow.
const LEVELS: [u64; 4] = [1, 8, 5, 0];
const FLOWS: [u64; 4] = [60, 3, 17, 17];

/// A directory with TFHEpp's secret key, the keys made of it and column definitions.
fn desk() -> TempDir {
    let desk = tempfile::tempdir().unwrap();
    std::fs::copy(
        vectors::tfhepp_path("secretkey.bin"),
        desk.path().join("secretkey.bin"),
    )
    .unwrap();
    std::fs::write(desk.path().join("columns.toml"), COLUMNS).unwrap();
    let import = [
        "keys",
        "import",
        "--from",
        "tfhepp",
        "secretkey.bin",
        "--public",
    ];
    let said = tfhe_sbc(desk.path(), &import).succeeded().stderr;
    assert!(said.contains("121.8 bits of security"), "{said}");
    desk
}

fn expected_bits() -> Vec<u64> {
    let levels = LEVELS.iter().flat_map(|x| (0..4).map(move |i| x >> i & 1));
    let flows = FLOWS.iter().flat_map(|x| (0..6).map(move |i| x >> i & 1));
    levels.chain(flows).collect()
}

#[test]
fn readings_become_their_ciphertexts_and_come_back() {
    let desk = desk();
    for board_key in ["keys/device.tsbc", "keys/public.tsbc"] {
        let upload = encrypt(desk.path(), &["--key", board_key], READINGS);
        for (options, len) in [
            (&[][..], 9 + 40 * 4100),
            (&["--archive", "binary"], 8 + 40 * 4100),
            (&["--as", "trlwe"], 1 + 8192),
            (&["--as", "trlwe-vector"], 9 + 8192),
        ] {
            let convert = [&["convert", "--to", "tfhepp"], options].concat();
            let converted = tfhe_sbc_fed(desk.path(), &convert, &upload)
                .succeeded()
                .stdout;
            assert_eq!(converted.len(), len, "{options:?}");
            // Without a key's name it is the one that the import wrote.
            let usual = ["decrypt", "--from", "tfhepp", "--json", "--count", "40"];
            let bits = tfhe_sbc_fed(desk.path(), &usual, &converted).succeeded();
            assert_eq!(bits.json(), json!({ "bits": expected_bits() }));
            for key in ["secretkey.bin", "keys/device.tsbc"] {
                let decrypt = [
                    "decrypt", "--from", "tfhepp", "--json", "--key", key, "--count",
                ];
                let bits = [&decrypt[..], &["40"]].concat();
                let bits = tfhe_sbc_fed(desk.path(), &bits, &converted).succeeded();
                assert_eq!(bits.json(), json!({ "bits": expected_bits() }));
                let levels = [&decrypt[..], &["16", "--bits", "4"]].concat();
                let levels = tfhe_sbc_fed(desk.path(), &levels, &converted).succeeded();
                assert_eq!(levels.json(), json!({ "numbers": LEVELS }));
            }
        }
    }
    // A second import agrees with the first: its card converts the same uploads.
    let again = [
        "keys",
        "import",
        "--from",
        "tfhepp",
        "secretkey.bin",
        "--out",
        "again",
    ];
    tfhe_sbc(desk.path(), &again).succeeded();
    let convert = ["convert", "--to", "tfhepp", "--card", "again/card.tsbc"];
    let upload = encrypt(desk.path(), &["--key", "keys/device.tsbc"], READINGS);
    tfhe_sbc_fed(desk.path(), &convert, &upload).succeeded();
}

#[test]
fn gates_results_are_printed() {
    let desk = desk();
    for (name, text) in [
        ("nand_0_1.bin", nand("vec8", 0, 1)),
        ("nand_2_3.bin", nand("vec8", 2, 3)),
    ] {
        let path = vectors::tfhepp_path(name);
        let decrypt = [
            "decrypt",
            "--from",
            "tfhepp",
            "--key",
            "secretkey.bin",
            path.to_str().unwrap(),
        ];
        assert_eq!(
            tfhe_sbc(desk.path(), &decrypt).succeeded().text(),
            text,
            "{name}"
        );
    }
}

fn nand(name: &str, a: usize, b: usize) -> String {
    let bits = vectors::tfhepp_bits(&format!("{name}_bits.txt"));
    format!("{}\n", u8::from(!(bits[a] && bits[b])))
}

#[test]
fn their_files_are_recognised() {
    let desk = desk();
    for (name, words) in [
        (
            "secretkey.bin",
            &["SecretKey of TFHEpp", "binary", "v9", "121.8 bits"][..],
        ),
        ("vec8.bin", &["std::vector<TLWE<lvl1param>> of TFHEpp", "8"]),
        ("trlwe1024.bin", &["TRLWE<lvl1param> of TFHEpp"]),
    ] {
        let path = vectors::tfhepp_path(name);
        let text = tfhe_sbc(desk.path(), &["inspect", path.to_str().unwrap()]).succeeded();
        for word in words {
            assert!(text.text().contains(word), "{name}: {}", text.text());
        }
    }
    let card = tfhe_sbc(desk.path(), &["inspect", "keys/device.tsbc"]).succeeded();
    assert!(card.text().contains("tfhepp_lvl1_binary_lambda_122"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let desk = desk();
    let path = desk.path();
    let key = std::fs::read(path.join("secretkey.bin")).unwrap();
    std::fs::write(path.join("short.bin"), &key[..key.len() - 3]).unwrap();
    let import = [
        "keys",
        "import",
        "--from",
        "tfhepp",
        "short.bin",
        "--out",
        "short",
    ];
    tfhe_sbc(path, &import).refused(&["short.bin", "90438 bytes are no secret key", "v9 or 2026"]);
    let import = ["keys", "import", "--from", "tfhepp", "secretkey.bin"];
    tfhe_sbc(path, &import).refused(&["exists already"]);

    let upload = encrypt(path, &["--key", "keys/device.tsbc"], READINGS);
    let convert = ["convert", "--to", "tfhepp"];
    let mut damaged = upload.clone();
    damaged[200] ^= 1;
    tfhe_sbc_fed(path, &convert, &damaged).refused(&["checksum"]);
    tfhe_sbc_fed(path, &convert, &upload[..50]).refused(&["device key beside the card"]);
    // Bits are for no server of ours.
    tfhe_sbc(path, &["keygen", "--out", "ours"]).succeeded();
    let eval = [
        "eval",
        "--key",
        "ours/server.tsbc",
        "--device-key",
        "ours/device.tsbc",
        "--columns",
        "columns.toml",
        "--readings",
        "-",
        "max(level)",
    ];
    tfhe_sbc_fed(path, &eval, &upload).refused(&["made under other parameters"]);
    let ours = encrypt(path, &["--key", "ours/device.tsbc"], READINGS);
    tfhe_sbc_fed(path, &convert, &ours).refused(&["device key beside the card"]);

    let decrypt = ["decrypt", "--from", "tfhepp", "--key", "secretkey.bin"];
    tfhe_sbc_fed(path, &decrypt, &upload).refused(&["neither a TLWE"]);
    let converted = tfhe_sbc_fed(path, &convert, &upload).succeeded().stdout;
    let odd = [&decrypt[..], &["--bits", "3"]].concat();
    tfhe_sbc_fed(path, &odd, &converted).refused(&["40 bits are no whole numbers of 3 bits"]);
    let many = [&decrypt[..], &["--count", "41"]].concat();
    tfhe_sbc_fed(path, &many, &converted).refused(&["there are 40 bits"]);
}

/// A million bits, 4.1 GB, go through a program that may have 512 MiB of addresses.
#[cfg(target_os = "linux")]
#[test]
fn a_million_bits_take_no_more_memory() {
    use std::fmt::Write as _;

    const ROWS: usize = 100_000;
    let desk = desk();
    let mut readings = String::from("timestamp,level,flow\n");
    for row in 0..ROWS {
        writeln!(readings, "{row},{}.5,{}", row % 5, row % 64).unwrap();
    }
    let encrypt = [
        "encrypt",
        "--columns",
        "columns.toml",
        "--key",
        "keys/device.tsbc",
        "--out",
        "day.tsbc",
    ];
    tfhe_sbc_fed(desk.path(), &encrypt, readings.as_bytes()).succeeded();
    let program =
        format!("ulimit -v 524288; RAYON_NUM_THREADS=2 '{PROGRAM}' convert --to tfhepp day.tsbc");
    let mut child = Command::new("sh")
        .args(["-c", &program])
        .current_dir(desk.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let written = std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(written, 9 + 10 * ROWS as u64 * 4100);
}
