//! Client keys: the GLWE key, under which ciphertexts are made and evaluated, and its parameters.

use tfhe_sbc_core::dimensions::{
    CarryBits, DecompositionBaseLog, DecompositionLevelCount, GlweDimension, LweDimension,
    MessageBits,
};
use tfhe_sbc_core::glwe::GlweSecretKey;
use tfhe_sbc_core::parameters::{
    Decomposition, GlweSecret, ModulusSwitch, ParameterName, ParameterSet, Parameters,
    PlaintextKind,
};
use tfhe_sbc_core::random::NoiseDistribution;
use zeroize::Zeroizing;

use super::bincode::Reader;
use super::integers::MAX_MESSAGE_BITS;
use super::{TfheRsError, header};

/// The name of the type in a header.
pub const CLIENT_KEY: &str = "high_level_api::ClientKey";

/// The parts of a client key that devices need. The key is wiped on drop, and `Debug` does not show
/// it.
#[derive(Debug)]
pub struct ClientKey {
    /// The parameters as TFHE-rs states them. `log2_p_fail` is its own figure; `security_bits` is 0,
    /// because it states none; uploads keep all bits of a body. The function `adopt` of the oracle
    /// crate works these figures out.
    pub parameters: Parameters,
    /// The GLWE key. Its coefficients in a row are the LWE key of TFHE-rs's ciphertexts.
    pub glwe: GlweSecretKey,
}

/// Reads a `tfhe::ClientKey` from the bytes that `safe_serialize` or, without versions, `bincode` made
/// of it. Only keys of *classic* parameters are accepted: key switch first, over a 64-bit torus. Other
/// parts of a key (for compression, noise squashing, compact lists) are not read. Time and memory are
/// proportional to the number of bytes, not to the lengths that they announce.
///
/// # Errors
/// Returns the first defect. No error reveals coefficients of the key.
pub fn read_client_key(bytes: &[u8]) -> Result<ClientKey, TfheRsError> {
    let mut reader = match header::expect(bytes, CLIENT_KEY) {
        Err(TfheRsError::Header) if starts_like_bare_bincode(bytes) => {
            Reader::new(bytes).unversioned()
        }
        reader => reader?,
    };
    reader.version("client key", 1)?;
    reader.version("integer client key", 9)?;
    let key = read_integer_key(&mut reader)?;
    read_what_else(&mut reader)?;
    Ok(key)
}

/// Without a header, the first number is the variant of the atomic pattern, of which only 0 is
/// accepted, and the second is the number of coefficients of the GLWE key.
fn starts_like_bare_bincode(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    let first = reader.u32();
    let count = reader.u64();
    matches!((first, count), (Ok(0), Ok(count)) if count.is_power_of_two() || count % 256 == 0)
        && reader.rest().len() >= 256
}

fn read_integer_key(reader: &mut Reader<'_>) -> Result<ClientKey, TfheRsError> {
    reader.version("integer::ClientKey", 0)?;
    reader.version("shortint::ClientKey", 1)?;
    reader.version("atomic pattern", 0)?;
    match reader.u32()? {
        0 => reader.version("standard atomic pattern", 0)?,
        1 => return Err(TfheRsError::Unsupported("the 32-bit key switch (KS32)")),
        _ => return Err(TfheRsError::Value("atomic pattern")),
    }
    reader.version("GLWE secret key", 0)?;
    let big = reader.words()?;
    let polynomial_size = reader.versioned_u64("polynomial size")?;
    reader.version("LWE secret key", 0)?;
    let small = reader.words()?;
    reader.version("parameters", 0)?;
    let set = match reader.u32()? {
        0 => read_classic_parameters(reader)?,
        1 => return Err(TfheRsError::Unsupported("a multi-bit bootstrap")),
        _ => return Err(TfheRsError::Value("kind of parameters")),
    };
    if is_some(reader)? {
        return Err(TfheRsError::Unsupported(
            "parameters without padding (wopbs)",
        ));
    }
    let parameters = set.validate()?;
    if polynomial_size != parameters.polynomial_size().get() as u64
        || big.len() != parameters.big_lwe_dimension().0
        || small.len() != parameters.lwe_dimension().0
    {
        return Err(TfheRsError::Value("key length"));
    }
    let mut coefficients = Zeroizing::new(vec![0; big.len()]);
    let mut others = 0;
    for (coefficient, &word) in coefficients.iter_mut().zip(big) {
        let word = u64::from_le_bytes(word);
        *coefficient = (word & 1) as i8;
        others |= word >> 1;
    }
    let secret = parameters.glwe_secret();
    let glwe = GlweSecretKey::from_coefficients(secret, coefficients, parameters.polynomial_size())
        .filter(|_| others == 0)
        .ok_or(TfheRsError::Value("GLWE secret key"))?;
    Ok(ClientKey { parameters, glwe })
}

/// Skips the seven optional keys and the tag behind the integer key. The optional keys of a default
/// configuration are read to find the end of the file; from the first other one on, nothing is read.
fn read_what_else(reader: &mut Reader<'_>) -> Result<(), TfheRsError> {
    // Keys for compact lists, compression, noise squashing, its compression, and re-randomization.
    for _ in 0..5 {
        if is_some(reader)? {
            return Ok(());
        }
    }
    if is_some(reader)? {
        reader.version("integer OPRF key", 0)?;
        reader.version("OPRF key", 0)?;
        reader.version("OPRF atomic pattern", 0)?;
        if reader.u32()? != 0 {
            return Err(TfheRsError::Value("OPRF key"));
        }
        reader.version("LWE secret key", 0)?;
        reader.words()?;
    }
    // The key for transciphering.
    if is_some(reader)? {
        return Ok(());
    }
    reader.tag()?;
    reader.end()
}

