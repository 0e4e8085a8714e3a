//! Conversion of slices of a generic torus type to slices of the integer type that it is, for
//! kernels whose code differs between 32 and 64 bits, or to bytes.

use core::any::TypeId;
use core::slice;

use crate::torus::Torus;

/// A slice of torus elements of known width.
pub(crate) enum TorusSlice<'a> {
    U32(&'a [u32]),
    U64(&'a [u64]),
}

/// A mutable slice of torus elements of known width.
pub(crate) enum TorusSliceMut<'a> {
    U32(&'a mut [u32]),
    U64(&'a mut [u64]),
}

impl<'a> TorusSlice<'a> {
    #[inline(always)]
    pub(crate) fn new<T: Torus>(data: &'a [T]) -> Self {
        if TypeId::of::<T>() == TypeId::of::<u32>() {
            // SAFETY: T is u32.
            Self::U32(unsafe { slice::from_raw_parts(data.as_ptr().cast(), data.len()) })
        } else {
            assert!(TypeId::of::<T>() == TypeId::of::<u64>());
            // SAFETY: T is u64.
            Self::U64(unsafe { slice::from_raw_parts(data.as_ptr().cast(), data.len()) })
        }
    }
}

impl TorusSlice<'_> {
    /// The number of bits of an element.
    #[cfg_attr(not(feature = "alloc"), allow(dead_code))]
    pub(crate) fn bits(&self) -> u32 {
        match self {
            Self::U32(_) => u32::BITS,
            Self::U64(_) => u64::BITS,
        }
    }
}

impl<'a> TorusSliceMut<'a> {
    #[inline(always)]
    pub(crate) fn new<T: Torus>(data: &'a mut [T]) -> Self {
        if TypeId::of::<T>() == TypeId::of::<u32>() {
            // SAFETY: T is u32, and the borrow of `data` passes to the result.
            Self::U32(unsafe { slice::from_raw_parts_mut(data.as_mut_ptr().cast(), data.len()) })
        } else {
            assert!(TypeId::of::<T>() == TypeId::of::<u64>());
            // SAFETY: T is u64, and the borrow of `data` passes to the result.
            Self::U64(unsafe { slice::from_raw_parts_mut(data.as_mut_ptr().cast(), data.len()) })
        }
    }
}

/// Returns the bytes of the elements, in the byte order of this machine.
#[inline(always)]
pub(crate) fn as_bytes_mut<T: Torus>(data: &mut [T]) -> &mut [u8] {
    // SAFETY: T is u32 or u64, for `Torus` is sealed: no padding, every pattern of bytes
    // is a value, and u8 has no alignment. The borrow of `data` passes to the result.
    unsafe { slice::from_raw_parts_mut(data.as_mut_ptr().cast(), size_of_val(data)) }
}
