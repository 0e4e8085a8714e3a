//! Column lists, which devices upload: GLWE ciphertexts whose elements have several encodings.
//!
//! A list is divided into segments, one for each column. All elements of a segment have one
//! [`ElementEncoding`]: radix blocks of the parameter set, or compact codes. The elements fill
//! polynomial after polynomial without gaps, so one polynomial may hold the end of one segment and the
//! beginning of the next. The part of a segment that lies in one polynomial is a [`Run`]; its body
//! coefficients are packed with the segment's number of bits and padded with zeros to a byte.
//!
//! The payload begins with the table of segments, so that the list can be read without metadata. A list
//! made with a device key has a seed in place of its masks; one made with a device public key has them
//! before the bodies of each polynomial.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use crate::dimensions::{GlweDimension, PolynomialSize};
use crate::encoding::{BodyRounding, CompactEncoding};
use crate::parameters::{KeyFingerprint, Parameters, PlaintextKind};
use crate::random::{ExpanderKind, MaskSeed};
#[cfg(feature = "alloc")]
use crate::wire::bits::unpack_top_bits;
use crate::wire::bits::{packed_len, padding_is_zero};
use crate::wire::glwe::MAX_ELEMENTS;
use crate::wire::{Header, Kind, Message, WireError, require};

/// The largest number of segments of a list.
pub const MAX_SEGMENTS: usize = 1024;
/// The number of bytes of a segment in the table.
pub const SEGMENT_BYTES: usize = 8;
/// The number of bytes before the table: the number of segments.
const COUNT_BYTES: usize = 2;
/// The number of bits that a mask coefficient of a public-key upload has more than the widest compact body.
/// The rounding of a mask is multiplied by the key: at kN = 2048 its variance in the phase is then a quarter
/// of that of the body's rounding.
pub const MASK_BITS_MORE: u32 = 6;

/// The encoding of the elements of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementEncoding {
    /// Radix blocks of the parameter set.
    Radix,
    /// Compact codes.
    Compact(CompactEncoding),
}

/// Consecutive elements of a list that have one encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The encoding of the elements.
    pub encoding: ElementEncoding,
    /// The number of elements, at least 1.
    pub count: u32,
}

/// The elements of one segment that lie in one polynomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The number of the segment.
    pub segment: usize,
    /// The encoding of the elements.
    pub encoding: ElementEncoding,
    /// The number of the polynomial.
    pub polynomial: usize,
    /// The place of the first element in the polynomial.
    pub start: usize,
    /// The place of the first element in the segment.
    pub first: usize,
    /// The number of elements.
    pub count: usize,
    /// The number of bits of each body coefficient.
    pub body_bits: u32,
}

impl Run {
    /// The number of bytes of the packed bodies.
    pub const fn packed_len(&self) -> usize {
        packed_len(self.count, self.body_bits)
    }
}

impl ElementEncoding {
    /// The number of bits of a body coefficient that travel under these parameters.
    pub const fn body_bits(&self, parameters: &Parameters) -> u32 {
        match self {
            Self::Radix => parameters.body_bits(),
            Self::Compact(encoding) => encoding.body_bits(),
        }
    }

    /// The number of bits of a mask coefficient that public-key uploads need; 0 if the parameters have
    /// no public-key uploads.
    pub const fn public_key_mask_bits(&self, parameters: &Parameters) -> u32 {
        match (self, parameters.public_key_mask_bits()) {
            (_, 0) => 0,
            (Self::Radix, bits) => bits,
            (Self::Compact(encoding), _) => {
                let bits = encoding.body_bits() + MASK_BITS_MORE;
                if bits < parameters.torus_bits() {
                    bits
                } else {
                    parameters.torus_bits()
                }
            }
        }
    }
}

