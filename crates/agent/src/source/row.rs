//! Rows as sources give them.

/// A row before its values are checked.
pub(crate) struct RawRow {
    /// The row's label; without one, the time of reading becomes the label.
    pub(crate) label: Option<String>,
    /// The cursor behind the row, if it is of a file.
    pub(crate) cursor: Option<Vec<u8>>,
    /// For each column its value, or why there is none.
    pub(crate) values: Vec<Result<f64, String>>,
}
