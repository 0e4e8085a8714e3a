//! The ciphertexts of answers: blocks under the small key, and compact codes under the big one.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::vec;

use serde::{Deserialize, Serialize};
use tfhe_sbc_columns::device_keys::{DeviceKeyError, DeviceKeys};
use tfhe_sbc_columns::{CompactValues, Exported, Piece};
use tfhe_sbc_core::encoding::BlockEncoding;
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_core::wire::bodies::Bodies;
use tfhe_sbc_core::wire::cut::CutList;
use tfhe_sbc_core::wire::packed::PackedList;
use tfhe_sbc_core::wire::{Kind, Message, WireError, bodies, lwe, values};
use tfhe_sbc_engine::glwe_key_switch::DeviceSwitchKey;
use tfhe_sbc_engine::packing_key::PackingKey;
use tfhe_sbc_upload::masks::{Completed, MaskMaker};

use super::short::ShortList;
use super::{EncryptedAnswer, Meaning, ResultsError};

/// A part of an answer that is compact codes in place of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactPart {
    /// The place of its first block among the answer's, as if the codes were in blocks.
    pub first_block: u32,
    /// The number of codes.
    pub codes: u32,
    /// The number of bits of a code.
    pub bits: u32,
    /// The number of bits of a code and of the headroom above it: a code has the phase
    /// `code / 2^plaintext_bits`.
    pub plaintext_bits: u32,
    /// The number of ciphertexts that the codes are in.
    pub ciphertexts: u32,
    /// log2 of the variance of the codes' noise, torus-normalised and rounded up to an eighth, for whoever computes on
    /// them.
    pub noise: f64,
    /// Whether the ciphertexts come without their masks, in the list of bodies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bodies: bool,
}

/// The ciphertexts of a result while it is made.
#[derive(Default)]
pub struct Ciphertexts {
    blocks: Vec<LweCiphertext<u32>>,
    compact: Vec<Arc<CompactValues>>,
    bodies: Vec<Bodies>,
    /// The number of mask polynomials that whoever decrypts makes for the bodies.
    polynomials: usize,
    /// The first blocks, once they are packed or cut.
    short: Option<ShortList>,
    /// The largest number of bits that a coefficient of the lists needs.
    bits: u32,
    /// Whether nothing is computed on the ciphertexts, so that they may be as short as decryption permits.
    for_decryption: bool,
    /// The keys of devices that whoever decrypts has switch keys of.
    device_keys: HashSet<KeyFingerprint>,
}

/// The number of bits by which coefficients are longer than code and headroom, if sums may be computed on. The rounding
/// of up to 2^12 mask coefficients has a standard deviation of at most 2^-9 of the distance between codes then, which
/// changes the failure probability of a sum at its limit by less than a factor of 2.
const BITS_MORE: u32 = 13;

impl From<Vec<LweCiphertext<u32>>> for Ciphertexts {
    /// Blocks of answers without compact parts.
    fn from(blocks: Vec<LweCiphertext<u32>>) -> Self {
        Self {
            blocks,
            ..Self::default()
        }
    }
}

impl From<PackedList> for Ciphertexts {
    /// Sanitised blocks of answers, which are packed already.
    fn from(list: PackedList) -> Self {
        Self {
            short: Some(ShortList::Packed(list)),
            ..Self::for_decryption()
        }
    }
}

impl Ciphertexts {
    /// Ciphertexts that are only decrypted, and as short as that permits.
    pub fn for_decryption() -> Self {
        Self {
            for_decryption: true,
            ..Self::default()
        }
    }

    /// The same ciphertexts, for whoever has the switch keys of these keys of devices.
    #[must_use]
    pub fn with_device_keys(self, keys: &[KeyFingerprint]) -> Self {
        Self {
            device_keys: keys.iter().copied().collect(),
            ..self
        }
    }

