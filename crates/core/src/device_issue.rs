//! The identity of a device key among those of its key set: a device and an epoch.

use core::fmt;
use core::num::NonZeroU32;

use crate::padded_text::PaddedText;

/// The name of a device: 1 to 16 bytes of printable ASCII without spaces.
pub type DeviceId = PaddedText<16>;

/// The number of a device's key. A key that replaces another has a higher one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(NonZeroU32);

impl Epoch {
    /// The epoch of a device's first key.
    pub const FIRST: Self = Self(NonZeroU32::MIN);

    /// Returns the epoch with this number, or `None` for 0, which stands for no epoch.
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number of the epoch.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The device that a key was issued to, and the key's place in the order of that device's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceIssue {
    /// The device.
    pub device: DeviceId,
    /// The epoch.
    pub epoch: Epoch,
}

impl fmt::Display for DeviceIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device '{}', epoch {}", self.device, self.epoch)
    }
}
