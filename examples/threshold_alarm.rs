//! A threshold alarm: which hours were too hot or too damp, where the limit of temperature is a
//! secret too.
//!
//! ```text
//! cargo run --release -p tfhe-sbc-examples --example threshold_alarm -- 24
//! ```

use tfhe_sbc_examples::scene::Scene;
use tfhe_sbc_examples::weather::{self, HUMIDITY, TEMPERATURE, Weather};
use tfhe_sbc_examples::{Outcome, Report, run};
use tfhe_sbc_upload::definition::{Profile, Use};

/// The threshold of the temperature, in °C. Only the key owner knows it.
const TOO_HOT: f64 = 27.0;
/// The threshold of the humidity, in %. Everyone knows it.
const TOO_DAMP: f64 = 95.0;
/// The first of July.
const FIRST: usize = 181 * 24;

fn main() -> Outcome<()> {
    run(48, example)
}

/// The example, on `hours` hours.
pub fn example(scene: &Scene, hours: usize) -> Outcome<Report> {
    let mut report = Report::default();
    let weather = weather::table(
        &[TEMPERATURE, HUMIDITY],
        Use::Compact(Profile::Alarms),
        FIRST,
        1,
        hours,
    )?;
    let limit = Weather {
        columns: weather.columns[..1].to_vec(),
        hours: vec!["limit".into()],
        readings: vec![vec![TOO_HOT]],
    };
    let readings = scene.upload(&weather, &mut report)?;
    let limits = scene.upload(&limit, &mut report)?;

    // The server.
    let too_hot = limits.column(TEMPERATURE)?.item(0)?;
    let hot = readings.column(TEMPERATURE)?.gt(&too_hot)?;
    let damp = readings.column(HUMIDITY)?.ge(TOO_DAMP)?;
    let alarms = hot.or(&damp)?;
    let (count, any) = (alarms.count(), alarms.any());
    let found = scene.ask(&[&alarms, &count, &any], &mut report)?;

    // The key owner.
    let alarms = found[0].truths().ok_or("no truth values")?;
    let is_alarm =
        |i: usize| weather.readings[0][i] > TOO_HOT || weather.readings[1][i] >= TOO_DAMP;
    let plain: Vec<bool> = (0..hours).map(is_alarm).collect();
    let plain_count = plain.iter().filter(|alarm| **alarm).count();
    let (count, any) = (found[1].number(), found[2].truth());
    report.agrees =
        alarms == plain && count == Some(plain_count as f64) && any == Some(plain_count > 0);
    report.say(format!(
        "alarm: {} in {} of {hours} hours (plain: {plain_count})",
        if any == Some(true) { "yes" } else { "no" },
        count.unwrap_or_default(),
    ));
    for (hour, _) in weather
        .hours
        .iter()
        .zip(alarms)
        .filter(|(_, alarm)| **alarm)
    {
        report.say(format!("  {hour}"));
    }
    Ok(report)
}
