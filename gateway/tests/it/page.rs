//! The gateway's page, in a browser and for those who should not see it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::world::World;

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_page_works_in_chromium() {
    let world = World::shared();
    let pictures = root().join("target/gateway/page");
    std::fs::create_dir_all(&pictures).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/page.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(format!("http://{}", world.gateway.page))
        .arg(world.path().join("clear.csv"))
        .arg(&pictures)
        .env("PYTHONPATH", root().join("web"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Posts a statement. Returns the status and the answer.
fn post(address: &str, sql: &str, headers: &[&str]) -> (String, String) {
    let body = serde_json::json!({ "sql": sql }).to_string();
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--write-out", "\n%{http_code}", "--data", &body]);
    for header in headers {
        curl.args(["--header", header]);
    }
    let output = curl
        .arg(format!("http://{address}/api/ask"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (answer, status) = text.rsplit_once('\n').unwrap();
    (status.to_owned(), answer.to_owned())
}

#[test]
fn other_sites_cannot_ask() {
    const JSON: &str = "Content-Type: application/json";
    let page = &World::shared().gateway.page;
    let (status, answer) = post(page, "SELECT 1 AS one", &[JSON]);
    assert_eq!(status, "200", "{answer}");
    assert!(answer.contains("\"rows\":[[1]]"), "{answer}");
    let port = page.rsplit(':').next().unwrap();
    for (headers, expected) in [
        (vec![JSON, "Host: evil.example"], "403"),
        (vec![JSON, "Origin: https://evil.example"], "403"),
        (vec![JSON, "Origin: null"], "403"),
        (vec!["Content-Type: text/plain"], "415"),
    ] {
        let (status, answer) = post(page, "SELECT 1", &headers);
        assert_eq!(status, expected, "{headers:?}: {answer}");
    }
    let own = format!("Origin: http://localhost:{port}");
    let host = format!("Host: localhost:{port}");
    let (status, _) = post(page, "SELECT 1", &[JSON, &own, &host]);
    assert_eq!(status, "200");
    // Errors have PostgreSQL's code and say what to do.
    let (status, answer) = post(page, "DELETE FROM readings", &[JSON]);
    assert_eq!(status, "422");
    assert!(answer.contains("25006"), "{answer}");
}

#[test]
fn the_page_asks_for_the_password() {
    let world = World::shared();
    let file = world.path().join("page-password.txt");
    std::fs::write(&file, "a long password\n").unwrap();
    let gateway = world.second(&["--password-file", file.to_str().unwrap()]);
    let json = "Content-Type: application/json";
    let (status, _) = post(&gateway.page, "SELECT 1", &[json]);
    assert_eq!(status, "401");
    let (status, _) = post(
        &gateway.page,
        "SELECT 1",
        &[json, "Authorization: Basic bWU6d3Jvbmc="],
    );
    assert_eq!(status, "401");
    // me:a long password
    let right = "Authorization: Basic bWU6YSBsb25nIHBhc3N3b3Jk";
    let (status, answer) = post(&gateway.page, "SELECT 1", &[json, right]);
    assert_eq!(status, "200", "{answer}");
}

#[test]
fn the_page_is_for_this_machine_only() {
    let world = World::shared();
    let mut command = world.gateway_command(&["--page", "0.0.0.0:0"]);
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("127.0.0.1:0"), "{words}");
}
