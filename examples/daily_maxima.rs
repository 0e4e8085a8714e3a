//! A fleet's daily maxima: when each station was warmest and how warm it was, which station was the
//! warmest, and the mean of all readings. Days of the year stand in for stations; each sends an
//! upload of its own.
//!
//! ```text
//! cargo run --release -p tfhe-sbc-examples --example daily_maxima -- 3
//! ```

use tfhe_sbc_columns::{Computable, Number, Value};
use tfhe_sbc_examples::scene::Scene;
use tfhe_sbc_examples::weather::{self, TEMPERATURE};
use tfhe_sbc_examples::{Outcome, Report, run};
use tfhe_sbc_upload::definition::Use;

const HOURS: usize = 24;
const DAYS: usize = 365;

fn main() -> Outcome<()> {
    run(6, example)
}

/// The example, with `stations` stations.
pub fn example(scene: &Scene, stations: usize) -> Outcome<Report> {
    if !(1..=DAYS).contains(&stations) {
        return Err(format!("a fleet has 1 to {DAYS} stations").into());
    }
    let mut report = Report::default();
    let day = |station: usize| 17 * station % DAYS;
    let tables = (0..stations)
        .map(|station| weather::table(&[TEMPERATURE], Use::Radix, HOURS * day(station), 1, HOURS))
        .collect::<Outcome<Vec<_>>>()?;
    let mut uploads = Vec::new();
    for table in &tables {
        // One line is enough: they are alike.
        let mut own = Report::default();
        uploads.push(scene.encrypt(table, &mut own)?);
        if uploads.len() == 1 {
            report.lines = own.lines;
        }
    }

    // The server: one table, whose rows are those of all stations.
    let uploads: Vec<&[u8]> = uploads.iter().map(Vec::as_slice).collect();
    let readings = scene.server.load(&uploads)?;
    let temperature = readings.column(TEMPERATURE)?;
    let warmest = (0..stations)
        .map(|station| {
            let hours: Vec<usize> = (HOURS * station..HOURS * (station + 1)).collect();
            Ok(temperature.take(&hours)?.arg_max())
        })
        .collect::<Outcome<Vec<(Number, Number)>>>()?;
    let maxima: Vec<&Number> = warmest.iter().map(|(_, value)| value).collect();
    let (station, value) = Number::stack(&maxima)?.arg_max();
    let mean = temperature.mean();
    let mut asked: Vec<&dyn Computable> = Vec::new();
    for (hour, value) in &warmest {
        asked.extend([value as &dyn Computable, hour]);
    }
    asked.extend([&value as &dyn Computable, &station, &mean]);
    let found = scene.ask(&asked, &mut report)?;
    let found: Vec<f64> = found.iter().filter_map(Value::number).collect();

    // The key owner.
    let first_largest = |values: &[f64]| {
        let largest = values.iter().copied().fold(f64::MIN, f64::max);
        let place = values.iter().position(|&value| value == largest);
        (largest, place.unwrap_or_default() as f64)
    };
    let mut expected = Vec::new();
    let mut plain_maxima = Vec::new();
    for table in &tables {
        let (value, hour) = first_largest(&table.readings[0]);
        plain_maxima.push(value);
        expected.extend([value, hour]);
    }
    let (value, station) = first_largest(&plain_maxima);
    expected.extend([value, station]);
    let [decided @ .., mean] = &found[..] else {
        return Err("answers are missing".into());
    };
    let all = tables.iter().flat_map(|table| &table.readings[0]);
    let plain_mean = all.sum::<f64>() / (stations * HOURS) as f64;
    report.agrees = decided == expected && (mean - plain_mean).abs() < 1e-9;

    for (station, (found, plain)) in found.chunks(2).zip(&plain_maxima).enumerate() {
        report.say(format!(
            "station {station} ({}): {:.1} °C in hour {} (plain: {plain:.1} °C)",
            &tables[station].hours[0][..10],
            found[0],
            found[1] + 1.0,
        ));
    }
    report.say(format!(
        "warmest: station {station}, {value:.1} °C; mean of all: {mean:.2} °C (plain: \
         {plain_mean:.2} °C)",
    ));
    Ok(report)
}
