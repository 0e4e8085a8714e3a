//! The places of numbers on the picture, and their spelling.

use std::ops::Range;

use super::Panel;

/// Returns whether a number can be put on an axis.
pub(super) fn drawable(value: &f64) -> bool {
    value.abs() < 1e15
}

/// Returns all values that a panel draws.
pub(super) fn values(panel: &Panel) -> impl Iterator<Item = f64> {
    let results = [panel.minimum, panel.maximum, panel.mean, panel.threshold];
    let readings = panel.readings.iter().copied();
    readings
        .chain(results.into_iter().flatten())
        .filter(drawable)
}

/// Returns the range of the vertical axis: every value, and room for the labels.
pub(super) fn span(panel: &Panel) -> Range<f64> {
    let low = values(panel).reduce(f64::min).unwrap_or(0.0);
    let high = values(panel).reduce(f64::max).unwrap_or(0.0);
    let flat = high - low <= high.abs() * 1e-9;
    let room = if flat {
        (high.abs() * 0.05).max(1.0)
    } else {
        (high - low) * 0.24
    };
    low - room..high + room
}

/// Returns the distance of the round numbers along the axis, and the numbers.
pub(super) fn ticks(span: &Range<f64>) -> (f64, Vec<f64>) {
    let rough = (span.end - span.start) / 7.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].map(|round| round * power);
    let step = step
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(10.0 * power);
    let first = (span.start / step).ceil();
    let ticks = (0..8).map(|count| (first + f64::from(count)) * step);
    (step, ticks.filter(|tick| *tick <= span.end).collect())
}

/// Moves the labels of two lines apart until neither covers the other.
pub(super) fn apart(heights: &[i32]) -> Vec<i32> {
    let mut heights = heights.to_vec();
    if let [one, other] = &mut heights[..] {
        let (upper, lower) = if one <= other {
            (one, other)
        } else {
            (other, one)
        };
        let short = (16 - (*lower - *upper)).max(0);
        *upper -= short / 2;
        *lower += short - short / 2;
    }
    heights
}

/// Returns the stretches of consecutive rows that are picked.
pub(super) fn runs(rows: usize, picked: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for row in (0..rows).filter(|row| picked(*row)) {
        match runs.last_mut() {
            Some(run) if run.end == row => run.end += 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}

/// Returns the hour of the day of a row: midnight ends a day, except in the table's first row. A
/// row without a time has its number.
pub(super) fn hour(stamp: Option<&String>, row: usize) -> usize {
    match stamp.and_then(|stamp| stamp.split_once('T')?.1.get(..2)?.parse().ok()) {
        Some(0) if row > 0 => 24,
        Some(hour) => hour,
        None => row + 1,
    }
}

/// Returns the number of decimals of a panel's values, two at most.
pub(super) fn digits(panel: &Panel) -> usize {
    let digits = |value: f64| {
        value
            .to_string()
            .split_once('.')
            .map_or(0, |(_, rest)| rest.len())
    };
    let least = Panel {
        mean: None,
        ..panel.clone()
    };
    values(&least).map(digits).max().unwrap_or(0).min(2)
}

/// Returns a number as a reader expects it: 49,500 and −12.8.
pub(super) fn number(value: f64, digits: usize) -> String {
    let plain = format!("{:.digits$}", value.abs());
    let negative = value < 0.0 && plain.contains(|c| matches!(c, '1'..='9'));
    let mut text = String::from(if negative { "−" } else { "" });
    let whole = plain.find('.').unwrap_or(plain.len());
    for (index, digit) in plain.chars().enumerate() {
        if (1..whole).contains(&index) && (whole - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_neighbours_do_not_touch() {
        assert_eq!(apart(&[100, 100]), [92, 108]);
        assert_eq!(apart(&[104, 100]), [110, 94]);
        assert_eq!(apart(&[100, 200]), [100, 200]);
        assert_eq!(apart(&[100]), [100]);
    }

    #[test]
    fn numbers_are_spelt_for_a_reader() {
        assert_eq!(number(49_500.0, 0), "49,500");
        assert_eq!(number(-1_234_567.891, 2), "−1,234,567.89");
        assert_eq!(number(999.96, 1), "1,000.0");
        assert_eq!(number(-0.04, 1), "0.0");
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(
            ticks(&(-17.0..10.2)),
            (5.0, vec![-15.0, -10.0, -5.0, 0.0, 5.0, 10.0])
        );
        assert_eq!(ticks(&(0.0..70_000.0)).0, 10_000.0);
        assert_eq!(ticks(&(992.0..994.0)).0, 0.5);
    }

    #[test]
    fn hours_come_from_the_time_or_the_row() {
        let at = |stamp: &str, row| hour(Some(&stamp.to_owned()), row);
        assert_eq!(at("1988-01-12T07:00", 6), 7);
        assert_eq!(at("1988-01-13T00:00", 23), 24);
        assert_eq!(at("1988-01-12T00:00", 0), 0);
        assert_eq!(at("é", 4), 5);
        assert_eq!(hour(None, 4), 5);
    }

    #[test]
    fn rows_are_gathered_into_stretches() {
        assert_eq!(runs(8, |row| row % 4 != 1), [0..1, 2..5, 6..8]);
        assert!(runs(3, |_| false).is_empty());
    }
}
