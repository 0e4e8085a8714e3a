//! `FheUint`, `FheInt` and `FheBool` as `safe_serialize` writes them. The bytes around the scalars are the
//! same for all blocks, so a [`Form`] holds them ready.

use tfhe_sbc_core::parameters::{Parameters, PlaintextKind};
use thiserror::Error;

use super::header;

/// The type of a value in TFHE-rs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FheType {
    /// An `FheUint` of that number of bits.
    Uint(u32),
    /// An `FheInt` of that number of bits.
    Int(u32),
    /// An `FheBool`.
    Bool,
}

/// The widths of TFHE-rs's integers that a reading can have.
pub const WIDTHS: [u32; 10] = [2, 4, 6, 8, 10, 12, 14, 16, 32, 64];

/// The widest message of a block that is converted: all [`WIDTHS`] are multiples of it.
pub(super) const MAX_MESSAGE_BITS: u32 = 2;

impl FheType {
    /// Returns the type with a name such as `FheUint32`, in letters of either case.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let width = |digits: &str| {
            let width = digits.parse().ok()?;
            WIDTHS.contains(&width).then_some(width)
        };
        match name.strip_prefix("fhe").unwrap_or(&name) {
            "bool" => Some(Self::Bool),
            name => match name.strip_prefix("uint") {
                Some(digits) => width(digits).map(Self::Uint),
                None => name.strip_prefix("int").and_then(width).map(Self::Int),
            },
        }
    }

    /// Returns the width in bits, which is 1 for a boolean.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Uint(bits) | Self::Int(bits) => bits,
            Self::Bool => 1,
        }
    }

    /// Returns the name in a header, which does not contain the width.
    const fn type_name(self) -> &'static str {
        match self {
            Self::Uint(_) => "high_level_api::FheUint",
            Self::Int(_) => "high_level_api::FheInt",
            Self::Bool => "high_level_api::FheBool",
        }
    }
}

impl std::fmt::Display for FheType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uint(bits) => write!(f, "FheUint{bits}"),
            Self::Int(bits) => write!(f, "FheInt{bits}"),
            Self::Bool => f.write_str("FheBool"),
        }
    }
}

/// Parameters that TFHE-rs's integers do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "TFHE-rs's integers want blocks of 1 or 2 message bits over 2^64: '{0}' is no set of a key of TFHE-rs"
)]
pub struct NotOfTfheRs(tfhe_sbc_core::parameters::ParameterName);

/// The bytes of a value of one type under one parameter set, without the scalars of its ciphertexts.
#[derive(Clone, Debug)]
pub struct Form {
    head: Vec<u8>,
    block_head: Vec<u8>,
    block_tail: Vec<u8>,
    tail: Vec<u8>,
    blocks: usize,
    lwe_bytes: usize,
}

impl Form {
    /// Returns the form of a type under a parameter set.
    pub fn new(fhe_type: FheType, parameters: &Parameters) -> Result<Self, NotOfTfheRs> {
        let message_bits = parameters.message_bits().0;
        if parameters.torus_bits() != 64
            || parameters.plaintext() != PlaintextKind::Radix
            || !(1..=MAX_MESSAGE_BITS).contains(&message_bits)
        {
            return Err(NotOfTfheRs(parameters.name()));
        }
        let lwe_size = parameters.big_lwe_dimension().0 + 1;
        let (blocks, degree) = match fhe_type {
            FheType::Bool => (1, 1),
            _ => (
                fhe_type.bits().div_ceil(message_bits) as usize,
                (1u64 << message_bits) - 1,
            ),
        };
        let mut head = header::write(fhe_type.type_name());
        let version = |out: &mut Vec<u8>, version: u32| out.extend(version.to_le_bytes());
        let word = |out: &mut Vec<u8>, word: u64| out.extend(word.to_le_bytes());
        // The high-level type, its inner type, and the integer type within.
        version(&mut head, 2);
        version(&mut head, 0);
        version(&mut head, 0);
        if fhe_type != FheType::Bool {
            word(&mut head, blocks as u64);
        }

        let mut block_head = Vec::new();
        // The types shortint::Ciphertext and LweCiphertext.
        version(&mut block_head, 1);
        version(&mut block_head, 0);
        word(&mut block_head, lwe_size as u64);

        let mut block_tail = Vec::new();
        // The native modulus of 64-bit scalars.
        version(&mut block_tail, 0);
        block_tail.extend(0u128.to_le_bytes());
        word(&mut block_tail, 64);
        const NOMINAL_NOISE: u64 = 1;
        let carry_modulus = 1 << parameters.carry_bits().0;
        for number in [degree, NOMINAL_NOISE, 1 << message_bits, carry_modulus] {
            version(&mut block_tail, 0);
            word(&mut block_tail, number);
        }
        // The atomic pattern (standard) and its order (key switch first), each as version and variant.
        block_tail.extend([0; 16]);

        // An empty tag and no metadata for re-randomization, each as version and length.
        let tail = vec![0; 24];
        Ok(Self {
            head,
            block_head,
            block_tail,
            tail,
            blocks,
            lwe_bytes: lwe_size * 8,
        })
    }

    /// The number of blocks of a value.
    pub fn block_count(&self) -> usize {
        self.blocks
    }

    /// The number of bytes of a value.
    pub fn byte_count(&self) -> usize {
        let block = self.block_head.len() + self.lwe_bytes + self.block_tail.len();
        self.head.len() + self.blocks * block + self.tail.len()
    }

    /// Overwrites `out` with the value of these blocks, least significant first, each an LWE
    /// ciphertext of mask and body. Missing blocks at the top become trivial encryptions of zero, which
    /// everybody can read.
    ///
    /// # Panics
    /// Panics if a block has another length or if there are too many.
    pub fn write<'a>(&self, blocks: impl IntoIterator<Item = &'a [u64]>, out: &mut Vec<u8>) {
        let mut value = self.begin(out);
        for block in blocks {
            value.block(block);
        }
        value.finish();
    }

    /// Overwrites `out` with the beginning of a value, whose blocks follow.
    pub(super) fn begin<'f>(&'f self, out: &'f mut Vec<u8>) -> Value<'f> {
        out.clear();
        out.reserve_exact(self.byte_count());
        out.extend_from_slice(&self.head);
        Value {
            form: self,
            out,
            missing: self.blocks,
        }
    }
}

/// A value that is being written.
pub(super) struct Value<'f> {
    form: &'f Form,
    out: &'f mut Vec<u8>,
    missing: usize,
}

impl Value<'_> {
    /// Adds a block.
    pub(super) fn block(&mut self, lwe: &[u64]) {
        assert_eq!(
            lwe.len() * 8,
            self.form.lwe_bytes,
            "a block of another LWE dimension"
        );
        assert!(self.missing > 0, "more blocks than the type has");
        self.missing -= 1;
        self.out.extend_from_slice(&self.form.block_head);
        self.out
            .extend(lwe.iter().flat_map(|word| word.to_le_bytes()));
        self.out.extend_from_slice(&self.form.block_tail);
    }

    /// Adds the missing blocks and the end of the value.
    pub(super) fn finish(self) {
        for _ in 0..self.missing {
            self.out.extend_from_slice(&self.form.block_head);
            self.out.resize(self.out.len() + self.form.lwe_bytes, 0);
            self.out.extend_from_slice(&self.form.block_tail);
        }
        self.out.extend_from_slice(&self.form.tail);
    }
}
