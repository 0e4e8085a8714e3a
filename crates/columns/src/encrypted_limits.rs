//! Encrypted codes that numbers are compared with: the thresholds of requests.
//!
//! A threshold travels as radix blocks, or as one compact code. The code is compared with compact columns
//! by the sign of the difference, as clear thresholds are, without taking the digits of either.

use std::ops::Range;
use std::sync::Arc;

use tfhe_sbc_core::encoding::{BodyRounding, CompactEncoding};
use tfhe_sbc_core::glwe::GlweCiphertext;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::wire::columns::{ElementEncoding, Segment, has_column_lists};
use tfhe_sbc_core::wire::glwe::UploadedGlweList;
use tfhe_sbc_engine::glwe_key_switch::DeviceSwitchKey;
use tfhe_sbc_oracle::compact::{CompactNoise, sign_chunks};
use tfhe_sbc_oracle::upload::UploadKind;
use tfhe_sbc_upload::extract::ExpandedGlweList;
use tfhe_sbc_upload::window::add_window;

use crate::compact::values::{CompactValues, Piece, zero};
use crate::node::{KnownBlock, Node, Op};
use crate::number::Number;
use crate::record::degree_at;
use crate::uploads::expand;

/// The headroom of a threshold's code: the sign of a difference has one bit more than the codes.
const HEADROOM: u32 = 1;

/// The number of bits by which a threshold's body is longer than code and headroom: its rounding is at most
/// 2^-13 steps of the code, so that the rounding of the column decides.
const MORE_BODY_BITS: u32 = 12;

/// Returns the encoding of a threshold of `bits` bits that is sent as one compact code. Returns `None` if the
/// parameters have no compact codes, or if no sign of such a difference is certain enough: such a
/// threshold is sent as radix blocks.
pub fn limit_encoding(parameters: &Parameters, bits: u32) -> Option<CompactEncoding> {
    if !has_column_lists(parameters) {
        return None;
    }
    let body_bits = bits.checked_add(HEADROOM + MORE_BODY_BITS)?;
    let encoding = CompactEncoding::new(bits, HEADROOM, body_bits, BodyRounding::Nearest).ok()?;
    let noise = CompactNoise::upload(parameters, UploadKind::PublicKey, &encoding);
    sign_chunks(parameters, bits + HEADROOM, noise).map(|_| encoding)
}

/// An encrypted code that a number is compared with.
#[derive(Clone)]
pub struct EncryptedLimit(pub(crate) Arc<Node>);

/// The thresholds of a request under the evaluation key.
pub struct EncryptedLimits {
    list: ExpandedGlweList<u64>,
    /// The compact codes, and their places in the list.
    codes: Vec<(CompactEncoding, Range<usize>)>,
    noises: Vec<CompactNoise>,
}

impl EncryptedLimits {
    /// Expands the list of a request, and brings it under the evaluation key with `switch`, which is
    /// `None` if it is under that already.
    pub fn expand(
        list: &UploadedGlweList<'_>,
        parameters: &Parameters,
        switch: Option<&DeviceSwitchKey<u64>>,
    ) -> Self {
        let kind = match list.is_masked() {
            false => UploadKind::Symmetric,
            true => UploadKind::PublicKey,
        };
        let (mut codes, mut noises) = (Vec::new(), Vec::new());
        if let UploadedGlweList::Columns(columns) = list {
            let mut begin = 0;
            for Segment { encoding, count } in columns.segments() {
                let end = begin + count as usize;
                if let ElementEncoding::Compact(encoding) = encoding {
                    let noise = CompactNoise::upload(parameters, kind, &encoding);
                    noises.push(match switch {
                        None => noise,
                        Some(switch) => noise.switched(parameters, switch.decomposition()),
                    });
                    codes.push((encoding, begin..end));
                }
                begin = end;
            }
        }
        Self {
            list: expand(list, parameters, switch),
            codes,
            noises,
        }
    }

    /// Returns the blocks at these places; `None` if the list has fewer.
    pub fn blocks(&self, places: Range<usize>) -> Option<Vec<LweCiphertext<u64>>> {
        self.list.extract(places)
    }

    /// Returns code `index` among the compact codes of `bits` bits; `None` if there is none.
    fn code(&self, bits: u32, index: usize) -> Option<CompactValues> {
        let mut all = self.codes.iter().zip(&self.noises);
        let ((encoding, places), noise) = all.find(|((encoding, _), _)| encoding.bits() == bits)?;
        let place = places.clone().nth(index)?;
        let first = self.list.ciphertexts().first()?;
        let size = first.polynomial_size().get();
        let from = self.list.ciphertexts().get(place / size)?;
        let mut ciphertext =
            GlweCiphertext::from_vec(vec![0; from.as_slice().len()], from.polynomial_size())?;
        add_window(&mut ciphertext, from, place % size..place % size + 1, 1);
        Some(CompactValues {
            plaintext_bits: encoding.plaintext_bits(),
            bits,
            pieces: vec![Piece {
                count: 1,
                ciphertext,
                windows: None,
                unswitched: None,
            }],
            noise: *noise,
        })
    }
}

impl Number {
    /// An encrypted code of this number's width, from its blocks under the evaluation key, which
    /// are fresh.
    pub fn encrypted_limit(&self, blocks: Vec<LweCiphertext<u64>>) -> EncryptedLimit {
        let encoding = self.backend.parameters().block_encoding();
        let blocks = blocks.into_iter().enumerate();
        let blocks: Vec<KnownBlock> = blocks
            .map(|(place, ciphertext)| KnownBlock {
                ciphertext,
                degree: degree_at(self.node.kind, encoding, place),
                level: 1,
            })
            .collect();
        EncryptedLimit(Node::new(None, self.node.kind, Op::Known(blocks.into())))
    }

    /// Code `index` among the compact thresholds of this number's width; `None` if there is none.
    pub fn compact_limit(&self, limits: &EncryptedLimits, index: usize) -> Option<EncryptedLimit> {
        let code = limits.code(self.bits(), index)?;
        Some(self.compact_values(code))
    }

    /// The stand-in for an encrypted code that is sent as radix blocks, for counting and rehearsing.
    pub fn rehearsed_limit(&self, code: u64) -> EncryptedLimit {
        EncryptedLimit(Node::new(
            None,
            self.node.kind,
            Op::Clear(vec![u128::from(code)]),
        ))
    }

    /// The stand-in for an encrypted code that is sent as a compact code with this encoding, for counting and
    /// rehearsing. Returns `None` if the encoding is not of this number's width.
    pub fn rehearsed_compact_limit(
        &self,
        code: u64,
        encoding: &CompactEncoding,
    ) -> Option<EncryptedLimit> {
        let parameters = self.backend.parameters();
        if encoding.bits() != self.bits() {
            return None;
        }
        // A trivial encryption: a body under a mask of zeros.
        let mut ciphertext = zero(parameters)?;
        let size = parameters.polynomial_size().get();
        let words = ciphertext.as_mut_slice();
        let body = words.len().checked_sub(size)?;
        *words.get_mut(body)? = encoding.encode(code);
        Some(self.compact_values(CompactValues {
            plaintext_bits: encoding.plaintext_bits(),
            bits: encoding.bits(),
            pieces: vec![Piece {
                count: 1,
                ciphertext,
                windows: None,
                unswitched: None,
            }],
            noise: CompactNoise::upload(parameters, UploadKind::Symmetric, encoding),
        }))
    }

    fn compact_values(&self, values: CompactValues) -> EncryptedLimit {
        EncryptedLimit(Node::new(
            None,
            self.node.kind,
            Op::Compact(Arc::new(values)),
        ))
    }
}
