//! What is refused, with which code, and what is called off.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::world::World;

#[test]
fn errors_have_the_codes_of_postgresql() {
    let gateway = &World::shared().gateway;
    for (sql, code, words) in [
        ("SELEC 1", "42601", "syntax"),
        ("SELECT wind FROM readings", "42703", "wind"),
        (
            "SELECT avg(temprature) FROM readings",
            "42703",
            "\"temperature_c\"",
        ),
        (
            "SELECT count(*) FROM readings WHERE time > '2026-11-16T06:30'",
            "22007",
            "seconds",
        ),
        ("SELECT * FROM wind", "42P01", "wind"),
        ("SELECT mode(temperature_c) FROM readings", "42883", "HINT"),
        ("DELETE FROM readings", "25006", "DELETE"),
        ("INSERT INTO readings VALUES (1)", "25006", "INSERT"),
        ("CREATE TABLE t (a INT)", "25006", "CREATE"),
        ("COPY readings TO 'readings.csv'", "25006", "COPY"),
        ("EXPLAIN DELETE FROM readings", "25006", "DELETE"),
        ("SELECT 1/0 FROM devices", "22012", "zero"),
        (
            "SET tfhe_sbc.max_bootstraps = 'many'",
            "22023",
            "max_bootstraps",
        ),
        ("SET tfhe_sbc.nothing = 1", "22023", "clear_constants"),
        (
            "SET tfhe_sbc.clear_constants = on",
            "42501",
            "--allow-clear-constants",
        ),
    ] {
        gateway.refuses(sql, code, &[words]);
    }
    // The connection and the gateway go on.
    assert_eq!(gateway.one("SELECT 1"), "1");
}

#[test]
fn a_limit_of_bootstraps_refuses_before_anything_is_computed() {
    let gateway = &World::shared().gateway;
    // No other test asks this, so that its answer is not in the cache.
    let sql = "SELECT max(humidity_pct) FROM readings WHERE device = 'station-04' AND time < '2026-11-17T16:00:00Z'";
    let limited = format!("SET tfhe_sbc.max_bootstraps = 100; {sql}");
    gateway.refuses(&limited, "54000", &["bootstraps", "HINT", "EXPLAIN"]);
    let plan = gateway.plan(sql);
    assert!(!plan.contains("bootstraps=0"), "{plan}");
    // What takes none is not refused.
    let linear = "SET tfhe_sbc.max_bootstraps = 100; SELECT avg(humidity_pct) FROM readings";
    assert!(gateway.psql(&["-c", linear]).is_ok);
}

#[test]
fn aggregates_only_decrypts_no_readings() {
    let world = World::shared();
    let gateway = world.second(&["--aggregates-only", "--allow-clear-constants"]);
    assert_eq!(gateway.one("SELECT count(*) FROM readings"), "288");
    gateway.refuses("SELECT * FROM readings", "42501", &["aggregates only"]);
    gateway.refuses(
        "SELECT median(temperature_c) FROM readings",
        "42501",
        &["aggregates only", "percentile_disc"],
    );
    // The owner has allowed this here.
    let plan = gateway.rows(
        "SET tfhe_sbc.clear_constants = on; \
         EXPLAIN SELECT count(*) FILTER (WHERE humidity_pct > 80) FROM readings WHERE device = 'station-01'",
    );
    assert!(
        plan.concat().concat().contains("count(humidity_pct > 80)"),
        "{plan:?}"
    );
}