impl Segment {
    /// Returns the entry of the segment in the table.
    pub fn to_bytes(&self, parameters: &Parameters) -> [u8; SEGMENT_BYTES] {
        let [a, b, c, d] = self.count.to_le_bytes();
        let [kind, body_bits, bits, headroom] = match self.encoding {
            ElementEncoding::Radix => [
                RADIX,
                parameters.body_bits() as u8,
                parameters.message_bits().0 as u8,
                parameters.carry_bits().0 as u8,
            ],
            ElementEncoding::Compact(encoding) => [
                match encoding.rounding() {
                    BodyRounding::Nearest => COMPACT,
                    BodyRounding::ErrorFeedback => COMPACT_WITH_FEEDBACK,
                },
                encoding.body_bits() as u8,
                encoding.bits() as u8,
                encoding.headroom() as u8,
            ],
        };
        [a, b, c, d, kind, body_bits, bits, headroom]
    }

    fn parse(bytes: &[u8; SEGMENT_BYTES], parameters: &Parameters) -> Result<Self, WireError> {
        let StatedSegment { segment, .. } = StatedSegment::parse(bytes)?;
        match segment.to_bytes(parameters) == *bytes {
            true => Ok(segment),
            false => Err(WireError::Field("segment encoding")),
        }
    }
}

/// A segment as the table states it, for who has no parameter set to compare it with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedSegment {
    /// The segment, without the numbers of radix blocks.
    pub segment: Segment,
    /// The number of bits of each body coefficient.
    pub body_bits: u32,
    /// The width of a code, or the message bits of a block.
    pub bits: u32,
    /// The bits above a code, or the carry bits of a block.
    pub headroom: u32,
}

impl StatedSegment {
    fn parse(bytes: &[u8; SEGMENT_BYTES]) -> Result<Self, WireError> {
        let &[a, b, c, d, kind, body_bits, bits, headroom] = bytes;
        let compact = |rounding| {
            CompactEncoding::new(bits.into(), headroom.into(), body_bits.into(), rounding)
                .map(ElementEncoding::Compact)
                .map_err(|_| WireError::Field("segment encoding"))
        };
        let segment = Segment {
            encoding: match kind {
                RADIX => ElementEncoding::Radix,
                COMPACT => compact(BodyRounding::Nearest)?,
                COMPACT_WITH_FEEDBACK => compact(BodyRounding::ErrorFeedback)?,
                _ => return Err(WireError::Field("segment kind")),
            },
            count: u32::from_le_bytes([a, b, c, d]),
        };
        if segment.count == 0 || segment.count as usize > MAX_ELEMENTS {
            return Err(WireError::Field("element count"));
        }
        Ok(Self {
            segment,
            body_bits: body_bits.into(),
            bits: bits.into(),
            headroom: headroom.into(),
        })
    }
}

/// Returns the segments that the payload of a list of columns states, in their order. Only
/// [`ColumnList::check`] compares them with a parameter set and with the rest of the message.
///
/// # Errors
/// If the payload is too short for its table, or an entry is one that no parameter set has.
pub fn stated_segments(
    payload: &[u8],
) -> Result<impl Iterator<Item = StatedSegment> + '_, WireError> {
    let entries = split_table(payload)?.0.as_chunks().0;
    for entry in entries {
        StatedSegment::parse(entry)?;
    }
    Ok(entries
        .iter()
        .filter_map(|entry| StatedSegment::parse(entry).ok()))
}

/// Splits the payload of a list into the entries of the table and the ciphertexts.
fn split_table(payload: &[u8]) -> Result<(&[u8], &[u8]), WireError> {
    let defect = WireError::Field("number of segments");
    let (count, rest) = payload.split_first_chunk().ok_or(defect)?;
    let count = usize::from(u16::from_le_bytes(*count));
    if !(1..=MAX_SEGMENTS).contains(&count) {
        return Err(defect);
    }
    rest.split_at_checked(count * SEGMENT_BYTES).ok_or(defect)
}

/// The kinds of segments in the table.
const RADIX: u8 = 2;
const COMPACT: u8 = 3;
const COMPACT_WITH_FEEDBACK: u8 = 4;

/// Returns whether lists of columns are possible under these parameters: they need radix blocks over the
/// 64-bit torus.
pub const fn has_column_lists(parameters: &Parameters) -> bool {
    matches!(parameters.plaintext(), PlaintextKind::Radix) && parameters.torus_bits() == 64
}

