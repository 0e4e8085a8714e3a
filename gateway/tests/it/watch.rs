//! `watch`, with the programs that its answers go to.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ports;
use crate::world::{World, close};

/// The means of each device.
const MEANS: &str =
    "SELECT device, avg(temperature_c) FROM readings GROUP BY device ORDER BY device";

/// A program that is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(command: &mut Command) -> Running {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.spawn();
    Running(child.unwrap_or_else(|error| panic!("{name}: {error}: run .ci/install --nightly")))
}

fn free_port() -> u16 {
    ports::free_address().port()
}

/// Waits until something is there.
#[track_caller]
fn wait<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn wait_for_port(what: &str, port: u16) {
    wait(what, || TcpStream::connect(("127.0.0.1", port)).ok());
}

/// What a URL answers, if it answers.
fn get(url: &str, data: &[(&str, &str)]) -> Option<String> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--fail", "--get"]);
    for (name, value) in data {
        curl.args(["--data-urlencode", &format!("{name}={value}")]);
    }
    let output = curl.arg(url).output().expect("curl is installed");
    output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).unwrap())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Runs `watch --once`.
fn once(world: &World, sql: &str, options: &[&str]) -> Output {
    let output = world.watch(sql, options).arg("--once").output();
    output.unwrap()
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn refused(output: &Output, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it succeeded: {said}");
    for word in words {
        assert!(said.contains(word), "no {word} in {said}");
    }
}

/// The mean temperatures of the devices in the clear.
fn means(world: &World) -> Vec<(String, f64)> {
    let mut devices: Vec<(String, Vec<f64>)> = Vec::new();
    for row in world.clear() {
        match devices.iter_mut().find(|(name, _)| *name == row.device) {
            Some((_, values)) => values.push(row.values[0]),
            None => devices.push((row.device, vec![row.values[0]])),
        }
    }
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let devices = devices.into_iter();
    devices.map(|(name, values)| (name, mean(values))).collect()
}

/// A broker on a free port.
fn broker(directory: &Path) -> (Running, String) {
    let port = free_port();
    let file = directory.join(format!("mosquitto-{port}.conf"));
    let settings = format!("user root\nlistener {port} 127.0.0.1\nallow_anonymous true\n");
    fs::write(&file, settings).unwrap();
    let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap());
    let mut mosquitto = Command::new("mosquitto");
    mosquitto.env("PATH", path).arg("-c").arg(&file);
    let mosquitto = start(mosquitto.stdout(Stdio::null()).stderr(Stdio::null()));
    wait_for_port("mosquitto", port);
    (mosquitto, port.to_string())
}

/// The kept messages below a topic.
fn kept(port: &str, topic: &str, count: usize) -> Vec<(String, String)> {
    let output = Command::new("mosquitto_sub")
        .args(["-h", "127.0.0.1", "-p", port, "-t", topic, "-F", "%t %p"])
        .args(["-C", &count.to_string(), "-W", "20"])
        .output()
        .expect("mosquitto_sub is installed");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| line.split_once(' ').unwrap());
    lines
        .map(|(topic, text)| (topic.to_owned(), text.to_owned()))
        .collect()
}

#[test]
fn answers_are_lines_of_json() {
    let world = World::shared();
    let lines = succeeded(&once(world, MEANS, &[]));
    let lines: Vec<Value> = lines.lines().map(json).collect();
    let means = means(world);
    assert_eq!(lines.len(), means.len());
    for (line, (device, mean)) in lines.iter().zip(means) {
        assert_eq!(line["device"], device);
        close(&line["avg"].to_string(), mean);
        assert!(line["asked"].as_str().unwrap().ends_with('Z'), "{line}");
    }
}

