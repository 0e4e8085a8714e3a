//! Uploads and requests under whatever key, brought under the evaluation key.

use std::sync::Arc;

use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::wire::glwe::{MAX_ELEMENTS, UploadedGlweList};
use tfhe_sbc_core::wire::{Header, Message, WireError};
use tfhe_sbc_engine::glwe_key_switch::DeviceSwitchKey;
use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsError, ReadingsMetadata, Upload};

use crate::device_keys::{DeviceKeyError, DeviceKeys};
use crate::error::Error;
use crate::node::{Content, Loaded, Source};

/// Returns the header of the first message of an upload or a request: all of its messages are under
/// the key of that.
///
/// # Errors
/// Bytes that are no message.
pub fn first_header(bytes: &[u8]) -> Result<Header, WireError> {
    Ok(Message::parse(bytes)?.0.header)
}

/// Returns a function that makes an error of the key of `of`: "readings" or "query".
pub fn device_key_of(of: &'static str) -> impl Fn(DeviceKeyError) -> Error {
    move |error| Error::DeviceKey { of, error }
}

/// Expands a list and brings its ciphertexts under the evaluation key with `switch`, which is
/// `None` if they are under that already.
pub fn expand(
    list: &UploadedGlweList<'_>,
    parameters: &Parameters,
    switch: Option<&DeviceSwitchKey<u64>>,
) -> ExpandedGlweList<u64> {
    let mut expanded = ExpandedGlweList::expand(list, parameters);
    if let Some(switch) = switch {
        switch.switch_batch(expanded.ciphertexts_mut());
    }
    expanded
}

/// Checked uploads of the same columns.
pub struct Uploads<'a> {
    metadata: ReadingsMetadata,
    uploads: Vec<(Upload<'a>, Option<DeviceSwitchKey<u64>>)>,
}

impl<'a> Uploads<'a> {
    /// Parses uploads, each under the evaluation key or one of the keys of `devices`.
    ///
    /// # Errors
    /// Bytes that are no uploads of one key set and the same columns, keys that are not known, and
    /// more ciphertexts than one upload may have.
    pub fn parse(
        parameters: &Parameters,
        devices: &DeviceKeys,
        all: &[&'a [u8]],
    ) -> Result<Self, Error> {
        let mut uploads = Vec::with_capacity(all.len());
        for bytes in all {
            let header = first_header(bytes).map_err(ReadingsError::from)?;
            let switch = devices.switch_key(&header);
            let switch = switch.map_err(device_key_of("readings"))?;
            uploads.push((Upload::parse(bytes, parameters, header.key)?, switch));
        }
        let metadata = joined(uploads.iter().map(|(upload, _)| &upload.metadata))?;
        Ok(Self { metadata, uploads })
    }

    /// Refuses more ciphertexts than one upload may have.
    ///
    /// # Errors
    /// [`Error::TooMany`].
    pub fn check_count(&self) -> Result<(), Error> {
        let lists = self.uploads.iter();
        match lists.map(|(upload, _)| upload.list.element_count()).sum() {
            0..=MAX_ELEMENTS => Ok(()),
            blocks => Err(Error::TooMany(blocks)),
        }
    }

    /// The columns that all uploads have, and the rows of all of them.
    pub fn metadata(&self) -> &ReadingsMetadata {
        &self.metadata
    }

    /// The labels of the rows of each upload.
    pub fn labels(&self) -> impl Iterator<Item = &[String]> {
        let uploads = self.uploads.iter();
        uploads.map(|(upload, _)| upload.metadata.rows.as_slice())
    }

    pub(crate) fn expand(self, parameters: &Parameters) -> Source {
        let has_compact = self.metadata.has_compact();
        let has_radix = self
            .metadata
            .columns
            .iter()
            .any(|column| column.compact.is_none());
        let mut first_row = 0;
        let uploads = self.uploads.into_iter().map(|(upload, switch)| {
            let list = &upload.list;
            let rows = upload.metadata.rows.len();
            first_row += rows;
            let loaded = Loaded {
                first_row: first_row - rows,
                rows,
                key: upload.key,
                list: ExpandedGlweList::expand(list, parameters),
                radix_list: None,
                switch: None,
                is_masked: list.is_masked(),
                masks: list.seeded_masks(),
            };
            match switch {
                None => loaded,
                // Sums of compact columns are switched when they are complete.
                Some(switch) if has_compact => Loaded {
                    radix_list: has_radix.then(|| expand(list, parameters, Some(&switch))),
                    switch: Some(Arc::new(switch)),
                    ..loaded
                },
                Some(switch) => Loaded {
                    list: expand(list, parameters, Some(&switch)),
                    ..loaded
                },
            }
        });
        Source {
            metadata: Arc::new(self.metadata),
            content: Content::Ciphertexts(uploads.collect()),
        }
    }
}

/// The compact forms of a column and of what is derived from it.
fn forms(column: &mut Column) -> Vec<&mut Compact> {
    let derived = &mut column.derived;
    let flags = derived.flags.as_mut().map(|flags| &mut flags.compact);
    let own = column.compact.as_mut();
    [own, derived.square.as_mut(), flags]
        .into_iter()
        .flatten()
        .collect()
}

/// Joins columns with those of another upload, which may have compact bodies of other lengths, as uploads
/// under a public key have. The shortest is kept: the noise of the others is at most that. Returns whether
/// the columns are the same.
fn join(columns: &mut [Column], others: &[Column]) -> bool {
    let same = |column: &mut Column, other: &Column| {
        let mut other = other.clone();
        let pairs = forms(column).into_iter().zip(forms(&mut other));
        for (one, two) in pairs {
            let shortest = one.body_bits.min(two.body_bits);
            (one.body_bits, two.body_bits) = (shortest, shortest);
        }
        *column == other
    };
    columns.len() == others.len() && columns.iter_mut().zip(others).all(|(a, b)| same(a, b))
}

/// Returns the columns that all uploads have, and the rows of all of them.
///
/// # Errors
/// Uploads of different columns.
pub fn joined<'m>(
    uploads: impl Iterator<Item = &'m ReadingsMetadata>,
) -> Result<ReadingsMetadata, Error> {
    let mut joined = ReadingsMetadata {
        columns: Vec::new(),
        rows: Vec::new(),
    };
    for (i, metadata) in uploads.enumerate() {
        if i == 0 {
            joined.columns.clone_from(&metadata.columns);
        } else if !join(&mut joined.columns, &metadata.columns) {
            return Err(Error::OtherColumns(i + 1));
        }
        joined.rows.extend_from_slice(&metadata.rows);
    }
    match joined.columns.is_empty() {
        true => Err(Error::NoUploads),
        false => Ok(joined),
    }
}
