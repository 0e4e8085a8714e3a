//! A reader of bincode 1 with integers of fixed width: numbers are little-endian, lengths are `u64`,
//! variants of an enum are `u32`, and an option is one byte before its value.

use super::TfheRsError;

/// The greatest length of a name in a header.
const MAX_NAME: u64 = 128;

/// Bytes that are read from the front. Nothing is allocated for lengths that they announce.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    len: usize,
    versioned: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            len: bytes.len(),
            versioned: true,
        }
    }

    /// Declares that no versions stand between the values from here on.
    pub(super) fn unversioned(mut self) -> Self {
        self.versioned = false;
        self
    }

    /// The bytes that were not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes the next `count` bytes.
    pub(super) fn take(&mut self, count: u64) -> Result<&'a [u8], TfheRsError> {
        let there = usize::try_from(count)
            .ok()
            .and_then(|count| self.rest.split_at_checked(count));
        let Some((taken, rest)) = there else {
            let at = (self.len - self.rest.len()) as u64;
            return Err(TfheRsError::Truncated {
                needed: at.saturating_add(count),
                found: self.len as u64,
            });
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const LEN: usize>(&mut self) -> Result<[u8; LEN], TfheRsError> {
        let mut array = [0; LEN];
        array.copy_from_slice(self.take(LEN as u64)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, TfheRsError> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, TfheRsError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, TfheRsError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn u128(&mut self) -> Result<u128, TfheRsError> {
        self.array().map(u128::from_le_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64, TfheRsError> {
        self.array().map(f64::from_le_bytes)
    }

    /// Reads a text. Returns `None` if it is longer than a name may be, or not printable.
    pub(super) fn text(&mut self) -> Result<Option<&'a str>, TfheRsError> {
        let len = self.u64()?;
        if len > MAX_NAME {
            return Ok(None);
        }
        let text = std::str::from_utf8(self.take(len)?).ok();
        Ok(text.filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic())))
    }

    /// Takes the bytes of a vector of `u64`.
    pub(super) fn words(&mut self) -> Result<&'a [[u8; 8]], TfheRsError> {
        let count = self.u64()?;
        Ok(self.take(count.saturating_mul(8))?.as_chunks().0)
    }

    /// Reads the version of a value, which must be `known`. Reads nothing if there are no versions.
    pub(super) fn version(&mut self, what: &'static str, known: u32) -> Result<(), TfheRsError> {
        if !self.versioned {
            return Ok(());
        }
        match self.u32()? {
            found if found == known => Ok(()),
            found => Err(TfheRsError::Version { what, found, known }),
        }
    }

    /// Reads a number behind a version of its own.
    pub(super) fn versioned_u64(&mut self, what: &'static str) -> Result<u64, TfheRsError> {
        self.version(what, 0)?;
        self.u64()
    }

    /// Reads the native modulus of 64-bit scalars, the only modulus that is accepted.
    pub(super) fn native_modulus(&mut self) -> Result<(), TfheRsError> {
        self.version("ciphertext modulus", 0)?;
        if (self.u128()?, self.u64()?) == (0, 64) {
            Ok(())
        } else {
            Err(TfheRsError::Unsupported(
                "a ciphertext modulus other than 2^64",
            ))
        }
    }

    /// Skips a tag, which is bytes that the owner attached.
    pub(super) fn tag(&mut self) -> Result<(), TfheRsError> {
        self.version("tag", 0)?;
        let len = self.u64()?;
        self.take(len).map(drop)
    }

    /// Checks that everything has been read.
    pub(super) fn end(&self) -> Result<(), TfheRsError> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(TfheRsError::TrailingBytes(more)),
        }
    }
}
