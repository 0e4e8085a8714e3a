//! Questions about devices, times and groups of rows, through a real server: selected by the catalogue, answered row by row.

use std::path::Path;

use crate::common::{Run, Server, encrypt, shared, tfhe_sbc};

/// Sends an upload of readings of `level` at these times in a device's name.
fn send(directory: &Path, server: &Server, device: &str, rows: &[(&str, f64)]) {
    let lines = rows
        .iter()
        .map(|(time, level)| format!("{time},{level},3\n"));
    let csv = format!("timestamp,level,flow\n{}", lines.collect::<String>());
    std::fs::write(directory.join("rows.tsbc"), encrypt(directory, &[], &csv)).unwrap();
    let to = [
        "send",
        "rows.tsbc",
        "--to",
        &server.url,
        "--identity",
        device,
    ];
    tfhe_sbc(directory, &to).succeeded();
}

/// Two uploads of `hill` and one of `lake`, of a morning.
fn morning(directory: &Path) -> Server {
    for name in ["hill", "lake"] {
        tfhe_sbc(directory, &["certs", "--out", "tls", "--add", name]).succeeded();
    }
    let server = Server::start(directory, &[]);
    send(
        directory,
        &server,
        "hill",
        &[
            ("2026-11-23T09:00Z", 1.0),
            ("2026-11-23T09:30Z", 2.0),
            ("2026-11-23T10:00Z", 3.0),
        ],
    );
    send(
        directory,
        &server,
        "lake",
        &[("2026-11-23T09:15Z", -2.0), ("2026-11-23T10:15Z", 5.0)],
    );
    send(
        directory,
        &server,
        "hill",
        &[("2026-11-23T10:30Z", 4.5), ("2026-11-23T11:00Z", -1.5)],
    );
    server
}

fn ask(directory: &Path, server: &Server, options: &[&str]) -> Run {
    let query = ["query", "--to", &server.url, "--out", "asked.tsbc"];
    tfhe_sbc(directory, &[&query[..], options].concat())
}

/// The decrypted answers, each with the text of its group.
fn answers(directory: &Path) -> Vec<(String, serde_json::Value)> {
    let decrypt = ["decrypt", "asked.tsbc", "--json"];
    let json = tfhe_sbc(directory, &decrypt).succeeded().json();
    let answers = json["answers"].as_array().unwrap().clone();
    let each = answers.into_iter().map(|answer| {
        let group = &answer["group"];
        let text = |key: &str| group[key].as_str().unwrap_or_default().to_owned();
        let group = format!("{} {}", text("device"), text("from"));
        (group.trim().to_owned(), answer["answer"].clone())
    });
    each.collect()
}

fn numbers(directory: &Path) -> Vec<(String, f64)> {
    let each = answers(directory).into_iter();
    each.map(|(group, answer)| (group, answer["value"].as_f64().unwrap()))
        .collect()
}

#[test]
fn questions_are_about_the_rows_of_devices_and_times() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = morning(directory);
    let sum = |options: &[&str]| {
        ask(directory, &server, &[options, &["sum(level)"]].concat()).succeeded();
        let answers = numbers(directory);
        assert_eq!(answers.len(), 1);
        answers[0].1
    };
    assert_eq!(sum(&["--device", "hill"]), 9.0);
    assert_eq!(sum(&["--device", "*"]), 12.0);
    assert_eq!(sum(&["--readings", "stored"]), 12.0);
    assert_eq!(sum(&["--since", "2026-11-23T10:00Z"]), 11.0);
    let middle = [
        "--since",
        "2026-11-23T10:15+01:00",
        "--until",
        "2026-11-23T10:30Z",
    ];
    assert_eq!(sum(&middle), 8.0);
    assert_eq!(sum(&["--device", "*", "--newest", "1"]), 3.5);
    // The last upload alone is asked for, and said.
    let latest = ["--readings", "latest", "--device", "hill"];
    assert_eq!(sum(&latest), 3.0);

    let options = ["--device", "*", "--since", "2026-11-23T10:00Z"];
    let asked = ask(
        directory,
        &server,
        &[&options[..], &["argmax(level)"]].concat(),
    )
    .succeeded();
    let about =
        "about 4 rows in 3 uploads of hill, lake, 2026-11-23T10:00:00Z to 2026-11-23T11:00:00Z";
    assert!(asked.stderr.contains(about), "{}", asked.stderr);
    let shown = tfhe_sbc(directory, &["decrypt", "asked.tsbc"]).succeeded();
    assert!(shown.text().contains(about), "{}", shown.text());
    assert!(
        shown.text().contains("lake 2026-11-23T10:15Z: 5 m"),
        "{}",
        shown.text()
    );
}

