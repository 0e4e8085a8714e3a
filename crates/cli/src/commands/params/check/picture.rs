//! The sheet of a check: variances, QQ plots, failure probabilities.

use plotters::style::RGBColor;
use tfhe_sbc_measure::check::StepReport;
use tfhe_sbc_oracle::statistics::Interval;

use super::Answer;
use crate::sheet::{
    DECRYPTED, Drawn, HEADING, LABEL, MEASURED, NAME, ROOMY, RULE, SHADE, SUBTITLE, Sheet,
    THRESHOLD, TICK, VALUE, pixels,
};

const WIDTH: i32 = 1160;
const MARGIN: i32 = 48;
const HEADER: i32 = 84;
/// The height of a row of the variances or of the probabilities.
const ROW: i32 = 40;
/// The place where names end and axes begin.
const NAMES: i32 = 250;
/// The place where the left half ends.
const LEFT: i32 = 600;
/// The height of a QQ plot, with its name and room.
const PLOT: i32 = 108;
const CELL: (i32, i32) = (130, 156);
const COLUMNS: usize = 4;
/// The range of a QQ plot.
const DEVIATIONS: f64 = 4.5;

/// A linear axis.
struct Axis {
    from: f64,
    to: f64,
    left: i32,
    right: i32,
}

impl Axis {
    fn at(&self, value: f64) -> i32 {
        let share = (value - self.from) / (self.to - self.from);
        self.left + (share.clamp(0.0, 1.0) * f64::from(self.right - self.left)) as i32
    }

    /// Draws, every `step`, a line down through `rows` and its number below.
    fn draw(&self, sheet: &Sheet<'_>, top: i32, rows: usize, step: f64) -> Drawn {
        let floor = top + ROW * pixels(rows);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step).floor() as i64;
        for value in (first..=last).map(|i| i as f64 * step) {
            let x = self.at(value);
            sheet.path(vec![(x, top), (x, floor)], RULE, 1)?;
            let number = format!("{:.*}", usize::from(step < 1.0), value);
            sheet.text(&number, (x, floor + 16), TICK, ROOMY)?;
        }
        Ok(())
    }
}

fn colour(ok: bool) -> RGBColor {
    if ok { DECRYPTED } else { THRESHOLD }
}

/// Draws the check as an SVG document.
pub(super) fn svg(answer: &Answer<'_>) -> Result<String, String> {
    let steps = &answer.report.steps;
    let chances = chances(answer);
    let middle = HEADER + 40 + (ROW * pixels(steps.len())).max(2 * CELL.1) + 70;
    let height = middle + ROW * pixels(chances.len()) + 70;
    let mut document = String::new();
    let sheet = Sheet::new(&mut document, WIDTH, height)?;
    let room = WIDTH - 2 * MARGIN;
    let heading = format!("Noise of {}", answer.arguments.real().name());
    sheet.text(&heading, (MARGIN, 34), HEADING, room)?;
    let passes = match answer.passes() {
        true => "as predicted",
        false => "not as predicted",
    };
    let subtitle = format!(
        "{} key sets, seed {}, predictions for {}: {passes}",
        answer.report.keys,
        answer.arguments.seed,
        answer.arguments.claimed().name()
    );
    sheet.text(&subtitle, (MARGIN, 60), SUBTITLE, room)?;
    variances(&sheet, steps)?;
    qq_plots(&sheet, steps)?;
    failures(&sheet, middle, &chances)?;
    sheet.finish()?;
    Ok(document)
}

fn variances(sheet: &Sheet<'_>, steps: &[StepReport]) -> Drawn {
    let title = "Measured by predicted variance, 99% intervals";
    sheet.text(title, (MARGIN, HEADER + 12), NAME, LEFT - MARGIN)?;
    let intervals = steps.iter().map(StepReport::ratio_interval);
    let (low, high) = intervals.fold((0.4, 1.25), |(low, high): (f64, f64), i| {
        (low.min(i.low), high.max(i.high))
    });
    let axis = Axis {
        from: low.max(0.0),
        to: high.min(3.0),
        left: NAMES - 60,
        right: LEFT - 20,
    };
    let top = HEADER + 40;
    let floor = top + ROW * pixels(steps.len());
    // The window that passes an exact prediction half of the time.
    sheet.rect((axis.at(0.5), top), (axis.at(1.0), floor), SHADE)?;
    axis.draw(
        sheet,
        top,
        steps.len(),
        if axis.to > 2.0 { 0.5 } else { 0.1 },
    )?;
    let one = axis.at(1.0);
    sheet.path(vec![(one, top), (one, floor)], MEASURED, 2)?;
    for (i, step) in steps.iter().enumerate() {
        let y = top + ROW * pixels(i) + ROW / 2;
        sheet.text(step.step.name(), (MARGIN, y), LABEL, NAMES - MARGIN)?;
        interval(
            sheet,
            &axis,
            y,
            step.ratio(),
            Some(step.ratio_interval()),
            step.verdict.passes(),
        )?;
    }
    sheet.text(
        "shaded: the window [1/2, 1]",
        (LEFT - 20, floor + 36),
        VALUE,
        ROOMY,
    )
}