    /// Takes the ciphertexts of the parts of an answer and returns its description. `None` for codes of
    /// a rehearsal.
    pub fn add(
        &mut self,
        parameters: &Parameters,
        name: String,
        parts: impl IntoIterator<Item = Exported>,
        meaning: Meaning,
    ) -> Option<EncryptedAnswer> {
        let encoding = parameters.block_encoding();
        let (mut blocks, mut compact) = (0, Vec::new());
        for part in parts {
            blocks += match part {
                Exported::Sealed(sealed) => {
                    let count = sealed.len() as u32;
                    self.blocks.extend(sealed);
                    count
                }
                Exported::Compact(values) => {
                    let codes = values.count() as u32;
                    let bits = match self.for_decryption {
                        true => values.answer_bits(parameters),
                        false => u64::BITS.min(values.plaintext_bits + BITS_MORE),
                    };
                    let bodies = self.shorter_bodies(parameters, &values, bits);
                    let noise = match bodies {
                        Some(_) => values.noise_log2_without_masks(bits),
                        None => values.noise_log2(parameters, bits),
                    };
                    compact.push(CompactPart {
                        first_block: blocks,
                        codes,
                        bits: values.bits,
                        plaintext_bits: values.plaintext_bits,
                        ciphertexts: values.pieces.len() as u32,
                        noise: (8.0 * noise).ceil() / 8.0,
                        bodies: bodies.is_some(),
                    });
                    let each = encoding.block_count(values.bits) as u32;
                    self.bits = self.bits.max(bits);
                    match bodies {
                        Some(bodies) => {
                            let windows = bodies.iter().map(|sum| &sum.windows);
                            let polynomials = windows
                                .map(|windows| bodies::polynomial_count(parameters, windows));
                            self.polynomials += polynomials.sum::<usize>();
                            self.bodies.extend(bodies);
                        }
                        None => self.compact.push(values),
                    }
                    codes * each
                }
                Exported::Clear(_) => return None,
            };
        }
        Some(EncryptedAnswer {
            name,
            group: None,
            blocks,
            compact,
            joined: false,
            meaning,
        })
    }

    /// Packs the blocks with the key that servers have for that, or cuts each of them if there is none. They can be
    /// decrypted then, but not computed on.
    pub fn shorten(&mut self, parameters: &Parameters, packing: Option<&PackingKey>) {
        self.shorten_first(self.blocks.len(), parameters, packing);
    }

    /// Does what [`shorten`](Self::shorten) does, for as many of the blocks as fill whole ciphertexts. More blocks may follow.
    pub fn shorten_whole(&mut self, parameters: &Parameters, packing: Option<&PackingKey>) {
        let slots = packing.map_or(1, |key| key.packing().polynomial_size.get());
        let count = self.blocks.len() - self.blocks.len() % slots;
        self.shorten_first(count, parameters, packing);
    }

    fn shorten_first(
        &mut self,
        count: usize,
        parameters: &Parameters,
        packing: Option<&PackingKey>,
    ) {
        let first = self.blocks.get(..count).unwrap_or_default();
        let Some(more) = ShortList::new(parameters, packing, first) else {
            return;
        };
        let added = match &mut self.short {
            Some(short) => short.append(more),
            none => {
                *none = Some(more);
                Some(())
            }
        };
        if added.is_some() {
            self.blocks.drain(..count);
        }
    }

    /// Returns the ciphertexts without their masks, if these can be made from seeds and the seeds are shorter.
    fn shorter_bodies(
        &self,
        parameters: &Parameters,
        values: &CompactValues,
        bits: u32,
    ) -> Option<Vec<Bodies>> {
        let new = values.bodies()?;
        let windows: Vec<_> = new.iter().flat_map(|sum| &sum.windows).copied().collect();
        let mut keys = windows.iter().filter_map(|window| window.masks.key);
        if !keys.all(|key| self.device_keys.contains(&key)) {
            return None;
        }
        let with_masks = values.pieces.iter();
        let with_masks = with_masks.map(|_| values::ciphertext_len(parameters, 0, bits));
        let polynomials = self.polynomials + bodies::polynomial_count(parameters, &windows);
        let is_shorter = bodies::windows_len(&windows) < with_masks.sum::<usize>();
        (is_shorter && polynomials <= bodies::MAX_POLYNOMIALS).then_some(new)
    }

    /// Returns the messages behind the metadata: the lists of blocks, packed, cut or whole, of compact codes, and of bodies,
    /// each if there are any.
    pub(super) fn seal(&self, parameters: &Parameters, key: KeyFingerprint) -> Vec<u8> {
        let mut bytes = Vec::new();
        if !self.blocks.is_empty() {
            bytes.extend(lwe::write(parameters, key, &self.blocks));
        }
        if let Some(short) = &self.short {
            bytes.extend(short.write(parameters, key));
        }
        if !self.compact.is_empty() {
            let pieces = self.compact.iter().flat_map(|values| &values.pieces);
            let pieces = pieces.map(|piece| (piece.count, &piece.ciphertext));
            let pieces: Vec<_> = pieces.collect();
            bytes.extend(values::write(parameters, key, self.bits, &pieces));
        }
        if !self.bodies.is_empty() {
            bytes.extend(bodies::write(parameters, key, self.bits, &self.bodies));
        }
        bytes
    }
}

/// The ciphertexts of a result, as they are read: each list from the front.
pub(super) struct Lists {
    blocks: vec::IntoIter<LweCiphertext<u32>>,
    compact: vec::IntoIter<(usize, GlweCiphertext<u64>)>,
    bodies: vec::IntoIter<Bodies>,
    /// The switch keys of the devices whose keys bodies are under.
    switches: HashMap<KeyFingerprint, DeviceSwitchKey<u64>>,
    /// The packed or cut blocks, and the number of those that were taken.
    short: Option<(Arc<ShortBlocks>, usize)>,
    block_count: usize,
}

