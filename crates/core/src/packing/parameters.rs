//! The parameters of packing, beside those of a parameter set.

use crate::dimensions::{GlweDimension, LweDimension, PolynomialSize};
use crate::parameters::{
    Decomposition, MAX_GLWE_DIMENSION, ParameterError, Parameters, decomposition_is_usable,
    noise_is_usable,
};
use crate::random::NoiseDistribution;

/// The number of bytes of the canonical form of packing parameters.
pub const PACKING_PARAMETERS_BYTES: usize = 40;

/// log2 of the modulus of packed ciphertexts.
const TORUS_BITS: u32 = 32;

/// Returns log2 of the factor that takes the phase of a radix block, `m / 2^(message + carry + 1)`, to the
/// phase of a slot, `m / 2^message`.
pub const fn slot_scale_log2(parameters: &Parameters) -> u32 {
    parameters.carry_bits().0 + 1
}

/// The numbers of bits that are kept of the coefficients of a packed ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotBits {
    /// The bits kept of each mask coefficient.
    pub mask: u32,
    /// The bits kept of each body coefficient, one for each slot.
    pub body: u32,
}

/// The parameters of a packing key, and of the ciphertexts that it makes. They belong to a parameter
/// set, and the oracle crate finds them. The torus is that of small LWE ciphertexts, 2^32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackingParameters {
    /// The number k of mask polynomials.
    pub glwe_dimension: GlweDimension,
    /// The number N of slots of a ciphertext.
    pub polynomial_size: PolynomialSize,
    /// The standard deviation of the packing key's Gaussian noise, as a fraction of the torus.
    pub standard_deviation: f64,
    /// The decomposition of the masks of blocks.
    pub decomposition: Decomposition,
    /// The number of bits kept of every body coefficient of the packing key.
    pub key_body_bits: u32,
    /// The bits of cut ciphertexts.
    pub slot_bits: SlotBits,
    /// log2 of the predicted failure probability of a slot in a full ciphertext.
    pub log2_p_fail: f64,
    /// The security level of the packing key in bits.
    pub security_bits: f64,
}

impl PackingParameters {
    /// Checks every range that the code relies on. The security level is not checked; the oracle crate
    /// computes it.
    ///
    /// # Errors
    /// The first range that is left.
    pub fn validate(self) -> Result<Self, ParameterError> {
        let SlotBits { mask, body } = self.slot_bits;
        for (holds, what) in [
            (
                (1..=MAX_GLWE_DIMENSION).contains(&self.glwe_dimension.0),
                "the packing dimension is not in 1..=8",
            ),
            (
                noise_is_usable(self.noise(), TORUS_BITS),
                "the packing noise is not between one step of the torus and 1/16",
            ),
            (
                decomposition_is_usable(self.decomposition, TORUS_BITS)
                    && self.decomposition.base_log.0 <= 16,
                "the packing decomposition has no digits, digits over 16 bits or over 32 bits in all",
            ),
            (
                // Fewer bits would be no key, and a short file would take much memory.
                (8..=TORUS_BITS).contains(&self.key_body_bits),
                "the packing key's body bits are not in 8..=32",
            ),
            (
                (1..=TORUS_BITS).contains(&mask) && (1..=TORUS_BITS).contains(&body),
                "packed ciphertexts have no bits or over 32",
            ),
            (
                self.log2_p_fail.is_finite() && self.security_bits.is_finite(),
                "the packing's log2_p_fail or security_bits is not a number",
            ),
        ] {
            if !holds {
                return Err(ParameterError(what));
            }
        }
        Ok(self)
    }

    /// The noise of the packing key.
    pub const fn noise(&self) -> NoiseDistribution {
        NoiseDistribution::Gaussian {
            standard_deviation: self.standard_deviation,
        }
    }

    /// The dimension k·N of the packing secret.
    pub const fn secret_dimension(&self) -> LweDimension {
        self.glwe_dimension
            .extracted_lwe_dimension(self.polynomial_size)
    }

    /// Returns the number of rows of the packing key for blocks of a parameter set: one for each digit of
    /// each mask coefficient.
    pub const fn key_rows(&self, parameters: &Parameters) -> usize {
        parameters.lwe_dimension().0 * self.decomposition.level_count.0
    }