fn is_some(reader: &mut Reader<'_>) -> Result<bool, TfheRsError> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(TfheRsError::Value("option")),
    }
}

fn read_classic_parameters(reader: &mut Reader<'_>) -> Result<ParameterSet, TfheRsError> {
    reader.version("classic parameters", 2)?;
    let lwe_dimension = LweDimension(read_size(reader, "LWE dimension")?);
    let glwe_dimension = GlweDimension(read_size(reader, "GLWE dimension")?);
    let polynomial_size = read_size(reader, "polynomial size")?;
    let lwe_noise = read_noise(reader)?;
    let glwe_noise = read_noise(reader)?;
    let pbs = read_decomposition(reader)?;
    let key_switch = read_decomposition(reader)?;
    let message_bits = MessageBits(read_modulus(reader, "message modulus")?);
    if message_bits.0 > MAX_MESSAGE_BITS {
        return Err(TfheRsError::Unsupported("more than 2 message bits"));
    }
    let carry_bits = CarryBits(read_modulus(reader, "carry modulus")?);
    let max_noise_level = read_size(reader, "maximal noise level")? as u32;
    let log2_p_fail = reader.f64()?;
    reader.native_modulus()?;
    reader.version("encryption key choice", 0)?;
    match reader.u32()? {
        0 => {}
        1 => {
            return Err(TfheRsError::Unsupported(
                "the bootstrap before the key switch",
            ));
        }
        _ => return Err(TfheRsError::Value("encryption key choice")),
    }
    let modulus_switch = read_modulus_switch(reader)?;
    let name = format!("tfhe_rs_{message_bits}_{carry_bits}");
    Ok(ParameterSet {
        name: ParameterName::from_text(&name).ok_or(TfheRsError::Value("message modulus"))?,
        torus_bits: 64,
        lwe_dimension,
        lwe_block_size: 1,
        lwe_noise: narrowed(lwe_noise)?,
        glwe_dimension,
        polynomial_size,
        glwe_noise,
        pbs,
        pbs_body: pbs,
        key_switch,
        plaintext: PlaintextKind::Radix,
        message_bits,
        carry_bits,
        glwe_secret: GlweSecret::Binary,
        max_noise_level,
        modulus_switch,
        body_bits: 64,
        public_key_mask_bits: 64,
        log2_p_fail,
        security_bits: 0.0,
    })
}

/// Reads a number that is far below 2^32 in every parameter set; validation sets closer bounds.
fn read_size(reader: &mut Reader<'_>, what: &'static str) -> Result<usize, TfheRsError> {
    let size = reader.versioned_u64(what)?;
    if size < 1 << 20 {
        Ok(size as usize)
    } else {
        Err(TfheRsError::Value(what))
    }
}

fn read_modulus(reader: &mut Reader<'_>, what: &'static str) -> Result<u32, TfheRsError> {
    let modulus = reader.versioned_u64(what)?;
    if modulus.is_power_of_two() {
        Ok(modulus.trailing_zeros())
    } else {
        Err(TfheRsError::Value(what))
    }
}

fn read_decomposition(reader: &mut Reader<'_>) -> Result<Decomposition, TfheRsError> {
    let base_log = read_size(reader, "decomposition base")?;
    let level_count = read_size(reader, "decomposition levels")?;
    Ok(Decomposition {
        base_log: DecompositionBaseLog(base_log as u32),
        level_count: DecompositionLevelCount(level_count),
    })
}

/// Reads the noise over a 64-bit torus.
fn read_noise(reader: &mut Reader<'_>) -> Result<NoiseDistribution, TfheRsError> {
    reader.version("noise distribution", 0)?;
    match reader.u32()? {
        0 => {
            reader.version("Gaussian noise", 0)?;
            let (standard_deviation, mean) = (reader.f64()?, reader.f64()?);
            if mean != 0.0 {
                return Err(TfheRsError::Value("mean of the noise"));
            }
            Ok(NoiseDistribution::Gaussian { standard_deviation })
        }
        1 => {
            reader.version("TUniform noise", 0)?;
            Ok(NoiseDistribution::TUniform {
                bound_log2: reader.u32()?,
            })
        }
        _ => Err(TfheRsError::Value("noise distribution")),
    }
}

/// Converts the noise of small ciphertexts, which are over a 32-bit torus here and over a 64-bit
/// torus in TFHE-rs.
fn narrowed(noise: NoiseDistribution) -> Result<NoiseDistribution, TfheRsError> {
    match noise {
        NoiseDistribution::TUniform { bound_log2 } => Ok(NoiseDistribution::TUniform {
            bound_log2: bound_log2
                .checked_sub(32)
                .ok_or(TfheRsError::Value("noise of the small key"))?,
        }),
        other => Ok(other),
    }
}

fn read_modulus_switch(reader: &mut Reader<'_>) -> Result<ModulusSwitch, TfheRsError> {
    reader.version("modulus switch", 0)?;
    match reader.u32()? {
        0 => Ok(ModulusSwitch::Plain),
        1 => Err(TfheRsError::Unsupported(
            "the drift technique in its modulus switch",
        )),
        2 => Ok(ModulusSwitch::MeanCompensated),
        _ => Err(TfheRsError::Value("modulus switch")),
    }
}
