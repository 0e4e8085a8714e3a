//! Parameter sets: plain data ([`ParameterSet`]), validated once into immutable
//! [`Parameters`], and the shipped constants.
//!
//! A parameter set has a canonical 140-byte form ([`Parameters::to_bytes`]) that
//! key files carry; its BLAKE3 hash is the [`ParameterFingerprint`] that every
//! ciphertext carries, so that mixing sets is an error and not a wrong answer.

use core::fmt;

use thiserror::Error;

use crate::dimensions::{
    CarryBits, DecompositionBaseLog, DecompositionLevelCount, GlweDimension, LweDimension,
    MessageBits, PolynomialSize,
};
use crate::encoding::BlockEncoding;
use crate::padded_text::PaddedText;
use crate::random::NoiseDistribution;
use crate::torus::exp2_neg;
use crate::wire::bits::packed_len;

/// Number of bytes of the canonical form of a parameter set.
pub const PARAMETERS_BYTES: usize = 140;

/// The name of a parameter set: at most 32 bytes of printable ASCII.
pub type ParameterName = PaddedText<32>;

/// A signed gadget decomposition in base `2^base_log` with `level_count` digits,
/// most significant digit at weight `q / 2^base_log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decomposition {
    /// log2 of the base.
    pub base_log: DecompositionBaseLog,
    /// Number of digits.
    pub level_count: DecompositionLevelCount,
}

impl Decomposition {
    /// A decomposition in base `2^base_log` with `level_count` digits.
    pub const fn new(base_log: u32, level_count: usize) -> Self {
        Self {
            base_log: DecompositionBaseLog(base_log),
            level_count: DecompositionLevelCount(level_count),
        }
    }

    /// Number of most significant torus bits that the digits represent.
    pub const fn represented_bits(&self) -> u32 {
        self.base_log.0 * self.level_count.0 as u32
    }
}

/// How a small LWE ciphertext is rounded to multiples of `1/2N` before blind rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ModulusSwitch {
    /// Every coefficient to nearest.
    Plain = 0,
    /// Every mask coefficient to nearest, the mean of what that does to the phase
    /// (the sum of the rounding errors times the mean of a key coefficient) taken out of
    /// the body first. For a uniform binary key that halves the variance and makes it
    /// independent of the key's weight.
    MeanCompensated = 1,
}

/// What the plaintext of a ciphertext looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PlaintextKind {
    /// `±1/8`, as the two-input gates want it.
    Boolean = 1,
    /// One padding bit, carry bits, message bits from the top of the torus down.
    Radix = 2,
}

/// How the coefficients of a GLWE secret key are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum GlweSecret {
    /// Uniform over {0, 1}: the keys of tfhe-sbc and TFHE-rs.
    Binary = 0,
    /// Uniform over {-1, 0, 1}: TFHEpp's.
    Ternary = 1,
}

impl GlweSecret {
    /// Bits of a packed coefficient, which is its value in two's complement: 1, or 2.
    pub const fn packed_bits(self) -> u32 {
        match self {
            Self::Binary => 1,
            Self::Ternary => 2,
        }
    }

    /// Whether a coefficient is one of such a key.
    pub const fn holds(self, coefficient: i8) -> bool {
        match self {
            Self::Binary => coefficient & !1 == 0,
            Self::Ternary => (coefficient + 1) as u8 <= 2,
        }
    }

    /// E\[s²\] of a coefficient.
    pub const fn mean_square(self) -> f64 {
        match self {
            Self::Binary => 0.5,
            Self::Ternary => 2.0 / 3.0,
        }
    }

    /// Var(s) of a coefficient.
    pub const fn variance(self) -> f64 {
        match self {
            Self::Binary => 0.25,
            Self::Ternary => 2.0 / 3.0,
        }
    }
}

/// Mask polynomials of a GLWE ciphertext at most.
pub const MAX_GLWE_DIMENSION: usize = 8;

/// Rows of a GGSW ciphertext at most: digits of all components of a GLWE ciphertext.
pub const MAX_ROWS: usize = 64;

