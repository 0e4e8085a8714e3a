//! The commands of docs/agent.md, run as they stand, on a made-up sensor and another port.
#![cfg(unix)]

use std::fs;
use std::path::Path;

use crate::common::{Run, Server, bash, run_bash};

const MANUAL: &str = include_str!("../../../../docs/agent.md");

/// The blocks of this language in the manual.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    let blocks = MANUAL.split(opening.as_str()).skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().trim_end())
        .collect()
}

fn run(directory: &Path, script: &str) -> Run {
    run_bash(directory, script).succeeded()
}

#[test]
fn the_guide_goes_from_a_sensor_to_an_answer() {
    let desk = tempfile::tempdir().unwrap();
    let directory = desk.path();
    let zone = directory.join("sys/class/thermal/thermal_zone0");
    fs::create_dir_all(&zone).unwrap();
    fs::write(zone.join("type"), "cpu-thermal\n").unwrap();
    fs::write(zone.join("temp"), "48300\n").unwrap();

    let scripts = blocks("sh");
    let [prepare, others @ ..] = scripts.as_slice() else {
        panic!("the manual has no scripts");
    };
    let (prepare, serve) = prepare.rsplit_once('\n').unwrap();
    run(directory, prepare);
    // The server takes a free port in place of the guide's, and the other commands use that one.
    assert!(serve.contains("8443"), "{serve}");
    let server = Server::from_command(&mut bash(directory, &serve.replace("8443", "0")));
    let (_, port) = server.url.rsplit_once(':').unwrap();
    let others: Vec<String> = others
        .iter()
        .map(|script| script.replace("8443", port))
        .collect();
    let [provision, agent, ask, unit] = others.as_slice() else {
        panic!("the manual has {} scripts", scripts.len());
    };
    fs::write(directory.join("columns.toml"), blocks("toml")[0]).unwrap();
    run(directory, provision);
    let sys = directory.join("sys");
    let done = run(
        directory,
        &format!(
            "export TFHE_SBC_AGENT_SAMPLE_SYSFS={}\n{agent}",
            sys.display()
        ),
    );
    for words in [
        "cpu_c: 48.3 °C",
        "1 row read, 1 batch at the server",
        "0 batches wait",
    ] {
        assert!(done.text().contains(words), "{}", done.text());
    }
    let answer = run(directory, ask);
    assert_eq!(
        answer.text().matches(" 48.3 °C").count(),
        2,
        "{}",
        answer.text()
    );
    run(directory, unit);
    let unit = fs::read_to_string(directory.join("tfhe-sbc-agent.service")).unwrap();
    assert!(unit.contains("\nDynamicUser=yes\n"));
}

#[test]
fn every_setting_is_in_the_manual() {
    let template = tfhe_sbc_agent::config::template();
    let mut section = String::new();
    for line in template.lines() {
        let line = line.trim_start_matches("# ");
        if line.starts_with('[') {
            let name = line.trim_start_matches('[');
            section = name.split(']').next().unwrap().to_owned();
        } else if let Some((key, _)) = line.split_once(" = ")
            && key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
            && !section.is_empty()
        {
            let named = [format!("`{section}.{key}`"), format!("`.{key}`")];
            assert!(
                named.iter().any(|name| MANUAL.contains(name)),
                "{section}.{key}"
            );
        }
    }
}