/// Packed or cut blocks, and their values once they are decrypted.
struct ShortBlocks {
    list: ShortList,
    values: OnceLock<Vec<u8>>,
}

impl ShortBlocks {
    /// Decrypts all blocks, the first time.
    fn values(&self, secret: &SecretKey) -> &[u8] {
        self.values.get_or_init(|| self.list.decrypt(secret))
    }
}

impl fmt::Debug for ShortBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShortBlocks")
            .field("len", &self.list.len())
            .finish_non_exhaustive()
    }
}

/// Returns the switch keys of the devices whose keys uploads of sums are under.
fn switches(
    sums: &[Bodies],
    devices: Option<&DeviceKeys>,
) -> Result<HashMap<KeyFingerprint, DeviceSwitchKey<u64>>, ResultsError> {
    let mut switches = HashMap::new();
    for key in sums
        .iter()
        .flat_map(|sum| &sum.windows)
        .filter_map(|window| window.masks.key)
    {
        if let Entry::Vacant(place) = switches.entry(key) {
            let switch = match devices.map(|devices| devices.switch_from(key)) {
                Some(Ok(switch)) => switch,
                Some(Err(DeviceKeyError::Unknown { .. })) | None => None,
                Some(Err(error)) => return Err(error.into()),
            };
            place.insert(switch.ok_or(ResultsError::DeviceKey(key))?);
        }
    }
    Ok(switches)
}

impl Lists {
    /// Reads the messages behind the metadata.
    ///
    /// # Errors
    /// The first defect, two lists of one kind, and keys of devices whose switch keys are not there.
    pub(super) fn read(
        mut bytes: &[u8],
        parameters: &Parameters,
        key: KeyFingerprint,
        devices: Option<&DeviceKeys>,
    ) -> Result<Self, ResultsError> {
        let (mut blocks, mut compact, mut bodies, mut short) = (None, None, None, None);
        while !bytes.is_empty() {
            let (message, rest) = Message::parse(bytes)?;
            let is_second = match message.header.kind {
                Kind::CompactValues => {
                    let read = values::read(message, parameters, key)?;
                    compact.replace(read).is_some()
                }
                Kind::LinearBodies | Kind::DeviceBodies => {
                    let read = bodies::read(message, parameters, key)?;
                    bodies.replace(read).is_some()
                }
                Kind::PackedList => {
                    let read = PackedList::read(message, parameters, key)?;
                    short.replace(ShortList::Packed(read)).is_some()
                }
                Kind::CutLweList => {
                    let read = CutList::read(message, parameters, key)?;
                    short.replace(ShortList::Cut(read)).is_some()
                }
                _ => {
                    let read = lwe::read(message, parameters, key)?;
                    blocks.replace(read).is_some()
                }
            };
            if is_second {
                return Err(WireError::TrailingBytes(bytes.len()).into());
            }
            bytes = rest;
        }
        let switches = switches(bodies.as_deref().unwrap_or_default(), devices)?;
        let blocks = blocks.unwrap_or_default();
        let short_count = short.as_ref().map_or(0, ShortList::len);
        let short_blocks = |list| {
            let values = OnceLock::new();
            (Arc::new(ShortBlocks { list, values }), 0)
        };
        Ok(Self {
            block_count: blocks.len() + short_count,
            short: short.map(short_blocks),
            blocks: blocks.into_iter(),
            compact: compact.unwrap_or_default().into_iter(),
            bodies: bodies.unwrap_or_default().into_iter(),
            switches,
        })
    }

    /// The number of blocks of all answers.
    pub(super) fn block_count(&self) -> usize {
        self.block_count
    }

    /// Whether all ciphertexts were taken.
    pub(super) fn is_empty(&self) -> bool {
        let is_taken = |(short, taken): &(Arc<ShortBlocks>, usize)| *taken == short.list.len();
        let (blocks, compact) = (self.blocks.len(), self.compact.len());
        blocks + compact + self.bodies.len() == 0 && self.short.as_ref().is_none_or(is_taken)
    }

    /// Takes blocks: from the list of packed or cut ones, if there is one. Returns `None` if there are fewer.
    fn take_blocks(&mut self, count: usize) -> Option<Part> {
        if let Some((short, taken)) = &mut self.short {
            let first = *taken;
            *taken = first.checked_add(count)?;
            let range = first..*taken;
            let there = range.end <= short.list.len();
            return there.then(|| Part::Short(Arc::clone(short), range));
        }
        let blocks: Vec<_> = self.blocks.by_ref().take(count).collect();
        (blocks.len() == count).then_some(Part::Whole(Exported::Sealed(blocks)))
    }

