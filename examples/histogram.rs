//! A histogram of readings with its picture: the bins are no secret, the counts are.
//!
//! ```text
//! cargo run --release -p tfhe-sbc-examples --example histogram -- 168 histogram.svg
//! ```

use plotters::prelude::*;
use tfhe_sbc_examples::scene::Scene;
use tfhe_sbc_examples::weather::{self, TEMPERATURE};
use tfhe_sbc_examples::{Outcome, Report, run};
use tfhe_sbc_upload::definition::{Profile, Use};

/// The lowest edge, the width of a bin, in °C, and the number of bins.
const BINS: (i32, i32, usize) = (-10, 5, 10);
/// Hours from one reading to the next, so that they come from all of the year and day.
const STEP: usize = 37;

fn main() -> Outcome<()> {
    run(168, example)
}

/// The example, on `hours` hours.
pub fn example(scene: &Scene, hours: usize) -> Outcome<Report> {
    let mut report = Report::default();
    let weather = weather::table(
        &[TEMPERATURE],
        Use::Compact(Profile::Alarms),
        0,
        STEP,
        hours,
    )?;
    let (first, width, count) = BINS;
    let edges: Vec<i32> = (0..=count as i32).map(|bin| first + width * bin).collect();
    let readings = scene.upload(&weather, &mut report)?;

    // The server.
    let bounds: Vec<f64> = edges.iter().copied().map(f64::from).collect();
    let counts = readings.column(TEMPERATURE)?.histogram(&bounds, false)?;
    let found = scene.ask(&[&counts], &mut report)?;

    // The key owner.
    let found = found[0].numbers().ok_or("no numbers")?;
    let found: Vec<u64> = found.iter().map(|&count| count as u64).collect();
    let plain = bounds.windows(2).map(|edge| {
        let readings = weather.readings[0].iter();
        let inside = readings.filter(|&&value| edge[0] <= value && value < edge[1]);
        inside.count() as u64
    });
    let plain: Vec<u64> = plain.collect();
    report.agrees = found == plain;
    for ((edge, found), plain) in edges.windows(2).zip(&found).zip(&plain) {
        let bar = "#".repeat((*found as usize * 40).div_ceil(hours));
        report.say(format!(
            "{:>4} to {:>3} °C: {found:>3} (plain: {plain:>3}) {bar}",
            edge[0], edge[1]
        ));
    }
    report.picture = Some(picture(&edges, &found, &plain)?);
    Ok(report)
}

/// Draws bars of the decrypted counts and dots of the plain ones.
fn picture(edges: &[i32], found: &[u64], plain: &[u64]) -> Outcome<String> {
    let mut svg = String::new();
    {
        let sheet = SVGBackend::with_string(&mut svg, (800, 480)).into_drawing_area();
        sheet.fill(&WHITE)?;
        // With room for the legend.
        let highest = found.iter().chain(plain).max().copied().unwrap_or(0);
        let top = highest + highest / 4 + 1;
        let (low, high) = (edges[0], edges[edges.len() - 1]);
        let mut chart = ChartBuilder::on(&sheet)
            .caption(
                "Temperatures, counted without seeing them",
                ("sans-serif", 22),
            )
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(52)
            .build_cartesian_2d(low..high, 0..top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .x_labels(edges.len())
            .x_desc("°C")
            .y_desc("hours")
            .draw()?;
        let blue = RGBColor(0x00, 0x5f, 0xa3);
        let bars = edges.windows(2).zip(found).map(|(edge, &count)| {
            let mut bar = Rectangle::new([(edge[0], 0), (edge[1], count)], blue.filled());
            bar.set_margin(0, 0, 2, 2);
            bar
        });
        chart
            .draw_series(bars)?
            .label("decrypted")
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 16, y + 4)], blue.filled()));
        let orange = RGBColor(0xc6, 0x50, 0x00);
        let dots = edges.windows(2).zip(plain).map(|(edge, &count)| {
            Circle::new(((edge[0] + edge[1]) / 2, count), 5, orange.filled())
        });
        chart
            .draw_series(dots)?
            .label("plain readings")
            .legend(move |(x, y)| Circle::new((x + 8, y), 5, orange.filled()));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .border_style(BLACK.mix(0.2))
            .background_style(WHITE)
            .draw()?;
        sheet.present()?;
    }
    Ok(svg)
}
