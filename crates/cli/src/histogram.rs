//! Histograms as text and as a picture.

use tfhe_sbc_query::results::{Answer, AnswerValue, Bin};

use crate::report;
use crate::sheet::{DECRYPTED, HEADING, LABEL, ROOMY, RULE, SUBTITLE, Sheet, TICK, VALUE, pixels};

/// The length of the longest bar of a text, in letters.
const BAR: u64 = 32;

/// Returns a line with a bar for each bin.
pub(crate) fn text(bins: &[Bin], outside: u64, unit: &str) -> String {
    let names: Vec<String> = bins.iter().map(|bin| name(bin, unit)).collect();
    let width = names.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or(0);
    let most = most(bins);
    let mut lines: Vec<String> = names
        .iter()
        .zip(bins)
        .map(|(name, bin)| {
            let count = report::count(bin.count);
            // The unit is an eighth of a letter's width.
            let eighths = (u128::from(bin.count) * u128::from(BAR * 8) / u128::from(most)) as u64;
            let whole = "█".repeat((eighths / 8) as usize);
            let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][(eighths % 8) as usize];
            let line = format!("{name:width$}  {count:>6} {whole}{part}");
            line.trim_end().to_owned()
        })
        .collect();
    if outside > 0 {
        let (name, count) = ("in no bin", report::count(outside));
        lines.push(format!("{name:width$}  {count:>6}"));
    }
    lines.join("\n")
}

fn most(bins: &[Bin]) -> u64 {
    bins.iter().map(|bin| bin.count).max().unwrap_or(0).max(1)
}

fn name(bin: &Bin, unit: &str) -> String {
    let ends = format!("[{}, {})", report::number(bin.from), report::number(bin.to));
    match unit {
        "" => ends,
        unit => format!("{ends} {}", report::plain(unit)),
    }
}

const WIDTH: i32 = 960;
const MARGIN: i32 = 48;
const HEADER: i32 = 76;
const PLOT: i32 = 260;
const FOOTER: i32 = 64;

/// Draws the histograms among the answers, one below the other, as an SVG document.
///
/// # Errors
/// If there is no histogram.
pub(crate) fn svg(answers: &[Answer]) -> Result<String, String> {
    let histograms = answers.iter().filter_map(|answer| match &answer.value {
        AnswerValue::Histogram {
            bins,
            outside,
            unit,
        } if !bins.is_empty() => Some((&answer.name, bins.as_slice(), *outside, unit.as_str())),
        _ => None,
    });
    let histograms: Vec<_> = histograms.collect();
    if histograms.is_empty() {
        return Err("there is no histogram among the answers".to_owned());
    }
    let each = HEADER + PLOT + FOOTER;
    let mut document = String::new();
    let sheet = Sheet::new(&mut document, WIDTH, each * pixels(histograms.len()))?;
    for (i, (name, bins, outside, unit)) in histograms.into_iter().enumerate() {
        let top = pixels(i) * each;
        let room = WIDTH - 2 * MARGIN;
        sheet.text(name, (MARGIN, top + 34), HEADING, room)?;
        let counted: u64 = bins.iter().map(|bin| bin.count).sum();
        let of = match outside {
            0 => format!("{} rows, counted on ciphertexts", report::count(counted)),
            _ => format!(
                "{} rows, counted on ciphertexts; {} in no bin",
                report::count(counted + outside),
                report::count(outside)
            ),
        };
        sheet.text(&of, (MARGIN, top + 60), SUBTITLE, room)?;
        bars(&sheet, top + HEADER, bins, unit)?;
    }
    sheet.finish()?;
    Ok(document)
}

fn bars(sheet: &Sheet<'_>, top: i32, bins: &[Bin], unit: &str) -> Result<(), String> {
    let (floor, room) = (top + PLOT, WIDTH - 2 * MARGIN);
    let across = |i: usize| MARGIN + (i as f64 / bins.len() as f64 * f64::from(room)) as i32;
    let most = most(bins);
    // There are as many numbers as there is room for.
    let widest = bins.iter().map(|bin| TICK.width(&report::number(bin.from)));
    let widest = widest.max().unwrap_or(0) + 12;
    let apart = (widest * pixels(bins.len()) / room + 1).max(1) as usize;
    sheet.path(vec![(MARGIN, floor), (MARGIN + room, floor)], RULE, 1)?;
    for (i, bin) in bins.iter().enumerate() {
        let (left, right) = (across(i), across(i + 1));
        let height = (bin.count as f64 / most as f64 * f64::from(PLOT - 30)) as i32;
        if bin.count > 0 {
            let gap = i32::from(right - left > 6);
            let corner = (left + gap, floor - height.max(1));
            sheet.rect(corner, ((right - gap).max(left + 1), floor), DECRYPTED)?;
        }
        if i % apart == 0 {
            let count = report::count(bin.count);
            let middle = (left + right) / 2;
            sheet.text(&count, (middle, floor - height - 12), TICK, ROOMY)?;
            sheet.text(&report::number(bin.from), (left, floor + 16), TICK, ROOMY)?;
        }
    }
    if let Some(last) = bins.last() {
        let at = (MARGIN + room, floor + 16);
        sheet.text(&report::number(last.to), at, TICK, ROOMY)?;
    }
    sheet.text(unit, (MARGIN + room, floor + 38), VALUE, ROOMY)?;
    sheet.text("rows", (MARGIN, top + 4), LABEL, ROOMY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins() -> Vec<Bin> {
        let bin = |from, to, count| Bin { from, to, count };
        vec![bin(-10.0, 0.0, 3), bin(0.0, 2.5, 0), bin(2.5, 20.0, 12)]
    }

    #[test]
    fn bars_are_as_long_as_their_counts() {
        let text = text(&bins(), 7, "°C");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("[-10, 0) °C        3 {}", "█".repeat(8)));
        assert_eq!(lines[1], "[0, 2.5) °C        0");
        assert_eq!(lines[2], format!("[2.5, 20) °C      12 {}", "█".repeat(32)));
        assert_eq!(lines[3], "in no bin          7");
    }

    #[test]
    fn a_picture_has_a_bar_for_each_bin_with_rows() {
        let value = AnswerValue::Histogram {
            bins: bins(),
            outside: 0,
            unit: "°C".to_owned(),
        };
        let name = "histogram(a, -10, 0, 2.5, 20)".to_owned();
        let svg = svg(&[Answer {
            name,
            group: None,
            value,
            missing: None,
        }])
        .unwrap();
        assert!(svg.starts_with("<svg"));
        // The paper and two bars.
        assert_eq!(svg.matches("<rect").count(), 3, "{svg}");
        assert!(svg.contains("2.5") && svg.contains("°C"));
        assert!(super::svg(&[]).is_err());
    }
}
