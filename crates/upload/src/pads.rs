//! Pads: ciphertexts that turn the frames of a small board into uploads.
//!
//! For each frame that the board will ever make, a [`PadFile`] has the bodies of a column list that encrypts
//! `-r`, where `r` are the pads that the board adds to its codes (crate `frames`). Adding the masked codes
//! `m + r` of a frame to these bodies gives the list of an upload of `m`. The masked codes are multiples of the last
//! bit of a body, so the bodies keep their number of bits, and the mask keeps its seed.
//!
//! Every frame has a list of its own, so that lost frames leave no gaps. The seed of its mask is derived
//! from one public seed and the counter: BLAKE3 with the seed as key, of the counter in 4 bytes, little-endian.

#[cfg(feature = "session")]
mod board;
#[cfg(feature = "session")]
mod make;

use serde::{Deserialize, Serialize};
use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::random::{ExpanderKind, MaskSeed};
use tfhe_sbc_core::wire::bits::{pack_top_bits, padding_is_zero, unpack_top_bits};
use tfhe_sbc_core::wire::columns::{
    ElementEncoding, ListMasks, Run, Segment, has_column_lists, header, runs, table_head,
};
use tfhe_sbc_core::wire::{HEADER_BYTES, Kind, Message, WireError};
use tfhe_sbc_frames::{
    Column as FrameColumn, Form, Format, FormatError, FrameError, MacKey, Receiver,
};
pub use tfhe_sbc_frames::{DeviceId, PadUsedTwice};
use thiserror::Error;

use crate::byte_string;
use crate::metadata::{self, MetadataError};
use crate::readings::{Column, ReadingsError, ReadingsMetadata};

#[cfg(feature = "session")]
pub use board::BoardFile;
#[cfg(feature = "session")]
pub use make::make_pads;

/// The reason why pads cannot be made or read, or a frame cannot be completed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PadsError {
    /// A defect of the file of pads.
    #[error(transparent)]
    File(#[from] MetadataError),
    /// A defect of the envelope, or pads for another key or other parameters.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A defect of a column.
    #[error(transparent)]
    Columns(#[from] ReadingsError),
    /// A column that frames cannot carry.
    #[error(
        "column '{0}' cannot travel in frames: it has to be compact, rounded to nearest (use = \"alarms\" \
         or \"fleet\"), and nothing may be derived from it"
    )]
    Column(String),
    /// Frames of such columns and rows are not possible.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The parameter set has no compact columns.
    #[error("the parameter set has no compact columns, which frames need")]
    Parameters,
    /// The bodies are not as many as the columns, rows and frames need.
    #[error("the file has {found} bytes of pads, where its frames need {needed}")]
    Bodies {
        /// The bytes that the frames need.
        needed: usize,
        /// The bytes in the file.
        found: usize,
    },
    /// The bits behind the last body of a run are not zero.
    #[error("the file of pads is damaged: bits behind the last body are not zero")]
    Padding,
    /// A frame that is not one of the board's.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The operating system gives no randomness.
    #[cfg(feature = "session")]
    #[error(transparent)]
    Entropy(#[from] tfhe_sbc_core::random::EntropyError),
}

/// The frames that a board shall make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FramePlan {
    /// The 8 bytes that name the board.
    #[serde(with = "byte_string")]
    pub device: [u8; 8],
    /// Whether they travel in every frame, because the network does not name the board.
    pub named: bool,
    /// The columns of a row, which are compact.
    pub columns: Vec<Column>,
    /// The number of rows of a frame.
    pub rows: u8,
    /// The number of frames.
    pub frames: u32,
}

impl FramePlan {
    /// Returns the format of the frames.
    ///
    /// # Errors
    /// If a column is not possible or cannot travel in frames, or columns, rows or frames are too few or too many.
    pub fn format(&self) -> Result<Format, PadsError> {
        let metadata = ReadingsMetadata {
            columns: self.columns.clone(),
            rows: vec![String::new()],
            gaps: Default::default(),
        };
        metadata.check()?;
        let columns = self.encodings()?.into_iter().map(|encoding| {
            // Both are at most 48, or the encoding would not be one.
            FrameColumn::new(encoding.bits() as u8, encoding.headroom() as u8)
        });
        let columns: Vec<FrameColumn> = columns.collect::<Result<_, _>>()?;
        let form = match self.named {
            true => Form::Named,
            false => Form::Bare,
        };
        let device = DeviceId(self.device);
        Ok(Format::new(device, form, &columns, self.rows, self.frames)?)
    }