#[test]
fn a_broker_keeps_the_last_row_of_each_device() {
    let world = World::shared();
    let directory = tempfile::tempdir().unwrap();
    let (_broker, port) = broker(directory.path());
    let target = format!("mqtt://127.0.0.1:{port}/green/house");
    let options = ["--to", &target, "--home-assistant", "--when", "avg > 0"];
    succeeded(&once(world, MEANS, &options));
    let means = means(world);
    let warm: Vec<_> = means.iter().filter(|(_, mean)| *mean > 0.0).collect();
    assert!(!warm.is_empty());
    let values = kept(&port, "green/house/+", warm.len() + 1);
    for (device, mean) in &warm {
        let topic = format!("green/house/{device}");
        let (_, text) = values.iter().find(|(of, _)| *of == topic).unwrap();
        let value = json(text);
        assert_eq!(value["device"], **device);
        close(&value["avg"].to_string(), *mean);
    }
    let alert = ("green/house/alert".to_owned(), "ON".to_owned());
    assert!(values.contains(&alert), "{values:?}");
    // Home Assistant finds a sensor for each.
    let sensors = kept(&port, "homeassistant/sensor/+/config", warm.len());
    for (device, _) in &warm {
        let topic = format!("green/house/{device}");
        let mut found = sensors.iter().map(|(_, text)| json(text));
        let sensor = found.find(|sensor| sensor["state_topic"] == topic).unwrap();
        assert_eq!(sensor["value_template"], "{{ value_json['avg'] }}");
        assert_eq!(sensor["device"]["name"], format!("readings {device}"));
        assert!(sensor["unique_id"].as_str().unwrap().ends_with("_avg"));
    }
    let alerts = kept(&port, "homeassistant/binary_sensor/+/config", 1);
    assert_eq!(json(&alerts[0].1)["state_topic"], "green/house/alert");
    // When no row meets the condition any more, the alert is over.
    let options = ["--to", &target, "--when", "avg > 1000"];
    succeeded(&once(world, MEANS, &options));
    let alert = kept(&port, "green/house/alert", 1);
    assert_eq!(alert[0].1, "OFF");
}

