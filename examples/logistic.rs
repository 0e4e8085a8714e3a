//! Logistic scoring: the probability of broad daylight, from temperature, humidity and pressure.
//!
//! ```text
//! cargo run --release -p tfhe-sbc-examples --example logistic -- 24
//! ```

use tfhe_sbc_columns::Number;
use tfhe_sbc_examples::scene::Scene;
use tfhe_sbc_examples::weather::{self, HUMIDITY, PRESSURE, TEMPERATURE};
use tfhe_sbc_examples::{Outcome, Report, run};
use tfhe_sbc_upload::definition::{Profile, Use};

/// A logistic regression of "at least 10 000 lx" on the readings of the whole year: right for 76 of
/// 100 hours.
const WEIGHTS: [(&str, f64); 3] = [(TEMPERATURE, 0.09), (HUMIDITY, -0.044), (PRESSURE, 0.024)];
const BIAS: f64 = -22.505;
/// Probabilities come in steps of a seventh.
const LEVELS: u32 = 8;
/// Hours from one row to the next.
const STEP: usize = 61;

fn main() -> Outcome<()> {
    run(24, example)
}

/// The example, on `hours` hours.
pub fn example(scene: &Scene, hours: usize) -> Outcome<Report> {
    let mut report = Report::default();
    let weather = weather::table(
        &WEIGHTS.map(|(name, _)| name),
        Use::Compact(Profile::Means),
        12,
        STEP,
        hours,
    )?;
    let readings = scene.upload(&weather, &mut report)?;

    // The server.
    let terms = WEIGHTS.map(|(name, weight)| Ok((readings.column(name)?, weight)));
    let terms = terms
        .into_iter()
        .collect::<Outcome<Vec<(&Number, f64)>>>()?;
    let score = Number::linear(&terms, BIAS)?;
    // The sigmoid is monotone: a probability in sevenths is the number of scores passed at which it
    // goes from one seventh to the next.
    let limits = (1..LEVELS).map(|level| {
        let p = (f64::from(level) - 0.5) / f64::from(LEVELS - 1);
        (p / (1.0 - p)).ln()
    });
    let limits: Vec<f64> = limits.collect();
    let passed = limits.iter().map(|&limit| Ok(score.ge(limit)?.as_number()));
    let passed = passed.collect::<Outcome<Vec<Number>>>()?;
    let passed: Vec<(&Number, f64)> = passed.iter().map(|passed| (passed, 1.0)).collect();
    let sevenths = Number::linear(&passed, 0.0)?;
    // A probability of a half or more is a score of 0 or more.
    let likely = score.ge(0.0)?;
    let found = scene.ask(&[&sevenths, &likely], &mut report)?;

    // The key owner.
    let sevenths = found[0].numbers().ok_or("no numbers")?;
    let likely = found[1].truths().ok_or("no truth values")?;
    report.agrees = true;
    for (hour, (sevenths, likely)) in sevenths.iter().zip(likely).enumerate() {
        let terms = weather.readings.iter().zip(WEIGHTS);
        let score = terms.fold(BIAS, |sum, (column, (_, weight))| {
            sum + weight * column[hour]
        });
        // Scores are whole thousandths.
        let score = (score * 1e3).round() / 1e3;
        let passed = limits.iter().filter(|&&limit| score >= limit).count();
        report.agrees &= (*sevenths, *likely) == (passed as f64, score >= 0.0);
        report.say(format!(
            "  {}: {:.2} (plain: {:.3}){}",
            weather.hours[hour],
            sevenths / f64::from(LEVELS - 1),
            1.0 / (1.0 + (-score).exp()),
            if *likely { ", likely" } else { "" },
        ));
    }
    Ok(report)
}
