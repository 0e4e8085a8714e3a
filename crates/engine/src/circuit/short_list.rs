//! Lists that are usually so short that they need no allocation.

use std::ops::{Deref, DerefMut};

/// A list of up to `N` elements in place, or of more on the heap.
#[derive(Clone)]
pub(super) struct ShortList<T, const N: usize> {
    /// The number of elements in `few`.
    len: usize,
    few: [T; N],
    /// All elements, once there are more than `N`; empty before.
    many: Vec<T>,
}

impl<T: Copy + Default, const N: usize> ShortList<T, N> {
    pub(super) fn push(&mut self, element: T) {
        match self.few.get_mut(self.len) {
            Some(place) if self.many.is_empty() => {
                *place = element;
                self.len += 1;
            }
            _ => {
                if self.many.is_empty() {
                    self.many.extend_from_slice(&self.few);
                }
                self.many.push(element);
            }
        }
    }
}

impl<T: Copy + Default, const N: usize> Default for ShortList<T, N> {
    fn default() -> Self {
        Self {
            len: 0,
            few: [T::default(); N],
            many: Vec::new(),
        }
    }
}

impl<T: Copy + Default, const N: usize> Extend<T> for ShortList<T, N> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        for element in elements {
            self.push(element);
        }
    }
}

impl<T: Copy + Default, const N: usize> FromIterator<T> for ShortList<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut list = Self::default();
        list.extend(elements);
        list
    }
}

impl<T, const N: usize> Deref for ShortList<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self.many.is_empty() {
            true => &self.few[..self.len],
            false => &self.many,
        }
    }
}

impl<T, const N: usize> DerefMut for ShortList<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self.many.is_empty() {
            true => &mut self.few[..self.len],
            false => &mut self.many,
        }
    }
}

impl<T: PartialEq, const N: usize> PartialEq for ShortList<T, N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq, const N: usize> Eq for ShortList<T, N> {}

impl<T: std::fmt::Debug, const N: usize> std::fmt::Debug for ShortList<T, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_those_of_a_vector() {
        for len in 0..10u8 {
            let mut list: ShortList<u8, 3> = (0..len).collect();
            let mut vector: Vec<u8> = (0..len).collect();
            assert_eq!(*list, vector[..]);
            list.extend([7, 9]);
            vector.extend([7, 9]);
            list[0] = 8;
            vector[0] = 8;
            assert_eq!(*list.clone(), vector[..]);
        }
        let (short, long): (ShortList<u8, 3>, ShortList<u8, 3>) =
            ((0..3).collect(), (0..4).collect());
        assert_ne!(short, long);
    }
}
