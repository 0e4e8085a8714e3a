//! `readings get --decrypt`: tables of readings, fetched from a real server and decrypted beside it.

use std::path::Path;

use crate::common::{Run, Server, command, shared, tfhe_sbc, tfhe_sbc_fed};

/// Columns in every form: compact for means, compact for alarms, and radix blocks.
const FORMS: &str = r#"
[[column]]
name = "temperature_c"
unit = "°C"
offset = -40.0
scale = 0.1
bits = 11
use = "means"

[[column]]
name = "level"
unit = "m"
offset = -2.0
scale = 0.5
bits = 4
use = "alarms"

[[column]]
name = "counter"
offset = 0.0
scale = 1.0
bits = 40
use = "radix"
"#;

/// A column that other uploads have, and one that they have not.
const LATER: &str = r#"
[[column]]
name = "wind"
unit = "m/s"
offset = 0.0
scale = 0.25
bits = 8

[[column]]
name = "level"
unit = "m"
offset = -2.0
scale = 0.5
bits = 4
"#;

/// Sends CSV in a device's name, encrypted under a key and the definitions of a file.
fn send(directory: &Path, server: &Server, device: &str, columns: &str, key: &str, csv: &str) {
    let encrypt = ["encrypt", "--columns", columns, "--key", key];
    let upload = tfhe_sbc_fed(directory, &encrypt, csv.as_bytes()).succeeded();
    let send = ["send", "--to", &server.url, "--identity", device];
    tfhe_sbc_fed(directory, &send, &upload.stdout).succeeded();
}

/// A directory with devices `hill`, `lake` and `moor`, of which `lake` has a key of its own.
fn prepare(directory: &Path) {
    std::fs::write(directory.join("forms.toml"), FORMS).unwrap();
    std::fs::write(directory.join("later.toml"), LATER).unwrap();
    std::fs::create_dir(directory.join("switches")).unwrap();
    for name in ["hill", "lake", "moor"] {
        tfhe_sbc(directory, &["certs", "--out", "tls", "--add", name]).succeeded();
    }
    let own = [
        "device-key",
        "--device",
        "lake",
        "--out-device",
        "lake.tsbc",
        "--out-switch",
        "switches/lake.tsbc",
    ];
    tfhe_sbc(directory, &own).succeeded();
    let public = ["device-key", "--public", "--out-device", "public.tsbc"];
    tfhe_sbc(directory, &public).succeeded();
}

const DEVICE: &str = "keys/device.tsbc";
const OPEN: [&str; 3] = ["--device-keys", "switches", "--allow-public-key"];

fn get(directory: &Path, server: &Server, options: &[&str]) -> Run {
    let get = ["readings", "get", "--to", &server.url, "--decrypt"];
    tfhe_sbc(
        directory,
        &[&get[..], &["keys/secret.tsbc"], options].concat(),
    )
}

