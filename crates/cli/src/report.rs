//! Figures in human units.

use std::time::Duration;

use tfhe_sbc_query::results::AnswerValue;

use crate::histogram;

/// A number of bytes.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        _ => format!("{:.1} MiB", count as f64 / 1_048_576.0),
    }
}

/// A time.
pub(crate) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1e-3 {
        format!("{:.0} µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}

/// A whole number with thousands separated.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A reading without the tail that binary fractions of a decimal step leave.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// A text from a file, without what would steer a terminal.
pub(crate) fn plain(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// A decrypted answer.
pub(crate) fn answer(value: &AnswerValue) -> String {
    match value {
        AnswerValue::Number { value, unit } => with_unit(*value, unit),
        AnswerValue::Row { row, value, unit } => {
            format!("{}: {}", plain(row), with_unit(*value, unit))
        }
        AnswerValue::Rows(labels) if labels.is_empty() => "none".to_owned(),
        AnswerValue::Rows(labels) => lines(labels),
        AnswerValue::Histogram {
            bins,
            outside,
            unit,
        } => histogram::text(bins, *outside, unit),
        AnswerValue::Values { values, unit } => {
            let values: Vec<_> = values.iter().map(|value| with_unit(*value, unit)).collect();
            lines(&values)
        }
        AnswerValue::Scores { rows, unit } => {
            let rows = rows.iter();
            let rows =
                rows.map(|row| format!("{}: {}", plain(&row.row), with_unit(row.value, unit)));
            rows.collect::<Vec<_>>().join("\n")
        }
        AnswerValue::Leaves { rows } => {
            let rows = rows.iter();
            let rows = rows.map(|row| format!("{}: {}", plain(&row.row), plain(&row.value)));
            rows.collect::<Vec<_>>().join("\n")
        }
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => number(value),
        unit => format!("{} {}", number(value), plain(unit)),
    }
}

/// Labels of rows, four a line.
pub(crate) fn lines<L: AsRef<str>>(labels: &[L]) -> String {
    let line = |labels: &[L]| -> String {
        let labels: Vec<_> = labels.iter().map(|label| plain(label.as_ref())).collect();
        labels.join(" ")
    };
    labels.chunks(4).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
        assert_eq!(number(-10.600_000_000_000_001), "-10.6");
        assert_eq!(number(-0.000_000_1), "0");
        assert_eq!(plain("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
        assert_eq!(time(Duration::from_micros(1500)), "1.5 ms");
    }
}
