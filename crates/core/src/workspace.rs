//! Typed slices of one buffer of bytes that the caller provides, which is the memory of code without
//! an allocator.
//!
//! A [`Workspace`] is such a buffer with the best alignment; any other bytes will do if their
//! address is a multiple of [`MIN_ALIGNMENT`]. A [`Carver`] cuts slices off its front, and
//! [`wipe`] clears them.
#![expect(
    unsafe_code,
    reason = "bytes as numbers: the one place where memory is retyped"
)]

use core::fmt;

use thiserror::Error;

/// The alignment of a [`Workspace`], with which the transforms are fastest.
pub const ALIGNMENT: usize = 64;
/// The alignment that any workspace must have.
pub const MIN_ALIGNMENT: usize = 8;

/// The reason why a workspace cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WorkspaceError {
    /// The workspace is too small.
    #[error("the workspace has {found} bytes, {needed} are needed")]
    TooSmall {
        /// The number of bytes that are needed.
        needed: usize,
        /// The number of bytes that were given.
        found: usize,
    },
    /// The address of the workspace is not aligned.
    #[error(
        "the workspace is not aligned to {MIN_ALIGNMENT} bytes: align it, to {ALIGNMENT} for speed"
    )]
    Misaligned,
}

/// Bytes aligned for speed, for a static or the stack.
#[repr(C, align(64))]
pub struct Workspace<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> Workspace<BYTES> {
    /// Makes a workspace of zeros.
    pub const fn new() -> Self {
        Self([0; BYTES])
    }

    /// The bytes of the workspace.
    pub const fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Shows nothing of the content, which is secret.
impl<const BYTES: usize> fmt::Debug for Workspace<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workspace({BYTES} bytes)")
    }
}

impl<const BYTES: usize> Default for Workspace<BYTES> {
    fn default() -> Self {
        Self::new()
    }
}

/// A workspace on the heap, of a size that is known when the program runs.
#[cfg(feature = "alloc")]
pub struct HeapWorkspace(aligned_vec::AVec<u8, aligned_vec::ConstAlign<ALIGNMENT>>);

#[cfg(feature = "alloc")]
impl HeapWorkspace {
    /// Makes a workspace of zeros.
    pub fn new(bytes: usize) -> Self {
        let zeros = core::iter::repeat_n(0, bytes);
        Self(aligned_vec::AVec::from_iter(ALIGNMENT, zeros))
    }

    /// The bytes of the workspace.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[cfg(feature = "alloc")]
impl fmt::Debug for HeapWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeapWorkspace({} bytes)", self.0.len())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i8 {}
    impl Sealed for u8 {}
    impl Sealed for i32 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for f64 {}
}

/// A type of number for which any bytes are a valid value and whose alignment is at most
/// [`MIN_ALIGNMENT`]. The trait is sealed, because [`Carver::take`] relies on that.
pub trait Number: sealed::Sealed + Copy + Default + 'static {}

macro_rules! impl_number {
    ($($number:ty),*) => {$(
        impl Number for $number {}
        const _: () = assert!(align_of::<$number>() <= MIN_ALIGNMENT);
    )*};
}

impl_number!(i8, u8, i32, u32, u64, f64);

/// Cuts typed slices off the front of a buffer.
pub struct Carver<'w> {
    rest: &'w mut [u8],
}

impl<'w> Carver<'w> {
    /// Takes a buffer, whose content will be overwritten, and checks its alignment and that it has
    /// `needed` bytes.
    pub fn new(buffer: &'w mut [u8], needed: usize) -> Result<Self, WorkspaceError> {
        let found = buffer.len();
        if found < needed {
            return Err(WorkspaceError::TooSmall { needed, found });
        }
        if buffer.as_ptr().align_offset(MIN_ALIGNMENT) != 0 {
            return Err(WorkspaceError::Misaligned);
        }
        Ok(Self { rest: buffer })
    }

    /// Returns the next `count` numbers. Take the widest type first: no bytes are skipped for alignment.
    pub fn take<N: Number>(&mut self, count: usize) -> Result<&'w mut [N], WorkspaceError> {
        let found = self.rest.len();
        let needed = count.saturating_mul(size_of::<N>());
        let too_small = WorkspaceError::TooSmall { needed, found };
        let rest = core::mem::take(&mut self.rest);
        let (bytes, rest) = rest.split_at_mut_checked(needed).ok_or(too_small)?;
        self.rest = rest;
        let start = bytes.as_mut_ptr().cast::<N>();
        if !start.is_aligned() {
            return Err(WorkspaceError::Misaligned);
        }
        // SAFETY: `start` is aligned for N and points to `count · size_of::<N>()`
        // initialised bytes, which `bytes` borrows alone for 'w and gives up here. N is
        // sealed: every pattern of bytes is a value of it, and it has no padding.
        Ok(unsafe { core::slice::from_raw_parts_mut(start, count) })
    }
}