#[test]
fn readings_of_every_form_and_key_come_back_row_by_row() {
    let desk = shared().desk();
    let directory = desk.path();
    prepare(directory);
    let server = Server::start(directory, &OPEN);
    let heading = "timestamp,temperature_c,level,counter\n";
    let rows = [
        "2026-11-23T09:00Z,20.8,-1.5,0\n",
        "2026-11-23T09:30Z,-0.1,5.5,1099511627775\n",
        "2026-11-23T10:00Z,164.7,0,17\n",
    ];
    let csv = |rows: &[&str]| format!("{heading}{}", rows.concat());
    send(
        directory,
        &server,
        "hill",
        "forms.toml",
        DEVICE,
        &csv(&rows[1..]),
    );
    send(
        directory,
        &server,
        "hill",
        "forms.toml",
        "public.tsbc",
        &csv(&rows[..1]),
    );
    send(
        directory,
        &server,
        "lake",
        "forms.toml",
        "lake.tsbc",
        &csv(&rows),
    );

    let keys = ["--device-keys", "switches"];
    let table = get(directory, &server, &keys).succeeded();
    let expected: String = ["hill", "lake"]
        .iter()
        .flat_map(|device| rows.map(|row| format!("{device},{row}")))
        .collect();
    let heading = "device,time,temperature_c [°C],level [m],counter\n";
    assert_eq!(table.text(), format!("{heading}{expected}"));
    let about = "6 rows in 3 uploads of hill, lake, 2026-11-23T09:00:00Z to 2026-11-23T10:00:00Z: to stdout";
    assert!(table.stderr.contains(about), "{}", table.stderr);

    // An upload is cut where the time begins and ends.
    let middle = [
        "--since",
        "2026-11-23T10:15+01:00",
        "--until",
        "2026-11-23T10:00Z",
    ];
    let cut = get(directory, &server, &[&keys[..], &middle].concat()).succeeded();
    let expected = format!("{heading}hill,{}lake,{}", rows[1], rows[1]);
    assert_eq!(cut.text(), expected);
    let hill = ["--device", "hill", "--column", "level", "--format", "jsonl"];
    let lines = get(directory, &server, &[&hill[..], &middle].concat()).succeeded();
    let expected = "{\"device\":\"hill\",\"time\":\"2026-11-23T09:30Z\",\"level\":5.5}\n";
    assert_eq!(lines.text(), expected);

    // A reader that goes away is no failure.
    let script = format!(
        "{} readings get --to {} --decrypt keys/secret.tsbc --device-keys switches | head -n 1",
        crate::common::PROGRAM,
        server.url
    );
    let head = crate::common::run_bash(directory, &script).succeeded();
    assert_eq!(head.text(), heading);

    // Without the switch key it is said which key is missing, and there is no table of half of the readings.
    let before = crate::common::contents(directory);
    get(directory, &server, &["--out", "half.csv"]).refused(&[
        "of 'lake'",
        "another key set",
        "--device-keys",
    ]);
    assert!(!directory.join("half.csv").exists());
    assert_eq!(crate::common::contents(directory), before);
    let other = ["readings", "get", "--to", &server.url, "--decrypt"];
    tfhe_sbc(
        directory,
        &[&other[..], &["other-keys/secret.tsbc", "--device", "hill"]].concat(),
    )
    .refused(&["of 'hill'", "another key set", "--decrypt"]);
}

