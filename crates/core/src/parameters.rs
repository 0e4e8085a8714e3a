//! Parameter sets: plain data ([`ParameterSet`]), validated once into immutable
//! [`Parameters`].
//!
//! Key files carry a parameter set in its canonical 140-byte form ([`Parameters::to_bytes`]). The
//! BLAKE3 hash of that form is the [`ParameterFingerprint`] in every ciphertext, so that mixing sets
//! is an error and not a wrong answer.

mod canonical_form;
mod glwe_secret;
mod packed_width;

use core::fmt;

use thiserror::Error;

use crate::dimensions::{
    CarryBits, DecompositionBaseLog, DecompositionLevelCount, GlweDimension, LweDimension,
    MessageBits, PolynomialSize,
};
use crate::encoding::BlockEncoding;
use crate::packed_len::packed_len;
use crate::padded_text::PaddedText;
use crate::random::NoiseDistribution;
use crate::torus::exp2_neg;
pub use glwe_secret::GlweSecret;
pub use packed_width::PackedWidth;

/// The number of bytes of the canonical form of a parameter set.
pub const PARAMETERS_BYTES: usize = 140;

/// The name of a parameter set: at most 32 bytes of printable ASCII.
pub type ParameterName = PaddedText<32>;

/// A signed gadget decomposition in base `2^base_log` with `level_count` digits,
/// most significant digit at weight `q / 2^base_log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decomposition {
    /// log2 of the base.
    pub base_log: DecompositionBaseLog,
    /// The number of digits.
    pub level_count: DecompositionLevelCount,
}

impl Decomposition {
    /// Makes a decomposition in base `2^base_log` with `level_count` digits.
    pub const fn new(base_log: u32, level_count: usize) -> Self {
        Self {
            base_log: DecompositionBaseLog(base_log),
            level_count: DecompositionLevelCount(level_count),
        }
    }

    /// The number of most significant torus bits that the digits represent.
    pub const fn represented_bits(&self) -> u32 {
        self.base_log.0 * self.level_count.0 as u32
    }
}

/// The rounding of a small LWE ciphertext to multiples of `1/2N` before blind rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ModulusSwitch {
    /// Every coefficient is rounded to nearest.
    Plain = 0,
    /// Every mask coefficient is rounded to nearest. The mean of the resulting error of the phase (the
    /// sum of the rounding errors times the mean of a key coefficient) is subtracted from
    /// the body first. For a uniform binary key that halves the variance and makes it
    /// independent of the key's weight.
    MeanCompensated = 1,
}

/// The form of the plaintext of a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PlaintextKind {
    /// `±1/8`, for two-input gates.
    Boolean = 1,
    /// One padding bit, carry bits and message bits, from the top of the torus down.
    Radix = 2,
}

/// The largest number of mask polynomials of a GLWE ciphertext.
pub const MAX_GLWE_DIMENSION: usize = 8;

/// The largest number of rows of a GGSW ciphertext, counting the digits of all components of a GLWE
/// ciphertext.
pub const MAX_ROWS: usize = 64;

