//! The examples that `--help` prints, run as they are pasted.

use std::path::Path;

use crate::common::{Run, Server, bash, run_bash, tfhe_sbc};

/// The commands of a subcommand's example.
fn example(subcommand: &str) -> String {
    let words: Vec<&str> = subcommand.split(' ').chain(["--help"]).collect();
    let help = tfhe_sbc(Path::new("."), &words).succeeded();
    let lines = help.text().lines();
    let example: Vec<&str> = lines
        .skip_while(|line| !line.starts_with("Example"))
        .skip(1)
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert!(!example.is_empty(), "{subcommand} has no example");
    example.join("\n")
}

/// The commands with `port` in place of the examples' 8443.
fn with_port(commands: &str, port: &str) -> String {
    assert!(commands.contains("8443"), "{commands}");
    commands.replace("8443", port)
}

#[track_caller]
fn run_example(directory: &Path, subcommand: &str) -> Run {
    run_bash(directory, &example(subcommand)).succeeded()
}

#[test]
fn every_subcommand_has_an_example_that_is_tested_here() {
    let help = tfhe_sbc(Path::new("."), &["--help"]).succeeded();
    let lines = help.text().lines();
    let names: Vec<&str> = lines
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let tested = [
        "demo",
        "keygen",
        "device-key",
        "provision",
        "certs",
        "sample",
        "encrypt",
        "serve",
        "pads",
        "send",
        "agent",
        "readings",
        "backup",
        "restore",
        "query",
        "jobs",
        "standing",
        "checks",
        "eval",
        "decrypt",
        "ckks",
        "convert",
        "keys",
        "inspect",
        "params",
    ];
    assert_eq!(names, tested);
    for name in names {
        assert!(example(name).contains(&format!("tfhe-sbc {name}")));
    }
}

#[test]
#[ignore = "a minute of bootstraps"]
fn the_example_of_demo_draws_its_day() {
    let directory = tempfile::tempdir().unwrap();
    let run = run_example(directory.path(), "demo");
    assert!(!run.text().contains("WRONG"), "{}", run.text());
    let picture = std::fs::read_to_string(directory.path().join("day.svg")).unwrap();
    assert!(picture.starts_with("<svg"));
}

#[test]
fn the_examples_of_keys_and_certificates_make_their_files() {
    let directory = tempfile::tempdir().unwrap();
    let described = run_example(directory.path(), "keygen");
    assert!(described.text().contains("server key"));
    run_example(directory.path(), "certs");
    assert!(directory.path().join("tls/board-2.pem").is_file());
    assert!(directory.path().join("tls/revoked.pem").is_file());
    let directory = tempfile::tempdir().unwrap();
    run_example(directory.path(), "certs revoke");
    let list = std::fs::read_to_string(directory.path().join("tls/revoked.pem")).unwrap();
    assert!(list.starts_with("-----BEGIN X509 CRL-----"), "{list}");

    let directory = tempfile::tempdir().unwrap();
    let described = run_example(directory.path(), "device-key");
    for words in ["device switch key", "device 'station-7', epoch 1"] {
        assert!(described.text().contains(words), "{}", described.text());
    }

    let directory = tempfile::tempdir().unwrap();
    assert!(
        run_example(directory.path(), "inspect")
            .text()
            .contains("device key")
    );
}

#[test]
fn the_example_of_params_has_levels() {
    let directory = tempfile::tempdir().unwrap();
    let text = run_example(directory.path(), "params");
    assert!(directory.path().join("own/server.tsbc").is_file());
    for words in ["own_2_2", "lambda 129.", "\"lambda\": "] {
        assert!(text.text().contains(words), "{}", text.text());
    }
}

#[test]
fn the_example_of_sample_writes_readings_and_definitions() {
    let directory = tempfile::tempdir().unwrap();
    run_example(directory.path(), "sample");
    let csv = std::fs::read_to_string(directory.path().join("day.csv")).unwrap();
    assert_eq!(csv.lines().count(), 25);
    run_bash(
        directory.path(),
        "tfhe-sbc keygen && tfhe-sbc encrypt day.csv --columns weather.toml > day.tsbc",
    )
    .succeeded();
}

#[test]
#[ignore = "a minute of bootstraps"]
fn the_examples_of_encrypt_eval_and_decrypt_go_from_readings_to_answers() {
    let directory = tempfile::tempdir().unwrap();
    let described = run_example(directory.path(), "encrypt");
    assert!(described.text().contains("seeded column list"));

    let directory = tempfile::tempdir().unwrap();
    let answers = run_example(directory.path(), "eval");
    assert!(
        answers.text().contains("mean(temperature_c)"),
        "{}",
        answers.text()
    );

    let directory = tempfile::tempdir().unwrap();
    let answers = run_example(directory.path(), "decrypt");
    assert!(
        answers.text().contains("max(temperature_c)"),
        "{}",
        answers.text()
    );
}