    /// Returns the canonical form: fixed fields, little-endian, described in `docs/wire-format.md`.
    pub fn to_bytes(&self) -> [u8; PACKING_PARAMETERS_BYTES] {
        let mut bytes = [0; PACKING_PARAMETERS_BYTES];
        let mut rest = bytes.as_mut_slice();
        let mut put = |field: &[u8]| {
            let (place, behind) = core::mem::take(&mut rest).split_at_mut(field.len());
            place.copy_from_slice(field);
            rest = behind;
        };
        put(&(self.glwe_dimension.0 as u32).to_le_bytes());
        put(&(self.polynomial_size.get() as u32).to_le_bytes());
        put(&self.standard_deviation.to_le_bytes());
        put(&(self.decomposition.base_log.0 as u16).to_le_bytes());
        put(&(self.decomposition.level_count.0 as u16).to_le_bytes());
        put(&(self.key_body_bits as u16).to_le_bytes());
        put(&[self.slot_bits.mask as u8, self.slot_bits.body as u8]);
        put(&self.log2_p_fail.to_le_bytes());
        put(&self.security_bits.to_le_bytes());
        bytes
    }

    /// Reads and validates the canonical form.
    ///
    /// # Errors
    /// If a field has a value that it cannot have.
    pub fn from_bytes(bytes: &[u8; PACKING_PARAMETERS_BYTES]) -> Result<Self, ParameterError> {
        let u16_at = |at: usize| u32::from(u16::from_le_bytes(field(bytes, at)));
        let u32_at = |at: usize| u32::from_le_bytes(field(bytes, at)) as usize;
        let [mask, body] = field(bytes, 22);
        Self {
            glwe_dimension: GlweDimension(u32_at(0)),
            polynomial_size: PolynomialSize::new(u32_at(4)).map_err(|_| {
                ParameterError(
                    "the packing polynomial size is not a power of two from 256 to 65536",
                )
            })?,
            standard_deviation: f64::from_le_bytes(field(bytes, 8)),
            decomposition: Decomposition::new(u16_at(16), u16_at(18) as usize),
            key_body_bits: u16_at(20),
            slot_bits: SlotBits {
                mask: mask.into(),
                body: body.into(),
            },
            log2_p_fail: f64::from_le_bytes(field(bytes, 24)),
            security_bits: f64::from_le_bytes(field(bytes, 32)),
        }
        .validate()
    }
}

fn field<const LEN: usize>(bytes: &[u8; PACKING_PARAMETERS_BYTES], at: usize) -> [u8; LEN] {
    let mut out = [0; LEN];
    out.copy_from_slice(&bytes[at..at + LEN]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_sets::{MESSAGE_2_CARRY_2, packing_of};

    fn shipped() -> PackingParameters {
        packing_of(&MESSAGE_2_CARRY_2.validate().unwrap()).unwrap()
    }

    #[test]
    fn a_slot_has_no_padding_bit() {
        let parameters = MESSAGE_2_CARRY_2.validate().unwrap();
        // Messages of 2 bits at 2^-5 come to the top of the torus.
        assert_eq!(slot_scale_log2(&parameters), 3);
    }

    #[test]
    fn what_no_packing_can_be_built_on_is_refused() {
        let broken: [fn(&mut PackingParameters); 11] = [
            |p| p.glwe_dimension = GlweDimension(0),
            |p| p.glwe_dimension = GlweDimension(9),
            |p| p.standard_deviation = f64::NAN,
            |p| p.standard_deviation = 0.5,
            |p| p.decomposition = Decomposition::new(6, 0),
            |p| p.decomposition = Decomposition::new(17, 1),
            |p| p.key_body_bits = 7,
            |p| p.slot_bits.mask = 33,
            |p| p.slot_bits.body = 0,
            |p| p.log2_p_fail = f64::NAN,
            |p| p.security_bits = f64::INFINITY,
        ];
        assert!(shipped().validate().is_ok());
        for spoil in broken {
            let mut packing = shipped();
            spoil(&mut packing);
            assert!(packing.validate().is_err(), "{packing:?}");
            assert!(PackingParameters::from_bytes(&packing.to_bytes()).is_err());
        }
        let mut bytes = shipped().to_bytes();
        bytes[4] = 1;
        assert!(PackingParameters::from_bytes(&bytes).is_err());
    }
}
