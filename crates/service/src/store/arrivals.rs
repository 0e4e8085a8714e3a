//! Uploads in the order of their arrival, for those who look again and again at what is new.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params_from_iter};
use tfhe_sbc_transport::catalogue::Filter;

use super::catalogue::conditions;
use super::{INDEX_COLUMNS, Store, StoreError, StoredReadings, as_i64, from_row};

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
        let index = self.reader();
        let mut statement =
            index.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'readings'")?;
        let last: Option<i64> = statement.query_row([], |row| row.get(0)).optional()?;
        Ok(last.and_then(|last| u64::try_from(last).ok()).unwrap_or(0))
    }

    /// Returns the uploads that meet a filter and were stored after the one of the number `seen`. Looks from the beginning if there
    /// never was such a number, as after the loss of the index.
    pub fn arrivals(&self, filter: &Filter, seen: u64) -> Result<Arrivals, StoreError> {
        let last = self.last_number()?;
        let seen = if seen > last { 0 } else { seen };
        let (statement, mut values) = behind(filter);
        let bounds = [seen, last, AT_A_TIME as u64];
        values.extend(bounds.map(|number| Value::from(as_i64(number))));
        let index = self.reader();
        let mut statement = index.prepare_cached(&statement)?;
        let rows = statement.query_map(params_from_iter(values), |row| {
            Ok((from_row(row)?, row.get::<_, i64>(5)?))
        })?;
        let rows: Vec<(StoredReadings, i64)> = rows.collect::<Result<_, _>>()?;
        let full = rows.last().filter(|_| rows.len() == AT_A_TIME);
        let cut = full.and_then(|(_, number)| u64::try_from(*number).ok());
        Ok(Arrivals {
            seen: cut.unwrap_or(last),
            more: cut.is_some(),
            readings: rows.into_iter().map(|(readings, _)| readings).collect(),
        })
    }
}

/// The statement that finds uploads that meet a filter behind a number and up to another one, and the values of the filter. Whatever the
/// filter is, only what is behind that number is looked at.
fn behind(filter: &Filter) -> (String, Vec<Value>) {
    let (conditions, values) = conditions(filter);
    let place = match conditions.is_empty() {
        true => "WHERE",
        false => "AND",
    };
    let statement = format!(
        "SELECT {INDEX_COLUMNS}, sequence FROM readings NOT INDEXED {conditions} {place} sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?"
    );
    (statement, values)
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a test stops at what it does not expect"
    )]

    use rusqlite::Connection;

    use super::*;

    /// A look every second must not read the index of everything that a device has ever uploaded.
    #[test]
    fn a_look_is_about_what_is_behind_the_last_one() {
        let index = Connection::open_in_memory().unwrap();
        index.execute_batch(super::super::INDEX_LAYOUT).unwrap();
        index
            .execute_batch(super::super::catalogue::LAYOUT)
            .unwrap();
        let filter = Filter::from_query("device=hill,lake-*&since=2026-11-23").unwrap();
        for filter in [filter, Filter::ALL] {
            let (statement, values) = behind(&filter);
            let plan = format!("EXPLAIN QUERY PLAN {statement}");
            let mut statement = index.prepare(&plan).unwrap();
            let values = values.into_iter().chain([7, 9, 1000].map(Value::from));
            let steps =
                statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3));
            let steps: Vec<String> = steps.unwrap().map(Result::unwrap).collect();
            let expected = "SEARCH readings USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)";
            assert_eq!(steps, [expected]);
        }
    }
}
