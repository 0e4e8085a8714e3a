//! A threshold alarm: which hours were too hot or too damp, where the limit of temperature
//! is a secret too.

use tfhe_sbc_engine::analytics::rows::Condition;
use tfhe_sbc_engine::integer::Comparison;

use crate::scene::{Answer, Scene};
use crate::weather::{self, HUMIDITY, TEMPERATURE, Table};
use crate::{Outcome, Report};

/// In °C. Only the key owner knows it.
const TOO_HOT: f64 = 27.0;
/// In %. Everyone knows it.
const TOO_DAMP: u64 = 95;
/// The first of July.
const FIRST: usize = 181 * 24;

/// The example, on so many hours.
pub fn example(scene: &Scene, hours: usize) -> Outcome<Report> {
    let mut report = Report::default();
    let table = weather::table(&[TEMPERATURE, HUMIDITY], FIRST, 1, hours)?;
    let upload = scene.encrypt(&table, &mut report)?;
    let limit = Table {
        columns: table.columns[..1].to_vec(),
        hours: vec!["limit".into()],
        readings: vec![vec![TOO_HOT]],
    };
    let sent_limit = scene.encrypt(&limit, &mut report)?;

    let circuit = scene.circuit()?;
    let (received, limits) = (scene.receive(&upload)?, scene.receive(&sent_limit)?);
    let temperature = received.column(&circuit, 0)?;
    let humidity = received.column(&circuit, 1)?;
    let too_hot = limits.column(&circuit, 0)?.remove(0);
    let too_damp = circuit.clear(TOO_DAMP, humidity[0].width());
    let is_hot = Condition::Compare(0, Comparison::Gt, too_hot);
    let is_damp = Condition::Compare(0, Comparison::Ge, too_damp);
    // Each column by itself, for they have different widths.
    let hot = circuit.rows_where(&[&temperature], &is_hot)?;
    let damp = circuit.rows_where(&[&humidity], &is_damp)?;
    let both = hot.iter().zip(&damp);
    let alarms = both
        .map(|(hot, damp)| circuit.or(hot, damp))
        .collect::<Result<Vec<_>, _>>()?;
    let count = circuit.propagate(&circuit.count(&alarms)?)?;
    let any = circuit.any(&alarms)?;
    let mut answers: Vec<Answer> = alarms
        .iter()
        .map(|alarm| Answer::truth(&circuit, alarm))
        .collect();
    answers.push(Answer::number(&count));
    answers.push(Answer::truth(&circuit, &any));
    let found = scene.ask(&circuit, &answers, &mut report)?;

    let temperature = table.codes(0)?;
    let humidity = table.codes(1)?;
    let limit = limit.codes(0)?[0];
    let is_alarm = |i: usize| temperature[i] > limit || humidity[i] >= TOO_DAMP;
    let mut expected: Vec<u64> = (0..hours).map(|i| u64::from(is_alarm(i))).collect();
    let plain_count = expected.iter().sum::<u64>();
    expected.extend([plain_count, u64::from(plain_count > 0)]);
    report.agrees = found == expected;
    report.say(format!(
        "alarm: {} in {} of {hours} hours (plain: {plain_count})",
        if found[hours + 1] == 1 { "yes" } else { "no" },
        found[hours],
    ));
    for (hour, _) in table
        .hours
        .iter()
        .zip(&found)
        .filter(|(_, alarm)| **alarm == 1)
    {
        report.say(format!("  {hour}"));
    }
    Ok(report)
}
