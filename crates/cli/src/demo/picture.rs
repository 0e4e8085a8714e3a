//! The day as one picture: the readings as measured, and over them the answers of the encrypted
//! computation.
//!
//! Each colour has one meaning: grey is measured, blue is decrypted from a ciphertext, orange is a
//! threshold that was sent only encrypted. Every mark carries its own label; the key under the
//! heading tells the colours' meaning.

mod scale;

use std::ops::Range;

use plotters::style::RGBColor;

use crate::sheet::{
    DECRYPTED, Drawn, EXTREME, FIGURE, HEADING, LABEL, MEASURED, NAME, ROOMY, RULE, SHADE,
    SUBTITLE, Sheet, THRESHOLD, TICK, VALUE, pixels,
};
use scale::{apart, digits, drawable, hour, number, runs, span, ticks, values};

/// A column of readings, and the answers of the encrypted computation about it.
#[derive(Clone, Default)]
pub(crate) struct Panel {
    /// The measured quantity, such as "Temperature".
    pub(crate) title: String,
    /// The unit of the readings, such as "°C".
    pub(crate) unit: String,
    /// One reading an hour; one that is not finite leaves a gap.
    pub(crate) readings: Vec<f64>,
    /// The decrypted minimum.
    pub(crate) minimum: Option<f64>,
    /// The decrypted maximum.
    pub(crate) maximum: Option<f64>,
    /// The decrypted mean.
    pub(crate) mean: Option<f64>,
    /// The threshold that was sent encrypted.
    pub(crate) threshold: Option<f64>,
    /// A line under the title, such as "7 hours above the encrypted threshold".
    pub(crate) caption: String,
}

/// The content of the picture.
#[derive(Clone, Default)]
pub(crate) struct Picture {
    /// The heading.
    pub(crate) title: String,
    /// A line under the heading.
    pub(crate) subtitle: String,
    /// The time of each row, such as "1988-01-12T01:00".
    pub(crate) hours: Vec<String>,
    /// The columns, drawn two abreast.
    pub(crate) panels: Vec<Panel>,
    /// The rows, counted from 0, that are shaded in every panel.
    pub(crate) marked_hours: Vec<usize>,
    /// The meaning of the shading.
    pub(crate) marked_caption: String,
    /// Labels and values for the strip at the foot.
    pub(crate) figures: Vec<(String, String)>,
}

const WIDTH: i32 = 1200;
const MARGIN: i32 = 40;
/// The distance between one panel, or figure, and the next.
const GAPS: (i32, i32) = (36, 16);
const HEADER: i32 = 124;
const PANEL: i32 = 322;
const FIGURE_ROW: i32 = 66;
/// The room left of a plot for the axis, above it for the titles, and below it for the hours.
const INSET: (i32, i32, i32) = (58, 52, 46);
/// The length of a dash, and the distance from one to the next.
const DASHED: (i32, usize) = (6, 10);
const WHOLE: (i32, usize) = (WIDTH, WIDTH as usize);

/// Draws `picture` as an SVG document.
///
/// # Errors
///
/// If there is no panel, or no reading to draw; the error says which.
pub(crate) fn svg(picture: &Picture) -> Result<String, String> {
    let panels = &picture.panels;
    let longest = panels.iter().map(|panel| panel.readings.len()).max();
    let longest = longest.ok_or("the picture has no panels")?;
    let rows = longest.max(picture.hours.len());
    if rows == 0 {
        return Err("the picture has no readings".to_owned());
    }
    let abreast = panels.len().min(2);
    let panels_end = HEADER + PANEL * pixels(panels.len().div_ceil(2));
    let height = panels_end + 20 + FIGURE_ROW * pixels(picture.figures.len().div_ceil(6));
    let width = column(abreast, GAPS.0);
    // Right of the plots, for the labels of the lines that cross them.
    let labels = panels.iter().flat_map(across);
    let widest = labels.map(|(_, label, _)| LABEL.width(&label)).max();
    let gutter = 14 + widest.unwrap_or(0).clamp(40, 170);

    let mut document = String::new();
    let sheet = Sheet::new(&mut document, WIDTH, height)?;
    header(&sheet, picture)?;
    for (index, panel) in panels.iter().enumerate() {
        let left = MARGIN + pixels(index % abreast) * (width + GAPS.0);
        let top = HEADER + pixels(index / abreast) * PANEL;
        let frame = Frame {
            x: left + INSET.0..left + width - gutter,
            y: top + INSET.1..top + PANEL - INSET.2,
            rows,
            span: span(panel),
        };
        draw_panel(&sheet, &frame, panel, picture)?;
    }
    figures(&sheet, &picture.figures, panels_end + 10)?;
    sheet.finish()?;
    Ok(document)
}

