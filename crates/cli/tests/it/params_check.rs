//! `params check`: a set whose noise is as predicted, one that is said to be another, and what
//! is refused.

use std::path::Path;

use crate::common::{Run, run_bash, tfhe_sbc};

const SET: &str = "message_1_carry_1_p_fail_2m40";

fn check(options: &[&str]) -> Run {
    let arguments = [&["params", "check"], options].concat();
    tfhe_sbc(Path::new("."), &arguments)
}

#[test]
#[ignore = "a minute of statistics"]
fn the_example_passes_and_draws_what_it_measured() {
    let directory = tempfile::tempdir().unwrap();
    let help = check(&["--help"]).succeeded();
    let example = help
        .text()
        .lines()
        .skip_while(|line| !line.starts_with("Example"));
    let example = example.skip(1).collect::<Vec<_>>().join("\n");
    let run = run_bash(directory.path(), &example).succeeded();
    for words in ["blind rotation", "look-up", "splitting", "passes"] {
        assert!(run.text().contains(words), "{}", run.text());
    }
    let picture = std::fs::read_to_string(directory.path().join("noise.svg")).unwrap();
    for words in ["<svg", "key switch", "log2 of the failure probability"] {
        assert!(picture.contains(words), "no {words}");
    }
}

#[test]
#[ignore = "a minute of statistics"]
fn a_set_that_is_said_to_be_another_fails_and_says_where() {
    let other = "message_1_carry_1";
    let run = check(&[SET, "--quick", "--json", "--predict-as", other]);
    assert!(!run.status.success());
    let stderr = &run.stderr;
    for words in [SET, other, "--seed"] {
        assert!(stderr.contains(words), "{stderr}");
    }
    let answer = run.json();
    assert_eq!(answer["ok"], false);
    let step = |name: &str| {
        let steps = answer["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["step"] == name);
        step.unwrap_or_else(|| panic!("no {name} in {answer}"))
            .clone()
    };
    // More noise everywhere than the other set has.
    for name in [
        "LWE encryption",
        "GLWE encryption",
        "blind rotation",
        "key switch",
    ] {
        assert_eq!(step(name)["verdict"], "too high", "{name}");
        assert!(step(name)["ratio"].as_f64().unwrap() > 1.2);
    }
    assert_eq!(answer["p_fail"]["verdict"], "too high");
    let log2 = |name: &str| answer["p_fail"][name].as_f64().unwrap();
    assert!(log2("splitting_log2") > log2("formula_log2") + 50.0);
    assert!(answer["direct"].is_null());
}

#[test]
fn what_cannot_be_checked_is_refused_before_anything_is_measured() {
    check(&["hope"]).refused(&["hope", "message_2_carry_2"]);
    check(&[SET, "--plot", "no/such/place.svg"]).refused(&["no/such", "make the directory"]);
    check(&[SET, "--seed=-1"]).refused(&["--seed"]);
}
