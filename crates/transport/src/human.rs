//! Figures in units for people, and times as people write them.

use std::fmt;
use std::time::Duration;

/// A number of bytes, shown in B, KiB, MiB or GiB with at most one decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        for unit in ["KiB", "MiB"] {
            value /= 1024.0;
            // 1023.95 would be shown as 1024.0.
            if value < 1023.95 {
                return write!(f, "{value:.1} {unit}");
            }
        }
        write!(f, "{:.1} GiB", value / 1024.0)
    }
}

/// Reads a time such as `500ms`, `10s`, `5m`, `1h` or `1d`. Returns `None` for anything else.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    let milliseconds = match text[digits..].trim() {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(milliseconds).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_largest_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (1 << 20, "1.0 MiB"),
            (13 << 30, "13.0 GiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn times_have_units() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("5 m", 300_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Some(Duration::from_millis(milliseconds))
            );
        }
        for text in [
            "",
            "10",
            "s",
            "-1s",
            "1.5s",
            "10 years",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