    /// Takes the ciphertexts of one part.
    fn pieces(&mut self, masks: &mut MaskMaker, part: &CompactPart) -> Option<Vec<Piece>> {
        let count = part.ciphertexts as usize;
        if part.bodies {
            let sums: Vec<Bodies> = self.bodies.by_ref().take(count).collect();
            let pieces = sums.into_iter().map(|sum| {
                let Completed {
                    own: mut ciphertext,
                    under_devices,
                } = masks.complete(&sum)?;
                let is_switched = !under_devices.is_empty();
                for (key, masks) in under_devices {
                    let mut switched = [masks];
                    self.switches.get(&key)?.switch_batch(&mut switched);
                    let [switched] = &switched;
                    let words = ciphertext.as_mut_slice().iter_mut();
                    for (word, more) in words.zip(switched.as_slice()) {
                        *word = word.wrapping_add(*more);
                    }
                }
                Some(Piece {
                    count: sum.codes.len(),
                    ciphertext,
                    windows: (!is_switched).then_some(sum.windows),
                    unswitched: None,
                })
            });
            return pieces.collect();
        }
        let pieces = self.compact.by_ref().take(count);
        let pieces = pieces.map(|(count, ciphertext)| Piece {
            count,
            ciphertext,
            windows: None,
            unswitched: None,
        });
        Some(pieces.collect())
    }
}

/// The ciphertexts of an answer that was read, part by part.
#[derive(Clone, Debug)]
pub struct AnswerParts(Vec<Part>);

/// A part of an answer that was read.
#[derive(Clone, Debug)]
enum Part {
    /// Ciphertexts that can be computed on.
    Whole(Exported),
    /// Packed or cut blocks.
    Short(Arc<ShortBlocks>, Range<usize>),
}

impl AnswerParts {
    /// Takes the ciphertexts of an answer from the front. Returns `None` if there are fewer, or if the
    /// description is not one that [`Ciphertexts::add`] makes.
    pub(super) fn take(
        answer: &EncryptedAnswer,
        encoding: BlockEncoding,
        masks: &mut MaskMaker,
        lists: &mut Lists,
    ) -> Option<Self> {
        if answer.joined && lists.short.is_none() {
            return None;
        }
        let mut parts = Vec::new();
        let mut at = 0;
        for part in &answer.compact {
            let before = part.first_block.checked_sub(at)?;
            if before > 0 {
                parts.push(lists.take_blocks(before as usize)?);
            }
            let pieces = lists.pieces(masks, part)?;
            let values =
                CompactValues::received(part.plaintext_bits, part.bits, pieces, part.noise)?;
            if values.count() != part.codes as usize
                || values.pieces.len() != part.ciphertexts as usize
            {
                return None;
            }
            let each = encoding.block_count(part.bits) as u32;
            at = part
                .first_block
                .checked_add(part.codes.checked_mul(each)?)?;
            parts.push(Part::Whole(Exported::Compact(Arc::new(values))));
        }
        let behind = answer.blocks.checked_sub(at)?;
        if behind > 0 {
            parts.push(lists.take_blocks(behind as usize)?);
        }
        Some(Self(parts))
    }

    /// Decrypts the parts as if all were in blocks. Returns `None` for codes that are larger than they
    /// can be.
    pub fn decrypt(&self, secret: &SecretKey) -> Option<Vec<u64>> {
        let encoding = secret.parameters().block_encoding();
        let mut blocks = Vec::new();
        for part in &self.0 {
            match part {
                Part::Short(short, range) => {
                    let values = short.values(secret).get(range.clone())?;
                    blocks.extend(values.iter().map(|&value| u64::from(value)));
                }
                Part::Whole(Exported::Sealed(sealed)) => {
                    blocks.extend(sealed.iter().map(|lwe| secret.decrypt_block(lwe)));
                }
                Part::Whole(Exported::Compact(values)) => {
                    let each = encoding.block_count(values.bits);
                    for code in values.decrypt(secret)? {
                        let digits = (0..each as u32).map(|digit| {
                            let rest = code.checked_shr(digit * encoding.message_bits());
                            rest.unwrap_or(0) & (encoding.message_modulus() - 1)
                        });
                        blocks.extend(digits);
                    }
                }
                Part::Whole(Exported::Clear(_)) => {}
            }
        }
        Some(blocks)
    }

    /// Returns whether blocks of it are packed or cut, so that it can be decrypted but not computed on.
    pub fn is_for_decryption(&self) -> bool {
        let mut parts = self.0.iter();
        parts.any(|part| matches!(part, Part::Short(..)))
    }

    /// Returns the only part, to compute on. `None` if there are several or none, or if it is packed or cut.
    pub fn into_one(self) -> Option<Exported> {
        let mut parts = self.0.into_iter();
        match (parts.next()?, parts.next()) {
            (Part::Whole(only), None) => Some(only),
            _ => None,
        }
    }
}
