//! Files of other libraries: which library's, and what is in them. Each library's module knows its
//! own.

/// What a file of another library is. Holds no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The library that makes such files.
    pub library: &'static str,
    /// What the file is.
    pub kind: String,
    /// What there is to say of it, name and value.
    pub details: Vec<(&'static str, String)>,
}

/// Says what a file is, if another library that we know makes such files. Nothing is allocated
/// that the bytes at hand do not account for.
pub fn describe(bytes: &[u8]) -> Option<Description> {
    let known = [
        crate::seal::describe,
        crate::tfhe_rs::describe,
        crate::tfhepp::describe,
    ];
    known.into_iter().find_map(|describe| describe(bytes))
}