/// Overwrites numbers with zeros, in stores that the compiler does not leave out but may combine to
/// wide ones.
#[inline]
pub fn wipe<N: Number>(secrets: &mut [N]) {
    secrets.fill(N::default());
    zeroize::optimization_barrier(secrets);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slices_follow_each_other_and_do_not_overlap() {
        let mut workspace = Workspace::<256>::new();
        let bytes = workspace.as_mut_slice();
        bytes.fill(0xff);
        let start = bytes.as_ptr().addr();
        assert_eq!(start % ALIGNMENT, 0);
        let mut carver = Carver::new(bytes, 256).unwrap();
        let floats = carver.take::<f64>(4).unwrap();
        let words = carver.take::<u64>(3).unwrap();
        let halves = carver.take::<u32>(5).unwrap();
        let packed = carver.take::<u8>(7).unwrap();
        assert!(floats.iter().all(|x| x.is_nan()));
        assert_eq!((words[2], halves[4], packed[6]), (u64::MAX, u32::MAX, 255));
        floats.fill(1.5);
        words.fill(2);
        halves.fill(3);
        packed.fill(4);
        assert!(floats.iter().all(|&x| x == 1.5));
        assert!(words.iter().all(|&x| x == 2));
        assert!(halves.iter().all(|&x| x == 3));
        assert_eq!(words.as_ptr().addr() - start, 32);
        assert_eq!(halves.as_ptr().addr() - start, 56);
        assert_eq!(packed.as_ptr().addr() - start, 76);
        let rest = carver.take::<u8>(256 - 83).unwrap();
        assert!(rest.iter().all(|&x| x == 255));
        assert_eq!(carver.take::<u8>(0).map(|rest| rest.len()), Ok(0));
        assert_eq!(
            carver.take::<u8>(1).map(|_| ()),
            Err(WorkspaceError::TooSmall {
                needed: 1,
                found: 0
            })
        );
    }

    #[test]
    fn every_misalignment_is_an_error() {
        let mut workspace = Workspace::<256>::new();
        for offset in 0..64 {
            let result = Carver::new(&mut workspace.as_mut_slice()[offset..], 64).map(drop);
            let expected = match offset % MIN_ALIGNMENT {
                0 => Ok(()),
                _ => Err(WorkspaceError::Misaligned),
            };
            assert_eq!(result, expected, "offset {offset}");
        }
        let mut carver = Carver::new(workspace.as_mut_slice(), 64).unwrap();
        carver.take::<u8>(1).unwrap();
        assert_eq!(
            carver.take::<u64>(1).map(drop),
            Err(WorkspaceError::Misaligned)
        );
    }

    #[test]
    fn sizes_beyond_all_memory_are_errors() {
        let mut workspace = Workspace::<64>::new();
        let too_small = |needed| Err(WorkspaceError::TooSmall { needed, found: 64 });
        assert_eq!(
            Carver::new(workspace.as_mut_slice(), 65).map(drop),
            too_small(65)
        );
        let mut carver = Carver::new(workspace.as_mut_slice(), 64).unwrap();
        assert_eq!(
            carver.take::<u64>(usize::MAX).map(drop),
            too_small(usize::MAX)
        );
    }

    /// Takes numbers of a width, and returns their address and their length in bytes.
    fn taken(
        carver: &mut Carver<'_>,
        width: usize,
        count: usize,
    ) -> Result<(usize, usize), WorkspaceError> {
        fn place<N: Number>(numbers: &mut [N]) -> (usize, usize) {
            (numbers.as_ptr().addr(), size_of_val(numbers))
        }
        match width {
            1 => carver.take::<u8>(count).map(place),
            4 => carver.take::<u32>(count).map(place),
            _ => carver.take::<f64>(count).map(place),
        }
    }

    /// Compares what numbers are taken with what should be, until one is refused.
    fn check_takes(buffer: &mut [u8], takes: &[(usize, usize)]) {
        let (start, len) = (buffer.as_ptr().addr(), buffer.len());
        let mut carver = Carver::new(buffer, len).unwrap();
        let mut end = 0;
        for &(width, count) in takes {
            let found = len - end;
            let needed = count.saturating_mul(width);
            let expected = match (needed > found, end % width) {
                (true, _) => Err(WorkspaceError::TooSmall { needed, found }),
                (false, 0) => Ok((start + end, needed)),
                (false, _) => Err(WorkspaceError::Misaligned),
            };
            assert_eq!(
                taken(&mut carver, width, count),
                expected,
                "{len} {takes:?}"
            );
            if expected.is_err() {
                return;
            }
            end += needed;
        }
    }

    /// Slices follow each other, are aligned, and end within the buffer: three of them, of all widths and of every
    /// count up to the length of every small buffer.
    #[test]
    fn all_small_slices_are_where_they_should_be() {
        const LEN: usize = if cfg!(miri) { 9 } else { 25 };
        let mut workspace = Workspace::<LEN>::new();
        let all = || {
            [1, 4, 8]
                .into_iter()
                .flat_map(|width| (0..=LEN / width + 1).map(move |count| (width, count)))
        };
        for len in 0..=LEN {
            let buffer = &mut workspace.as_mut_slice()[..len];
            for (first, second) in all().flat_map(|first| all().map(move |second| (first, second)))
            {
                for third in [(1, 0), (1, 1), (4, 1), (8, 1), (8, 0)] {
                    check_takes(buffer, &[first, second, third]);
                }
            }
        }
    }

    proptest! {
        /// The same for counts of any size, whose products with a width overflow.
        #[test]
        fn slices_of_any_size_are_where_they_should_be(
            len in 0..=256usize,
            takes in proptest::collection::vec(
                (prop_oneof![Just(1usize), Just(4), Just(8)], prop_oneof![0..40usize, any::<usize>()]),
                0..8,
            ),
        ) {
            let mut workspace = Workspace::<256>::new();
            check_takes(&mut workspace.as_mut_slice()[..len], &takes);
        }
    }

    #[cfg(feature = "std")]
    #[test]
    fn debug_shows_no_secret() {
        let mut workspace = Workspace::<4>::new();
        workspace.as_mut_slice().fill(171);
        assert_eq!(format!("{workspace:?}"), "Workspace(4 bytes)");
        let mut workspace = HeapWorkspace::new(4);
        workspace.as_mut_slice().fill(171);
        assert_eq!(format!("{workspace:?}"), "HeapWorkspace(4 bytes)");
    }

    #[test]
    fn wiping_leaves_zeros() {
        let mut numbers = [1.5, f64::NAN];
        wipe(&mut numbers);
        assert_eq!(numbers, [0.0; 2]);
    }
}
