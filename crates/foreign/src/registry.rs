//! The registry of the libraries that are known here: one constant in the folder of each, and one
//! line in [`LIBRARIES`].

use tfhe_sbc_core::wire::card::LibraryNumber;

/// A library whose keys and ciphertexts are known here.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// The name on command lines, such as `tfhe-rs`.
    pub name: &'static str,
    /// The name in sentences, such as `TFHE-rs`.
    pub title: &'static str,
    /// The number on the cards of keys that were imported from it; `None` if its uploads carry all
    /// that a conversion needs. Numbers are part of a file format and never change.
    pub number: Option<LibraryNumber>,
    /// Describes a file, if this library makes such files. It allocates no more than the bytes at
    /// hand account for.
    pub describe: fn(&[u8]) -> Option<Description>,
}

/// All libraries, in the order in which they are asked about a file: those that recognise their
/// files by a name come before those that go by lengths and ranges of values.
pub const LIBRARIES: [&Library; 3] = [
    &crate::tfhe_rs::LIBRARY,
    &crate::tfhepp::LIBRARY,
    &crate::seal::LIBRARY,
];

impl Library {
    /// Returns the library with that number on its cards, if it is known here.
    pub fn with_number(number: LibraryNumber) -> Option<&'static Self> {
        let mut libraries = LIBRARIES.into_iter();
        libraries.find(|library| library.number == Some(number))
    }
}

/// The description of a file of another library. It holds no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name of the library that makes such files.
    pub library: &'static str,
    /// The kind of the file, such as a type of the library.
    pub kind: String,
    /// Properties of the content, as pairs of a name and a value.
    pub details: Vec<(&'static str, String)>,
}

/// Describes a file, if one of the known libraries makes such files. Nothing is allocated that the
/// bytes at hand do not account for.
pub fn describe(bytes: &[u8]) -> Option<Description> {
    let mut libraries = LIBRARIES.into_iter();
    libraries.find_map(|library| (library.describe)(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_unique() {
        for (place, library) in LIBRARIES.iter().enumerate() {
            for other in &LIBRARIES[..place] {
                assert_ne!(library.name, other.name);
                assert!(library.number.is_none() || library.number != other.number);
            }
            if let Some(number) = library.number {
                assert!(number.0 > 0);
                assert_eq!(Library::with_number(number).unwrap().name, library.name);
            }
        }
        assert!(Library::with_number(LibraryNumber(u32::MAX)).is_none());
    }
}