/// A parameter set as plain data. [`validate`](ParameterSet::validate) makes it usable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterSet {
    /// What people call it.
    pub name: ParameterName,
    /// log2 of the modulus of GLWE and big LWE ciphertexts: 32 or 64. Small LWE
    /// ciphertexts are always mod 2^32.
    pub torus_bits: u32,
    /// Dimension of the small LWE key.
    pub lwe_dimension: LweDimension,
    /// Size ℓ of the small LWE key's blocks, 1 to 5, a divisor of the dimension. A block is
    /// uniform over the zero block and those with a single 1; blocks of 1 make a uniform
    /// binary key. A blind rotation decomposes its accumulator once for each block.
    pub lwe_block_size: u32,
    /// Noise under the small LWE key.
    pub lwe_noise: NoiseDistribution,
    /// Dimension of the GLWE key.
    pub glwe_dimension: GlweDimension,
    /// Polynomial size of the GLWE key.
    pub polynomial_size: usize,
    /// Coefficients of the GLWE key. Those of the ephemeral key of a public-key upload are
    /// distributed alike.
    pub glwe_secret: GlweSecret,
    /// Noise under the GLWE key.
    pub glwe_noise: NoiseDistribution,
    /// Decomposition of the mask polynomials inside the external product.
    pub pbs: Decomposition,
    /// Decomposition of the body inside the external product. What it cuts off meets no
    /// secret, so it needs fewer digits than the mask's.
    pub pbs_body: Decomposition,
    /// Decomposition inside the key switch.
    pub key_switch: Decomposition,
    /// What plaintexts look like.
    pub plaintext: PlaintextKind,
    /// Message bits of a radix block (1 for booleans).
    pub message_bits: MessageBits,
    /// Carry bits of a radix block (1 for booleans, whose ±1/8 uses three bits).
    pub carry_bits: CarryBits,
    /// Largest sum of absolute weights over fresh bootstrap outputs and uploads that may
    /// enter a bootstrap (the papers' ν).
    pub max_noise_level: u32,
    /// How the modulus is switched before blind rotation.
    pub modulus_switch: ModulusSwitch,
    /// Bits kept of every body coefficient of an upload: the fewest with which a
    /// bootstrap on uploads still meets the set's failure probability.
    pub body_bits: u32,
    /// Bits kept of every mask coefficient of a public-key upload, chosen likewise; 0 if
    /// the set has no such uploads.
    pub public_key_mask_bits: u32,
    /// log2 of the predicted failure probability of one bootstrap in its worst use: at
    /// `max_noise_level` on bootstrap outputs, or on uploads of the noisiest kind.
    pub log2_p_fail: f64,
    /// Security level in bits, the minimum over both keys.
    pub security_bits: f64,
}

