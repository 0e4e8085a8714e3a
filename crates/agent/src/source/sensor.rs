//! The trait that every kind of sensor implements.

/// A sensor that is read on a schedule, for the values of one column.
pub(super) trait Sensor {
    /// Reads the value for a row.
    ///
    /// `row` is the row's number, which differs from one row to the next: sensors of several columns
    /// that share a reading, such as the output of a command, use it to read once per row.
    ///
    /// # Errors
    /// Why there is no value, in words for the log.
    fn read(&mut self, row: u64) -> Result<f64, String>;
}
