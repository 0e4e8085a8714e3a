//! Figures in units for people.

use std::fmt;

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
}
