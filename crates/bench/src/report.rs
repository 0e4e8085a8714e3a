//! Rows of figures, as a table for people or as JSON.

use serde::Serialize;

use crate::machine::Machine;
use crate::text_table::{align_right, table};
use crate::timing::Timing;

/// Everything that a run prints.
#[derive(Serialize)]
pub(crate) struct Report<M = NoMore> {
    /// The machine of the figures.
    pub(crate) machine: Machine,
    /// The figures.
    pub(crate) rows: Vec<Row<M>>,
}

/// One line of figures, with `more` of its table's own.
#[derive(Serialize)]
pub(crate) struct Row<M = NoMore> {
    name: String,
    #[serde(flatten)]
    figures: Figures,
    unit: Unit,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<usize>,
    /// The further figures of its table.
    #[serde(flatten)]
    pub(crate) more: M,
    note: String,
}

/// No further figures.
#[derive(Serialize)]
pub(crate) struct NoMore {}

/// The unit of figures.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Joules.
    #[serde(rename = "J")]
    Joules,
    /// Instructions.
    #[serde(rename = "instructions")]
    Instructions,
    /// A ratio.
    #[serde(rename = "1")]
    One,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Bytes per second.
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    /// Gigabytes per second.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Figures {
    Ours {
        value: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        value_min: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value_runs: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        paper: Option<f64>,
    },
    Both {
        ours: f64,
        peer: f64,
        /// Ours divided by the peer's: below 1 ours is better.
        ratio: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        ours_min: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        peer_min: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ours_runs: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        peer_runs: Option<usize>,
    },
}

impl Row {
    /// Times: ours alone, or beside the peer's.
    pub(crate) fn times(
        name: impl Into<String>,
        ours: Timing,
        peer: Option<Timing>,
        threads: usize,
        note: impl Into<String>,
    ) -> Self {
        let figures = match peer {
            None => Figures::Ours {
                value: ours.median,
                value_min: Some(ours.least),
                value_runs: Some(ours.runs),
                paper: None,
            },
            Some(peer) => Figures::Both {
                ours: ours.median,
                peer: peer.median,
                ratio: ours.median / peer.median,
                ours_min: Some(ours.least),
                peer_min: Some(peer.least),
                ours_runs: Some(ours.runs),
                peer_runs: Some(peer.runs),
            },
        };
        Self {
            name: name.into(),
            figures,
            unit: Unit::Seconds,
            threads: Some(threads),
            more: NoMore {},
            note: note.into(),
        }
    }

    /// The row with more of its table's own.
    pub(crate) fn with<M>(self, more: M) -> Row<M> {
        Row {
            name: self.name,
            figures: self.figures,
            unit: self.unit,
            threads: self.threads,
            more,
            note: self.note,
        }
    }

    /// Adds a sentence to the note.
    pub(crate) fn add_note(&mut self, more: &str) {
        self.note = format!("{}. {more}", self.note);
    }

    /// Plain figures: ours alone, or beside the peer's.
    pub(crate) fn figures(
        name: impl Into<String>,
        unit: Unit,
        ours: f64,
        peer: Option<f64>,
        note: impl Into<String>,
    ) -> Self {
        let figures = match peer {
            None => Figures::Ours {
                value: ours,
                value_min: None,
                value_runs: None,
                paper: None,
            },
            Some(peer) => Figures::Both {
                ours,
                peer,
                ratio: ours / peer,
                ours_min: None,
                peer_min: None,
                ours_runs: None,
                peer_runs: None,
            },
        };
        Self {
            name: name.into(),
            figures,
            unit,
            threads: None,
            more: NoMore {},
            note: note.into(),
        }
    }

    /// Times of ours, in microseconds.
    pub(crate) fn microseconds(
        name: impl Into<String>,
        ours: Timing,
        threads: usize,
        note: impl Into<String>,
    ) -> Self {
        Self {
            figures: Figures::Ours {
                value: ours.median * 1e6,
                value_min: Some(ours.least * 1e6),
                value_runs: Some(ours.runs),
                paper: None,
            },
            threads: Some(threads),
            ..Self::figures(name, Unit::Microseconds, 0.0, None, note)
        }
    }

    /// Times of ours on one thread, in milliseconds.
    pub(crate) fn milliseconds(
        name: impl Into<String>,
        ours: Timing,
        note: impl Into<String>,
    ) -> Self {
        Self {
            figures: Figures::Ours {
                value: ours.median * 1e3,
                value_min: Some(ours.least * 1e3),
                value_runs: Some(ours.runs),
                paper: None,
            },
            threads: Some(1),
            ..Self::figures(name, Unit::Milliseconds, 0.0, None, note)
        }
    }

    /// A figure of ours, with the paper's where it has one.
    pub(crate) fn beside_paper(
        name: impl Into<String>,
        unit: Unit,
        ours: f64,
        paper: Option<f64>,
        note: impl Into<String>,
    ) -> Self {
        Self {
            figures: Figures::Ours {
                value: ours,
                value_min: None,
                value_runs: None,
                paper,
            },
            ..Self::figures(name, unit, ours, None, note)
        }
    }
}

