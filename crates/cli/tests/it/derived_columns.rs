//! Squares, bins and thresholds of column definitions, through files and through a server that boards with keys of
//! their own have sent to: the answers of clear arithmetic without a bootstrap.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::board::{agent, append, ids, settings};
use crate::common::{Server, shared, tfhe_sbc, tfhe_sbc_fed};

/// Both ends of the column `flow`, the edges and thresholds, and what is beside them.
pub(crate) const UPLOADS: [(&str, &[f64]); 3] = [
    ("keys/device.tsbc", &[0.0, 63.0, 9.0, 10.0, 11.0]),
    ("hill.tsbc", &[16.0, 17.0, 18.0]),
    ("lake.tsbc", &[19.0, 20.0, 21.0, 63.0]),
];

pub(crate) const DERIVED: &str =
    "use = \"means\"\nsquare = true\nbins = [0, 10, 20, 64]\nabove = [16.5]\nbelow = [18]\n";

pub(crate) fn definitions(directory: &Path, name: &str, of_flow: &str) {
    let columns = std::fs::read_to_string(directory.join("columns.toml")).unwrap();
    let derived = columns.replace("bits = 6\n", &format!("bits = 6\n{of_flow}"));
    assert_ne!(columns, derived);
    std::fs::write(directory.join(name), derived).unwrap();
}

/// A table of these flows, with a level of 0.5.
pub(crate) fn csv(flows: &[f64]) -> String {
    let rows = flows.iter().enumerate();
    let rows = rows.map(|(row, flow)| format!("{row},0.5,{flow}\n"));
    format!("timestamp,level,flow\n{}", rows.collect::<String>())
}

pub(crate) fn answers(flows: &[f64]) -> Value {
    let n = flows.len() as f64;
    let (sum, squares) = flows
        .iter()
        .fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    let count = |holds: &dyn Fn(f64) -> bool| flows.iter().filter(|&&flow| holds(flow)).count();
    let number =
        |name: &str, value: f64| json!({"name": name, "answer": {"value": value, "unit": ""}});
    let bins = [(0.0, 10.0), (10.0, 20.0), (20.0, 64.0)].map(|(from, to)| {
        json!({"from": from, "to": to, "count": count(&|flow| (from..to).contains(&flow))})
    });
    json!([
        number("variance(flow)", (n * squares - sum * sum) / (n * n)),
        {
            "name": "histogram(flow, 0, 10, 20, 64)",
            "answer": {"bins": bins, "outside": 0, "unit": ""},
        },
        number("count(flow > 16)", count(&|flow| flow > 16.0) as f64),
        number("count(flow <= 16.2)", count(&|flow| flow <= 16.0) as f64),
        number("count(flow between 10 and 16 or flow >= 18)",
            count(&|flow| (10.0..=16.0).contains(&flow) || flow >= 18.0) as f64),
        number("mean(flow)", sum / n),
    ])
}