#[test]
fn prometheus_reads_the_last_answer() {
    let world = World::shared();
    let mut watch = world.watch(
        MEANS,
        &["--every", "2s", "--to", "prometheus://127.0.0.1:0"],
    );
    watch.args(["--name", "means"]).stderr(Stdio::piped());
    let mut watch = start(&mut watch);
    let stderr = BufReader::new(watch.0.stderr.take().unwrap());
    let mut lines = stderr.lines().map(Result::unwrap);
    let page = lines.find_map(|line| {
        let address = line.strip_prefix("metrics at http://")?;
        Some(address.strip_suffix("/metrics")?.to_owned())
    });
    let page = page.expect("it says where its page is");
    // The program may say more.
    std::thread::spawn(move || lines.count());

    let directory = tempfile::tempdir().unwrap();
    let settings = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: means\n  static_configs:\n  - targets: ['{page}']\n"
    );
    let file = directory.path().join("prometheus.yml");
    fs::write(&file, settings).unwrap();
    let port = free_port();
    let mut prometheus = Command::new("prometheus");
    prometheus
        .arg(format!("--config.file={}", file.display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .arg(format!(
            "--storage.tsdb.path={}",
            directory.path().join("data").display()
        ));
    let _prometheus = start(prometheus.stdout(Stdio::null()).stderr(Stdio::null()));
    let url = format!("http://127.0.0.1:{port}/api/v1/query");
    for (device, mean) in means(world) {
        let query = format!("tfhe_sbc_means_avg{{device=\"{device}\"}}");
        let value = wait("the metric", || {
            let found = json(&get(&url, &[("query", &query)])?);
            let value = found["data"]["result"][0]["value"][1].as_str()?.to_owned();
            Some(value)
        });
        close(&value, mean);
    }
    let asked = "tfhe_sbc_means_asked_timestamp_seconds";
    let first = get(&url, &[("query", asked)]).unwrap();
    wait("the next answer", || {
        (get(&url, &[("query", asked)])? != first).then_some(())
    });
}

#[test]
fn influxdb_has_tags_fields_and_times() {
    let world = World::shared();
    let directory = tempfile::tempdir().unwrap();
    let (port, other) = (free_port(), free_port());
    let place = |name: &str| directory.path().join(name).display().to_string();
    let settings = format!(
        "reporting-disabled = true\nbind-address = \"127.0.0.1:{other}\"\n[meta]\ndir = \"{}\"\n[data]\ndir = \"{}\"\nwal-dir = \"{}\"\n[http]\nbind-address = \"127.0.0.1:{port}\"\n",
        place("meta"),
        place("data"),
        place("wal")
    );
    let file = directory.path().join("influxdb.conf");
    fs::write(&file, settings).unwrap();
    let mut influxd = Command::new("influxd");
    influxd.arg("-config").arg(&file);
    let _influxd = start(influxd.stdout(Stdio::null()).stderr(Stdio::null()));
    wait_for_port("influxd", port);
    let target = format!("influx+http://127.0.0.1:{port}/sensors");
    let hourly = "SELECT device, date_trunc('hour', time) AS hour, avg(temperature_c) FROM readings WHERE device = 'station-01' GROUP BY 1, 2 ORDER BY 1, 2";
    // There is no such database yet.
    let missing = once(world, hourly, &["--to", &target]);
    refused(
        &missing,
        &["not delivered to InfluxDB", "database not found"],
    );
    let url = format!("http://127.0.0.1:{port}/query");
    let created = Command::new("curl")
        .args(["--silent", "--fail", "--data-urlencode"])
        .args(["q=CREATE DATABASE sensors", &url])
        .output()
        .unwrap();
    assert!(created.status.success());
    succeeded(&once(world, hourly, &["--to", &target, "--name", "hours"]));
    let query = "SELECT avg FROM hours WHERE device = 'station-01' ORDER BY time";
    let found = get(&url, &[("db", "sensors"), ("q", query)]).unwrap();
    let found = json(&found);
    let rows = found["results"][0]["series"][0]["values"]
        .as_array()
        .unwrap();
    let clear = world.clear();
    let clear: Vec<_> = clear
        .iter()
        .filter(|row| row.device == "station-01")
        .collect();
    assert_eq!(rows.len(), clear.len());
    for (row, clear) in rows.iter().zip(clear) {
        assert_eq!(row[0].as_str().unwrap()[..19], clear.time[..19]);
        close(&row[1].to_string(), clear.values[0]);
    }
}

#[test]
fn files_grow_with_each_answer() {
    let world = World::shared();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let name = |name: &str| file(name).display().to_string();
    let (csv, parquet) = (name("means.csv"), name("means.parquet"));
    let options = ["--to", &csv, "--to", &parquet];
    for times in 1..=2 {
        succeeded(&once(world, MEANS, &options));
        let text = fs::read_to_string(&csv).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "asked,device,avg");
        assert_eq!(lines.len(), 1 + times * 4, "{text}");
    }
    let text = fs::read_to_string(&csv).unwrap();
    for (line, (device, mean)) in text.lines().skip(1).zip(means(world)) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[1], device);
        close(cells[2], mean);
    }
    // The gateway reads its own Parquet, and DuckDB does.
    let table = format!("kept={parquet}");
    let gateway = world.second(&["--table", &table]);
    let all = "SELECT count(*), count(DISTINCT asked), count(DISTINCT device) FROM kept";
    assert_eq!(gateway.rows(all), [["8", "2", "4"]]);
    let python = std::env::var("GATEWAY_PYTHON").expect("run `cargo xtask gateway`");
    let script = "import sys, duckdb; print(duckdb.sql(f\"SELECT count(*), count(DISTINCT asked) FROM '{sys.argv[1]}'\").fetchall())";
    let output = Command::new(python).args(["-c", script, &parquet]).output();
    let output = output.unwrap();
    assert_eq!(succeeded(&output).trim(), "[(8, 2)]");
    // What is decrypted is for the owner alone.
    for path in [&csv, &parquet] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{path}: {mode:o}");
    }
    // A file with other columns is left as it is.
    let before = (fs::read(&csv).unwrap(), fs::read(&parquet).unwrap());
    for path in [&csv, &parquet] {
        let other = once(world, "SELECT count(*) FROM readings", &["--to", path]);
        refused(&other, &["has the columns", "name another file"]);
    }
    assert_eq!(
        (fs::read(&csv).unwrap(), fs::read(&parquet).unwrap()),
        before
    );
    fs::write(file("none.parquet"), "none").unwrap();
    let none = once(world, MEANS, &["--to", &name("none.parquet")]);
    refused(&none, &["none.parquet"]);
}

/// Answers requests, each with one of the statuses. Returns the head and the body of the last one.
fn hook(listener: &TcpListener, statuses: &[&str]) -> (String, Value) {
    let mut last = None;
    for status in statuses {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let lower = head.to_lowercase();
        let length = lower.split("content-length: ").nth(1).unwrap();
        let length = length.split('\r').next().unwrap().parse().unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).unwrap();
        last = Some((head, serde_json::from_slice(&body).unwrap()));
    }
    last.unwrap()
}

