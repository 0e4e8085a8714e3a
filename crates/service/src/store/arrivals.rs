//! Uploads in the order of their arrival, for those who look again and again at what is new.

use rusqlite::OptionalExtension;
use tfhe_sbc_transport::catalogue::Filter;

use super::catalogue::{FIRST_FIRST, select};
use super::{Store, StoreError, StoredReadings};

/// The most uploads of one look.
const AT_A_TIME: usize = 1000;

/// Uploads that have arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrivals {
    /// The uploads, in the order of their arrival: at most 1,000.
    pub readings: Vec<StoredReadings>,
    /// The number up to which this look was. The next look is about what came behind it.
    pub seen: u64,
    /// True if there may be more already.
    pub more: bool,
}

impl Store {
    /// Returns the number of the upload that was stored last, also if it was removed since; 0 if there was none.
    pub fn last_number(&self) -> Result<u64, StoreError> {
        let index = self.lister();
        let mut statement =
            index.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'uploads'")?;
        let last: Option<i64> = statement.query_row([], |row| row.get(0)).optional()?;
        Ok(last.and_then(|last| u64::try_from(last).ok()).unwrap_or(0))
    }

    /// Returns the uploads that meet a filter and were stored after the one of the number `seen`. Looks from the beginning if there
    /// never was such a number, as after the loss of the index.
    pub fn arrivals(&self, filter: &Filter, seen: u64) -> Result<Arrivals, StoreError> {
        let last = self.last_number()?;
        let seen = if seen > last { 0 } else { seen };
        // What is stored from here on belongs to the next look.
        let before = match filter.before {
            Some(before) => before.min(last + 1),
            None => last + 1,
        };
        let filter = Filter {
            before: Some(before),
            ..filter.clone()
        };
        let index = self.lister();
        let mut entries = Vec::new();
        let limit = Some(AT_A_TIME as u64);
        select(&index, &filter, Some(seen), FIRST_FIRST, limit, |entry| {
            entries.push(entry);
            true
        })?;
        let full = entries.last().filter(|_| entries.len() == AT_A_TIME);
        let cut = full.and_then(|entry| u64::try_from(entry.sequence).ok());
        let readings = entries.iter().map(|entry| self.readings(&index, entry));
        Ok(Arrivals {
            seen: cut.unwrap_or(last),
            more: cut.is_some(),
            readings: readings.collect::<Result<_, _>>()?,
        })
    }
}