/// A parameter set that no scheme can be built on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the parameter set is not usable: {0}")]
pub struct ParameterError(&'static str);

impl ParameterSet {
    /// Checks every range that the code relies on (not the security level, which the
    /// oracle crate states) and makes the set immutable.
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

fn noise_is_usable(noise: NoiseDistribution, torus_bits: u32) -> bool {
    if noise.validate(torus_bits).is_err() {
        return false;
    }
    let variance = noise.variance(torus_bits);
    let step = exp2_neg(torus_bits);
    variance >= step * step * 0.25 && variance <= 1.0 / 256.0
}

fn decomposition_is_usable(decomposition: Decomposition, torus_bits: u32) -> bool {
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

impl core::ops::Deref for Parameters {
    type Target = ParameterSet;

    fn deref(&self) -> &ParameterSet {
        &self.set
    }
}

/// Which parameter set a key or ciphertext belongs to: the first 16 bytes of the
/// BLAKE3 hash of the set's canonical form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ParameterFingerprint(pub [u8; 16]);

/// Which key set a key or ciphertext belongs to: 16 random bytes drawn with the keys.
/// Public; it says nothing of the key.
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

impl Parameters {
    /// The polynomial size, as the type that its validation gave it.
    pub fn polynomial_size(&self) -> PolynomialSize {
        self.polynomial_size
    }

    /// Number of bytes of a GLWE key, packed.
    pub fn packed_glwe_key_len(&self) -> usize {
        packed_len(self.big_lwe_dimension().0, self.glwe_secret.packed_bits())
    }

    /// Dimension of the LWE ciphertexts that sample extraction gives.
    pub fn big_lwe_dimension(&self) -> LweDimension {
        self.glwe_dimension
            .extracted_lwe_dimension(self.polynomial_size)
    }

    /// The encoding of radix blocks.
    pub fn block_encoding(&self) -> BlockEncoding {
        BlockEncoding::new(self.message_bits, self.carry_bits)
    }

    /// The decomposition of the GLWE key switch from a device's own key to the
    /// evaluation key. It follows from the torus, so that no key file carries it: two
    /// digits of 12 bits for 2^64, two of 8 bits for 2^32. What is cut off makes most of
    /// the noise; one digit of 24 bits would add as much again through the transform,
    /// whose error in the mask meets the secret.
    pub const fn device_switch(&self) -> Decomposition {
        match self.set.torus_bits {
            64 => Decomposition::new(12, 2),
            _ => Decomposition::new(8, 2),
        }
    }

    /// Bits kept of every body coefficient of the bootstrapping key. Over 2^64 the fewest
    /// whose rounding adds no more than a sixteenth to the variance of its noise: lower ones
    /// are noise that nobody need send. Over 2^32 all: the key's noise is most of what fails
    /// there. It follows from the noise, so that no file carries it.
    pub fn bootstrap_key_body_bits(&self) -> u32 {
        let most = self.glwe_noise.variance(self.torus_bits) / 16.0;
        let rounding = |bits| exp2_neg(2 * bits) / 12.0;
        (1..self.torus_bits)
            .find(|&bits| self.torus_bits == 64 && rounding(bits) <= most)
            .unwrap_or(self.torus_bits)
    }

    /// The canonical form: fixed fields, little-endian, described in `docs/wire-format.md`.
    pub fn to_bytes(&self) -> [u8; PARAMETERS_BYTES] {
        let mut writer = Writer {
            bytes: [0; PARAMETERS_BYTES],
            at: 0,
        };
        writer.put(self.name.as_bytes());
        writer.u32(self.torus_bits);
        writer.u32(self.lwe_dimension.0 as u32);
        writer.u32(self.lwe_block_size);
        writer.noise(self.lwe_noise);
        writer.u32(self.glwe_dimension.0 as u32);
        writer.u32(self.polynomial_size.get() as u32);
        writer.noise(self.glwe_noise);
        for decomposition in [self.pbs, self.pbs_body, self.key_switch] {
            writer.u32(decomposition.base_log.0);
            writer.u32(decomposition.level_count.0 as u32);
        }
        writer.u32(self.plaintext as u32);
        writer.u32(self.message_bits.0);
        writer.u32(self.carry_bits.0);
        writer.u32(self.max_noise_level);
        writer.u16(self.modulus_switch as u16);
        writer.u16(self.glwe_secret as u16);
        writer.u16(self.body_bits as u16);
        writer.u16(self.public_key_mask_bits as u16);
        writer.put(&self.log2_p_fail.to_le_bytes());
        writer.put(&self.security_bits.to_le_bytes());
        writer.bytes
    }

    /// Reads and validates the canonical form.
    pub fn from_bytes(bytes: &[u8; PARAMETERS_BYTES]) -> Result<Self, ParameterError> {
        let mut reader = Reader { bytes, at: 0 };
        let name = ParameterName::from_bytes(reader.take())
            .ok_or(ParameterError("its name is not printable text"))?;
        let torus_bits = reader.u32();
        let lwe_dimension = LweDimension(reader.u32() as usize);
        let lwe_block_size = reader.u32();
        let lwe_noise = reader.noise()?;
        let glwe_dimension = GlweDimension(reader.u32() as usize);
        let polynomial_size = reader.u32() as usize;
        let glwe_noise = reader.noise()?;
        let mut decomposition = || Decomposition::new(reader.u32(), reader.u32() as usize);
        let (pbs, pbs_body, key_switch) = (decomposition(), decomposition(), decomposition());
        let plaintext = match reader.u32() {
            1 => PlaintextKind::Boolean,
            2 => PlaintextKind::Radix,
            _ => return Err(ParameterError("its plaintext kind is unknown")),
        };
        let message_bits = MessageBits(reader.u32());
        let carry_bits = CarryBits(reader.u32());
        let max_noise_level = reader.u32();
        let modulus_switch = match reader.u16() {
            0 => ModulusSwitch::Plain,
            1 => ModulusSwitch::MeanCompensated,
            _ => return Err(ParameterError("its modulus switch is unknown")),
        };
        let glwe_secret = match reader.u16() {
            0 => GlweSecret::Binary,
            1 => GlweSecret::Ternary,
            _ => return Err(ParameterError("its kind of GLWE key is unknown")),
        };
        ParameterSet {
            name,
            torus_bits,
            lwe_dimension,
            lwe_block_size,
            lwe_noise,
            glwe_dimension,
            polynomial_size,
            glwe_secret,
            glwe_noise,
            pbs,
            pbs_body,
            key_switch,
            plaintext,
            message_bits,
            carry_bits,
            max_noise_level,
            modulus_switch,
            body_bits: reader.u16(),
            public_key_mask_bits: reader.u16(),
            log2_p_fail: f64::from_le_bytes(reader.take()),
            security_bits: f64::from_le_bytes(reader.take()),
        }
        .validate()
    }

    /// The fingerprint that keys and ciphertexts of this set carry.
    pub fn fingerprint(&self) -> ParameterFingerprint {
        let hash = blake3::hash(&self.to_bytes());
        let mut fingerprint = [0; 16];
        fingerprint.copy_from_slice(&hash.as_bytes()[..16]);
        ParameterFingerprint(fingerprint)
    }
}

struct Writer {
    bytes: [u8; PARAMETERS_BYTES],
    at: usize,
}

impl Writer {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    fn u16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    fn noise(&mut self, noise: NoiseDistribution) {
        match noise {
            NoiseDistribution::Gaussian { standard_deviation } => {
                self.u32(1);
                self.put(&standard_deviation.to_le_bytes());
            }
            NoiseDistribution::TUniform { bound_log2 } => {
                self.u32(2);
                self.put(&u64::from(bound_log2).to_le_bytes());
            }
            NoiseDistribution::CenteredBinomial { eta } => {
                self.u32(3);
                self.put(&u64::from(eta).to_le_bytes());
            }
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8; PARAMETERS_BYTES],
    at: usize,
}

impl Reader<'_> {
    fn take<const LEN: usize>(&mut self) -> [u8; LEN] {
        let mut out = [0; LEN];
        out.copy_from_slice(&self.bytes[self.at..self.at + LEN]);
        self.at += LEN;
        out
    }

    fn u16(&mut self) -> u32 {
        u16::from_le_bytes(self.take()).into()
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn noise(&mut self) -> Result<NoiseDistribution, ParameterError> {
        let kind = self.u32();
        let value: [u8; 8] = self.take();
        match kind {
            1 => Ok(NoiseDistribution::Gaussian {
                standard_deviation: f64::from_le_bytes(value),
            }),
            2 => match u32::try_from(u64::from_le_bytes(value)) {
                Ok(bound_log2) if bound_log2 <= 62 => {
                    Ok(NoiseDistribution::TUniform { bound_log2 })
                }
                _ => Err(ParameterError("its TUniform bound is over 62 bits")),
            },
            3 => match u32::try_from(u64::from_le_bytes(value)) {
                Ok(eta @ 1..=32) => Ok(NoiseDistribution::CenteredBinomial { eta }),
                _ => Err(ParameterError(
                    "its centred binomial noise is not of 1 to 32 bits",
                )),
            },
            _ => Err(ParameterError("its noise distribution is unknown")),
        }
    }
}
