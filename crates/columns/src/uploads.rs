//! Uploads and requests under whatever key, brought under the evaluation key.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::wire::{Header, Message, WireError};
use tfhe_sbc_engine::glwe_key_switch::DeviceSwitchKey;
use tfhe_sbc_upload::derived::Validity;
use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::gaps::Gaps;
use tfhe_sbc_upload::readings::{Column, Compact, ReadingsError, ReadingsMetadata, Upload};

use crate::device_keys::{DeviceKeyError, DeviceKeys};
use crate::error::Error;
use crate::loaded::{Loaded, LoadedUploads};
use crate::node::{Content, Source};

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
    uploads: Vec<Checked<'a>>,
}

/// An upload that was checked, without the labels of its rows.
struct Checked<'a> {
    rows: usize,
    key: KeyFingerprint,
    switch: Option<Arc<DeviceSwitchKey<u64>>>,
    list: UploadedGlweList<'a>,
    /// The message of `list`.
    message: &'a [u8],
}

impl<'a> Uploads<'a> {
    /// Parses uploads, each under the evaluation key or one of the keys of `devices`.
    ///
    /// # Errors
    /// Bytes that are no uploads of one key set and the same columns, and keys that are not known.
    pub fn parse(
        parameters: &Parameters,
        devices: &DeviceKeys,
        all: &[&'a [u8]],
    ) -> Result<Self, Error> {
        let mut joined = Joined::default();
        let mut uploads = Vec::with_capacity(all.len());
        // A key is read once for all uploads under it.
        let mut switches: HashMap<KeyFingerprint, Option<Arc<DeviceSwitchKey<u64>>>> =
            HashMap::new();
        for bytes in all {
            let (first, message) = Message::parse(bytes).map_err(ReadingsError::from)?;
            let key = first.header.key;
            let switch = match switches.entry(key) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(place) => {
                    let switch = devices.switch_key(&first.header);
                    let switch = switch.map_err(device_key_of("readings"))?;
                    place.insert(switch.map(Arc::new)).clone()
                }
            };
            let Upload { metadata, list, .. } = Upload::parse(bytes, parameters, key)?;
            uploads.push(Checked {
                rows: metadata.rows.len(),
                key,
                switch,
                list,
                message,
            });
            joined.add(metadata)?;
        }
        let metadata = joined.finish()?;
        Ok(Self { metadata, uploads })
    }

    /// The columns that all uploads have, and the rows of all of them.
    pub fn metadata(&self) -> &ReadingsMetadata {
        &self.metadata
    }

    /// The labels of the rows of each upload.
    pub fn labels(&self) -> impl Iterator<Item = &[String]> {
        let mut labels = self.metadata.rows.as_slice();
        self.uploads.iter().map(move |upload| {
            let (own, rest) = labels.split_at(upload.rows.min(labels.len()));
            labels = rest;
            own
        })
    }

    /// Returns the columns as what computations load from.
    pub(crate) fn into_source(self, parameters: &Parameters) -> Source {
        let mut first_row = 0;
        let uploads = self.uploads.into_iter().map(|upload| {
            let rows = upload.rows;
            first_row += rows;
            Loaded {
                first_row: first_row - rows,
                rows,
                key: upload.key,
                switch: upload.switch,
                is_masked: upload.list.is_masked(),
                masks: upload.list.seeded_masks(),
                message: upload.message.into(),
            }
        });
        Source {
            content: Content::Ciphertexts(Box::new(LoadedUploads::new(
                parameters,
                uploads.collect(),
            ))),
            metadata: Arc::new(self.metadata),
        }
    }
}

/// The compact forms of a column and of what is derived from it.
fn forms(column: &mut Column) -> Vec<&mut Compact> {
    let derived = &mut column.derived;
    let flags = derived.flags.as_mut().map(|flags| &mut flags.compact);
    let own = column.compact.as_mut();
    let valid = match &mut derived.valid {
        Some(Validity::Encrypted(form)) => Some(form),
        Some(Validity::Clear) | None => None,
    };
    [own, derived.square.as_mut(), flags, valid]
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

/// The columns and rows of uploads, one after the other.
#[derive(Default)]
struct Joined {
    columns: Vec<Column>,
    rows: Vec<String>,
    gaps: Gaps,
    uploads: usize,
}

impl Joined {
    /// Adds an upload.
    ///
    /// # Errors
    /// Other columns than those of the uploads before it.
    fn add(&mut self, metadata: ReadingsMetadata) -> Result<(), Error> {
        self.uploads += 1;
        if self.uploads == 1 {
            self.columns = metadata.columns;
        } else if !join(&mut self.columns, &metadata.columns) {
            return Err(Error::OtherColumns(self.uploads));
        }
        self.gaps.append(self.rows.len(), &metadata.gaps);
        self.rows.extend(metadata.rows);
        Ok(())
    }

    fn finish(self) -> Result<ReadingsMetadata, Error> {
        match self.columns.is_empty() {
            true => Err(Error::NoUploads),
            false => Ok(ReadingsMetadata {
                columns: self.columns,
                rows: self.rows,
                gaps: self.gaps,
            }),
        }
    }
}

/// Returns the columns that all uploads have, and the rows of all of them.
///
/// # Errors
/// Uploads of different columns.
pub fn joined<'m>(
    uploads: impl Iterator<Item = &'m ReadingsMetadata>,
) -> Result<ReadingsMetadata, Error> {
    let mut joined = Joined::default();
    for metadata in uploads {
        joined.add(metadata.clone())?;
    }
    joined.finish()
}