fn header(sheet: &Sheet, picture: &Picture) -> Drawn {
    let room = WIDTH - 2 * MARGIN;
    sheet.text(&picture.title, (MARGIN, 36), HEADING, room)?;
    sheet.text(&picture.subtitle, (MARGIN, 64), SUBTITLE, room)?;

    let any = |has: fn(&Panel) -> Option<f64>| picture.panels.iter().any(|p| has(p).is_some());
    let results = any(|panel| panel.minimum.or(panel.maximum).or(panel.mean));
    let thresholds = any(|panel| panel.threshold);
    let marked = picture.marked_caption.as_str();
    let (y, mut x) = (95, MARGIN);
    for (shown, text, half, colour) in [
        (true, "as measured", 1, MEASURED),
        (results, "decrypted result", 2, DECRYPTED),
        (thresholds, "encrypted threshold", 1, THRESHOLD),
        (!marked.is_empty(), marked, 8, SHADE),
    ] {
        if shown {
            sheet.rect((x, y - half), (x + 26, y + half), colour)?;
            sheet.text(text, (x + 34, y), LABEL, WIDTH - MARGIN - x - 34)?;
            x += 34 + LABEL.width(text) + 24;
        }
    }
    sheet.dot((MARGIN + 13, y))
}

/// The place of a panel's plot, and the ranges of its axes.
struct Frame {
    x: Range<i32>,
    y: Range<i32>,
    rows: usize,
    span: Range<f64>,
}

impl Frame {
    /// Returns the horizontal place of a row; a whole number is the edge before that row.
    fn across(&self, row: f64) -> i32 {
        let width = f64::from(self.x.end - self.x.start);
        self.x.start + (row * width / self.rows as f64).round() as i32
    }

    fn middle(&self, row: usize) -> i32 {
        self.across(row as f64 + 0.5)
    }

    fn height(&self, value: f64) -> i32 {
        let share = (value - self.span.start) / (self.span.end - self.span.start);
        self.y.end - (share * f64::from(self.y.end - self.y.start)).round() as i32
    }
}

fn draw_panel(sheet: &Sheet, frame: &Frame, panel: &Panel, whole: &Picture) -> Drawn {
    let (left, right, top) = (frame.x.start, frame.x.end, frame.y.start);
    let (edge, room) = (left - INSET.0, right - left + INSET.0 + 60);
    let unit = panel.unit.trim();
    let title = match unit {
        "" => panel.title.clone(),
        unit => format!("{} ({unit})", panel.title),
    };
    sheet.text(&title, (edge, top - 40), NAME, room)?;
    let caption = LABEL.coloured(DECRYPTED);
    sheet.text(&panel.caption, (edge, top - 18), caption, room)?;

    for run in runs(frame.rows, |row| whole.marked_hours.contains(&row)) {
        let (from, to) = (frame.across(run.start as f64), frame.across(run.end as f64));
        sheet.rect((from, top), (to, frame.y.end), SHADE)?;
    }
    axes(sheet, frame, panel, whole)?;

    let lines = across(panel);
    let heights: Vec<i32> = lines.iter().map(|line| frame.height(line.0)).collect();
    for ((&y, at), (_, label, colour)) in heights.iter().zip(apart(&heights)).zip(lines) {
        let (dash, period) = if colour == THRESHOLD { WHOLE } else { DASHED };
        for x in (left..right).step_by(period) {
            sheet.rect((x, y - 1), (right.min(x + dash), y + 1), colour)?;
        }
        sheet.path(vec![(right, y), (right + 10, at)], colour, 1)?;
        let pen = LABEL.coloured(colour);
        sheet.text(&label, (right + 14, at), pen, ROOMY)?;
    }

    let readings = &panel.readings;
    for run in runs(readings.len(), |row| drawable(&readings[row])) {
        let point = |row: usize| (frame.middle(row), frame.height(readings[row]));
        run.clone().try_for_each(|row| sheet.dot(point(row)))?;
        sheet.path(run.map(point).collect(), MEASURED, 2)?;
    }
    for (value, name, away) in [(panel.maximum, "max", -1), (panel.minimum, "min", 1)] {
        if let Some(value) = value.filter(drawable) {
            let label = format!("{name} {} {unit}", number(value, digits(panel)));
            let name = (label.trim(), away, &heights[..]);
            extreme(sheet, frame, readings, value, name)?;
        }
    }
    Ok(())
}