#[test]
fn every_group_of_rows_has_its_answer() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = morning(directory);
    let options = ["--device", "*", "--by", "device,hour"];
    ask(
        directory,
        &server,
        &[&options[..], &["mean(level)"]].concat(),
    )
    .succeeded();
    let expected = [
        ("hill 2026-11-23T09:00:00Z", 1.5),
        ("hill 2026-11-23T10:00:00Z", 3.75),
        ("hill 2026-11-23T11:00:00Z", -1.5),
        ("lake 2026-11-23T09:00:00Z", -2.0),
        ("lake 2026-11-23T10:00:00Z", 5.0),
    ];
    let expected = expected.map(|(group, mean)| (group.to_owned(), mean));
    assert_eq!(numbers(directory), expected);
    let shown = tfhe_sbc(directory, &["decrypt", "asked.tsbc"]).succeeded();
    let text = shown.text();
    for words in [
        "device",
        "from",
        "rows",
        "hill",
        "2026-11-23T10:00:00Z",
        "3.75 m",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // The peak of each device, and the devices whose last value exceeds a limit.
    let by_device = ["--device", "*", "--by", "device"];
    let asked = ["last(level)", "argmax(level)"];
    ask(directory, &server, &[&by_device[..], &asked].concat()).succeeded();
    let rows: Vec<(String, String)> = answers(directory)
        .into_iter()
        .map(|(group, answer)| (group, answer["row"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [
        ("hill", "2026-11-23T11:00Z"),
        ("lake", "2026-11-23T10:15Z"),
        ("hill", "2026-11-23T10:30Z"),
        ("lake", "2026-11-23T10:15Z"),
    ];
    let expected = expected.map(|(group, row)| (group.to_owned(), row.to_owned()));
    assert_eq!(rows, expected);
    let newest = ["--device", "*", "--newest", "1", "rows(level > 0)"];
    ask(directory, &server, &newest).succeeded();
    assert_eq!(
        answers(directory)[0].1,
        serde_json::json!(["lake 2026-11-23T10:15Z"])
    );
}

#[test]
fn what_selects_nothing_says_what_there_is() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = morning(directory);
    let refused = |options: &[&str], words: &[&str]| {
        ask(directory, &server, &[options, &["sum(level)"]].concat()).refused(words);
    };
    refused(&[], &["several have uploaded", "--device"]);
    refused(
        &["--device", "roof"],
        &["no device 'roof' has uploaded", "hill"],
    );
    // One name that is wrong is not left out.
    refused(
        &["--device", "hill,laek"],
        &["no device 'laek' has uploaded", "hill, lake"],
    );
    refused(
        &["--device", "lake", "--since", "2030-01-01"],
        &[
            "no stored readings are of that time",
            "2026-11-23T10:15:00Z",
        ],
    );
    // An upload is from 9:00 to 10:00, but none of its rows is of that time.
    refused(
        &[
            "--device",
            "hill",
            "--since",
            "2026-11-23T09:10Z",
            "--until",
            "2026-11-23T09:20Z",
        ],
        &["none of the 3 rows", "readings list"],
    );
    refused(
        &["--since", "2026-11-24", "--until", "2026-11-23"],
        &["is not before", "swap"],
    );
    refused(&["--since", "yesterday"], &["times are like"]);
    refused(&["--by", "month"], &["by hour, day, week"]);
    refused(&["--newest", "0"], &["newest"]);
    refused(
        &["--readings", "latest", "--device", "h*"],
        &["that of one device"],
    );
    refused(
        &["--readings", "board:0123456789abcdef", "--device", "hill"],
        &["both --readings and --device"],
    );
    // Other columns are said with the device that they are of: first the same ones in other steps, then ones of other names.
    let columns = std::fs::read_to_string(directory.join("columns.toml")).unwrap();
    let coarser = columns.replace("scale = 0.5", "scale = 1.0");
    assert!(coarser != columns);
    let depth = "[[column]]\nname = \"depth\"\nunit = \"m\"\noffset = 0.0\nscale = 1.0\nbits = 4\n";
    for (definitions, table, words) in [
        (
            coarser.as_str(),
            "timestamp,level,flow\n2026-11-23T11:30Z,1,3\n",
            ["other columns", "of lake, the first of hill"],
        ),
        (
            depth,
            "timestamp,depth\n2026-11-23T11:40Z,3\n",
            ["those of hill have level, flow", "those of lake have depth"],
        ),
    ] {
        std::fs::write(directory.join("other.toml"), definitions).unwrap();
        std::fs::write(directory.join("other.csv"), table).unwrap();
        let encrypt = ["encrypt", "other.csv", "--columns", "other.toml"];
        let encrypt = [&encrypt[..], &["--out", "other.tsbc"]].concat();
        tfhe_sbc(directory, &encrypt).succeeded();
        let send = ["send", "other.tsbc", "--to", &server.url];
        tfhe_sbc(directory, &[&send[..], &["--identity", "lake"]].concat()).succeeded();
        refused(&["--device", "*"], &[&words[..], &["--device"]].concat());
    }
    refused(
        &["--readings", "stored?limit=3"],
        &["'before' and 'limit' are for pages"],
    );
}

#[test]
fn files_are_asked_about_by_time_and_counted_by_group() {
    let desk = shared().desk();
    let directory = desk.path();
    let csv = "timestamp,level,flow\n2026-11-23T09:00Z,1,3\n2026-11-23T09:30Z,2,3\n2026-11-23T10:00Z,3,3\n";
    std::fs::write(directory.join("rows.tsbc"), encrypt(directory, &[], csv)).unwrap();
    let eval = |options: &[&str]| {
        let eval = ["eval", "--readings", "rows.tsbc"];
        tfhe_sbc(directory, &[&eval[..], options].concat())
    };
    eval(&["--by", "hour", "--out", "asked.tsbc", "max(level)"]).succeeded();
    let expected = [("2026-11-23T09:00:00Z", 2.0), ("2026-11-23T10:00:00Z", 3.0)];
    let expected = expected.map(|(group, max)| (group.to_owned(), max));
    assert_eq!(numbers(directory), expected);
    let count = |options: &[&str]| -> u64 {
        let count = [&["--count", "--json", "max(level)"], options].concat();
        let json = eval(&count).succeeded().json();
        json["together"]["bootstraps"].as_u64().unwrap()
    };
    let of_two = count(&["--until", "2026-11-23T10:00Z"]);
    assert!(of_two > 0 && count(&[]) > of_two);
    // The largest value of one row takes no comparison.
    assert!((of_two..count(&[])).contains(&count(&["--by", "hour"])));
    eval(&["--by", "device", "--out", "x.tsbc", "max(level)"]).refused(&["device", "not known"]);
}
