//! Linear answers without their masks: the body coefficients of sums of uploaded ciphertexts, and the seeds from
//! which whoever decrypts makes the masks again.
//!
//! A linear function of seeded ciphertexts has the same linear function of their masks, which the seeds of the
//! uploads and a few numbers tell. An answer therefore needs its bodies only, and for each upload 33 bytes.
//!
//! The payload has three parts. The first is the number of uploads, and for each the identifier of its expander
//! and its mask seed. The second is the number of ciphertexts, and for each the number of its codes, the number of its
//! windows and the windows: the number of the upload, the first element, the number of elements, and the
//! weight, whose lowest bit is its sign. The third has, for every ciphertext, its used body coefficients, cut to the
//! header's [`mask_bits`](Header::mask_bits) top bits and padded to a byte. All numbers of the first two parts are
//! unsigned LEB128: seven bits a byte, the least significant first, and the top bit set in all bytes but
//! the last.
//!
//! Uploads under keys that devices have of their own need no switch to the key of the list before they are added up: whoever
//! decrypts makes their masks, and switches those. A list with such uploads is of another kind, and its payload begins with the
//! number of the keys and their fingerprints; an upload has the number of its key before its expander, counted
//! from 1, or 0 for the key of the list.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::parameters::{KeyFingerprint, Parameters};
use crate::random::{ExpanderKind, MaskSeed};
use crate::wire::bits::{pack_top_bits, packed_len, padding_is_zero, unpack_top_bits};
use crate::wire::glwe::MAX_ELEMENTS;
use crate::wire::{HEADER_BYTES, Header, Kind, Message, WireError, require};

/// The largest number of mask polynomials that a list asks a reader to make, which takes about a second.
pub const MAX_POLYNOMIALS: usize = 1 << 16;
/// The number of bytes of an upload: the expander and the seed.
const UPLOAD_BYTES: usize = 1 + 32;

/// The seed of the masks of an upload, and the expander that makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeededMasks {
    /// The expander.
    pub expander: ExpanderKind,
    /// The seed.
    pub seed: MaskSeed,
    /// The device's own key that the upload is under; `None` if it is under the key of the key set.
    pub key: Option<KeyFingerprint>,
}

/// Neighbouring elements of an upload, whose product with a weight is part of a sum.
///
/// The elements that lie in one polynomial are a window `a..b` of its coefficients, and add the product of the
/// ciphertext and `weight · Σ X^-i`, for `i` in `a..b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskWindow {
    /// The upload.
    pub masks: SeededMasks,
    /// The place of the first element in the upload.
    pub first: usize,
    /// The number of elements, at least 1.
    pub count: usize,
    /// The weight.
    pub weight: i64,
}

/// A sum of ciphertexts without its masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bodies {
    /// The body coefficients that have codes, from the first on.
    pub codes: Vec<u64>,
    /// The windows whose sum it is, up to what is added to its bodies alone.
    pub windows: Vec<MaskWindow>,
}

impl MaskWindow {
    /// The number of polynomials of `size` coefficients in which the elements lie.
    fn polynomials(&self, size: usize) -> usize {
        (self.first + self.count).div_ceil(size) - self.first / size
    }
}

/// Returns the number of bytes that windows take, with their uploads, in a list that has no other windows.
pub fn windows_len(windows: &[MaskWindow]) -> usize {
    let mut uploads = Uploads::default();
    let mut len = 0;
    for window in windows {
        let upload = uploads.number(&window.masks);
        len += window_numbers(window, upload)
            .map(number_len)
            .iter()
            .sum::<usize>();
    }
    len += uploads.list.len() * UPLOAD_BYTES;
    if !uploads.keys.is_empty() {
        len += uploads.keys.len() * KeyFingerprint::default().0.len();
        len += (uploads.list.iter())
            .map(|(_, key)| number_len(*key))
            .sum::<usize>();
    }
    len
}

/// Returns the number of mask polynomials that a reader makes for windows, at most [`MAX_POLYNOMIALS`] for a list.
pub fn polynomial_count(parameters: &Parameters, windows: &[MaskWindow]) -> usize {
    let size = parameters.polynomial_size().get();
    windows.iter().map(|window| window.polynomials(size)).sum()
}

