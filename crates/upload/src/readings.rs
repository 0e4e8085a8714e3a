//! Uploads of readings: the meaning of their columns, and the place of each reading in the list.
//!
//! An upload is a metadata message ([`ReadingsMetadata`]) followed by a GLWE list, seeded or with masks. The
//! list holds the columns one after the other; each column holds its rows; each row holds the radix blocks of
//! its code, the least significant first, or, if the column is compact, its code as one element. The columns
//! that are derived from a column follow it, one after the other. Under a parameter set for booleans a block
//! is one bit.

use std::collections::HashSet;
use std::ops::Range;

use serde::de::IgnoredAny;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
pub use tfhe_sbc_core::description::{MAX_COLUMNS, MAX_TEXT, is_column_name};
use tfhe_sbc_core::description::{check_column_name, check_shape, check_texts};
use tfhe_sbc_core::encoding::{
    BlockEncoding, BodyRounding, CompactEncoding, CompactError, Derivation, FixedPoint,
    FixedPointError,
};
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters, PlaintextKind};
use tfhe_sbc_core::wire::columns::{ElementEncoding, MAX_SEGMENTS, Segment};
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_core::wire::{Kind, Message, WireError};
use thiserror::Error;

use crate::derived::{Derived, DerivedError};
use crate::gaps::{Gaps, GapsError};
use crate::metadata::{self, MetadataError};
use crate::row_labels;

/// One column of readings and its fixed-point encoding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// The name: letters, digits and underscores.
    pub name: String,
    /// The unit, shown to people.
    #[serde(default)]
    pub unit: String,
    /// The value of code 0, the lowest that can be encoded, in the column's unit.
    pub offset: f64,
    /// The step between the values of two successive codes, in the column's unit.
    pub scale: f64,
    /// The width of a code in bits.
    pub bits: u32,
    /// The compact form of the codes; `None` if they are split into radix blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact: Option<Compact>,
    /// The columns that are derived from the codes and follow them in the list.
    #[serde(default, skip_serializing_if = "Derived::is_empty")]
    pub derived: Derived,
}

/// The form of a column whose codes take one coefficient each: [`CompactEncoding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compact {
    /// The number of bits above a code: sums of codes stay below `2^(bits + headroom)`.
    pub headroom: u32,
    /// The number of bits of each body coefficient that travel.
    pub body_bits: u32,
    /// Whether the rounding error of a body is added to the next one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub feedback: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Compact {
    /// Returns the encoding of codes of `bits` bits.
    ///
    /// # Errors
    /// If code, headroom and body do not fit each other.
    pub fn encoding(&self, bits: u32) -> Result<CompactEncoding, CompactError> {
        let rounding = match self.feedback {
            true => BodyRounding::ErrorFeedback,
            false => BodyRounding::Nearest,
        };
        CompactEncoding::new(bits, self.headroom, self.body_bits, rounding)
    }
}

impl From<CompactEncoding> for Compact {
    fn from(encoding: CompactEncoding) -> Self {
        Self {
            headroom: encoding.headroom(),
            body_bits: encoding.body_bits(),
            feedback: encoding.rounding() == BodyRounding::ErrorFeedback,
        }
    }
}

impl Column {
    /// Returns the encoding of the column's elements.
    ///
    /// # Errors
    /// If the column's compact form is not possible.
    pub fn element_encoding(&self) -> Result<ElementEncoding, CompactError> {
        match self.compact {
            None => Ok(ElementEncoding::Radix),
            Some(compact) => compact.encoding(self.bits).map(ElementEncoding::Compact),
        }
    }

    /// The number of elements of a reading without those that are derived from it: its radix blocks, or one
    /// compact code.
    pub fn elements_each(&self, encoding: BlockEncoding) -> usize {
        match self.compact {
            None => encoding.block_count(self.bits),
            Some(_) => 1,
        }
    }

    /// Returns the number of bits of ciphertext bodies that a row takes in an upload under these parameters: of a reading and what is
    /// derived from it.
    pub fn bits_of_a_row(&self, parameters: &Parameters) -> u64 {
        let element = match self.compact {
            Some(compact) => compact.body_bits,
            None => parameters.body_bits(),
        };
        let own = self.elements_each(parameters.block_encoding()) as u64 * u64::from(element);
        let derived = self.derived.columns();
        own + derived
            .map(|(_, form)| u64::from(form.body_bits))
            .sum::<u64>()
    }

    /// Returns whether its readings may be missing, row by row.
    pub fn is_optional(&self) -> bool {
        self.derived.valid.is_some()
    }

    /// The number of elements of a reading with those that are derived from it.
    fn all_elements_each(&self, encoding: BlockEncoding) -> usize {
        self.elements_each(encoding) + self.derived.count()
    }

