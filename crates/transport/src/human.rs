//! Figures in units for people, and times and sizes as people write them.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tfhe_sbc_upload::moments::Moment;
pub use tfhe_sbc_upload::moments::parse_duration;

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

/// Returns a whole number with its thousands separated by commas.
pub fn count(number: u64) -> String {
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

/// Returns the moment that was this time ago, by this machine's clock.
pub fn before_now(ago: Duration) -> Moment {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    let now = now.map_or(0, ms);
    Moment::from_unix_ms(now.saturating_sub(ms(ago)))
}

/// Reads a number of bytes such as `1000`, `16MiB`, `1.5 GiB` or `20GB`. Units are powers of 1024 (`KiB`, `MiB`, `GiB`,
/// `TiB`, or their first letters) or of 1000 (`kB`, `MB`, `GB`, `TB`), in letters of any size. A part of a byte is left
/// out. Returns `None` for anything else.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[number.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kib" | "k" => 1024.0,
        "mib" | "m" => 1024.0 * 1024.0,
        "gib" | "g" => 1024.0 * 1024.0 * 1024.0,
        "tib" | "t" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return None,
    };
    let bytes = number.trim().parse::<f64>().ok()? * unit;
    // 2^64, above which the cast would not be exact.
    (0.0..18_446_744_073_709_551_616.0)
        .contains(&bytes)
        .then_some(bytes as u64)
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
    fn sizes_have_units() {
        for (text, bytes) in [
            ("0", 0),
            ("1000", 1000),
            ("1000 B", 1000),
            ("16MiB", 16 << 20),
            ("1.5 KiB", 1536),
            ("20gib", 20 << 30),
            ("2T", 2 << 40),
            ("20GB", 20_000_000_000),
        ] {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "MiB",
            "-1",
            "1 year",
            "16Mi B",
            "nan",
            "inf",
            "1e30",
            "16777216TiB",
        ] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }
}