/// A parameter set as plain data. [`validate`](ParameterSet::validate) makes it usable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterSet {
    /// The name.
    pub name: ParameterName,
    /// log2 of the modulus of GLWE and big LWE ciphertexts: 32 or 64. Small LWE
    /// ciphertexts are always mod 2^32.
    pub torus_bits: u32,
    /// The dimension of the small LWE key.
    pub lwe_dimension: LweDimension,
    /// The size ℓ of the small LWE key's blocks: 1 to 5, a divisor of the dimension. A block is
    /// uniform over the zero block and the blocks with a single 1; blocks of 1 make a uniform
    /// binary key. A blind rotation decomposes its accumulator once for each block.
    pub lwe_block_size: u32,
    /// The noise under the small LWE key.
    pub lwe_noise: NoiseDistribution,
    /// The dimension of the GLWE key.
    pub glwe_dimension: GlweDimension,
    /// The polynomial size of the GLWE key.
    pub polynomial_size: usize,
    /// The distribution of the coefficients of the GLWE key, and of the ephemeral key of a public-key
    /// upload.
    pub glwe_secret: GlweSecret,
    /// The noise under the GLWE key.
    pub glwe_noise: NoiseDistribution,
    /// The decomposition of the mask polynomials inside the external product.
    pub pbs: Decomposition,
    /// The decomposition of the body inside the external product. The part that it cuts off is not
    /// multiplied by a secret, so it needs fewer digits than the mask's.
    pub pbs_body: Decomposition,
    /// The decomposition inside the key switch.
    pub key_switch: Decomposition,
    /// The form of plaintexts.
    pub plaintext: PlaintextKind,
    /// The number of message bits of a radix block (1 for booleans).
    pub message_bits: MessageBits,
    /// The number of carry bits of a radix block (1 for booleans, whose ±1/8 uses three bits).
    pub carry_bits: CarryBits,
    /// The largest sum of absolute weights over fresh bootstrap outputs and uploads that may
    /// enter a bootstrap (the papers' ν).
    pub max_noise_level: u32,
    /// The modulus switch before blind rotation.
    pub modulus_switch: ModulusSwitch,
    /// The number of bits kept of every body coefficient of an upload: the fewest with which a
    /// bootstrap on uploads still meets the set's failure probability.
    pub body_bits: u32,
    /// The number of bits kept of every mask coefficient of a public-key upload, chosen in the same
    /// way; 0 if the set has no such uploads.
    pub public_key_mask_bits: u32,
    /// log2 of the predicted failure probability of one bootstrap in its worst use: at
    /// `max_noise_level` on bootstrap outputs, or on uploads of the noisiest kind.
    pub log2_p_fail: f64,
    /// The security level in bits, the minimum over both keys.
    pub security_bits: f64,
}

/// The reason why a parameter set is not usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the parameter set is not usable: {0}")]
pub struct ParameterError(pub(crate) &'static str);

impl ParameterSet {
    /// Checks every range that the code relies on and makes the set immutable. The security level is
    /// not checked; the oracle crate computes it.
    pub fn validate(self) -> Result<Parameters, ParameterError> {
        let check = |ok: bool, what| {
            if ok {
                Ok(())
            } else {
                Err(ParameterError(what))
            }
        };
        check(
            self.torus_bits == 32 || self.torus_bits == 64,
            "torus_bits is neither 32 nor 64",
        )?;
        let polynomial_size = PolynomialSize::new(self.polynomial_size).map_err(|_| {
            ParameterError("polynomial_size is not a power of two between 256 and 65536")
        })?;
        check(
            (64..=4096).contains(&self.lwe_dimension.0),
            "lwe_dimension is not in 64..=4096",
        )?;
        check(
            (1..=5).contains(&self.lwe_block_size)
                && self
                    .lwe_dimension
                    .0
                    .is_multiple_of(self.lwe_block_size as usize),
            "lwe_block_size is not in 1..=5 or does not divide lwe_dimension",
        )?;
        check(
            (1..=MAX_GLWE_DIMENSION).contains(&self.glwe_dimension.0),
            "glwe_dimension is not in 1..=8",
        )?;
        check(
            noise_is_usable(self.lwe_noise, 32),
            "lwe_noise is not between one step of the torus and 1/16",
        )?;
        check(
            noise_is_usable(self.glwe_noise, self.torus_bits),
            "glwe_noise is not between one step of the torus and 1/16",
        )?;
        check(
            decomposition_is_usable(self.pbs, self.torus_bits)
                && decomposition_is_usable(self.pbs_body, self.torus_bits),
            "a pbs decomposition has no digits or more bits than the torus",
        )?;
        check(
            self.glwe_dimension.0 * self.pbs.level_count.0 + self.pbs_body.level_count.0
                <= MAX_ROWS,
            "a GGSW ciphertext has more than 64 rows",
        )?;
        check(
            decomposition_is_usable(self.key_switch, 32) && self.key_switch.base_log.0 <= 16,
            "the key switch decomposition has no digits, digits over 16 bits or over 32 bits in all",
        )?;
        check(
            (1..=8).contains(&self.message_bits.0) && self.carry_bits.0 <= 8,
            "message_bits is not in 1..=8 or carry_bits not in 0..=8",
        )?;
        check(
            self.message_bits.0 + self.carry_bits.0 < polynomial_size.log2(),
            "message and carry bits do not fit the polynomial size",
        )?;
        check(
            (1..=1 << 16).contains(&self.max_noise_level),
            "max_noise_level is not in 1..=65536",
        )?;
        check(
            self.body_bits > self.message_bits.0 + self.carry_bits.0 + 1
                && self.body_bits <= self.torus_bits,
            "body_bits leaves no room for noise or exceeds the torus",
        )?;
        check(
            self.public_key_mask_bits <= self.torus_bits,
            "public_key_mask_bits exceeds the torus",
        )?;
        check(
            self.log2_p_fail.is_finite() && self.security_bits.is_finite(),
            "log2_p_fail or security_bits is not a number",
        )?;
        Ok(Parameters {
            set: self,
            polynomial_size,
        })
    }
}

pub(crate) fn noise_is_usable(noise: NoiseDistribution, torus_bits: u32) -> bool {
    if noise.validate(torus_bits).is_err() {
        return false;
    }
    let variance = noise.variance(torus_bits);
    let step = exp2_neg(torus_bits);
    variance >= step * step * 0.25 && variance <= 1.0 / 256.0
}

pub(crate) fn decomposition_is_usable(decomposition: Decomposition, torus_bits: u32) -> bool {
    let (base_log, levels) = (decomposition.base_log.0, decomposition.level_count.0);
    (1..=32).contains(&base_log)
        && (1..=64).contains(&levels)
        && decomposition.represented_bits() <= torus_bits
}

/// A validated, immutable parameter set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    set: ParameterSet,
    polynomial_size: PolynomialSize,
}

