//! The agent of a board, as a process, with a real server: from sensors to answers, through
//! crashes, and what it refuses.
#![cfg(unix)]

use std::fs;

use crate::common::board::{LEVEL, agent, append, csv_settings, ids, settings, stored};
use crate::common::{self, Server, command, shared, tfhe_sbc};
use serde_json::json;

#[test]
fn readings_of_sensors_come_back_as_answers() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    let sensor = directory.join("sys/bus/iio/devices/iio:device0");
    fs::create_dir_all(&sensor).unwrap();
    fs::write(sensor.join("name"), "gauge\n").unwrap();
    fs::write(sensor.join("in_voltage0_scale"), "0.5\n").unwrap();
    let more = format!(
        r#"
        [sample]
        sysfs = "sys"
        {LEVEL}
        factor = 1000
        source = {{ kind = "iio", device = "gauge", channel = "voltage0" }}
        [[column]]
        name = "flow"
        offset = 0.0
        scale = 1.0
        bits = 6
        source = {{ kind = "command", run = ["cat", "flow.json"], field = "/now/flow" }}
        "#
    );
    settings(directory, &server.url, &more);
    for (raw, flow) in [(-3, 60), (4, 3), (1, 17)] {
        fs::write(sensor.join("in_voltage0_raw"), format!("{raw}\n")).unwrap();
        let flow = format!("{{\"now\": {{\"flow\": {flow}}}}}");
        fs::write(directory.join("flow.json"), flow).unwrap();
        let run = agent(directory, &["--once", "--json"]).succeeded();
        assert_eq!(run.json()["rows"], 1);
        assert_eq!(
            (&run.json()["sent"], &run.json()["waiting"]),
            (&json!(1), &json!(0))
        );
    }
    let tested = agent(directory, &["--test"]).succeeded();
    assert!(
        tested.text().contains("level: 0.5 m\nflow: 17"),
        "{}",
        tested.text()
    );
    // Beyond the range a row stays out, and an empty batch is none.
    fs::write(sensor.join("in_voltage0_raw"), "400\n").unwrap();
    let run = agent(directory, &["--once"]).succeeded();
    assert!(
        run.text().starts_with("0 rows read, 0 batches"),
        "{}",
        run.text()
    );
    // Every line of the log begins with a time, which may have any digits.
    let logged = run.stderr.lines().filter_map(|line| line.split_once(' '));
    let logged: Vec<&str> = logged.map(|(_, rest)| rest).collect();
    assert!(
        logged.iter().all(|rest| !rest.contains("200")),
        "a reading is logged: {}",
        run.stderr
    );
    agent(directory, &["--test"]).refused(&["column 'level'", "offset, scale or bits"]);

    let ids = ids(directory);
    let asked = [
        "query",
        "--to",
        &server.url,
        "--columns",
        "columns.toml",
        "--readings",
        &ids,
        "min(level)",
        "max(level)",
        "sum(flow)",
    ];
    let result = tfhe_sbc(directory, &asked).succeeded().stdout;
    let decoded = common::tfhe_sbc_fed(directory, &["decrypt", "--json"], &result).succeeded();
    assert_eq!(
        decoded.json()["answers"],
        json!([
            {"name": "min(level)", "answer": {"value": -1.5, "unit": "m"}},
            {"name": "max(level)", "answer": {"value": 2.0, "unit": "m"}},
            {"name": "sum(flow)", "answer": {"value": 80.0, "unit": ""}},
        ])
    );
}

#[test]
fn a_sensor_that_fails_leaves_a_gap_where_its_column_is_optional() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    let more = format!(
        r#"
        [sample]
        sysfs = "sys"
        [metrics]
        file = "metrics.prom"
        {LEVEL}
        optional = true
        source = {{ kind = "iio", device = "gauge", channel = "voltage0" }}
        [[column]]
        name = "flow"
        offset = 0.0
        scale = 1.0
        bits = 6
        optional = true
        source = {{ kind = "command", run = ["cat", "flow"] }}
        "#
    );
    settings(directory, &server.url, &more);
    let sensor = directory.join("sys/bus/iio/devices/iio:device0");
    let once = || {
        let run = agent(directory, &["--once", "--json"]).succeeded();
        assert_eq!(run.json()["rows"], 1);
        assert_eq!(run.json()["waiting"], 0);
    };
    // There is no gauge yet, which stops no agent.
    fs::write(directory.join("flow"), "60\n").unwrap();
    once();
    let metrics = fs::read_to_string(directory.join("metrics.prom")).unwrap();
    let line = "tfhe_sbc_agent_missing_readings_total{column=\"level\"} 1";
    assert!(metrics.contains(line), "{metrics}");
    let tested = agent(directory, &["--test"]).succeeded();
    assert!(
        tested.text().starts_with("level: missing: "),
        "{}",
        tested.text()
    );
    fs::create_dir_all(&sensor).unwrap();
    fs::write(sensor.join("name"), "gauge\n").unwrap();
    fs::write(sensor.join("in_voltage0_scale"), "500\n").unwrap();
    fs::write(sensor.join("in_voltage0_raw"), "4\n").unwrap();
    once();
    // Nothing, and something beyond the range.
    fs::remove_file(directory.join("flow")).unwrap();
    fs::write(sensor.join("in_voltage0_raw"), "400\n").unwrap();
    once();
    let ids = ids(directory);
    let asked = ["query", "--to", &server.url, "--readings", &ids];
    let asked = [&asked[..], &["count(level)", "mean(level)", "sum(flow)"]].concat();
    let result = tfhe_sbc(directory, &asked).succeeded().stdout;
    let decoded = common::tfhe_sbc_fed(directory, &["decrypt", "--json"], &result).succeeded();
    assert_eq!(
        decoded.json()["answers"],
        json!([
            {"name": "count(level)", "answer": {"value": 1.0, "unit": ""}, "missing": 2},
            {"name": "mean(level)", "answer": {"value": 2.0, "unit": "m"}, "missing": 2},
            {"name": "sum(flow)", "answer": {"value": 120.0, "unit": ""}, "missing": 1},
        ])
    );
}