/// Returns the message of sums, whose bodies are cut to `bits` bits.
///
/// # Panics
/// If `bits` is not in `1..=64`.
pub fn write(parameters: &Parameters, key: KeyFingerprint, bits: u32, sums: &[Bodies]) -> Vec<u8> {
    let mut uploads = Uploads::default();
    let mut table = Vec::new();
    put(&mut table, sums.len() as u64);
    for Bodies { codes, windows } in sums {
        put(&mut table, codes.len() as u64);
        put(&mut table, windows.len() as u64);
        for window in windows {
            let upload = uploads.number(&window.masks);
            for number in window_numbers(window, upload) {
                put(&mut table, number);
            }
        }
    }
    let mut message = alloc::vec![0; HEADER_BYTES];
    let has_keys = !uploads.keys.is_empty();
    if has_keys {
        put(&mut message, uploads.keys.len() as u64);
        uploads.keys.iter().for_each(|key| message.extend(key.0));
    }
    put(&mut message, uploads.list.len() as u64);
    for (SeededMasks { expander, seed, .. }, key) in uploads.list {
        if has_keys {
            put(&mut message, key);
        }
        message.push(expander.id());
        message.extend(seed.0);
    }
    message.extend(table);
    let mut element_count = 0;
    for Bodies { codes, .. } in sums {
        let start = message.len();
        message.resize(start + packed_len(codes.len(), bits), 0);
        pack_top_bits(codes, bits, &mut message[start..]);
        element_count += codes.len();
    }
    let header = Header {
        polynomial_size: parameters.polynomial_size().get() as u32,
        dimension: parameters.glwe_dimension().0 as u32,
        torus_bits: parameters.torus_bits() as u8,
        mask_bits: bits as u8,
        element_count: element_count as u32,
        ..Header::new(
            match has_keys {
                true => Kind::DeviceBodies,
                false => Kind::LinearBodies,
            },
            parameters.fingerprint(),
            key,
        )
    };
    // A vector with room for the header is never too short.
    let _ = header.seal_vec(&mut message);
    message
}

/// Reads a message that [`write()`] made under these parameters and this key.
///
/// # Errors
/// The first defect. A list whose windows have more than [`MAX_POLYNOMIALS`] polynomials is refused.
pub fn read(
    message: Message<'_>,
    parameters: &Parameters,
    key: KeyFingerprint,
) -> Result<Vec<Bodies>, WireError> {
    let kind = match message.header.kind {
        Kind::DeviceBodies => Kind::DeviceBodies,
        _ => Kind::LinearBodies,
    };
    let header = message.expect_under(kind, parameters, key)?;
    let size = parameters.polynomial_size().get();
    require(parameters.torus_bits() == u64::BITS, "kind")?;
    header.check_glwe_shape(parameters)?;
    let bits = header.kept_mask_bits(u64::BITS)?;
    let mut rest = Reader {
        bytes: message.payload,
    };
    let mut keys = Vec::new();
    if kind == Kind::DeviceBodies {
        let key_count = rest.count()?;
        require(key_count > 0, "number of keys")?;
        for _ in 0..key_count {
            keys.push(rest.key()?);
        }
    }
    let upload_count = rest.count()?;
    let mut uploads = Vec::new();
    for _ in 0..upload_count {
        uploads.push(rest.upload(&keys)?);
    }
    let sum_count = rest.count()?;
    let (mut sums, mut elements, mut polynomials) = (Vec::new(), 0usize, 0usize);
    for _ in 0..sum_count {
        let count = rest.count()?;
        require((1..=size).contains(&count), "element count")?;
        elements = elements.saturating_add(count);
        let window_count = rest.count()?;
        let mut windows = Vec::new();
        for _ in 0..window_count {
            let window = rest.window(&uploads)?;
            polynomials = polynomials.saturating_add(window.polynomials(size));
            require(polynomials <= MAX_POLYNOMIALS, "windows")?;
            windows.push(window);
        }
        sums.push((count, windows));
    }
    require(elements == header.element_count as usize, "element count")?;
    require(elements <= MAX_ELEMENTS, "element count")?;
    let mut all = Vec::with_capacity(sums.len());
    for (count, windows) in sums {
        let packed = rest.take(packed_len(count, bits))?;
        require(padding_is_zero(packed, count, bits), "padding")?;
        let mut codes = alloc::vec![0; count];
        unpack_top_bits(packed, bits, &mut codes);
        all.push(Bodies { codes, windows });
    }
    match rest.bytes.len() {
        0 => Ok(all),
        more => Err(message.wrong_length(message.payload.len() - more)),
    }
}