/// A value with its interval.
fn interval(
    sheet: &Sheet<'_>,
    axis: &Axis,
    y: i32,
    value: f64,
    ends: Option<Interval>,
    ok: bool,
) -> Drawn {
    if let Some(Interval { low, high }) = ends {
        let (low, high) = (axis.at(low), axis.at(high));
        sheet.path(vec![(low, y), (high, y)], colour(ok), 2)?;
        for x in [low, high] {
            sheet.path(vec![(x, y - 5), (x, y + 5)], colour(ok), 2)?;
        }
    }
    let x = axis.at(value);
    sheet.rect((x - 4, y - 4), (x + 4, y + 4), colour(ok))
}

fn qq_plots(sheet: &Sheet<'_>, steps: &[StepReport]) -> Drawn {
    let title = "Quantiles, in predicted deviations, by normal ones";
    sheet.text(title, (LEFT + 30, HEADER + 12), NAME, WIDTH - LEFT - 40)?;
    for (i, step) in steps.iter().enumerate() {
        let left = LEFT + 30 + CELL.0 * pixels(i % COLUMNS);
        let top = HEADER + 62 + CELL.1 * pixels(i / COLUMNS);
        let at = |deviations: f64| (deviations / DEVIATIONS * f64::from(PLOT / 2)) as i32;
        let place = |[score, value]: [f64; 2]| {
            let value = value.clamp(-DEVIATIONS, DEVIATIONS);
            (left + PLOT / 2 + at(score), top + PLOT / 2 - at(value))
        };
        sheet.text(step.step.name(), (left, top - 12), LABEL, CELL.0)?;
        let (right, floor) = (left + PLOT, top + PLOT);
        let frame = vec![
            (left, top),
            (right, top),
            (right, floor),
            (left, floor),
            (left, top),
        ];
        sheet.path(frame, RULE, 1)?;
        sheet.path(vec![(left, floor), (right, top)], MEASURED, 1)?;
        for &point in step
            .quantiles
            .iter()
            .filter(|[score, _]| score.abs() < DEVIATIONS)
        {
            let (x, y) = place(point);
            sheet.rect(
                (x - 1, y - 1),
                (x + 1, y + 1),
                colour(step.verdict.passes()),
            )?;
        }
    }
    Ok(())
}

/// A failure probability: its source, its log2, its interval, and whether it fits.
type Chance = (&'static str, f64, Option<Interval>, bool);

fn chances(answer: &Answer<'_>) -> Vec<Chance> {
    let found = &answer.report.failure;
    let ok = found.verdict.passes();
    let mut chances = vec![
        ("erfc formula, average over keys", found.formula, None, true),
        ("convolution, these keys", found.convolution, None, true),
        (
            "convolution, measured variances",
            found.convolution_of_measured,
            None,
            true,
        ),
        (
            "splitting, measured noise",
            found.splitting,
            Some(found.interval),
            ok,
        ),
    ];
    if let Some(direct) = &answer.direct {
        let mapped = direct.mapped_log2_p;
        let middle = 0.5 * (mapped.low + mapped.high);
        chances.push((
            "counted, mapped back",
            middle,
            Some(mapped),
            direct.consistent,
        ));
    }
    chances
}

fn failures(sheet: &Sheet<'_>, top: i32, chances: &[Chance]) -> Drawn {
    let title = "log2 of the failure probability of a look-up, 99% intervals";
    sheet.text(title, (MARGIN, top - 18), NAME, WIDTH - 2 * MARGIN)?;
    let ends = chances.iter().map(|&(_, value, interval, _)| {
        interval.map_or((value, value), |i| (i.low.min(value), i.high.max(value)))
    });
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| {
        (low.min(end.0), high.max(end.1))
    });
    let step = match high - low {
        ..6.0 => 1.0,
        ..15.0 => 2.0,
        ..30.0 => 5.0,
        ..100.0 => 20.0,
        _ => 50.0,
    };
    let axis = Axis {
        from: low - 0.5 * step,
        to: high + 0.5 * step,
        left: NAMES + 70,
        right: WIDTH - MARGIN - 60,
    };
    axis.draw(sheet, top, chances.len(), step)?;
    for (i, &(name, value, ends, ok)) in chances.iter().enumerate() {
        let y = top + ROW * pixels(i) + ROW / 2;
        sheet.text(name, (MARGIN, y), LABEL, NAMES + 60 - MARGIN)?;
        interval(sheet, &axis, y, value, ends, ok)?;
        let right = ends.map_or(value, |ends| ends.high.max(value));
        let number = format!("{value:.1}");
        sheet.text(&number, (axis.at(right) + 10, y), LABEL, ROOMY)?;
    }
    Ok(())
}
