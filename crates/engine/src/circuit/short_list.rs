//! Lists that are usually so short that they need no allocation.

use std::ops::{Deref, DerefMut};

/// A list of up to `N` elements in place, or of more on the heap.
#[derive(Clone)]
pub(super) enum ShortList<T, const N: usize> {
    /// The elements at the beginning of the array, and their number.
    Few([T; N], u8),
    /// More than `N` elements.
    Many(Vec<T>),
}

impl<T: Copy + Default, const N: usize> ShortList<T, N> {
    pub(super) fn push(&mut self, element: T) {
        match self {
            Self::Few(few, len) => match few.get_mut(usize::from(*len)) {
                Some(place) => {
                    *place = element;
                    *len += 1;
                }
                None => {
                    let mut many = Vec::with_capacity(2 * N);
                    many.extend_from_slice(few);
                    many.push(element);
                    *self = Self::Many(many);
                }
            },
            Self::Many(many) => many.push(element),
        }
    }
}

impl<T: Copy + Default, const N: usize> Default for ShortList<T, N> {
    fn default() -> Self {
        const { assert!(N <= u8::MAX as usize) };
        Self::Few([T::default(); N], 0)
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
        const { assert!(N <= u8::MAX as usize) };
        let mut elements = elements.into_iter();
        let mut few = [T::default(); N];
        let mut len = 0;
        for element in elements.by_ref() {
            let Some(place) = few.get_mut(len) else {
                let mut many = few.to_vec();
                many.push(element);
                many.extend(elements);
                return Self::Many(many);
            };
            *place = element;
            len += 1;
        }
        Self::Few(few, len as u8)
    }
}

impl<T, const N: usize> Deref for ShortList<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Few(few, len) => &few[..usize::from(*len)],
            Self::Many(many) => many,
        }
    }
}

impl<T, const N: usize> DerefMut for ShortList<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Few(few, len) => &mut few[..usize::from(*len)],
            Self::Many(many) => many,
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