fn axes(sheet: &Sheet, frame: &Frame, panel: &Panel, whole: &Picture) -> Drawn {
    let (left, right, y) = (frame.x.start, frame.x.end, frame.y.end);
    let (step, ticks) = ticks(&frame.span);
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    // The axis does not go below zero if nothing here is negative.
    let negative = values(panel).any(|value| value < 0.0);
    for tick in ticks.into_iter().filter(|tick| negative || *tick >= 0.0) {
        let y = frame.height(tick);
        sheet.rect((left, y), (right, y + 1), RULE)?;
        sheet.text(&number(tick, decimals), (left - 8, y), VALUE, ROOMY)?;
    }

    sheet.rect((left, y), (right, y + 1), MEASURED)?;
    let mut free = left;
    for row in 0..frame.rows {
        let (hour, x) = (hour(whole.hours.get(row), row), frame.middle(row));
        if x >= free && (row == 0 || frame.rows <= 8 || hour.is_multiple_of(6)) {
            sheet.rect((x, y), (x + 1, y + 6), MEASURED)?;
            sheet.text(&format!("{hour:02}"), (x, y + 15), TICK, ROOMY)?;
            free = x + 24;
        }
    }
    sheet.text("hour", (right + 28, y + 15), TICK, ROOMY)
}

/// Marks every row that reads `value`, and names it once: `away` from the
/// curve, -1 for up, and clear of the lines that cross the plot.
fn extreme(
    sheet: &Sheet,
    frame: &Frame,
    readings: &[f64],
    value: f64,
    (label, away, lines): (&str, i32, &[i32]),
) -> Drawn {
    // A result that is no reading is drawn at its own height, at the nearest reading.
    let off = |reading: &f64| (reading - value).abs();
    let least = readings.iter().map(off).fold(f64::INFINITY, f64::min);
    let marks = runs(readings.len(), |row| off(&readings[row]) <= least);
    let (left, right, y) = (frame.x.start, frame.x.end, frame.height(value));
    for mark in &marks {
        let (from, to) = (frame.middle(mark.start) - 9, frame.middle(mark.end - 1) + 9);
        sheet.rect((from.max(left), y - 2), (to.min(right), y + 2), DECRYPTED)?;
    }
    // The longest stretch is taken, and of several the first.
    if let Some(mark) = marks.iter().rev().max_by_key(|mark| mark.len()) {
        let middle = frame.across((mark.start + mark.end) as f64 / 2.0);
        let half = EXTREME.width(label) / 2;
        let mut at = y + away * 13;
        for _ in lines {
            let struck = lines.iter().find(|line| (*line - at).abs() < 10);
            at = struck.map_or(at, |line| line + away * 11);
        }
        let x = middle.max(left + half).min(right - half);
        sheet.text(label, (x, at), EXTREME, ROOMY)?;
    }
    Ok(())
}