    /// Returns the fixed-point encoding of the column.
    ///
    /// # Errors
    /// Returns an error if offset, scale and width make no encoding.
    pub fn fixed_point(&self) -> Result<FixedPoint, FixedPointError> {
        FixedPoint::new(self.offset, self.scale, self.bits)
    }
}

/// The meaning of the readings of an upload: its columns and the labels of its rows.
///
/// Where a column is compact, labels that are times travel as a start and steps, and labels that count the
/// rows as the first number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingsMetadata {
    /// The columns, in the order of the list.
    pub columns: Vec<Column>,
    /// One label for each row, usually its time.
    #[serde(deserialize_with = "row_labels::deserialize")]
    pub rows: Vec<String>,
    /// The rows without a reading of columns whose gaps are told in clear.
    #[serde(default)]
    pub gaps: Gaps,
}

impl Serialize for ReadingsMetadata {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let short = match self.has_compact() {
            true => row_labels::Short::of(&self.rows),
            // Uploads of radix columns alone have the bytes that they always had.
            false => None,
        };
        let fields = 2 + usize::from(!self.gaps.is_empty());
        let mut map = to.serialize_struct("ReadingsMetadata", fields)?;
        map.serialize_field("columns", &self.columns)?;
        match short {
            Some(short) => map.serialize_field("rows", &short)?,
            None => map.serialize_field("rows", &self.rows)?,
        }
        match self.gaps.is_empty() {
            true => map.skip_field("gaps")?,
            false => map.serialize_field("gaps", &self.gaps)?,
        }
        map.end()
    }
}

/// The reason why an upload was refused.
#[derive(Debug, Error)]
pub enum ReadingsError {
    /// A defect of the metadata.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// A defect of the envelope or of the ciphertexts.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A column whose encoding is not possible.
    #[error("column '{name}': {error}")]
    Column {
        /// The name of the column.
        name: String,
        /// The defect of the encoding.
        error: FixedPointError,
    },
    /// A column whose compact form is not possible.
    #[error("column '{name}': {error}")]
    Compact {
        /// The name of the column.
        name: String,
        /// The defect of the form.
        error: CompactError,
    },
    /// A column from which others cannot be derived as it says.
    #[error("column '{name}': {error}")]
    Derived {
        /// The name of the column.
        name: String,
        /// The defect.
        error: DerivedError,
    },
    /// Ciphertexts whose encodings are not those that the metadata describes.
    #[error(
        "the metadata describes other encodings of the columns than the ciphertexts have: the upload \
         is damaged or forged"
    )]
    Encodings,
    /// No columns, no rows, too many of either, or a text that is empty, too long or not plain.
    #[error("the metadata has {0}")]
    Shape(&'static str),
    /// Gaps of other columns or rows than there are.
    #[error(transparent)]
    Gaps(#[from] GapsError),
    /// Two columns of one name.
    #[error("two columns are called '{0}'")]
    DuplicateColumn(String),
    /// Metadata that describes another number of blocks than the list holds.
    #[error("the metadata describes {described} blocks, the ciphertexts hold {found}")]
    BlockCount {
        /// The number of blocks that the metadata describes.
        described: u64,
        /// The number of blocks in the list.
        found: u64,
    },
    /// A parameter set that is not for radix blocks.
    #[error("the parameter set encodes booleans: readings need a set with radix blocks")]
    NotRadix,
}

impl ReadingsMetadata {
    /// Checks names, texts, encodings and sizes.
    ///
    /// # Errors
    /// Returns the first defect that it finds.
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
            column
                .element_encoding()
                .map_err(|error| ReadingsError::Compact {
                    name: column.name.clone(),
                    error,
                })?;
            let derived = column.derived.check(column.bits, column.compact);
            derived.map_err(|error| ReadingsError::Derived {
                name: column.name.clone(),
                error,
            })?;
        }
        self.gaps.check(&self.columns, self.rows.len())?;
        let derived = self.columns.iter().map(|column| column.derived.count());
        match self.columns.len() + derived.sum::<usize>() {
            0..=MAX_SEGMENTS => Ok(()),
            _ => Err(ReadingsError::Shape(
                "more than 1024 columns and columns derived from them",
            )),
        }
    }

    /// Returns whether a column is compact, so that the ciphertexts are a list of columns.
    pub fn has_compact(&self) -> bool {
        self.columns.iter().any(|column| column.compact.is_some())
    }

    /// Returns the segments of the list of an upload of `rows` rows; `None` if a column has no
    /// encoding, or too many elements.
    pub fn segments(&self, encoding: BlockEncoding, rows: usize) -> Option<Vec<Segment>> {
        let mut segments = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let count = rows.checked_mul(column.elements_each(encoding))?;
            segments.push(Segment {
                encoding: column.element_encoding().ok()?,
                count: u32::try_from(count).ok()?,
            });
            for (derivation, compact) in column.derived.columns() {
                let encoding = compact.encoding(derivation.bits(column.bits)).ok()?;
                segments.push(Segment {
                    encoding: ElementEncoding::Compact(encoding),
                    count: u32::try_from(rows).ok()?,
                });
            }
        }
        Some(segments)
    }

    /// Returns the column of that name and its place, counted from 0.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        self.columns
            .iter()
            .enumerate()
            .find(|(_, column)| column.name == name)
    }

    /// The number of blocks of all readings under this block encoding.
    pub fn block_count(&self, encoding: BlockEncoding) -> u64 {
        let each: u64 = self
            .columns
            .iter()
            .map(|column| column.all_elements_each(encoding) as u64)
            .sum();
        each * self.rows.len() as u64
    }

    /// The places of a column's blocks in the list of an upload of `rows` rows. The column must exist.
    pub fn blocks_of_column(
        &self,
        encoding: BlockEncoding,
        column: usize,
        rows: usize,
    ) -> Range<usize> {
        let before = self.columns[..column].iter();
        let before: usize = before
            .map(|column| column.all_elements_each(encoding))
            .sum();
        before * rows..(before + self.columns[column].elements_each(encoding)) * rows
    }

    /// The places of the elements that are derived from a column in the list of an upload of `rows` rows, and
    /// their form; `None` if that is not derived. The column must exist.
    pub fn elements_of_derived(
        &self,
        encoding: BlockEncoding,
        column: usize,
        derivation: Derivation,
        rows: usize,
    ) -> Option<(Range<usize>, Compact)> {
        let (place, compact) = self.columns[column].derived.find(derivation)?;
        let start = self.blocks_of_column(encoding, column, rows).end + place * rows;
        Some((start..start + rows, compact))
    }

    /// The places of one reading's blocks in the list. Column and row must exist.
    pub fn blocks_of(&self, encoding: BlockEncoding, column: usize, row: usize) -> Range<usize> {
        let rows = self.rows.len();
        let column_start = self.blocks_of_column(encoding, column, rows).start;
        let each = self.columns[column].elements_each(encoding);
        let start = column_start + row * each;
        start..start + each
    }
}