#[test]
fn other_addresses_need_a_password_and_tls() {
    let world = World::shared();
    let output = world
        .gateway_command(&["--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("--password-file"), "{stderr}");
}

#[test]
fn a_password_is_asked_for_over_tls() {
    let world = World::shared();
    let password = world.path().join("password");
    std::fs::write(&password, "a secret of some length\n").unwrap();
    let tls = world.path().join("tls");
    let gateway = world.second(&[
        "--password-file",
        password.to_str().unwrap(),
        "--certificate",
        tls.join("server.pem").to_str().unwrap(),
        "--private-key",
        tls.join("server.key").to_str().unwrap(),
    ]);
    let ask = |password: &str, mode: &str| {
        let address = format!(
            "host=127.0.0.1 port={} user=owner dbname=tfhe_sbc password='{password}' sslmode={mode}",
            gateway.port()
        );
        std::process::Command::new("psql")
            .args(["-X", "-A", "-t", "-d", &address, "-c", "SELECT 41 + 1"])
            .output()
            .unwrap()
    };
    let right = ask("a secret of some length", "require");
    assert!(
        right.status.success(),
        "{}",
        String::from_utf8_lossy(&right.stderr)
    );
    assert_eq!(String::from_utf8_lossy(&right.stdout).trim(), "42");
    let wrong = ask("another", "require");
    assert!(!wrong.status.success());
    let stderr = String::from_utf8_lossy(&wrong.stderr);
    assert!(stderr.contains("authentication failed"), "{stderr}");
    // The answers would travel in the clear.
    let clear = ask("a secret of some length", "disable");
    assert!(!clear.status.success());
    let stderr = String::from_utf8_lossy(&clear.stderr);
    assert!(stderr.contains("over TLS only"), "{stderr}");
}

#[test]
fn certificates_of_owners_are_let_in_and_those_of_devices_are_not() {
    let world = World::shared();
    let tls = world.path().join("tls");
    let file = |name: &str| tls.join(name).display().to_string();
    let gateway = world.second(&[
        "--certificate",
        &file("server.pem"),
        "--private-key",
        &file("server.key"),
        "--client-ca",
        &file("ca.pem"),
    ]);
    let ask = |name: &str| {
        let address = format!(
            "host=127.0.0.1 port={} user=owner dbname=tfhe_sbc sslmode=require sslcert={} sslkey={}",
            gateway.port(),
            file(&format!("{name}.pem")),
            file(&format!("{name}.key"))
        );
        std::process::Command::new("psql")
            .args(["-X", "-A", "-t", "-d", &address, "-c", "SELECT 41 + 1"])
            .output()
            .unwrap()
    };
    let owner = ask("owner");
    let stderr = String::from_utf8_lossy(&owner.stderr);
    assert!(owner.status.success(), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&owner.stdout).trim(), "42");
    let device = ask("station-01");
    let stderr = String::from_utf8_lossy(&device.stderr);
    assert!(!device.status.success());
    assert!(stderr.contains("not that of an owner"), "{stderr}");
    // Without a certificate, TLS does not begin.
    assert!(!ask("nobody").status.success());
}

#[test]
fn a_key_of_another_set_and_a_server_that_is_away_are_told() {
    let world = World::shared();
    let others = tempfile::tempdir().unwrap();
    let keys = others.path().join("keys");
    let made = world.tfhe_sbc(&["keygen", "--out", keys.to_str().unwrap()]);
    assert!(made.is_ok, "{}", made.stderr);
    let (secret, device) = (keys.join("secret.tsbc"), keys.join("device.tsbc"));
    let key = ["--key", secret.to_str().unwrap()];
    let output = world.gateway_command(&key).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("different key sets"), "{stderr}");
    // Both keys of the other set: the server refuses the questions.
    let keys = [&key[..], &["--device-key", device.to_str().unwrap()]].concat();
    let gateway = world.second(&keys);
    gateway.refuses("SELECT avg(temperature_c) FROM readings", "22000", &["key"]);
    gateway.refuses("SELECT * FROM readings", "22000", &["key"]);
    let output = world
        .gateway_command(&["--to", "https://127.0.0.1:1"])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("cannot reach a server"), "{stderr}");
}

/// A question of many bootstraps.
const LONG: &str = "SELECT device, stddev(illuminance_lx), max(illuminance_lx), min(illuminance_lx) FROM readings GROUP BY device";

/// Whether the server evaluates a question.
fn is_running(world: &World) -> bool {
    world.status()["running"].as_array().unwrap().len() == 1
}

#[test]
fn a_cancelled_statement_and_a_client_that_is_gone_call_the_question_off() {
    let world = World::new(4, 3, &["--no-cache"]);
    // By the protocol's cancel request, as ctrl-c of psql sends it.
    let mut child = world.gateway.psql_command(&["-c", LONG]).spawn().unwrap();
    wait(|| is_running(&world));
    let interrupt = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupt.unwrap().success());
    child.wait().unwrap();
    wait(|| !is_running(&world));

    // By a client that closes its connection.
    let mut client = TcpStream::connect(&world.gateway.address).unwrap();
    let parameters = b"user\0owner\0database\0tfhe_sbc\0\0";
    let mut startup = ((8 + parameters.len()) as u32).to_be_bytes().to_vec();
    startup.extend_from_slice(&196_608_u32.to_be_bytes());
    startup.extend_from_slice(parameters);
    client.write_all(&startup).unwrap();
    let mut answer = [0; 256];
    assert!(client.read(&mut answer).unwrap() > 0);
    let mut query = vec![b'Q'];
    query.extend_from_slice(&((LONG.len() + 5) as u32).to_be_bytes());
    query.extend_from_slice(LONG.as_bytes());
    query.push(0);
    client.write_all(&query).unwrap();
    wait(|| is_running(&world));
    drop(client);
    wait(|| !is_running(&world));
}

#[test]
fn a_revoked_owner_is_told() {
    let world = World::new(1, 1, &["--no-cache"]);
    let count = "SELECT count(*) FROM readings";
    assert_eq!(world.gateway.one(count), "24");
    let revoked = world.tfhe_sbc(&["certs", "revoke", "owner", "--tls", "tls"]);
    assert!(revoked.is_ok, "{}", revoked.stderr);
    // The server reads its list of revoked certificates every few seconds.
    wait(|| !world.gateway.psql(&["-c", count]).is_ok);
    world.gateway.refuses(
        "SELECT avg(temperature_c) FROM readings",
        "08004",
        &["refused"],
    );
}

#[track_caller]
fn wait(until: impl Fn() -> bool) {
    let started = Instant::now();
    while !until() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "it does not happen"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}