fn figures(sheet: &Sheet, figures: &[(String, String)], top: i32) -> Drawn {
    let abreast = figures.len().clamp(1, 6);
    let width = column(abreast, GAPS.1);
    for (index, (label, value)) in figures.iter().enumerate() {
        let x = MARGIN + pixels(index % abreast) * (width + GAPS.1);
        let y = top + pixels(index / abreast) * FIGURE_ROW;
        sheet.rect((x, y), (x + width, y + 1), RULE)?;
        sheet.text(value, (x, y + 22), FIGURE, width)?;
        sheet.text(label, (x, y + 45), LABEL, width)?;
    }
    Ok(())
}

/// The lines that cross a panel: value, label and colour.
fn across(panel: &Panel) -> Vec<(f64, String, RGBColor)> {
    let (mean, digits) = (panel.mean, digits(panel));
    // A mean gets one decimal more than a reading.
    let finer = digits + usize::from(mean.is_some_and(|mean| mean.abs() < 10_000.0));
    let threshold = (panel.threshold, "threshold", digits, THRESHOLD);
    let lines = [threshold, (mean, "mean", finer, DECRYPTED)].into_iter();
    let line = |(value, name, digits, colour): (Option<f64>, _, _, _)| {
        let value = value.filter(drawable)?;
        Some((value, format!("{name} {}", number(value, digits)), colour))
    };
    lines.filter_map(line).collect()
}

/// Returns the width of each of some columns, between the margins.
fn column(abreast: usize, gap: i32) -> i32 {
    (WIDTH - 2 * MARGIN + gap) / pixels(abreast) - gap
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(rows: usize, panels: usize) -> Picture {
        let panel = Panel {
            title: "Light <&> \"dark\" \u{1}".to_owned(),
            unit: "lx".to_owned(),
            readings: (0..rows).map(|row| row as f64 * 2500.0 - 500.0).collect(),
            minimum: Some(-500.0),
            maximum: Some(57_000.0),
            mean: Some(28_250.25),
            threshold: Some(28_000.0),
            caption: "7 hours above".to_owned(),
        };
        Picture {
            hours: (1..=rows)
                .map(|hour| format!("1988-01-12T{:02}:00", hour % 24))
                .collect(),
            panels: vec![panel; panels],
            marked_hours: vec![3, 2, 2, 900],
            figures: vec![("bootstraps".to_owned(), "2,140".to_owned()); 7],
            ..Picture::default()
        }
    }

    /// Draws, and checks that the document is well-formed XML.
    fn drawn(picture: &Picture) -> String {
        let svg = svg(picture).unwrap();
        let closed = svg.matches("</").count() + svg.matches("/>").count();
        assert_eq!(svg.matches('<').count(), closed + svg.matches("</").count());
        assert_eq!(svg.matches('<').count(), svg.matches('>').count());
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains('\u{1}'));
        svg
    }

    #[test]
    fn says_what_was_computed_and_escapes_it() {
        let svg = drawn(&picture(24, 4));
        for text in [
            "Light &lt;&amp;&gt; &quot;dark&quot;",
            "min −500 lx",
            "max 57,000 lx",
        ] {
            assert_eq!(svg.matches(text).count(), 4, "{text}");
        }
        for text in [
            "mean 28,250",
            "threshold 28,000",
            "7 hours above",
            "\n24\n",
            "\n06\n",
        ] {
            assert_eq!(svg.matches(text).count(), 4, "{text}");
        }
        assert_eq!(svg.matches("2,140").count(), 7);
    }

    #[test]
    fn draws_whatever_it_is_given() {
        for (rows, panels) in [(1, 1), (2, 2), (24, 3), (48, 6)] {
            drawn(&picture(rows, panels));
        }
        for value in [0.0, -5.0, 1e14, 1e300, f64::NAN, f64::INFINITY, 1e-9] {
            let mut picture = picture(24, 1);
            picture.panels[0].readings = vec![value; 24];
            drawn(&picture);
            picture.panels[0].mean = Some(value);
            picture.panels[0].readings[3] = 1.0;
            drawn(&picture);
        }
        let bare = Panel {
            readings: vec![1.5; 3],
            ..Panel::default()
        };
        drawn(&Picture {
            panels: vec![bare],
            ..Picture::default()
        });
        assert!(svg(&picture(24, 0)).is_err() && svg(&picture(0, 2)).is_err());
    }
}
