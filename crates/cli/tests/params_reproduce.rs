//! `params reproduce`: rows of figures, for people and for machines.

mod common;

use std::path::Path;

use common::{Run, run_bash, tfhe_sbc};
use serde_json::Value;

fn reproduce(options: &[&str]) -> Run {
    tfhe_sbc(
        Path::new("."),
        &[&["params", "reproduce"], options].concat(),
    )
}

fn rows(options: &[&str]) -> Vec<Value> {
    let run = reproduce(&[options, &["--json"]].concat()).succeeded();
    run.json().as_array().unwrap().clone()
}

#[test]
fn rows_are_name_predicted_published_and_ok() {
    let all = rows(&[]);
    for row in &all {
        let number = |field: &str| row[field].as_f64();
        let predicted = number("predicted").unwrap();
        assert!(number("published").is_some() || row["published"].is_null());
        match row["verdict"].as_str().unwrap() {
            "yes" => {
                let published = number("published").unwrap();
                let scale = match row["tolerance_is_relative"].as_bool().unwrap() {
                    true => published.abs(),
                    false => 1.0,
                };
                let allowed = number("tolerance").unwrap() * scale;
                assert!((predicted - published).abs() <= allowed, "{row}");
                assert_eq!(row["ok"], true);
            }
            "unexplained" | "not compared" => {
                assert!(row["ok"].is_null(), "{row}");
                assert!(!row["note"].as_str().unwrap().is_empty(), "{row}");
            }
            other => panic!("{other}: {row}"),
        }
    }
    let starting = |prefix: &str| {
        let of = |row: &&Value| row["name"].as_str().unwrap().starts_with(prefix);
        all.iter().filter(of).cloned().collect::<Vec<_>>()
    };
    let published = starting("V");
    assert_eq!(published.len(), 64);
    for row in &published {
        let p_fail = row["name"].as_str().unwrap().ends_with("/p-fail");
        let unit = if p_fail { "log2" } else { "million operations" };
        assert_eq!(row["unit"], unit);
        assert!(row["tolerance"].is_null() || row["tolerance"] == 0.01);
    }
    assert_eq!(published, rows(&["--only", "published"]));
    let paper = starting("tfhe-sbc-table-3/");
    assert_eq!(paper.len(), 4);
    assert_eq!(paper, rows(&["--only", "paper"]));
    let klemsa = starting("klemsa/").len();
    assert!(klemsa > 60);
    assert_eq!(all.len(), 64 + 4 + klemsa);
}

#[test]
fn people_get_a_table_and_the_notes() {
    let run = reproduce(&["--only", "published"]).succeeded();
    for words in [
        "V1_4_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128/p-fail",
        "-128.597",
        "unexplained",
        "  1  stated as -64.138",
        "61 figures agree, 0 differ, 2 are unexplained",
    ] {
        assert!(run.text().contains(words), "no {words}: {}", run.text());
    }
    reproduce(&["--only", "rumours"]).refused(&["rumours", "klemsa"]);
}

#[test]
fn the_example_runs() {
    let help = reproduce(&["--help"]).succeeded();
    let example: Vec<&str> = help
        .text()
        .lines()
        .skip_while(|line| !line.starts_with("Example"))
        .skip(1)
        .collect();
    assert_eq!(example.len(), 2);
    let run = run_bash(Path::new("."), &example.join("\n")).succeeded();
    let text = run.text();
    assert!(text.contains("\"name\": \"tfhe-sbc-table-3/") && text.contains(" klemsa/"));
}