#[test]
fn a_refused_batch_is_set_aside_with_the_servers_words_and_the_next_is_sent() {
    let desk = shared().desk();
    let directory = desk.path();
    let server = Server::start(directory, &[]);
    csv_settings(directory, &server.url, "");
    append(&directory.join("log.csv"), "time,level\na,1\n");
    let mut other = command(directory, &["agent", "--once"]);
    other.env("TFHE_SBC_AGENT_DEVICE_KEY", "other-keys/device.tsbc");
    let output = other.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(stderr.contains("1 batch was refused"), "{stderr}");
    let status = agent(directory, &["status"]).succeeded();
    for words in [
        "0 batches wait",
        "1 batch was refused",
        "the server: the server refused (422)",
    ] {
        assert!(status.text().contains(words), "{}", status.text());
    }
    append(&directory.join("log.csv"), "b,1\n");
    agent(directory, &["--once"]).succeeded();
    assert_eq!(stored(directory).into_keys().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn what_is_not_there_is_refused_with_what_to_do() {
    let desk = shared().desk();
    let directory = desk.path();
    agent(directory, &["--once"]).refused(&["agent.toml", "tfhe-sbc agent init"]);
    let url = "https://127.0.0.1:1";
    let iio =
        format!("{LEVEL}\nsource = {{ kind = \"iio\", device = \"bme280\", channel = \"temp\" }}");
    settings(directory, url, &format!("[sample]\nsysfs = \"sys\"\n{iio}"));
    agent(directory, &["status"]).refused(&["spool.directory", "start the agent"]);
    for mode in ["--test", "--once"] {
        agent(directory, &[mode]).refused(&[
            "column 'level', source",
            "no IIO device 'bme280'",
            "dtoverlay",
        ]);
    }
    csv_settings(directory, url, "");
    agent(directory, &["--test"]).refused(&["csv.path", "no line to read"]);
    append(&directory.join("log.csv"), "time,levels\n");
    agent(directory, &["--test"]).refused(&["no field 'level'", "time, levels"]);
    fs::write(directory.join("log.csv"), "time,level\na,1\n").unwrap();
    let with = |variable: &str, value: &str, words: &[&str]| {
        let mut command = command(directory, &["agent", "--test"]);
        let output = command.env(variable, value).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{variable}");
        let packed: String = stderr
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '│')
            .collect();
        for word in words {
            let word: String = word.split_whitespace().collect();
            assert!(packed.contains(&word), "no {word} in {stderr}");
        }
    };
    with(
        "TFHE_SBC_AGENT_DEVICE_KEY",
        "none.tsbc",
        &["device.key", "none.tsbc"],
    );
    with(
        "TFHE_SBC_AGENT_DEVICE_KEY",
        "keys/secret.tsbc",
        &["device.key", "tfhe-sbc provision"],
    );
    with(
        "TFHE_SBC_AGENT_DEVICE_KEY_BASE64",
        "!",
        &["device.key_base64", "provision"],
    );
    with(
        "TFHE_SBC_AGENT_TLS_KEY",
        "tls/ca.pem",
        &["tls", "ca.pem", "PRIVATE KEY"],
    );
    with(
        "TFHE_SBC_AGENT_TLS_KEY",
        "tls/owner.key",
        &["tls", "not the key of the certificate"],
    );
    with(
        "TFHE_SBC_AGENT_SERVER_URL",
        "http://x",
        &["server.url", "https://HOST:PORT"],
    );
    with(
        "TFHE_SBC_AGENT_SERVER_ADDRESS",
        "x",
        &["sets nothing", "SECTION_KEY"],
    );
    let mut small = command(directory, &["agent", "--once"]);
    small.env("TFHE_SBC_AGENT_SPOOL_MAX_BYTES", "65536");
    let output = small.env("TFHE_SBC_AGENT_BATCH_ROWS", "15000").output();
    let stderr = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(stderr.contains("spool.max_bytes"), "{stderr}");
    agent(directory, &["--test", "--once"]).refused(&["cannot be used with"]);
    agent(directory, &["--json"]).refused(&["--once or --test"]);
    agent(directory, &["init", "--out", "agent.toml"]).refused(&["exists", "--out"]);
}

#[test]
fn commands_do_not_see_the_agents_settings() {
    let desk = shared().desk();
    let directory = desk.path();
    let more = format!(
        r#"
        {LEVEL}
        source = {{ kind = "command", shell = "env | grep -c -e TFHE_SBC_AGENT -e CREDENTIALS || :" }}
        "#
    );
    settings(directory, "https://localhost:1", &more);
    let output = command(directory, &["agent", "--test"])
        .env("TFHE_SBC_AGENT_SERVER_URL", "https://localhost:2")
        .env("CREDENTIALS_DIRECTORY", "/none")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("level: 0 m"), "{printed}");
}