#[test]
fn a_webhook_gets_what_meets_the_condition_even_after_it_was_away() {
    let world = World::shared();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let login = world.path().join("hook.txt");
    fs::write(&login, "Bearer 5ecret\n").unwrap();
    let means = means(world);
    let warmest = means.iter().map(|(_, mean)| *mean).fold(f64::MIN, f64::max);
    let condition = format!("avg > {}", warmest - 1e-6);
    let login = login.display().to_string();
    let options = [
        "--to",
        &url,
        "--when",
        &condition,
        "--webhook-login",
        &login,
    ];
    let mut watch = world.watch(MEANS, &options);
    let watch = std::thread::spawn(move || watch.arg("--once").output().unwrap());
    let (head, body) = hook(&listener, &["503 Service Unavailable", "204 No Content"]);
    succeeded(&watch.join().unwrap());
    assert!(head.starts_with("POST /hook "), "{head}");
    assert!(head.contains("Bearer 5ecret"), "{head}");
    assert_eq!(body["name"], "readings");
    let rows = body["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    close(&rows[0]["avg"].to_string(), warmest);
    // Nothing is posted when no row meets the condition: nobody listens any more.
    drop(listener);
    succeeded(&once(world, MEANS, &["--to", &url, "--when", "avg > 1000"]));
}

#[test]
fn an_answer_that_a_target_cannot_take_delays_no_other() {
    let world = World::shared();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let options = ["--to", &url, "--every", "1s", "--until-stdin-ends"];
    let mut watch = start(world.watch(MEANS, &options).stdin(Stdio::piped()));
    let asked = |status: &str| hook(&listener, &[status]).1["asked"].to_string();
    let (refused_one, next) = (asked("422 Unprocessable Content"), asked("204 No Content"));
    assert!(next > refused_one, "{next} after {refused_one}");
    drop(watch.0.stdin.take());
    let ended = wait("the end", || watch.0.try_wait().unwrap());
    assert!(!ended.success());
    let answers = std::thread::spawn(move || hook(&listener, &["400 Bad Request"]));
    refused(
        &once(world, MEANS, &["--to", &url]),
        &[
            "not delivered to the webhook",
            "cannot take",
            "400 Bad Request",
        ],
    );
    answers.join().unwrap();
}

#[test]
fn what_cannot_be_watched_is_refused_in_words() {
    let world = World::shared();
    refused(
        &once(world, "SELECT avg(nothing) FROM readings", &[]),
        &["column \"nothing\" does not exist"],
    );
    refused(
        &once(world, "DROP TABLE readings", &[]),
        &["only statements that read"],
    );
    refused(
        &once(world, "SELECT 1; SELECT 2", &[]),
        &["not one statement"],
    );
    refused(
        &once(world, MEANS, &["--when", "mean > 30"]),
        &["--when", "the answer's columns are device, avg"],
    );
    refused(
        &once(world, MEANS, &["--every", "0s"]),
        &["like 30s, 5m, 1h"],
    );
    let open = ["--to", "prometheus://0.0.0.0:0"];
    let mut open = world.watch(MEANS, &open);
    refused(&open.output().unwrap(), &["other machines", "127.0.0.1:0"]);
    refused(
        &once(world, MEANS, &["--to", "prometheus://127.0.0.1:0"]),
        &["leave --once out"],
    );
    refused(
        &once(world, MEANS, &["--home-assistant"]),
        &["does nothing without --to mqtt://"],
    );
    refused(
        &once(world, MEANS, &["--influx-login", "login.txt"]),
        &["does nothing without --to influx"],
    );
    let dear = "SELECT max(humidity_pct) FROM readings";
    refused(
        &once(world, dear, &["--max-bootstraps", "5"]),
        &["bootstraps"],
    );
    // A broker that is away: with --once, the program fails in the end.
    let target = format!("mqtt://127.0.0.1:{}/a", free_port());
    refused(
        &once(world, MEANS, &["--to", &target]),
        &["not delivered to mqtt://", "connection to the broker"],
    );
}

#[test]
fn watching_ends_at_once_when_it_is_told_to() {
    let world = World::shared();
    let mut watch = world.watch(MEANS, &["--every", "1h", "--until-stdin-ends"]);
    let mut watch = start(watch.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut line = String::new();
    let stdout = watch.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    assert!(line.contains("station-01"), "{line}");
    drop(watch.0.stdin.take());
    let ended = wait("the end", || watch.0.try_wait().unwrap());
    assert!(ended.success());
}
