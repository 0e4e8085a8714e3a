//! A slice seen as the rows of a matrix, so that the inner loop of a transform
//! pass pays one bounds check per column instead of one per point.

/// `R` rows of `columns` elements each, for reading.
#[derive(Clone, Copy)]
pub(crate) struct RowsRef<'a, T, const R: usize> {
    elements: &'a [T],
    columns: usize,
}

impl<'a, T, const R: usize> RowsRef<'a, T, R> {
    /// Views `elements` as rows.
    ///
    /// # Panics
    ///
    /// If the number of elements is not a multiple of `R`.
    #[inline(always)]
    pub(crate) fn new(elements: &'a [T]) -> Self {
        let columns = elements.len() / R;
        assert!(elements.len() == R * columns);
        Self { elements, columns }
    }

    /// The number of columns.
    #[inline(always)]
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the element of a row and a column.
    #[inline(always)]
    pub(crate) fn get(&self, row: usize, column: usize) -> &'a T {
        assert!(row < R && column < self.columns);
        // SAFETY: row * columns + column < R * columns, the number of elements.
        unsafe { self.elements.get_unchecked(row * self.columns + column) }
    }
}

/// `R` rows of `columns` elements each.
pub(crate) struct Rows<'a, T, const R: usize> {
    elements: &'a mut [T],
    columns: usize,
}

impl<'a, T, const R: usize> Rows<'a, T, R> {
    /// Views `elements` as rows.
    ///
    /// # Panics
    ///
    /// If the number of elements is not a multiple of `R`.
    #[inline(always)]
    pub(crate) fn new(elements: &'a mut [T]) -> Self {
        let columns = elements.len() / R;
        assert!(elements.len() == R * columns);
        Self { elements, columns }
    }

    /// The number of columns.
    #[inline(always)]
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the element of a row and a column.
    #[inline(always)]
    pub(crate) fn get(&self, row: usize, column: usize) -> &T {
        assert!(row < R && column < self.columns);
        // SAFETY: row * columns + column < R * columns, the number of elements.
        unsafe { self.elements.get_unchecked(row * self.columns + column) }
    }

    /// Returns the element of a row and a column.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, row: usize, column: usize) -> &mut T {
        assert!(row < R && column < self.columns);
        // SAFETY: row * columns + column < R * columns, the number of elements.
        unsafe { self.elements.get_unchecked_mut(row * self.columns + column) }
    }
}
