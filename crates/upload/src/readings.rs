//! Uploads of readings: what they mean, and where in the polynomials each is.
//!
//! An upload is a metadata message ([`ReadingsMetadata`]) and a GLWE list, seeded or with
//! masks. The list holds columns one after the other; a column its rows; a row the radix
//! blocks of its code, least significant first. Under a parameter set for booleans a block is
//! one bit.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
pub use tfhe_sbc_core::description::{MAX_COLUMNS, MAX_TEXT, is_column_name};
use tfhe_sbc_core::description::{check_column_name, check_shape, check_texts};
use tfhe_sbc_core::encoding::{BlockEncoding, FixedPoint, FixedPointError};
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters, PlaintextKind};
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::wire::{Kind, Message, WireError};
use thiserror::Error;

use crate::metadata::{self, MetadataError};

/// One column of readings and its fixed-point encoding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name: letters, digits and underscores.
    pub name: String,
    /// Its unit, for people.
    #[serde(default)]
    pub unit: String,
    /// The reading of code 0, the lowest that can be encoded.
    pub offset: f64,
    /// The step between codes.
    pub scale: f64,
    /// The width of a code in bits.
    pub bits: u32,
}

impl Column {
    /// Its encoding, checked.
    pub fn fixed_point(&self) -> Result<FixedPoint, FixedPointError> {
        FixedPoint::new(self.offset, self.scale, self.bits)
    }
}

/// What an upload of readings means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingsMetadata {
    /// The columns, in the order of the list.
    pub columns: Vec<Column>,
    /// One label a row, usually its time.
    pub rows: Vec<String>,
}

/// Why an upload was refused.
#[derive(Debug, Error)]
pub enum ReadingsError {
    /// Its metadata.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// Its envelope or its ciphertexts.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A column that cannot be.
    #[error("column '{name}': {error}")]
    Column {
        /// Its name.
        name: String,
        /// What is wrong with it.
        error: FixedPointError,
    },
    /// No columns or rows, or too many, or a text that is empty, too long or not plain.
    #[error("the metadata has {0}")]
    Shape(&'static str),
    /// Two columns of one name.
    #[error("two columns are called '{0}'")]
    DuplicateColumn(String),
    /// Metadata and ciphertexts that do not belong together.
    #[error("the metadata describes {described} blocks, the ciphertexts hold {found}")]
    BlockCount {
        /// Blocks that the metadata describes.
        described: u64,
        /// Blocks that are there.
        found: u64,
    },
    /// Not a parameter set for radix blocks.
    #[error("the parameter set encodes booleans: readings need a set with radix blocks")]
    NotRadix,
}

impl ReadingsMetadata {
    /// Checks names, texts, encodings and sizes.
    pub fn check(&self) -> Result<(), ReadingsError> {
        check_shape(self.columns.len(), !self.rows.is_empty()).map_err(ReadingsError::Shape)?;
        let units = self.columns.iter().map(|column| &column.unit);
        let texts = self.rows.iter().chain(units).map(String::as_str);
        check_texts(texts).map_err(ReadingsError::Shape)?;
        let mut names = HashSet::new();
        for column in &self.columns {
            check_column_name(&column.name).map_err(ReadingsError::Shape)?;
            if !names.insert(&column.name) {
                return Err(ReadingsError::DuplicateColumn(column.name.clone()));
            }
            column
                .fixed_point()
                .map_err(|error| ReadingsError::Column {
                    name: column.name.clone(),
                    error,
                })?;
        }
        Ok(())
    }

    /// The column of that name and its place.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        self.columns
            .iter()
            .enumerate()
            .find(|(_, column)| column.name == name)
    }

    /// Number of blocks of all readings.
    pub fn block_count(&self, encoding: BlockEncoding) -> u64 {
        let each: u64 = self
            .columns
            .iter()
            .map(|column| encoding.block_count(column.bits) as u64)
            .sum();
        each * self.rows.len() as u64
    }

    /// The blocks of a column in the list of an upload of `rows` rows. It must exist.
    pub fn blocks_of_column(
        &self,
        encoding: BlockEncoding,
        column: usize,
        rows: usize,
    ) -> Range<usize> {
        let width = |column: &Column| encoding.block_count(column.bits);
        let before: usize = self.columns[..column].iter().map(width).sum();
        before * rows..(before + width(&self.columns[column])) * rows
    }

    /// The blocks of one reading in the list. Column and row must exist.
    pub fn blocks_of(&self, encoding: BlockEncoding, column: usize, row: usize) -> Range<usize> {
        let rows = self.rows.len();
        let column_start = self.blocks_of_column(encoding, column, rows).start;
        let each = encoding.block_count(self.columns[column].bits);
        let start = column_start + row * each;
        start..start + each
    }
}

/// A checked upload, its ciphertexts still in the bytes that it came in.
pub struct Upload<'a> {
    /// What it means.
    pub metadata: ReadingsMetadata,
    /// Its ciphertexts.
    pub list: UploadedGlweList<'a>,
}

impl<'a> Upload<'a> {
    /// Parses and checks an upload of radix blocks made under these parameters and this key
    /// set.
    pub fn parse(
        bytes: &'a [u8],
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, ReadingsError> {
        match parameters.plaintext {
            PlaintextKind::Radix => Self::parse_any(bytes, parameters, key),
            PlaintextKind::Boolean => Err(ReadingsError::NotRadix),
        }
    }

    fn parse_any(
        bytes: &'a [u8],
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, ReadingsError> {
        let (first, rest) = Message::parse(bytes)?;
        first.header.check_belongs(parameters.fingerprint(), key)?;
        let metadata: ReadingsMetadata = metadata::read(first)?;
        metadata.check()?;
        let (second, rest) = Message::parse(rest)?;
        let list = UploadedGlweList::check(second, parameters, key)?;
        if !rest.is_empty() {
            return Err(WireError::TrailingBytes(rest.len()).into());
        }
        let described = metadata.block_count(parameters.block_encoding());
        let found = list.element_count() as u64;
        if described != found {
            return Err(ReadingsError::BlockCount { described, found });
        }
        Ok(Self { metadata, list })
    }
}

/// What a board sent for a server of another library.
pub enum Uploaded<'a> {
    /// Readings, with metadata that tells what they mean.
    Readings(Upload<'a>),
    /// Values by themselves: whoever encrypted them knows what they mean.
    List(UploadedGlweList<'a>),
}

impl<'a> Uploaded<'a> {
    /// Parses and checks an upload, of radix blocks or booleans, made under these parameters
    /// and this key set.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(
        bytes: &'a [u8],
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, ReadingsError> {
        let (message, rest) = Message::parse(bytes)?;
        if message.header.kind == Kind::Metadata {
            return Upload::parse_any(bytes, parameters, key).map(Self::Readings);
        }
        let list = UploadedGlweList::check(message, parameters, key)?;
        match rest.len() {
            0 => Ok(Self::List(list)),
            more => Err(WireError::TrailingBytes(more).into()),
        }
    }

    /// Its ciphertexts.
    pub fn list(&self) -> &UploadedGlweList<'a> {
        match self {
            Self::Readings(upload) => &upload.list,
            Self::List(list) => list,
        }
    }
}