#[test]
fn columns_that_an_upload_has_not_are_empty_and_repeated_rows_are_counted() {
    let desk = shared().desk();
    let directory = desk.path();
    prepare(directory);
    let server = Server::start(directory, &OPEN);
    let old = "timestamp,level,flow\n2026-11-23T09:00Z,1.5,3\n2026-11-23T09:30Z,2,4\n";
    let new = "timestamp,wind,level\n2026-11-23T09:30Z,0.75,2.5\n2026-11-23T10:00Z,12,3\n";
    send(directory, &server, "hill", "columns.toml", DEVICE, old);
    send(directory, &server, "hill", "later.toml", DEVICE, new);
    // Of another device, rows of the same moments are no repetition.
    send(directory, &server, "moor", "later.toml", DEVICE, new);

    let hill = ["--device", "hill", "--out", "hill.csv"];
    let written = get(directory, &server, &hill).succeeded();
    assert_eq!(
        std::fs::read_to_string(directory.join("hill.csv")).unwrap(),
        "device,time,level [m],flow,wind [m/s]\n\
         hill,2026-11-23T09:00Z,1.5,3,\n\
         hill,2026-11-23T09:30Z,2,4,\n\
         hill,2026-11-23T09:30Z,2.5,,0.75\n\
         hill,2026-11-23T10:00Z,3,,12\n"
    );
    let words = "1 row of a device and time that another row has, too: to hill.csv";
    assert!(written.stderr.contains(words), "{}", written.stderr);
    let all = get(directory, &server, &["--device", "*", "--format", "jsonl"]).succeeded();
    assert_eq!(all.text().lines().count(), 6);
    assert!(all.stderr.contains("1 row of a device"), "{}", all.stderr);
    let first = all.text().lines().next().unwrap();
    assert!(first.ends_with("\"flow\":3,\"wind\":null}"), "{first}");

    // Nobody else reads the table, and nothing is overwritten unasked.
    let mode = |name: &str| {
        let metadata = std::fs::metadata(directory.join(name)).unwrap();
        std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777
    };
    assert_eq!(mode("hill.csv"), 0o600);
    get(directory, &server, &hill).refused(&["hill.csv exists already", "--force"]);
    get(
        directory,
        &server,
        &["--device", "moor", "--out", "hill.csv", "--force"],
    )
    .succeeded();
    let replaced = std::fs::read_to_string(directory.join("hill.csv")).unwrap();
    assert!(
        replaced.contains("moor,2026-11-23T10:00Z,12,3\n"),
        "{replaced}"
    );
    // An upload by its id.
    let list = [
        "readings",
        "list",
        "--to",
        &server.url,
        "--json",
        "--device",
        "moor",
    ];
    let id = tfhe_sbc(directory, &list).succeeded().json()["readings"][0]["id"].clone();
    let one = get(directory, &server, &[id.as_str().unwrap()]).succeeded();
    assert_eq!(one.text().lines().count(), 3);

    // Parquet by the name of the file.
    get(directory, &server, &["--out", "hill.parquet"]).succeeded();
    let parquet = std::fs::read(directory.join("hill.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));

    let refused =
        |options: &[&str], words: &[&str]| get(directory, &server, options).refused(words);
    refused(
        &["--device", "roof"],
        &["no device 'roof'", "readings list"],
    );
    refused(
        &["--device", "hill", "--until", "2026-01-01"],
        &["no uploads are selected", "times"],
    );
    refused(
        &[
            "--since",
            "2026-11-23T09:10Z",
            "--until",
            "2026-11-23T09:20Z",
        ],
        &["none of the 2 rows", "select another time"],
    );
    refused(
        &["--column", "levle"],
        &["no column 'levle'", "level", "flow", "wind"],
    );
    refused(&["--out", "none/hill.csv"], &["there is no directory none"]);
    refused(&["--identity", "hill"], &["may not list"]);
    refused(&[&"0".repeat(64)], &["no upload 0000", "is stored"]);
    let named = get(directory, &server, &["--device", "hill,lake"]).succeeded();
    assert!(
        named.stderr.contains("no readings of lake are selected"),
        "{}",
        named.stderr
    );
    for option in [
        "--force",
        "--format=csv",
        "--column=level",
        "--device-keys=switches",
    ] {
        let arguments = ["readings", "get", "--out", "uploads", option];
        let run = command(directory, &arguments).output().unwrap();
        let stderr = String::from_utf8(run.stderr).unwrap();
        assert!(
            !run.status.success() && stderr.contains("--decrypt"),
            "{stderr}"
        );
    }
}

#[test]
fn a_column_of_two_units_is_refused_and_labels_need_not_be_times() {
    let desk = shared().desk();
    let directory = desk.path();
    prepare(directory);
    let server = Server::start(directory, &OPEN);
    let csv = "timestamp,wind,level\nfirst,0.75,2.5\nsecond,12,3\n";
    send(directory, &server, "hill", "later.toml", DEVICE, csv);
    let table = get(directory, &server, &[]).succeeded();
    let expected = "device,label,wind [m/s],level [m]\nhill,first,0.75,2.5\nhill,second,12,3\n";
    assert_eq!(table.text(), expected);
    let knots = LATER.replace("m/s", "kn");
    std::fs::write(directory.join("knots.toml"), knots).unwrap();
    let csv = csv
        .replace("wind,level", "wind,level,flow")
        .replace(",3\n", ",3,1\n")
        .replace("2.5\n", "2.5,1\n");
    let flow = "\n[[column]]\nname = \"flow\"\noffset = 0.0\nscale = 1.0\nbits = 6\n";
    let knots = std::fs::read_to_string(directory.join("knots.toml")).unwrap() + flow;
    std::fs::write(directory.join("knots.toml"), knots).unwrap();
    send(directory, &server, "hill", "knots.toml", DEVICE, &csv);
    get(directory, &server, &[]).refused(&["'wind' is in 'm/s' in some", "'kn'", "several tables"]);
}