#[test]
fn the_example_of_convert_writes_what_seal_loads() {
    let directory = tempfile::tempdir().unwrap();
    run_example(directory.path(), "convert");
    let len = |name: &str| {
        std::fs::metadata(directory.path().join(name))
            .unwrap()
            .len()
    };
    // A polynomial in the place of its seed.
    assert!(len("expanded.seal") * 10 > len("day.seal") * 19);
}

#[test]
fn the_example_of_ckks_goes_from_readings_to_readings() {
    let directory = tempfile::tempdir().unwrap();
    let run = run_example(directory.path(), "ckks");
    assert!(
        run.text().contains("seeded ciphertext of Microsoft SEAL"),
        "{}",
        run.text()
    );
    let csv = tfhe_sbc(directory.path(), &["sample"]).succeeded();
    let temperatures = csv
        .text()
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap());
    let numbers: Vec<f64> = temperatures.map(|text| text.parse().unwrap()).collect();
    let lines: Vec<&str> = run.text().lines().collect();
    for (line, number) in lines[lines.len() - 24..].iter().zip(numbers) {
        assert!(
            (line.parse::<f64>().unwrap() - number).abs() < 1e-3,
            "{line} {number}"
        );
    }
}

#[test]
fn the_examples_of_checks_make_a_record() {
    for name in ["checks", "checks make", "checks status"] {
        let directory = tempfile::tempdir().unwrap();
        run_example(directory.path(), name);
        assert!(directory.path().join("checks.json").is_file(), "{name}");
    }
}

#[test]
fn the_example_of_pads_makes_a_key_and_pads() {
    let directory = tempfile::tempdir().unwrap();
    run_example(directory.path(), "pads");
    let in_directory = |name| directory.path().join(name).exists();
    assert!(in_directory("70b3d57ed0001234.h") && in_directory("70b3d57ed0001234.pads.tsbc"));
}

#[test]
fn the_example_of_provision_makes_one_file_that_the_agent_takes() {
    let directory = tempfile::tempdir().unwrap();
    let run = run_example(directory.path(), "provision");
    assert!(run.text().contains("level: 2.5 m"), "{}", run.text());
    assert!(!directory.path().join("tls/hill.key").exists());
}

#[test]
fn the_example_of_agent_prints_a_reading_and_sizes() {
    let directory = tempfile::tempdir().unwrap();
    let run = run_example(directory.path(), "agent");
    for words in ["cpu_c: 21.5", "60 rows, a full batch"] {
        assert!(run.text().contains(words), "{}", run.text());
    }
    // A test leaves nothing behind.
    assert!(!directory.path().join("spool").exists());
}

#[test]
#[ignore = "a minute of bootstraps"]
fn the_examples_of_serve_send_and_query_work_together() {
    let directory = tempfile::tempdir().unwrap();
    // The server takes a free port in place of the example's, and the others use that one.
    let serve = with_port(&example("serve"), "0");
    let server = Server::from_command(bash(directory.path(), &serve).env("RUST_LOG", "info"));
    let (_, port) = server.url.rsplit_once(':').unwrap();
    let run =
        |subcommand| run_bash(directory.path(), &with_port(&example(subcommand), port)).succeeded();
    let sent = run("send");
    assert_eq!(sent.text().trim().len(), 64, "{}", sent.text());
    let answers = run("query");
    for question in ["max(temperature_c)", "count(illuminance_lx > encrypted(…))"] {
        assert!(answers.text().contains(question), "{}", answers.text());
    }
    let answers = run("jobs");
    assert!(
        answers.text().contains("max(temperature_c)"),
        "{}",
        answers.text()
    );
    let answers = run("standing");
    for words in ["days", "up to date", "mean(temperature_c)", "1988-01-12"] {
        assert!(answers.text().contains(words), "{}", answers.text());
    }
    let id = sent.text().trim();
    for task in ["readings", "readings list", "readings show", "readings get"] {
        let shown = run(task);
        assert!(shown.text().contains(&id[..12]), "{task}: {}", shown.text());
    }
    // The server goes on meanwhile.
    for task in ["backup", "backup check", "restore"] {
        run_example(directory.path(), task);
    }
    assert!(directory.path().join("restored/index.sqlite").is_file());
    let removed = run("readings rm");
    assert!(
        removed.stderr.contains("removed 1 upload with 24 rows"),
        "{}",
        removed.stderr
    );
    // The keys are those of the server.
    let make = example("pads make");
    let make: Vec<_> = make
        .lines()
        .filter(|line| !line.contains("keygen"))
        .collect();
    run_bash(directory.path(), &make.join("\n")).succeeded();
    run("pads send");
    let board = "70b3d57ed0001234";
    for (subcommand, state) in [("pads list", "takes frames"), ("pads end", "ended")] {
        let listed = run(subcommand);
        let shows = |word| listed.text().contains(word);
        assert!(shows(board) && shows(state), "{}", listed.text());
    }
    let (status, log) = server.terminate();
    assert!(status.success(), "{status}\n{log}");
    assert!(log.contains("stopped"), "{log}");
}
