//! Tables of our figures beside the paper's.

use crate::report::{Row, Unit};
use crate::text_table::{align_right, table};

/// A table for people, and its rows for machines.
pub(super) struct PaperTable {
    /// The prefix of the names in JSON, such as `table_1`.
    pub(super) key: &'static str,
    /// The heading.
    pub(super) title: String,
    /// Heads of the columns: for people, and in JSON names.
    pub(super) columns: Vec<(String, &'static str)>,
    /// The lines.
    pub(super) lines: Vec<Line>,
    /// Notes on the figures.
    pub(super) notes: Vec<String>,
}

/// A line of a table.
pub(super) struct Line {
    /// The name in the table.
    pub(super) name: String,
    /// The name in JSON.
    pub(super) key: String,
    /// One for each column.
    pub(super) cells: Vec<Cell>,
    /// The origin of the figures.
    pub(super) note: String,
}

/// Our figure and the paper's.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    pub(super) ours: Option<f64>,
    pub(super) paper: Option<f64>,
    pub(super) unit: Unit,
}

impl Cell {
    pub(super) fn new(unit: Unit, ours: f64, paper: Option<f64>) -> Self {
        Self {
            ours: Some(ours),
            paper,
            unit,
        }
    }

    fn show(&self) -> String {
        let figure = |value: Option<f64>| value.map(|value| self.unit.show(value));
        match (figure(self.ours), figure(self.paper)) {
            (Some(ours), Some(paper)) => format!("{ours}\n[{paper}]"),
            (Some(ours), None) => ours,
            (None, Some(paper)) => format!("[{paper}]"),
            (None, None) => String::new(),
        }
    }
}

impl PaperTable {
    /// The table in characters.
    pub(super) fn to_text(&self) -> String {
        let mut text = table();
        let heads = self.columns.iter().map(|(head, _)| head.clone());
        text.set_header(std::iter::once(String::new()).chain(heads));
        for line in &self.lines {
            let cells = line.cells.iter().map(Cell::show);
            text.add_row(std::iter::once(line.name.clone()).chain(cells));
        }
        align_right(&mut text, 1..self.columns.len() + 1);
        let notes = self.notes.join("\n");
        format!("{}\n{text}\n{notes}\n", self.title)
    }

    /// One row for each of our figures.
    pub(super) fn to_rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for line in &self.lines {
            for (cell, (_, column)) in line.cells.iter().zip(&self.columns) {
                let Some(ours) = cell.ours else { continue };
                let name = format!("{}.{}.{column}", self.key, line.key);
                let note = line.note.clone();
                rows.push(Row::beside_paper(name, cell.unit, ours, cell.paper, note));
            }
        }
        rows
    }
}