impl<M> Report<M> {
    /// The tables: the machine, then the rows.
    pub(crate) fn to_tables(&self) -> String {
        let machine = self.machine.to_table();
        let side_by_side = self
            .rows
            .iter()
            .any(|row| matches!(row.figures, Figures::Both { .. }));
        let mut rows = table();
        if side_by_side {
            rows.set_header([
                "",
                "ours",
                "min",
                "peer",
                "min",
                "ours/peer",
                "threads",
                "note",
            ]);
        } else {
            rows.set_header(["", "ours", "min", "threads", "note"]);
        }
        let mut notes: Vec<&str> = Vec::new();
        for row in &self.rows {
            let place = notes
                .iter()
                .position(|note| *note == row.note)
                .unwrap_or_else(|| {
                    notes.push(&row.note);
                    notes.len() - 1
                });
            rows.add_row(row.cells(side_by_side, place + 1));
        }
        let figures = if side_by_side { 1..8 } else { 1..5 };
        align_right(&mut rows, figures);
        let notes: Vec<String> = (1..)
            .zip(&notes)
            .map(|(number, note)| format!("{number:>3}  {note}"))
            .collect();
        format!(
            "{machine}\n\n{rows}\n\nTimes are medians, with the minima beside them.\n{}",
            notes.join("\n")
        )
    }
}

impl<M> Row<M> {
    /// The name of the row.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Ours divided by the peer's, if there is a peer.
    pub(crate) fn ratio(&self) -> Option<f64> {
        match self.figures {
            Figures::Both { ratio, .. } => Some(ratio),
            Figures::Ours { .. } => None,
        }
    }

    fn cells(&self, side_by_side: bool, note: usize) -> Vec<String> {
        let show = |value: f64| self.unit.show(value);
        let maybe = |value: &Option<f64>| value.map_or(String::new(), show);
        let mut cells = vec![self.name.clone()];
        match &self.figures {
            Figures::Ours {
                value, value_min, ..
            } => {
                cells.extend([show(*value), maybe(value_min)]);
                if side_by_side {
                    cells.extend([String::new(), String::new(), String::new()]);
                }
            }
            Figures::Both {
                ours,
                peer,
                ratio,
                ours_min,
                peer_min,
                ..
            } => cells.extend([
                show(*ours),
                maybe(ours_min),
                show(*peer),
                maybe(peer_min),
                format!("{ratio:.2}"),
            ]),
        }
        cells.push(
            self.threads
                .map_or(String::new(), |threads| threads.to_string()),
        );
        cells.push(note.to_string());
        cells
    }
}

impl Unit {
    /// A figure with three or four digits and a prefix.
    pub(crate) fn show(self, value: f64) -> String {
        let (scales, symbol): (&[(f64, &str)], _) = match self {
            Self::Seconds => (&[(1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")], "s"),
            Self::Milliseconds => return Self::Seconds.show(value * 1e-3),
            Self::Microseconds => return Self::Seconds.show(value * 1e-6),
            Self::Joules => (&[(1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")], "J"),
            Self::Instructions => (&[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")], "insn"),
            Self::One => return format!("{value:.3e}"),
            Self::Bytes => (&[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")], "B"),
            Self::GigabytesPerSecond => (&[(1.0, "G")], "B/s"),
            Self::BytesPerSecond => (&[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")], "B/s"),
        };
        let (scale, prefix) = scales
            .iter()
            .find(|(scale, _)| value >= *scale)
            .or(scales.last())
            .copied()
            .unwrap_or((1.0, ""));
        let scaled = value / scale;
        let places = match scaled {
            _ if scaled >= 100.0 => 0,
            _ if scaled >= 10.0 => 1,
            _ => 2,
        };
        format!("{scaled:.places$} {prefix}{symbol}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(median: f64) -> Timing {
        Timing {
            median,
            least: median / 2.0,
            runs: 3,
        }
    }

    #[test]
    fn figures_have_the_prefix_that_suits_them() {
        assert_eq!(Unit::Seconds.show(0.001_234), "1.23 ms");
        assert_eq!(Unit::Seconds.show(56.7e-6), "56.7 us");
        assert_eq!(Unit::Bytes.show(7_800.0), "7.80 kB");
        assert_eq!(Unit::Bytes.show(345e6), "345 MB");
        assert_eq!(Unit::Bytes.show(0.0), "0.00 B");
    }

    #[test]
    fn a_row_has_a_value_or_both_sides_and_their_ratio() {
        let alone = serde_json::to_value(Row::times("a", timing(2.0), None, 1, "")).unwrap();
        assert_eq!(alone["value"], 2.0);
        assert_eq!(alone["unit"], "s");
        assert!(alone.get("ours").is_none());
        let both = Row::times("b", timing(2.0), Some(timing(5.0)), 2, "note");
        let both = serde_json::to_value(both).unwrap();
        assert_eq!(
            (&both["ratio"], &both["peer_min"]),
            (&0.4.into(), &2.5.into())
        );
        assert!(both.get("value").is_none());
        let bytes = Row::figures("c", Unit::Bytes, 10.0, Some(40.0), "");
        assert_eq!(bytes.ratio(), Some(0.25));
        assert_eq!(serde_json::to_value(bytes).unwrap()["ratio"], 0.25);
    }
}
