//! The squares and flags that are derived from the codes of a compact column.

use tfhe_sbc_core::encoding::{are_cuts, CompactEncoding, Derivation};

use crate::columns::Compact;
use crate::memory::{self, Region};
use crate::status::Status;

/// The squares and flags that a board derives from a compact column and sends beside it, so that sums of it need no bootstrap. All
/// zeros stand for nothing. The library computes the derived codes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Derived {
    /// The compact form of the squares of the codes, which have twice their bits, at most 40; all zeros if no
    /// squares are sent. With squares, variances and standard deviations need no bootstrap.
    pub square: Compact,
    /// The first code of each flag, in increasing order, from 1 to the highest code. A flag is 1 for this code
    /// and all above it, and 0 for those below. With a flag at each threshold and edge, counts and
    /// histograms need no bootstrap. Not read if there are no flags.
    pub flags_from: *const u64,
    /// The number of flags.
    pub flag_count: usize,
    /// The compact form of the flags, which are codes of one bit; all zeros if there are none.
    pub flags: Compact,
}

impl Derived {
    /// The number of derived columns.
    pub(crate) fn count(&self) -> usize {
        usize::from(!self.square.is_none()).saturating_add(self.flag_count)
    }

    /// Returns what is derived from codes of `bits` bits, in the forms that are stated.
    ///
    /// # Safety
    /// If there are flags and their codes are not NULL, they are as many as is stated, and nothing writes them
    /// during `'a`.
    pub(crate) unsafe fn of<'a>(&self, bits: u32) -> Result<tfhe_sbc_device::Derived<'a>, Status> {
        let form = |compact: &Compact, derivation: Derivation| {
            let bits = derivation.bits(bits.min(CompactEncoding::MAX_BITS));
            compact.encoding(bits)
        };
        let square = match self.square.is_none() {
            true => None,
            false => Some(form(&self.square, Derivation::Square)?),
        };
        // SAFETY: the caller's promise.
        let flags = match unsafe { self.flags_from()? } {
            [] if !self.flags.is_none() => return Err(Status::Derived),
            [] => None,
            from => Some((from, form(&self.flags, Derivation::From(0))?)),
        };
        Ok(tfhe_sbc_device::Derived { square, flags })
    }

    /// Checks what is derived from codes of `bits` bits. `is_compact` says whether their column is compact.
    ///
    /// # Safety
    /// As for [`Derived::of`].
    pub(crate) unsafe fn check(&self, bits: u32, is_compact: bool) -> Result<(), Status> {
        if self.count() > 0 && !is_compact {
            return Err(Status::Derived);
        }
        // SAFETY: the caller's promise.
        match unsafe { self.of(bits)? }.flags {
            Some((from, _)) if !are_cuts(from, bits) => Err(Status::Derived),
            _ => Ok(()),
        }
    }

    /// The memory that the codes of the flags are in, once they have been checked.
    pub(crate) fn region(&self) -> Region {
        Region::new(
            self.flags_from,
            self.flag_count.saturating_mul(size_of::<u64>()),
        )
    }

    /// Returns the first code of each flag.
    ///
    /// # Safety
    /// As for [`Derived::of`].
    unsafe fn flags_from<'a>(&self) -> Result<&'a [u64], Status> {
        match self.flag_count {
            0 => Ok(&[]),
            // SAFETY: the caller's promise.
            count => unsafe { memory::input(self.flags_from, count) },
        }
    }
}