    /// The encodings of the columns.
    fn encodings(&self) -> Result<Vec<CompactEncoding>, PadsError> {
        let encoding = |column: &Column| match column.element_encoding() {
            Ok(ElementEncoding::Compact(encoding))
                if encoding.rounding() == BodyRounding::Nearest && column.derived.is_empty() =>
            {
                Ok(encoding)
            }
            _ => Err(PadsError::Column(column.name.clone())),
        };
        self.columns.iter().map(encoding).collect()
    }
}

/// The content of a file of pads, apart from the fingerprints of its envelope.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// In their canonical form, so that a frame can be completed without a key file.
    #[serde(with = "byte_string")]
    parameters: Vec<u8>,
    plan: FramePlan,
    #[serde(with = "byte_string")]
    mac_key: [u8; 16],
    #[serde(with = "byte_string")]
    mask_seed: [u8; 32],
    #[serde(with = "byte_string")]
    bodies: Vec<u8>,
}

/// The part of a file of pads with which a server checks frames: all but the pads themselves. It holds the key of
/// the frames' tags.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PadHead {
    /// The frames that there are pads for.
    pub plan: FramePlan,
    #[serde(with = "byte_string")]
    mac_key: [u8; 16],
}

impl PadHead {
    /// Returns the bytes, which [`from_bytes`](Self::from_bytes) reads.
    ///
    /// # Errors
    /// If the plan cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, MetadataError> {
        let mut bytes = Vec::new();
        ciborium::into_writer(self, &mut bytes)
            .map_err(|error| MetadataError::Content(error.to_string()))?;
        Ok(bytes)
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// If the bytes are something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MetadataError> {
        ciborium::from_reader(bytes).map_err(|error| MetadataError::Content(error.to_string()))
    }

    /// The key of the tags. No two boards and no two files of pads have the same.
    pub const fn mac_key(&self) -> &[u8; 16] {
        &self.mac_key
    }

    /// Makes the reader of the board's frames.
    ///
    /// # Errors
    /// If frames of the plan are not possible.
    pub fn receiver(&self) -> Result<Receiver, PadsError> {
        let mac_key = MacKey::from_bytes(self.mac_key);
        Ok(Receiver::new(self.plan.format()?, mac_key))
    }
}

/// The server's pads for one board.
///
/// They hold the key of the frames' tags, with which frames can be forged, and nothing that reveals a reading.
pub struct PadFile {
    content: Content,
    key: KeyFingerprint,
    list: ListForm,
    receiver: Receiver,
}

/// A frame that has become an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedFrame {
    /// The counter of the frame.
    pub counter: u32,
    /// The upload: metadata, with row numbers from `counter * rows` on as labels, and a list of ciphertexts.
    pub upload: Vec<u8>,
}

impl PadFile {
    fn new(
        content: Content,
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, PadsError> {
        let format = content.plan.format()?;
        let list = ListForm::of(&content.plan, parameters)?;
        let needed = list.packed_len.saturating_mul(content.plan.frames as usize);
        let found = content.bodies.len();
        if found != needed {
            return Err(PadsError::Bodies { needed, found });
        }
        content.metadata(0).check()?;
        let receiver = Receiver::new(format, MacKey::from_bytes(content.mac_key));
        Ok(Self {
            content,
            key,
            list,
            receiver,
        })
    }

    /// Reads a file of pads. Whether they are for the caller's key set, [`key`](Self::key) says.
    ///
    /// # Errors
    /// If the file is damaged, or no file of pads.
    pub fn read(bytes: &[u8]) -> Result<Self, PadsError> {
        Self::of(Message::parse_only(bytes, Kind::Metadata)?)
    }

    /// Does what [`read`](Self::read) does with the message that the file is.
    ///
    /// # Errors
    /// If the message holds no pads.
    pub fn of(message: Message<'_>) -> Result<Self, PadsError> {
        let content: Content = metadata::read(message)?;
        let stated = content.parameters.first_chunk();
        let stated = stated.filter(|bytes| bytes.len() == content.parameters.len());
        let parameters = stated.map(Parameters::from_bytes).and_then(Result::ok);
        let parameters = parameters.ok_or(WireError::Field("parameters"))?;
        let key = message.header.key;
        message
            .header
            .check_belongs(parameters.fingerprint(), key)?;
        Self::new(content, &parameters, key)
    }

    /// The parameters that the pads are encrypted with.
    pub const fn parameters(&self) -> &Parameters {
        &self.list.parameters
    }

    /// The fingerprint of the key that the pads are encrypted under.
    pub const fn key(&self) -> KeyFingerprint {
        self.key
    }

    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// If the file would be larger than metadata may be.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PadsError> {
        let parameters = self.list.parameters.fingerprint();
        Ok(metadata::write(parameters, self.key, &self.content)?)
    }

