//! The records of a segment one by one, through damage and up to a torn end.

use std::io::{self, Read};

use super::coding::LONGEST_NUMBER;
use super::{Head, Record, Shape};

/// The bytes that the search behind damage may hash, so that damage costs at most a second.
const SEARCH_BYTES: u64 = 1 << 30;
/// Something in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it begins, in bytes from the beginning of the segment.
    pub at: u64,
    /// Its bytes.
    pub len: u64,
    /// The record; `None` for bytes that are none.
    pub record: Option<Record>,
}

/// The records of a segment, one by one.
pub struct Records<R> {
    source: R,
    head: Head,
    /// What was read of the segment.
    window: Vec<u8>,
    /// Where in the window the next record begins.
    start: usize,
    /// Where in the segment it begins.
    at: u64,
    end: u64,
}

impl<R: Read> Records<R> {
    /// The records of a segment from a place on, which `source` reads, to the place `end`.
    pub fn new(head: Head, source: R, at: u64, end: u64) -> Self {
        Self {
            source,
            head,
            window: Vec::new(),
            start: 0,
            at,
            end: end.max(at),
        }
    }

    /// Returns what is next. Bytes that are no record are told together, up to the next record or the end.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn next_found(&mut self) -> io::Result<Option<Found>> {
        if self.at == self.end {
            return Ok(None);
        }
        if let Some((len, record)) = self.record_at(0, &mut { u64::MAX })? {
            return Ok(Some(self.take(len, Some(record))));
        }
        let len = self.length_of_damage()?;
        Ok((self.at < self.end).then(|| self.take(len, None)))
    }

    /// The bytes up to the next record, or to the end.
    fn length_of_damage(&mut self) -> io::Result<u64> {
        let mut budget = SEARCH_BYTES;
        // The length is right if a whole record or the end of the segment is behind it.
        if let Some(shape) = self.shape_at(0)? {
            let len = shape.whole();
            let is_last = self.at + len == self.end;
            if is_last || self.record_at(len, &mut budget)?.is_some() {
                return Ok(len);
            }
        }
        let mut len = 1;
        while self.at + len < self.end {
            if self.record_at(len, &mut budget)?.is_some() {
                return Ok(len);
            }
            len += 1;
        }
        Ok(self.end - self.at)
    }

    fn take(&mut self, len: u64, record: Option<Record>) -> Found {
        let at = self.at;
        self.at += len;
        // All of it was read.
        self.start += usize::try_from(len).unwrap_or(usize::MAX);
        Found { at, len, record }
    }

    /// Reads until the window has so many bytes from the next record on, or all that there are, and returns what it has.
    fn fill(&mut self, bytes: u64) -> io::Result<&[u8]> {
        const LEAST: u64 = 1 << 18;
        let bytes = bytes.min(self.end - self.at);
        let have = (self.window.len() - self.start) as u64;
        if have < bytes {
            self.window.drain(..self.start);
            self.start = 0;
            let most = self.end - self.at - have;
            let more = (bytes - have).max(LEAST).min(most);
            let source = self.source.by_ref();
            let read = source.take(more).read_to_end(&mut self.window)?;
            if (read as u64) < more {
                // The file is shorter than it was.
                self.end = self.at + self.window.len() as u64;
            }
        }
        Ok(self.window.get(self.start..).unwrap_or_default())
    }

    /// The record that begins so many bytes behind the next one's beginning, if one may.
    fn shape_at(&mut self, offset: u64) -> io::Result<Option<Shape>> {
        let bytes = self.fill(offset + 1 + LONGEST_NUMBER as u64)?;
        let shape = usize::try_from(offset)
            .ok()
            .and_then(|offset| Shape::of(bytes.get(offset..)?));
        let left = (self.end - self.at).saturating_sub(offset);
        Ok(shape.filter(|shape| shape.whole() <= left))
    }

    /// The record that begins there, and its length. What is read for that is taken from the budget.
    fn record_at(&mut self, offset: u64, budget: &mut u64) -> io::Result<Option<(u64, Record)>> {
        let Some(shape) = self.shape_at(offset)? else {
            return Ok(None);
        };
        let len = shape.whole();
        let Some(left) = budget.checked_sub(len) else {
            return Ok(None);
        };
        *budget = left;
        let head = self.head;
        let bytes = self.fill(offset + len)?;
        let record = (|| {
            let from = bytes.get(usize::try_from(offset).ok()?..)?;
            Record::read(&head, from.get(..usize::try_from(len).ok()?)?)
        })();
        Ok(record.map(|record| (len, record)))
    }
}
