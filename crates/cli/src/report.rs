//! Figures in units for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tfhe_sbc_transport::human::Bytes;
pub(crate) use tfhe_sbc_transport::human::count;
use tfhe_sbc_upload::moments::Moment;

/// Returns a number of bytes in B, KiB, MiB or GiB.
pub(crate) fn bytes(count: u64) -> String {
    Bytes(count).to_string()
}

/// Returns a number with the noun that it counts: `1 row`, `2 rows`.
pub(crate) fn counted(number: u64, one: &str, more: &str) -> String {
    let noun = if number == 1 { one } else { more };
    format!("{} {noun}", count(number))
}

/// Returns a time in µs, ms or s.
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

/// Returns a time that has gone by in whole seconds, minutes, hours or days.
pub(crate) fn age(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [(86_400, "d"), (3600, "h"), (60, "min")];
    match units.iter().find(|(unit, _)| seconds >= 2 * unit) {
        Some((unit, name)) => format!("{} {name}", count(seconds / unit)),
        None => format!("{seconds} s"),
    }
}

/// Returns a time of day in RFC 3339, UTC.
pub(crate) fn moment(time: SystemTime) -> String {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let ms = i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX);
    Moment::from_unix_ms(ms).to_string()
}

/// Returns a reading with at most four decimals, without trailing zeros: the binary fractions of a
/// decimal step leave a tail.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Returns a text from a file with its control characters replaced, for they would steer a terminal.
pub(crate) fn plain(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(counted(1, "row", "rows"), "1 row");
        assert_eq!(counted(1200, "row", "rows"), "1,200 rows");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
        assert_eq!(number(-10.600_000_000_000_001), "-10.6");
        assert_eq!(number(-0.000_000_1), "0");
        assert_eq!(plain("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
        assert_eq!(time(Duration::from_micros(1500)), "1.5 ms");
        for (seconds, text) in [
            (0, "0 s"),
            (119, "119 s"),
            (120, "2 min"),
            (7300, "2 h"),
            (700_000, "8 d"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }
}
