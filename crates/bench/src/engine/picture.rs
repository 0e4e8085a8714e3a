//! The picture of the batches: for every set the time of a bootstrap by the size of its batch, and
//! below it the shares of the machine's limits.

use std::collections::BTreeSet;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::engine::sweep::Batch;

const SIZE: (u32, u32) = (1100, 780);
const HEADING: u32 = 44;
const FONT: &str = "sans-serif";

/// Lines of one thread, two and so on.
const COLOURS: [RGBColor; 4] = [
    RGBColor(0x00, 0x5f, 0xa3),
    RGBColor(0xc6, 0x50, 0x00),
    RGBColor(0x3a, 0x7d, 0x34),
    RGBColor(0x7b, 0x3f, 0x98),
];

type Paper<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A line of a chart: its name, its colour and thickness, and a value for each size of batch.
struct Line {
    name: String,
    style: ShapeStyle,
    values: Vec<f64>,
}

/// Draws an SVG document. `subtitle` says whose figures they are.
///
/// # Errors
/// Says what could not be drawn.
pub(super) fn svg(subtitle: &str, batches: &[Batch]) -> Result<String, String> {
    let mut document = String::new();
    {
        let paper = SVGBackend::with_string(&mut document, SIZE).into_drawing_area();
        draw(&paper, subtitle, batches).map_err(|error| error.to_string())?;
        paper.present().map_err(|error| error.to_string())?;
    }
    Ok(document)
}

fn draw(
    paper: &Paper<'_>,
    subtitle: &str,
    batches: &[Batch],
) -> Result<(), Box<dyn std::error::Error>> {
    paper.fill(&WHITE)?;
    let (heading, charts) = paper.split_vertically(HEADING);
    heading.draw_text(subtitle, &(FONT, 16).into_text_style(&heading), (20, 16))?;
    let mut sets: Vec<&str> = batches.iter().map(|batch| batch.set.as_str()).collect();
    sets.dedup();
    let areas = charts.split_evenly((2, sets.len().max(1)));
    for (column, set) in sets.iter().enumerate() {
        let of_set: Vec<&Batch> = batches.iter().filter(|batch| batch.set == *set).collect();
        let times = lines(&of_set, &[("", 3, |batch| batch.bootstrap * 1e3)]);
        let shares: [Kind; 2] = [
            ("memory bandwidth, ", 1, |batch| {
                100.0 * batch.bandwidth_share
            }),
            ("arithmetic, ", 3, |batch| 100.0 * batch.arithmetic_share),
        ];
        let shares = lines(&of_set, &shares);
        let sizes: BTreeSet<usize> = of_set.iter().map(|batch| batch.batch).collect();
        let sizes: Vec<usize> = sizes.into_iter().collect();
        let title = format!("{set}: ms per bootstrap");
        chart(&areas[column], &title, &sizes, &times)?;
        let title = format!("{set}: % of the machine's limits, blind rotation");
        chart(&areas[sets.len() + column], &title, &sizes, &shares)?;
    }
    Ok(())
}

/// A name before the number of threads, a thickness, and what is drawn.
type Kind = (&'static str, u32, fn(&Batch) -> f64);

/// A line of each kind for each number of threads.
fn lines(batches: &[&Batch], kinds: &[Kind]) -> Vec<Line> {
    let threads: BTreeSet<usize> = batches.iter().map(|batch| batch.threads).collect();
    let mut lines = Vec::new();
    for &(name, thickness, value) in kinds {
        for (&threads, colour) in threads.iter().zip(COLOURS.iter().cycle()) {
            let of_threads = batches.iter().filter(|batch| batch.threads == threads);
            let plural = if threads == 1 { "" } else { "s" };
            lines.push(Line {
                name: format!("{name}{threads} thread{plural}"),
                style: colour.stroke_width(thickness),
                values: of_threads.map(|batch| value(batch)).collect(),
            });
        }
    }
    lines
}

/// Draws a chart whose horizontal axis has the `sizes` of batches.
fn chart(
    area: &Paper<'_>,
    title: &str,
    sizes: &[usize],
    lines: &[Line],
) -> Result<(), Box<dyn std::error::Error>> {
    let values = lines.iter().flat_map(|line| line.values.iter().copied());
    // Room above for the names of the lines.
    let top = 1.45 * values.fold(f64::MIN_POSITIVE, f64::max);
    let last = sizes.len().saturating_sub(1) as f64;
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, 17))
        .margin(14)
        .x_label_area_size(40)
        .y_label_area_size(46)
        .build_cartesian_2d(-0.2..last + 0.2, 0.0..top)?;
    let batch = |x: &f64| match x.fract() == 0.0 {
        true => sizes
            .get(*x as usize)
            .map_or(String::new(), usize::to_string),
        false => String::new(),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_labels(sizes.len() + 1)
        .x_label_formatter(&batch)
        .y_label_formatter(&|y| format!("{}", (y * 10.0).round() / 10.0))
        .x_desc("bootstraps of a batch")
        .label_style((FONT, 13))
        .draw()?;
    for line in lines {
        let style = line.style;
        let points = (0..).map(f64::from).zip(line.values.iter().copied());
        let dots = points.clone().map(|at| Circle::new(at, 3, style.filled()));
        chart.draw_series(dots)?;
        chart
            .draw_series([PathElement::new(points.collect::<Vec<_>>(), style)])?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font((FONT, 13))
        .background_style(WHITE)
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_has_its_charts_and_every_number_of_threads_its_lines() {
        let batch = |set: &str, threads, batch| Batch {
            set: set.to_owned(),
            threads,
            batch,
            bootstrap: 0.003,
            ..Batch::default()
        };
        let mut batches = Vec::new();
        for set in ["one_set", "another_set"] {
            for threads in [1, 2] {
                batches.extend([1, 2, 4].map(|size| batch(set, threads, size)));
            }
        }
        let picture = svg("a <processor>", &batches).unwrap();
        assert_eq!(picture.matches("one_set").count(), 2);
        assert_eq!(picture.matches("another_set").count(), 2);
        // Once for the times, once for either share.
        assert_eq!(picture.matches("2 threads").count(), 2 * 3);
        assert!(picture.contains("a &lt;processor&gt;"));
        assert!(!picture.contains("NaN") && !picture.contains("inf"));
        assert!(svg("nothing", &[]).is_ok());
    }
}
