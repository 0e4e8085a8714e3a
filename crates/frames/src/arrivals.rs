//! The record of the frames of one board that have arrived.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;

use thiserror::Error;

use crate::receiver::Frame;

/// The frames of one board that have arrived, in whatever order.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    tags: BTreeMap<u32, u64>,
}

/// The news of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// No frame of this counter has arrived before.
    New,
    /// The same frame has arrived before.
    Repeated,
}

/// The board sent two frames of one counter, so that whoever saw both knows the differences of their readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the board used the pads of frame {0} twice: it has lost its counter, and needs new pads")]
pub struct PadUsedTwice(pub u32);

impl Arrivals {
    /// Makes a record without frames.
    pub const fn new() -> Self {
        Self {
            tags: BTreeMap::new(),
        }
    }

    /// Records a frame, and says whether it is new. Order does not matter.
    ///
    /// # Errors
    /// If another frame of the same counter has arrived before. The first one stays.
    pub fn record(&mut self, frame: &Frame<'_>) -> Result<Arrival, PadUsedTwice> {
        match self.tags.entry(frame.counter()) {
            Entry::Vacant(place) => {
                place.insert(frame.tag());
                Ok(Arrival::New)
            }
            Entry::Occupied(known) if *known.get() == frame.tag() => Ok(Arrival::Repeated),
            Entry::Occupied(_) => Err(PadUsedTwice(frame.counter())),
        }
    }

    /// The number of frames that have arrived.
    pub fn len(&self) -> usize {
        self.tags.len()
    }

    /// Says whether no frame has arrived.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// The number of counters below the highest that have not arrived. These frames were lost, are still under
    /// way, or never existed, because the board leapt over their counters when it started.
    pub fn missing(&self) -> usize {
        self.tags.last_key_value().map_or(0, |(highest, _)| {
            // As the counters are different, there are no more of them than numbers up to the highest.
            (*highest as usize + 1).saturating_sub(self.tags.len())
        })
    }
}