/// The seed, the number of the expander and the key of an upload.
type UploadKey = ([u8; 32], u8, Option<[u8; 16]>);

/// The uploads and the devices' keys of a list while it is written.
#[derive(Default)]
struct Uploads {
    /// Each upload with the number of its key.
    list: Vec<(SeededMasks, u64)>,
    numbers: BTreeMap<UploadKey, u64>,
    keys: Vec<KeyFingerprint>,
}

impl Uploads {
    /// Returns the number of an upload, which is added with its key if it is not there.
    fn number(&mut self, masks: &SeededMasks) -> u64 {
        let key = masks.key.map(|key| key.0);
        let place = (masks.seed.0, masks.expander.id(), key);
        if let Some(number) = self.numbers.get(&place) {
            return *number;
        }
        let key = masks.key.map_or(0, |key| {
            // Neighbouring uploads are mostly of one device.
            let known = self.keys.iter().rposition(|known| *known == key);
            let at = known.unwrap_or_else(|| {
                self.keys.push(key);
                self.keys.len() - 1
            });
            at as u64 + 1
        });
        let number = self.list.len() as u64;
        self.list.push((*masks, key));
        self.numbers.insert(place, number);
        number
    }
}

fn window_numbers(window: &MaskWindow, upload: u64) -> [u64; 4] {
    let weight = window.weight;
    [
        upload,
        window.first as u64,
        window.count as u64,
        (weight << 1 ^ weight >> (i64::BITS - 1)) as u64,
    ]
}

fn number_len(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()).div_ceil(7).max(1) as usize
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The bytes that are not read yet.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or(WireError::Field("length of the bodies"))?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Reads a number, which must be in its shortest form.
    fn number(&mut self) -> Result<u64, WireError> {
        let (mut number, mut shift) = (0u64, 0);
        loop {
            let &[byte] = self.take(1)? else {
                return Err(WireError::Field("number"));
            };
            let digit = u64::from(byte & 0x7f);
            if shift >= u64::BITS || digit << shift >> shift != digit {
                return Err(WireError::Field("number"));
            }
            number |= digit << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                let shortest = digit != 0 || shift == 7;
                return shortest.then_some(number).ok_or(WireError::Field("number"));
            }
        }
    }

    /// Reads a number of things, which each take at least a byte.
    fn count(&mut self) -> Result<usize, WireError> {
        let count = usize::try_from(self.number()?);
        count
            .ok()
            .filter(|&count| count <= MAX_ELEMENTS)
            .ok_or(WireError::Field("number of windows"))
    }

    fn key(&mut self) -> Result<KeyFingerprint, WireError> {
        let mut key = KeyFingerprint::default();
        let bytes = self.take(key.0.len())?;
        key.0.copy_from_slice(bytes);
        Ok(key)
    }

    /// Reads an upload, which has the number of one of `keys` if there are any.
    fn upload(&mut self, keys: &[KeyFingerprint]) -> Result<SeededMasks, WireError> {
        let key = match keys {
            [] => None,
            keys => match self.count()? {
                0 => None,
                number => {
                    let key = keys.get(number - 1);
                    Some(*key.ok_or(WireError::Field("number of a key"))?)
                }
            },
        };
        let &[expander] = self.take(1)? else {
            return Err(WireError::Field("expander"));
        };
        let mut seed = MaskSeed([0; 32]);
        let bytes = self.take(seed.0.len())?;
        seed.0.copy_from_slice(bytes);
        Ok(SeededMasks {
            expander: ExpanderKind::try_from(expander)?,
            seed,
            key,
        })
    }

    fn window(&mut self, uploads: &[SeededMasks]) -> Result<MaskWindow, WireError> {
        let defect = WireError::Field("window");
        let upload = self.count()?;
        let (first, count) = (self.count()?, self.count()?);
        let weight = self.number()?;
        let weight = (weight >> 1) as i64 ^ -((weight & 1) as i64);
        if count == 0 || first + count > MAX_ELEMENTS {
            return Err(defect);
        }
        Ok(MaskWindow {
            masks: *uploads.get(upload).ok_or(defect)?,
            first,
            count,
            weight,
        })
    }
}

#[cfg(test)]
mod tests;
