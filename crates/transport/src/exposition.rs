//! The text that Prometheus reads, format version 0.0.4.
//!
//! The text is written here because the Prometheus crate for Rust writes OpenMetrics only. The `#
//! TYPE` lines of OpenMetrics name a counter without `_total`, so node_exporter's collector of text
//! files, which reads version 0.0.4, would lose the types.

use std::fmt::{Display, Write};

/// The media type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4";

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows; its name ends in `_total`.
    Counter,
    /// A number that may fall.
    Gauge,
}

/// The text of a page of metrics.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// Adds a metric with a single value. `help` is one line.
    pub fn add(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.describe(name, kind, help);
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{name} {value}");
    }

    /// Adds a metric with a value for each value of the label `label`. The label's values need no
    /// escaping.
    pub fn add_labelled<L: Display, V: Display>(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (L, V)>,
    ) {
        self.describe(name, kind, help);
        for (of, value) in values {
            let _ = writeln!(self.text, "{name}{{{label}=\"{of}\"}} {value}");
        }
    }

    /// Adds a metric with a value for each set of labels, each a name and a value.
    pub fn add_series<'a, V: Display>(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        series: impl IntoIterator<Item = (&'a [(String, String)], V)>,
    ) {
        self.describe(name, kind, help);
        for (labels, value) in series {
            self.text.push_str(name);
            for (place, (label, of)) in labels.iter().enumerate() {
                self.text.push(if place == 0 { '{' } else { ',' });
                let of = of.replace('\\', "\\\\");
                let of = of.replace('"', "\\\"").replace('\n', "\\n");
                let _ = write!(self.text, "{label}=\"{of}\"");
            }
            if !labels.is_empty() {
                self.text.push('}');
            }
            let _ = writeln!(self.text, " {value}");
        }
    }

    /// Returns the text.
    pub fn into_text(self) -> String {
        self.text
    }

    fn describe(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_of_version_0_0_4() {
        let mut page = Exposition::default();
        page.add("rows_total", Kind::Counter, "Rows read.", 7);
        let values = [("full", 1), ("late", 0)];
        page.add_labelled("lost", Kind::Gauge, "Rows lost.", "reason", values);
        assert_eq!(
            page.into_text(),
            "# HELP rows_total Rows read.\n# TYPE rows_total counter\nrows_total 7\n\
             # HELP lost Rows lost.\n# TYPE lost gauge\n\
             lost{reason=\"full\"} 1\nlost{reason=\"late\"} 0\n"
        );
    }

    #[test]
    fn labels_of_any_text_are_escaped() {
        let mut page = Exposition::default();
        let label = |name: &str, of: &str| (name.to_owned(), of.to_owned());
        let labels = [label("device", "a\\\"b\n"), label("room", "9")];
        let series = [(&labels[..], 1.5), (&[], 2.0)];
        page.add_series("mean", Kind::Gauge, "Means.", series);
        assert_eq!(
            page.into_text(),
            "# HELP mean Means.\n# TYPE mean gauge\n\
             mean{device=\"a\\\\\\\"b\\n\",room=\"9\"} 1.5\nmean 2\n"
        );
    }
}