/// Returns the runs of polynomial `index`, in their order; none behind the last polynomial.
pub fn runs_of_polynomial<I: Iterator<Item = Segment>>(
    parameters: &Parameters,
    segments: I,
    index: usize,
) -> impl Iterator<Item = Run> + use<I> {
    let parameters = *parameters;
    let size = parameters.polynomial_size().get();
    let (begin, end) = (index * size, (index + 1) * size);
    let mut place = 0;
    segments.enumerate().filter_map(move |(number, segment)| {
        let segment_begin = place;
        place += segment.count as usize;
        let (from, to) = (segment_begin.max(begin), place.min(end));
        (from < to).then(|| Run {
            segment: number,
            encoding: segment.encoding,
            polynomial: index,
            start: from - begin,
            first: from - segment_begin,
            count: to - from,
            body_bits: segment.encoding.body_bits(&parameters),
        })
    })
}

/// Returns the runs of all polynomials, in their order.
pub fn runs<I: Iterator<Item = Segment> + Clone>(
    parameters: &Parameters,
    segments: I,
) -> impl Iterator<Item = Run> + use<I> {
    let parameters = *parameters;
    let elements: usize = segments.clone().map(|segment| segment.count as usize).sum();
    let polynomials = elements.div_ceil(parameters.polynomial_size().get());
    (0..polynomials).flat_map(move |index| runs_of_polynomial(&parameters, segments.clone(), index))
}

/// Returns the number of bits of a mask coefficient of a public-key list of these segments: that of the
/// segment that needs most, 0 if the parameters have no public-key uploads.
pub fn mask_bits(parameters: &Parameters, segments: impl Iterator<Item = Segment>) -> u32 {
    let bits = |segment: Segment| segment.encoding.public_key_mask_bits(parameters);
    segments.map(bits).max().unwrap_or(0)
}

/// Returns the number of bytes of the table of `count` segments.
pub const fn table_len(count: usize) -> usize {
    COUNT_BYTES + count * SEGMENT_BYTES
}

/// Returns the first bytes of the table: the number of segments.
pub const fn table_head(count: u16) -> [u8; COUNT_BYTES] {
    count.to_le_bytes()
}

/// Returns the number of bytes of a list between header and checksum. `masked` lists have their masks.
pub fn payload_len(
    parameters: &Parameters,
    segments: impl Iterator<Item = Segment> + Clone,
    masked: bool,
) -> usize {
    let each_mask = match masked {
        true => masks_len(parameters, mask_bits(parameters, segments.clone())),
        false => 0,
    };
    let table = table_len(segments.clone().count());
    runs(parameters, segments).fold(table, |len, run| {
        let masks = if run.start == 0 { each_mask } else { 0 };
        len.saturating_add(masks).saturating_add(run.packed_len())
    })
}

/// The number of bytes of the masks of one ciphertext.
fn masks_len(parameters: &Parameters, bits: u32) -> usize {
    packed_len(parameters.polynomial_size().get(), bits) * parameters.glwe_dimension().0
}

/// Makes the header of a list of `element_count` elements: with a mask seed and its expander, or with
/// masks of `mask_bits` bits.
pub fn header(
    parameters: &Parameters,
    key: KeyFingerprint,
    masks: ListMasks,
    element_count: u32,
) -> Header {
    let kind = match masks {
        ListMasks::Seeded(..) => Kind::SeededColumnList,
        ListMasks::Sent { .. } => Kind::ColumnList,
    };
    let header = Header {
        polynomial_size: parameters.polynomial_size().get() as u32,
        dimension: parameters.glwe_dimension().0 as u32,
        torus_bits: parameters.torus_bits() as u8,
        element_count,
        ..Header::new(kind, parameters.fingerprint(), key)
    };
    match masks {
        ListMasks::Seeded(expander, mask_seed) => Header {
            expander: Some(expander),
            mask_seed,
            ..header
        },
        ListMasks::Sent { mask_bits } => Header {
            mask_bits: mask_bits as u8,
            ..header
        },
    }
}

/// The form of the masks of a list.
#[derive(Clone, Copy, Debug)]
pub enum ListMasks {
    /// A seed and its expander.
    Seeded(ExpanderKind, MaskSeed),
    /// The masks themselves.
    Sent {
        /// The number of bits of a mask coefficient.
        mask_bits: u32,
    },
}