/// The rows of an upload before their labels are written out.
#[derive(Deserialize)]
struct StatedRows {
    rows: StatedLabels,
}

/// Labels that a few bytes stand for, or a list of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum StatedLabels {
    Short { count: u64 },
    List(IgnoredAny),
}

/// A checked upload, whose ciphertexts are still in the bytes that were parsed.
pub struct Upload<'a> {
    /// The meaning of the readings.
    pub metadata: ReadingsMetadata,
    /// The ciphertexts.
    pub list: UploadedGlweList<'a>,
    /// The key that they are under.
    pub key: KeyFingerprint,
}

impl<'a> Upload<'a> {
    /// Parses and checks an upload of radix blocks under the given parameters and key.
    pub fn parse(
        bytes: &'a [u8],
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, ReadingsError> {
        match parameters.plaintext() {
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
        let (second, rest) = Message::parse(rest)?;
        let list = UploadedGlweList::check(second, parameters, key)?;
        if !rest.is_empty() {
            return Err(WireError::TrailingBytes(rest.len()).into());
        }
        // Labels that a few bytes stand for are written out only if there are as many ciphertexts.
        let stated: StatedRows = metadata::read(first)?;
        if let StatedLabels::Short { count: described } = stated.rows
            && described > list.element_count() as u64
        {
            let found = list.element_count() as u64;
            return Err(ReadingsError::BlockCount { described, found });
        }
        let metadata: ReadingsMetadata = metadata::read(first)?;
        metadata.check()?;
        let encoding = parameters.block_encoding();
        let described = metadata.block_count(encoding);
        let found = list.element_count() as u64;
        if described != found {
            return Err(ReadingsError::BlockCount { described, found });
        }
        let same_encodings = match &list {
            UploadedGlweList::Columns(list) => metadata
                .segments(encoding, metadata.rows.len())
                .is_some_and(|described| list.segments().eq(described)),
            UploadedGlweList::Seeded(_) | UploadedGlweList::Masked(_) => !metadata.has_compact(),
        };
        if !same_encodings {
            return Err(ReadingsError::Encodings);
        }
        Ok(Self {
            metadata,
            list,
            key,
        })
    }
}

/// The content of an upload for a server that runs another library.
pub enum Uploaded<'a> {
    /// Readings with metadata.
    Readings(Upload<'a>),
    /// A list of ciphertexts without metadata.
    List(UploadedGlweList<'a>),
}

impl<'a> Uploaded<'a> {
    /// Parses and checks an upload of radix blocks or booleans under the given parameters and key.
    ///
    /// # Errors
    /// Returns the first defect that it finds.
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

    /// The ciphertexts.
    pub fn list(&self) -> &UploadedGlweList<'a> {
        match self {
            Self::Readings(upload) => &upload.list,
            Self::List(list) => list,
        }
    }
}
