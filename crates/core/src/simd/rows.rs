//! The real and the imaginary parts of a polynomial, seen as the rows of two matrices. A pass of a transform goes through their columns from
//! the first to the last, so that it pays one check per column instead of one per point, and an address takes no more than a pointer and a multiple of the distance of rows.

use core::marker::PhantomData;

/// The columns of `R` rows of real and as many of imaginary parts, for reading.
pub(crate) struct Columns<'a, T, const R: usize> {
    re: *const T,
    im: *const T,
    /// The number of bytes from a row to the next.
    stride: usize,
    left: usize,
    elements: PhantomData<&'a T>,
}

/// The elements of a column, for reading.
pub(crate) struct Column<'a, T, const R: usize> {
    re: *const T,
    im: *const T,
    stride: usize,
    elements: PhantomData<&'a T>,
}

impl<'a, T, const R: usize> Columns<'a, T, R> {
    /// Views `re` and `im` as rows, one behind the other.
    ///
    /// # Panics
    ///
    /// If they differ in length, or the number of elements is not a multiple of `R`.
    #[inline(always)]
    pub(crate) fn new(re: &'a [T], im: &'a [T]) -> Self {
        let columns = columns_of::<T, R>(re, im);
        Self {
            re: re.as_ptr(),
            im: im.as_ptr(),
            stride: columns * size_of::<T>(),
            left: columns,
            elements: PhantomData,
        }
    }
}

impl<'a, T, const R: usize> Iterator for Columns<'a, T, R> {
    type Item = Column<'a, T, R>;

    #[inline(always)]
    fn next(&mut self) -> Option<Column<'a, T, R>> {
        self.left = self.left.checked_sub(1)?;
        let column = Column {
            re: self.re,
            im: self.im,
            stride: self.stride,
            elements: PhantomData,
        };
        self.re = self.re.wrapping_add(1);
        self.im = self.im.wrapping_add(1);
        Some(column)
    }
}

impl<'a, T, const R: usize> Column<'a, T, R> {
    /// Returns the real part in a row.
    #[inline(always)]
    pub(crate) fn re(&self, row: usize) -> &'a T {
        assert!(row < R);
        // SAFETY: `re` points to an element of the first row of `R`, which are `stride` bytes apart and borrowed for 'a.
        unsafe { &*self.re.byte_add(row * self.stride) }
    }

    /// Returns the imaginary part in a row.
    #[inline(always)]
    pub(crate) fn im(&self, row: usize) -> &'a T {
        assert!(row < R);
        // SAFETY: as for real parts.
        unsafe { &*self.im.byte_add(row * self.stride) }
    }
}

/// The columns of `R` rows of real and as many of imaginary parts.
pub(crate) struct ColumnsMut<'a, T, const R: usize> {
    re: *mut T,
    im: *mut T,
    stride: usize,
    left: usize,
    elements: PhantomData<&'a mut T>,
}

/// The elements of a column.
pub(crate) struct ColumnMut<'a, T, const R: usize> {
    re: *mut T,
    im: *mut T,
    stride: usize,
    elements: PhantomData<&'a mut T>,
}

impl<'a, T, const R: usize> ColumnsMut<'a, T, R> {
    /// Does the same as [`Columns::new`].
    ///
    /// # Panics
    ///
    /// As that.
    #[inline(always)]
    pub(crate) fn new(re: &'a mut [T], im: &'a mut [T]) -> Self {
        let columns = columns_of::<T, R>(re, im);
        Self {
            re: re.as_mut_ptr(),
            im: im.as_mut_ptr(),
            stride: columns * size_of::<T>(),
            left: columns,
            elements: PhantomData,
        }
    }
}

impl<'a, T, const R: usize> Iterator for ColumnsMut<'a, T, R> {
    type Item = ColumnMut<'a, T, R>;

    #[inline(always)]
    fn next(&mut self) -> Option<ColumnMut<'a, T, R>> {
        self.left = self.left.checked_sub(1)?;
        let column = ColumnMut {
            re: self.re,
            im: self.im,
            stride: self.stride,
            elements: PhantomData,
        };
        self.re = self.re.wrapping_add(1);
        self.im = self.im.wrapping_add(1);
        Some(column)
    }
}

impl<T, const R: usize> ColumnMut<'_, T, R> {
    /// Returns the real part in a row.
    #[inline(always)]
    pub(crate) fn re(&mut self, row: usize) -> &mut T {
        assert!(row < R);
        // SAFETY: `re` points to an element of the first row of `R`, which are `stride` bytes apart. No other column has
        // their elements of this column, and a reference to one borrows the column.
        unsafe { &mut *self.re.byte_add(row * self.stride) }
    }

    /// Returns the imaginary part in a row.
    #[inline(always)]
    pub(crate) fn im(&mut self, row: usize) -> &mut T {
        assert!(row < R);
        // SAFETY: as for real parts.
        unsafe { &mut *self.im.byte_add(row * self.stride) }
    }
}

/// Returns the number of columns of `R` rows.
#[inline(always)]
fn columns_of<T, const R: usize>(re: &[T], im: &[T]) -> usize {
    let columns = re.len() / R;
    assert!(re.len() == im.len() && re.len() == R * columns);
    columns
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