/// A checked list of columns, in the bytes that it was read from.
#[derive(Clone, Copy, Debug)]
pub struct ColumnList<'a> {
    header: Header,
    parameters: Parameters,
    masks: ListMasks,
    table: &'a [u8],
    ciphertexts: &'a [u8],
}

impl<'a> ColumnList<'a> {
    /// Checks that a message is a list of either kind under these parameters and this key, that every
    /// segment is one that the parameters permit, and that the payload is exactly as long as the
    /// segments need.
    ///
    /// # Errors
    /// The first defect.
    pub fn check(
        message: Message<'a>,
        parameters: &Parameters,
        key: KeyFingerprint,
    ) -> Result<Self, WireError> {
        let header = message.header;
        if header.kind != Kind::ColumnList {
            message.expect(Kind::SeededColumnList)?;
        }
        header.check_belongs(parameters.fingerprint(), key)?;
        require(has_column_lists(parameters), "kind")?;
        header.check_glwe_shape(parameters)?;
        let (table, ciphertexts) = split_table(message.payload)?;
        let mut elements = 0u64;
        for entry in table.as_chunks().0 {
            elements += u64::from(Segment::parse(entry, parameters)?.count);
        }
        require(elements <= MAX_ELEMENTS as u64, "element count")?;
        require(elements == u64::from(header.element_count), "element count")?;
        let masked = header.kind == Kind::ColumnList;
        let segments = || segments(table, parameters);
        let masks = match header.expander {
            Some(expander) => ListMasks::Seeded(expander, header.mask_seed),
            None if masked => ListMasks::Sent {
                mask_bits: mask_bits(parameters, segments()),
            },
            None => return Err(WireError::Field("expander")),
        };
        if let ListMasks::Sent { mask_bits } = masks {
            let same = u32::from(header.mask_bits) == mask_bits && mask_bits > 0;
            require(same, "mask bits")?;
        }
        let expected = payload_len(parameters, segments(), masked);
        message.expect_length(expected)?;
        let list = Self {
            header,
            parameters: *parameters,
            masks,
            table,
            ciphertexts,
        };
        for (run, packed) in list.runs() {
            require(padding_is_zero(packed, run.count, run.body_bits), "padding")?;
        }
        Ok(list)
    }

    /// The parameters that it was checked against.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The fingerprint of the key that it is under.
    pub fn key(&self) -> KeyFingerprint {
        self.header.key
    }

