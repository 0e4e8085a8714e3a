//! A fleet's daily maxima: when each station was warmest and how warm it was, which station
//! was the warmest, and the mean of all readings. Days of the year stand in for stations; each
//! sends an upload of its own.

use tfhe_sbc_engine::analytics::parts::{PartialSum, SumInput};
use tfhe_sbc_engine::integer::Width;
use tfhe_sbc_upload::sums::{ColumnBlocks, sum_rows};

use crate::scene::{Answer, Scene};
use crate::weather::{self, TEMPERATURE};
use crate::{Outcome, Report};

const HOURS: usize = 24;
const DAYS: usize = 365;

/// The example, with so many stations.
pub fn example(scene: &Scene, stations: usize) -> Outcome<Report> {
    if !(1..=DAYS).contains(&stations) {
        return Err(format!("a fleet has 1 to {DAYS} stations").into());
    }
    let mut report = Report::default();
    let day = |station: usize| 17 * station % DAYS;
    let tables = (0..stations)
        .map(|station| weather::table(&[TEMPERATURE], HOURS * day(station), 1, HOURS))
        .collect::<Outcome<Vec<_>>>()?;
    let encoding = tables[0].columns[0].fixed_point()?;
    let mut uploads = Vec::new();
    for table in &tables {
        // One line is enough: they are alike.
        let mut own = Report::default();
        uploads.push(scene.encrypt(table, &mut own)?);
        if uploads.len() == 1 {
            report.lines = own.lines;
        }
    }

    let circuit = scene.circuit()?;
    let received = uploads
        .iter()
        .map(|upload| scene.receive(upload))
        .collect::<Outcome<Vec<_>>>()?;
    let columns = received
        .iter()
        .map(|upload| upload.column(&circuit, 0))
        .collect::<Outcome<Vec<_>>>()?;
    let warmest = circuit.side_by_side(stations, |c| {
        columns
            .iter()
            .map(|column| c.arg_max(column))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let maxima: Vec<_> = warmest.iter().map(|hour| hour.value.clone()).collect();
    let of_fleet = circuit.arg_max(&maxima)?;
    // The sum is begun on polynomials: five readings to a block, of whichever stations.
    let blocks: Vec<_> = received
        .iter()
        .map(|upload| ColumnBlocks {
            list: &upload.list,
            blocks: upload.blocks(&circuit, 0),
        })
        .collect();
    let width = Width::new(encoding.bits())?;
    let row_blocks = circuit.block_count(width);
    let sums = sum_rows(&blocks, row_blocks, circuit.most_in_a_part()).ok_or("no whole rows")?;
    let parts = sums.into_iter().map(|sum| PartialSum {
        place: sum.place,
        count: sum.rows,
        sum: SumInput::Ciphertext(sum.ciphertext),
    });
    let sum = circuit.sum_of_parts(parts.collect(), width)?;

    let mut answers = Vec::new();
    for hour in &warmest {
        answers.extend([&hour.value, &hour.index].map(Answer::number));
    }
    answers.extend([&of_fleet.value, &of_fleet.index, &sum].map(Answer::number));
    let found = scene.ask(&circuit, &answers, &mut report)?;

    let mut expected = Vec::new();
    let mut total = 0;
    let mut plain_maxima = Vec::new();
    let first_largest = |codes: &[u64]| {
        let largest = codes.iter().copied().max().unwrap_or_default();
        (largest, codes.iter().position(|&code| code == largest))
    };
    for table in &tables {
        let codes = table.codes(0)?;
        total += codes.iter().sum::<u64>();
        let (value, hour) = first_largest(&codes);
        plain_maxima.push(value);
        expected.extend([value, hour.unwrap_or_default() as u64]);
    }
    let (value, station) = first_largest(&plain_maxima);
    expected.extend([value, station.unwrap_or_default() as u64, total]);
    report.agrees = found == expected;

    let celsius = |code: u64| encoding.decode(code as f64);
    for (station, (found, plain)) in found
        .chunks(2)
        .zip(&plain_maxima)
        .enumerate()
        .take(stations)
    {
        report.say(format!(
            "station {station} ({}): {:.1} °C in hour {} (plain: {:.1} °C)",
            &tables[station].hours[0][..10],
            celsius(found[0]),
            found[1] + 1,
            celsius(*plain),
        ));
    }
    let [.., value, station, sum] = found[..] else {
        return Err("answers are missing".into());
    };
    let count = (stations * HOURS) as f64;
    report.say(format!(
        "warmest: station {station}, {:.1} °C; mean of all: {:.2} °C (plain: {:.2} °C)",
        celsius(value),
        encoding.decode(sum as f64 / count),
        encoding.decode(total as f64 / count),
    ));
    Ok(report)
}
