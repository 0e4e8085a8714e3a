//! TFHE-rs on the command line: its client key imported, readings encrypted under it, and
//! converted. Tests outside of this workspace check that TFHE-rs reads and decrypts them.

use crate::common::{self, COLUMNS, READINGS, encrypt, tfhe_sbc, tfhe_sbc_fed};
use tempfile::TempDir;

const CLIENT_KEY: &[u8] = include_bytes!("../../../../tests/vectors/tfhe-rs/client_key");

/// Bytes of a value around its blocks, and of a block under this key.
const AROUND: usize = 57 + 12 + 8 + 24;
const BLOCK: usize = 16 + 2049 * 8 + 28 + 4 * 12 + 16;

fn imported() -> TempDir {
    let desk = tempfile::tempdir().unwrap();
    let directory = desk.path();
    std::fs::write(directory.join("client_key"), CLIENT_KEY).unwrap();
    std::fs::write(directory.join("columns.toml"), COLUMNS).unwrap();
    let import = [
        "keys",
        "import",
        "--from",
        "tfhe-rs",
        "client_key",
        "--public",
    ];
    tfhe_sbc(directory, &import).succeeded();
    desk
}

#[test]
fn readings_become_values_in_a_stream_or_in_files() {
    let desk = imported();
    let directory = desk.path();
    let rows = READINGS.lines().count() - 1;
    for (key, folder) in [
        ("keys/device.tsbc", "each-device"),
        ("keys/public.tsbc", "each-public"),
    ] {
        let upload = encrypt(directory, &["--key", key], READINGS);
        let convert = ["convert", "--to", "tfhe-rs", "--column", "level"];
        let of_type = |fhe_type| [&convert[..], &["--type", fhe_type]].concat();
        let stream = tfhe_sbc_fed(directory, &of_type("uint32"), &upload)
            .succeeded()
            .stdout;
        assert_eq!(stream.len(), rows * (AROUND + 16 * BLOCK));
        let described = tfhe_sbc_fed(directory, &["inspect", "-"], &stream).succeeded();
        assert!(
            described.text().contains("FheUint of TFHE-rs"),
            "{}",
            described.text()
        );

        let each = [&of_type("uint32")[..], &["--each", folder]].concat();
        tfhe_sbc_fed(directory, &each, &upload).succeeded();
        let files = common::contents(&directory.join(folder));
        assert_eq!(files.into_values().collect::<Vec<_>>().concat(), stream);

        tfhe_sbc_fed(directory, &convert[..3], &upload).refused(&["columns", "--column"]);
        tfhe_sbc_fed(directory, &of_type("bool"), &upload).refused(&["bits", "FheBool"]);
        let list = &upload[metadata_len(&upload)..];
        tfhe_sbc_fed(directory, &convert[..3], list).refused(&["no metadata", "--type"]);
        tfhe_sbc_fed(directory, &of_type("uint32"), list).refused(&["no columns", "--column"]);
    }
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let desk = tempfile::tempdir().unwrap();
    for (to, others) in [
        ("tfhe-rs", "--as tlwe,--archive binary,--parms p,--scale 2"),
        (
            "tfhepp",
            "--column level,--type uint8,--each d,--parms p,--scale 2",
        ),
        (
            "seal",
            "--column level,--type uint8,--each d,--as tlwe,--archive binary,--card c",
        ),
    ] {
        for option in others.split(',') {
            let (name, value) = option.split_once(' ').unwrap();
            let convert = ["convert", "--to", to, name, value];
            let does_nothing = format!("{name} does nothing with --to {to}");
            tfhe_sbc_fed(desk.path(), &convert, b"").refused(&[&does_nothing]);
        }
    }
    for from in ["tfhe-rs", "tfhepp"] {
        let import = ["keys", "import", "--from", from, "key", "--parms", "p"];
        tfhe_sbc(desk.path(), &import).refused(&["--parms is for keys of SEAL"]);
    }
}

/// A disk that is full after the first value leaves neither that nor the directory.
#[cfg(unix)]
#[test]
fn a_value_that_cannot_be_written_leaves_nothing() {
    let desk = imported();
    let directory = desk.path();
    std::fs::write(
        directory.join("up.tsbc"),
        encrypt(directory, &["--key", "keys/device.tsbc"], READINGS),
    )
    .unwrap();
    let convert = "trap '' XFSZ; ulimit -f 50; tfhe-sbc convert --to tfhe-rs up.tsbc \
                   --column level --each values";
    common::run_bash(directory, convert).refused(&["no values were written", "room"]);
    assert!(!directory.join("values").exists());
}

/// Bytes of the first message.
fn metadata_len(upload: &[u8]) -> usize {
    let payload = u64::from_le_bytes(upload[92..100].try_into().unwrap());
    104 + payload as usize
}

#[test]
fn what_is_not_a_key_or_not_of_this_key_is_refused() {
    let desk = imported();
    let directory = desk.path();
    let import = |file: &str, bytes: &[u8]| {
        std::fs::write(directory.join(file), bytes).unwrap();
        let out = [
            "keys", "import", "--from", "tfhe-rs", file, "--out", "other",
        ];
        tfhe_sbc(directory, &out)
    };
    import("short", &CLIENT_KEY[..20_000]).refused(&["cut short"]);
    import("ours", b"TSBC").refused(&["safe_serialize"]);
    let mut version = CLIENT_KEY.to_vec();
    version[0x3f] = 10;
    import("version", &version).refused(&["version 10", "tfhe 1.8"]);
    assert!(!directory.join("other").exists());
    // Never over keys that are there.
    let again = ["keys", "import", "--from", "tfhe-rs", "client_key"];
    tfhe_sbc(directory, &again).refused(&["never overwritten"]);

    let described = tfhe_sbc(directory, &["inspect", "client_key"]).succeeded();
    for told in ["ClientKey of TFHE-rs", "2 + 2", "918"] {
        assert!(described.text().contains(told), "{}", described.text());
    }
}
