//! The real and the imaginary parts of a polynomial, seen as the rows of two matrices. A pass of a transform goes through their columns from
//! the first to the last, so that it pays one check per column instead of one per point, and an address takes no more than a pointer and a multiple of the distance of rows.

use core::marker::PhantomData;
use core::ptr;

/// The columns of `R` rows of real and as many of imaginary parts, for reading.
pub(crate) struct Columns<'a, T, const R: usize> {
    places: Places<T, R>,
    elements: PhantomData<&'a T>,
}

/// The columns of `R` rows of real and as many of imaginary parts.
pub(crate) struct ColumnsMut<'a, T, const R: usize> {
    places: Places<T, R>,
    elements: PhantomData<&'a mut T>,
}

/// The elements of a column, for reading.
pub(crate) struct Column<'a, T, const R: usize> {
    place: Place<T, R>,
    elements: PhantomData<&'a T>,
}

/// The elements of a column.
pub(crate) struct ColumnMut<'a, T, const R: usize> {
    place: Place<T, R>,
    elements: PhantomData<&'a mut T>,
}

/// The places of the columns that are left.
struct Places<T, const R: usize> {
    first: Place<T, R>,
    left: usize,
}

/// Pointers to the elements of a column in the first rows. Those of the other rows follow at the same distance.
struct Place<T, const R: usize> {
    re: *mut T,
    im: *mut T,
    /// The number of bytes from a row to the next.
    stride: usize,
}

impl<T, const R: usize> Places<T, R> {
    /// Returns the places of the columns of real and of imaginary parts that lie at these addresses, row behind row.
    ///
    /// # Panics
    ///
    /// If they differ in length, or the number of elements is not a multiple of `R`.
    #[inline(always)]
    fn new(re: *mut [T], im: *mut [T]) -> Self {
        let columns = re.len() / R;
        assert!(re.len() == im.len() && re.len() == R * columns);
        let first = Place {
            re: re.cast(),
            im: im.cast(),
            stride: columns * size_of::<T>(),
        };
        Self {
            first,
            left: columns,
        }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<Place<T, R>> {
        self.left = self.left.checked_sub(1)?;
        let Place { re, im, stride } = self.first;
        self.first.re = re.wrapping_add(1);
        self.first.im = im.wrapping_add(1);
        Some(Place { re, im, stride })
    }
}

impl<T, const R: usize> Place<T, R> {
    /// Returns the address of the real part in a row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[inline(always)]
    fn re(&self, row: usize) -> *mut T {
        assert!(row < R);
        self.re.wrapping_byte_add(row * self.stride)
    }

    /// Does the same as [`re`](Self::re) for the imaginary part.
    #[inline(always)]
    fn im(&self, row: usize) -> *mut T {
        assert!(row < R);
        self.im.wrapping_byte_add(row * self.stride)
    }
}

impl<'a, T, const R: usize> Columns<'a, T, R> {
    /// Views `re` and `im` as rows, one behind the other.
    ///
    /// # Panics
    ///
    /// If they differ in length, or the number of elements is not a multiple of `R`.
    #[inline(always)]
    pub(crate) fn new(re: &'a [T], im: &'a [T]) -> Self {
        Self {
            places: Places::new(ptr::from_ref(re).cast_mut(), ptr::from_ref(im).cast_mut()),
            elements: PhantomData,
        }
    }
}

impl<'a, T, const R: usize> ColumnsMut<'a, T, R> {
    /// Does the same as [`Columns::new`].
    ///
    /// # Panics
    ///
    /// As that.
    #[inline(always)]
    pub(crate) fn new(re: &'a mut [T], im: &'a mut [T]) -> Self {
        Self {
            places: Places::new(re, im),
            elements: PhantomData,
        }
    }
}

impl<'a, T, const R: usize> Iterator for Columns<'a, T, R> {
    type Item = Column<'a, T, R>;

    #[inline(always)]
    fn next(&mut self) -> Option<Column<'a, T, R>> {
        Some(Column {
            place: self.places.next()?,
            elements: PhantomData,
        })
    }
}

impl<'a, T, const R: usize> Iterator for ColumnsMut<'a, T, R> {
    type Item = ColumnMut<'a, T, R>;

    #[inline(always)]
    fn next(&mut self) -> Option<ColumnMut<'a, T, R>> {
        Some(ColumnMut {
            place: self.places.next()?,
            elements: PhantomData,
        })
    }
}

impl<'a, T, const R: usize> Column<'a, T, R> {
    /// Returns the real part in a row.
    #[inline(always)]
    pub(crate) fn re(&self, row: usize) -> &'a T {
        // SAFETY: the place is one of `Places`, and all elements of its rows are borrowed for 'a.
        unsafe { &*self.place.re(row) }
    }

    /// Returns the imaginary part in a row.
    #[inline(always)]
    pub(crate) fn im(&self, row: usize) -> &'a T {
        // SAFETY: as for real parts.
        unsafe { &*self.place.im(row) }
    }
}

impl<T, const R: usize> ColumnMut<'_, T, R> {
    /// Returns the real part in a row.
    #[inline(always)]
    pub(crate) fn re(&mut self, row: usize) -> &mut T {
        // SAFETY: the place is one of `Places`, and all elements of its rows are borrowed. No other column has an element
        // of this one, and a reference to one borrows the column.
        unsafe { &mut *self.place.re(row) }
    }

    /// Returns the imaginary part in a row.
    #[inline(always)]
    pub(crate) fn im(&mut self, row: usize) -> &mut T {
        // SAFETY: as for real parts.
        unsafe { &mut *self.place.im(row) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_elements_of_all_rows() {
        let (re, im): ([u8; 12], [u8; 12]) = (
            core::array::from_fn(|i| i as u8),
            core::array::from_fn(|i| 100 + i as u8),
        );
        let (mut to_re, mut to_im) = ([0; 12], [0; 12]);
        let mut count = 0;
        let to = ColumnsMut::<_, 4>::new(&mut to_re, &mut to_im);
        for (column, mut to) in Columns::<_, 4>::new(&re, &im).zip(to) {
            for row in 0..4 {
                assert_eq!(usize::from(*column.re(row)), 3 * row + count);
                *to.re(row) = *column.re(row);
                *to.im(row) = *column.im(row);
            }
            count += 1;
        }
        assert_eq!((count, to_re, to_im), (3, re, im));
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn rows_of_different_lengths_are_refused() {
        Columns::<_, 2>::new(&[0; 4], &[0; 6]);
    }
}
