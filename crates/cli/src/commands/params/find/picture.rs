//! The choice as a picture: time against the size of the server key, with a line for each failure
//! probability.

use plotters::style::RGBColor;
use tfhe_sbc_core::parameters::PlaintextKind;
use tfhe_sbc_oracle::search::Candidate;

use crate::commands::params::find::answer::{Answer, size};
use crate::sheet::{
    DECRYPTED, HEADING, LABEL, MEASURED, ROOMY, RULE, SUBTITLE, Sheet, THRESHOLD, TICK, VALUE,
};

const WIDTH: i32 = 960;
const HEIGHT: i32 = 560;
const LEFT: i32 = 110;
const RIGHT: i32 = 840;
const TOP: i32 = 100;
const BOTTOM: i32 = 480;

/// Colours of other failure probabilities, the most frequent first.
const OTHERS: [RGBColor; 5] = [
    RGBColor(0xc3, 0xcb, 0xd3),
    RGBColor(0xa8, 0xb3, 0xbd),
    RGBColor(0x8d, 0x9a, 0xa6),
    RGBColor(0x72, 0x80, 0x8e),
    RGBColor(0x57, 0x66, 0x75),
];

/// A line: the failure probability's log2, and points of key size and time.
struct Line {
    log2_p_fail: f64,
    points: Vec<(f64, f64)>,
}

impl Line {
    fn new(log2_p_fail: f64, front: &[Candidate]) -> Self {
        let mut all: Vec<(f64, f64)> = front
            .iter()
            .map(|candidate| (candidate.price.key_bytes, candidate.price.single))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut least = f64::INFINITY;
        all.retain(|&(_, time)| {
            let better = time < least;
            least = least.min(time);
            better
        });
        Self {
            log2_p_fail,
            points: all,
        }
    }
}

/// A logarithmic axis between two pixels.
struct Axis {
    from: (f64, i32),
    to: (f64, i32),
}

impl Axis {
    fn over(values: impl Iterator<Item = f64> + Clone, from: i32, to: i32) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(0.0, f64::max);
        Self {
            from: (least / 1.08, from),
            to: (most * 1.08, to),
        }
    }

    fn at(&self, value: f64) -> i32 {
        let share = (value / self.from.0).ln() / (self.to.0 / self.from.0).ln();
        self.from.1 + (share * f64::from(self.to.1 - self.from.1)).round() as i32
    }

    /// Returns about five round multiples of the unit.
    fn ticks(&self, unit: f64) -> Vec<f64> {
        let (low, high) = (self.from.0 / unit, self.to.0 / unit);
        let rough = (high - low) / 5.0;
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * decade);
        let step = step
            .into_iter()
            .find(|&step| step >= rough)
            .unwrap_or(rough);
        let (first, last) = ((low / step).ceil() as u64, (high / step).floor() as u64);
        (first..=last)
            .map(|multiple| multiple as f64 * step * unit)
            .collect()
    }
}

/// Draws the answer as an SVG document.
///
/// # Errors
/// If the drawing library fails.
pub(super) fn svg(answer: &Answer<'_>) -> Result<String, String> {
    let answered = answer.answered;
    let mut lines: Vec<Line> = answered
        .others
        .iter()
        .map(|(log2_p_fail, found)| Line::new(*log2_p_fail, &found.front))
        .collect();
    lines.sort_by(|a, b| b.log2_p_fail.total_cmp(&a.log2_p_fail));
    let asked = Line::new(answered.request.log2_p_fail, &answered.found.front);
    let points = || {
        let all = lines.iter().chain([&asked]);
        all.flat_map(|line| line.points.iter().copied())
            .collect::<Vec<_>>()
    };
    let across = Axis::over(points().iter().map(|point| point.0), LEFT, RIGHT);
    let up = Axis::over(points().iter().map(|point| point.1), BOTTOM, TOP);
    let mut document = String::new();
    let sheet = Sheet::new(&mut document, WIDTH, HEIGHT)?;
    let best = &answered.found.best;
    let heading = "What a bootstrap takes, and what its key weighs";
    sheet.text(heading, (48, 36), HEADING, WIDTH - 96)?;
    let request = &answered.request;
    let plaintexts = match request.plaintext {
        PlaintextKind::Boolean => "booleans".to_owned(),
        PlaintextKind::Radix => format!("{} + {} bits", request.message_bits, request.carry_bits),
    };
    let subtitle = format!(
        "{plaintexts}, 2-norm {}, {} bits of security; one bootstrap by itself, {}",
        request.noise_level,
        request.lambda,
        answer.source.describe(answer.model)
    );
    sheet.text(&subtitle, (48, 66), SUBTITLE, WIDTH - 96)?;
    for value in across.ticks(1024.0 * 1024.0) {
        let x = across.at(value);
        sheet.path(vec![(x, TOP), (x, BOTTOM)], RULE, 1)?;
        sheet.text(&size(value), (x, BOTTOM + 16), TICK, ROOMY)?;
    }
    let unit = if best.scheme.key_rounding.mask.0 > 0.0 || best.set.is_some() {
        1e-3
    } else {
        1.0
    };
    for value in up.ticks(unit) {
        let y = up.at(value);
        sheet.path(vec![(LEFT, y), (RIGHT, y)], RULE, 1)?;
        sheet.text(&answer.cost(value), (LEFT - 10, y), VALUE, ROOMY)?;
    }
    sheet.text(
        "server key as it travels",
        ((LEFT + RIGHT) / 2, BOTTOM + 42),
        TICK,
        ROOMY,
    )?;
    let palette = OTHERS.iter().cycle();
    let coloured = lines
        .iter()
        .zip(palette.copied())
        .map(|(line, colour)| (line, colour, 2));
    for (line, colour, width) in coloured.chain([(&asked, DECRYPTED, 3)]) {
        let drawn: Vec<(i32, i32)> = line
            .points
            .iter()
            .map(|&(key, time)| (across.at(key), up.at(time)))
            .collect();
        sheet.path(drawn.clone(), colour, width)?;
        for &(x, y) in &drawn {
            sheet.rect((x - 2, y - 2), (x + 2, y + 2), colour)?;
        }
        // Lines meet where keys are large and times short, and part where keys are small.
        if let Some(&(x, y)) = drawn.first() {
            let colour = if width == 3 { DECRYPTED } else { MEASURED };
            let label = format!("2^{:.0}", line.log2_p_fail);
            sheet.text(&label, (x, y - 14), TICK.coloured(colour), ROOMY)?;
        }
    }
    let (x, y) = (across.at(best.price.key_bytes), up.at(best.price.single));
    sheet.rect((x - 5, y - 5), (x + 5, y + 5), THRESHOLD)?;
    let chosen = format!(
        "chosen: {}, {}, fails with 2^{:.1}",
        answer.cost(best.price.single),
        size(best.price.key_bytes),
        best.worst_log2_p_fail()
    );
    let key = (RIGHT - 300, TOP - 16);
    sheet.rect((key.0 - 18, key.1 - 5), (key.0 - 8, key.1 + 5), THRESHOLD)?;
    sheet.text(&chosen, key, LABEL.coloured(THRESHOLD), ROOMY)?;
    sheet.finish()?;
    Ok(document)
}
