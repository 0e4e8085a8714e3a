//! Logistic scoring: how likely it is broad daylight, by temperature, humidity and pressure.

use tfhe_sbc_engine::analytics::score::probability_limits;

use crate::scene::{Answer, Scene};
use crate::weather::{self, HUMIDITY, PRESSURE, TEMPERATURE};
use crate::{Outcome, Report};

/// A logistic regression of "at least 10 000 lx" on the codes of the whole year, in
/// thousandths: right for 76 of 100 hours.
const WEIGHTS: [i64; 3] = [9, -44, 24];
const BIAS: i64 = -6605;
const THOUSANDTH: f64 = 1e-3;
/// Probabilities come in steps of a seventh.
const LEVELS: u32 = 8;
/// Hours from one row to the next.
const STEP: usize = 61;

/// The example, on so many hours.
pub fn example(scene: &Scene, hours: usize) -> Outcome<Report> {
    let mut report = Report::default();
    let table = weather::table(&[TEMPERATURE, HUMIDITY, PRESSURE], 12, STEP, hours)?;
    let upload = scene.encrypt(&table, &mut report)?;

    let circuit = scene.circuit()?;
    let received = scene.receive(&upload)?;
    let columns = (0..WEIGHTS.len())
        .map(|column| received.column(&circuit, column))
        .collect::<Outcome<Vec<_>>>()?;
    let mut answers = Vec::new();
    circuit.side_by_side(hours, |c| -> Outcome<()> {
        for hour in 0..hours {
            let row: Vec<_> = columns.iter().map(|c| c[hour].clone()).collect();
            let score = c.linear_score(&row, &WEIGHTS, BIAS)?;
            let code = c.probability(&score, THOUSANDTH, LEVELS)?;
            // A probability of a half or more is a score of 0 or more.
            let likely = c.score_at_least(&score, 0)?;
            answers.extend([Answer::number(&code), Answer::truth(c, &likely)]);
        }
        Ok(())
    })?;
    let found = scene.ask(&circuit, &answers, &mut report)?;

    let codes = (0..WEIGHTS.len())
        .map(|column| table.codes(column))
        .collect::<Outcome<Vec<_>>>()?;
    let limits = probability_limits(THOUSANDTH, LEVELS)?;
    report.agrees = true;
    for (hour, found) in found.chunks(2).enumerate() {
        let terms = codes.iter().zip(WEIGHTS);
        let score = BIAS
            + terms
                .map(|(x, weight)| x[hour] as i64 * weight)
                .sum::<i64>();
        let passed = limits.iter().filter(|&&limit| i128::from(score) >= limit);
        let plain = [passed.count() as u64, u64::from(score >= 0)];
        report.agrees &= found == plain;
        let exact = 1.0 / (1.0 + (-THOUSANDTH * score as f64).exp());
        report.say(format!(
            "  {}: {:.2} (plain: {exact:.3}){}",
            table.hours[hour],
            found[0] as f64 / f64::from(LEVELS - 1),
            if found[1] == 1 { ", likely" } else { "" },
        ));
    }
    Ok(report)
}
