//! Every example, on a few rows.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect"
)]

use std::sync::OnceLock;

use tfhe_sbc_examples::scene::Scene;
use tfhe_sbc_examples::{Outcome, Report};

/// A program, whose `main` is not called.
macro_rules! program {
    ($name:ident, $path:literal) => {
        #[path = $path]
        #[allow(dead_code, unreachable_pub)]
        mod $name;
    };
}

program!(daily_maxima, "../daily_maxima.rs");
program!(decision_tree, "../decision_tree.rs");
program!(histogram, "../histogram.rs");
program!(logistic, "../logistic.rs");
program!(threshold_alarm, "../threshold_alarm.rs");

fn agrees(rows: usize, example: fn(&Scene, usize) -> Outcome<Report>) -> Report {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    let scene = SCENE.get_or_init(|| Scene::new().unwrap());
    let report = example(scene, rows).unwrap();
    assert!(report.agrees, "{:#?}", report.lines);
    assert!(example(scene, 0).is_err() && example(scene, 1_000_000).is_err());
    report
}

#[test]
fn alarms_are_those_of_the_plain_readings() {
    agrees(5, threshold_alarm::example);
}

#[test]
fn maxima_are_those_of_the_plain_readings() {
    agrees(1, daily_maxima::example);
}

#[test]
fn histograms_are_those_of_the_plain_readings() {
    let report = agrees(9, histogram::example);
    let svg = report.picture.unwrap();
    // The sheet, the bars, and the one of the legend.
    assert!(svg.starts_with("<svg") && svg.matches("<rect").count() >= 10);
    assert!(svg.contains("°C") && !svg.contains("NaN"));
}

#[test]
fn decisions_are_those_of_the_plain_readings() {
    agrees(3, decision_tree::example);
}

#[test]
fn probabilities_are_those_of_the_plain_readings() {
    agrees(2, logistic::example);
}
