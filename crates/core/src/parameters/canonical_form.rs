//! The canonical form of a parameter set, which `docs/wire-format.md` describes.

use super::{
    Decomposition, GlweSecret, ModulusSwitch, PARAMETERS_BYTES, ParameterError, ParameterName,
    ParameterSet, Parameters, PlaintextKind,
};
use crate::dimensions::{CarryBits, GlweDimension, LweDimension, MessageBits};
use crate::random::NoiseDistribution;

impl Parameters {
    /// Returns the canonical form: fixed fields, little-endian, described in `docs/wire-format.md`.
    pub fn to_bytes(&self) -> [u8; PARAMETERS_BYTES] {
        let mut writer = Writer {
            bytes: [0; PARAMETERS_BYTES],
            at: 0,
        };
        writer.put(self.name().as_bytes());
        writer.u32(self.torus_bits());
        writer.u32(self.lwe_dimension().0 as u32);
        writer.u32(self.lwe_block_size());
        writer.noise(self.lwe_noise());
        writer.u32(self.glwe_dimension().0 as u32);
        writer.u32(self.polynomial_size.get() as u32);
        writer.noise(self.glwe_noise());
        for decomposition in [self.pbs(), self.pbs_body(), self.key_switch()] {
            writer.u32(decomposition.base_log.0);
            writer.u32(decomposition.level_count.0 as u32);
        }
        writer.u32(self.plaintext() as u32);
        writer.u32(self.message_bits().0);
        writer.u32(self.carry_bits().0);
        writer.u32(self.max_noise_level());
        writer.u16(self.modulus_switch() as u16);
        writer.u16(self.glwe_secret() as u16);
        writer.u16(self.body_bits() as u16);
        writer.u16(self.public_key_mask_bits() as u16);
        writer.put(&self.log2_p_fail().to_le_bytes());
        writer.put(&self.security_bits().to_le_bytes());
        writer.bytes
    }

    /// Reads and validates the canonical form.
    ///
    /// # Errors
    /// If a field has a value that it cannot have, or the set is not usable.
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
