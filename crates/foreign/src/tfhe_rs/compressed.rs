//! `CompressedFheUint`, `CompressedFheInt` and `CompressedFheBool` as clients of TFHE-rs make them: every
//! block is an LWE ciphertext under the big key, with a seed in place of its mask.

use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::Parameters;
use tfhe_sbc_core::random::{TfheRsStream, fill_uniform};

use super::bincode::Reader;
use super::{TfheRsError, header};

/// The type of a value without its width, which the header does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressedKind {
    /// `CompressedFheUint`.
    Uint,
    /// `CompressedFheInt`.
    Int,
    /// `CompressedFheBool`.
    Bool,
}

impl CompressedKind {
    /// All types, with their names in headers.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::Uint, "high_level_api::CompressedFheUint"),
        (Self::Int, "high_level_api::CompressedFheInt"),
        (Self::Bool, "high_level_api::CompressedFheBool"),
    ];
}

/// An LWE ciphertext whose mask TFHE-rs's generator expands from a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeededLwe {
    /// The seed.
    pub seed: u128,
    /// The body.
    pub body: u64,
}

impl SeededLwe {
    /// Returns the ciphertext with its mask, under the LWE key that the GLWE key's coefficients form.
    pub fn expand(&self, parameters: &Parameters) -> LweCiphertext<u64> {
        let dimension = parameters.big_lwe_dimension();
        let mut lwe = LweCiphertext::trivial(dimension, self.body);
        let mask = &mut lwe.as_mut_slice()[..dimension.0];
        fill_uniform(&mut TfheRsStream::new(self.seed), mask);
        lwe
    }
}

/// A compressed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// The type.
    pub kind: CompressedKind,
    /// The blocks, least significant first. A boolean has one block.
    pub blocks: Vec<SeededLwe>,
}

/// The fewest bytes of a block, so that a forged count cannot ask for memory.
const BLOCK_BYTES: u64 = 124;

impl Compressed {
    /// Reads the first value of `bytes`, which was made under `parameters`, and returns it with the bytes
    /// behind it.
    pub fn read<'a>(
        bytes: &'a [u8],
        parameters: &Parameters,
    ) -> Result<(Self, &'a [u8]), TfheRsError> {
        let (kind, mut reader) = Self::expect_header(bytes)?;
        reader.version("compressed value", 1)?;
        let count = match kind {
            CompressedKind::Bool => {
                reader.version("compressed boolean", 0)?;
                expect_seeded(&mut reader)?;
                1
            }
            _ => {
                reader.version("compressed radix", 1)?;
                expect_seeded(&mut reader)?;
                reader.version("integer radix", 0)?;
                reader.u64()?
            }
        };
        let found = reader.rest().len() as u64;
        let needed = count.saturating_mul(BLOCK_BYTES);
        if needed > found {
            return Err(TfheRsError::Truncated { needed, found });
        }
        let degree = match kind {
            CompressedKind::Bool => 1,
            _ => parameters.block_encoding().message_modulus() - 1,
        };
        let blocks = (0..count).map(|_| read_block(&mut reader, parameters, degree));
        let blocks = blocks.collect::<Result<_, _>>()?;
        reader.tag()?;
        Ok((Self { kind, blocks }, reader.rest()))
    }

    fn expect_header(bytes: &[u8]) -> Result<(CompressedKind, Reader<'_>), TfheRsError> {
        let name = header::type_name(bytes);
        let known = CompressedKind::ALL
            .into_iter()
            .find(|(_, known)| name == Some(known));
        let (kind, name) = known.unwrap_or(CompressedKind::ALL[0]);
        Ok((kind, header::expect(bytes, name)?))
    }

    /// Decrypts the value with the secret key. An `FheInt` is returned in two's complement; the top bit
    /// of its last block is the sign. Returns `None` if a block holds more than a message.
    pub fn decrypt(&self, key: &GlweSecretKey, parameters: &Parameters) -> Option<u128> {
        let encoding = parameters.block_encoding();
        let lwe_key = key.to_lwe_secret_key();
        let mut value = 0;
        for (place, block) in self.blocks.iter().enumerate() {
            let digit = encoding.decode(lwe_key.phase(&block.expand(parameters)));
            let shift = place as u32 * encoding.message_bits();
            if digit >= encoding.message_modulus() || shift >= 128 {
                return None;
            }
            value |= u128::from(digit) << shift;
        }
        Some(value)
    }
}

fn expect_seeded(reader: &mut Reader<'_>) -> Result<(), TfheRsError> {
    match reader.u32()? {
        0 => Ok(()),
        1 => Err(TfheRsError::UnsupportedValue(
            "ciphertexts that a server compressed by switching their modulus",
        )),
        _ => Err(TfheRsError::Value("kind of compression")),
    }
}

fn read_block(
    reader: &mut Reader<'_>,
    parameters: &Parameters,
    degree: u64,
) -> Result<SeededLwe, TfheRsError> {
    reader.version("compressed block", 1)?;
    reader.version("seeded LWE ciphertext", 0)?;
    let body = reader.u64()?;
    let size = reader.versioned_u64("LWE size")?;
    reader.version("compression seed", 1)?;
    reader.version("generator", 0)?;
    reader.version("seed kind", 0)?;
    match reader.u32()? {
        0 => reader.version("seed", 0)?,
        1 => {
            return Err(TfheRsError::UnsupportedValue(
                "seeds of its extendable hash",
            ));
        }
        _ => return Err(TfheRsError::Value("seed kind")),
    }
    let seed = reader.u128()?;
    reader.version("place in the stream", 0)?;
    reader.version("block in the stream", 0)?;
    let block = reader.u128()?;
    let byte = reader.versioned_u64("byte in the stream")?;
    if (block, byte) != (0, 0) {
        return Err(TfheRsError::UnsupportedValue(
            "masks that do not begin with their stream",
        ));
    }
    reader.native_modulus()?;
    let found_degree = reader.versioned_u64("degree")?;
    let message_modulus = reader.versioned_u64("message modulus")?;
    let carry_modulus = reader.versioned_u64("carry modulus")?;
    reader.version("atomic pattern", 0)?;
    if reader.u32()? != 0 {
        return Err(TfheRsError::Unsupported("another atomic pattern"));
    }
    reader.version("order of the bootstrap", 0)?;
    if reader.u32()? != 0 {
        return Err(TfheRsError::Unsupported(
            "the bootstrap before the key switch",
        ));
    }
    let noise = reader.versioned_u64("noise level")?;
    let encoding = parameters.block_encoding();
    let is_as_stated = size == parameters.big_lwe_dimension().0 as u64 + 1
        && message_modulus == encoding.message_modulus()
        && carry_modulus == encoding.block_modulus() / encoding.message_modulus();
    if !is_as_stated {
        return Err(TfheRsError::OtherParameters);
    }
    if found_degree != degree || noise != 1 {
        return Err(TfheRsError::Value("degree or noise level"));
    }
    Ok(SeededLwe { seed, body })
}
