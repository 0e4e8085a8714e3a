//! The command `reproduce`: rows of figures, for people and for machines.

use std::process::{Command, Output};

use serde_json::Value;

fn reproduce(options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tfhe-sbc-research"))
        .arg("reproduce")
        .args(options)
        .output()
        .unwrap()
}

fn stdout_of_success(options: &[&str]) -> String {
    let output = reproduce(options);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn rows(options: &[&str]) -> Vec<Value> {
    let text = stdout_of_success(&[options, &["--json"]].concat());
    serde_json::from_str(&text).unwrap()
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
    let text = stdout_of_success(&["--only", "published"]);
    for words in [
        "V1_4_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128/p-fail",
        "-128.597",
        "unexplained",
        "  1  stated as -64.138",
        "61 figures agree, 0 differ, 2 are unexplained",
    ] {
        assert!(text.contains(words), "no {words}: {text}");
    }
    let refused = reproduce(&["--only", "rumours"]);
    assert!(!refused.status.success());
    let errors = String::from_utf8(refused.stderr).unwrap();
    assert!(
        errors.contains("rumours") && errors.contains("klemsa"),
        "{errors}"
    );
}