    /// The part of the file without which no frame can be checked.
    pub fn head(&self) -> PadHead {
        PadHead {
            plan: self.content.plan.clone(),
            mac_key: self.content.mac_key,
        }
    }

    /// The frames that there are pads for.
    pub const fn plan(&self) -> &FramePlan {
        &self.content.plan
    }

    /// The format of the frames.
    pub const fn format(&self) -> &Format {
        self.receiver.format()
    }

    /// Makes an upload of a frame. The same frame gives the same bytes again.
    ///
    /// # Errors
    /// If the bytes are not a frame of this board, or the pads are damaged.
    pub fn complete(&self, frame: &[u8]) -> Result<CompletedFrame, PadsError> {
        let frame = self.receiver.read(frame)?;
        let counter = frame.counter();
        let masked: Vec<u64> = frame.codes().collect();

        let ListForm {
            parameters,
            encodings,
            segments,
            runs,
            packed_len,
        } = &self.list;
        let metadata = self.content.metadata(counter);
        let mut upload = metadata::write(parameters.fingerprint(), self.key, &metadata)?;
        let mut list = vec![0; HEADER_BYTES];
        list.extend(table_head(segments.len() as u16));
        for segment in segments {
            list.extend(segment.to_bytes(parameters));
        }
        let mut bodies = self.content.bodies.chunks_exact(*packed_len);
        // The receiver refuses counters without pads.
        let mut packed = bodies.nth(counter as usize).unwrap_or_default();
        for run in runs {
            let (bodies, rest) = packed
                .split_at_checked(run.packed_len())
                .ok_or(PadsError::Padding)?;
            packed = rest;
            if !padding_is_zero(bodies, run.count, run.body_bits) {
                return Err(PadsError::Padding);
            }
            let mut sums = vec![0_u64; run.count];
            unpack_top_bits(bodies, run.body_bits, &mut sums);
            for (sum, code) in sums.iter_mut().zip(codes_of(run, encodings.len(), &masked)) {
                *sum = sum.wrapping_add(encodings[run.segment].encode(code));
            }
            let end = list.len();
            list.resize(end + bodies.len(), 0);
            pack_top_bits(&sums, run.body_bits, &mut list[end..]);
        }
        let masks = ListMasks::Seeded(EXPANDER, mask_seed(&self.content.mask_seed, counter));
        header(parameters, self.key, masks, masked.len() as u32).seal_vec(&mut list)?;
        upload.extend(list);
        Ok(CompletedFrame { counter, upload })
    }
}

impl Content {
    /// The metadata of the upload of a frame.
    fn metadata(&self, counter: u32) -> ReadingsMetadata {
        let rows = u64::from(self.plan.rows);
        let first = u64::from(counter) * rows;
        ReadingsMetadata {
            columns: self.plan.columns.clone(),
            rows: (first..first + rows).map(|row| row.to_string()).collect(),
            gaps: Default::default(),
        }
    }
}

/// The expander of all masks.
const EXPANDER: ExpanderKind = ExpanderKind::ChaCha20;

/// The form of the list of one frame.
struct ListForm {
    parameters: Parameters,
    encodings: Vec<CompactEncoding>,
    segments: Vec<Segment>,
    runs: Vec<Run>,
    /// The bytes of all packed bodies.
    packed_len: usize,
}

impl ListForm {
    fn of(plan: &FramePlan, parameters: &Parameters) -> Result<Self, PadsError> {
        if !has_column_lists(parameters) {
            return Err(PadsError::Parameters);
        }
        let encodings = plan.encodings()?;
        let segment = |&encoding: &CompactEncoding| Segment {
            encoding: ElementEncoding::Compact(encoding),
            count: u32::from(plan.rows),
        };
        let segments: Vec<Segment> = encodings.iter().map(segment).collect();
        let runs: Vec<Run> = runs(parameters, segments.iter().copied()).collect();
        Ok(Self {
            parameters: *parameters,
            packed_len: runs.iter().map(Run::packed_len).sum(),
            encodings,
            segments,
            runs,
        })
    }
}

/// The codes of a run, where `codes` are those of all rows, row by row.
fn codes_of<'c>(run: &Run, columns: usize, codes: &'c [u64]) -> impl Iterator<Item = u64> + 'c {
    let first = run.first * columns + run.segment;
    codes.iter().skip(first).step_by(columns).copied()
}

/// The public seed of the masks of a frame.
fn mask_seed(seed: &[u8; 32], counter: u32) -> MaskSeed {
    MaskSeed(*blake3::keyed_hash(seed, &counter.to_le_bytes()).as_bytes())
}
