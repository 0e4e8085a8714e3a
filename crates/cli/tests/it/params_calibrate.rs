//! `params calibrate`: its example, its files, and what is refused. No test looks at the times.

use std::path::Path;

use crate::common::{run_bash, tfhe_sbc};

#[test]
fn the_example_stores_prices_and_draws_them() {
    let directory = tempfile::tempdir().unwrap();
    let help = tfhe_sbc(Path::new("."), &["params", "calibrate", "--help"]).succeeded();
    let example = help
        .text()
        .lines()
        .rev()
        .find(|line| line.contains("params calibrate"));
    let run = run_bash(directory.path(), example.unwrap().trim()).succeeded();
    for words in [
        "Held out: median error",
        "Fitted: median error",
        "predicted",
    ] {
        assert!(run.text().contains(words), "{}", run.text());
    }
    let prices = std::fs::read_to_string(directory.path().join("cost.toml")).unwrap();
    assert!(prices.contains("multiply_add = "), "{prices}");
    let picture = std::fs::read_to_string(directory.path().join("cost.svg")).unwrap();
    assert!(picture.starts_with("<svg"));
}

#[test]
fn json_has_the_prices_and_every_comparison() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [
        "params",
        "calibrate",
        "--quick",
        "--out",
        "cost.toml",
        "--json",
    ];
    let found = tfhe_sbc(directory.path(), &arguments).succeeded().json();
    assert!(
        found["model"]["seconds"]["multiply_add"].is_f64(),
        "{found}"
    );
    let held_out = found["held_out"].as_array().unwrap();
    assert!(!held_out.is_empty() && held_out.iter().all(|one| one["error"].is_f64()));
    assert_eq!(found["held_out_errors"]["of"], held_out.len());
}

#[test]
fn places_that_cannot_be_written_are_refused_before_any_work() {
    let directory = tempfile::tempdir().unwrap();
    for option in ["--out", "--plot"] {
        let run = tfhe_sbc(
            directory.path(),
            &["params", "calibrate", option, "none/file"],
        );
        run.refused(&["there is no directory none"]);
    }
    let run = tfhe_sbc(directory.path(), &["params", "calibrate", "--threads", "0"]);
    run.refused(&["give a number from 1 to 1024"]);
}
