//! Rows in memory, until there are enough for a batch.

use std::time::{Duration, Instant};

use zeroize::Zeroizing;

/// A row: its label, and one reading per column.
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) values: Zeroizing<Vec<f64>>,
}

/// Rows that are to be encrypted together. They are wiped when dropped.
pub(crate) struct Batch {
    labels: Vec<String>,
    /// The readings, column by column.
    readings: Vec<Zeroizing<Vec<f64>>>,
    most: usize,
    /// Without it, a batch that is not full is never due.
    oldest: Option<Duration>,
    since: Option<Instant>,
    /// The source's cursor behind these rows.
    cursor: Vec<u8>,
}

impl Batch {
    /// Returns an empty batch of `columns` columns and at most `most` rows, of which none waits
    /// longer than `oldest`; without it, rows wait until the batch is full.
    pub(crate) fn new(columns: usize, most: usize, oldest: Option<Duration>) -> Self {
        Self {
            labels: Vec::with_capacity(most.min(4096)),
            // The memory is never grown, which would leave copies behind.
            readings: (0..columns)
                .map(|_| Zeroizing::new(Vec::with_capacity(most)))
                .collect(),
            most,
            oldest,
            since: None,
            cursor: Vec::new(),
        }
    }

    /// Adds a row, which has a value for each column.
    pub(crate) fn push(&mut self, row: Row, now: Instant) {
        self.since.get_or_insert(now);
        self.labels.push(row.label);
        for (column, value) in self.readings.iter_mut().zip(row.values.iter()) {
            column.push(*value);
        }
    }

    /// Sets the cursor: all rows of the source up to it are in this batch, in an earlier one, or
    /// left out.
    pub(crate) fn moved_to(&mut self, cursor: Vec<u8>) {
        self.cursor = cursor;
    }

    pub(crate) fn cursor(&self) -> &[u8] {
        &self.cursor
    }

    /// Returns the number of rows that there is still room for.
    pub(crate) fn room(&self) -> usize {
        self.most - self.labels.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns the time at which the batch is to be encrypted, full or not.
    pub(crate) fn due(&self) -> Option<Instant> {
        let since = self.since?;
        match self.room() {
            0 => Some(since),
            _ => self.oldest.map(|oldest| since + oldest),
        }
    }

    pub(crate) fn labels(&self) -> &[String] {
        &self.labels
    }

    pub(crate) fn readings(&self) -> Vec<&[f64]> {
        self.readings
            .iter()
            .map(|column| column.as_slice())
            .collect()
    }

    /// Removes the rows.
    pub(crate) fn clear(&mut self) {
        self.labels.clear();
        for column in &mut self.readings {
            column.iter_mut().for_each(|value| *value = 0.0);
            column.clear();
        }
        self.since = None;
    }
}
