//! Tables in characters.

use std::ops::Range;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Returns an empty table in the style of all reports.
pub(crate) fn table() -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table
}

/// Aligns the given columns to the right, as figures are. Columns that do not exist are ignored.
pub(crate) fn align_right(table: &mut Table, columns: Range<usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
