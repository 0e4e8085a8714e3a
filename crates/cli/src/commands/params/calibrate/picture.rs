//! Predictions against measurements, both on logarithmic scales.

use tfhe_sbc_measure::calibrate::{Calibration, Comparison};

use crate::sheet::{
    DECRYPTED, HEADING, LABEL, MEASURED, RULE, SHADE, SUBTITLE, Sheet, THRESHOLD, TICK,
};

const WIDTH: i32 = 720;
const HEIGHT: i32 = 760;
const LEFT: i32 = 80;
const TOP: i32 = 100;
/// The width and height of the plot.
const SIDE: i32 = 580;

/// Times from `least` to `most` seconds along each side.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    fn of(times: impl Iterator<Item = f64> + Clone) -> Self {
        let least = times.clone().fold(f64::INFINITY, f64::min);
        let most = times.fold(0.0, f64::max);
        match least < most {
            true => Self {
                least: least / 1.3,
                most: most * 1.3,
            },
            false => Self {
                least: 1e-3,
                most: 1e-1,
            },
        }
    }

    fn along(&self, seconds: f64) -> i32 {
        let share = (seconds / self.least).ln() / (self.most / self.least).ln();
        (share.clamp(0.0, 1.0) * f64::from(SIDE)).round() as i32
    }

    fn at(&self, measured: f64, predicted: f64) -> (i32, i32) {
        (
            LEFT + self.along(measured),
            TOP + SIDE - self.along(predicted),
        )
    }

    /// Returns 1, 2 and 5 times powers of ten.
    fn ticks(&self) -> Vec<f64> {
        (-7..3)
            .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)))
            .filter(|tick| (self.least..self.most).contains(tick))
            .collect()
    }
}

pub(super) fn draw(found: &Calibration, tolerance: f64) -> Result<String, String> {
    let mut document = String::new();
    let sheet = Sheet::new(&mut document, WIDTH, HEIGHT)?;
    let room = WIDTH - 2 * 24;
    sheet.text(
        "Bootstraps, predicted and measured",
        (24, 34),
        HEADING,
        room,
    )?;
    let machine = &found.model.machine;
    let subtitle = format!(
        "seconds a bootstrap of a batch; {}, {}; band: {:.0} %",
        machine.processor,
        machine.instruction_set,
        100.0 * tolerance
    );
    sheet.text(&subtitle, (24, 62), SUBTITLE, room)?;

    let all = found.fitted.iter().chain(&found.held_out);
    let scale = Scale::of(all.flat_map(|one| [one.measured, one.predicted]));
    // The band: parallel to the diagonal on these scales.
    let (least, most) = (scale.least, scale.most);
    let steps = 200;
    for step in 0..=steps {
        let time = least * (most / least).powf(f64::from(step) / f64::from(steps));
        let (x, high) = scale.at(time, time * (1.0 + tolerance));
        let (_, low) = scale.at(time, time * (1.0 - tolerance));
        sheet.rect((x - 1, high), (x + 2, low), SHADE)?;
    }
    for tick in scale.ticks() {
        let (x, y) = scale.at(tick, tick);
        sheet.path(vec![(x, TOP), (x, TOP + SIDE)], RULE, 1)?;
        sheet.path(vec![(LEFT, y), (LEFT + SIDE, y)], RULE, 1)?;
        let label = label(tick);
        sheet.text(&label, (x, TOP + SIDE + 16), TICK, 60)?;
        sheet.text(&label, (LEFT - 30, y), TICK, 60)?;
    }
    sheet.path(vec![(LEFT, TOP + SIDE), (LEFT + SIDE, TOP)], MEASURED, 1)?;
    let mark = |one: &Comparison, held_out: bool| {
        let (x, y) = scale.at(one.measured, one.predicted);
        match held_out {
            false => sheet.dot((x, y)),
            true => {
                let colour = match one.error().abs() <= tolerance {
                    true => DECRYPTED,
                    false => THRESHOLD,
                };
                sheet.rect((x - 3, y - 3), (x + 3, y + 3), colour)
            }
        }
    };
    found.fitted.iter().try_for_each(|one| mark(one, false))?;
    found.held_out.iter().try_for_each(|one| mark(one, true))?;
    sheet.text("measured", (LEFT + SIDE - 60, TOP + SIDE + 40), LABEL, 200)?;
    sheet.text("predicted", (24, TOP - 14), LABEL, 200)?;
    let legend = TOP + SIDE + 56;
    sheet.dot((LEFT + 4, legend))?;
    sheet.text("fitted", (LEFT + 14, legend), LABEL, 100)?;
    sheet.rect((LEFT + 80, legend - 3), (LEFT + 86, legend + 3), DECRYPTED)?;
    sheet.text("held out", (LEFT + 94, legend), LABEL, 100)?;
    sheet.rect(
        (LEFT + 176, legend - 3),
        (LEFT + 182, legend + 3),
        THRESHOLD,
    )?;
    sheet.text("held out, past the band", (LEFT + 190, legend), LABEL, 200)?;
    sheet.finish()?;
    Ok(document)
}

fn label(seconds: f64) -> String {
    match seconds < 1e-3 {
        true => format!("{:.0} µs", seconds * 1e6),
        false => format!("{:.0} ms", seconds * 1e3),
    }
}
