//! Acknowledgements: what a server answers over a network that has no answers of its own, such as UDP.

use crate::format::{DeviceId, Format};
use crate::key::MacKey;
use crate::siphash::siphash;

/// The word of a server that a frame is on its disk: device id, counter of the frame, and a tag that only the holders
/// of the board's MAC key can make. It is shorter than every frame that it answers.
///
/// The tag is SipHash-2-4 under the MAC key of the complement of the id, the counter and the frame's own tag. A
/// frame's tag begins with the id itself, and a key is of one board, so no acknowledgement is the tag of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement([u8; Self::BYTES]);

impl Acknowledgement {
    /// The length in bytes.
    pub const BYTES: usize = ID_BYTES + Format::COUNTER_BYTES + Format::TAG_BYTES;

    /// Makes the acknowledgement of a frame. Board and server compute the same, so the board compares what comes
    /// with this. `None` if the bytes are too short to be a frame of the format.
    pub fn of(format: &Format, key: &MacKey, frame: &[u8]) -> Option<Self> {
        let (_, numbered) = frame.split_at_checked(format.counter_at())?;
        let (counter, rest) = numbered.split_first_chunk::<{ Format::COUNTER_BYTES }>()?;
        let (_, tag) = rest.split_last_chunk::<{ Format::TAG_BYTES }>()?;

        let mut tagged = [0; Format::COUNTER_BYTES + Format::TAG_BYTES];
        let (head, tail) = tagged.split_at_mut(Format::COUNTER_BYTES);
        head.copy_from_slice(counter);
        tail.copy_from_slice(tag);
        let DeviceId(id) = format.id();
        let own = siphash(key.as_bytes(), !u64::from_le_bytes(id), &tagged);

        let mut bytes = [0; Self::BYTES];
        let (head, rest) = bytes.split_at_mut(ID_BYTES);
        let (middle, tail) = rest.split_at_mut(Format::COUNTER_BYTES);
        head.copy_from_slice(&id);
        middle.copy_from_slice(counter);
        tail.copy_from_slice(&own.to_le_bytes());
        Some(Self(bytes))
    }

    /// The bytes, as they travel.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Says whether these are the bytes that were received. The time does not tell where they differ.
    pub fn is(&self, received: &[u8]) -> bool {
        let differences = self.0.iter().zip(received);
        let differences = differences.fold(0, |all, (a, b)| all | (a ^ b));
        received.len() == Self::BYTES && differences == 0
    }
}

/// The bytes of a device id.
const ID_BYTES: usize = 8;