macro_rules! accessors {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        impl Parameters {
            $($(#[$doc])*
            pub const fn $field(&self) -> $type {
                self.set.$field
            })*
        }
    };
}

accessors! {
    /// The name; see [`ParameterSet::name`].
    name: ParameterName,
    /// log2 of the modulus; see [`ParameterSet::torus_bits`].
    torus_bits: u32,
    /// The dimension of the small LWE key.
    lwe_dimension: LweDimension,
    /// The size of the small LWE key's blocks; see [`ParameterSet::lwe_block_size`].
    lwe_block_size: u32,
    /// The noise under the small LWE key.
    lwe_noise: NoiseDistribution,
    /// The dimension of the GLWE key.
    glwe_dimension: GlweDimension,
    /// The distribution of the coefficients of the GLWE key.
    glwe_secret: GlweSecret,
    /// The noise under the GLWE key.
    glwe_noise: NoiseDistribution,
    /// The decomposition of masks in the external product; see [`ParameterSet::pbs`].
    pbs: Decomposition,
    /// The decomposition of bodies in the external product; see [`ParameterSet::pbs_body`].
    pbs_body: Decomposition,
    /// The decomposition inside the key switch.
    key_switch: Decomposition,
    /// The form of plaintexts.
    plaintext: PlaintextKind,
    /// The number of message bits of a radix block; see [`ParameterSet::message_bits`].
    message_bits: MessageBits,
    /// The number of carry bits of a radix block; see [`ParameterSet::carry_bits`].
    carry_bits: CarryBits,
    /// The largest noise level of a bootstrap; see [`ParameterSet::max_noise_level`].
    max_noise_level: u32,
    /// The modulus switch before blind rotation.
    modulus_switch: ModulusSwitch,
    /// The number of bits kept of body coefficients; see [`ParameterSet::body_bits`].
    body_bits: u32,
    /// The number of bits kept of mask coefficients in public-key uploads; see
    /// [`ParameterSet::public_key_mask_bits`].
    public_key_mask_bits: u32,
    /// log2 of the failure probability of a bootstrap; see [`ParameterSet::log2_p_fail`].
    log2_p_fail: f64,
    /// The security level in bits; see [`ParameterSet::security_bits`].
    security_bits: f64,
}

/// The identity of a parameter set in keys and ciphertexts: the first 16 bytes of the
/// BLAKE3 hash of the set's canonical form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ParameterFingerprint(pub [u8; 16]);

