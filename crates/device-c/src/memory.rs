//! Pointers from C, checked as far as possible.

use core::slice;

use crate::status::Status;

/// A region of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    start: usize,
    len: usize,
}

impl Region {
    /// An empty region, which overlaps nothing.
    pub(crate) const NONE: Self = Self { start: 0, len: 0 };

    /// Returns the region of a slice.
    pub(crate) fn of<T>(slice: &[T]) -> Self {
        Self::new(slice.as_ptr(), size_of_val(slice))
    }

    pub(crate) fn new<T>(start: *const T, len: usize) -> Self {
        Self {
            start: start.addr(),
            len,
        }
    }

    fn overlaps(self, other: Self) -> bool {
        self.len > 0
            && other.len > 0
            && self.start < other.start + other.len
            && other.start < self.start + self.len
    }
}

/// Checks that what is written overlaps nothing else. Regions that are only read may overlap each
/// other.
pub(crate) fn check_apart(written: &[Region], read: &[Region]) -> Result<(), Status> {
    for (index, &one) in written.iter().enumerate() {
        let mut others = written[index + 1..].iter().chain(read);
        if others.any(|&other| one.overlaps(other)) {
            return Err(Status::Overlap);
        }
    }
    Ok(())
}

/// Returns `len` values for reading.
///
/// # Safety
/// If `start` is not NULL, it points to `len` values that nothing writes during `'a`.
pub(crate) unsafe fn input<'a, T>(start: *const T, len: usize) -> Result<&'a [T], Status> {
    check(start, len)?;
    // SAFETY: not NULL, aligned and of a length that memory can have; the rest is the
    // caller's promise.
    Ok(unsafe { slice::from_raw_parts(start, len) })
}

/// Returns `len` numbers for writing. The caller has checked that they overlap nothing.
///
/// # Safety
/// If `start` is not NULL, it points to `len` numbers that nothing else uses during `'a`.
pub(crate) unsafe fn output<'a, T>(start: *mut T, len: usize) -> Result<&'a mut [T], Status> {
    check(start, len)?;
    // SAFETY: as above.
    Ok(unsafe { slice::from_raw_parts_mut(start, len) })
}

/// Checks that a pointer can be one to `len` values: not NULL, aligned, and of a possible length.
pub(crate) fn check<T>(start: *const T, len: usize) -> Result<Region, Status> {
    if start.is_null() {
        return Err(Status::Null);
    }
    if !start.is_aligned() {
        return Err(Status::Misaligned);
    }
    let bytes = len.checked_mul(size_of::<T>()).ok_or(Status::Length)?;
    if bytes > isize::MAX as usize || start.addr().checked_add(bytes).is_none() {
        return Err(Status::Length);
    }
    Ok(Region::new(start, bytes))
}