    /// The bytes of the table of segments. Lists with the same bytes have the same segments.
    pub fn table(&self) -> &'a [u8] {
        self.table
    }

    /// The bytes of all ciphertexts: of each the packed masks, unless a seed replaces them, and the
    /// packed bodies, run after run.
    pub fn ciphertext_bytes(&self) -> &'a [u8] {
        self.ciphertexts
    }

    /// The number of elements.
    pub fn element_count(&self) -> usize {
        self.header.element_count as usize
    }

    /// The number of GLWE ciphertexts.
    pub fn ciphertext_count(&self) -> usize {
        self.element_count().div_ceil(self.polynomial_size())
    }

    /// The form of the masks.
    pub fn masks(&self) -> ListMasks {
        self.masks
    }

    /// The segments, in their order.
    pub fn segments(&self) -> impl Iterator<Item = Segment> + Clone + use<'a> {
        segments(self.table, &self.parameters)
    }

    /// The runs, in their order, with the bytes of their packed bodies.
    pub fn runs(&self) -> impl Iterator<Item = (Run, &'a [u8])> + use<'a> {
        let each_mask = self.masks_len();
        let mut rest = self.ciphertexts;
        runs(&self.parameters, self.segments()).map(move |run| {
            if run.start == 0 {
                rest = rest.split_at_checked(each_mask).unwrap_or_default().1;
            }
            let (packed, behind) = rest.split_at_checked(run.packed_len()).unwrap_or_default();
            rest = behind;
            (run, packed)
        })
    }

    /// The number of bytes of the packed masks of each ciphertext, 0 if a seed replaces them.
    pub fn masks_len(&self) -> usize {
        match self.masks {
            ListMasks::Seeded(..) => 0,
            ListMasks::Sent { mask_bits } => masks_len(&self.parameters, mask_bits),
        }
    }

    fn polynomial_size(&self) -> usize {
        self.header.polynomial_size as usize
    }

    /// The dimension k and the polynomial size of the ciphertexts.
    pub fn glwe_shape(&self) -> (GlweDimension, PolynomialSize) {
        (
            self.parameters.glwe_dimension(),
            self.parameters.polynomial_size(),
        )
    }

    /// Returns GLWE ciphertext `index` with its masks, or `None` if there are fewer. The time grows
    /// with the number of ciphertexts before it; [`packed_ciphertexts`](Self::packed_ciphertexts) takes
    /// all in order.
    #[cfg(feature = "alloc")]
    pub fn ciphertext<T: crate::torus::Torus>(
        &self,
        index: usize,
    ) -> Option<crate::glwe::GlweCiphertext<T>> {
        let packed = self.packed_ciphertexts().nth(index)?;
        self.expand(&packed)
    }

    /// The bytes of each GLWE ciphertext, masks and bodies, with the runs that it holds.
    #[cfg(feature = "alloc")]
    pub fn packed_ciphertexts(&self) -> impl Iterator<Item = PackedCiphertext<'a>> + use<'a> {
        let each_mask = self.masks_len();
        let (list, mut rest) = (*self, self.ciphertexts);
        (0..self.ciphertext_count()).map_while(move |index| {
            let runs = runs_of_polynomial(&list.parameters, list.segments(), index);
            let runs: Vec<Run> = runs.collect();
            let (masks, behind) = rest.split_at_checked(each_mask)?;
            let len = runs.iter().map(Run::packed_len).sum();
            let (bodies, behind) = behind.split_at_checked(len)?;
            rest = behind;
            Some(PackedCiphertext {
                index,
                masks,
                bodies,
                runs,
            })
        })
    }

    /// Returns a ciphertext of this list with its masks.
    #[cfg(feature = "alloc")]
    pub fn expand<T: crate::torus::Torus>(
        &self,
        packed: &PackedCiphertext<'a>,
    ) -> Option<crate::glwe::GlweCiphertext<T>> {
        let (dimension, size) = self.glwe_shape();
        let mask_len = dimension.0 * size.get();
        let mut data = alloc::vec![T::ZERO; mask_len + size.get()];
        let (masks, body) = data.split_at_mut(mask_len);
        match self.masks {
            ListMasks::Seeded(expander, seed) => {
                let stream = &mut expander.mask_stream(&seed, packed.index as u32);
                crate::random::fill_uniform(stream, masks);
            }
            ListMasks::Sent { mask_bits } => unpack_top_bits(packed.masks, mask_bits, masks),
        }
        packed.unpack_bodies(body);
        crate::glwe::GlweCiphertext::from_vec(data, size)
    }
}

/// The segments of a checked table.
fn segments<'a>(
    table: &'a [u8],
    parameters: &Parameters,
) -> impl Iterator<Item = Segment> + Clone + use<'a> {
    let parameters = *parameters;
    let entries = table.as_chunks().0.iter();
    entries.filter_map(move |entry| Segment::parse(entry, &parameters).ok())
}

/// One GLWE ciphertext of a list, in the bytes that it was read from.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
pub struct PackedCiphertext<'a> {
    /// The number of the ciphertext, which is the number of its mask stream.
    pub index: usize,
    /// The packed masks; empty if a seed replaces them.
    pub masks: &'a [u8],
    /// The packed bodies, run after run.
    pub bodies: &'a [u8],
    /// The runs.
    pub runs: Vec<Run>,
}

#[cfg(feature = "alloc")]
impl PackedCiphertext<'_> {
    /// Overwrites the used coefficients of `body`, which has N coefficients.
    pub fn unpack_bodies<T: crate::torus::Torus>(&self, body: &mut [T]) {
        let mut rest = self.bodies;
        for run in &self.runs {
            let (packed, behind) = rest.split_at(run.packed_len());
            unpack_top_bits(packed, run.body_bits, &mut body[run.start..][..run.count]);
            rest = behind;
        }
    }
}