/// The identity of a key set in keys and ciphertexts: 16 random bytes drawn with the keys. For an
/// imported key it is 16 bytes of a hash of parameters and key, so that two imports agree. It is
/// public: it reveals nothing about a key that was drawn, and lets anybody verify a guess of a whole
/// imported key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KeyFingerprint(pub [u8; 16]);

macro_rules! show_as_hex {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    )*};
}

show_as_hex!(ParameterFingerprint, KeyFingerprint);

impl KeyFingerprint {
    /// Reads the 32 hexadecimal digits that `Display` writes. Returns `None` for any other text.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut key = Self::default();
        if text.len() != 2 * key.0.len() {
            return None;
        }
        let (pairs, _) = text.as_bytes().as_chunks::<2>();
        for (byte, pair) in key.0.iter_mut().zip(pairs) {
            for digit in pair {
                let digit = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'a'..=b'f' => digit - b'a' + 10,
                    _ => return None,
                };
                *byte = *byte << 4 | digit;
            }
        }
        Some(key)
    }
}

impl Parameters {
    /// The set as plain data.
    pub const fn as_set(&self) -> &ParameterSet {
        &self.set
    }

    /// The polynomial size as its checked type.
    pub fn polynomial_size(&self) -> PolynomialSize {
        self.polynomial_size
    }

    /// Returns the number of bytes of a packed GLWE key.
    pub fn packed_glwe_key_len(&self) -> usize {
        packed_len(self.big_lwe_dimension().0, self.glwe_secret().packed_bits())
    }

    /// Returns the dimension of the LWE ciphertexts that sample extraction yields.
    pub fn big_lwe_dimension(&self) -> LweDimension {
        self.glwe_dimension()
            .extracted_lwe_dimension(self.polynomial_size)
    }

    /// Returns the encoding of radix blocks.
    pub fn block_encoding(&self) -> BlockEncoding {
        BlockEncoding::new(self.message_bits(), self.carry_bits())
    }

    /// Returns the decompositions that the GLWE key switch from a device's own key to the evaluation key
    /// may have, that of new keys first. They follow from the torus, and each has another number of
    /// digits, so that a key's length tells which one it has.
    ///
    /// New keys have five digits of 8 bits for 2^64, which sums of compact codes need, and two of 8 bits
    /// for 2^32. Two digits of 12 bits are those of older key files; their noise is that of the part that
    /// is cut off. With longer digits the error of the transform is larger: that in the mask is multiplied
    /// by the secret.
    pub const fn device_switches(&self) -> &'static [Decomposition] {
        const WIDE: [Decomposition; 2] = [Decomposition::new(8, 5), Decomposition::new(12, 2)];
        const NARROW: [Decomposition; 1] = [Decomposition::new(8, 2)];
        match self.set.torus_bits {
            64 => &WIDE,
            _ => &NARROW,
        }
    }

    /// Returns the decomposition of new device switch keys, the first of
    /// [`device_switches`](Self::device_switches).
    pub const fn device_switch(&self) -> Decomposition {
        self.device_switches()[0]
    }

    /// Returns the number of bits kept of every body coefficient of a bootstrapping key whose file does
    /// not state it: keys of sets that are not shipped, and older ones. Over 2^64 it is the smallest whose
    /// rounding adds at most a sixteenth to the variance of the key's noise, and over 2^32 it is 32. New
    /// keys have the bits of [`key_body_bits`](crate::parameter_sets::key_body_bits).
    pub fn implied_key_body_bits(&self) -> u32 {
        let most = self.glwe_noise().variance(self.torus_bits()) / 16.0;
        let rounding = |bits| exp2_neg(2 * bits) / 12.0;
        (1..self.torus_bits())
            .find(|&bits| self.torus_bits() == 64 && rounding(bits) <= most)
            .unwrap_or(self.torus_bits())
    }

    /// Returns the fingerprint that keys and ciphertexts of this set carry.
    pub fn fingerprint(&self) -> ParameterFingerprint {
        let hash = blake3::hash(&self.to_bytes());
        let mut fingerprint = [0; 16];
        fingerprint.copy_from_slice(&hash.as_bytes()[..16]);
        ParameterFingerprint(fingerprint)
    }
}
