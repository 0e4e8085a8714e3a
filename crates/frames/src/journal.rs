//! A counter's place in flash: records, one behind the other, in two pages.
//!
//! A record is the number and its complement, 8 bytes, little-endian. Programming flash only clears bits, so a
//! record whose programming power interrupted is never a valid record of another number: a bit that is
//! still set in both halves makes it invalid. The number of the store is the largest of all valid
//! records. A page is erased only when the other one is full and has that record.

use crate::counter::CounterStore;

/// The bytes of a record.
const RECORD_BYTES: usize = 8;

/// Two pages of flash, numbered 0 and 1, of which each can be erased by itself. An erased byte is 255.
pub trait Flash {
    /// The reason why the flash failed.
    type Error;

    /// The number of records of 8 bytes that a page has room for, at least 1.
    fn records(&self) -> usize;

    /// Reads the record at `index` of a page.
    ///
    /// # Errors
    /// If the flash fails.
    fn read(&mut self, page: usize, index: usize) -> Result<[u8; 8], Self::Error>;

    /// Programs the erased record at `index` of a page.
    ///
    /// # Errors
    /// If the flash fails.
    fn program(&mut self, page: usize, index: usize, record: [u8; 8]) -> Result<(), Self::Error>;

    /// Erases a page.
    ///
    /// # Errors
    /// If the flash fails.
    fn erase(&mut self, page: usize) -> Result<(), Self::Error>;
}

/// A [`CounterStore`] in two pages of flash. A page of 128 records is erased once in 256 writes.
#[derive(Debug)]
pub struct Journal<F>(pub F);

/// The result of reading both pages.
#[derive(Default)]
struct Scan {
    /// The largest number, and its page.
    newest: Option<(u32, usize)>,
    /// The index behind the last record of each page that is not erased.
    free: [usize; 2],
}

impl<F: Flash> Journal<F> {
    fn scan(&mut self) -> Result<Scan, F::Error> {
        let mut scan = Scan::default();
        for (page, free) in scan.free.iter_mut().enumerate() {
            for index in 0..self.0.records() {
                let record = self.0.read(page, index)?;
                if record != [0xff; RECORD_BYTES] {
                    *free = index + 1;
                }
                let number = number_of(record);
                let newer = |(newest, _)| number > Some(newest);
                if let Some(number) = number
                    && scan.newest.is_none_or(newer)
                {
                    scan.newest = Some((number, page));
                }
            }
        }
        Ok(scan)
    }
}

impl<F: Flash> CounterStore for Journal<F> {
    type Error = F::Error;

    fn read(&mut self) -> Result<Option<u32>, F::Error> {
        Ok(self.scan()?.newest.map(|(number, _)| number))
    }

    fn write(&mut self, limit: u32) -> Result<(), F::Error> {
        let Scan { newest, free } = self.scan()?;
        let (page, index) = match newest {
            Some((_, page)) if free[page] < self.0.records() => (page, free[page]),
            // The full page, if there is one, keeps the number until the other page has a larger one.
            full => {
                let page = full.map_or(0, |(_, page)| 1 - page);
                self.0.erase(page)?;
                (page, 0)
            }
        };
        self.0.program(page, index, record_of(limit))
    }
}

fn record_of(number: u32) -> [u8; RECORD_BYTES] {
    let both = u64::from(number) | u64::from(!number) << 32;
    both.to_le_bytes()
}

fn number_of(record: [u8; RECORD_BYTES]) -> Option<u32> {
    let both = u64::from_le_bytes(record);
    let number = both as u32;
    ((both >> 32) as u32 == !number).then_some(number)
}