pub(crate) fn questions() -> Vec<String> {
    let answers = answers(&[0.0]);
    let names = answers.as_array().unwrap().iter();
    names
        .map(|answer| answer["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn variances_histograms_and_declared_counts_take_no_bootstrap() {
    let desk = shared().desk();
    let directory = desk.path();
    definitions(directory, "derived.toml", DERIVED);
    std::fs::create_dir(directory.join("switches")).unwrap();
    for device in ["hill", "lake"] {
        let (own, switch) = (format!("{device}.tsbc"), format!("switches/{device}.tsbc"));
        let arguments = [
            "device-key",
            "--device",
            device,
            "--out-device",
            &own,
            "--out-switch",
            &switch,
        ];
        tfhe_sbc(directory, &arguments).succeeded();
    }
    let uploads = UPLOADS.map(|(key, flows)| {
        let encrypt = ["encrypt", "--columns", "derived.toml", "--key", key];
        tfhe_sbc_fed(directory, &encrypt, csv(flows).as_bytes())
            .succeeded()
            .stdout
    });
    let texts = questions();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();

    // One upload, through files.
    std::fs::write(directory.join("derived.tsbc"), &uploads[0]).unwrap();
    let shown = tfhe_sbc(directory, &["inspect", "derived.tsbc"]).succeeded();
    for words in [
        "derived: squares, compact below 14 bits",
        "flags from 10, 17, 18, 20, compact below 14 bits",
    ] {
        assert!(
            shown.text().contains(words),
            "no {words:?} in\n{}",
            shown.text()
        );
    }
    let eval = [
        "eval",
        "--columns",
        "derived.toml",
        "--readings",
        "derived.tsbc",
    ];
    let counted = [&eval[..], &["--count", "--json"], &texts[..]].concat();
    let counted = tfhe_sbc(directory, &counted).succeeded().json();
    assert_eq!(counted["together"]["bootstraps"], 0, "{counted}");
    let result = tfhe_sbc(directory, &[&eval[..], &texts[..]].concat())
        .succeeded()
        .stdout;
    let decrypt = |result: &[u8]| {
        tfhe_sbc_fed(directory, &["decrypt", "--json"], result)
            .succeeded()
            .json()
    };
    let decrypted = decrypt(&result);
    assert_eq!(decrypted["answers"], answers(UPLOADS[0].1));
    assert_eq!(decrypted["bootstraps"], 0);

    // Three uploads under three keys, through a server.
    let server = Server::start_strict(directory, &["--device-keys", "switches"]);
    let ids = uploads.map(|upload| {
        let sent = tfhe_sbc_fed(
            directory,
            &["send", "--to", &server.url, "--identity", "owner"],
            &upload,
        )
        .succeeded();
        sent.text().trim().to_owned()
    });
    let ids = ids.join(",");
    let query = [
        "query",
        "--to",
        &server.url,
        "--columns",
        "derived.toml",
        "--readings",
        &ids,
    ];
    let result = tfhe_sbc(directory, &[&query[..], &texts[..]].concat())
        .succeeded()
        .stdout;
    let decrypted = decrypt(&result);
    let all: Vec<f64> = UPLOADS
        .iter()
        .flat_map(|(_, flows)| flows.iter().copied())
        .collect();
    assert_eq!(decrypted["answers"], answers(&all));
    assert_eq!(decrypted["bootstraps"], 0);
}

/// Two batches of a board, the second of which travels in the short form.
#[test]
fn an_agent_sends_what_its_settings_declare() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    let flow = "[[column]]\nname = \"flow\"\noffset = 0.0\nscale = 1.0\nbits = 6\n\
                source = { kind = \"csv\" }\n";
    let csv = "[csv]\npath = \"log.csv\"\nlabel = \"time\"\n";
    settings(directory, &server.url, &format!("{csv}{flow}{DERIVED}"));
    let log = directory.join("log.csv");
    append(&log, "time,flow\n");
    let mut bytes = Vec::new();
    let mut all = Vec::new();
    for (hour, (_, flows)) in UPLOADS.iter().enumerate() {
        for (minute, flow) in flows.iter().enumerate() {
            append(&log, &format!("2026-03-01T{hour:02}:{minute:02},{flow}\n"));
        }
        let run = agent(directory, &["--once", "--json"]).succeeded().json();
        assert_eq!(
            (&run["rows"], &run["sent"]),
            (&json!(flows.len()), &json!(1))
        );
        bytes.push(run["bytes"].as_u64().unwrap());
        all.extend_from_slice(flows);
    }
    // What is derived is a part of the definitions, which travel once.
    assert!(
        bytes[1] + 100 < bytes[0] && bytes[2] + 100 < bytes[0],
        "{bytes:?}"
    );

    let texts = questions();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let ids = ids(directory);
    let query = ["query", "--to", &server.url, "--readings", &ids];
    let result = tfhe_sbc(directory, &[&query[..], &texts].concat()).succeeded();
    let decrypted = tfhe_sbc_fed(directory, &["decrypt", "--json"], &result.stdout);
    let decrypted = decrypted.succeeded().json();
    assert_eq!(decrypted["answers"], answers(&all));
    assert_eq!(decrypted["bootstraps"], 0);

    let radix = DERIVED.replace("means", "radix");
    settings(directory, &server.url, &format!("{csv}{flow}{radix}"));
    agent(directory, &["--once"]).refused(&["'flow'", "compact columns only"]);
}

#[test]
fn declarations_that_cannot_be_met_are_refused_with_a_way_out() {
    let desk = shared().desk();
    let directory = desk.path();
    let refused = |of_flow: &str, words: &[&str]| {
        definitions(directory, "wrong.toml", of_flow);
        let encrypt = ["encrypt", "readings.csv", "--columns", "wrong.toml"];
        tfhe_sbc(directory, &encrypt).refused(words);
    };
    refused(
        "use = \"means\"\nabove = [63]\n",
        &["'flow'", "one side of 63", "another range"],
    );
    refused(
        "use = \"means\"\nbins = [20, 10]\n",
        &["'flow'", "from the lowest to the highest"],
    );
    refused(
        "use = \"means\"\nbins = [-5, 100]\n",
        &["'flow'", "no edge of its bins"],
    );
    refused(
        "use = \"radix\"\nsquare = true\n",
        &["'flow'", "compact columns only"],
    );
    refused("use = \"means\"\nsquare = 1\n", &["wrong.toml"]);
    refused("use = \"means\"\nsqare = true\n", &["sqare"]);
    let columns = std::fs::read_to_string(directory.join("columns.toml")).unwrap();
    let wide = columns.replace("bits = 6\n", "bits = 17\nuse = \"means\"\nsquare = true\n");
    std::fs::write(directory.join("wide.toml"), wide).unwrap();
    let encrypt = ["encrypt", "readings.csv", "--columns", "wide.toml"];
    tfhe_sbc(directory, &encrypt).refused(&[
        "'flow'",
        "17 bits",
        "at most 12 bits",
        "leave the squares out",
    ]);
}
